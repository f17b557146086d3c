//! What a running kernel says of itself, laid over its index: made by hand, as `proc` and `sys` have it.
use super::verdicts::OLDER;
use crate::support::fixture::Tree;
use crate::support::program::{Indexed, Run, run_in};
use crate::support::tables::text;
use serde_json::Value;
use std::path::{Path, PathBuf};

const SLIDE: u64 = 0x1200_0000;
const RELEASE: &str = "6.1.0-old";

/// Below a folder: the files of a kernel that runs, without what only root reads where `is_root` is false.
struct Machine {
    tree: Tree,
    text: u64,
}

impl Machine {
    fn new(symbols: &[&str], modules: &str) -> Self {
        let place = OLDER.place("vmlinux:plain");
        let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).unwrap();
        let offset = place["anchor"]["offset"].as_u64().unwrap();
        let own = Self { tree: Tree::empty(), text: number(text(&place, "address")) - offset + SLIDE };
        own.file("proc/sys/kernel/osrelease", &format!("{RELEASE}\n"));
        let kernel = format!("{:016x} T _text\n{:016x} T plain\n", own.text, own.text + offset);
        let modules_own = symbols.iter().map(|line| format!("{line}\n")).collect::<String>();
        own.file("proc/kallsyms", &(kernel + &modules_own));
        own.file("proc/modules", modules);
        own
    }
    fn file(&self, path: &str, content: &str) {
        self.tree.file(path, content.as_bytes());
    }
    fn capture(&self) -> (PathBuf, Run) {
        let (root, file) = (self.tree.path(), self.tree.path().join("kernel.live"));
        let words = ["capture".as_ref(), file.as_os_str(), "--root".as_ref(), root.as_os_str()];
        let ran = run_in(OLDER.db.path(), words);
        (file, ran)
    }
    /// A capture of which nothing is missing but what is not asked about here.
    fn whole(&self) -> PathBuf {
        let (file, ran) = self.capture();
        assert_eq!(ran.code, 0, "{ran:?}");
        file
    }
}

fn places(indexed: &Indexed, spec: &str, live: &Path) -> Vec<Value> {
    indexed.json(&["resolve", spec, "--live", live.to_str().unwrap()])
}

#[test]
fn addresses_are_those_of_the_machine() {
    let machine = Machine::new(&[], "");
    let live = machine.whole();
    let place = &places(&OLDER, "vmlinux:plain", &live)[0];
    let linked = u64::from_str_radix(&text(place, "address")[2..], 16).unwrap();
    assert_eq!(text(place, "runtime_address"), format!("{:#x}", linked + SLIDE));
    assert_eq!(place["loaded"], true);
    let asked = format!("{:#x}", linked + SLIDE);
    let told = OLDER.run(&["addr", &asked, "--live", live.to_str().unwrap()]).found();
    assert!(told.contains("plain+0x0"), "{told}");
    let frame = format!("[<{asked}>] something");
    let decoded = OLDER.json(&["addr", &asked, "--live", live.to_str().unwrap()]);
    assert_eq!(text(&decoded[0], "function"), "plain", "{frame}");
}

#[test]
fn a_name_is_unique_among_what_is_loaded() {
    let alone = Machine::new(&[], "");
    let place = &places(&OLDER, "vmlinux:untraced", &alone.whole())[0];
    assert_eq!(place["symbol_unique"], true, "{place}");
    let symbols = ["ffffffffc0000000 t untraced\t[stranger]"];
    let machine = Machine::new(&symbols, "stranger 16384 0 - Live 0xffffffffc0000000\n");
    let beside = machine.whole();
    let place = &places(&OLDER, "vmlinux:untraced", &beside)[0];
    assert_eq!((&place["symbol_unique"], &place["collides_with"][0]), (&false.into(), &"stranger".into()));
    let told = OLDER.run(&["resolve", "vmlinux:untraced", "--live", beside.to_str().unwrap()]).found();
    assert!(told.contains("modules that are not indexed have a symbol of the name too: stranger"), "{told}");
}

#[test]
fn modules_that_are_not_loaded_are_told() {
    let places_of = |modules: &str| {
        let machine = Machine::new(&[], modules);
        let all = OLDER.json(&["find", "--each", "module(\"places\").function(\"*\").call"]);
        let name = text(&all[0], "function").to_owned();
        places(&OLDER, &format!("places:{name}"), &machine.whole()).remove(0)
    };
    assert_eq!(places_of("")["loaded"], false);
    let there = places_of("places 16384 0 - Live 0xffffffffc0000000\n");
    assert_eq!((&there["loaded"], there.get("runtime_address")), (&true.into(), None));
}

#[test]
fn the_loaded_modules_decide_for_names_with_a_suffix() {
    let says = |spec: &str, mechanism: &str, modules: &str| {
        let place = places(&OLDER, spec, &Machine::new(&[], modules).whole()).remove(0);
        text(&place["attach"], mechanism).to_owned()
    };
    let loaded = "places 16384 0 - Live 0xffffffffc0000000\n";
    assert_eq!(says("module_plain.isra.0", "kprobe_events", ""), "no-ftrace-site");
    assert_eq!(says("module_plain.isra.0", "kprobe_events", loaded), "ok");
    assert_eq!(says("module_blocked.isra.0", "kprobe", ""), "ok");
    assert_eq!(says("module_blocked.isra.0", "kprobe", loaded), "blacklist");
}

#[test]
fn what_the_kernel_refuses_there_is_refused() {
    let machine = Machine::new(&[], "");
    let place = &places(&OLDER, "vmlinux:plain", &machine.whole())[0];
    assert_eq!(place["attach"]["kprobe"], "ok");
    assert_eq!(place["attach"]["ftrace"], "ok");
    assert_eq!(place["coverage"]["by"]["kprobe"], 1);
    let at = u64::from_str_radix(&text(place, "runtime_address")[2..], 16).unwrap();
    machine.file("sys/kernel/debug/kprobes/blacklist", &format!("{at:#x}-{:#x}\tplain\n", at + 13));
    let beside = &places(&OLDER, "vmlinux:plain", &machine.whole())[0];
    assert_eq!(beside["instead"]["mechanism"], "ftrace");
    machine.file("sys/kernel/tracing/available_filter_functions", "other\n");
    let place = &places(&OLDER, "vmlinux:plain", &machine.whole())[0];
    assert_eq!(place["attach"]["kprobe"], "blacklist");
    assert_eq!(place["attach"]["kprobe_events"], "blacklist");
    assert_eq!(place["attach"]["ftrace"], "no-ftrace-site");
    assert_eq!(place.get("instead"), None);
    for mechanism in ["kprobe", "kprobe_events", "kretprobe", "ftrace", "trampoline", "fentry"] {
        assert_eq!(place["coverage"]["by"][mechanism], 0, "{place}");
    }
}

#[test]
fn what_could_not_be_read_is_named() {
    let machine = Machine::new(&[], "");
    let (_, ran) = machine.capture();
    assert_eq!(ran.code, 0);
    for what in ["build-id", "refused", "traced"] {
        assert!(ran.err.contains(&format!("{what} is missing: No such file")), "{ran:?}");
    }
    machine.file("proc/kallsyms", "0000000000000000 T _text\n");
    let (live, ran) = machine.capture();
    assert!(ran.err.contains("symbols is missing: the kernel hides all addresses"), "{ran:?}");
    let place = &places(&OLDER, "vmlinux:plain", &live)[0];
    assert_eq!((&place["loaded"], place.get("runtime_address")), (&true.into(), None));
}

#[test]
fn another_kernels_capture_is_refused() {
    let machine = Machine::new(&[], "");
    machine.file("proc/sys/kernel/osrelease", "6.12.0-new\n");
    let live = machine.whole();
    let ran = OLDER.run(&["resolve", "vmlinux:plain", "--live", live.to_str().unwrap()]);
    assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{ran:?}");
    assert!(ran.err.contains("another kernel: release 6.12.0-new, indexed is 6.1.0-old"), "{ran:?}");
    // A note: lengths of name and content, the type, the name, the content.
    let machine = Machine::new(&[], "");
    let mut note: Vec<u8> = [4u32, 8, 3].iter().flat_map(|word| word.to_ne_bytes()).collect();
    note.extend(b"GNU\0\x01\x02\x03\x04\x05\x06\x07\x08");
    machine.tree.file("sys/kernel/notes", &note);
    let ran = OLDER.run(&["resolve", "vmlinux:plain", "--live", machine.whole().to_str().unwrap()]);
    assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{ran:?}");
    assert!(ran.err.contains("another kernel: build id 0102030405060708"), "{ran:?}");
}

#[test]
fn a_capture_that_is_not_whole_is_refused() {
    let machine = Machine::new(&[], "");
    let live = machine.whole();
    let bytes = std::fs::read(&live).unwrap();
    let file = machine.tree.path().join("other");
    for damaged in [&bytes[..bytes.len() / 2], &bytes[..bytes.len() - 1], b"no capture", b""] {
        std::fs::write(&file, damaged).unwrap();
        let ran = OLDER.run(&["resolve", "vmlinux:plain", "--live", file.to_str().unwrap()]);
        assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{ran:?}");
        assert!(ran.err.contains("capture again with: probeidx capture FILE"), "{ran:?}");
    }
}

/// A core file that shows these bytes at this address. (ELF-64 Object File Format: file header, program header)
fn core(address: u64, bytes: &[u8]) -> Vec<u8> {
    let mut file = b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec();
    for half in [4u16, 62] {
        file.extend(half.to_le_bytes());
    }
    file.extend(1u32.to_le_bytes());
    for word in [0u64, 64, 0] {
        file.extend(word.to_le_bytes());
    }
    file.extend(0u32.to_le_bytes());
    for half in [64u16, 56, 1, 0, 0, 0] {
        file.extend(half.to_le_bytes());
    }
    file.extend([1u32, 7].iter().flat_map(|word| word.to_le_bytes()));
    let length = bytes.len() as u64;
    for word in [120, address, 0, length, length, 4096] {
        file.extend(word.to_le_bytes());
    }
    file.extend(bytes);
    file
}

/// `clac` in the first alternative; two no-ops, a breakpoint and two no-ops in the second.
const PATCHED: [u8; 19] = [
    0x0f, 0x1f, 0x44, 0, 0, 0x0f, 0x01, 0xca, 0x90, 0x90, 0xcc, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
    0x90,
];

#[test]
fn patched_code_is_decided_by_what_runs() {
    let machine = Machine::new(&[], "");
    let place = &places(&OLDER, "alternatives", &machine.whole())[0];
    let start = u64::from_str_radix(&text(place, "runtime_address")[2..], 16).unwrap();
    let says = |live: &Path| {
        let place = |offset: u32| places(&OLDER, &format!("alternatives+{offset}"), live).remove(0);
        [5, 6, 8, 9, 10, 11].map(|offset| text(&place(offset)["attach"], "kprobe").to_owned())
    };
    let open = ["ok", "patched", "patched", "patched", "patched", "patched"];
    // Without the memory it stays open, and the reason is named.
    let (live, ran) = machine.capture();
    assert!(
        ran.err.contains("code is missing: there is no ") && ran.err.contains("CONFIG_PROC_KCORE"),
        "{ran:?}"
    );
    assert_eq!(says(&live), open);
    // The list of probes is needed, as their breakpoints are in memory.
    machine.tree.file("proc/kcore", &core(start, &[PATCHED.as_slice(), &[0x90; 16]].concat()));
    let (live, ran) = machine.capture();
    assert!(ran.err.contains("code is missing: ") && ran.err.contains("kprobes/list: "), "{ran:?}");
    assert_eq!(says(&live), open);
    machine.file("sys/kernel/debug/kprobes/list", "");
    let (live, ran) = machine.capture();
    assert!(!ran.err.contains("code is missing"), "{ran:?}");
    assert_eq!(says(&live), ["ok", "not-boundary", "ok", "ok", "unsupported-instruction", "ok"]);
    // What memory does not show stays open; and what may be patched at any time.
    for spec in ["paravirt_calls+6", "__SCT__call+1"] {
        assert_eq!(text(&places(&OLDER, spec, &live)[0]["attach"], "kprobe"), "patched", "{spec}");
    }
    // A probe hides what it stands on.
    let probe = format!("{:016x}  k  alternatives+0xa    [DISABLED]\n", start + 10);
    machine.file("sys/kernel/debug/kprobes/list", &probe);
    assert_eq!(says(&machine.whole()), ["ok", "not-boundary", "patched", "patched", "patched", "patched"]);
    // Without an index nothing tells where to look.
    let empty = tempfile::tempdir().unwrap();
    let (root, file) = (machine.tree.path(), machine.tree.path().join("other.live"));
    let words = ["capture".as_ref(), file.as_os_str(), "--root".as_ref(), root.as_os_str()];
    let ran = run_in(empty.path(), words);
    assert!(ran.code == 0 && ran.err.contains("code is missing: an index of the kernel says"), "{ran:?}");
    // What is no core file is named.
    machine.file("proc/kcore", "no core file");
    let (_, ran) = machine.capture();
    assert!(ran.err.contains("is no core file of 64 bits"), "{ran:?}");
}
