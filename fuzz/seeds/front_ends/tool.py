#!/usr/bin/python
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
