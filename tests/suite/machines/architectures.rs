//! Kernels of architectures, also of those whose rules for probes are not known: all the rest is there, and each verdict says why
//! it is open. What does not depend on the machine is the same for all, whatever their byte order.
use crate::support::fixture::{Tree, run_all, skipped};
use crate::support::program::Indexed;
use crate::support::tables::{index, text, try_index};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// What compiles and links for an architecture.
struct Target {
    compiler: &'static [&'static str],
    linker: &'static str,
}

const TARGETS: [Target; 3] = [
    Target { compiler: &["clang", "--target=riscv64-linux-gnu"], linker: "ld.lld" },
    Target { compiler: &["clang", "--target=powerpc64le-linux-gnu"], linker: "ld.lld" },
    BIG_ENDIAN,
];

const BIG_ENDIAN: Target =
    Target { compiler: &["clang", "--target=s390x-linux-gnu"], linker: "s390x-linux-gnu-ld" };

/// Their relocations differ by byte order.
const MIPS: [Target; 2] = [
    Target { compiler: &["clang", "--target=mips64el-linux-gnuabi64", "-mno-abicalls"], linker: "ld.lld" },
    Target { compiler: &["clang", "--target=mips64-linux-gnuabi64", "-mno-abicalls"], linker: "ld.lld" },
];

const SOURCE: &str = r#"
const char linux_banner[] __attribute__((used)) = "Linux version 6.1.0-other (build@host) (clang) #1 SMP";
struct bits { unsigned low:3; unsigned next:7; int sign:12; unsigned long wide:40; char behind; unsigned short last:9; };
struct packed { char first; unsigned odd:20; unsigned across:30; } __attribute__((packed));
struct pair { int first; long second; struct bits bits; struct packed packed; const char *names[3]; };
enum level { LOW = -1, HIGH = 70000 };
volatile long sink;
static inline __attribute__((always_inline)) void inlined(long value) {
	sink = value;
	sink = value + 1;
}
__attribute__((noinline)) long probed(struct pair *pair, enum level count) {
	inlined(pair->second);
	return pair->first + count;
}
void _start(void) {
	static struct pair pair;
	sink = probed(&pair, sink);
}
"#;

/// A module: functions in two sections, and pointers to them.
const MODULE: &str = r#"
const char modinfo[] __attribute__((used, section(".modinfo"))) = "vermagic=6.1.0-other SMP";
struct pair { int first; long second; };
volatile long moved;
__attribute__((noinline)) long first_of_module(struct pair *pair) { moved = 1; return pair->second; }
__attribute__((noinline, section(".text.far"))) long second_of_module(int count) { moved = 2; return count; }
long (*const held[])(int) __attribute__((used)) = { second_of_module };
"#;

/// Variables that are constants: gcc gives their bytes, and numbers of several sizes.
const CONSTANTS: &str = r#"
const char linux_banner[] __attribute__((used)) = "Linux version 6.1.0-other (build@host) (gcc) #1 SMP";
volatile long sink;
__attribute__((noinline)) long constants(long n) {
	double half = 0.5;
	int thousand = 1000;
	long wide = 0x123456789abcdef;
	unsigned short small = 0xfff0;
	static const int table[2] = { 1, 2 };
	static const struct { unsigned char first; unsigned short second; unsigned third:3, fourth:29; } fields = { 1, 2, 3, 4 };
	sink = n;
	return n + thousand;
}
void _start(void) { constants(sink); }
"#;

impl Target {
    /// Whether it could be compiled.
    fn compile(&self, source: &Path, object: &Path) -> bool {
        let mut compiler = Command::new(self.compiler[0]);
        compiler.args(&self.compiler[1..]).args(["-g", "-O2", "-ffreestanding", "-fno-pic", "-c"]);
        compiler.arg(source).arg("-o").arg(object);
        compiler.output().is_ok_and(|o| o.status.success())
    }
    /// A tree with a vmlinux that is linked; says so where the tools are not there.
    fn link(&self, source: &str) -> Option<Tree> {
        let tree = Tree::empty();
        let (source, object) = (tree.file("probed.c", source.as_bytes()), tree.path().join("probed.o"));
        let can_link = Command::new(self.linker).arg("--version").output().is_ok_and(|o| o.status.success());
        if !can_link || !self.compile(&source, &object) {
            skipped(&format!("{} or {} cannot make it", self.compiler.join(" "), self.linker));
            return None;
        }
        let mut linker = Command::new(self.linker);
        linker.args(["-Ttext=0xffffffff80000000", "--defsym=_text=0xffffffff80000000", "-o"]);
        linker.arg(vmlinux(&tree)).arg(&object);
        run_all([linker]);
        std::fs::remove_file(object).unwrap();
        Some(tree)
    }
}

fn vmlinux(tree: &Tree) -> std::path::PathBuf {
    tree.path().join("vmlinux-6.1.0-other")
}

/// What is the same whatever the machine: layouts, and what is known of places beside where they are.
fn answers(kernel: &Indexed) -> Vec<String> {
    let mut said: Vec<String> = ["pair", "bits", "packed", "enum level", "pair.bits.wide", "packed.across"]
        .map(|name| {
            kernel.run(&["-q", "type", name]).found().replace(&*kernel.tree.path().to_string_lossy(), "")
        })
        .into();
    for spec in ["probed", "inlined", "_start"] {
        for place in kernel.json(&["-q", "resolve", spec]) {
            let var = |v: &Value| format!("{} {} {}", v["kind"], v["name"], v["type"]);
            let vars: Vec<String> = place["vars"].as_array().unwrap().iter().map(var).collect();
            let into: Vec<String> = place["inlined_into"]
                .as_array()
                .unwrap()
                .iter()
                .map(|i| format!("{}:{}", i["function"], i["line"]))
                .collect();
            let (instance, line) = (text(&place, "instance"), &place["line"]);
            said.push(format!("{spec} {instance} at {line}, {vars:?} in {into:?}"));
            assert_eq!(Path::new(text(&place, "file")).file_name().unwrap(), "probed.c");
        }
    }
    said
}

#[test]
fn all_but_verdicts() {
    let mut known: Option<Vec<String>> = None;
    for target in TARGETS {
        let Some(tree) = target.link(SOURCE) else { continue };
        let name = target.compiler.join(" ");
        let kernel = index(tree);
        assert!(kernel.run(&["-q", "find", "probed"]).found().contains("probed.c"), "{name}");
        assert!(kernel.run(&["-q", "lines", "probed"]).found().contains("return pair"), "{name}");
        let place = kernel.json(&["-q", "resolve", "probed"]).swap_remove(0);
        let is_known = name.contains("powerpc64le");
        assert_eq!(text(&place["attach"], "kprobe"), if is_known { "ok" } else { "undecided" }, "{name}");
        let said = kernel.run(&["-q", "resolve", "probed"]).found();
        let is_open = said.contains("kprobe not supported on this architecture yet");
        assert!(is_open != is_known, "{name}: {said}");
        let said = answers(&kernel);
        assert_eq!(known.get_or_insert_with(|| said.clone()), &said, "{name}");
    }
}

/// Each by the name that the kernel has for its register, which the debug information only numbers.
#[test]
fn parameters_are_fetched_from_named_registers() {
    let named = [
        ["%a0", "%a1", "a1"],
        ["%gpr3", "%gpr4", "gpr[4]"],
        ["%r2", "%r3", "gprs[3]"],
        ["%r4", "%r5", "regs[5]"],
        ["%r4", "%r5", "regs[5]"],
    ];
    for (target, [first, second, member]) in TARGETS.iter().chain(&MIPS).zip(named) {
        let Some(tree) = target.link(SOURCE) else { continue };
        let place = index(tree).json(&["-q", "resolve", "probed", "pair->second", "count"]).swap_remove(0);
        let fetched: Vec<&str> = place["vars"].as_array().unwrap().iter().map(|v| text(v, "fetch")).collect();
        let wanted = [format!("second=+8({first}):s64"), format!("count={second}:x32")];
        assert_eq!(fetched, wanted, "{}", target.compiler.join(" "));
        assert_eq!(text(&place["vars"][1], "c"), format!("regs->{member}"), "{}", target.compiler.join(" "));
    }
}

/// Kernels of 32-bit ARM and mips64 are without, as those before 4.20 (CONFIG_HAVE_FUNCTION_ARG_ACCESS_API).
#[test]
fn arguments_by_number_are_fetched_if_the_kernel_has_them() {
    const REGISTERS: &str = "CONFIG_HAVE_REGS_AND_STACK_ACCESS_API=y\n";
    let arguments = format!("{REGISTERS}CONFIG_HAVE_FUNCTION_ARG_ACCESS_API=y\n");
    for (config, state) in [("", "readable"), (REGISTERS, "unsupported"), (&arguments, "readable")] {
        let Some(tree) = MIPS[0].link(SOURCE) else { return };
        if !config.is_empty() {
            tree.file(".config", config.as_bytes());
        }
        let place = index(tree).json(&["-q", "resolve", "probed", "$arg1"]).swap_remove(0);
        assert_eq!(text(&place["vars"][0], "state"), state, "{config:?}: {place}");
    }
}

/// Their debug information is all relocations, of types and in a form that the machine has.
#[test]
fn modules_are_relocated_as_their_machine_says() {
    for target in TARGETS.iter().chain(&MIPS) {
        let name = target.compiler.join(" ");
        let Some(tree) = target.link(SOURCE) else { continue };
        let source = tree.file("module.c", MODULE.as_bytes());
        assert!(target.compile(&source, &tree.path().join("module.ko")), "{name}");
        let (kernel, built) = try_index(tree);
        assert!(built.code == 0 && !built.err.contains("relocations"), "{name}: {built:?}");
        let listed = kernel.run(&["-q", "find", "module(\"module\").function(\"*\")", "--args"]).found();
        let listed: Vec<&str> = listed.lines().map(|line| line.rsplit('/').next().unwrap()).collect();
        assert_eq!(listed, ["module.c:5\") $pair:struct pair*", "module.c:6\") $count:int"], "{name}");
        for function in ["first_of_module", "second_of_module"] {
            let place = kernel.json(&["-q", "resolve", function]).swap_remove(0);
            assert_eq!(
                [text(&place, "module"), text(&place, "symbol")],
                ["module", function],
                "{name}: {place}"
            );
        }
        assert!(kernel.run(&["-q", "lines", "second_of_module"]).found().contains("return count"), "{name}");
    }
}

/// Where they are not known nothing of the module can be told, and everything of the kernel.
#[test]
fn modules_of_a_machine_that_is_not_known_are_left_out() {
    const EM_ALPHA: u16 = 0x9026;
    let target = &TARGETS[0];
    let Some(tree) = target.link(SOURCE) else { return };
    let module = tree.path().join("module.ko");
    assert!(target.compile(&tree.file("module.c", MODULE.as_bytes()), &module));
    for path in [vmlinux(&tree), module] {
        let mut bytes = std::fs::read(&path).unwrap();
        bytes[18..20].copy_from_slice(&EM_ALPHA.to_le_bytes());
        std::fs::write(&path, bytes).unwrap();
    }
    let (kernel, built) = try_index(tree);
    let told = "relocations of a machine (e_machine 36902) whose types are not known";
    assert!(built.code == 4 && built.err.matches(told).count() == 1, "{built:?}");
    assert!(kernel.run(&["-q", "find", "probed"]).found().contains("probed.c"));
    assert_eq!(kernel.run(&["-q", "find", "first_of_module"]).code, 1);
}

#[test]
fn big_endian_btf_is_what_the_debug_information_says() {
    let (Some(tree), Some(with)) = (BIG_ENDIAN.link(SOURCE), BIG_ENDIAN.link(SOURCE)) else { return };
    let mut pahole = Command::new("pahole");
    pahole.arg("-J").arg(vmlinux(&tree));
    if !pahole.output().is_ok_and(|out| out.status.success()) {
        skipped("pahole cannot make BTF of it");
        return;
    }
    let mut strip = Command::new("s390x-linux-gnu-objcopy");
    strip.arg("--strip-debug").arg(vmlinux(&tree));
    run_all([strip]);
    let (kernel, with) = (index(tree), index(with));
    for name in ["pair", "bits", "packed", "enum level", "pair.bits.wide"] {
        // BTF has no file and line.
        let body = |text: String| -> Vec<String> {
            text.lines().filter(|line| !line.contains("probed.c")).map(str::to_owned).collect()
        };
        let layout = |kernel: &Indexed| body(kernel.run(&["-q", "type", name]).found());
        assert_eq!(layout(&kernel), layout(&with), "{name}");
    }
    let place = kernel.json(&["-q", "resolve", "probed"]).swap_remove(0);
    assert_eq!(text(&place, "rests_on"), "btf");
    let vars: Vec<_> = place["vars"].as_array().unwrap().iter().map(|v| text(v, "type")).collect();
    assert_eq!(vars, ["struct pair*", "enum level"]);
}

#[test]
fn constants_and_bit_fields_are_numbers_in_any_order() {
    let wanted = [
        ("half", "half=\\4602678819172646912:x64"),
        ("thousand", "thousand=\\1000:s32"),
        ("wide", "wide=\\81985529216486895:s64"),
        ("table[0]", "table=\\1:s32"),
        ("table[1]", "table=\\2:s32"),
        ("fields.first", "first=\\1:x8"),
        ("fields.second", "second=\\2:x16"),
    ];
    let little_endian = Target { compiler: &["gcc"], linker: "ld" };
    let big_endian = Target { compiler: &["s390x-linux-gnu-gcc"], linker: "s390x-linux-gnu-ld" };
    for target in [little_endian, big_endian] {
        let Some(tree) = target.link(CONSTANTS) else { continue };
        let kernel = index(tree);
        let arguments = wanted.iter().map(|w| w.0);
        let asked: Vec<&str> = ["-q", "resolve", "constants"].into_iter().chain(arguments).collect();
        let place = kernel.json(&asked).swap_remove(0);
        for ((name, fetch), found) in wanted.iter().zip(place["vars"].as_array().unwrap()) {
            assert_eq!(text(found, "fetch"), *fetch, "{} {name}: {found}", target.compiler[0]);
        }
    }
    // The lowest bit counts for who reads: 7 bits behind 3, of 32.
    for (target, lowest) in [(&TARGETS[0], 3), (&BIG_ENDIAN, 22)] {
        let Some(tree) = target.link(SOURCE) else { continue };
        let place = index(tree).json(&["-q", "resolve", "probed", "pair->bits.next"]).swap_remove(0);
        let steps = place["vars"][0]["steps"].as_array().unwrap().clone();
        let bits = serde_json::json!({"op": "bits", "offset": lowest, "width": 7, "signed": false});
        assert_eq!(steps.last(), Some(&bits), "{place}");
    }
}
