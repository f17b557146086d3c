//! Scripts of bpftrace with what is wrong in them: one or more for each rule.

/// A script, and its programs with what is found in them.
type Case = (&'static str, &'static [&'static str]);

/// By kernel.
pub const ALL: &[(&str, &[Case])] = &[
    (
        "6.1.0-2-rt",
        &[
            ("kprobe:diff_mod:goes {}", &["kprobe:diff_mod:goes ok"]),
            (
                "kprobe:back {}",
                &[
                    "kprobe:back inlined",
                    "  1:1 inlined ENOENT: it is inlined everywhere: 1 copies, as in calls => see probeidx resolve back",
                ],
            ),
            (
                "kprobe:comes {}",
                &["kprobe:comes absent", "  1:1 absent ENOENT: the kernel has no such function"],
            ),
            (
                "kprobe:signatur {}",
                &[
                    "kprobe:signatur absent",
                    "  1:1 absent ENOENT: the kernel has no such function => kprobe:signature",
                ],
            ),
            (
                "kprobe:nomod:x {}",
                &["kprobe:nomod:x module", "  1:1 module ENOENT: no module nomod is indexed"],
            ),
            (
                "kretprobe:calls+1 {}",
                &[
                    "kretprobe:calls+1 loader",
                    "  1:1 loader: bpftrace refuses it: expected kretprobe:FUNCTION, as returns have no offset",
                ],
            ),
            (
                "kprobe:c* {}",
                &["kprobe:c* absent", "  1:1 absent ENOENT: no function with an ftrace site matches"],
            ),
            (
                "kprobe:signature { @ = arg3; @ = arg4 }",
                &["kprobe:signature argument", "  1:34 argument: signature has 4 arguments in registers"],
            ),
            (
                "kretprobe:calls { @ = retval; @ = arg0 }",
                &["kretprobe:calls loader", "  1:35 loader: bpftrace refuses arg0: such probes have none"],
            ),
            (
                "kprobe:stays, kprobe:comes {}",
                &[
                    "kprobe:stays ok",
                    "kprobe:comes absent",
                    "  1:15 absent ENOENT: the kernel has no such function; bpftrace goes on without it, as kprobe:stays works; from 0.24 on it ends, unless missing_probes is warn",
                ],
            ),
            (
                "kprobe:comes, kprobe:none {}",
                &[
                    "kprobe:comes absent",
                    "  1:1 absent ENOENT: the kernel has no such function",
                    "kprobe:none absent",
                    "  1:15 absent ENOENT: the kernel has no such function",
                ],
            ),
            (
                "config = { missing_probes = \"error\" } kprobe:stays, kprobe:comes {}",
                &[
                    "kprobe:stays ok",
                    "kprobe:comes absent",
                    "  1:53 absent ENOENT: the kernel has no such function",
                ],
            ),
            (
                "kprobe:stays, kprobe:comes { (struct nothing *)1 }",
                &[
                    "kprobe:stays field",
                    "  1:31 field: the kernel has no type struct nothing",
                    "kprobe:comes absent",
                    "  1:15 absent ENOENT: the kernel has no such function",
                    "  1:31 field: the kernel has no type struct nothing",
                ],
            ),
            (
                "kprobe:calls {\n  $g = (struct grown *)arg0;\n  print($g->removed); print($g.first); print($g->nam);\n}",
                &["kprobe:calls field", "  3:50 field: struct grown has no member nam => name"],
            ),
            (
                "kprobe:calls { @g = (struct grown *)arg0; @g->added; @g->name; ((struct same)*$x).c }",
                &[
                    "kprobe:calls field",
                    "  1:47 field: struct grown has no member added",
                    "  1:83 field: struct same has no member c => a, b, struct packed has a member c",
                ],
            ),
            (
                "kprobe:calls { $g = (struct grown *)arg0; $g = 1; $g->gone; sizeof(struct no); offsetof(struct grown, no) }",
                &[
                    "kprobe:calls field",
                    "  1:68 field: the kernel has no type struct no",
                    "  1:103 field: struct grown has no member no",
                ],
            ),
            (
                "kprobe:calls { @ = (struct nothing *)1 }",
                &["kprobe:calls field", "  1:21 field: the kernel has no type struct nothing"],
            ),
            (
                "#include <x.h>\nkprobe:calls { @ = (struct nothing *)1 }",
                &[
                    "kprobe:calls undecided",
                    "  2:21 undecided: the kernel has no type struct nothing; the headers that are included may",
                ],
            ),
            (
                "struct grown { int mine; } kprobe:calls { $g = (struct grown *)arg0; $g->mine; $g->first }",
                &["kprobe:calls field", "  1:84 field: struct grown has no member first"],
            ),
            (
                "#ifndef BPFTRACE_HAVE_BTF\n#include <x.h>\nstruct grown { int mine; };\n#endif\n\
                 kprobe:calls { $g = (struct grown *)arg0; $g->mine; $g->first; $n = (struct nothing *)1 }",
                &[
                    "kprobe:calls field",
                    "  5:57 field: struct grown has no member first",
                    "  5:70 undecided: the kernel has no type struct nothing; the headers that are included may",
                ],
            ),
            (
                "BEGIN { kaddr(\"seen\"); kaddr(\"unseen\"); print(retval); }",
                &[
                    "BEGIN loader",
                    "  1:24 absent: the kernel has no symbol unseen",
                    "  1:47 loader: bpftrace refuses retval: such probes have none",
                ],
            ),
            (
                "uprobe:/bin/true:main { @ = arg9 } profile:hz:9 {} watchpoint:0x10:8:w {}",
                &[
                    "uprobe:/bin/true:main unindexed",
                    "  1:1 unindexed: the program is not indexed",
                    "profile:hz:9 ok",
                    "watchpoint:0x10:8:w ok",
                ],
            ),
            (
                "newkind:x {}",
                &[
                    "newkind:x undecided",
                    "  1:1 undecided: it is not known to which kind of probe this belongs",
                ],
            ),
            (
                "kprobe:$1 {}",
                &["kprobe:$1 undecided", "  1:1 undecided: it depends on an argument of the command line"],
            ),
            (
                "kprobe {}",
                &["kprobe loader", "  1:1 loader: bpftrace refuses it: expected kprobe:[MODULE:]FUNCTION"],
            ),
            (
                "iter:task { ctx->task }",
                &["iter:task absent", "  1:1 absent ESRCH: the kernel has no such iterator"],
            ),
        ],
    ),
    (
        "6.2.0-1-rt",
        &[
            (
                "kprobe:diff_mod:goes {}",
                &["kprobe:diff_mod:goes absent", "  1:1 absent ENOENT: the kernel has no such function"],
            ),
            (
                "kprobe:away, kprobe:back {}",
                &[
                    "kprobe:away inlined",
                    "  1:1 inlined ENOENT: it is inlined everywhere: 1 copies, as in calls; bpftrace goes on without it, as kprobe:back works; from 0.24 on it ends, unless missing_probes is warn => see probeidx resolve away",
                    "kprobe:back ok",
                ],
            ),
            (
                "kprobe:stays {}",
                &[
                    "kprobe:stays ambiguous",
                    "  1:1 ambiguous: 2 functions have the name: the kernel takes one of them without a word",
                ],
            ),
            (
                "kprobe:stays, kprobe:calls {}",
                &[
                    "kprobe:stays ambiguous",
                    "  1:1 ambiguous: 2 functions have the name: the kernel takes one of them without a word",
                    "kprobe:calls ok",
                ],
            ),
            (
                "kprobe:calls { ((struct grown *)arg0)->removed }",
                &["kprobe:calls field", "  1:40 field: struct grown has no member removed"],
            ),
        ],
    ),
    (
        "events",
        &[
            (
                "tracepoint:sched:task_switch { args.prev_pid; args->state; args.common_pid; args.prev_pi; arg0 }",
                &[
                    "tracepoint:sched:task_switch loader",
                    "  1:65 loader: bpftrace refuses common_pid: BPF programs do not see the common fields => tid",
                    "  1:82 event-field: sched:task_switch has no field prev_pi => args.prev_pid",
                    "  1:91 loader: bpftrace refuses arg0: such probes have none",
                ],
            ),
            (
                "t:sched:task_gone {}",
                &[
                    "t:sched:task_gone absent",
                    "  1:1 absent ENOENT: no tracepoint sched:task_gone; did you mean task_free?",
                ],
            ),
            (
                "tracepoint:sched:task_* { args.pid }",
                &[
                    "tracepoint:sched:task_* event-field",
                    "  1:32 event-field: sched:task_switch has no field pid => args.prev_pid",
                ],
            ),
            ("t:sched:zz* {}", &["t:sched:zz* absent", "  1:1 absent ENOENT: no event matches"]),
            // A name that is not there is left out of a list; a pattern that matches nothing is not.
            (
                "t:sched:zz*, t:sched:zz, t:sched:task_free {}",
                &[
                    "t:sched:zz* absent",
                    "  1:1 absent ENOENT: no event matches",
                    "t:sched:zz absent",
                    "  1:14 absent ENOENT: no tracepoint sched:zz; bpftrace goes on without it, as t:sched:task_free works",
                    "t:sched:task_free ok",
                ],
            ),
            (
                "t:sched:load_tp {}",
                &[
                    "t:sched:load_tp absent",
                    "  1:1 absent ENOENT: load_tp is a tracepoint without an event => rawtracepoint:load_tp",
                ],
            ),
            (
                "t:sched:wakeup { args.x }",
                &["t:sched:wakeup undecided", "  1:23 undecided: not all fields of sched:wakeup are known"],
            ),
            (
                "tracepoint:sched {}",
                &[
                    "tracepoint:sched loader",
                    "  1:1 loader: bpftrace refuses it: expected tracepoint:CATEGORY:EVENT",
                ],
            ),
            (
                "rt:task_switch { arg3; arg4; args.prev->pid; args.prev->pib; args.next }",
                &[
                    "rt:task_switch argument",
                    "  1:24 argument: task_switch has 4 arguments in registers",
                    "  1:57 field: struct task has no member pib => pid",
                ],
            ),
            ("rt:load_tp {}", &["rt:load_tp ok"]),
            ("rt:gone {}", &["rt:gone absent", "  1:1 absent ENOENT: no tracepoint gone"]),
            (
                "kprobe:trace_task_switch {}",
                &[
                    "kprobe:trace_task_switch absent",
                    "  1:1 absent ENOENT: the kernel has no such function => tracepoint:sched:task_switch",
                ],
            ),
            (
                "kprobe:walk { @ = (struct task *)arg0; @->parent->parent->comm[3]; (*@).pid; @->parent->com; }",
                &["kprobe:walk field", "  1:89 field: struct task has no member com => comm"],
            ),
        ],
    ),
    (
        "verdicts",
        &[
            (
                "fentry:takes_six { args.a; args.g; retval }",
                &[
                    "fentry:takes_six loader",
                    "  1:33 argument: takes_six has no parameter g; it has a, b, c, d, e, f",
                    "  1:36 loader: bpftrace refuses retval: such probes have none",
                ],
            ),
            ("fexit:vmlinux:takes_six { args.f; retval }", &["fexit:vmlinux:takes_six ok"]),
            (
                "fentry:takes_seven {}",
                &[
                    "fentry:takes_seven trampoline",
                    "  1:1 trampoline ENOTSUPP: BPF trampolines do not take it: too-many-arguments => kprobe:takes_seven",
                ],
            ),
            (
                "fentry:takes_more {}",
                &[
                    "fentry:takes_more trampoline",
                    "  1:1 trampoline EINVAL: BPF trampolines do not take it: variadic => kprobe:takes_more",
                ],
            ),
            (
                "fentry:takes_large {}",
                &[
                    "fentry:takes_large trampoline",
                    "  1:1 trampoline EINVAL: BPF trampolines do not take it: struct-argument => kprobe:takes_large",
                ],
            ),
            (
                "fexit:gives_small { retval.one; retval.three }",
                &[
                    "fexit:gives_small trampoline",
                    "  1:1 trampoline EINVAL: BPF trampolines do not take it: struct-return => kretprobe:gives_small",
                    "  1:40 field: struct small has no member three",
                ],
            ),
            (
                "fentry:nosuch {}",
                &["fentry:nosuch absent", "  1:1 absent ESRCH: the kernel has no such function"],
            ),
            (
                "fentry:inlined {}",
                &[
                    "fentry:inlined inlined",
                    "  1:1 inlined ESRCH: it is inlined everywhere: 3 copies, as in first_caller, second_caller => see probeidx resolve inlined",
                ],
            ),
            (
                "fentry:untraced {}",
                &[
                    "fentry:untraced no-site",
                    "  1:1 no-site EBUSY: a trampoline cannot be placed there: no-ftrace-site",
                ],
            ),
            (
                "fentry:bpf:x {}",
                &["fentry:bpf:x undecided", "  1:1 undecided: which BPF programs there are is not known"],
            ),
            (
                "fexit:first_caller { retval }",
                &["fexit:first_caller argument", "  1:22 argument: first_caller returns nothing"],
            ),
            (
                "f:takes* {}",
                &[
                    "f:takes* ok",
                    "  1:1 loader: bpftrace refuses it from 0.24 on: the kernel refuses 3 of 5 functions that match, as takes_either",
                ],
            ),
            (
                "#ifndef BPFTRACE_HAVE_BTF\n#include <x.h>\nstruct zzqqxx { int mine; };\n#endif\n\
                 kprobe:traced_caller { $g = (struct zzqqxx *)arg0; $g->mine; }",
                &["kprobe:traced_caller field", "  5:30 field: the kernel has no type struct zzqqxx"],
            ),
            (
                "kprobe:traced_caller {} kprobe:traced* {} kprobe:zz* {}",
                &[
                    "kprobe:traced_caller ok",
                    "kprobe:traced* ok",
                    "kprobe:zz* absent",
                    "  1:43 absent ENOENT: no function with an ftrace site matches",
                ],
            ),
            (
                "kprobe:noinstr_caller {}",
                &[
                    "kprobe:noinstr_caller no-site",
                    "  1:1 no-site EINVAL: a kprobe cannot be placed there: noinstr",
                ],
            ),
            (
                "kprobe:untraced_caller {}",
                &[
                    "kprobe:untraced_caller no-site",
                    "  1:1 no-site EINVAL: a kprobe cannot be placed there: no-ftrace-site",
                ],
            ),
            (
                "kprobe:init_caller {}",
                &[
                    "kprobe:init_caller no-site",
                    "  1:1 no-site EINVAL: a kprobe cannot be placed there: init-text",
                ],
            ),
            (
                "kprobe:jump_labels+5 {}",
                &[
                    "kprobe:jump_labels+5 no-site",
                    "  1:1 no-site EINVAL: a kprobe cannot be placed there: jump-label",
                ],
            ),
            (
                "kprobe:plain+1 {}",
                &[
                    "kprobe:plain+1 no-site",
                    "  1:1 no-site EILSEQ: a kprobe cannot be placed there: not-boundary",
                    "  1:1 ambiguous: module places has a function of this name too: it is ambiguous once that is loaded",
                ],
            ),
            (
                "kretprobe:plain {}",
                &[
                    "kretprobe:plain ok",
                    "  1:1 ambiguous: module places has a function of this name too: it is ambiguous once that is loaded",
                ],
            ),
            (
                "kprobe:takes_small { arg1; arg2 } kprobe:takes_large { arg0 } kprobe:takes_more { arg5 }",
                &[
                    "kprobe:takes_small argument",
                    "  1:28 argument: takes_small has 2 arguments in registers",
                    "kprobe:takes_large argument",
                    "  1:56 argument: takes_large has 0 arguments in registers",
                    "kprobe:takes_more ok",
                ],
            ),
        ],
    ),
];
