//! What each mechanism of a ppc64le kernel says of a place: fixtures/ppc64le, made by clang and its linker.
use crate::answers::verdicts::assert_all;
use crate::support::fixture::{Tree, run_all, skipped};
use crate::support::program::Indexed;
use crate::support::tables::{index, text, try_index};
use std::path::Path;
use std::process::Command;

/// What kernels differ in: macros of the fixture, and where a site is behind an entry.
struct Style {
    flags: &'static [&'static str],
    site: u32,
}

/// `-mprofile-kernel`; no-ops since 6.5; one no-op and stubs elsewhere since 6.13.
const STYLES: [Style; 3] = [
    Style { flags: &["-DCALLS", "-DMCOUNT=__mcount_loc"], site: 4 },
    Style { flags: &["-DMCOUNT=__patchable_function_entries"], site: 4 },
    Style { flags: &["-DOUT_OF_LINE", "-DMCOUNT=__patchable_function_entries"], site: 0 },
];

const RELEASE: &str = "6.12.0-powerpc64le";
/// Where `_text` is linked.
const TEXT: u64 = 0xc000_0000_0000_0000;
const CONFIG: &str = "CONFIG_KPROBES=y\nCONFIG_DYNAMIC_FTRACE=y\nCONFIG_KALLSYMS_ALL=y\n";

/// Compiles and indexes a kernel with a module; `None` where that is not possible here, which is said.
fn kernel(flags: &[&str]) -> Option<Indexed> {
    compiled(flags, RELEASE).map(index)
}

fn compiled(flags: &[&str], release: &str) -> Option<Tree> {
    let starts = |tool: &str| Command::new(tool).arg("--version").output().is_ok_and(|o| o.status.success());
    if !["clang", "ld.lld"].into_iter().all(starts) {
        skipped("ppc64le: no clang or no ld.lld");
        return None;
    }
    let tree = Tree::empty();
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/ppc64le");
    let tool = |name: &str| {
        let mut c = Command::new(name);
        c.current_dir(&fixtures);
        c
    };
    let object = |name: &str| tree.path().join(format!("{name}.o"));
    run_all(["kernel", "module"].map(|name| {
        let mut c = tool("clang");
        c.arg("--target=powerpc64le-linux-gnu").args(flags).arg(format!("-DRELEASE=\"{release}\""));
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

/// Places, and what `register_kprobe` says there whatever the kernel.
const KPROBES: &[(&str, &str)] = &[
    ("in_head", "entry-text"),
    ("vmlinux:plain", "ok"),
    ("vmlinux:plain+1", "not-boundary"),
    ("vmlinux:plain+2", "not-boundary"),
    ("vmlinux:plain+4", "ok"),
    ("untraced", "ok"),
    ("untraced+4", "ok"),
    ("untraced+8", "ok"),
    ("jump_labels", "jump-label"),
    ("jump_labels+4", "jump-label"),
    ("jump_labels+8", "ok"),
    ("bugs", "bug-site"),
    ("bugs+4", "unsupported-instruction"),
    ("bugs+8", "ok"),
    // Both can be probed, one of them, that and a no-op, none, none and a no-op.
    ("alternatives", "ok"),
    ("alternatives+4", "patched"),
    ("alternatives+8", "ok"),
    ("alternatives+12", "unsupported-instruction"),
    ("alternatives+16", "patched"),
    ("alternatives+20", "ok"),
    ("unsupported", "unsupported-instruction"),
    ("unsupported+4", "unsupported-instruction"),
    ("unsupported+8", "unsupported-instruction"),
    ("unsupported+12", "unsupported-instruction"),
    ("unsupported+16", "unsupported-instruction"),
    ("unsupported+20", "unsupported-instruction"),
    ("unsupported+24", "unsupported-instruction"),
    ("unsupported+28", "unsupported-instruction"),
    ("unsupported+32", "ok"),
    // An instruction of eight bytes, and its second half.
    ("unsupported+36", "ok"),
    ("unsupported+40", "unsupported-instruction"),
    ("unsupported+44", "ok"),
    ("unsupported+48", "ok"),
    ("blocked+4", "blacklist"),
    ("in_kprobes_text", "kprobes-text"),
    ("in_noinstr", "noinstr"),
    ("in_init", "init-text"),
    ("module_places", "jump-label"),
    ("module_places+4", "bug-site"),
    ("module_places+8", "patched"),
    ("module_places+12", "ok"),
];

#[test]
fn register_kprobe() {
    for Style { flags, .. } in STYLES {
        let Some(kernel) = kernel(flags) else { return };
        assert_all(&kernel, KPROBES, "kprobe");
    }
}

#[test]
fn kprobe_events_return_probes_and_ftrace() {
    for Style { flags, site } in STYLES {
        let Some(kernel) = kernel(flags) else { return };
        assert_all(&kernel, &[("untraced", "no-ftrace-site"), ("vmlinux:plain", "ok")], "kprobe_events");
        // What is near counts as entry: 16 bytes, or those up to the site.
        let (last, next) = if site == 0 { ("twice+8", "twice+12") } else { ("twice+16", "twice+20") };
        let entries = [("twice", "ok"), ("twice+8", "ok"), (last, "ok"), (next, "not-entry")];
        assert_all(&kernel, &entries, "kretprobe");
        let ftrace = [("twice", "ok"), ("module_twice", "ok"), ("untraced", "no-ftrace-site")];
        assert_all(&kernel, &ftrace, "ftrace");
    }
}

/// How far behind its address a probe of a function lands.
fn shift(kernel: &Indexed, function: &str) -> u64 {
    let places = kernel.json(&["resolve", function]);
    assert_eq!(places.len(), 1, "{function}");
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
    let address = number(text(&places[0], "address"));
    places[0].get("lands").map_or(0, |lands| number(lands.as_str().unwrap()) - address)
}

/// A probe at the address of a symbol misses the calls that go to its local entry.
#[test]
fn probes_go_where_calls_lead() {
    for Style { flags, site } in STYLES {
        let Some(kernel) = kernel(flags) else { return };
        for (function, entry) in [("vmlinux:plain", 0), ("twice", 8), ("module_twice", 8)] {
            assert_eq!(shift(&kernel, function), entry + u64::from(site), "{function} {flags:?}");
        }
        assert_eq!(shift(&kernel, "untraced"), 8);
        let place = &kernel.json(&["resolve", "twice"])[0];
        let behind_text = u64::from_str_radix(&text(place, "lands")[2..], 16).unwrap() - TEXT;
        assert_eq!(place["anchor"]["offset"], behind_text, "{place}");
    }
}

/// A probe at the name of a short function may land at the next one, so that its anchor is another name.
#[test]
fn a_name_that_may_lead_to_the_next_function_is_no_anchor() {
    for Style { flags, site } in STYLES {
        let Some(kernel) = kernel(flags) else { return };
        let anchor = |function| kernel.json(&["resolve", function])[0]["anchor"].clone();
        let (short, next) = (anchor("module_short"), anchor("module_traced"));
        let is_near = site == 0;
        assert_eq!(text(&short, "symbol"), if is_near { "module_twice" } else { "module_short" }, "{short}");
        assert_eq!(short["offset"] == 0, !is_near, "{short}");
        assert_eq!(text(&next, "symbol"), "module_traced", "{next}");

        let script = kernel.tree.file("short.bt", b"kprobe:module_short { }\n");
        let checked = kernel.run(&["check", script.to_str().unwrap()]);
        let told = "a probe by this name may land at the function behind it";
        assert_eq!(checked.out.contains(told), is_near, "{checked:?}");
    }
}

/// The debug information has one that starts with no-ops begin behind them.
#[test]
fn functions_begin_where_their_symbols_are() {
    for Style { flags, .. } in STYLES {
        let Some(kernel) = kernel(flags) else { return };
        let places = kernel.json(&["resolve", "vmlinux:plain"]);
        assert_eq!(places.len(), 1);
        assert_eq!(&places[0]["offset"], &0, "{flags:?}");
        assert_eq!(text(&places[0]["attach"], "ftrace"), "ok", "{flags:?}");
    }
}

/// Without CONFIG_KPROBES_ON_FTRACE what ftrace patches is refused, and a probe by name goes to the local entry.
#[test]
fn sites_of_ftrace_alone() {
    for Style { flags, site } in STYLES {
        let Some(kernel) = kernel(&[flags, &["-DWITHOUT_FTRACE"]].concat()) else { return };
        assert_all(&kernel, &[(&format!("twice+{}", 8 + site), "ftrace-site")], "kprobe");
        assert_all(&kernel, &[("twice", if site == 0 { "ftrace-site" } else { "ok" })], "kprobe");
        assert_all(&kernel, &[("twice+8", if site == 0 { "ftrace-site" } else { "ok" })], "kretprobe");
        assert_all(&kernel, &[("twice+16", "not-entry")], "kretprobe");
        assert_eq!(shift(&kernel, "twice"), 8);
    }
}

#[test]
fn what_older_kernels_do_is_not_guessed() {
    let Some(tree) = compiled(STYLES[0].flags, "5.15.0-powerpc64le") else { return };
    let (kernel, built) = try_index(tree);
    let told = "the rules of ppc64 are known for little-endian kernels from 5.19 on";
    assert!(built.code == 0 && built.err.contains(told), "{built:?}");
    assert_all(&kernel, &[("vmlinux:plain", "undecided"), ("in_noinstr", "noinstr")], "kprobe");
}
