//! Kernels of architectures whose rules for probes are not known: all the rest is there, and each verdict says why it is
//! open.
use crate::fixture::{Tree, run_all, skipped};
use crate::tables::{index, text};
use std::path::Path;
use std::process::Command;

/// What clang calls them.
const TARGETS: [&str; 2] = ["riscv64-linux-gnu", "powerpc64le-linux-gnu"];

const SOURCE: &str = r#"
const char linux_banner[] __attribute__((used)) = "Linux version 6.1.0-other (build@host) (clang) #1 SMP";
struct pair { int first; long second; };
volatile long sink;
static inline __attribute__((always_inline)) void inlined(long value) {
	sink = value;
	sink = value + 1;
}
__attribute__((noinline)) long probed(struct pair *pair, long count) {
	inlined(pair->second);
	return pair->first + count;
}
void _start(void) {
	static struct pair pair;
	sink = probed(&pair, sink);
}
"#;

#[test]
fn all_but_verdicts() {
    for target in TARGETS {
        let tree = Tree::empty();
        tree.file("probed.c", SOURCE.as_bytes());
        let (source, object) = (tree.path().join("probed.c"), tree.path().join("probed.o"));
        let mut clang = Command::new("clang");
        clang.arg(format!("--target={target}")).args(["-g", "-O2", "-ffreestanding", "-fno-pic", "-c"]);
        clang.arg(source).arg("-o").arg(&object);
        let can_link = Command::new("ld.lld").arg("--version").output().is_ok_and(|o| o.status.success());
        if !can_link || !clang.output().is_ok_and(|o| o.status.success()) {
            skipped(&format!("{target}: clang or ld.lld cannot make it"));
            continue;
        }
        let mut lld = Command::new("ld.lld");
        lld.args(["-Ttext=0xffffffff80000000", "--defsym=_text=0xffffffff80000000", "-o"]);
        lld.arg(tree.path().join("vmlinux-6.1.0-other")).arg(&object);
        run_all([lld]);
        std::fs::remove_file(object).unwrap();
        let kernel = index(tree);
        assert!(kernel.run(&["-q", "find", "probed"]).found().contains("probed.c"), "{target}");
        assert_eq!(kernel.json(&["-q", "resolve", "inlined"]).len(), 1, "{target}");
        assert!(kernel.run(&["-q", "lines", "probed"]).found().contains("return pair"), "{target}");
        assert!(kernel.run(&["-q", "type", "pair"]).found().contains("second"), "{target}");
        let place = kernel.json(&["-q", "resolve", "probed"]).swap_remove(0);
        assert_eq!(text(&place["attach"], "kprobe"), "undecided", "{target}");
        let said = kernel.run(&["-q", "resolve", "probed"]).found();
        assert!(said.contains("kprobe not supported on this architecture yet"), "{target}: {said}");
        assert!(Path::new(text(&place, "file")).ends_with("probed.c"), "{target}");
    }
}
