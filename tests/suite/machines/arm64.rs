//! What each mechanism of an arm64 kernel says of a place: fixtures/arm64, made by clang and lld.
use crate::answers::verdicts::assert_all;
use crate::support::fixture::{Tree, run_all, skipped};
use crate::support::program::Indexed;
use crate::support::tables::{index, text, try_index};
use std::path::Path;
use std::process::Command;

/// What kernels differ in: macros of the fixture.
type Flags = &'static [&'static str];

const PLAIN: Flags = &[];
const OTHERS: [Flags; 2] = [&["-DCALL_OPS"], &["-DSMALL_EXCEPTIONS"]];

/// Compiles and indexes a kernel with a module; `None` where that is not possible here, which is said.
fn kernel(flags: Flags, config: &str) -> Option<Indexed> {
    kernel_called("6.1.0-arm", flags, config)
}

fn kernel_called(release: &str, flags: Flags, config: &str) -> Option<Indexed> {
    let tree = compile_as(release, flags)?;
    tree.file(".config", config.as_bytes());
    Some(index(tree))
}

fn compile(flags: Flags) -> Option<Tree> {
    compile_as("6.1.0-arm", flags)
}

fn compile_as(release: &str, flags: Flags) -> Option<Tree> {
    for tool in ["clang", "ld.lld"] {
        if !Command::new(tool).arg("--version").output().is_ok_and(|o| o.status.success()) {
            skipped(&format!("arm64: {tool} cannot be started"));
            return None;
        }
    }
    let tree = Tree::empty();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/arm64");
    let tool = |name: &str| {
        let mut c = Command::new(name);
        c.current_dir(&fixtures);
        c
    };
    let object = |name: &str| tree.path().join(format!("{name}.o"));
    run_all(["kernel", "module"].map(|name| {
        let mut c = tool("clang");
        c.args(["--target=aarch64-linux-gnu", "-march=armv8.5-a"]).args(flags);
        c.arg(format!("-DRELEASE=\"{release}\""));
        c.args(["-c", &format!("{name}.S"), "-o"]).arg(object(name));
        c
    }));
    let modules = tree.path().join(format!("lib/modules/{release}/kernel"));
    std::fs::create_dir_all(&modules).unwrap();
    // The image is moved when it starts, as the kernel's own: its pointers are in `.rela.dyn`.
    let mut vmlinux = tool("ld.lld");
    vmlinux.args(["-pie", "--no-dynamic-linker", "-Bsymbolic", "-z", "notext", "--no-apply-dynamic-relocs"]);
    vmlinux.args(["--build-id=sha1", "-T", "kernel.lds", "-o"]);
    vmlinux.arg(tree.path().join(format!("vmlinux-{release}"))).arg(object("kernel"));
    let mut module = tool("ld.lld");
    module.args(["-r", "--build-id=sha1", "-o"]).arg(modules.join("places.ko")).arg(object("module"));
    run_all([vmlinux, module]);
    for name in ["kernel", "module"] {
        std::fs::remove_file(object(name)).unwrap();
    }
    Some(tree)
}

/// As Debian's kernel 6.1.
const CONFIG: &str = "CONFIG_KPROBES=y\nCONFIG_DYNAMIC_FTRACE=y\n# CONFIG_KALLSYMS_ALL is not set\n";

/// Places, and what `register_kprobe` says there.
const KPROBES: &[(&str, &str)] = &[
    // The first no-op becomes `mov x9, x30`, the second one a call.
    ("vmlinux:plain", "ok"),
    ("vmlinux:plain+1", "not-boundary"),
    ("vmlinux:plain+2", "not-boundary"),
    ("vmlinux:plain+4", "ftrace-site"),
    ("vmlinux:plain+6", "ftrace-site"),
    ("vmlinux:plain+8", "ok"),
    ("with_landing", "ok"),
    ("with_landing+4", "ok"),
    ("with_landing+8", "ftrace-site"),
    ("with_landing+12", "ok"),
    ("untraced", "ok"),
    ("jump_labels+8", "jump-label"),
    ("jump_labels+12", "jump-label"),
    ("jump_labels+16", "ok"),
    ("bugs+8", "bug-site"),
    ("bugs+12", "unsupported-instruction"),
    ("bugs+16", "ok"),
    // What may fault is refused, whatever it is.
    ("exceptions+8", "unsupported-instruction"),
    ("exceptions+12", "ok"),
    // Both can be probed, one of them, none, a jump and what becomes of it, what nobody knows, two at once.
    ("alternatives+8", "ok"),
    ("alternatives+12", "patched"),
    ("alternatives+16", "unsupported-instruction"),
    ("alternatives+20", "ok"),
    ("alternatives+24", "patched"),
    ("alternatives+28", "ok"),
    ("alternatives+32", "patched"),
    ("alternatives+36", "ok"),
    ("sequences+8", "unsupported-instruction"),
    ("sequences+12", "unsupported-instruction"),
    ("sequences+16", "unsupported-instruction"),
    ("sequences+20", "ok"),
    ("sequences+24", "ok"),
    // The kernel takes loads with acquire for exclusive ones.
    ("sequences+28", "ok"),
    ("sequences+32", "unsupported-instruction"),
    ("sequences+36", "unsupported-instruction"),
    ("sequences+40", "ok"),
    ("long_sequence+8", "ok"),
    ("long_sequence+12", "unsupported-instruction"),
    ("long_sequence+136", "unsupported-instruction"),
    ("long_sequence+140", "ok"),
    // It looks no further back than its symbol.
    ("unended+4", "unsupported-instruction"),
    ("behind_unended", "ok"),
    ("patched_sequence+8", "ok"),
    ("patched_sequence+12", "patched"),
    ("patched_sequence+16", "patched"),
    ("patched_sequence+20", "ok"),
    ("unsupported+8", "unsupported-instruction"),
    ("unsupported+12", "unsupported-instruction"),
    ("unsupported+16", "unsupported-instruction"),
    ("unsupported+20", "unsupported-instruction"),
    ("unsupported+24", "unsupported-instruction"),
    ("unsupported+28", "unsupported-instruction"),
    ("unsupported+32", "unsupported-instruction"),
    ("unsupported+36", "ok"),
    ("unsupported+40", "ok"),
    ("unsupported+44", "ok"),
    ("unsupported+48", "ok"),
    ("unsupported+52", "ok"),
    ("unsupported+56", "ok"),
    ("blocked", "blacklist"),
    ("blocked+8", "blacklist"),
    ("in_irqentry", "entry-text"),
    ("in_entry", "entry-text"),
    ("in_kprobes_text", "kprobes-text"),
    ("in_noinstr", "noinstr"),
    ("in_hyp", "entry-text"),
    ("in_hyp_idmap", "entry-text"),
    ("in_idmap", "entry-text"),
    ("outside", "discarded"),
    ("in_init", "init-text"),
    ("module_plain", "ok"),
    ("module_plain+4", "ftrace-site"),
    ("module_plain+8", "ok"),
    ("module_places+8", "jump-label"),
    ("module_places+12", "bug-site"),
    ("module_places+16", "unsupported-instruction"),
    ("module_places+20", "ok"),
    ("module_places+24", "ok"),
    ("module_blocked", "blacklist"),
];

#[test]
fn register_kprobe() {
    let Some(plain) = kernel(PLAIN, CONFIG) else { return };
    assert_all(&plain, KPROBES, "kprobe");
    for flags in OTHERS {
        assert_all(&kernel(flags, CONFIG).unwrap(), KPROBES, "kprobe");
    }
}

#[test]
fn a_kernel_whose_kprobes_are_made_by_ftrace() {
    let Some(kernel) = kernel(PLAIN, &format!("{CONFIG}CONFIG_KPROBES_ON_FTRACE=y\n")) else { return };
    assert_eq!(kernel.says("vmlinux:plain+4", "kprobe"), "ok");
}

#[test]
fn kprobe_events_return_probes_and_ftrace() {
    for flags in [PLAIN, OTHERS[0]] {
        let Some(kernel) = kernel(flags, CONFIG) else { return };
        let events = [
            ("vmlinux:plain+8", "ok"),
            ("untraced", "no-ftrace-site"),
            ("module_untraced", "no-ftrace-site"),
        ];
        assert_all(&kernel, &events, "kprobe_events");
        // No function is special to return probes.
        let returns = [("vmlinux:plain", "ok"), ("vmlinux:plain+8", "not-entry"), ("__switch_to", "ok")];
        assert_all(&kernel, &returns, "kretprobe");
        let ftrace = [
            ("vmlinux:plain", "ok"),
            ("with_landing", "ok"),
            ("blocked", "ok"),
            ("untraced", "no-ftrace-site"),
            ("module_plain", "ok"),
        ];
        assert_all(&kernel, &ftrace, "ftrace");
    }
}

/// Compilers that have functions begin behind the no-ops: a return probe is taken at the symbol alone, and what can be
/// read is the same.
#[test]
fn functions_begin_where_their_symbols_are() {
    for flags in [PLAIN, OTHERS[0]] {
        let Some(kernel) = kernel(flags, CONFIG) else { return };
        let places = kernel.json(&["resolve", "described"]);
        assert_eq!(places.len(), 1);
        assert_eq!((&places[0]["offset"], text(&places[0]["attach"], "kretprobe")), (&0.into(), "ok"));
        let fetched = |spec: &str| text(&kernel.json(&["resolve", spec])[0]["vars"][0], "fetch").to_owned();
        assert_eq!(fetched("described"), "value=%x0:s64");
        assert_eq!(fetched("described+8"), "value=%x0:s64");
        assert_eq!(fetched("described+12"), "value=%x1:s64");
    }
}

#[test]
fn anchors_are_symbols_that_the_kernel_keeps() {
    let Some(without_data) = kernel(PLAIN, CONFIG) else { return };
    let with_data = kernel(PLAIN, "CONFIG_KPROBES=y\nCONFIG_KALLSYMS_ALL=y\n").unwrap();
    let anchor = |kernel: &Indexed| {
        let place = kernel.json(&["resolve", "vmlinux:plain"]).swap_remove(0);
        text(&place["anchor"], "symbol").to_owned()
    };
    assert_eq!([anchor(&without_data), anchor(&with_data)], ["_stext", "_text"]);
}

/// In the order of the kernel's list: functions by name, then areas; what lies behind the text is not in it.
#[test]
fn the_kernels_own_list() {
    let Some(kernel) = kernel(PLAIN, CONFIG) else { return };
    let listed = kernel.json(&["--quiet", "blacklist"]);
    let names: Vec<&str> = listed.iter().map(|range| text(range, "name")).collect();
    let expected = [
        "blocked",
        "in_kprobes_text",
        "in_noinstr",
        "in_entry",
        "in_irqentry",
        "in_idmap",
        "__kvm_nvhe_in_hyp",
        "in_hyp",
        "in_hyp_idmap",
    ];
    assert_eq!(names, expected);
}

/// Without the table of ftrace sites nothing is known to be taken.
#[test]
fn a_lost_table_leaves_it_open() {
    let Some(tree) = compile(PLAIN) else { return };
    tree.file(".config", CONFIG.as_bytes());
    let vmlinux = tree.path().join("vmlinux-6.1.0-arm");
    let mut cut = Command::new("llvm-objcopy");
    cut.args(["--strip-symbol=__start_mcount_loc", "--strip-symbol=__stop_mcount_loc"]);
    cut.arg("--redefine-sym=reader=ftrace_location").arg(&vmlinux);
    if !cut.output().is_ok_and(|o| o.status.success()) {
        skipped("arm64: llvm-objcopy cannot be started");
        return;
    }
    let (kernel, built) = try_index(tree);
    assert!(built.err.contains("__mcount_loc"), "{built:?}");
    assert_eq!(kernel.says("vmlinux:plain", "kprobe"), "undecided");
    assert_eq!(kernel.says("blocked", "kprobe"), "blacklist");
}

/// What `trace` plants.
fn planted(indexed: &Indexed, spec: &str) -> String {
    let run = indexed.run(&["trace", spec, "--dry-run", "--kernel", "*"]).found();
    let line = run.lines().find(|line| line.contains("dynamic_events")).unwrap_or_default();
    line.split('\'').nth(3).unwrap_or_default().to_owned()
}

/// A kprobe is a trap on arm64, an fprobe is none: kernels have it there since 6.14.
#[test]
fn entries_and_returns_are_traced_by_fprobes() {
    let Some(newer) = kernel_called("6.14.0-arm", PLAIN, CONFIG) else { return };
    assert_eq!(planted(&newer, "vmlinux:plain"), "f:probeidx_dry/plain plain");
    assert_eq!(planted(&newer, "vmlinux:plain%return"), "f:probeidx_dry/plain__return plain%return");
    // Not at the entry, not with so many calls at a time.
    for other in ["vmlinux:plain+8", "kernel.function(\"plain\").return.maxactive(5)"] {
        let line = planted(&newer, other);
        assert!(line.starts_with(['p', 'r']), "{other}: {line}");
    }
    let Some(older) = kernel(PLAIN, CONFIG) else { return };
    assert!(planted(&older, "vmlinux:plain").starts_with("p:"));
}
