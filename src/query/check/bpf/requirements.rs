//! Helpers, kfuncs, and types of programs and maps: what the kernel's own enumerations have.
use super::super::outcome::{Finding, Severity, State};
use super::helper_scope::{self, Scope};
use super::types::KernelTypes;
use super::{Checking, helpers};
use crate::query::offers::kfuncs::{Programs, Use};
use probeidx_bpf::Object;
use probeidx_bpf::object::Map;
use probeidx_bpf::reach::Reached;
use probeidx_bpf::section::{AttachType as A, Definition, Point, ProgramType as P, Section};
use probeidx_format::record::FunctionRecord;
use rustc_hash::FxHashSet;

/// What a kernel has of BPF. `None` where its types do not say.
pub struct Requirements {
    helpers: Option<FxHashSet<i64>>,
    programs: Option<FxHashSet<i64>>,
    attachments: Option<FxHashSet<i64>>,
    maps: Option<FxHashSet<i64>>,
}

impl Requirements {
    /// Reads the enumerations (include/uapi/linux/bpf.h). Cost: a look at a few hundred enumerators.
    pub fn new(types: &KernelTypes<'_>) -> Self {
        let values = |name: &[u8]| {
            let is_value = |name: &[u8]| !name.starts_with(b"__MAX_") && !name.starts_with(b"__BPF_FUNC_MAX");
            Some(
                types.enumerators(name)?.filter(|(name, _)| is_value(name)).map(|(_, value)| value).collect(),
            )
        };
        Self {
            helpers: values(b"bpf_func_id"),
            programs: values(b"bpf_prog_type"),
            attachments: values(b"bpf_attach_type"),
            maps: values(b"bpf_map_type"),
        }
    }

    /// Whether the kernel has the type of a program.
    pub fn of_program(&self, section: Option<&Section<'_>>) -> Option<Finding> {
        let definition = section?.definition;
        let lacks = |known: &Option<FxHashSet<i64>>, number: u32| {
            known.as_ref().is_some_and(|k| !k.contains(&number.into()))
        };
        let text = definition.name.trim_end_matches('+');
        if lacks(&self.programs, definition.program as u32) {
            let why = format!("the kernel has no programs of type {}", definition.program.name());
            return Some(Finding::new(State::Loader, text, why).errno("EINVAL"));
        }
        let attach = definition.attach.filter(|attach| lacks(&self.attachments, *attach as u32))?;
        let why = format!("the kernel has no attach type {}", attach.name());
        Some(Finding::new(State::Loader, text, why).errno("EINVAL"))
    }

    /// Maps of types that the kernel does not have: libbpf creates all of an object, whichever program uses them.
    pub fn of_maps(&self, object: &Object<'_>) -> Vec<Finding> {
        let lacks = |kind: u32| self.maps.as_ref().is_some_and(|maps| !maps.contains(&kind.into()));
        let missing = object.maps.iter().filter(|map| lacks(map.kind));
        let finding = |map: &Map<'_>| {
            let name = String::from_utf8_lossy(map.name).into_owned();
            let why = format!("the kernel has no maps of the type of {name} (number {})", map.kind);
            let instead =
                format!("have the loader call bpf_map__set_autocreate({name}, false) on such kernels");
            Finding::new(State::Loader, name, why).errno("EINVAL").instead([instead])
        };
        missing.map(finding).collect()
    }

    /// Whether the kernel has what the code of a program that is reached calls and uses.
    pub fn of_code(
        &self,
        checking: &Checking<'_, '_, '_>,
        section: Option<&Section<'_>>,
        reached: &Reached,
    ) -> Vec<Finding> {
        let mut findings = vec![];
        let line = checking.line();
        let (mut helpers_met, mut kfuncs_met) = (FxHashSet::default(), FxHashSet::default());
        for (place, number) in &reached.helpers {
            let is_there = self.helpers.as_ref().is_none_or(|helpers| helpers.contains(&(*number).into()));
            let scope = match section {
                Some(section) if is_there => helper_scope::scope(section, *number, line),
                _ => Scope::Allowed,
            };
            if (is_there && scope == Scope::Allowed) || !helpers_met.insert(*number) {
                continue;
            }
            let name = helpers::name(*number);
            let text = checking.text(*place, &name);
            let kind = section.map_or("", |section| section.definition.program.name());
            let finding = match scope {
                Scope::Unknown => {
                    let why = format!(
                        "whether programs of type {kind} may call {name} is not known of this release"
                    );
                    Finding::new(State::Undecided, text, why)
                }
                Scope::Refused => {
                    let why = format!("programs of type {kind} may not call {name}");
                    Finding::new(State::Helper, text, why).errno("EINVAL")
                }
                Scope::Allowed => {
                    Finding::new(State::Helper, text, format!("the kernel has no helper {name}"))
                        .errno("EINVAL")
                }
            };
            findings.push(checking.at(finding, *place));
        }
        findings.extend(overriding(checking, section, reached));
        for (place, number) in &reached.kfuncs {
            let found = || checking.externs.kfunc(*number).or_else(|| kfunc_of(checking, section?, *number));
            if let Some(finding) = found().filter(|_| kfuncs_met.insert(*number)) {
                findings.push(checking.at(finding, *place));
            }
        }
        let mut places_met = FxHashSet::default();
        for plain in reached.plain_offsets.iter().filter(|plain| !plain.in_field) {
            if places_met.insert(plain.place) {
                let why = format!(
                    "it reads kernel memory at {} bytes without a relocation: another kernel may have another layout",
                    plain.offset
                );
                let text = checking.text(plain.place, "the program");
                let finding = Finding::new(State::Field, text, why).severity(Severity::Warning);
                findings.push(checking.at(Finding { kind: Some("plain-offset"), ..finding }, plain.place));
            }
        }
        findings
    }
}

/// Whether a kfunc that the kernel has is for programs of the section.
fn kfunc_of(checking: &Checking<'_, '_, '_>, section: &Section<'_>, number: u32) -> Option<Finding> {
    let name = checking.object.externs.get(number as usize)?.essential;
    let programs = Programs::of(checking.view, name);
    let definition = section.definition;
    let kind = kind_of(definition);
    let text = String::from_utf8_lossy(name).into_owned();
    match programs.takes(kind, definition.is_sleepable) {
        Use::Allowed => None,
        Use::Refused => {
            let why = match programs.is_sleeping && !definition.is_sleepable {
                true => format!("{text} is for programs that may sleep"),
                false => format!("programs of type {} may not call {text}", definition.program.name()),
            };
            Some(Finding::new(State::Kfunc, text, why).errno("EACCES"))
        }
        Use::Unknown => {
            let why = format!(
                "whether programs of type {} may call {text} is not known of this release",
                definition.program.name()
            );
            Some(Finding::new(State::Undecided, text, why))
        }
    }
}

/// What a kind of program is called where it was measured which kfuncs it may call.
fn kind_of(definition: &Definition) -> &'static str {
    match (definition.program, definition.attach) {
        // Sessions have some of their own.
        (P::Kprobe, Some(A::TraceKprobeSession | A::TraceUprobeSession)) => "",
        (P::Kprobe, _) => "kprobe",
        (P::Tracepoint, _) => "tracepoint",
        (P::RawTracepoint | P::RawTracepointWritable, _) => "raw_tp",
        (P::PerfEvent, _) => "perf_event",
        (P::Tracing, Some(A::TraceRawTp)) => "tp_btf",
        (P::Tracing, Some(A::TraceIter)) => "iter",
        (P::Tracing, Some(A::TraceFsession)) => "",
        (P::Tracing, _) => "fentry",
        (P::Lsm, Some(A::LsmCgroup)) => "",
        (P::Lsm, _) => "lsm",
        (P::Syscall, _) => "syscall",
        (P::SocketFilter, _) => "socket",
        (P::SchedCls, _) => "tc",
        (P::SchedAct, _) => "action",
        (P::Xdp, _) => "xdp",
        (P::CgroupSkb, _) => "cgroup_skb",
        (P::CgroupSock, _) => "cgroup_sock",
        (P::CgroupSockAddr, _) => "sock_addr",
        (P::CgroupDevice, _) => "cgroup_dev",
        (P::CgroupSockopt, _) => "sockopt",
        (P::CgroupSysctl, _) => "sysctl",
        (P::SockOps, _) => "sockops",
        (P::SkSkb, _) => "sk_skb",
        (P::SkMsg, _) => "sk_msg",
        (P::SkLookup, _) => "sk_lookup",
        (P::SkReuseport, _) => "reuseport",
        (P::FlowDissector, _) => "dissector",
        (P::LwtIn | P::LwtOut | P::LwtXmit | P::LwtSeg6local, _) => "lwt_out",
        (P::Netfilter, _) => "netfilter",
        (P::StructOps, _) => "struct_ops",
        _ => "",
    }
}

/// `bpf_override_return`: of kernels that are configured so, at the entry of functions that may be made to fail
/// (`perf_event_attach_bpf_prog`, kernel/trace/bpf_trace.c).
fn overriding(
    checking: &Checking<'_, '_, '_>,
    section: Option<&Section<'_>>,
    reached: &Reached,
) -> Option<Finding> {
    let (place, _) = reached.helpers.iter().find(|(_, number)| *number == helper_scope::OVERRIDE)?;
    let has_options = checking.view.option(b"64BIT").is_some();
    let point = section.and_then(|section| section.point.as_ref().ok());
    let why = match point {
        _ if has_options && checking.view.option(b"BPF_KPROBE_OVERRIDE").is_none() => {
            "the kernel has no bpf_override_return (CONFIG_BPF_KPROBE_OVERRIDE)".to_owned()
        }
        Some(Point::Kprobe { function, offset: 0, .. })
            if !checking.attacher.has_flag(function, FunctionRecord::MAY_FAIL) =>
        {
            let name = String::from_utf8_lossy(function);
            format!("it overrides what {name} returns, which may not be made to fail (ALLOW_ERROR_INJECTION)")
        }
        Some(Point::Kprobe { offset: 1.., .. }) => {
            "it overrides what a function returns, which is done at its entry alone".to_owned()
        }
        _ => return None,
    };
    let text = checking.text(*place, "bpf_override_return");
    Some(checking.at(Finding::new(State::Helper, text, why).errno("EINVAL"), *place))
}
