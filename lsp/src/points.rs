//! What the probe points of a script are to the library.
use crate::document::Language;

/// A kind of probe of bpftrace.
pub struct Kind {
    /// The names, the usual one first.
    names: &'static [&'static str],
    pub of: Of,
    pub about: &'static str,
}

/// What a kind of probe is placed at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// The entry of a function, by a kprobe.
    Entry,
    /// The return from a function, by a kretprobe.
    Return,
    /// A function, by a BPF trampoline.
    Trampoline,
    /// The return from a function, by a BPF trampoline.
    TrampolineReturn,
    Tracepoint,
    RawTracepoint,
    Iterator,
    /// What no kernel decides.
    Other,
}

const fn kind(names: &'static [&'static str], of: Of, about: &'static str) -> Kind {
    Kind { names, of, about }
}

/// The kinds of bpftrace 0.24 (`PROBE_LIST`, src/types.cpp).
pub static KINDS: [Kind; 16] = [
    kind(&["kprobe", "k"], Of::Entry, "the entry of a kernel function"),
    kind(&["kretprobe", "kr"], Of::Return, "the return from a kernel function"),
    kind(
        &["fentry", "kfunc", "f"],
        Of::Trampoline,
        "the entry of a kernel function, with its arguments by name",
    ),
    kind(
        &["fexit", "kretfunc", "fr"],
        Of::TrampolineReturn,
        "the return from a kernel function, with its arguments by name",
    ),
    kind(&["tracepoint", "t"], Of::Tracepoint, "an event of the kernel"),
    kind(&["rawtracepoint", "rt"], Of::RawTracepoint, "a tracepoint, with the arguments of its prototype"),
    kind(&["uprobe", "u"], Of::Other, "a function of a program"),
    kind(&["uretprobe", "ur"], Of::Other, "the return from a function of a program"),
    kind(&["usdt", "U"], Of::Other, "a marker in a program"),
    kind(&["iter", "it"], Of::Iterator, "an iterator over objects of the kernel"),
    kind(&["profile", "p"], Of::Other, "a timer on all processors"),
    kind(&["interval", "i"], Of::Other, "a timer on one processor"),
    kind(&["software", "s"], Of::Other, "a software event"),
    kind(&["hardware", "h"], Of::Other, "a hardware event"),
    kind(&["watchpoint", "w"], Of::Other, "an access to memory"),
    kind(&["asyncwatchpoint", "aw"], Of::Other, "an access to memory, reported later"),
];

impl Kind {
    /// Whether it has this name.
    pub fn is(&self, name: &str) -> bool {
        self.names.contains(&name)
    }

    /// The usual name.
    pub fn name(&self) -> &'static str {
        self.names.first().copied().unwrap_or_default()
    }
}

/// The kind of a point of bpftrace, and what is behind it.
pub fn split(point: &str) -> Option<(&'static Kind, &str)> {
    let (name, rest) = point.split_once(':')?;
    Some((KINDS.iter().find(|kind| kind.is(name))?, rest))
}

/// A probe point as a spec of the command line; `None` if it is not of the kernel.
pub fn spec(point: &str, language: Language) -> Option<String> {
    match language {
        Language::SystemTap => {
            let point = point.trim_end_matches(|c: char| matches!(c, '?' | '!') || c.is_whitespace());
            let is_of_user = point.starts_with("process") || point.starts_with("timer");
            (!point.is_empty() && !is_of_user && !matches!(point, "begin" | "end" | "error" | "never"))
                .then(|| point.to_owned())
        }
        Language::Bpftrace => {
            let (kind, rest) = split(point)?;
            let rest = rest.trim_matches('"');
            let function = rest.strip_prefix("vmlinux:").unwrap_or(rest);
            match kind.of {
                _ if rest.is_empty() => None,
                Of::Entry | Of::Trampoline => Some(function.to_owned()),
                Of::Return | Of::TrampolineReturn => Some(format!("{function}%return")),
                Of::Tracepoint => Some(rest.to_owned()),
                Of::RawTracepoint => {
                    Some(format!("kernel.trace(\"{}\")", rest.rsplit(':').next().unwrap_or_default()))
                }
                Of::Iterator | Of::Other => None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_specs() {
        for (point, expected) in [
            ("kprobe:vfs_read", Some("vfs_read")),
            ("kr:ext4:f", Some("ext4:f%return")),
            ("fentry:vmlinux:vfs_read", Some("vfs_read")),
            ("t:syscalls:sys_enter_openat", Some("syscalls:sys_enter_openat")),
            ("rawtracepoint:sched_switch", Some("kernel.trace(\"sched_switch\")")),
            ("rt:sched:sched_switch", Some("kernel.trace(\"sched_switch\")")),
            ("uprobe:/bin/sh:main", None),
            ("kprobe:", None),
            ("BEGIN", None),
            ("nonsense:x", None),
        ] {
            assert_eq!(spec(point, Language::Bpftrace).as_deref(), expected, "{point}");
        }
        assert_eq!(spec("vm.pagefault ?", Language::SystemTap).as_deref(), Some("vm.pagefault"));
        assert_eq!(spec("timer.s(1)", Language::SystemTap), None);
    }
}
