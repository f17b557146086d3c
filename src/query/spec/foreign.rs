//! Spellings of other tools: bpftrace, libbpf, tracefs, perf and the kernel log.
//!
//! | tool | spelling |
//! | --- | --- |
//! | bpftrace | `kprobe:[MODULE:]NAME[+OFFSET]`, `kretprobe:`, `fentry:`, `fexit:`, `tracepoint:SYSTEM:EVENT`, `rawtracepoint:EVENT`, and their short forms |
//! | libbpf | sections: `kprobe/NAME`, `fexit/NAME`, `tracepoint/SYSTEM/EVENT`, `raw_tp/EVENT`, `tp_btf/EVENT` |
//! | tracefs | `p[:[GROUP/]EVENT] [MODULE:]NAME[+OFFSET]`, `r` for returns, `f` for fprobes, `t` for tracepoints |
//! | perf | `probe:NAME` and `probe:NAME__return`, events that it planted |
//! | the kernel | `NAME+OFFSET/SIZE [MODULE]` |
//!
//! These tools probe a function at its symbol, so that only its entries are meant. A plain `SYSTEM:EVENT` reads like
//! `MODULE:NAME`; an index distinguishes them ([`event`](crate::query::resolve::event)).
use super::{Filter, ModuleScope, Point, Presence, Source, Spec, Spelled, TraceSpec, bare, systemtap};
use crate::error::Result;

/// The part of the kernel that another tool attaches with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attach {
    /// kprobes, by a definition.
    Kprobe,
    /// ftrace: fprobe, kprobe.multi.
    Ftrace,
    /// BPF trampolines.
    Trampoline,
    /// Tracepoints.
    Tracepoint,
}

/// What a tool attaches a probe to.
#[derive(Clone, Copy)]
enum Kind {
    /// A symbol.
    Entry(Attach),
    /// The returns of a function.
    Return(Attach),
    /// `SYSTEM:EVENT`.
    Event,
    /// An event without its system, optionally after a module.
    RawEvent,
    /// A probe that `perf probe` defined and named after the function.
    Planted,
}

/// The first words of bpftrace, which a colon follows, and of libbpf, which a slash follows.
const WORDS: [(&str, Kind); 21] = [
    ("kprobe", Kind::Entry(Attach::Kprobe)),
    ("k", Kind::Entry(Attach::Kprobe)),
    ("fentry", Kind::Entry(Attach::Trampoline)),
    ("f", Kind::Entry(Attach::Trampoline)),
    ("kfunc", Kind::Entry(Attach::Trampoline)),
    ("fmod_ret", Kind::Entry(Attach::Trampoline)),
    ("kretprobe", Kind::Return(Attach::Kprobe)),
    ("kr", Kind::Return(Attach::Kprobe)),
    ("fexit", Kind::Return(Attach::Trampoline)),
    ("fr", Kind::Return(Attach::Trampoline)),
    ("kretfunc", Kind::Return(Attach::Trampoline)),
    ("tracepoint", Kind::Event),
    ("t", Kind::Event),
    ("tp", Kind::Event),
    ("rawtracepoint", Kind::RawEvent),
    ("rawtp", Kind::RawEvent),
    ("rt", Kind::RawEvent),
    ("raw_tracepoint", Kind::RawEvent),
    ("raw_tp", Kind::RawEvent),
    ("tp_btf", Kind::RawEvent),
    ("probe", Kind::Planted),
];

/// Parses the spelling of another tool; `None` if it is not one. `text` has no blank at either end.
pub(super) fn parse(source: Source<'_>, text: &str) -> Option<Result<Spec>> {
    if let Some((place, module)) = in_module(text) {
        return Some(printed(source, place.trim_end(), place.len() + 2, module));
    }
    let (kind, start) = introduced(text)?;
    let target = &text[start..];
    Some(match text.contains([' ', '\t']) {
        true => definition(source.from(start), target, kind),
        false => attached(source.from(start), target, kind),
    })
}

/// The two parts of `PLACE [MODULE]`.
fn in_module(text: &str) -> Option<(&str, &str)> {
    text.strip_suffix(']')?.rsplit_once(" [")
}

/// The kind of probe that the first word of a text introduces, and where its target starts.
fn introduced(text: &str) -> Option<(Kind, usize)> {
    if let Some(blank) = text.find([' ', '\t']) {
        let kind = of_tracefs(&text[..blank])?;
        let start = text.len() - text[blank..].trim_start().len();
        return Some((kind, start));
    }
    let (head, rest) = text.split_once([':', '/'])?;
    let kind = of_word(head)?;
    let start = head.len() + 1;
    let is_of_libbpf = text.as_bytes()[head.len()] == b'/';
    // A file, or lines of a function.
    let is_file =
        rest.ends_with(".c") || rest.ends_with(".h") || rest.contains(".c:") || rest.contains(".h:");
    let is_deep = rest.contains('/') && !matches!(kind, Kind::Event);
    if is_of_libbpf && (is_file || is_deep) || rest.starts_with(|c: char| c.is_ascii_digit() || c == '+') {
        return None;
    }
    Some((kind, start))
}

/// The part of the kernel that a text in the spelling of another tool attaches with; `None` for all other spellings, which
/// leave that open.
pub fn attach(text: &str) -> Option<Attach> {
    let text = text.trim();
    // `NAME [MODULE]` is no definition, even of a function called `p`.
    let (kind, _) = introduced(text).filter(|_| in_module(text).is_none())?;
    Some(match kind {
        Kind::Entry(attach) | Kind::Return(attach) => attach,
        Kind::Event | Kind::RawEvent => Attach::Tracepoint,
        Kind::Planted => Attach::Kprobe,
    })
}

/// The kind of probe that the first word of a bpftrace probe or a libbpf section stands for.
fn of_word(head: &str) -> Option<Kind> {
    // libbpf's suffixes for many functions at once, sleepable programs and writable arguments.
    let (word, suffix) = [".multi", ".session", ".s", ".w"]
        .iter()
        .find_map(|suffix| Some((head.strip_suffix(suffix)?, *suffix)))
        .unwrap_or((head, ""));
    let (_, kind) = *WORDS.iter().find(|(known, _)| *known == word)?;
    // kprobe.multi and its like are fprobes.
    let is_multi = matches!(suffix, ".multi" | ".session");
    Some(match kind {
        Kind::Entry(_) if is_multi => Kind::Entry(Attach::Ftrace),
        Kind::Return(_) if is_multi => Kind::Return(Attach::Ftrace),
        kind => kind,
    })
}

/// `NAME+OFFSET/SIZE [MODULE]`, as the kernel prints places in modules.
fn printed(source: Source<'_>, place: &str, at: usize, module: &str) -> Result<Spec> {
    let scope = source.from(at).module(module)?;
    let mut spec = bare::parse(source, place)?;
    match &mut spec.point {
        Point::Function(asked) if asked.module == ModuleScope::Any => asked.module = scope,
        Point::Statement(asked) if asked.module == ModuleScope::Any => asked.module = scope,
        _ => return Err(source.expected(place.len(), "no module behind what names its object")),
    }
    Ok(spec)
}

/// The kind of probe that the first word of a tracefs definition defines: `p`, `r16:group/event`.
fn of_tracefs(word: &str) -> Option<Kind> {
    let kind = word.split_once(':').map_or(word, |(kind, _)| kind);
    match (kind, kind.trim_end_matches(|c: char| c.is_ascii_digit())) {
        ("p", _) => Some(Kind::Entry(Attach::Kprobe)),
        ("f", _) => Some(Kind::Entry(Attach::Ftrace)),
        (_, "r") => Some(Kind::Return(Attach::Kprobe)),
        ("t", _) => Some(Kind::RawEvent),
        _ => None,
    }
}

/// Parses a tracefs definition after its first word.
fn definition(source: Source<'_>, text: &str, kind: Kind) -> Result<Spec> {
    match text.split_once([' ', '\t']) {
        None => attached(source, text, kind),
        Some((place, arguments)) => {
            let wrong = source.expected(place.len(), "the end of the place");
            Err(wrong.hint(format!(
                "what is to be read stands alone: probeidx resolve {place} {}",
                arguments.trim()
            )))
        }
    }
}

/// Parses the target of a probe, without the word for the kind of probe.
fn attached(source: Source<'_>, text: &str, kind: Kind) -> Result<Spec> {
    let filter = match kind {
        Kind::Entry(_) => Filter::Call,
        Kind::Return(_) => Filter::Return,
        Kind::Event => return event(source, text),
        Kind::RawEvent => {
            let start = text.find(':').map_or(0, |colon| colon + 1);
            return event(source.from(start), &text[start..]);
        }
        Kind::Planted => return planted(source, text),
    };
    if text.is_empty() {
        return Err(source.expected(0, "the name of a function"));
    }
    let mut spec = bare::parse(source, text)?;
    if let Point::Function(asked) = &mut spec.point
        && asked.filter == Filter::Any
    {
        asked.filter = filter;
    }
    Ok(spec)
}

fn event(source: Source<'_>, text: &str) -> Result<Spec> {
    // libbpf separates the two with a slash.
    let point = Point::Trace(TraceSpec {
        with_system_calls: true,
        ..systemtap::trace(source, &text.replacen('/', ":", 1))?
    });
    Ok(Spec { point, presence: Presence::Required, spelled: Spelled::Bare })
}

/// Parses an event of perf: the function's name, followed by `__return` for returns.
fn planted(source: Source<'_>, text: &str) -> Result<Spec> {
    match text.strip_suffix("__return") {
        Some(function) => attached(source, function, Kind::Return(Attach::Kprobe)),
        None if text.is_empty() => Err(source.expected(0, "the name of a function")),
        None => bare::parse(source, text),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{FunctionSpec, TraceSpec, parse};
    use super::*;
    use crate::pattern::Pattern;

    fn point(text: &str) -> Point {
        let mut specs = parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!((specs.len(), specs[0].spelled), (1, Spelled::Bare), "{text}");
        specs.remove(0).point
    }

    fn function(text: &str) -> FunctionSpec {
        match point(text) {
            Point::Function(function) => function,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn pattern(text: &str) -> Pattern {
        Pattern::new(text).unwrap()
    }

    #[test]
    fn the_tool_says_what_it_attaches_with() {
        for (text, expected) in [
            ("kprobe:vfs_read", Some(Attach::Kprobe)),
            ("kprobe.multi/vfs_*", Some(Attach::Ftrace)),
            ("kretprobe/vfs_read", Some(Attach::Kprobe)),
            ("fexit:vfs_read", Some(Attach::Trampoline)),
            ("f:mine vfs_read", Some(Attach::Ftrace)),
            ("p:mine/one vfs_read", Some(Attach::Kprobe)),
            ("tp_btf/sched_switch", Some(Attach::Tracepoint)),
            ("vfs_read", None),
            ("ext4:ext4_open", None),
            ("vfs_read+0x1f/0x80 [ext4]", None),
            ("p [ext4]", None),
            ("kprobe:vfs_rea[d]", Some(Attach::Kprobe)),
        ] {
            assert_eq!(attach(text), expected, "{text}");
        }
    }

    #[test]
    fn entries_and_returns_of_functions() {
        let entries = [
            "kprobe:vfs_read",
            "k:vfs_read",
            "fentry:vfs_read",
            "f:vfs_read",
            "kfunc:vfs_read",
            "kprobe/vfs_read",
            "kprobe.multi/vfs_read",
            "fentry.s/vfs_read",
            "fmod_ret/vfs_read",
            "p vfs_read",
            "p:my/event vfs_read",
            "f:event  vfs_read",
        ];
        let returns = [
            "kretprobe:vfs_read",
            "kr:vfs_read",
            "fexit:vfs_read",
            "fr:vfs_read",
            "kretfunc:vfs_read",
            "kretprobe/vfs_read",
            "fexit/vfs_read",
            "r vfs_read",
            "r16:my/event vfs_read",
            "f:event vfs_read%return",
            "probe:vfs_read__return",
        ];
        for (texts, filter) in [(&entries[..], Filter::Call), (&returns, Filter::Return)] {
            for text in texts {
                let asked = function(text);
                assert_eq!(asked.module, ModuleScope::Any, "{text}");
                assert_eq!((asked.declared.name, asked.filter), (pattern("vfs_read"), filter), "{text}");
            }
        }
        assert_eq!(function("probe:vfs_read").filter, Filter::Any);
    }

    #[test]
    fn modules_offsets_and_wildcards() {
        let ext4 = ModuleScope::Module(pattern("ext4"));
        for text in ["kprobe:ext4:ext4_open", "fentry/ext4:ext4_open", "p ext4:ext4_open", "ext4_open [ext4]"]
        {
            let asked = function(text);
            assert_eq!((asked.module, asked.declared.name), (ext4.clone(), pattern("ext4_open")), "{text}");
        }
        assert_eq!(function("fentry:vmlinux:vfs_read").module, ModuleScope::Kernel);
        assert_eq!(function("kprobe:vfs_*").declared.name, pattern("vfs_*"));
        for text in
            ["kprobe:vfs_read+0x10", "p vfs_read+16", "vfs_read+0x10/0x90", "vfs_read+0x10/0x90 [nfs]"]
        {
            assert_eq!(function(text).offset, Some(0x10), "{text}");
        }
        let asked = function("ovl_open+0x4f/0xd0 [kvm-amd]");
        assert_eq!(asked.module, ModuleScope::Module(pattern("kvm_amd")));
    }

    #[test]
    fn tracepoints() {
        let switch = |system: Option<&str>| {
            let (system, event) = (system.map(pattern), pattern("sched_switch"));
            Point::Trace(TraceSpec { system, event, with_system_calls: true, by_number: None })
        };
        for text in [
            "tracepoint:sched:sched_switch",
            "t:sched:sched_switch",
            "tracepoint/sched/sched_switch",
            "tp/sched/sched_switch",
        ] {
            assert_eq!(point(text), switch(Some("sched")), "{text}");
        }
        for text in [
            "rawtracepoint:sched_switch",
            "rawtracepoint:vmlinux:sched_switch",
            "rawtp:sched_switch",
            "raw_tp/sched_switch",
            "raw_tp.w/sched_switch",
            "tp_btf/sched_switch",
            "t:my/event sched_switch",
        ] {
            assert_eq!(point(text), switch(None), "{text}");
        }
    }

    #[test]
    fn what_only_looks_like_them_is_what_it_was() {
        for text in [
            "f.c:12",
            "t.c:*",
            "kprobe/core.c",
            "kprobe/core.c:12",
            "tracepoint/sched.h",
            "f:12",
            "fentry:3",
            "kprobe/a/b",
        ] {
            assert!(matches!(point(text), Point::Statement(_)), "{text}: {:?}", point(text));
        }
        assert_eq!(function("kprobes:f").module, ModuleScope::Module(pattern("kprobes")));
    }

    #[test]
    fn what_is_wrong_is_said_where_it_is() {
        for (text, message) in [
            ("kprobe:", "column 8: expected the name of a function"),
            ("tracepoint:sched:", "column 18: expected the name of a tracepoint"),
            ("p:my/event vfs_read count=%dx", "column 20: expected the end of the place"),
            ("vfs_read+0x10/ [nfs]", "column 15: expected a digit"),
            ("vfs_read+0x10/0xg", "column 17: expected a hexadecimal digit"),
            ("0xffffffff81000000 [nfs]", "column 19: expected no module behind what names its object"),
            ("vfs read", "column 4: expected the end of the name"),
        ] {
            assert_eq!(parse(text).unwrap_err().message(), message, "{text}");
        }
    }
}
