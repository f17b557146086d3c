//! What each mechanism of a riscv64 kernel says of a place: fixtures/riscv64, made by clang and a linker for riscv64.
use crate::answers::verdicts::assert_all;
use crate::support::fixture::{Tree, run_all, skipped};
use crate::support::program::Indexed;
use crate::support::tables::{index, text, try_index};
use std::path::Path;
use std::process::Command;

/// What kernels differ in: macros of the fixture, and where ftrace patches.
struct Style {
    flags: &'static [&'static str],
    site: u32,
}

/// Up to 6.15; from 6.16 on without and with a pointer before each function.
const STYLES: [Style; 3] = [
    Style { flags: &[], site: 0 },
    Style { flags: &["-DSECOND"], site: 4 },
    Style { flags: &["-DSECOND", "-DCALL_OPS"], site: 4 },
];

const RELEASE: &str = "6.12.0-riscv";
const CONFIG: &str = "CONFIG_KPROBES=y\nCONFIG_DYNAMIC_FTRACE=y\nCONFIG_KALLSYMS_ALL=y\n";

/// Compiles and indexes a kernel with a module; `None` where that is not possible here, which is said.
fn kernel(flags: &[&str], release: &str) -> Option<Indexed> {
    compiled(flags, release).map(index)
}

fn compiled(flags: &[&str], release: &str) -> Option<Tree> {
    let starts = |tool: &str| Command::new(tool).arg("--version").output().is_ok_and(|o| o.status.success());
    let linker = ["ld.lld", "riscv64-linux-gnu-ld"].into_iter().find(|tool| starts(tool));
    let Some(linker) = linker.filter(|_| starts("clang")) else {
        skipped("riscv64: no clang, or neither ld.lld nor riscv64-linux-gnu-ld");
        return None;
    };
    let tree = Tree::empty();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/riscv64");
    let tool = |name: &str| {
        let mut c = Command::new(name);
        c.current_dir(&fixtures);
        c
    };
    let object = |name: &str| tree.path().join(format!("{name}.o"));
    run_all(["kernel", "module"].map(|name| {
        let mut c = tool("clang");
        c.args(["--target=riscv64-linux-gnu", "-march=rv64gc", "-mno-relax"]).args(flags);
        c.arg(format!("-DRELEASE=\"{release}\""));
        c.args(["-c", &format!("{name}.S"), "-o"]).arg(object(name));
        c
    }));
    let modules = tree.path().join(format!("lib/modules/{release}/kernel"));
    std::fs::create_dir_all(&modules).unwrap();
    let mut vmlinux = tool(linker);
    vmlinux.args(["--build-id=sha1", "--no-relax", "-T", "kernel.lds", "-o"]);
    vmlinux.arg(tree.path().join(format!("vmlinux-{release}"))).arg(object("kernel"));
    let mut module = tool(linker);
    module.args(["-r", "--build-id=sha1", "-o"]).arg(modules.join("places.ko")).arg(object("module"));
    run_all([vmlinux, module]);
    for name in ["kernel", "module"] {
        std::fs::remove_file(object(name)).unwrap();
    }
    tree.file(".config", CONFIG.as_bytes());
    Some(tree)
}

/// Places behind the no-ops, and what `register_kprobe` says there whatever the kernel.
const KPROBES: &[(&str, &str)] = &[
    ("vmlinux:plain+1", "not-boundary"),
    ("vmlinux:plain+2", "not-boundary"),
    ("vmlinux:plain+6", "not-boundary"),
    ("vmlinux:plain+8", "ok"),
    ("vmlinux:plain+10", "ok"),
    ("vmlinux:plain+12", "not-boundary"),
    ("vmlinux:plain+14", "ok"),
    ("untraced", "ok"),
    ("untraced+2", "ok"),
    ("untraced+4", "ok"),
    ("jump_labels+8", "jump-label"),
    ("jump_labels+10", "jump-label"),
    ("jump_labels+12", "jump-label"),
    ("jump_labels+16", "ok"),
    ("bugs+8", "bug-site"),
    ("bugs+10", "unsupported-instruction"),
    ("bugs+12", "ok"),
    // Both can be probed, one of them, none, and what has other boundaries.
    ("alternatives+8", "ok"),
    ("alternatives+12", "patched"),
    ("alternatives+16", "unsupported-instruction"),
    ("alternatives+20", "patched"),
    ("alternatives+22", "patched"),
    ("alternatives+24", "ok"),
    ("unsupported+8", "unsupported-instruction"),
    ("unsupported+12", "unsupported-instruction"),
    ("unsupported+16", "unsupported-instruction"),
    ("unsupported+20", "unsupported-instruction"),
    ("unsupported+24", "unsupported-instruction"),
    ("unsupported+28", "unsupported-instruction"),
    ("unsupported+32", "ok"),
    ("unsupported+36", "ok"),
    ("unsupported+40", "ok"),
    ("unsupported+44", "ok"),
    // The kernel counts on from the symbol, whatever the processor would make of it.
    ("data_within+8", "ok"),
    ("data_within+12", "ok"),
    ("data_within+14", "not-boundary"),
    ("data_within+16", "ok"),
    ("blocked+8", "blacklist"),
    ("in_irqentry", "entry-text"),
    ("in_kprobes_text", "kprobes-text"),
    ("in_noinstr", "noinstr"),
    ("in_init", "init-text"),
    ("module_places+8", "jump-label"),
    ("module_places+12", "bug-site"),
    ("module_places+14", "patched"),
    ("module_places+18", "ok"),
];

#[test]
fn register_kprobe() {
    for Style { flags, site } in STYLES {
        let Some(kernel) = kernel(flags, RELEASE) else { return };
        assert_all(&kernel, KPROBES, "kprobe");
        for function in ["vmlinux:plain", "module_plain"] {
            let at = |offset: u32| kernel.says(&format!("{function}+{offset}"), "kprobe");
            assert_eq!([at(site), at(4 - site)], ["ftrace-site", "ok"], "{flags:?} {function}");
        }
    }
}

#[test]
fn kprobe_events_return_probes_and_ftrace() {
    for Style { flags, site } in STYLES {
        let Some(kernel) = kernel(flags, RELEASE) else { return };
        assert_all(&kernel, &[("untraced", "no-ftrace-site"), ("vmlinux:plain+8", "ok")], "kprobe_events");
        let entry = if site == 0 { "ftrace-site" } else { "ok" };
        assert_all(&kernel, &[("vmlinux:plain", entry), ("vmlinux:plain+8", "not-entry")], "kretprobe");
        let ftrace = [("vmlinux:plain", "ok"), ("module_plain", "ok"), ("untraced", "no-ftrace-site")];
        assert_all(&kernel, &ftrace, "ftrace");
    }
}

/// The debug information has it begin behind the no-ops.
#[test]
fn functions_begin_where_their_symbols_are() {
    for Style { flags, .. } in STYLES {
        let Some(kernel) = kernel(flags, RELEASE) else { return };
        let places = kernel.json(&["resolve", "described"]);
        assert_eq!(places.len(), 1);
        assert_eq!(&places[0]["offset"], &0);
        assert_eq!(text(&places[0]["attach"], "ftrace"), "ok", "{flags:?}");
    }
}

#[test]
fn what_older_kernels_do_is_not_guessed() {
    let Some(tree) = compiled(&[], "6.6.0-riscv") else { return };
    let (kernel, built) = try_index(tree);
    assert!(built.code == 0 && built.err.contains("rules of riscv64 are known from 6.11 on"), "{built:?}");
    assert_eq!(kernel.says("vmlinux:plain+8", "kprobe"), "undecided");
    assert_eq!(kernel.says("blocked+8", "kprobe"), "blacklist");
}
