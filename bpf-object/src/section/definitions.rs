//! The names of sections that libbpf 1.7 knows: `section_defs` of `libbpf.c`, row for row.
use crate::section::kinds::{AttachType, ProgramType};
use AttachType as A;
use Form as F;
use ProgramType as P;

/// What a name of a section stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition {
    /// As libbpf has it: with `+` at its end, what is attached to may follow after a `/`.
    pub name: &'static str,
    /// The type of the program.
    pub program: ProgramType,
    /// How it is attached; `None` is 0, which old kernels want.
    pub attach: Option<AttachType>,
    /// Whether it may sleep.
    pub is_sleepable: bool,
    /// How what follows the `/` is read.
    pub(super) form: Form,
}

/// How what follows the `/` is read, and by whom it is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Kprobe,
    KprobeMulti,
    Ksyscall,
    Uprobe,
    UprobeMulti,
    Usdt,
    Tracepoint,
    RawTracepoint,
    /// By the id of a type or function of the kernel's BTF.
    Btf,
    /// By the id of a function of another program.
    Program,
    StructOps,
    /// The name says nothing: the loader attaches it.
    Loader,
}

/// The definition of a section's name, without a `?` at its start. `None` for what libbpf does not know.
pub fn definition(name: &[u8]) -> Option<&'static Definition> {
    DEFINITIONS.iter().find(|definition| match definition.name.strip_suffix('+') {
        Some(prefix) => {
            name.strip_prefix(prefix.as_bytes()).is_some_and(|rest| matches!(rest, [] | [b'/', ..]))
        }
        None => name == definition.name.as_bytes(),
    })
}

/// All definitions, in libbpf's order.
pub fn definitions() -> &'static [Definition] {
    &DEFINITIONS
}

const fn row(
    name: &'static str,
    program: ProgramType,
    attach: Option<AttachType>,
    form: Form,
    is_sleepable: bool,
) -> Definition {
    Definition { name, program, attach, is_sleepable, form }
}

#[rustfmt::skip]
static DEFINITIONS: [Definition; 105] = [
    row("socket", P::SocketFilter, None, F::Loader, false),
    row("sk_reuseport/migrate", P::SkReuseport, Some(A::SkReuseportSelectOrMigrate), F::Loader, false),
    row("sk_reuseport", P::SkReuseport, Some(A::SkReuseportSelect), F::Loader, false),
    row("kprobe+", P::Kprobe, None, F::Kprobe, false),
    row("uprobe+", P::Kprobe, None, F::Uprobe, false),
    row("uprobe.s+", P::Kprobe, None, F::Uprobe, true),
    row("kretprobe+", P::Kprobe, None, F::Kprobe, false),
    row("uretprobe+", P::Kprobe, None, F::Uprobe, false),
    row("uretprobe.s+", P::Kprobe, None, F::Uprobe, true),
    row("kprobe.multi+", P::Kprobe, Some(A::TraceKprobeMulti), F::KprobeMulti, false),
    row("kretprobe.multi+", P::Kprobe, Some(A::TraceKprobeMulti), F::KprobeMulti, false),
    row("kprobe.session+", P::Kprobe, Some(A::TraceKprobeSession), F::KprobeMulti, false),
    row("uprobe.multi+", P::Kprobe, Some(A::TraceUprobeMulti), F::UprobeMulti, false),
    row("uretprobe.multi+", P::Kprobe, Some(A::TraceUprobeMulti), F::UprobeMulti, false),
    row("uprobe.session+", P::Kprobe, Some(A::TraceUprobeSession), F::UprobeMulti, false),
    row("uprobe.multi.s+", P::Kprobe, Some(A::TraceUprobeMulti), F::UprobeMulti, true),
    row("uretprobe.multi.s+", P::Kprobe, Some(A::TraceUprobeMulti), F::UprobeMulti, true),
    row("uprobe.session.s+", P::Kprobe, Some(A::TraceUprobeSession), F::UprobeMulti, true),
    row("ksyscall+", P::Kprobe, None, F::Ksyscall, false),
    row("kretsyscall+", P::Kprobe, None, F::Ksyscall, false),
    row("usdt+", P::Kprobe, None, F::Usdt, false),
    row("usdt.s+", P::Kprobe, None, F::Usdt, true),
    row("tc/ingress", P::SchedCls, Some(A::TcxIngress), F::Loader, false),
    row("tc/egress", P::SchedCls, Some(A::TcxEgress), F::Loader, false),
    row("tcx/ingress", P::SchedCls, Some(A::TcxIngress), F::Loader, false),
    row("tcx/egress", P::SchedCls, Some(A::TcxEgress), F::Loader, false),
    row("tc", P::SchedCls, None, F::Loader, false),
    row("classifier", P::SchedCls, None, F::Loader, false),
    row("action", P::SchedAct, None, F::Loader, false),
    row("netkit/primary", P::SchedCls, Some(A::NetkitPrimary), F::Loader, false),
    row("netkit/peer", P::SchedCls, Some(A::NetkitPeer), F::Loader, false),
    row("tracepoint+", P::Tracepoint, None, F::Tracepoint, false),
    row("tp+", P::Tracepoint, None, F::Tracepoint, false),
    row("raw_tracepoint+", P::RawTracepoint, None, F::RawTracepoint, false),
    row("raw_tp+", P::RawTracepoint, None, F::RawTracepoint, false),
    row("raw_tracepoint.w+", P::RawTracepointWritable, None, F::RawTracepoint, false),
    row("raw_tp.w+", P::RawTracepointWritable, None, F::RawTracepoint, false),
    row("tp_btf+", P::Tracing, Some(A::TraceRawTp), F::Btf, false),
    row("fentry+", P::Tracing, Some(A::TraceFentry), F::Btf, false),
    row("fmod_ret+", P::Tracing, Some(A::ModifyReturn), F::Btf, false),
    row("fexit+", P::Tracing, Some(A::TraceFexit), F::Btf, false),
    row("fentry.s+", P::Tracing, Some(A::TraceFentry), F::Btf, true),
    row("fmod_ret.s+", P::Tracing, Some(A::ModifyReturn), F::Btf, true),
    row("fexit.s+", P::Tracing, Some(A::TraceFexit), F::Btf, true),
    row("fsession+", P::Tracing, Some(A::TraceFsession), F::Btf, false),
    row("fsession.s+", P::Tracing, Some(A::TraceFsession), F::Btf, true),
    row("freplace+", P::Ext, None, F::Program, false),
    row("lsm+", P::Lsm, Some(A::LsmMac), F::Btf, false),
    row("lsm.s+", P::Lsm, Some(A::LsmMac), F::Btf, true),
    row("lsm_cgroup+", P::Lsm, Some(A::LsmCgroup), F::Btf, false),
    row("iter+", P::Tracing, Some(A::TraceIter), F::Btf, false),
    row("iter.s+", P::Tracing, Some(A::TraceIter), F::Btf, true),
    row("syscall", P::Syscall, None, F::Loader, true),
    row("xdp.frags/devmap", P::Xdp, Some(A::XdpDevmap), F::Loader, false),
    row("xdp/devmap", P::Xdp, Some(A::XdpDevmap), F::Loader, false),
    row("xdp.frags/cpumap", P::Xdp, Some(A::XdpCpumap), F::Loader, false),
    row("xdp/cpumap", P::Xdp, Some(A::XdpCpumap), F::Loader, false),
    row("xdp.frags", P::Xdp, Some(A::Xdp), F::Loader, false),
    row("xdp", P::Xdp, Some(A::Xdp), F::Loader, false),
    row("perf_event", P::PerfEvent, None, F::Loader, false),
    row("lwt_in", P::LwtIn, None, F::Loader, false),
    row("lwt_out", P::LwtOut, None, F::Loader, false),
    row("lwt_xmit", P::LwtXmit, None, F::Loader, false),
    row("lwt_seg6local", P::LwtSeg6local, None, F::Loader, false),
    row("sockops", P::SockOps, Some(A::CgroupSockOps), F::Loader, false),
    row("sk_skb/stream_parser", P::SkSkb, Some(A::SkSkbStreamParser), F::Loader, false),
    row("sk_skb/stream_verdict", P::SkSkb, Some(A::SkSkbStreamVerdict), F::Loader, false),
    row("sk_skb/verdict", P::SkSkb, Some(A::SkSkbVerdict), F::Loader, false),
    row("sk_skb", P::SkSkb, None, F::Loader, false),
    row("sk_msg", P::SkMsg, Some(A::SkMsgVerdict), F::Loader, false),
    row("lirc_mode2", P::LircMode2, Some(A::LircMode2), F::Loader, false),
    row("flow_dissector", P::FlowDissector, Some(A::FlowDissector), F::Loader, false),
    row("cgroup_skb/ingress", P::CgroupSkb, Some(A::CgroupInetIngress), F::Loader, false),
    row("cgroup_skb/egress", P::CgroupSkb, Some(A::CgroupInetEgress), F::Loader, false),
    row("cgroup/skb", P::CgroupSkb, None, F::Loader, false),
    row("cgroup/sock_create", P::CgroupSock, Some(A::CgroupInetSockCreate), F::Loader, false),
    row("cgroup/sock_release", P::CgroupSock, Some(A::CgroupInetSockRelease), F::Loader, false),
    row("cgroup/sock", P::CgroupSock, Some(A::CgroupInetSockCreate), F::Loader, false),
    row("cgroup/post_bind4", P::CgroupSock, Some(A::CgroupInet4PostBind), F::Loader, false),
    row("cgroup/post_bind6", P::CgroupSock, Some(A::CgroupInet6PostBind), F::Loader, false),
    row("cgroup/bind4", P::CgroupSockAddr, Some(A::CgroupInet4Bind), F::Loader, false),
    row("cgroup/bind6", P::CgroupSockAddr, Some(A::CgroupInet6Bind), F::Loader, false),
    row("cgroup/connect4", P::CgroupSockAddr, Some(A::CgroupInet4Connect), F::Loader, false),
    row("cgroup/connect6", P::CgroupSockAddr, Some(A::CgroupInet6Connect), F::Loader, false),
    row("cgroup/connect_unix", P::CgroupSockAddr, Some(A::CgroupUnixConnect), F::Loader, false),
    row("cgroup/sendmsg4", P::CgroupSockAddr, Some(A::CgroupUdp4Sendmsg), F::Loader, false),
    row("cgroup/sendmsg6", P::CgroupSockAddr, Some(A::CgroupUdp6Sendmsg), F::Loader, false),
    row("cgroup/sendmsg_unix", P::CgroupSockAddr, Some(A::CgroupUnixSendmsg), F::Loader, false),
    row("cgroup/recvmsg4", P::CgroupSockAddr, Some(A::CgroupUdp4Recvmsg), F::Loader, false),
    row("cgroup/recvmsg6", P::CgroupSockAddr, Some(A::CgroupUdp6Recvmsg), F::Loader, false),
    row("cgroup/recvmsg_unix", P::CgroupSockAddr, Some(A::CgroupUnixRecvmsg), F::Loader, false),
    row("cgroup/getpeername4", P::CgroupSockAddr, Some(A::CgroupInet4Getpeername), F::Loader, false),
    row("cgroup/getpeername6", P::CgroupSockAddr, Some(A::CgroupInet6Getpeername), F::Loader, false),
    row("cgroup/getpeername_unix", P::CgroupSockAddr, Some(A::CgroupUnixGetpeername), F::Loader, false),
    row("cgroup/getsockname4", P::CgroupSockAddr, Some(A::CgroupInet4Getsockname), F::Loader, false),
    row("cgroup/getsockname6", P::CgroupSockAddr, Some(A::CgroupInet6Getsockname), F::Loader, false),
    row("cgroup/getsockname_unix", P::CgroupSockAddr, Some(A::CgroupUnixGetsockname), F::Loader, false),
    row("cgroup/sysctl", P::CgroupSysctl, Some(A::CgroupSysctl), F::Loader, false),
    row("cgroup/getsockopt", P::CgroupSockopt, Some(A::CgroupGetsockopt), F::Loader, false),
    row("cgroup/setsockopt", P::CgroupSockopt, Some(A::CgroupSetsockopt), F::Loader, false),
    row("cgroup/dev", P::CgroupDevice, Some(A::CgroupDevice), F::Loader, false),
    row("struct_ops+", P::StructOps, None, F::StructOps, false),
    row("struct_ops.s+", P::StructOps, None, F::StructOps, true),
    row("sk_lookup", P::SkLookup, Some(A::SkLookup), F::Loader, false),
    row("netfilter", P::Netfilter, Some(A::Netfilter), F::Loader, false),
];
