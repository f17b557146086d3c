//! Names of sections and what they are attached to.
use probeidx_bpf::section::{AttachType, Point, ProgramType, When, read};

fn point(name: &str) -> Point<'_> {
    read(name.as_bytes())
        .unwrap_or_else(|| panic!("{name}"))
        .point
        .unwrap_or_else(|e| panic!("{name}: {e:?}"))
}

fn refusal(name: &str) -> When {
    read(name.as_bytes()).unwrap_or_else(|| panic!("{name}")).point.expect_err(name).when
}

#[test]
fn kprobes_have_names_and_offsets() {
    let kprobe = |function, offset, is_return| Point::Kprobe { function, offset, is_return };
    assert_eq!(point("kprobe/do_open"), kprobe(b"do_open", 0, false));
    assert_eq!(point("kprobe/do_open+0x10"), kprobe(b"do_open", 16, false));
    assert_eq!(point("kprobe/do_open+010"), kprobe(b"do_open", 8, false));
    assert_eq!(point("kprobe/finish_task_switch.isra.0"), kprobe(b"finish_task_switch.isra.0", 0, false));
    assert_eq!(point("kretprobe/do_open"), kprobe(b"do_open", 0, true));
    assert_eq!(point("kretprobe/do_open+0"), kprobe(b"do_open", 0, true));
    // What is left is ignored, as by sscanf.
    assert_eq!(point("kprobe/nfs:do_open"), kprobe(b"nfs", 0, false));
    assert_eq!(point("kprobe"), Point::Loader);
    assert_eq!(refusal("kprobe/"), When::Attach);
    assert_eq!(refusal("kretprobe/do_open+4"), When::Attach);
}

#[test]
fn patterns_are_kept() {
    let multi = |pattern, is_return, is_session| Point::KprobeMulti { pattern, is_return, is_session };
    assert_eq!(point("kprobe.multi/tcp_*"), multi(b"tcp_*", false, false));
    assert_eq!(point("kretprobe.multi/tcp_?end"), multi(b"tcp_?end", true, false));
    assert_eq!(point("kprobe.session/vfs_*"), multi(b"vfs_*", false, true));
    assert_eq!(refusal("kprobe.multi/[a]"), When::Attach);
    assert_eq!(point("ksyscall/openat"), Point::Ksyscall { name: b"openat", is_return: false });
    assert_eq!(point("kretsyscall/openat"), Point::Ksyscall { name: b"openat", is_return: true });
}

#[test]
fn user_probes_name_a_binary() {
    let uprobe = |binary, function, offset, is_return| Point::Uprobe { binary, function, offset, is_return };
    assert_eq!(point("uprobe//bin/bash:readline"), uprobe(b"/bin/bash", b"readline", 0, false));
    assert_eq!(point("uprobe/libc:malloc+0x4"), uprobe(b"libc", b"malloc", 4, false));
    assert_eq!(point("uprobe.s/libc:f"), uprobe(b"libc", b"f", 0, false));
    assert_eq!(point("uretprobe/libc:f"), uprobe(b"libc", b"f", 0, true));
    // A `+` that starts no number belongs to the name.
    assert_eq!(point("uprobe/x:operator+"), uprobe(b"x", b"operator+", 0, false));
    assert_eq!(point("uprobe/"), Point::Loader);
    assert_eq!(refusal("uprobe/libc"), When::Attach);
    assert_eq!(refusal("uretprobe/libc:f+4"), When::Attach);
    let multi = |binary, pattern, is_return, is_session| Point::UprobeMulti {
        binary,
        pattern,
        is_return,
        is_session,
    };
    assert_eq!(point("uprobe.multi.s/libc:m*"), multi(b"libc", b"m*", false, false));
    assert_eq!(point("uretprobe.multi/libc:m*"), multi(b"libc", b"m*", true, false));
    assert_eq!(point("uprobe.session/libc:m*"), multi(b"libc", b"m*", false, true));
    let usdt = Point::Usdt { binary: b"libc.so", provider: b"libc", name: b"setjmp" };
    assert_eq!(point("usdt/libc.so:libc:setjmp"), usdt);
    assert_eq!(point("usdt"), Point::Loader);
    assert_eq!(refusal("usdt/libc.so:libc"), When::Attach);
    assert_eq!(refusal("usdt.s/libc.so:libc:setjmp"), When::Attach);
}

#[test]
fn tracepoints_and_types_of_the_kernel() {
    assert_eq!(
        point("tp/sched/sched_switch"),
        Point::Tracepoint { category: b"sched", name: b"sched_switch" }
    );
    assert_eq!(point("tracepoint/a/b/c"), Point::Tracepoint { category: b"a", name: b"b/c" });
    assert_eq!(refusal("tp/sched_switch"), When::Attach);
    assert_eq!(point("raw_tp.w/sched_switch"), Point::RawTracepoint { name: b"sched_switch" });
    let btf = |module, name, prefix| Point::Btf { module, name, prefix, is_attached: true };
    assert_eq!(point("fentry/do_open"), btf(None, b"do_open", ""));
    assert_eq!(point("fexit.s/nfs:do_open"), btf(Some(b"nfs"), b"do_open", ""));
    assert_eq!(point("tp_btf/sched_switch"), btf(None, b"sched_switch", "btf_trace_"));
    assert_eq!(point("lsm/file_open"), btf(None, b"file_open", "bpf_lsm_"));
    assert_eq!(point("iter.s/task"), btf(None, b"task", "bpf_iter_"));
    let cgroup = Point::Btf { module: None, name: b"socket_bind", prefix: "bpf_lsm_", is_attached: false };
    assert_eq!(point("lsm_cgroup/socket_bind"), cgroup);
    for bare in ["fentry", "lsm", "iter", "tp_btf", "freplace"] {
        assert_eq!(refusal(bare), When::Load, "{bare}");
    }
    assert_eq!(point("freplace/xdp_filter"), Point::Program { name: b"xdp_filter" });
    assert_eq!(point("struct_ops/init"), Point::StructOps);
}

#[test]
fn definitions_say_type_and_attach_type() {
    let definition = |name: &str| read(name.as_bytes()).unwrap().definition;
    let fentry = definition("fentry.s/f");
    assert_eq!((fentry.program, fentry.attach), (ProgramType::Tracing, Some(AttachType::TraceFentry)));
    assert!(fentry.is_sleepable);
    assert_eq!(definition("cgroup/connect4").attach.unwrap().name(), "BPF_CGROUP_INET4_CONNECT");
    assert_eq!(definition("xdp.frags/devmap").program.name(), "BPF_PROG_TYPE_XDP");
    assert_eq!(point("xdp"), Point::Loader);
    assert_eq!(point("cgroup/connect4"), Point::Loader);
    for unknown in ["kprobe.x/f", "kprobes/f", "xdp/other", "cgroup/unknown", "", "tracing", "maps"] {
        assert_eq!(read(unknown.as_bytes()), None, "{unknown}");
    }
}
