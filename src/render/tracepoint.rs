//! Formats tracepoints as text, JSON and definitions for `dynamic_events`.
use super::json::{Hex, Map, Variable};
use super::text::Style;
use super::{lossy as text, printable, printable_bytes, put_json_line};
use crate::query::index::symbols;
use crate::query::resolve::tracepoint::Tracepoint;
use crate::query::resolve::tracepoint_values::TracepointValues;
use crate::query::verdict::reason::Reason;
use probeidx_format::View;
use probeidx_format::record::EventFieldRecord;
use serde::Serialize;
use std::borrow::Cow;
use std::io::{Result, Write};

/// A tracepoint: the fields of a placement, and those of the event's record.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Tracepoint"))]
pub struct Object<'a> {
    /// The release.
    pub kernel: Cow<'a, str>,
    /// The module; `None` for vmlinux.
    pub module: Option<String>,
    /// The probe point in SystemTap's spelling.
    pub probe: String,
    /// Its name.
    pub function: String,
    /// The system of its event; `None` without an event.
    pub system: Option<String>,
    /// The file of its declaration; empty if unknown.
    pub file: String,
    /// The line of its declaration, from 1; 0 if unknown.
    pub line: u32,
    /// The kind of place.
    pub instance: &'static str,
    /// The section of its struct.
    pub section: String,
    /// The address of its struct; in a module, the offset within the section.
    pub address: Hex,
    /// Nothing.
    pub inlined_into: [(); 0],
    /// The symbol of its struct.
    pub symbol: Option<String>,
    /// The offset from that.
    pub offset: Option<u32>,
    /// Whether that name stands once.
    pub symbol_unique: bool,
    /// Nothing.
    pub anchor: Option<()>,
    /// The verdict of each mechanism.
    pub attach: Map<&'static str>,
    /// For dynamic_events, if that takes it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<String>,
    /// One place, without code that `kprobe` reaches.
    pub coverage: Coverage,
    /// What is passed to its probes.
    pub vars: Vec<Variable>,
    /// The fields of the event's record; `None` if they are not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fields: Option<Vec<Field>>,
}

/// One place, without code that `kprobe` reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Coverage {
    /// 1.
    pub instances: u32,
    /// 0.
    pub reachable: u32,
}

/// A field of the event's record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Field {
    /// Its name.
    pub name: String,
    /// Its type as C spells it.
    #[serde(rename = "type")]
    pub type_name: String,
    /// In bytes.
    pub offset: u16,
    /// In bytes.
    pub size: u16,
    /// Whether it has a sign.
    pub signed: bool,
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
    put_json_line(&self::object(view, kernel, traced), out)
}

/// A tracepoint as an object.
pub fn object<'k>(
    view: &View<'_>,
    kernel: impl Into<Cow<'k, str>>,
    traced: &TracepointValues<'_>,
) -> Object<'k> {
    let t = &traced.tracepoint;
    let mut probe = vec![];
    t.put(&mut probe);
    let (file, line) = t.declared().unwrap_or_default();
    let held = symbols::holding(view, t.object(), t.pc());
    Object {
        kernel: kernel.into(),
        module: t.module().map(text),
        probe: text(&probe),
        function: text(t.name()),
        system: (!t.system().is_empty()).then(|| text(t.system())),
        file: text(file),
        line,
        instance: "tracepoint",
        section: text(t.section()),
        address: Hex(t.address()),
        inlined_into: [],
        symbol: held.map(|h| text(view.string(h.record.name))),
        offset: held.map(|h| h.offset),
        symbol_unique: held.is_some_and(|h| symbols::uniqueness(view, t.object(), h.record.name).unique),
        anchor: None,
        // The documented mechanisms are for code: a `struct tracepoint` has no instructions and is not a function.
        attach: Map(vec![
            ("kprobe", Reason::NotBoundary.name()),
            ("kprobe_events", Reason::NotBoundary.name()),
            ("kretprobe", Reason::NotEntry.name()),
            ("ftrace", Reason::NotEntry.name()),
            ("trampoline", Reason::NotEntry.name()),
            ("fentry", Reason::NotEntry.name()),
            // `register_trace_NAME`: SystemTap, BPF programs of raw tracepoints.
            ("raw_tracepoint", if t.is_system_call() { "no-tracepoint" } else { "ok" }),
            // Through the event: tracefs, perf, BPF.
            ("tracepoint", if t.has_event() { "ok" } else { "no-event" }),
        ]),
        definition: traced.definition.as_ref().ok().cloned(),
        coverage: Coverage { instances: 1, reachable: 0 },
        vars: traced.values.iter().map(|v| Variable::new(view, v)).collect(),
        fields: t.fields().map(|fields| fields.iter().map(|f| Field::new(view, f)).collect()),
    }
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
    writeln!(out, "{}{place}  {}", style.bold(printable_bytes(t.name())), home(t))?;
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
            writeln!(out, "# {name}  {}: for dynamic_events", home(t))?;
            for v in traced.values.iter().filter(|v| v.is_asked && v.fetch.is_none()) {
                let why = v.location.as_deref().unwrap_or_default();
                writeln!(out, "#   without {}: {}", printable(&v.name), printable(why))?;
            }
            writeln!(out, "{definition}")?;
        }
        Err(why) => writeln!(out, "# not probed: {name}  {}: {}", home(t), printable(why))?,
    }
    Ok(traced.definition.is_ok())
}

fn home(t: &Tracepoint<'_>) -> String {
    t.module().map_or("vmlinux".to_owned(), |m| format!("module {}", printable_bytes(m)))
}
