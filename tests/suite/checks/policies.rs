//! TracingPolicies of Tetragon: each kind of hook on small kernels.
use super::bpftrace::found_in;
use crate::answers::history::FLEET;
use crate::answers::tracepoints::FIXED;
use crate::answers::trampolines::{CONFIGURATION, indexed};
use crate::support::program::run_in;
use crate::support::tables::OLD;
use std::ffi::OsStr;
use std::path::Path;

const HEAD: &str = "apiVersion: cilium.io/v1alpha1\nkind: TracingPolicy\nspec:\n";

fn found(db: &Path, spec: &str, options: &[&str]) -> Vec<String> {
    found_in(db, "policy.yaml", &format!("{HEAD}{spec}"), options)
}

#[test]
fn functions_and_their_arguments() {
    let spec = "  kprobes:\n  - call: signature\n    return: true\n    args:\n    - {index: 3, type: int}\n    - {index: 4}\n  \
                - call: comes\n  - call: back\n    ignore: {callNotFound: true}\n  - call: stays\n    args:\n    - index: 0\n      \
                type: file\n";
    let expected = [
        "kprobe:signature argument",
        "  9:15 argument: kprobe:signature has 4 arguments, counted from 0",
        "kprobe:comes absent",
        "  10:11 absent ENOENT: the kernel has no such function",
        "kprobe:back inlined",
        "  11:11 inlined ENOENT: it is inlined everywhere: 1 copies, as in calls; the policy goes on without it (callNotFound) \
         => see probeidx resolve back",
        "kprobe:stays ok",
        "  15:14 argument: argument 0 of kprobe:stays is a struct same *, no struct file *",
    ];
    assert_eq!(found(FLEET.path(), spec, &["--kernel", "6.1.0-2-rt"]), expected);
}

#[test]
fn events_count_the_common_fields() {
    let spec = "  tracepoints:\n  - subsystem: sched\n    event: task_exit\n    args: [{index: 4}, {index: 5}]\n  \
                - {subsystem: sched, event: gone}\n  - {subsystem: sched, event: load_tp, raw: true, args: [{index: 0}, {index: 1}]}\n";
    let expected = [
        "tracepoint:sched:task_exit argument",
        "  7:32 argument: tracepoint:sched:task_exit has 5 arguments, counted from 0",
        "tracepoint:sched:gone absent",
        "  8:31 absent ENOENT: no tracepoint sched:gone",
        "rawtracepoint:load_tp argument",
        "  9:78 argument: rawtracepoint:load_tp has 1 arguments, counted from 0",
    ];
    assert_eq!(found(FIXED.db.path(), spec, &[]), expected);
}

#[test]
fn hooks_lists_and_programs() {
    let Some(kernel) = indexed(OLD, true, CONFIGURATION) else { return };
    let spec = "  lists:\n  - name: some\n    values: [plain, no_such]\n  - name: made\n    type: generated_syscalls\n  \
                kprobes:\n  - call: list:some\n  - call: list:made\n  - call: list:none\n  - call: noinstr_caller\n  \
                lsmhooks:\n  - hook: file_open\n  uprobes:\n  - path: /bin/bash\n    symbols: [main]\n";
    let generated = "Tetragon makes the list when it loads the policy, or there is none";
    let expected = [
        "kprobe:plain ok".to_owned(),
        "  6:14 ambiguous: module places has a function of this name too: it is ambiguous once that is loaded".to_owned(),
        "kprobe:no_such absent".to_owned(),
        "  6:21 absent ENOENT: the kernel has no such function".to_owned(),
        "list:made undecided".to_owned(),
        format!("  11:11 undecided: {generated}"),
        "list:none undecided".to_owned(),
        format!("  12:11 undecided: {generated}"),
        "kprobe:noinstr_caller no-site".to_owned(),
        "  13:11 no-site EINVAL: a kprobe cannot be placed there: noinstr".to_owned(),
        "lsm:file_open absent".to_owned(),
        "  15:11 absent ESRCH: the kernel has no LSM programs (CONFIG_BPF_LSM)".to_owned(),
        "uprobe:/bin/bash unindexed".to_owned(),
        "  17:11 unindexed: the program is not indexed".to_owned(),
    ];
    assert_eq!(found(kernel.db.path(), spec, &[]), expected);
}

#[test]
fn what_is_no_policy_is_one_line() {
    let folder = tempfile::tempdir().unwrap();
    for (text, said) in [
        ("kind: Pod\n", "a.yaml:1:1: no TracingPolicy"),
        ("kind: TracingPolicy\nspec: [\n", "no YAML"),
        (&"[".repeat(100_000), "recursion limit"),
    ] {
        let file = folder.path().join("a.yaml");
        std::fs::write(&file, text).unwrap();
        let arguments = [OsStr::new("check"), file.as_ref(), "--kernel".as_ref(), "6.1.0-1-rt".as_ref()];
        let run = run_in(FLEET.path(), arguments);
        assert_eq!((run.code, run.err.lines().count()), (3, 1), "{run:?}");
        assert!(run.err.contains(said), "{run:?}");
    }
}
