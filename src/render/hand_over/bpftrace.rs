//! A program for bpftrace: a probe for each place.
//!
//! What bpftrace takes was seen on 0.17.0 (Debian 12) and 6.1.192, and on 0.27.1:
//! - `kprobe:vfs_read+138`: where it finds a vmlinux file it compares the offset with it, or gives up if it was built without a
//!   disassembler ("Can't check if kprobe is in proper place"); where it finds none, the kernel checks alone.
//! - `kprobe:_text+3460314`: only without a vmlinux file, as `_text` has no size. It warns that `_text` is not traceable, and
//!   attaches. In a list of several probes it makes no code for it.
//! - `kprobe:MODULE:NAME`: no.
//! - A function of a module that is not loaded: bpftrace ends, without the other probes too.
//! - A name with several symbols: the kernel refuses it, as return probes know nothing but names.
use super::super::{kprobe_events, printable, printable_bytes};
use super::fetch::{Base, Fetched, Kind, Radix};
use super::{left_out, quoted};
use crate::query::index::symbols::Anchor;
use crate::query::resolve::by_name::NameState;
use crate::query::resolve::placement::Placement;
use crate::query::resolve::tracepoint_values::TracepointValues;
use crate::query::spec::Filter;
use crate::query::value::{Role, arguments};
use probeidx_format::id::ObjectId;
use probeidx_format::{View, machine};
use std::collections::HashSet;
use std::io::{self, Write};

/// More it attaches only if it is told to (0.17.0).
const MOST_PROBES: usize = 512;

/// Collects probes.
pub struct Writer {
    subject: String,
    machine: u16,
    word: u8,
    /// Of each object, in the order of the answers; that of the kernel and of modules that are loaded is for all.
    parts: Vec<Part>,
    /// The position of the part that is written.
    current: usize,
    /// Whether there is an offset, which bpftrace does not leave to the kernel by itself.
    has_offset: bool,
    /// Whether the index tells which functions ftrace lists.
    knows_listed: bool,
    /// Whether a function is not listed: bpftrace takes it with `--unsafe` alone (0.25).
    is_unlisted: bool,
    /// The object and declaration of the last heading.
    heading: Option<(ObjectId, Vec<u8>, Vec<u8>, u32)>,
    /// The points that are probed.
    points: HashSet<String>,
    /// How many probes were written.
    pub probes: usize,
}

/// The probes of a module; without one, those that can be attached.
struct Part {
    module: Option<String>,
    text: Vec<u8>,
    probes: usize,
}

impl Writer {
    pub fn new(view: &View<'_>) -> Self {
        Self {
            subject: kprobe_events::subject(view),
            machine: view.machine(),
            word: view.address_size(),
            parts: vec![],
            current: 0,
            has_offset: false,
            knows_listed: view.option(b"FUNCTION_TRACER").is_some(),
            is_unlisted: false,
            heading: None,
            points: HashSet::new(),
            probes: 0,
        }
    }

    pub fn placement(&mut self, p: &Placement<'_>, filter: Filter) -> io::Result<()> {
        let is_loaded = p.running.as_ref().is_some_and(|running| running.loaded);
        self.turn_to(p.module.filter(|_| !is_loaded).map(printable_bytes));
        let declaration = (p.object, p.function.to_vec(), p.file.to_vec(), p.line);
        if self.heading.as_ref() != Some(&declaration) {
            kprobe_events::heading(p, filter, "// ", self.text())?;
            self.heading = Some(declaration);
        }
        let is_return = filter == Filter::Return;
        let place = kprobe_events::place(p);
        let point = match left_out(p, p.verdicts.definition(is_return)) {
            Some(why) => Err(why),
            None => point(p, is_return),
        };
        let (point, has_offset) = match point {
            Ok(point) => point,
            Err(why) => return writeln!(self.text(), "// not probed: {place}: {why}"),
        };
        writeln!(self.text(), "// {place}")?;
        if !self.points.insert(point.clone()) {
            return writeln!(self.text(), "//   at an address that is probed already");
        }
        if is_kfunc(p) && !is_return {
            let name = p.by_name.map_or(String::new(), |n| printable_bytes(n.name));
            writeln!(self.text(), "//   also, with less overhead: kfunc:{name} (fentry:{name})")?;
        }
        self.has_offset |= has_offset;
        let is_listed = p.verdicts.ftrace().is_ok() && !point.contains(".part.");
        self.is_unlisted |= self.knows_listed && !is_listed && !has_offset;
        for v in p.values.iter().filter(|v| v.is_asked && v.fetch.is_none()) {
            let why = v.location.as_deref().map_or(String::new(), |why| format!(", {why}"));
            writeln!(
                self.text(),
                "//   without {}: {}{}",
                printable(&v.name),
                v.state.name(),
                printable(&why)
            )?;
        }
        let mut values = vec![];
        for argument in arguments(&p.values) {
            match Fetched::parse(&argument, self.word)
                .and_then(|fetched| self.value(&fetched, p.process.is_some()))
            {
                Ok(value) => values.push(value),
                Err(why) => {
                    let name = argument.split('=').next().unwrap_or_default();
                    writeln!(self.text(), "//   without {}: {}", printable(name), printable(&why))?;
                }
            }
        }
        let mut function = printable_bytes(p.function);
        if !p.uniqueness.unique && !p.file.is_empty() {
            function += &format!("@{}:{}", printable_bytes(p.file), p.line);
        }
        let symbol = p.symbol.map(|(symbol, offset)| format!("{}+{offset:#x}", printable_bytes(symbol)));
        let at = symbol.map_or(function.clone(), |symbol| format!("{function} at {symbol}"));
        self.probe(&point, &at, &values)
    }

    /// The fields of the event's record; the parameters of the tracepoint are not among them.
    pub fn tracepoint(&mut self, traced: &TracepointValues<'_>) -> io::Result<()> {
        let t = &traced.tracepoint;
        self.turn_to(None);
        let [system, name] = [t.system(), t.name()].map(printable_bytes);
        if !t.has_event() {
            return writeln!(self.text(), "// not probed: {name}: no event records it");
        }
        writeln!(self.text(), "// {system}:{name}: the kernel's own event")?;
        let mut values = vec![];
        for v in traced.values.iter().filter(|v| v.is_asked) {
            let fetched = v.fetch.as_deref().filter(|_| v.role == Role::Field);
            match fetched.and_then(|fetch| field(fetch, v.type_name.as_deref().unwrap_or_default())) {
                Some(value) => values.push(value),
                None => writeln!(
                    self.text(),
                    "//   without {}: no field of the event that bpftrace prints",
                    printable(&v.name)
                )?,
            }
        }
        self.probe(&format!("tracepoint:{system}:{name}"), &format!("{system}:{name}"), &values)
    }

    /// Goes on with the part of a module, or with that of what can be attached.
    fn turn_to(&mut self, module: Option<String>) {
        let known = self.parts.iter().position(|part| part.module == module);
        self.current = known.unwrap_or_else(|| {
            self.parts.push(Part { module, text: vec![], probes: 0 });
            self.parts.len() - 1
        });
    }

    fn text(&mut self) -> &mut Vec<u8> {
        &mut self.parts[self.current].text
    }

    /// A probe that prints values, each a format and an expression.
    fn probe(&mut self, point: &str, at: &str, values: &[(String, String)]) -> io::Result<()> {
        let formats: String = values.iter().map(|(format, _)| format!(" {format}")).collect();
        let expressions: String = values.iter().map(|(_, value)| format!(",\n\t\t{value}")).collect();
        let format = format!("%s-%d {}{formats}", at.replace('%', "%%"));
        let format = quoted(&format).replacen('"', "", 1);
        let format = &format[..format.len() - 1];
        self.probes += 1;
        self.parts[self.current].probes += 1;
        writeln!(self.text(), "{point}\n{{\n\tprintf(\"{format}\\n\", comm, tid{expressions});\n}}")
    }

    pub fn finish(&mut self, out: &mut dyn Write) -> io::Result<()> {
        if self.probes > 0 {
            let most = match self.probes {
                0..=MOST_PROBES => String::new(),
                probes => format!("BPFTRACE_MAX_PROBES={probes} "),
            };
            let vmlinux = if self.has_offset { "BPFTRACE_VMLINUX=/dev/null " } else { "" };
            let option = if self.has_offset || self.is_unlisted { " --unsafe" } else { "" };
            let split = if most.is_empty() && option.is_empty() { "" } else { "-S " };
            writeln!(out, "#!/usr/bin/env {split}{most}{vmlinux}bpftrace{option}")?;
            writeln!(out, "// {}", self.subject)?;
            writeln!(out, "// As root: {most}{vmlinux}bpftrace{option} FILE")?;
        } else {
            writeln!(out, "// {}", self.subject)?;
        }
        if self.has_offset {
            let why = "the kernel checks them, so that bpftrace needs no vmlinux";
            writeln!(out, "// No vmlinux, and --unsafe, for probes with offsets: {why}.")?;
        }
        if self.is_unlisted {
            writeln!(
                out,
                "// --unsafe, for functions that ftrace does not list: bpftrace looks for them there (0.25)."
            )?;
        }
        // What can be attached at once does not fail with a module that is absent.
        let is_first = |part: &Part| part.module.is_none() && part.probes > 0;
        let has_first = self.parts.iter().any(is_first);
        for part in &self.parts {
            let Some(module) = part.module.as_ref().filter(|_| part.probes > 0) else {
                out.write_all(&part.text)?;
                continue;
            };
            match has_first {
                false => {
                    writeln!(out, "// Module {module} is to be loaded, or bpftrace attaches nothing.")?;
                    out.write_all(&part.text)?;
                }
                true => {
                    writeln!(
                        out,
                        "// Only if module {module} is loaded, or bpftrace attaches nothing (see also --live):"
                    )?;
                    for line in String::from_utf8_lossy(&part.text).lines() {
                        writeln!(out, "{}{line}", if line.starts_with("//") { "" } else { "// " })?;
                    }
                }
            }
        }
        Ok(())
    }

    /// A format with the name of the value, and the expression.
    fn value(&self, fetched: &Fetched<'_>, is_process: bool) -> Result<(String, String), String> {
        let word = u32::from(self.word) * 8;
        let mut value = self.base(fetched.base)?;
        let (last, before) = match fetched.reads.split_last() {
            Some((last, before)) => (Some(last), before),
            None => (None, &[][..]),
        };
        let address = |value: String, distance: i64| match distance {
            0 => value,
            1.. => format!("({value} + {distance})"),
            _ => format!("({value} - {})", distance.unsigned_abs()),
        };
        let pointer = |of: String, is_user: bool| if is_user { format!("uptr({of})") } else { of };
        for read in before {
            let from = pointer(format!("(uint{word} *){}", address(value, read.distance)), read.is_user);
            value = format!("*{from}");
        }
        let number = |value: String, kind: &str, bits: u8| match last {
            Some(read) => {
                let from = format!("({kind}{bits} *){}", address(value, read.distance));
                format!("*{}", pointer(from, read.is_user))
            }
            None => format!("({kind}{bits}){value}"),
        };
        let (format, value) = match fetched.kind {
            Kind::Number { radix: Radix::Signed, bits: 64 } => ("%lld", number(value, "int", 64)),
            // bpftrace widens no argument of printf.
            Kind::Number { radix: Radix::Signed, bits } => {
                ("%lld", format!("(int64){}", number(value, "int", bits)))
            }
            Kind::Number { radix: Radix::Unsigned, bits } => ("%llu", number(value, "uint", bits)),
            Kind::Number { radix: Radix::Hexadecimal, bits } => ("0x%llx", number(value, "uint", bits)),
            Kind::Bits { width, lowest, container } => {
                let mask = u64::MAX >> (64 - u32::from(width.min(64)));
                ("%llu", format!("(({} >> {lowest}) & {mask:#x})", number(value, "uint", container)))
            }
            Kind::Text => match last {
                Some(read) => (
                    "%s",
                    format!("str({})", pointer(address(value, read.distance), read.is_user || is_process)),
                ),
                // `comm`
                None => ("%s", value),
            },
            Kind::Symbol => {
                let value = if last.is_some() { number(value, "uint", word as u8) } else { value };
                ("%s", format!("{}({value})", if is_process { "usym" } else { "ksym" }))
            }
        };
        Ok((format!("{}={format}", fetched.name), value))
    }

    fn base(&self, base: Base<'_>) -> Result<String, String> {
        Ok(match base {
            Base::Register(name) => format!("reg(\"{}\")", self.register(name)),
            Base::Constant(number) => number.to_string(),
            Base::Returned => "retval".to_owned(),
            Base::Comm => "comm".to_owned(),
            Base::Symbol(name) => format!("kaddr({})", quoted(name)),
        })
    }

    /// bpftrace's names are those of the kernel, but for the numbered ones. (src/arch/aarch64.cpp, powerpc64.cpp)
    fn register(&self, name: &str) -> String {
        match (self.machine, name.strip_prefix('x'), name.strip_prefix("gpr")) {
            (machine::AARCH64, Some(number), _) | (machine::PPC64, _, Some(number)) => format!("r{number}"),
            _ => name.to_owned(),
        }
    }
}

/// A field of an event: its format and expression.
fn field(fetch: &str, type_name: &str) -> Option<(String, String)> {
    let (name, body) = fetch.split_once('=')?;
    let (field, kind) = body.strip_prefix('$')?.split_once(':').unwrap_or((&body[1..], "x64"));
    let (format, value) = match kind {
        "string" | "ustring" if type_name.starts_with("__data_loc") || type_name.ends_with('*') => {
            ("%s", format!("str(args->{field})"))
        }
        "string" | "ustring" => ("%s", format!("args->{field}")),
        _ if kind.ends_with(']') => return None,
        _ if kind.starts_with('s') => ("%lld", format!("(int64)args->{field}")),
        _ if kind.starts_with('u') => ("%llu", format!("(uint64)args->{field}")),
        _ => ("0x%llx", format!("(uint64)args->{field}")),
    };
    Some((format!("{name}={format}"), value))
}

/// Whether a trampoline takes the entry, and its name means this function alone.
fn is_kfunc(p: &Placement<'_>) -> bool {
    p.verdicts.trampoline().is_ok()
        && p.by_name.is_some_and(|n| matches!(n.state, NameState::Ok | NameState::Renamed))
}

/// What to attach to, and whether it has an offset.
fn point(p: &Placement<'_>, is_return: bool) -> Result<(String, bool), String> {
    if let Some(path) = p.process {
        let probe = if is_return { "uretprobe" } else { "uprobe" };
        let path = std::str::from_utf8(path).ok().filter(|path| path.chars().all(is_plain));
        let path = path.ok_or("bpftrace cannot spell its path")?;
        return Ok((format!("{probe}:{path}:{:#x}", p.address), false));
    }
    if is_return {
        let Some(by_name) = p.by_name else { return Err("no symbol".to_owned()) };
        let name = spelled(by_name.name)?;
        return match by_name.state {
            NameState::Ok | NameState::Renamed => Ok((format!("kretprobe:{name}"), false)),
            NameState::Ambiguous => Err(format!(
                "bpftrace gives the kernel the name of a return probe, and several functions are {name}"
            )),
            NameState::Absent => Err("no symbol".to_owned()),
        };
    }
    if let Some((symbol, offset)) = p.symbol.filter(|_| p.uniqueness.unique) {
        return spelled(symbol).map(|symbol| match offset {
            0 => (format!("kprobe:{symbol}"), false),
            _ => (format!("kprobe:{symbol}+{offset}"), true),
        });
    }
    match &p.anchor {
        Some(Anchor::Symbol { module: None, symbol, offset }) => {
            spelled(symbol).map(|symbol| (format!("kprobe:{symbol}+{offset}"), *offset > 0))
        }
        Some(Anchor::Symbol { module: Some(module), .. }) => Err(format!(
            "the symbol is not the only one of its name, and bpftrace cannot name module {}: use --format kprobe-events",
            printable_bytes(module)
        )),
        _ => Err("no anchor".to_owned()),
    }
}

/// A symbol, if bpftrace reads all of it as a name.
fn spelled(symbol: &[u8]) -> Result<String, String> {
    let name =
        std::str::from_utf8(symbol).ok().filter(|name| name.chars().all(is_plain) && !name.contains('/'));
    name.map(str::to_owned).ok_or_else(|| format!("bpftrace cannot spell {}", printable_bytes(symbol)))
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/' | '-')
}
