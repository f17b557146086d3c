//! Which programs may call which helpers: here those that trace, in [`network`] the others.
//!
//! Measured: each helper was called from a program of each kind, on booted kernels of Debian for x86-64, 5.10.0-43, 6.1.0-56
//! and 7.3.4+deb13; the verifier says "unknown func" of those that the kind does not have. No kind lost a helper between them.
//! What hangs on the configuration counts as allowed.
mod network;

use network::Family;
use probeidx_bpf::section::{AttachType, Definition, Point, ProgramType, Section};

/// Whether a program may call a helper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    Allowed,
    Refused,
    /// It came between two of the kernels that were measured, and this one is between them; or this one is newer than all.
    Unknown,
}

/// Release lines (major and minor) that were measured.
const OLDEST: (u32, u32) = (5, 10);
const MIDDLE: (u32, u32) = (6, 1);
/// Of [`network`] alone.
const LATER: (u32, u32) = (6, 12);
const BEFORE_NEWEST: (u32, u32) = (7, 2);
const NEWEST: (u32, u32) = (7, 3);

/// Numbers, both ends included.
type Numbers = [(u32, u32)];

/// Of all kinds, on 7.3. 21 and 58 hang on the configuration.
#[rustfmt::skip]
const TRACING: &Numbers = &[
    (1, 8), (12, 12), (14, 17), (22, 22), (25, 25), (27, 27), (35, 37), (42, 42), (45, 45), (55, 55), (58, 58), (67, 67),
    (80, 80), (87, 89), (93, 94), (105, 106), (109, 109), (112, 115), (117, 118), (120, 120), (123, 123), (125, 125),
    (130, 134), (141, 141), (148, 149), (153, 154), (156, 158), (164, 165), (169, 173), (175, 177), (180, 182), (191, 191),
    (194, 195), (197, 203), (208, 211),
];
/// Of all programs that are attached by a number of BTF (`bpf_tracing_prog_func_proto`, kernel/trace/bpf_trace.c).
#[rustfmt::skip]
const TYPED: &Numbers = &[
    (46, 46), (107, 108), (111, 111), (121, 121), (136, 140), (147, 147), (162, 162), (178, 178), (188, 188), (196, 196),
];
const ITERATOR: &Numbers = &[(126, 127), (150, 150)];
const TRAMPOLINE: &Numbers = &[(174, 174), (183, 185)];
const TYPED_TRACEPOINT: &Numbers = &[(174, 174), (183, 183), (185, 185)];
const LSM: &Numbers = &[(145, 146), (159, 159), (161, 161), (174, 174), (183, 185), (193, 193)];
const LSM_OF_CGROUP: &Numbers = &[(81, 81), (145, 146), (159, 159), (161, 161), (186, 187), (193, 193)];
const COOKIE: &Numbers = &[(174, 174)];
const PERF_EVENT: &Numbers = &[(56, 56), (119, 119), (174, 174)];

/// Newer than the helper: refused on 5.10, allowed on 6.1. The locks, and numbers from text.
const SINCE_MIDDLE: &Numbers = &[(93, 94), (105, 106), (123, 123)];
/// The same of typed programs: the cookie of a socket; storage of sockets, which LSM programs had.
const TYPED_SINCE_MIDDLE: &Numbers = &[(46, 46), (107, 108)];
/// Refused on 6.1, allowed on 7.3.
const SINCE_NEWEST: &Numbers = &[(17, 17)];
const RAW_SINCE_NEWEST: &Numbers = &[(174, 174)];
const TYPED_TRACEPOINT_SINCE_NEWEST: &Numbers = &[(174, 174), (183, 183), (185, 185)];

/// For programs that sleep alone: copy_from_user, copy_from_user_task, ima_inode_hash, ima_file_hash.
const SLEEPING: &Numbers = &[(148, 148), (161, 161), (191, 191), (193, 193)];
/// Storage of sockets, of functions alone (`bpf_sk_storage_tracing_allowed`, net/core/bpf_sk_storage.c, 7.3).
const SOCKET_STORAGE: &Numbers = &[(107, 108)];
/// `bpf_override_return`.
pub const OVERRIDE: u32 = 58;
const D_PATH: u32 = 147;
/// `btf_allowlist_d_path` (kernel/trace/bpf_trace.c, 5.10 to 7.3).
pub const WITH_PATHS: [&[u8]; 9] = [
    b"security_file_permission",
    b"security_inode_getattr",
    b"security_file_open",
    b"security_path_truncate",
    b"vfs_truncate",
    b"vfs_fallocate",
    b"dentry_open",
    b"vfs_getattr",
    b"filp_close",
];

fn has(numbers: &Numbers, helper: u32) -> bool {
    numbers.iter().any(|(first, last)| (*first..=*last).contains(&helper))
}

/// Whether the programs of a section may call a helper that a kernel of this line has. Programs of which nothing was measured
/// may call what is not known.
pub fn scope(section: &Section<'_>, helper: u32, line: Option<(u32, u32)>) -> Scope {
    let definition = section.definition;
    let (program, attach) = (definition.program, definition.attach);
    let of_program = match network::family(program, attach) {
        // As the function that it replaces, which is not known.
        _ if program == ProgramType::Ext => Scope::Allowed,
        Some(family) => match of_network(&family, helper, line) {
            Scope::Refused if program == ProgramType::StructOps => Scope::Unknown,
            scope => scope,
        },
        None => of_tracing(definition, helper, line),
    };
    if of_program != Scope::Allowed {
        return of_program;
    }
    let is_lsm = program == ProgramType::Lsm;
    match (helper, &section.point) {
        _ if has(SLEEPING, helper) && !definition.is_sleepable => Scope::Refused,
        (OVERRIDE, _) if program != ProgramType::Kprobe => Scope::Refused,
        _ if has(SOCKET_STORAGE, helper) && attach == Some(AttachType::ModifyReturn) => Scope::Refused,
        // Of hooks, those that sleep; 5.10 has a list of functions for all.
        (D_PATH, _) if is_lsm && line.is_none_or(|line| line > OLDEST) => match line {
            Some(_) if definition.is_sleepable => Scope::Allowed,
            _ => Scope::Unknown,
        },
        (D_PATH, Ok(Point::Btf { name, prefix: "" | "btf_trace_", .. })) if !WITH_PATHS.contains(name) => {
            Scope::Refused
        }
        (D_PATH, _)
            if line.is_some_and(|line| line <= OLDEST)
                && (is_lsm || attach == Some(AttachType::TraceIter)) =>
        {
            Scope::Refused
        }
        _ => Scope::Allowed,
    }
}

/// What [`scope`] is where `is_there` says whether 7.3 has it, and `came` between which kernels it came.
fn between(
    is_there: bool,
    came: Option<((u32, u32), (u32, u32))>,
    helper: u32,
    line: Option<(u32, u32)>,
) -> Scope {
    // The last that 7.3 has.
    let is_known = helper <= 211;
    let Some(line) = line else {
        return if is_there && came.is_none() { Scope::Allowed } else { Scope::Unknown };
    };
    if !is_there {
        return if is_known && line <= NEWEST { Scope::Refused } else { Scope::Unknown };
    }
    match came {
        Some((without, _)) if line <= without => Scope::Refused,
        Some((_, with)) if line < with => Scope::Unknown,
        _ => Scope::Allowed,
    }
}

fn of_network(family: &Family, helper: u32, line: Option<(u32, u32)>) -> Scope {
    let among = |all: &[&Numbers]| all.iter().any(|numbers| has(numbers, helper));
    let came = match () {
        () if among(family.since_newest) && has(family.since_later, helper) => Some((MIDDLE, LATER)),
        () if among(family.since_newest) => Some((LATER, BEFORE_NEWEST)),
        () if among(family.since_middle) => Some((OLDEST, MIDDLE)),
        () => None,
    };
    between(has(network::COMMON, helper) || has(family.own, helper), came, helper, line)
}

fn of_tracing(definition: &Definition, helper: u32, line: Option<(u32, u32)>) -> Scope {
    let is_lsm = definition.program == ProgramType::Lsm;
    let (own, typed): (&Numbers, bool) = match (definition.program, definition.attach) {
        (ProgramType::Lsm, Some(AttachType::LsmCgroup)) => (LSM_OF_CGROUP, true),
        (ProgramType::Lsm, _) => (LSM, true),
        (ProgramType::Tracing, Some(AttachType::TraceIter)) => (ITERATOR, true),
        (ProgramType::Tracing, Some(AttachType::TraceRawTp)) => (TYPED_TRACEPOINT, true),
        (ProgramType::Tracing, _) => (TRAMPOLINE, true),
        (ProgramType::Kprobe | ProgramType::Tracepoint, _) => (COOKIE, false),
        (ProgramType::RawTracepoint | ProgramType::RawTracepointWritable, _) => (COOKIE, false),
        (ProgramType::PerfEvent, _) => (PERF_EVENT, false),
        _ => return Scope::Unknown,
    };
    let has = |numbers: &Numbers| has(numbers, helper);
    let is_there = has(TRACING) || (typed && has(TYPED)) || has(own);
    let is_raw =
        matches!(definition.program, ProgramType::RawTracepoint | ProgramType::RawTracepointWritable);
    let is_typed_tracepoint = definition.attach == Some(AttachType::TraceRawTp);
    let came = if has(SINCE_MIDDLE) || (typed && has(TYPED_SINCE_MIDDLE) && !(is_lsm && helper != 46)) {
        Some((OLDEST, MIDDLE))
    } else if has(SINCE_NEWEST)
        || (is_raw && has(RAW_SINCE_NEWEST))
        || (is_typed_tracepoint && has(TYPED_TRACEPOINT_SINCE_NEWEST))
    {
        Some((MIDDLE, NEWEST))
    } else {
        None
    };
    between(is_there, came, helper, line)
}

#[cfg(test)]
mod tests {
    use super::*;
    use probeidx_bpf::section;

    fn of(section: &[u8], helper: u32, line: (u32, u32)) -> Scope {
        scope(&section::read(section).unwrap(), helper, Some(line))
    }

    #[test]
    fn socket_cookies_are_for_typed_programs() {
        assert_eq!(of(b"raw_tp/tcp_probe", 46, (6, 1)), Scope::Refused);
        assert_eq!(of(b"tp_btf/tcp_probe", 46, (6, 1)), Scope::Allowed);
        assert_eq!(of(b"tp_btf/tcp_probe", 46, (5, 10)), Scope::Refused);
        assert_eq!(of(b"tp_btf/tcp_probe", 46, (5, 15)), Scope::Unknown);
        assert_eq!(of(b"raw_tp/tcp_probe", 46, (7, 4)), Scope::Unknown);
    }

    #[test]
    fn storage_of_sockets_was_for_lsm_first() {
        assert_eq!(of(b"lsm/socket_bind", 107, (5, 10)), Scope::Allowed);
        assert_eq!(of(b"fentry/tcp_connect", 107, (5, 10)), Scope::Refused);
        assert_eq!(of(b"kprobe/tcp_connect", 107, (7, 3)), Scope::Refused);
    }

    #[test]
    fn iterators_write_sequences() {
        assert_eq!(of(b"iter/task", 126, (6, 1)), Scope::Allowed);
        assert_eq!(of(b"fentry/vfs_read", 126, (6, 1)), Scope::Refused);
        assert_eq!(of(b"xdp", 126, (6, 1)), Scope::Refused);
    }

    #[test]
    fn programs_of_packets_know_who_runs_on_new_kernels_alone() {
        for section in [&b"xdp"[..], b"tc", b"tcx/ingress", b"socket"] {
            assert_eq!(of(section, 14, (6, 1)), Scope::Refused);
            assert_eq!(of(section, 14, (6, 6)), Scope::Unknown);
            assert_eq!(of(section, 14, (6, 12)), Scope::Allowed);
            assert_eq!(of(section, 15, (6, 12)), Scope::Refused);
            assert_eq!(of(section, 14, (7, 3)), Scope::Allowed);
            assert_eq!(of(section, 5, (5, 10)), Scope::Allowed);
        }
        assert_eq!(of(b"xdp", 44, (5, 10)), Scope::Allowed);
        assert_eq!(of(b"tc", 44, (7, 3)), Scope::Refused);
        assert_eq!(of(b"cgroup/connect4", 64, (5, 10)), Scope::Allowed);
        assert_eq!(of(b"cgroup/bind4", 64, (5, 10)), Scope::Refused);
        assert_eq!(of(b"lirc_mode2", 1, (6, 1)), Scope::Unknown);
    }

    #[test]
    fn paths_and_user_memory_are_for_some_programs() {
        assert_eq!(of(b"fentry/vfs_truncate", 147, (6, 1)), Scope::Allowed);
        assert_eq!(of(b"fentry/vfs_read", 147, (6, 1)), Scope::Refused);
        assert_eq!(of(b"lsm.s/file_open", 147, (6, 1)), Scope::Allowed);
        assert_eq!(of(b"kprobe/vfs_read", 148, (7, 3)), Scope::Refused);
        assert_eq!(of(b"uprobe.s//bin/sh:main", 148, (7, 3)), Scope::Allowed);
    }
}
