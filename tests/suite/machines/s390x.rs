//! What each mechanism of an s390x kernel says of a place: fixtures/s390x, made by gcc and binutils.
use crate::answers::verdicts::assert_all;
use crate::support::fixture::{Tree, run_all, skipped};
use crate::support::program::Indexed;
use crate::support::tables::{index, text, try_index};
use std::path::Path;
use std::process::Command;

/// As Debian's kernel 6.12.
const CONFIG: &str = "CONFIG_KPROBES=y\nCONFIG_DYNAMIC_FTRACE=y\nCONFIG_KALLSYMS_ALL=y\n";

/// The kernel, its symbols changed by the arguments of objcopy; `None` where that is not possible here, which is said.
fn kernel(changes: &[&str]) -> Option<Indexed> {
    let tree = Tree::empty();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/s390x/kernel.S");
    let object = tree.path().join("kernel.o");
    let mut compiler = Command::new("s390x-linux-gnu-gcc");
    compiler.args(["-g", "-c"]).arg(source).arg("-o").arg(&object);
    if !compiler.output().is_ok_and(|o| o.status.success()) {
        skipped("s390x: s390x-linux-gnu-gcc cannot make it");
        return None;
    }
    let vmlinux = tree.path().join("vmlinux-6.12.0-s390x");
    let mut linker = Command::new("s390x-linux-gnu-ld");
    linker.args(["-Ttext=0x100000", "-e", "plain", "-o"]).arg(&vmlinux).arg(&object);
    let mut change = Command::new("s390x-linux-gnu-objcopy");
    change.args(changes).arg(&vmlinux);
    run_all([linker]);
    run_all([change]);
    std::fs::remove_file(object).unwrap();
    tree.file(".config", CONFIG.as_bytes());
    // What is lost is told.
    Some(if changes.is_empty() { index(tree) } else { try_index(tree).0 })
}

/// Places, and what `register_kprobe` says there.
const KPROBES: &[(&str, &str)] = &[
    // Kprobes on ftrace's site are made by ftrace.
    ("plain", "ok"),
    ("plain+1", "not-boundary"),
    ("plain+2", "not-boundary"),
    ("plain+6", "ok"),
    ("plain+8", "ok"),
    ("plain+10", "not-boundary"),
    ("plain+12", "ok"),
    ("untraced", "ok"),
    ("jump_labels+6", "jump-label"),
    ("jump_labels+8", "jump-label"),
    ("jump_labels+12", "ok"),
    // A monitor call, and what loads the address of its own entry.
    ("bugs+6", "bug-site"),
    ("bugs+8", "not-boundary"),
    ("bugs+10", "bug-site"),
    ("bugs+12", "not-boundary"),
    ("bugs+16", "ok"),
    ("unsupported+6", "unsupported-instruction"),
    ("unsupported+10", "unsupported-instruction"),
    ("unsupported+14", "unsupported-instruction"),
    ("unsupported+16", "ok"),
    // The kernel follows instructions up to a breakpoint, and knows that one.
    ("cut_off+6", "ok"),
    ("cut_off+8", "ok"),
    ("cut_off+10", "not-boundary"),
    ("cut_off+12", "not-boundary"),
    // Alike; one that cannot be probed; two of two bytes in place of one.
    ("alternatives+6", "ok"),
    ("alternatives+12", "patched"),
    ("alternatives+16", "ok"),
    ("alternatives+18", "patched"),
    ("alternatives+20", "ok"),
    ("thunks+6", "ok"),
    ("thunks+8", "patched"),
    ("thunks+10", "not-boundary"),
    ("thunks+12", "ok"),
    ("blocked", "blacklist"),
    ("in_irqentry", "entry-text"),
    ("reader", "ok"),
    ("in_init", "init-text"),
];

#[test]
fn register_kprobe() {
    let Some(kernel) = kernel(&[]) else { return };
    assert_all(&kernel, KPROBES, "kprobe");
}

#[test]
fn kprobe_events_return_probes_and_ftrace() {
    let Some(kernel) = kernel(&[]) else { return };
    assert_all(&kernel, &[("plain+6", "ok"), ("untraced", "no-ftrace-site")], "kprobe_events");
    assert_all(&kernel, &[("plain", "ok"), ("plain+6", "not-entry")], "kretprobe");
    assert_all(&kernel, &[("plain", "ok"), ("untraced", "no-ftrace-site")], "ftrace");
}

/// Which instructions are probed is for the kernel's own tables to say: without them nothing is known to be taken, and what is
/// refused whatever they say stays refused.
#[test]
fn without_the_tables_of_the_disassembler_it_is_open() {
    for lost in ["--strip-symbol=opcode", "--strip-symbol=opcode_offset"] {
        let Some(kernel) = kernel(&[lost]) else { return };
        assert_all(&kernel, &[("plain+6", "undecided"), ("blocked", "blacklist")], "kprobe");
    }
}

/// A table that is lost leaves open what may be in it, and nothing else.
#[test]
fn a_lost_table_leaves_open_what_may_be_in_it() {
    let lost = ["--strip-symbol=__stop___bug_table", "--redefine-sym", "reader=find_bug"];
    let Some(kernel) = kernel(&lost) else { return };
    let open = [("bugs+6", "undecided"), ("bugs+10", "undecided"), ("bugs+16", "ok"), ("plain+6", "ok")];
    assert_all(&kernel, &open, "kprobe");
    let place = kernel.json(&["resolve", "bugs+6"]).swap_remove(0);
    assert_eq!(text(&place["attach"], "kprobe"), "undecided");
    assert!(place.to_string().contains("__bug_table"), "{place}");
}
