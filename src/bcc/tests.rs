use super::*;

const TOOL: &str = r##"#!/usr/bin/python3
"""attach_kprobe(event="documented") is no call."""
from bcc import BPF
text = """
#include <linux/fs.h>
// KFUNC_PROBE(commented, int x) { }
TRACEPOINT_PROBE(block, block_rq_issue) {
    u64 x = args->sector + args -> nr_sector;
    if (x) { return args->dev; }
    return 0;
}
int other(void *args) { return args->none; }
KFUNC_PROBE(vfs_read, struct file *file, char *buf) { return 0; }
KRETFUNC_PROBE(vfs_read, struct file *file, int ret) { return 0; }
RAW_TRACEPOINT_PROBE(sched_switch) { return 0; }
int kprobe__tcp_connect(struct pt_regs *ctx, struct sock *sk) { return 0; }
KFUNC_PROBE(FUNCTION, int x) { }
#if LINUX_VERSION_CODE < KERNEL_VERSION(5, 11, 0)
int kprobe__tty_write(struct pt_regs *ctx, int a, int b, int c) { return 0; }
#endif
"""
b = BPF(text=text)
b.attach_kprobe(event="do_one", fn_name="x")
# b.attach_kprobe(event="no", fn_name="x")
b.attach_kretprobe(fn_name="x",
                   event=b"do_two")
b.attach_kprobe(event=b.get_syscall_fnname("clone"), fn_name="y")
b.attach_kprobe(event_re="^vfs_.*", fn_name="y")
b.attach_kprobe(event=name, fn_name="y")
b.attach_tracepoint(tp="sched:sched_switch", fn_name="z")
b.attach_uprobe(name="c", sym="malloc", fn_name="z")
if BPF.get_kprobe_functions(b"three"):
    b.attach_kprobe(event="three", fn_name="x")
has_four = BPF.ksymname("four") != -1
if args.verbose:
    b.attach_kprobe(event="five", fn_name="x")
if has_four:
    if args.verbose:
        b.attach_kprobe(event="four", fn_name="x")
elif x:
    b.attach_kprobe(event="four_b", fn_name="x")
try:
    b.attach_kprobe(event="six", fn_name="x")
except Exception:
    pass
b.attach_kprobe(event="seven", fn_name="x")
"##;

#[test]
fn attach_points_of_python_and_c() {
    let tool = read(TOOL);
    let found: Vec<String> = tool
        .attached
        .iter()
        .map(|a| {
            let fields: Vec<&str> = a.fields.iter().map(|(_, field)| &**field).collect();
            format!("{} {:?} {} {fields:?} {:?} {:?}", a.place.line, a.kind, a.name, a.parameters, a.asked)
        })
        .collect();
    let expected = [
        "7 Event(\"block\") block_rq_issue [\"sector\", \"nr_sector\", \"dev\"] None No",
        "13 Fentry vfs_read [] Some(2) No",
        "14 Fexit vfs_read [] None No",
        "15 RawTracepoint sched_switch [] None No",
        "16 Kprobe tcp_connect [] Some(1) No",
        "19 Kprobe tty_write [] Some(3) Optional",
        "23 Kprobe do_one [] None No",
        "25 Kretprobe do_two [] None No",
        "27 SystemCall clone [] None No",
        "28 Expression ^vfs_.* [] None No",
        "30 Event(\"sched\") sched_switch [] None No",
        "31 User uprobe [] None No",
        "33 Kprobe three [] None Optional",
        "36 Kprobe five [] None No",
        "39 Kprobe four [] None OneOf(2)",
        "41 Kprobe four_b [] None OneOf(2)",
        "43 Kprobe six [] None Optional",
        "46 Kprobe seven [] None No",
    ];
    assert_eq!(found, expected);
    assert_eq!(tool.computed, [Place { line: 17, column: 1 }, Place { line: 29, column: 3 }]);
}

#[test]
fn a_branch_that_goes_on_without_makes_it_optional() {
    let attach = "b.attach_kprobe(event=\"x\", fn_name=\"y\")";
    for (other, asked) in [
        ("print(1)", Asked::Optional),
        ("exit(1)", Asked::OneOf(0)),
        ("raise Exception()", Asked::OneOf(0)),
        (attach, Asked::OneOf(0)),
    ] {
        let text = format!("if BPF.ksymname(b\"x\") != -1:\n    {attach}\nelse:\n    {other}\n");
        assert_eq!(read(&text).attached[0].asked, asked, "{text}");
    }
}

#[test]
fn what_is_in_c_is_asked_for_in_python() {
    let text = format!("{TOOL}\nif BPF.support_kfunc():\n    pass\n");
    let asked: Vec<Asked> =
        read(&text).attached.iter().filter(|a| a.kind == Kind::Fentry).map(|a| a.asked).collect();
    assert_eq!(asked, [Asked::Optional]);
}

#[test]
fn any_text_ends() {
    for at in (0..TOOL.len()).step_by(3) {
        let _ = read(&TOOL[..at]);
        let _ = read(&TOOL[at..]);
        let _ = read(&format!("{}\"\"\"(é{{{}", &TOOL[..at], &TOOL[at..]));
    }
}
