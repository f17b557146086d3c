//! Scripts of bpftrace, policies and tools of bcc, mutated: each ends, with what was read or with one line that says where.
use probeidx::{bcc, bpftrace, policy};

const SCRIPT: &str = r#"#!/usr/bin/env bpftrace
#include <linux/fs.h>
BEGIN { printf("%s %d\n", "start", 1); @start = nsecs; }
config = { max_map_keys = 10 }
kprobe:vfs_read, kretprobe:vfs_write+0x4 /pid == 3 && @x[tid, comm] > 0/ { $f = (struct file *)arg0; @[$f->f_path.dentry->d_name.name] = count(); }
tracepoint:sched:sched_switch { @ = hist(args->prev_pid); @y[args.next_comm] = lhist(1, 0, 100, 5); delete(@y, 3); }
fentry:tcp_connect { if (args.sk->__sk_common.skc_family == 2) { time("%H:%M:%S"); } else { exit(); } unroll(3) { $i++; } }
usdt:/bin/sh:probe { while ($i < 10) { $i += 1; } } END { clear(@); /* done */ print(@y, 5); }
"#;

const POLICY: &str = r#"apiVersion: cilium.io/v1alpha1
kind: TracingPolicy
metadata: {name: "one", labels: [a, 'b']}
spec:
  kprobes:
  - call: "fd_install"
    syscall: false
    return: true
    args: [{index: 0, type: int}, {index: 1, type: "file"}]
    returnArg: {index: 0, type: int}
    selectors:
    - matchArgs: &arg
      - {index: 1, operator: "Equal", values: ["/tmp/|x"]}
  - call: "sys_write"
    syscall: true
  tracepoints:
  - subsystem: syscalls
    event: sys_enter_openat
    args: [{index: 4, type: uint64}]
  lsmhooks: [{hook: "file_open"}]
"#;

const TOOL: &str = r#"#!/usr/bin/python
from bcc import BPF
text = """
#include <linux/fs.h>
KFUNC_PROBE(vfs_read, struct file *file) { return 0; }
TRACEPOINT_PROBE(sched, sched_switch) { return 0; }
int kprobe__vfs_write(struct pt_regs *ctx) { return 0; }
"""
b = BPF(text=text.replace('FILTER', "1"))
b.attach_kprobe(event="vfs_open", fn_name='trace_open')
if BPF.get_kprobe_functions(b'blk_start'):
    b.attach_kretprobe(event=b.get_syscall_fnname("openat"), fn_name="x")
else:
    b.attach_raw_tracepoint(tp="sched_wakeup", fn_name=r"y") # a comment
b.attach_tracepoint(tp="sched:sched_switch", fn_name="z")
"#;

/// A generator of xorshift: the same texts each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % end.max(1) as u64) as usize
    }
}

/// Calls `each` with texts that differ from a seed by some cuts, doublings, exchanged pieces and stray characters.
fn mutated(seed: &str, mut each: impl FnMut(&str)) {
    const STRAY: [&str; 22] = [
        "{",
        "}",
        "(",
        ")",
        "[",
        "]",
        "/",
        "\"",
        "'",
        "\\",
        "\n",
        "\t",
        "\0",
        "@",
        "$",
        "é",
        "\u{202e}",
        "/*",
        "<<",
        "&a ",
        "*a ",
        "999999999999999999999",
    ];
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for round in 0..3000 {
        let mut text: Vec<char> = seed.chars().collect();
        for _ in 0..1 + round % 8 {
            let (a, b) = (numbers.below(text.len()), numbers.below(text.len()));
            let (start, end) = (a.min(b), a.max(b));
            let piece: Vec<char> = text[start..end.min(start + 40)].to_vec();
            match numbers.below(5) {
                0 => drop(text.drain(start..start + piece.len())),
                1 => drop(text.splice(end..end, piece)),
                2 => drop(text.splice(start..start, STRAY[numbers.below(STRAY.len())].chars())),
                3 => text.truncate(end),
                _ => {
                    let many = STRAY[numbers.below(6)].repeat(1 + numbers.below(3000));
                    drop(text.splice(start..start, many.chars()));
                }
            }
        }
        each(&text.into_iter().collect::<String>());
    }
}

/// Whether an error is one line, without what a terminal obeys.
fn is_one_line(error: &probeidx::Error) -> bool {
    let text = error.to_string();
    text.lines().count() == 1 && !error.message().is_empty()
}

#[test]
fn any_script_of_bpftrace_is_read_or_refused_in_one_line() {
    let mut read = 0;
    mutated(SCRIPT, |text| match bpftrace::parser::parse(text) {
        Ok(_) => read += 1,
        Err(error) => assert!(is_one_line(&error), "{error:?}\n{text}"),
    });
    // Neither all nor none: the mutations reach what stands behind the first error.
    assert!((30..2990).contains(&read), "{read}");
}

#[test]
fn any_policy_is_read_or_refused_in_one_line() {
    let mut read = 0;
    mutated(POLICY, |text| match policy::parse(text) {
        Ok(_) => read += 1,
        Err(error) => assert!(is_one_line(&error), "{error:?}\n{text}"),
    });
    assert!((30..2990).contains(&read), "{read}");
}

#[test]
fn of_any_tool_of_bcc_each_point_is_in_the_text() {
    let mut found = 0;
    mutated(TOOL, |text| {
        let tool = bcc::read(text);
        let lines = text.lines().count().max(1) as u32;
        for point in &tool.attached {
            assert!((1..=lines + 1).contains(&point.place.line), "{point:?}\n{text}");
            assert!(!point.name.contains('\n'), "{point:?}\n{text}");
            found += 1;
        }
    });
    assert!(found > 3000, "{found}");
}
