//! Formats tracepoints as text, JSON and definitions for `dynamic_events`.
use super::json::Variable;
use super::text::Style;
use super::{lossy as text, printable, printable_bytes};
use crate::query::index::symbols;
use crate::query::resolve::tracepoint::Tracepoint;
use crate::query::resolve::tracepoint_values::TracepointValues;
use crate::query::verdict::reason::Reason;
use probeidx_format::View;
use probeidx_format::record::EventFieldRecord;
use serde::Serialize;
use std::io::{Result, Write};

/// A tracepoint as JSON: the documented fields of a placement, and the fields of the event record.
#[derive(Serialize)]
struct Object<'a> {
    kernel: &'a str,
    module: Option<String>,
    probe: String,
    /// Its name.
    function: String,
    system: Option<String>,
    file: String,
    line: u32,
    instance: &'static str,
    section: String,
    address: String,
    inlined_into: [(); 0],
    symbol: Option<String>,
    offset: Option<u32>,
    symbol_unique: bool,
    anchor: Option<()>,
    attach: Attach,
    #[serde(skip_serializing_if = "Option::is_none")]
    definition: Option<&'a str>,
    coverage: Coverage,
    vars: Vec<Variable>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fields: Option<Vec<Field>>,
}

/// The verdicts of the mechanisms. The documented ones are for code; a `struct tracepoint` has no instructions and is
/// not a function.
#[derive(Serialize)]
struct Attach {
    kprobe: &'static str,
    kprobe_events: &'static str,
    kretprobe: &'static str,
    ftrace: &'static str,
    trampoline: &'static str,
    fentry: &'static str,
    /// `register_trace_NAME`: SystemTap, BPF programs of raw tracepoints.
    raw_tracepoint: &'static str,
    /// Through the event: tracefs, perf, BPF.
    tracepoint: &'static str,
}

/// One place, without code that `kprobe` reaches.
#[derive(Serialize)]
struct Coverage {
    instances: u32,
    reachable: u32,
}

/// A field of the event's record.
#[derive(Serialize)]
struct Field {
    name: String,
    #[serde(rename = "type")]
    type_name: String,
    offset: u16,
    size: u16,
    signed: bool,
}

impl Field {
    fn new(view: &View<'_>, f: EventFieldRecord) -> Self {
        Self {
            name: text(view.string(f.name)),
            type_name: text(view.string(f.type_name)),
            offset: f.offset.get(),
            size: f.size.get(),
            signed: f.flags.get() & EventFieldRecord::SIGNED != 0,
        }
    }
}

/// Writes a tracepoint as one line.
pub fn json(view: &View<'_>, kernel: &str, traced: &TracepointValues<'_>, out: &mut dyn Write) -> Result<()> {
    let t = &traced.tracepoint;
    let mut probe = vec![];
    t.put(&mut probe);
    let (file, line) = t.declared().unwrap_or_default();
    let held = symbols::holding(view, t.object(), t.pc());
    let object = Object {
        kernel,
        module: t.module().map(text),
        probe: text(&probe),
        function: text(t.name()),
        system: (!t.system().is_empty()).then(|| text(t.system())),
        file: text(file),
        line,
        instance: "tracepoint",
        section: text(t.section()),
        address: format!("{:#x}", t.address()),
        inlined_into: [],
        symbol: held.map(|h| text(view.string(h.record.name))),
        offset: held.map(|h| h.offset),
        symbol_unique: held.is_some_and(|h| symbols::uniqueness(view, t.object(), h.record.name).unique),
        anchor: None,
        attach: Attach {
            kprobe: Reason::NotBoundary.name(),
            kprobe_events: Reason::NotBoundary.name(),
            kretprobe: Reason::NotEntry.name(),
            ftrace: Reason::NotEntry.name(),
            trampoline: Reason::NotEntry.name(),
            fentry: Reason::NotEntry.name(),
            raw_tracepoint: if t.is_system_call() { "no-tracepoint" } else { "ok" },
            tracepoint: if t.has_event() { "ok" } else { "no-event" },
        },
        definition: traced.definition.as_deref().ok(),
        coverage: Coverage { instances: 1, reachable: 0 },
        vars: traced.values.iter().map(|v| Variable::new(view, v)).collect(),
        fields: t.fields().map(|fields| fields.iter().map(|f| Field::new(view, f)).collect()),
    };
    serde_json::to_writer(&mut *out, &object)?;
    out.write_all(b"\n")
}

/// Writes a tracepoint as text.
pub fn text_of(
    view: &View<'_>,
    traced: &TracepointValues<'_>,
    style: Style,
    out: &mut dyn Write,
) -> Result<()> {
    let t = &traced.tracepoint;
    let place =
        t.declared().map_or(String::new(), |(file, line)| format!("@{}:{line}", printable_bytes(file)));
    writeln!(out, "{}{place}  {}", style.bold(printable_bytes(t.name())), object(t))?;
    let event = match t.has_event() {
        true => format!("event {}:{}", printable_bytes(t.system()), printable_bytes(t.name())),
        false => "without an event: tracefs and perf do not know it".to_owned(),
    };
    let kind = if t.is_system_call() { "syscall" } else { "tracepoint" };
    writeln!(out, "  {kind}  {:#x} in {}  {event}", t.address(), printable_bytes(t.section()))?;
    let width = traced.values.iter().map(|v| v.name.len()).max().unwrap_or(0);
    for v in &traced.values {
        let spelled = printable(v.type_name.as_deref().unwrap_or("?")).into_owned();
        let location = v.location.as_deref().unwrap_or("?");
        let fetch = v.fetch.as_ref().filter(|_| v.is_asked).map_or(String::new(), |f| format!("  {f}"));
        writeln!(out, "    {:width$}  {spelled}  {}{fetch}", printable(&v.name), printable(location))?;
    }
    if let Some(fields) = t.fields().filter(|_| !traced.values.iter().any(|v| v.is_asked)) {
        for f in fields {
            let [name, type_name] = [f.name, f.type_name].map(|s| printable_bytes(view.string(s)));
            writeln!(out, "    field {name}  {type_name}  at {}, {} bytes", f.offset, f.size)?;
        }
    }
    match &traced.definition {
        Ok(definition) => writeln!(out, "  {}", printable(definition)),
        Err(why) => writeln!(out, "  no dynamic event: {}", printable(why)),
    }
}

/// Writes a definition for `dynamic_events` below a comment on it, or why there is none. Returns whether there is one.
pub fn definition(traced: &TracepointValues<'_>, out: &mut dyn Write) -> Result<bool> {
    let t = &traced.tracepoint;
    let name = format!("{}:{}", printable_bytes(t.system()), printable_bytes(t.name()));
    match &traced.definition {
        Ok(definition) => {
            writeln!(out, "# {name}  {}: for dynamic_events", object(t))?;
            for v in traced.values.iter().filter(|v| v.is_asked && v.fetch.is_none()) {
                let why = v.location.as_deref().unwrap_or_default();
                writeln!(out, "#   without {}: {}", printable(&v.name), printable(why))?;
            }
            writeln!(out, "{definition}")?;
        }
        Err(why) => writeln!(out, "# not probed: {name}  {}: {}", object(t), printable(why))?,
    }
    Ok(traced.definition.is_ok())
}

fn object(t: &Tracepoint<'_>) -> String {
    t.module().map_or("vmlinux".to_owned(), |m| format!("module {}", printable_bytes(m)))
}
