//! Definitions for tracefs: `kprobe_events` (Documentation/trace/kprobetrace.rst), and `uprobe_events`
//! (Documentation/trace/uprobetracer.rst) for programs and shared libraries.
use super::{printable, printable_bytes as text, words};
use crate::build_id::hex;
use crate::query::index::functions::Instance;
use crate::query::index::{functions, user_object};
use crate::query::resolve::placement::Placement;
use crate::query::spec::Filter;
use crate::query::trace::definition::{self, Names, Signature};
use probeidx_format::View;
use probeidx_format::id::ObjectId;
use std::collections::HashSet;
use std::io::{self, Write};

/// The group of all our events.
const GROUP: &str = "probeidx";

/// The definition of a probe at one place: `p:probeidx/do_open _text+3543965`. By default the event is named after the
/// function.
///
/// # Errors
/// Why kprobe_events refuse it.
pub fn definition(p: &Placement<'_>, filter: Filter, name: Option<&str>) -> Result<String, String> {
    definition::definition(p, filter, &p.values, GROUP, name)
}

/// Writes definitions that cover functions: one event for each function, however many places and objects it has.
/// Addresses that places share are defined once; a place that cannot be probed becomes a comment with the reason. The
/// definitions only fit the indexed kernel, which the first line names.
pub struct Writer {
    names: Names,
    event: Option<Event>,
    /// The number of definitions written.
    pub defined: usize,
    /// The events that have definitions, in the order of the first: `probeidx/vfs_read`.
    pub events: Vec<String>,
}

/// The event of one function.
struct Event {
    /// The name, file and line of the declaration.
    function: (Vec<u8>, Vec<u8>, u32),
    /// An event name for each signature: if an argument is missing, the probe belongs to another event.
    names: Vec<(Signature, String)>,
    object: ObjectId,
    /// The addresses in `object` that have a definition.
    addresses: HashSet<u32>,
}

impl Writer {
    /// Writes the first line.
    pub fn new(view: &View<'_>, out: &mut dyn Write) -> io::Result<Self> {
        let only = if user_object::path(view).is_some() { ": for uprobe_events" } else { "" };
        writeln!(out, "# {}{only}", subject(view))?;
        Ok(Self { names: Names::default(), event: None, defined: 0, events: vec![] })
    }

    /// Writes a placement; those of one function are consecutive.
    pub fn placement(&mut self, p: &Placement<'_>, filter: Filter, out: &mut dyn Write) -> io::Result<()> {
        let function = (p.function.to_vec(), p.file.to_vec(), p.line);
        // For functions without debug information, the same name in two objects means two functions.
        let is_same = |e: &Event| e.function == function && (!p.file.is_empty() || e.object == p.object);
        let event = self.event.take().filter(is_same);
        if event.as_ref().is_none_or(|e| e.object != p.object) {
            heading(p, filter, "# ", out)?;
            let names = event.map_or_else(Vec::new, |event| event.names);
            self.event = Some(Event { function, names, object: p.object, addresses: HashSet::new() });
        } else {
            self.event = event;
        }
        let place = place(p);
        let Some(event) = &mut self.event else { return Ok(()) };
        let name = self.names.of(p, filter, &p.values, &mut event.names);
        let line = match definition(p, filter, Some(&name)) {
            Ok(line) => line,
            Err(why) => {
                let instead =
                    p.instead.as_ref().map_or(String::new(), |i| format!("; {}", words::instead(i)));
                return writeln!(out, "# not probed: {place}: {why}{instead}");
            }
        };
        if p.source.is_some_and(|s| !s.is_best) {
            return writeln!(out, "# not probed: {place}: another address of the line is better");
        }
        if p.is_nested {
            return writeln!(out, "# not probed: {place}: part of the copy that holds it");
        }
        writeln!(out, "# {place}")?;
        if !event.addresses.insert(p.pc + p.verdicts.shift) {
            return writeln!(out, "#   at an address that is probed already");
        }
        for v in p.values.iter().filter(|v| v.is_asked && v.fetch.is_none()) {
            let why = v.location.as_deref().map_or(String::new(), |why| format!(", {why}"));
            writeln!(out, "#   without {}: {}{}", printable(&v.name), v.state.name(), printable(&why))?;
        }
        self.defined += 1;
        let event = format!("{GROUP}/{name}");
        if !self.events.contains(&event) {
            self.events.push(event);
        }
        writeln!(out, "{line}")
    }
}

/// What the answers are about: `kernel 6.1.0-56-cloud-amd64, build id 3b43… (see /sys/kernel/notes)`.
pub(super) fn subject(view: &View<'_>) -> String {
    let process = user_object::path(view);
    let object = functions::kernel(view).or_else(|| process.and(view.object_ids().next()));
    let build_id = hex(&object.map_or([0; 20], |o| view.objects[o.index()].build_id));
    match process {
        Some(path) => format!("{}, build id {build_id}", text(path)),
        None => format!("kernel {}, build id {build_id} (see /sys/kernel/notes)", text(view.release())),
    }
}

/// What is said above the places of a function, each line behind a mark.
pub(super) fn heading(p: &Placement<'_>, filter: Filter, mark: &str, out: &mut dyn Write) -> io::Result<()> {
    let function = text(p.function);
    let place = if p.file.is_empty() { String::new() } else { format!("@{}:{}", text(p.file), p.line) };
    let before = if p.module.is_some() { ", to be loaded before" } else { "" };
    writeln!(out, "{mark}{function}{place}  {}{before}", words::object(p))?;
    writeln!(out, "{mark}{}", words::coverage(&p.coverage))?;
    match words::returns(&function, p.returns).filter(|_| filter == Filter::Return) {
        Some(note) => writeln!(out, "{mark}{note}"),
        None => Ok(()),
    }
}

/// `inline: blk_insert_cloned_request+0x72, called in blk_insert_cloned_request at block/blk-mq.c:3106`
pub(super) fn place(p: &Placement<'_>) -> String {
    let symbol = p.symbol.map_or("no symbol".to_owned(), |(s, o)| format!("{}+{o:#x}", text(s)));
    let call = p.inlined_into.first();
    let call = call.map_or(String::new(), |c| {
        format!(", called in {} at {}:{}", text(c.function), text(c.file), c.line)
    });
    let kind = match p.instance {
        Instance::OutOfLine => "out of line",
        Instance::Inline => "inline",
        Instance::Statement => "statement",
    };
    format!("{kind}: {symbol}{call}")
}
