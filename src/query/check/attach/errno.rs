//! The errors with which kernels refuse attach points, as they were seen on booted ones (5.10, 6.1, 7.3).
use crate::query::verdict::reason::Reason;

/// Of a kprobe at a name that is not there (`trace_kprobe_verify_target`, kernel/trace/trace_kprobe.c).
pub const KPROBE_ABSENT: Option<&str> = Some("ENOENT");
/// Of a kprobe at a name of several functions.
pub const KPROBE_AMBIGUOUS: &str = "EADDRNOTAVAIL";
/// Of names that are looked for in BTF, by libbpf, or in kallsyms, by kprobe.multi.
pub const SYMBOL_ABSENT: Option<&str> = Some("ESRCH");

/// Of a kprobe or kretprobe.
pub fn kprobe(reason: Reason) -> Option<&'static str> {
    match reason {
        Reason::Undecided(_) | Reason::Patched => None,
        Reason::NotBoundary => Some("EILSEQ"),
        Reason::NoSymbol => Some("ENOENT"),
        _ => Some("EINVAL"),
    }
}

/// Of kprobe.multi: a name without an ftrace site is not found (`ftrace_lookup_symbols`, kernel/trace/ftrace.c).
pub fn multi(reason: Reason) -> Option<&'static str> {
    match reason {
        Reason::Undecided(_) => None,
        _ => Some("ESRCH"),
    }
}

/// Of a BPF trampoline (`bpf_check_attach_target`, kernel/bpf/verifier.c; `bpf_trampoline_link_prog`).
pub fn trampoline(reason: Reason) -> Option<&'static str> {
    match reason {
        Reason::Undecided(_) => None,
        Reason::NoBtf | Reason::AmbiguousName | Reason::NoSymbol => Some("ESRCH"),
        Reason::Variadic | Reason::StructArgument | Reason::StructReturn => Some("EINVAL"),
        Reason::TooManyArguments | Reason::NoTrampoline => Some("ENOTSUPP"),
        Reason::NoFtraceSite => Some("EBUSY"),
        _ => None,
    }
}
