//! Formats placements as text.
use super::{printable_bytes as printable, words};
use crate::query::index::functions::Instance;
use crate::query::index::provenance::Provenance;
use crate::query::resolve::defined::Defined;
use crate::query::resolve::placement::Placement;
use crate::query::spec::Filter;
use crate::query::value::calling_convention::Proof;
use crate::query::value::reader::State;
use crate::query::verdict::Verdict;
use crate::query::verdict::blacklist::Refused;
use std::io::{Result, Write};

/// The style of text.
#[derive(Clone, Copy, Debug, Default)]
pub struct Style {
    /// With colours.
    pub color: bool,
}

impl Style {
    /// Emphasized text.
    pub(super) fn bold(self, text: impl std::fmt::Display) -> String {
        self.paint("1", text)
    }
    /// De-emphasized text.
    pub(super) fn dim(self, text: impl std::fmt::Display) -> String {
        self.paint("2", text)
    }
    /// Text about inlined code.
    pub(super) fn inline(self, text: impl std::fmt::Display) -> String {
        self.paint("36", text)
    }
    /// Text about an accepted or refused probe.
    pub(super) fn verdict(self, text: impl std::fmt::Display, accepted: bool) -> String {
        self.paint(if accepted { "32" } else { "31" }, text)
    }
    fn paint(self, code: &str, text: impl std::fmt::Display) -> String {
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_string() }
    }
}

/// Writes the heading of the placements of one declaration in one object.
pub fn heading(p: &Placement<'_>, filter: Filter, style: Style, out: &mut dyn Write) -> Result<()> {
    let object = words::object(p);
    let place = match p.line {
        0 => printable(p.file),
        line => format!("{}:{line}", printable(p.file)),
    };
    let at = if place.is_empty() { "" } else { "@" };
    let provenance = match p.provenance {
        Provenance::Dwarf => "",
        Provenance::Btf => "  from BTF",
        Provenance::Symbols => "  from symbols",
    };
    writeln!(out, "{}{at}{place}  {object}{provenance}", style.bold(printable(p.function)))?;
    writeln!(out, "  {}", words::coverage(&p.coverage))?;
    if filter == Filter::Return
        && let Some(note) = words::returns(&printable(p.function), p.returns)
    {
        writeln!(out, "  {note}")?;
    }
    Ok(())
}

/// Writes a placement of a kernel for a machine, below its heading.
pub fn placement(p: &Placement<'_>, machine: u16, style: Style, out: &mut dyn Write) -> Result<()> {
    let symbol = p.symbol.map_or("no symbol".to_owned(), |(s, o)| format!("{}+{o:#x}", printable(s)));
    let anchor = p
        .anchor
        .as_ref()
        .map_or(String::new(), |a| format!("  probe at {}", super::printable(&a.to_string())));
    let kind = match p.instance {
        Instance::OutOfLine => style.paint("32", "out-of-line"),
        other => style.inline(other.name()),
    };
    writeln!(out, "  {kind}  {}  {:#x} in {}{anchor}", style.bold(symbol), p.address, printable(p.section))?;
    if let Some(source) = &p.source {
        let best = if source.is_best { style.bold(", best") } else { String::new() };
        let recommended = if source.is_stmt { "" } else { ", not is_stmt" };
        let systemtap = if source.is_systemtap { ", SystemTap's" } else { "" };
        let place = format!("{}:{}:{}", printable(source.file), source.line, source.column);
        writeln!(out, "    line {place}{recommended}{systemtap}{best}")?;
    }
    if let Some(running) = &p.running {
        match running.address {
            Some(address) => writeln!(out, "    runs at {address:#x}")?,
            None if running.loaded => writeln!(out, "    loaded at an unknown address")?,
            None => writeln!(out, "    is not loaded")?,
        }
        if !running.strangers.is_empty() {
            let modules = super::printable(&running.strangers.join(", ")).into_owned();
            writeln!(out, "    modules that are not indexed have a symbol of the name too: {modules}")?;
        }
    }
    writeln!(out, "    {}", verdicts(p, style))?;
    let unknown = p.verdicts.unknown();
    if !unknown.is_nothing() {
        writeln!(out, "    undecided, as not known: {unknown}")?;
    }
    if let Some(phrase) = p.by_name.and_then(|by| words::by_name(by, p)) {
        writeln!(out, "    by name: {phrase}")?;
    }
    if let Some(instead) = &p.instead {
        writeln!(out, "    instead: {}", words::instead(instead))?;
    }
    if p.verdicts.shift > 0 {
        let place = words::landing(machine);
        writeln!(out, "    the kernel puts the probe {} bytes further, {place}", p.verdicts.shift)?;
    }
    if !p.uniqueness.unique && p.symbol.is_some() && p.process.is_none() {
        writeln!(out, "    the symbol's name is not unique: use the address given by `probe at`")?;
    }
    for call in &p.inlined_into {
        let (function, file) = (printable(call.function), printable(call.file));
        writeln!(out, "    inlined into {function} at {file}:{}", call.line)?;
    }
    let name_width = p.values.iter().map(|v| v.name.len()).max().unwrap_or(0);
    let type_width =
        p.values.iter().map(|v| v.type_name.as_ref().map_or(1, String::len)).max().unwrap_or(0).min(48);
    for v in &p.values {
        let location = match (&v.location, v.state) {
            (Some(why), State::Unsupported) => format!("not fetchable: {why}"),
            (Some(location), _) => location.clone(),
            (None, State::Elsewhere) => words::elsewhere(v.elsewhere.as_ref()),
            (None, other) => other.name().replace('-', " "),
        };
        let spelled = super::printable(v.type_name.as_deref().unwrap_or("?")).into_owned();
        let fetch = v.fetch.as_ref().filter(|_| v.is_asked).map_or(String::new(), |f| format!("  {f}"));
        let moved = match v.parameter.map(|p| p.proof) {
            Some(proof @ (Proof::Moved | Proof::Gone)) => {
                format!("  {} from where the ABI passes it", proof.name())
            }
            _ => String::new(),
        };
        writeln!(
            out,
            "    {:name_width$}  {spelled:type_width$}  {location}{fetch}{moved}",
            super::printable(&v.name)
        )?;
    }
    Ok(())
}

/// Writes the number of placements at which something is defined.
pub fn defined(kernel: &str, argument: &str, found: &Defined, out: &mut dyn Write) -> Result<()> {
    let [kernel, argument] = [kernel, argument].map(super::printable);
    let why = found.why.as_ref().map_or(String::new(), |why| format!(": {}", super::printable(why)));
    writeln!(out, "{kernel}  {argument} is defined at {} of {} places{why}", found.defined, found.places)
}

/// Writes a range as in `/sys/kernel/debug/kprobes/blacklist`, followed by its source.
pub fn refused(range: &Refused<'_>, out: &mut dyn Write) -> Result<()> {
    let module = range.module.map_or(String::new(), |m| format!(" [{}]", printable(m)));
    let Refused { start, end, .. } = range;
    writeln!(out, "{start:#x}-{end:#x}\t{}{module}\t{}", printable(range.name), words::source(range.source))
}

/// `kprobe ok, kprobe_events no-ftrace-site, …`
fn verdicts(p: &Placement<'_>, style: Style) -> String {
    let one = |(name, verdict): (&str, Verdict)| {
        format!("{name} {}", style.verdict(verdict.words(), verdict.is_ok()))
    };
    p.verdicts.named().map(one).collect::<Vec<_>>().join(", ")
}
