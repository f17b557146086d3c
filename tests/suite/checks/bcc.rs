//! Tools of bcc: each kind of attach point on small kernels.
use super::bpftrace::found_in;
use crate::answers::history::FLEET;
use crate::answers::tracepoints::FIXED;
use crate::answers::trampolines::{CONFIGURATION, indexed};
use crate::support::tables::OLD;
use std::path::Path;

fn found(db: &Path, text: &str, options: &[&str]) -> Vec<String> {
    found_in(db, "tool.py", &format!("from bcc import BPF\n{text}"), options)
}

#[test]
fn calls_of_python() {
    let text = "b.attach_kprobe(event='calls', fn_name='x')\nb.attach_kretprobe(event=b'comes', fn_name='x')\n\
                b.attach_kprobe(event=name, fn_name='x')\nb.attach_uprobe(name='c', sym='malloc', fn_name='x')\n\
                b.attach_kprobe(event_re='^c(a|b)$', fn_name='x')\n";
    let expected = [
        "kprobe:calls ok",
        "kretprobe:comes absent",
        "  3:3 absent ENOENT: the kernel has no such function",
        "uprobe unindexed",
        "  5:3 unindexed: the program is not indexed",
        "kprobe:/^c(a|b)$/ ok",
        "  6:3 undecided: the expression is not judged",
    ];
    assert_eq!(found(FLEET.path(), text, &["--kernel", "6.1.0-2-rt"]), expected);
}

#[test]
fn what_a_tool_asks_for_is_forgiven_unless_none_of_a_choice_works() {
    let choice = |one: &str, other: &str| {
        format!(
            "if BPF.get_kprobe_functions(b'{one}'):\n    b.attach_kprobe(event='{one}', fn_name='x')\nelse:\n    \
             b.attach_kprobe(event='{other}', fn_name='x')\n"
        )
    };
    let options = ["--kernel", "6.1.0-2-rt"];
    let expected = [
        "kprobe:comes absent",
        "  3:7 absent ENOENT: the kernel has no such function; the tool chooses, and kprobe:calls works",
        "kprobe:calls ok",
    ];
    assert_eq!(found(FLEET.path(), &choice("comes", "calls"), &options), expected);
    let lines = found(FLEET.path(), &choice("comes", "nosuch"), &options);
    assert!(!lines.iter().any(|line| line.contains("chooses")) && lines.len() == 4, "{lines:?}");
    let lines = found(
        FLEET.path(),
        "try:\n    b.attach_kprobe(event='comes', fn_name='x')\nexcept:\n    pass\n",
        &options,
    );
    assert!(lines[1].ends_with("; the tool goes on without it"), "{lines:?}");
}

#[test]
fn events_and_their_fields() {
    let text = "text = \"\"\"\nTRACEPOINT_PROBE(sched, task_exit) {\n  int x = args->pid + args->pib;\n}\n\
                TRACEPOINT_PROBE(sched, gone) { }\nRAW_TRACEPOINT_PROBE(load_tp) { }\n\"\"\"\n\
                b.attach_tracepoint(tp='sched:task_switch', fn_name='x')\n";
    let expected = [
        "tracepoint:sched:task_exit event-field",
        "  4:23 event-field: sched:task_exit has no field pib => args->pid",
        "tracepoint:sched:gone absent",
        "  6:1 absent ENOENT: no tracepoint sched:gone",
        "rawtracepoint:load_tp ok",
        "tracepoint:sched:task_switch ok",
    ];
    assert_eq!(found(FIXED.db.path(), text, &[]), expected);
}

#[test]
fn macros_of_functions() {
    let Some(kernel) = indexed(OLD, true, CONFIGURATION) else { return };
    let text = "text = \"\"\"\nKFUNC_PROBE(takes_six, int a, int b) { }\nKRETFUNC_PROBE(takes_more, int ret) { }\n\
                int kprobe__takes_small(struct pt_regs *ctx, int a, int b) { }\nLSM_PROBE(file_open, void *f) { }\n\
                #if VERSION\nint kprobe__nosuch(struct pt_regs *ctx) { }\n#endif\n\"\"\"\n\
                b.attach_kprobe(event_re='takes_.*', fn_name='x')\n";
    let expected = [
        "kfunc:takes_six ok",
        "kretfunc:takes_more trampoline",
        "  4:1 trampoline EINVAL: BPF trampolines do not take it: variadic",
        "kprobe:takes_small argument",
        "  5:5 argument: takes_small has 1 parameters, and 2 are declared",
        "lsm:file_open absent",
        "  6:1 absent ESRCH: the kernel has no LSM programs (CONFIG_BPF_LSM)",
        "kprobe:nosuch absent",
        "  8:5 absent ENOENT: the kernel has no such function; the tool goes on without it",
        "kprobe:/takes_.*/ ok",
    ];
    assert_eq!(found(kernel.db.path(), text, &[]), expected);
}
