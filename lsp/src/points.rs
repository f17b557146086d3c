//! What the probe points of a script are to the library.
use crate::document::Language;
use probeidx::bpftrace::ast::Kind;
use probeidx::bpftrace::parser::kind;

/// The kinds of probes of bpftrace by their usual names (`PROBE_LIST`, src/types.cpp of 0.24), with what each is placed at.
pub const KINDS: [(&str, &str); 16] = [
    ("kprobe", "the entry of a kernel function"),
    ("kretprobe", "the return from a kernel function"),
    ("fentry", "the entry of a kernel function, with its arguments by name"),
    ("fexit", "the return from a kernel function, with its arguments by name"),
    ("tracepoint", "an event of the kernel"),
    ("rawtracepoint", "a tracepoint, with the arguments of its prototype"),
    ("uprobe", "a function of a program"),
    ("uretprobe", "the return from a function of a program"),
    ("usdt", "a marker in a program"),
    ("iter", "an iterator over objects of the kernel"),
    ("profile", "a timer on all processors"),
    ("interval", "a timer on one processor"),
    ("software", "a software event"),
    ("hardware", "a hardware event"),
    ("watchpoint", "an access to memory"),
    ("asyncwatchpoint", "an access to memory, reported later"),
];

/// The kind of a point of bpftrace, and what is behind it.
pub fn split(point: &str) -> Option<(Kind, &str)> {
    let (word, rest) = point.split_once(':')?;
    Some((kind(word), rest)).filter(|(kind, _)| *kind != Kind::Unknown)
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
            match kind {
                _ if rest.is_empty() => None,
                Kind::Kprobe | Kind::Fentry => Some(function.to_owned()),
                Kind::Kretprobe | Kind::Fexit => Some(format!("{function}%return")),
                Kind::Tracepoint => Some(rest.to_owned()),
                Kind::RawTracepoint => {
                    Some(format!("kernel.trace(\"{}\")", rest.rsplit(':').next().unwrap_or_default()))
                }
                Kind::Iterator | Kind::User | Kind::Watchpoint | Kind::Always | Kind::Unknown => None,
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
