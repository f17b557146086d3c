//! Code that is not optimized, and code of languages that do not call as C does.
use super::{Place, objcopy, point};
use crate::support::fixture::{run_all, skipped};
use crate::support::program::run_in;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;

/// Compiles this text of C, after a change of the assembly between.
fn compile(
    place: &Place,
    name: &str,
    text: &str,
    flags: &[&str],
    change: impl Fn(String) -> String,
) -> PathBuf {
    let [source, assembly, program] =
        [format!("{name}.c"), format!("{name}.s"), name.into()].map(|n| place.path(&n));
    std::fs::write(&source, text).unwrap();
    let mut to_assembly = Command::new("gcc");
    to_assembly.args(["-g", "-S", "-dA"]).args(flags).arg(&source).arg("-o").arg(&assembly);
    run_all([to_assembly]);
    let changed = change(std::fs::read_to_string(&assembly).unwrap());
    std::fs::write(&assembly, changed).unwrap();
    let mut link = Command::new("gcc");
    link.arg(&assembly).arg("-o").arg(&program);
    run_all([link]);
    program
}

/// Of clang: GCC describes variables by the canonical frame address, which the frame rules have at each instruction.
#[cfg(target_arch = "x86_64")]
#[test]
fn parameters_are_not_in_a_frame_that_is_not_there_yet() {
    let place = Place::new();
    let source = place.path("frames.c");
    let text = "__attribute__((noinline)) long sum(long first, long *second) {\n    long all = first + *second;\n    return all;\n}\n\
                int main(int count, char **words) { long n = count; return sum((long)words, &n) == 0; }\n";
    std::fs::write(&source, text).unwrap();
    for (base, flags) in [("%bp", &[][..]), ("%sp", &["-fomit-frame-pointer"])] {
        let program = place.path("frames");
        let mut clang = Command::new("clang");
        clang.args(["-g", "-O0"]).args(flags).arg(&source).arg("-o").arg(&program);
        match clang.output() {
            Ok(out) if out.status.success() => {}
            _ => {
                skipped("clang does not compile here");
                return;
            }
        }
        place.index(&program);
        let sum = place.place(&[&point(&program, "sum")]);
        let vars = sum["vars"].as_array().unwrap();
        assert_eq!(vars.len(), 2, "{sum}");
        for (var, register) in vars.iter().zip(["%di", "%si"]) {
            assert_eq!((&var["state"], &var["fetch"]), (&json!("elsewhere"), &Value::Null), "{base}: {var}");
            // Behind the prologue it is in its slot, which does not say where it came from.
            assert_eq!(var["passed"]["proof"], "unknown", "{var}");
            assert_eq!(var["passed"]["slot"], register, "{var}");
        }
        // It is read where the hint leads.
        let behind = vars[0]["elsewhere"]["address"].as_str().unwrap_or_else(|| panic!("{base}: {sum}"));
        let out = run_in(&place.indexes()[0], ["--json", "-q", "resolve", behind, "first", "second"]).found();
        let there: Value = serde_json::from_str(&out).unwrap();
        let definition = there["definition"].as_str().unwrap_or_else(|| panic!("{base}: {there}"));
        assert_eq!(definition.matches(&format!("({base})")).count(), 2, "{definition}");
        // Within the prologue the frame is another one, too.
        let start = u64::from_str_radix(&sum["address"].as_str().unwrap()[2..], 16).unwrap();
        if base == "%bp" {
            let within = format!("{:#x}", start + 1);
            let out = run_in(&place.indexes()[0], ["--json", "-q", "resolve", &within]).found();
            let there: Value = serde_json::from_str(&out).unwrap();
            assert_eq!(there["offset"], 1, "{there}");
            assert_eq!(there["vars"][0]["state"], "elsewhere", "{there}");
        }
        std::fs::remove_dir_all(place.db()).unwrap();
    }
}

const RUNTIMES: &str = r#"
__attribute__((noinline, noipa)) int before(int a) { return a + 1; }
__attribute__((noinline, noipa)) void text(void) __asm__("runtime.text");
void text(void) {}
__attribute__((noinline, noipa)) int of_go(int a) __asm__("main.probed");
int of_go(int a) { return a + 2; }
__attribute__((noinline, noipa)) void etext(void) __asm__("runtime.etext");
void etext(void) {}
__attribute__((noinline, noipa)) int of_ocaml(int a) __asm__("camlOo__probed_81");
int of_ocaml(int a) { return a + 3; }
__attribute__((noinline, noipa)) void caml_call_gc(void) {}
__attribute__((noinline, noipa)) void caml_alloc(void) {}
__attribute__((noinline, noipa)) int of_haskell(int a) __asm__("Main_probed_info");
int of_haskell(int a) { return a + 4; }
__attribute__((noinline, noipa)) void StgRun(void) {}
int main(int n, char **v) { return before(n) + of_go(n) + of_ocaml(n) + of_haskell(n); }
"#;

/// What was seen of Go 1.19, OCaml 4.13 and GHC 9.0 on a booted 6.1: see `query/verdict/runtime_stack.rs`.
#[test]
fn returns_that_a_runtime_needs_are_not_probed() {
    let place = Place::new();
    let unchanged = compile(&place, "symbols", RUNTIMES, &["-O1", "-fno-toplevel-reorder"], |text| text);
    place.index(&unchanged);
    let by_symbol = |symbol: &str| {
        let all = place.resolve(&[&point(&unchanged, "*")]);
        let found = all.into_iter().find(|p| p["symbol"] == symbol).unwrap_or_else(|| panic!("{symbol}"));
        found["attach"].clone()
    };
    let [taken, refused] = ["ok", "runtime-stack"].map(|word| json!({"uprobe": "ok", "uretprobe": word}));
    for symbol in ["main.probed", "camlOo__probed_81", "Main_probed_info"] {
        assert_eq!(by_symbol(symbol), refused, "{symbol}");
    }
    // C of the same program has the system's stack.
    for symbol in ["before", "main", "runtime.etext", "caml_call_gc", "caml_alloc", "StgRun"] {
        assert_eq!(by_symbol(symbol), taken, "{symbol}");
    }
}

#[test]
fn names_alone_do_not_make_a_runtime() {
    let place = Place::new();
    let text = RUNTIMES
        .replace("StgRun", "run")
        .replace("caml_call_gc", "call_gc")
        .replace("runtime.etext", "etext");
    let program = compile(&place, "names", &text, &["-O1"], |text| text);
    place.index(&program);
    let all = place.resolve(&[&point(&program, "*")]);
    assert!(all.len() > 5, "{all:?}");
    assert!(all.iter().all(|p| p["attach"]["uretprobe"] != "runtime-stack"), "{all:?}");
}

/// Go passes the second parameter in `%rbx`, which is not "moved".
#[test]
fn the_language_of_a_unit_tells_how_its_functions_call() {
    let text = "__attribute__((noinline, noipa)) int probed(int a, int b) { return a + b; }\n\
                int main(int n, char **v) { return probed(n, n); }\n";
    let place = Place::new();
    for (language, return_probe, is_c) in [
        (0x16, "runtime-stack", false),
        (0x18, "runtime-stack", false),
        (0x1b, "runtime-stack", false),
        (0x1e, "ok", false),
        (0x1c, "ok", true),
    ] {
        let change = |text: String| {
            let change = |line: &str| match line.ends_with("# DW_AT_language")
                || line.ends_with("// DW_AT_language")
            {
                true => format!("\t.byte {language:#x}\n"),
                false => format!("{line}\n"),
            };
            text.lines().map(change).collect()
        };
        let program = compile(&place, "language", text, &["-O1"], change);
        place.index(&program);
        let probed = place.place(&[&point(&program, "probed")]);
        assert_eq!(probed["attach"], json!({"uprobe": "ok", "uretprobe": return_probe}), "{language:#x}");
        assert_eq!(probed["vars"].as_array().unwrap().len(), 2, "{probed}");
        assert_eq!(probed["vars"][1]["passed"].is_object(), is_c, "{language:#x}: {probed}");
        std::fs::remove_dir_all(place.db()).unwrap();
    }
}

/// They were taken for labels, as those of assemblers are called `$x`, and their code for that of the function before.
#[test]
fn functions_of_swift_have_symbols() {
    let text = "__attribute__((noinline, noipa)) int add(int a, int b) { return a + b; }\n\
                int main(int n, char **v) { return add(n, n); }\n";
    let place = Place::new();
    let [c, swift] = [compile(&place, "c", text, &["-O1"], |text| text), place.path("swift")];
    objcopy(&["--redefine-sym", "add=$s4main3addyS2i_SitF"], &c, &swift);
    place.index(&swift);
    let add = place.place(&[&point(&swift, "add")]);
    assert_eq!((&add["symbol"], &add["offset"]), (&json!("$s4main3addyS2i_SitF"), &json!(0)), "{add}");
    assert_eq!(add["attach"], json!({"uprobe": "ok", "uretprobe": "ok"}));
    let by_symbol = place.place(&[&point(&swift, "$s4main3addyS2i_SitF")]);
    assert_eq!(by_symbol["address"], add["address"]);
}
