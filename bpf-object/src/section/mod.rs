//! What the name of a section makes of a program, as libbpf 1.7 reads it (`libbpf.c`).
mod definitions;
mod kinds;
mod scan;

pub use definitions::{Definition, definition, definitions};
pub use kinds::{AttachType, ProgramType};

use definitions::Form;
use scan::Scan;

/// What a section's name says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section<'a> {
    /// What it stands for.
    pub definition: &'static Definition,
    /// Where it is attached, or how libbpf refuses the name.
    pub point: Result<Point<'a>, Refusal>,
}

/// Where a program is attached. Names are as the section has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point<'a> {
    /// `kprobe/` and `kretprobe/`: by perf's kprobe PMU, by name.
    Kprobe {
        /// The function.
        function: &'a [u8],
        /// In bytes.
        offset: u64,
        /// Whether at its return.
        is_return: bool,
    },
    /// `kprobe.multi/` and its like: by fprobe, at each function that matches.
    KprobeMulti {
        /// With `*` and `?`. Without them the kernel gets the name itself.
        pattern: &'a [u8],
        /// Whether at returns.
        is_return: bool,
        /// Whether at entry and return, as one session.
        is_session: bool,
    },
    /// `ksyscall/`: the function that implements a system call: `__x64_sys_NAME`, `__se_sys_NAME`, …
    Ksyscall {
        /// The name of the system call.
        name: &'a [u8],
        /// Whether at its return.
        is_return: bool,
    },
    /// `uprobe/BINARY:FUNCTION+OFFSET`.
    Uprobe {
        /// A path, or a name that is looked for in `PATH` and the library path.
        binary: &'a [u8],
        /// The function, with what follows it if that is no offset.
        function: &'a [u8],
        /// In bytes.
        offset: i64,
        /// Whether at its return.
        is_return: bool,
    },
    /// `uprobe.multi/BINARY:PATTERN`.
    UprobeMulti {
        /// As of [`Point::Uprobe`].
        binary: &'a [u8],
        /// With `*` and `?`.
        pattern: &'a [u8],
        /// Whether at returns.
        is_return: bool,
        /// Whether at entry and return, as one session.
        is_session: bool,
    },
    /// `usdt/BINARY:PROVIDER:NAME`.
    Usdt {
        /// As of [`Point::Uprobe`].
        binary: &'a [u8],
        /// The provider.
        provider: &'a [u8],
        /// The probe.
        name: &'a [u8],
    },
    /// `tp/CATEGORY/NAME`: an event of tracefs.
    Tracepoint {
        /// The directory below `events`.
        category: &'a [u8],
        /// The event.
        name: &'a [u8],
    },
    /// `raw_tp/NAME`: a tracepoint without its event.
    RawTracepoint {
        /// The tracepoint.
        name: &'a [u8],
    },
    /// `fentry/`, `lsm/`, `iter/`, `tp_btf/`, …: what the kernel's BTF has under `prefix` and `name`.
    Btf {
        /// `MODULE:` before the name; libbpf takes any module whose name starts with it.
        module: Option<&'a [u8]>,
        /// The name in the section.
        name: &'a [u8],
        /// What stands before it in BTF: `btf_trace_` (a typedef), `bpf_lsm_`, `bpf_iter_`, or nothing (functions).
        prefix: &'static str,
        /// Whether libbpf attaches it: not so for `lsm_cgroup`.
        is_attached: bool,
    },
    /// `freplace/NAME`: a function of another BPF program, which the loader names.
    Program {
        /// The function.
        name: &'a [u8],
    },
    /// `struct_ops/…`: by the map whose member names it.
    StructOps,
    /// The name of the section says no place: the loader attaches it.
    Loader,
}

/// What libbpf says to a name that it knows and cannot use. The error is always `EINVAL`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// When.
    pub when: When,
    /// What is wrong.
    pub what: &'static str,
}

/// When libbpf refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// When the object is loaded: none of its programs runs.
    Load,
    /// When the program is attached.
    Attach,
}

/// Reads the name of a section, without a `?` at its start. `None` for what libbpf does not know: the object then does
/// not load (`EINVAL`, "missing BPF prog type, check ELF section name") unless the loader sets a type.
pub fn read(section: &[u8]) -> Option<Section<'_>> {
    let definition = definition(section)?;
    let slash = memchr::memchr(b'/', section);
    // Without a `/` there is nothing to attach to by itself. A definition without `+` has its `/` in its own name.
    let rest = slash.filter(|_| definition.name.ends_with('+')).map(|slash| &section[slash + 1..]);
    let stem = definition.name.trim_end_matches('+');
    let is_return = stem.starts_with("kret") || stem.starts_with("uret");
    let is_session = stem.contains(".session");
    let attach = |what| Refusal { when: When::Attach, what };
    let point = match (definition.form, rest) {
        (Form::StructOps, _) => Ok(Point::StructOps),
        (Form::Btf, Some(rest)) => Ok(btf(definition, rest)),
        (Form::Btf, None) => {
            Err(Refusal { when: When::Load, what: "no BTF-based attach target is specified" })
        }
        (Form::Program, Some(name)) => Ok(Point::Program { name }),
        (Form::Loader, _) | (_, None) => Ok(Point::Loader),
        (Form::Kprobe, Some(rest)) => kprobe(rest, is_return).map_err(attach),
        (Form::KprobeMulti, Some(rest)) => {
            let pattern = Scan(rest).of(|c| is_name(c) || matches!(c, b'*' | b'?'));
            let point = pattern.map(|pattern| Point::KprobeMulti { pattern, is_return, is_session });
            point.ok_or(attach("the pattern is empty"))
        }
        (Form::Ksyscall, Some(name)) => Ok(Point::Ksyscall { name, is_return }),
        (Form::Uprobe, Some(rest)) => uprobe(rest, is_return).map_err(attach),
        (Form::UprobeMulti, Some(rest)) => match binary(rest) {
            None => Ok(Point::Loader),
            Some((binary, Some(pattern))) => {
                Ok(Point::UprobeMulti { binary, pattern, is_return, is_session })
            }
            Some(_) => Err(attach("':PATTERN' is missing")),
        },
        (Form::Usdt, Some(rest)) => usdt(stem, rest).map_err(attach),
        (Form::Tracepoint, Some(rest)) => match memchr::memchr(b'/', rest) {
            Some(at) => Ok(Point::Tracepoint { category: &rest[..at], name: &rest[at + 1..] }),
            None => Err(attach("the category is missing: tp/CATEGORY/NAME")),
        },
        (Form::RawTracepoint, Some(name)) => Ok(Point::RawTracepoint { name }),
    };
    // `freplace` without a name has no target either.
    let is_bare = definition.form == Form::Program && rest.is_none();
    let no_target = Refusal { when: When::Load, what: "no BTF-based attach target is specified" };
    Some(Section { definition, point: if is_bare { Err(no_target) } else { point } })
}

/// What the names of functions are made of, for libbpf.
fn is_name(c: u8) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, b'_' | b'.')
}

/// `attach_kprobe`: what follows the name and is no offset is ignored.
fn kprobe(rest: &[u8], is_return: bool) -> Result<Point<'_>, &'static str> {
    let mut scan = Scan(rest);
    let function = scan.of(is_name).ok_or("the name of the function is invalid")?;
    let offset = if scan.skip(b'+') { scan.number().unwrap_or(0) } else { 0 };
    if is_return && offset != 0 {
        return Err("kretprobes do not support offset specification");
    }
    Ok(Point::Kprobe { function, offset: offset.cast_unsigned(), is_return })
}

/// `BINARY:REST`: `None` where there is no binary, which libbpf takes for a bare `uprobe`.
fn binary(rest: &[u8]) -> Option<(&[u8], Option<&[u8]>)> {
    let mut scan = Scan(rest);
    let binary = scan.of(|c| c != b':')?;
    let is_more = scan.skip(b':');
    Some((binary, scan.of(|c| c != b'\n').filter(|_| is_more)))
}

/// `attach_uprobe`.
fn uprobe(rest: &[u8], is_return: bool) -> Result<Point<'_>, &'static str> {
    let Some((binary, function)) = binary(rest) else { return Ok(Point::Loader) };
    let mut function = function.ok_or("':FUNCTION' is missing")?;
    let mut offset = 0;
    if let Some(plus) = memchr::memrchr(b'+', function) {
        let mut scan = Scan(&function[plus + 1..]);
        if let Some(number) = scan.number().filter(|_| scan.0.is_empty()) {
            (function, offset) = (&function[..plus], number);
        }
    }
    if is_return && offset != 0 {
        return Err("uretprobes do not support offset specification");
    }
    Ok(Point::Uprobe { binary, function, offset, is_return })
}

/// `attach_usdt`. libbpf 1.7 reads the place of `usdt` alone: `usdt.s/…` does not attach by itself.
fn usdt<'a>(stem: &str, rest: &'a [u8]) -> Result<Point<'a>, &'static str> {
    let expected = "expected usdt/BINARY:PROVIDER:NAME";
    let mut scan = Scan(rest);
    let mut part = |is_last| {
        let part = scan.of(|c| c != b':')?;
        (is_last || scan.skip(b':')).then_some(part)
    };
    let parts = part(false).zip(part(false)).zip(part(true)).filter(|_| stem == "usdt");
    let ((binary, provider), name) = parts.ok_or(expected)?;
    Ok(Point::Usdt { binary, provider, name })
}

/// `libbpf_find_attach_btf_id`.
fn btf<'a>(definition: &Definition, rest: &'a [u8]) -> Point<'a> {
    let prefix = match definition.attach {
        Some(AttachType::TraceRawTp) => "btf_trace_",
        Some(AttachType::LsmMac | AttachType::LsmCgroup) => "bpf_lsm_",
        Some(AttachType::TraceIter) => "bpf_iter_",
        _ => "",
    };
    let is_attached = definition.attach != Some(AttachType::LsmCgroup);
    match memchr::memchr(b':', rest) {
        Some(colon) => {
            Point::Btf { module: Some(&rest[..colon]), name: &rest[colon + 1..], prefix, is_attached }
        }
        None => Point::Btf { module: None, name: rest, prefix, is_attached },
    }
}
