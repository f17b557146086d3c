//! Which programs may call which helpers, of those that trace.
//!
//! Measured: each helper was called from a program of each kind, on booted kernels of Debian for x86-64, 5.10.0-43, 6.1.0-56
//! and 7.3.4+deb13; the verifier says "unknown func" of those that the kind does not have. No kind lost a helper between them.
//! What is for sleepable programs alone counts as allowed, and so does what hangs on the configuration
//! (`bpf_override_return`, `bpf_get_cgroup_classid`).
use probeidx_bpf::section::{AttachType, Definition, ProgramType};

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
const COOKIE: &Numbers = &[(174, 174)];
const PERF_EVENT: &Numbers = &[(56, 56), (119, 119), (174, 174)];

/// Newer than the helper: refused on 5.10, allowed on 6.1. The locks, and numbers from text.
const SINCE_MIDDLE: &Numbers = &[(93, 94), (105, 106), (123, 123)];
/// The same of typed programs: the cookie of a socket; storage of sockets, which LSM programs had.
const TYPED_SINCE_MIDDLE: &Numbers = &[(46, 46), (107, 108)];
/// Refused on 6.1, allowed on 7.3.
const RAW_SINCE_NEWEST: &Numbers = &[(174, 174)];
const TYPED_TRACEPOINT_SINCE_NEWEST: &Numbers = &[(174, 174), (183, 183), (185, 185)];

/// Whether the programs of a section may call a helper that a kernel of this line has. Programs of which nothing was measured
/// may call all.
pub fn scope(definition: &Definition, helper: u32, line: Option<(u32, u32)>) -> Scope {
    let is_lsm = definition.program == ProgramType::Lsm;
    let (own, typed): (&Numbers, bool) = match (definition.program, definition.attach) {
        // Calls of a kernel's cgroup have more.
        (ProgramType::Lsm, Some(AttachType::LsmCgroup)) => return Scope::Allowed,
        (ProgramType::Lsm, _) => (LSM, true),
        (ProgramType::Tracing, Some(AttachType::TraceIter)) => (ITERATOR, true),
        (ProgramType::Tracing, Some(AttachType::TraceRawTp)) => (TYPED_TRACEPOINT, true),
        (ProgramType::Tracing, _) => (TRAMPOLINE, true),
        (ProgramType::Kprobe | ProgramType::Tracepoint, _) => (COOKIE, false),
        (ProgramType::RawTracepoint | ProgramType::RawTracepointWritable, _) => (COOKIE, false),
        (ProgramType::PerfEvent, _) => (PERF_EVENT, false),
        _ => return Scope::Allowed,
    };
    // The last that 7.3 has.
    let is_known = helper <= 211;
    let has = |numbers: &Numbers| numbers.iter().any(|(first, last)| (*first..=*last).contains(&helper));
    let is_there = has(TRACING) || (typed && has(TYPED)) || has(own);
    let Some(line) = line else { return if is_there { Scope::Allowed } else { Scope::Unknown } };
    if !is_there {
        return if is_known && line <= NEWEST { Scope::Refused } else { Scope::Unknown };
    }
    let is_raw =
        matches!(definition.program, ProgramType::RawTracepoint | ProgramType::RawTracepointWritable);
    let is_typed_tracepoint = definition.attach == Some(AttachType::TraceRawTp);
    let came = if has(SINCE_MIDDLE) || (typed && has(TYPED_SINCE_MIDDLE) && !(is_lsm && helper != 46)) {
        Some((OLDEST, MIDDLE))
    } else if (is_raw && has(RAW_SINCE_NEWEST)) || (is_typed_tracepoint && has(TYPED_TRACEPOINT_SINCE_NEWEST))
    {
        Some((MIDDLE, NEWEST))
    } else {
        None
    };
    match came {
        Some((without, _)) if line <= without => Scope::Refused,
        Some((_, with)) if line < with => Scope::Unknown,
        _ => Scope::Allowed,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use probeidx_bpf::section;

    fn of(section: &[u8], helper: u32, line: (u32, u32)) -> Scope {
        scope(section::read(section).unwrap().definition, helper, Some(line))
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
    fn iterators_write_sequences_and_network_programs_are_not_judged() {
        assert_eq!(of(b"iter/task", 126, (6, 1)), Scope::Allowed);
        assert_eq!(of(b"fentry/vfs_read", 126, (6, 1)), Scope::Refused);
        assert_eq!(of(b"xdp", 126, (6, 1)), Scope::Allowed);
    }
}
