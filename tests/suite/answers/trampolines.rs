//! What BPF trampolines take: by the BTF of pahole, the prototype, and the limits of the release.
use crate::support::fixture::run_all;
use crate::support::program::Indexed;
use crate::support::tables::{self, Kernel, NEW, OLD, text};
use std::process::Command;

/// Indexes a kernel with its BTF, or without; `None` without pahole.
pub fn indexed(kernel: Kernel, has_btf: bool, configuration: &str) -> Option<Indexed> {
    let kernel = Kernel { has_prototypes: true, ..kernel };
    let tree = kernel.compile();
    if has_btf {
        if let Err(why) = Command::new("pahole").arg("--version").output() {
            eprintln!("skipped: cannot run pahole: {why}");
            return None;
        }
        let mut pahole = Command::new("pahole");
        pahole.arg("-J").arg(kernel.vmlinux(&tree));
        run_all([pahole]);
    }
    tree.file(&format!("config-{}", kernel.release), configuration.as_bytes());
    Some(tables::index(tree))
}

pub const CONFIGURATION: &str = "CONFIG_KPROBES=y\nCONFIG_DYNAMIC_FTRACE=y\nCONFIG_DYNAMIC_FTRACE_WITH_DIRECT_CALLS=y\nCONFIG_DEBUG_INFO_BTF=y\n";

fn says(indexed: &Indexed, function: &str) -> String {
    let place = indexed.place(function);
    let [ftrace, trampoline, fentry] =
        ["ftrace", "trampoline", "fentry"].map(|mechanism| text(&place["attach"], mechanism).to_owned());
    assert_eq!(ftrace, "ok", "{place}");
    assert_eq!(fentry, trampoline, "the worse of the two: {place}");
    let reachable = u64::from(trampoline == "ok");
    assert_eq!(place["coverage"]["by"]["trampoline"], reachable, "{place}");
    trampoline
}

#[test]
fn prototypes_are_judged_by_the_limits_of_the_release() {
    // By release 5.10, 6.1, 6.12.
    let expected = [
        ("takes_six", ["ok"; 3]),
        ("takes_seven", ["too-many-arguments", "too-many-arguments", "ok"]),
        ("takes_thirteen", ["too-many-arguments"; 3]),
        ("takes_more", ["variadic"; 3]),
        ("takes_small", ["struct-argument", "ok", "ok"]),
        ("takes_small_behind", ["struct-argument", "too-many-arguments", "ok"]),
        ("takes_large", ["struct-argument"; 3]),
        ("takes_either", ["struct-argument"; 3]),
        ("gives_small", ["struct-return"; 3]),
    ];
    for (at, kernel) in [Kernel { release: "5.10.0-older", ..OLD }, OLD, NEW].into_iter().enumerate() {
        let Some(indexed) = indexed(kernel, true, CONFIGURATION) else { return };
        for (function, verdicts) in expected {
            assert_eq!(says(&indexed, function), verdicts[at], "{function} of {}", kernel.release);
        }
    }
}

#[test]
fn what_is_not_known_is_undecided_and_what_is_refused_anyway_is_not() {
    let Some(unknown) = indexed(Kernel { release: "4.19.0-ancient", ..OLD }, true, CONFIGURATION) else {
        return;
    };
    let place = unknown.place("takes_six");
    assert_eq!(place["attach"]["trampoline"], "undecided", "{place}");
    let because = "the limits of BPF trampolines on this architecture and release";
    assert_eq!(place["because"], serde_json::json!([because]), "{place}");
    assert_eq!(says(&unknown, "takes_more"), "variadic");
    assert_eq!(says(&unknown, "gives_small"), "struct-return");
}

#[test]
fn a_kernel_without_btf_or_direct_calls_has_no_trampolines() {
    let without = indexed(OLD, false, CONFIGURATION).unwrap();
    assert_eq!(says(&without, "takes_six"), "no-btf");
    let Some(other) = indexed(OLD, true, "CONFIG_KPROBES=y\nCONFIG_DYNAMIC_FTRACE=y\n") else { return };
    assert_eq!(says(&other, "takes_six"), "no-trampoline");
    let lines = other.run(&["resolve", "takes_six"]).found();
    assert!(lines.contains("kretprobe ok, ftrace ok, trampoline no-trampoline"), "{lines}");
}
