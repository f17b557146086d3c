//! Kernels of 32-bit machines: what depends on the size of addresses, headers and pointers, and the objects that are not read.
use crate::support::fixture::{Tree, run_all, skipped};
use crate::support::program::Indexed;
use crate::support::tables::{index, text};
use std::process::Command;

const I386: &str = "--target=i386-linux-gnu";
const ARM: &str = "--target=armv7-linux-gnueabi";

const SOURCE: &str = r#"
const char linux_banner[] __attribute__((used)) = "Linux version 6.1.0-narrow (build@host) (clang) #1 SMP";
struct pair { int first; long second; const char *names[3]; long long wide; };
volatile long sink;
static inline __attribute__((always_inline)) void inlined(long value) { sink = value; sink = value + 1; }
__attribute__((noinline)) long probed(struct pair *pair, int count) {
	inlined(pair->second);
	return pair->first + count;
}
void _start(void) { static struct pair pair; sink = probed(&pair, sink); }
"#;

/// Of a module, in which every address is a relocation without addend.
const MODULE: &str = r#"
__attribute__((section(".modinfo"), used)) static const char vermagic[] = "vermagic=6.1.0-narrow SMP";
volatile long sink;
__attribute__((noinline)) long first(long value) { sink = value; return value + 1; }
__attribute__((noinline)) long second(long value) { sink = value; return value + 2; }
__attribute__((noinline)) long long wide(long value) { sink = value; return value * 5LL; }
"#;

fn compile(target: &str, tree: &Tree, source: &str, object: &str) -> Option<std::path::PathBuf> {
    let (source, object) = (tree.file("narrow.c", source.as_bytes()), tree.path().join(object));
    let mut compiler = Command::new("clang");
    compiler.args([target, "-g", "-O2", "-ffreestanding", "-fno-pic", "-mregparm=3"]);
    if target == ARM {
        compiler.args(["-mthumb", "-Wno-unused-command-line-argument"]);
    }
    compiler.arg("-c").arg(source).arg("-o").arg(&object);
    if target == ARM {
        compiler = without(compiler, "-mregparm=3");
    }
    match compiler.output().is_ok_and(|out| out.status.success()) {
        true => Some(object),
        false => {
            skipped(&format!("clang {target} cannot make it"));
            None
        }
    }
}

fn without(command: Command, argument: &str) -> Command {
    let mut other = Command::new(command.get_program());
    other.args(command.get_args().filter(|a| *a != argument));
    other
}

/// A kernel with a module.
fn kernel(target: &str) -> Option<Indexed> {
    let tree = Tree::empty();
    let object = compile(target, &tree, SOURCE, "narrow.o")?;
    let linker: &[&str] = if target == I386 { &["ld", "-m", "elf_i386"] } else { &["ld.lld"] };
    if !Command::new(linker[0]).arg("--version").output().is_ok_and(|out| out.status.success()) {
        skipped(&format!("no {}", linker[0]));
        return None;
    }
    let [program, options @ ..] = linker else { return None };
    let mut linker = Command::new(program);
    linker.args(options);
    linker.args(["-Ttext=0xc1000000", "--defsym=_text=0xc1000000", "-o"]);
    linker.arg(tree.path().join("vmlinux-6.1.0-narrow")).arg(&object);
    run_all([linker]);
    std::fs::remove_file(object).unwrap();
    compile(target, &tree, MODULE, "part.ko")?;
    Some(index(tree))
}

#[test]
fn pointers_have_four_bytes_and_functions_their_places() {
    for target in [I386, ARM] {
        let Some(kernel) = kernel(target) else { continue };
        let said = kernel.run(&["-q", "type", "pair"]).found();
        // ARM aligns numbers of eight bytes to as many, i386 to four.
        let size = if target == ARM { "size: 32" } else { "size: 28" };
        assert!(said.contains(size), "{target}: {said}");
        let place = kernel.json(&["-q", "resolve", "probed"]).swap_remove(0);
        let at = u64::from_str_radix(text(&place, "address").trim_start_matches("0x"), 16).unwrap();
        assert!((0xc100_0000..0xc100_1000).contains(&at) && at.is_multiple_of(2), "{target}: {place}");
        assert!(kernel.run(&["-q", "lines", "probed"]).found().contains("probed+0x0"), "{target}");
        assert_eq!(kernel.json(&["-q", "resolve", "inlined"]).len(), 1, "{target}");
    }
}

#[test]
fn relocations_without_addend_have_it_in_their_place() {
    for target in [I386, ARM] {
        let Some(kernel) = kernel(target) else { continue };
        let at = |name: &str| {
            let place = kernel.json(&["-q", "resolve", name]).swap_remove(0);
            assert_eq!(text(&place, "module"), "part", "{place}");
            (text(&place, "address").to_owned(), place["line"].as_u64())
        };
        let (first, second) = (at("first"), at("second"));
        assert_eq!((first.1, second.1), (Some(4), Some(5)), "{target}");
        assert_ne!(first.0, second.0, "{target}");
    }
}

#[test]
fn parameters_are_where_kernels_pass_them() {
    for (target, [first, second]) in [(I386, ["%ax", "%dx"]), (ARM, ["%r0", "%r1"])] {
        let Some(kernel) = kernel(target) else { continue };
        let asked = ["-q", "resolve", "probed", "pair->second", "count", "pair->names[1]", "pair"];
        let place = kernel.json(&asked).swap_remove(0);
        let fetched: Vec<&str> = place["vars"].as_array().unwrap().iter().map(|v| text(v, "fetch")).collect();
        let [at_4, at_12] = [4, 12].map(|distance| format!("+{distance}({first})"));
        let wanted = [
            format!("second={at_4}:s32"),
            format!("count={second}:s32"),
            format!("names={at_12}:x32"),
            format!("pair={first}:x32"),
        ];
        assert_eq!(fetched, wanted, "{target}");
    }
}

#[test]
fn of_a_number_in_two_registers_nothing_is_read() {
    for target in [I386, ARM] {
        let Some(kernel) = kernel(target) else { continue };
        let returned = |function: &str| {
            let place = kernel.json(&["-q", "resolve", &format!("{function}%return")]).swap_remove(0);
            place["vars"][0]["fetch"].as_str().map(str::to_owned)
        };
        assert_eq!(returned("second").as_deref(), Some("retval=$retval:s32"), "{target}");
        assert_eq!(returned("wide"), None, "{target}");
    }
}

#[test]
fn thirty_two_bit_objects_of_other_machines_are_one_line() {
    const EM_MIPS: u8 = 8;
    let tree = Tree::empty();
    let Some(object) = compile(I386, &tree, MODULE, "part.ko") else { return };
    let mut bytes = std::fs::read(&object).unwrap();
    bytes[18] = EM_MIPS;
    for name in ["a.ko", "b.ko", "part.ko", "vmlinux-6.1.0-narrow"] {
        std::fs::write(tree.path().join(name), &bytes).unwrap();
    }
    let run =
        crate::support::program::run_in(&tree.path().join("db"), ["build", tree.path().to_str().unwrap()]);
    assert_eq!(run.code, 3, "{run:?}");
    let about = run.err.lines().filter(|line| line.contains("this is a 32-bit kernel, of a machine")).count();
    assert_eq!((about, run.err.lines().count()), (1, 1), "{}", run.err);
}
