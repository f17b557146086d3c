//! What each mechanism of the kernel says of a place, by the kernel's tables and the bytes that are there.
use crate::support::fixture::Tree;
use crate::support::program::{Indexed, run_in};
use crate::support::tables::{Kernel, NEW, OLD, text, try_index};
use serde_json::{Value, json};
use std::sync::LazyLock;

pub static OLDER: LazyLock<Indexed> = LazyLock::new(|| OLD.index());
pub static NEWER: LazyLock<Indexed> = LazyLock::new(|| NEW.index());
/// In which no function betrays what is built in.
pub static WITHOUT_RULES: LazyLock<Indexed> = LazyLock::new(|| Kernel { has_rules: false, ..OLD }.index());

/// Places, and what `register_kprobe` says there in any of the kernels: a reason, and neighbours that have it not.
const KPROBES: &[(&str, &str)] = &[
    ("vmlinux:plain", "ok"),
    ("vmlinux:plain+1", "not-boundary"),
    ("vmlinux:plain+4", "not-boundary"),
    ("vmlinux:plain+5", "ok"),
    ("vmlinux:plain+8", "ok"),
    ("untraced", "ok"),
    ("untraced+2", "not-boundary"),
    ("untraced+3", "ok"),
    ("__pfx_with_endbr", "prefix-symbol"),
    ("__pfx_with_endbr+4", "prefix-symbol"),
    ("with_endbr", "ok"),
    // A label of five bytes, one of two.
    ("jump_labels", "ok"),
    ("jump_labels+5", "jump-label"),
    ("jump_labels+9", "jump-label"),
    ("jump_labels+10", "jump-label"),
    ("jump_labels+11", "jump-label"),
    ("jump_labels+12", "ok"),
    ("static_calls+5", "static-call"),
    ("static_calls+9", "static-call"),
    ("static_calls+10", "ok"),
    ("bugs+5", "bug-site"),
    ("bugs+6", "not-boundary"),
    ("bugs+7", "ok"),
    ("bugs+10", "bug-site"),
    ("bugs+12", "bug-site"),
    ("bugs+14", "ok"),
    // At its first byte an alternative is an instruction on every processor.
    ("alternatives+5", "ok"),
    ("alternatives+6", "patched"),
    // But where one of them cannot be probed the processor decides there too.
    ("alternatives+8", "patched"),
    ("alternatives+10", "patched"),
    ("alternatives+11", "patched"),
    ("alternatives+13", "ok"),
    // The indirect call that the file has is never there.
    ("paravirt_calls+5", "ok"),
    ("paravirt_calls+6", "patched"),
    ("paravirt_calls+11", "patched"),
    ("paravirt_calls+12", "unsupported-instruction"),
    ("paravirt_calls+13", "not-boundary"),
    ("paravirt_calls+19", "ok"),
    ("retpolines+5", "ok"),
    ("retpolines+9", "patched"),
    ("retpolines+10", "ok"),
    ("unsupported", "ok"),
    ("unsupported+5", "unsupported-instruction"),
    ("unsupported+7", "unsupported-instruction"),
    ("unsupported+9", "ok"),
    ("unsupported+11", "unsupported-instruction"),
    ("unsupported+14", "unsupported-instruction"),
    ("unsupported+16", "unsupported-instruction"),
    ("unsupported+18", "unsupported-instruction"),
    ("unsupported+20", "ok"),
    ("unsupported+22", "ok"),
    ("traps+9", "unsupported-instruction"),
    ("traps+10", "ok"),
    ("__SCT__call", "ok"),
    ("__SCT__call+1", "patched"),
    ("__SCT__call+5", "patched"),
    // What a check of types loads and compares is read again when it fails.
    ("cfi_checked", "ok"),
    ("cfi_checked+5", "unsupported-instruction"),
    ("cfi_checked+11", "unsupported-instruction"),
    ("cfi_checked+15", "ok"),
    ("cfi_checked+19", "ok"),
    ("blocked", "blacklist"),
    ("blocked+5", "blacklist"),
    ("__switch_to", "ok"),
    // Parts are refused with the function whose name ends at the first dot.
    ("blocked.cold", "blacklist"),
    ("plain.cold", "ok"),
    ("untraced.cold", "ok"),
    ("gone.constprop.0", "ok"),
    ("gone.constprop.0.cold", "ok"),
    ("in_kprobes_text", "kprobes-text"),
    ("also_in_kprobes_text", "kprobes-text"),
    ("in_noinstr", "noinstr"),
    ("noinstr_caller", "noinstr"),
    ("in_entry", "entry-text"),
    ("behind_entry", "ok"),
    ("in_init", "init-text"),
    ("init_caller", "init-text"),
    ("in_exit", "exit-text"),
    ("in_outside", "discarded"),
    ("replacement", "discarded"),
    ("overridden@kernel.c", "dead-code"),
    ("overridden@strong.c", "ok"),
    ("never_returns", "ok"),
    // The module's own tables, by relocation.
    ("module_plain", "ok"),
    ("module_plain+4", "not-boundary"),
    ("module_jump_label+5", "jump-label"),
    ("module_jump_label+10", "ok"),
    ("module_static_call+5", "static-call"),
    ("module_static_call+10", "ok"),
    ("module_bug+5", "bug-site"),
    ("module_bug+7", "ok"),
    ("module_alternative+5", "ok"),
    ("module_alternative+6", "patched"),
    ("module_alternative+8", "ok"),
    ("module_blocked", "blacklist"),
    ("module_blocked+8", "blacklist"),
    ("module_described", "ok"),
    ("module_kprobes", "kprobes-text"),
    ("module_noinstr", "noinstr"),
    ("init_module", "init-text"),
    ("second_init", "init-text"),
    ("described_init", "init-text"),
    // A module is unloaded, and its exit code runs.
    ("cleanup_module", "ok"),
    ("hidden", "no-symbol"),
];

#[track_caller]
pub fn assert_all(kernel: &Indexed, expected: &[(&str, &str)], mechanism: &str) {
    for (spec, verdict) in expected {
        assert_eq!(kernel.says(spec, mechanism), *verdict, "{spec}, {mechanism}");
    }
}

#[test]
fn register_kprobe() {
    assert_all(&OLDER, KPROBES, "kprobe");
    assert_all(&NEWER, KPROBES, "kprobe");
}

/// Entries of other sizes say the same; each table is as long as one with entries of another size may be.
#[test]
fn tables_with_entries_of_other_sizes() {
    for (alternative, bug) in [(13, 8), (14, 8)] {
        assert_all(&Kernel { alternative, bug, ..OLD }.index(), KPROBES, "kprobe");
    }
}

#[test]
fn instructions_that_are_refused_since_6_9() {
    let traps = ["traps+5", "traps+7", "bugs+5"];
    assert_eq!(traps.map(|t| OLDER.says(t, "kprobe")), ["ok", "ok", "bug-site"]);
    let refused = "unsupported-instruction";
    assert_eq!(traps.map(|t| NEWER.says(t, "kprobe")), [refused, refused, "bug-site"]);
}

/// Kprobes that emulate put a breakpoint behind the copy of an instruction (`prepare_singlestep`,
/// arch/x86/kernel/kprobes/core.c, 5.13): behind 15 bytes there is no room. Older ones step any instruction.
#[test]
fn instructions_that_are_refused_since_5_13() {
    let stepped = Kernel { emulates: false, ..OLD }.index();
    let places = ["long+5", "long+19", "unsupported+14", "long+34"];
    assert_eq!(places.map(|place| stepped.says(place, "kprobe")), ["ok"; 4]);
    let refused = "unsupported-instruction";
    assert_eq!(places.map(|place| OLDER.says(place, "kprobe")), ["ok", refused, refused, "ok"]);
}

#[test]
fn kprobe_events_want_an_ftrace_site() {
    let all = [
        ("vmlinux:plain", "ok"),
        ("vmlinux:plain+8", "ok"),
        ("untraced", "no-ftrace-site"),
        ("untraced+3", "no-ftrace-site"),
        // What cannot be probed anyhow is refused for that.
        ("untraced+1", "not-boundary"),
        ("in_noinstr", "noinstr"),
        ("untraced_caller", "no-ftrace-site"),
        ("traced_caller", "ok"),
        // By the name up to the first dot: a function that is traced, one that is not, none.
        ("plain.cold", "ok"),
        ("untraced.cold", "no-ftrace-site"),
        ("gone.constprop.0", "ok"),
        ("gone.constprop.0.cold", "no-ftrace-site"),
        ("module_plain", "ok"),
        ("module_untraced", "no-ftrace-site"),
        ("cleanup_module", "no-ftrace-site"),
    ];
    assert_all(&OLDER, &all, "kprobe_events");
    let without = &*WITHOUT_RULES;
    for (spec, _) in all {
        assert_eq!(without.says(spec, "kprobe_events"), OLDER.says(spec, "kprobe"), "{spec}");
    }
    // Nor does that kernel know of the padding before functions.
    assert_eq!(without.says("__pfx_with_endbr", "kprobe"), "ok");
}

/// A function with a suffix is judged by the name without it, which the kernel looks up in loaded modules too.
/// (`within_notrace_func`, kernel/trace/trace_kprobe.c; seen on 7.3: `node_copy.isra.0` and dm_persistent_data)
#[test]
fn the_name_before_a_suffix_may_be_that_of_a_module() {
    let kprobe = [
        ("module_plain.isra.0", "ok"),
        ("module_blocked.isra.0", "undecided"),
        ("module_untraced.isra.0", "ok"),
        // Refused whatever is loaded.
        ("module_blocked.isra.0+3", "unsupported-instruction"),
        ("module_blocked.isra.0+1", "not-boundary"),
    ];
    assert_all(&OLDER, &kprobe, "kprobe");
    let events = [
        ("module_plain.isra.0", "undecided"),
        ("module_blocked.isra.0", "undecided"),
        ("module_untraced.isra.0", "no-ftrace-site"),
        ("module_plain.isra.0+3", "unsupported-instruction"),
    ];
    assert_all(&OLDER, &events, "kprobe_events");
    let place = OLDER.place("module_plain.isra.0");
    assert_eq!(place["because"], json!(["which modules are loaded"]));
    // What a capture tells is no fault of the index.
    let stats = OLDER.json(&["stats"]).remove(0);
    assert_eq!(stats["verdicts"]["undecided"], 0, "{stats}");
}

#[test]
fn return_probes_and_ftrace_take_entries() {
    let returns = [
        ("vmlinux:plain", "ok"),
        ("vmlinux:plain+5", "not-entry"),
        ("vmlinux:plain+4", "not-boundary"),
        ("__switch_to", "kretprobe-blacklist"),
        ("blocked", "blacklist"),
        ("untraced", "no-ftrace-site"),
        // A part of a function has no return address of its own.
        ("plain.cold", "not-entry"),
        ("traced_caller", "ok"),
        ("module_plain", "ok"),
        ("module_plain+5", "not-entry"),
    ];
    assert_all(&OLDER, &returns, "kretprobe");
    let ftrace = [
        ("vmlinux:plain", "ok"),
        ("vmlinux:plain+5", "not-entry"),
        ("untraced", "no-ftrace-site"),
        // What kprobes must not touch is traced where it has a site.
        ("blocked", "ok"),
        ("in_kprobes_text", "ok"),
        ("in_noinstr", "no-ftrace-site"),
        ("in_init", "init-text"),
        ("__switch_to", "ok"),
        ("plain.cold", "not-entry"),
        ("module_blocked", "ok"),
        ("module_untraced", "no-ftrace-site"),
    ];
    assert_all(&OLDER, &ftrace, "ftrace");
}

#[test]
fn inlined_copies_are_judged_where_they_stand() {
    let by_caller = |function: &str| {
        let mut found: Vec<(String, String)> = OLDER
            .json(&["resolve", function])
            .iter()
            .map(|p| {
                let caller = text(&p["inlined_into"][0], "function").to_owned();
                let of = |mechanism| text(&p["attach"], mechanism).to_owned();
                assert_eq!(
                    [of("kretprobe"), of("ftrace")],
                    ["inline", "inline"].map(|i| match of("kprobe") {
                        gone if gone == "init-text" => gone,
                        _ => i.to_owned(),
                    })
                );
                (caller, format!("{} {}", of("kprobe"), of("kprobe_events")))
            })
            .collect();
        found.sort();
        found
    };
    let pairs = |all: &[(&str, &str)]| -> Vec<_> {
        all.iter().map(|(caller, verdicts)| ((*caller).to_owned(), (*verdicts).to_owned())).collect()
    };
    assert_eq!(
        by_caller("on_jump_label"),
        pairs(&[("first_caller", "jump-label jump-label"), ("second_caller", "jump-label jump-label")])
    );
    assert_eq!(
        by_caller("in_all"),
        pairs(&[
            ("noinstr_caller", "noinstr noinstr"),
            ("traced_caller", "ok ok"),
            ("untraced_caller", "ok no-ftrace-site")
        ])
    );
    assert_eq!(
        by_caller("also_in_init"),
        pairs(&[("first_caller", "ok ok"), ("init_caller", "init-text init-text")])
    );
}

/// `endbr64` starts a function: its first byte and the one behind it are the entry, and the probe stands behind it.
#[test]
fn entries_with_endbr64() {
    let entry = NEWER.place("with_endbr");
    let number = |hex: &str| u64::from_str_radix(hex.trim_start_matches("0x"), 16).unwrap();
    let start = number(text(&entry, "address"));
    assert_eq!(number(text(&entry, "lands")), start + 4);
    for offset in 1..4 {
        let within = NEWER.place(&format!("with_endbr+{offset}"));
        assert_eq!(text(&within["attach"], "kprobe"), "not-boundary");
        assert!(within.get("lands").is_none());
    }
    let behind = NEWER.place("with_endbr+4");
    assert_eq!(number(text(&behind, "address")), start + 4);
    assert_eq!((behind.get("lands"), &behind["anchor"]), (None, &entry["anchor"]));
    for place in [&entry, &behind] {
        for mechanism in ["kprobe", "kprobe_events", "kretprobe", "ftrace"] {
            assert_eq!(text(&place["attach"], mechanism), "ok", "{place}");
        }
    }
    let later = NEWER.place("with_endbr+9");
    assert_eq!((text(&later["attach"], "kprobe"), text(&later["attach"], "kretprobe")), ("ok", "not-entry"));
    // Without an ftrace site it is moved all the same.
    let untraced = NEWER.place("untraced_endbr");
    assert_eq!(text(&untraced["attach"], "kprobe_events"), "no-ftrace-site");
    assert_eq!(number(text(&untraced, "lands")), number(text(&untraced, "address")) + 4);
    assert!(NEWER.place("vmlinux:plain").get("lands").is_none());
}

#[test]
fn padding_is_no_place() {
    let start = u64::from_str_radix(&text(&OLDER.place("vmlinux:plain"), "address")[2..], 16).unwrap();
    // The function has 13 bytes, and a trap follows.
    assert_eq!(OLDER.says(&format!("{:#x}", start + 12), "kprobe"), "ok", "its last instruction");
    assert_eq!(OLDER.says(&format!("{:#x}", start + 13), "kprobe"), "discarded");
}

/// The configuration, wherever it is, decides whether kprobe_events want an ftrace site.
#[test]
fn the_configuration_has_the_last_word() {
    let on = "CONFIG_KPROBES=y\nCONFIG_DYNAMIC_FTRACE=y\n# CONFIG_KPROBE_EVENTS_ON_NOTRACE is not set\n";
    let off = "CONFIG_KPROBES=y\nCONFIG_DYNAMIC_FTRACE=y\nCONFIG_KPROBE_EVENTS_ON_NOTRACE=y\n";
    let without = "CONFIG_KPROBES=y\n# CONFIG_DYNAMIC_FTRACE is not set\n";
    let none = "CONFIG_DYNAMIC_FTRACE=y\n";
    let says = |has_rules: bool, place: &str, config: &str| {
        let tree = if has_rules { OLDER.tree.copy() } else { WITHOUT_RULES.tree.copy() };
        if place == "IKCONFIG" {
            put_into_image(&OLD.vmlinux(&tree), config);
        } else {
            tree.file(place, config.as_bytes());
        }
        let (indexed, built) = try_index(tree);
        assert_eq!(built.code, 0, "{built:?}");
        ["untraced", "module_untraced", "vmlinux:plain"].map(|f| indexed.says(f, "kprobe_events"))
    };
    for place in ["config-6.1.0-old", "boot/config-6.1.0-old", ".config", "IKCONFIG"] {
        assert_eq!(says(false, place, on), ["no-ftrace-site", "no-ftrace-site", "ok"], "{place}");
        assert_eq!(says(true, place, off), ["ok", "ok", "ok"], "{place}");
    }
    assert_eq!(
        says(true, ".config", without),
        ["ok", "ok", "ok"],
        "where nothing is traced nothing has to be"
    );
    assert_eq!(says(true, ".config", none)[2], "undecided", "a kernel without kprobes");
    // That of another release is none.
    assert_eq!(says(false, "config-6.1.0-other", on)[0], "ok");
}

/// As CONFIG_IKCONFIG does.
fn put_into_image(vmlinux: &std::path::Path, config: &str) {
    use std::io::Write;
    let mut zipped = flate2::write::GzEncoder::new(b"IKCFG_ST".to_vec(), flate2::Compression::fast());
    zipped.write_all(config.as_bytes()).unwrap();
    let mut marked = zipped.finish().unwrap();
    marked.extend(b"IKCFG_ED");
    // .rodata has room for it.
    let mut image = std::fs::read(vmlinux).unwrap();
    let room = memchr::memmem::find(&image, b"room for a configuration").expect("kernel.c leaves room");
    assert!(marked.len() < 512);
    image[room..][..marked.len()].copy_from_slice(&marked);
    std::fs::write(vmlinux, image).unwrap();
}

/// A kernel whose entry function is there and `register_kprobe` is not was built without kprobes.
fn without_kprobes() -> Tree {
    let tree = OLDER.tree.copy();
    let vmlinux = OLD.vmlinux(&tree);
    let mut image = std::fs::read(&vmlinux).unwrap();
    let name = memchr::memmem::find(&image, b"\0register_kprobe\0").unwrap();
    image[name + 1] = b'R';
    std::fs::write(&vmlinux, image).unwrap();
    tree
}

#[test]
fn a_kernel_without_kprobes() {
    let (indexed, built) = try_index(without_kprobes());
    assert_eq!(built.code, 0, "{built:?}");
    assert_eq!(indexed.says("vmlinux:plain", "kprobe"), "undecided");
    assert_eq!(indexed.says("blocked", "kprobe"), "blacklist", "what is refused stays so");
    assert_eq!(indexed.says("vmlinux:plain", "ftrace"), "ok");
}

/// `check` and coverage count it apart: it is neither reachable nor refused.
#[test]
fn what_is_undecided_is_not_refused() {
    let (tree, db) = (without_kprobes(), tempfile::tempdir().unwrap());
    tree.file("tapset/own.stp", b"probe own.plain = kernel.function(\"plain\") {}");
    let tapset = tree.path().join("tapset");
    let built =
        run_in(db.path(), ["build", tree.path().to_str().unwrap(), "--tapset", tapset.to_str().unwrap()]);
    assert_eq!(built.code, 0, "{built:?}");
    let list = tree.file("points", b"vmlinux:plain\nblocked\nkernel.function(\"plain\")\n");
    let list = list.to_str().unwrap();
    // Neither works for certain.
    let failed = |arguments: &[&str]| {
        let run = run_in(db.path(), arguments);
        assert_eq!((run.code, &run.err[..]), (1, ""), "{run:?}");
        run.out
    };
    let said = failed(&["check", list]);
    let open = "undecided at 1 of 1 addresses, as not known: CONFIG_KPROBES, which is not set";
    for (place, point) in [("1:1", "vmlinux:plain"), ("3:1", "kernel.function(\"plain\")")] {
        assert!(said.contains(&format!("{list}:{place}: {point}: {open}\n")), "{said}");
    }
    let refused = "2:1: blocked: the kernel refuses 1 of 1 addresses: 1 blacklist\n";
    assert!(said.contains(refused) && said.matches("refuses").count() == 1, "{said}");
    let json = failed(&["--json", "check", list]);
    let points: Vec<Value> = json.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(points[0]["undecided"], 1, "{json}");
    assert_eq!((&points[0]["refused"], &points[0]["accepted"]), (&json!({}), &json!(0)), "{json}");
    assert_eq!(
        (&points[0]["state"], &points[0]["reachable"]),
        (&json!("undecided"), &json!(false)),
        "{json}"
    );
    assert_eq!(points[0]["because"], json!(["CONFIG_KPROBES, which is not set"]), "{json}");
    assert_eq!(points[1]["refused"], json!({"blacklist": 1}), "{json}");
    assert_eq!(points[1]["undecided"], 0, "{json}");

    let explained = run_in(db.path(), ["tapset", "own.plain"]).found();
    assert!(explained.contains("1 probe, undecided\n"), "{explained}");
    let text = run_in(db.path(), ["resolve", "vmlinux:plain"]).found();
    assert!(text.contains("\n  out of line: 1, undecided\n"), "{text}");
    let json = run_in(db.path(), ["--json", "resolve", "vmlinux:plain"]).found();
    let coverage = &serde_json::from_str::<Value>(&json).unwrap()["coverage"]["out_of_line"];
    assert_eq!(coverage, &json!({"instances": 1, "reachable": 0, "undecided": 1}), "{json}");
}

#[test]
fn what_a_list_attaches_with_is_what_is_judged() {
    let points = "untraced\nkprobe:untraced\nfentry:untraced\nkprobe.multi/untraced\nfexit:vmlinux:plain\nkprobe.multi/plain\nvmlinux:plain%return\n";
    let list = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(&list, points).unwrap();
    // That index has no tapsets, and no line needs them.
    let run = run_in(OLDER.db.path(), ["--json", "check", list.path().to_str().unwrap()]);
    assert_eq!((run.code, &run.err[..]), (1, ""), "{run:?}");
    let json = run.out;
    let points = json.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let refused: Vec<Value> =
        points.filter(|p| p["program"].is_string()).map(|mut p| p["refused"].take()).collect();
    let no_site = json!({"no-ftrace-site": 1});
    let taken = || json!({});
    // ftrace takes it there, but the kernel has no trampolines.
    let no_trampoline = json!({"no-trampoline": 1});
    let expected = [taken(), no_site.clone(), no_site.clone(), no_site, no_trampoline, taken(), taken()];
    assert_eq!(refused, expected, "{json}");
}
