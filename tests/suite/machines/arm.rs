//! What each mechanism of a kernel of 32-bit ARM says of a place: fixtures/arm, made by clang and lld.
use crate::answers::verdicts::assert_all;
use crate::support::fixture::{Tree, run_all, skipped};
use crate::support::program::Indexed;
use crate::support::tables::{index, try_index};
use std::path::Path;
use std::process::Command;

const RELEASE: &str = "6.1.0-arm";
const CONFIG: &str = "CONFIG_KPROBES=y\nCONFIG_DYNAMIC_FTRACE=y\nCONFIG_KALLSYMS_ALL=y\n";

/// Compiles and indexes a kernel with a module; `None` where that is not possible here, which is said.
fn kernel(flags: &[&str]) -> Option<Indexed> {
    compiled(flags, RELEASE).map(index)
}

fn compiled(flags: &[&str], release: &str) -> Option<Tree> {
    let starts = |tool: &str| Command::new(tool).arg("--version").output().is_ok_and(|o| o.status.success());
    if !["clang", "ld.lld"].into_iter().all(starts) {
        skipped("arm: no clang or no ld.lld");
        return None;
    }
    let tree = Tree::empty();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/arm");
    let tool = |name: &str| {
        let mut c = Command::new(name);
        c.current_dir(&fixtures);
        c
    };
    let object = |name: &str| tree.path().join(format!("{name}.o"));
    run_all(["kernel", "module"].map(|name| {
        let mut c = tool("clang");
        c.arg("--target=armv7-linux-gnueabi").args(flags).arg(format!("-DRELEASE=\"{release}\""));
        c.args(["-c", &format!("{name}.S"), "-o"]).arg(object(name));
        c
    }));
    let modules = tree.path().join(format!("lib/modules/{release}/kernel"));
    std::fs::create_dir_all(&modules).unwrap();
    let mut vmlinux = tool("ld.lld");
    vmlinux.args(["--build-id=sha1", "-T", "kernel.lds", "-o"]);
    vmlinux.arg(tree.path().join(format!("vmlinux-{release}"))).arg(object("kernel"));
    let mut module = tool("ld.lld");
    module.args(["-r", "--build-id=sha1", "-o"]).arg(modules.join("places.ko")).arg(object("module"));
    run_all([vmlinux, module]);
    for name in ["kernel", "module"] {
        std::fs::remove_file(object(name)).unwrap();
    }
    tree.file(".config", CONFIG.as_bytes());
    Some(tree)
}

const KPROBES: &[(&str, &str)] = &[
    ("vmlinux:plain", "ok"),
    ("vmlinux:plain+2", "not-boundary"),
    ("vmlinux:plain+4", "ftrace-site"),
    ("vmlinux:plain+8", "ok"),
    ("untraced", "ok"),
    ("jump_labels+8", "jump-label"),
    ("jump_labels+12", "jump-label"),
    ("jump_labels+16", "ok"),
    ("bugs+8", "bug-site"),
    ("bugs+12", "unsupported-instruction"),
    ("bugs+16", "ok"),
    // What stands there, and what replaces it on one processor: both can be probed, one of them, none.
    ("alternatives+8", "ok"),
    ("alternatives+12", "patched"),
    ("alternatives+16", "patched"),
    ("alternatives+20", "unsupported-instruction"),
    ("alternatives+24", "ok"),
    ("unsupported+8", "unsupported-instruction"),
    ("unsupported+12", "unsupported-instruction"),
    ("unsupported+16", "unsupported-instruction"),
    ("unsupported+20", "unsupported-instruction"),
    ("unsupported+24", "unsupported-instruction"),
    ("unsupported+28", "ok"),
    ("unsupported+32", "ok"),
    ("unsupported+36", "ok"),
    ("unsupported+40", "ok"),
    ("data_within+8", "ok"),
    ("data_within+12", "not-boundary"),
    ("data_within+16", "ok"),
    ("under_conditions+8", "conditional"),
    ("under_conditions+12", "conditional"),
    ("under_conditions+16", "unsupported-instruction"),
    ("under_conditions+20", "ok"),
    ("blocked+8", "blacklist"),
    ("in_irqentry", "entry-text"),
    ("in_entry", "entry-text"),
    ("in_idmap", "entry-text"),
    ("in_kprobes_text", "kprobes-text"),
    ("in_noinstr", "noinstr"),
    ("in_init", "init-text"),
    ("module_plain+4", "ftrace-site"),
    ("module_places+8", "jump-label"),
    ("module_places+12", "bug-site"),
    ("module_places+16", "patched"),
    ("module_places+20", "ok"),
];

/// Places of alternatives are offsets, or addresses as in 5.10.
#[test]
fn register_kprobe() {
    for flags in [&[][..], &["-DADDRESSES"]] {
        let Some(kernel) = kernel(flags) else { return };
        assert_all(&kernel, KPROBES, "kprobe");
    }
}

#[test]
fn kprobe_events_return_probes_and_ftrace() {
    let Some(kernel) = kernel(&[]) else { return };
    let events =
        [("untraced", "no-ftrace-site"), ("vmlinux:plain", "ok"), ("vmlinux:plain+4", "ftrace-site")];
    assert_all(&kernel, &events, "kprobe_events");
    assert_all(&kernel, &[("vmlinux:plain", "ok"), ("vmlinux:plain+8", "not-entry")], "kretprobe");
    // ftrace names that site by the function before it, and kprobe_events goes by that.
    assert_all(&kernel, &[("before_lost", "ok")], "kprobe_events");
    assert_all(&kernel, &[("before_lost", "no-ftrace-site")], "ftrace");
    let ftrace = [("vmlinux:plain", "ok"), ("module_plain", "ok"), ("untraced", "no-ftrace-site")];
    assert_all(&kernel, &ftrace, "ftrace");
}

/// Without its tables, with Thumb code, and older than what was tried.
#[test]
fn what_a_kernel_does_not_tell_is_not_guessed() {
    for (flags, release) in
        [(&["-DWITHOUT_TABLE"], RELEASE), (&["-DTHUMB"], RELEASE), (&["-DOLD"], "5.4.0-arm")]
    {
        let Some(tree) = compiled(flags, release) else { return };
        let (kernel, built) = try_index(tree);
        let is_said = built.err.matches("probes_decode_arm_table").count() == 1;
        assert!(built.code == 0 && is_said, "{flags:?}: {built:?}");
        for place in ["vmlinux:plain+8", "module_plain+8"] {
            assert_eq!(kernel.says(place, "kprobe"), "undecided", "{flags:?}");
        }
        assert_eq!(kernel.says("blocked+8", "kprobe"), "blacklist");
    }
}
