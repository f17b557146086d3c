//! Kernels of architectures whose rules for probes are not known: all the rest is there, and each verdict says why it is
//! open. What does not depend on the machine is the same for all, whatever their byte order.
use crate::fixture::{Tree, run_all, skipped};
use crate::program::Indexed;
use crate::tables::{index, text};
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

impl Target {
    /// A tree with a vmlinux that is linked; says so where the tools are not there.
    fn link(&self) -> Option<Tree> {
        let tree = Tree::empty();
        let (source, object) = (tree.file("probed.c", SOURCE.as_bytes()), tree.path().join("probed.o"));
        let mut compiler = Command::new(self.compiler[0]);
        compiler.args(&self.compiler[1..]).args(["-g", "-O2", "-ffreestanding", "-fno-pic", "-c"]);
        compiler.arg(source).arg("-o").arg(&object);
        let can_link = Command::new(self.linker).arg("--version").output().is_ok_and(|o| o.status.success());
        if !can_link || !compiler.output().is_ok_and(|o| o.status.success()) {
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
        let Some(tree) = target.link() else { continue };
        let name = target.compiler.join(" ");
        let kernel = index(tree);
        assert!(kernel.run(&["-q", "find", "probed"]).found().contains("probed.c"), "{name}");
        assert!(kernel.run(&["-q", "lines", "probed"]).found().contains("return pair"), "{name}");
        let place = kernel.json(&["-q", "resolve", "probed"]).swap_remove(0);
        assert_eq!(text(&place["attach"], "kprobe"), "undecided", "{name}");
        let said = kernel.run(&["-q", "resolve", "probed"]).found();
        assert!(said.contains("kprobe not supported on this architecture yet"), "{name}: {said}");
        let said = answers(&kernel);
        assert_eq!(known.get_or_insert_with(|| said.clone()), &said, "{name}");
    }
}

#[test]
fn big_endian_btf_is_what_the_debug_information_says() {
    let (Some(tree), Some(with)) = (BIG_ENDIAN.link(), BIG_ENDIAN.link()) else { return };
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
