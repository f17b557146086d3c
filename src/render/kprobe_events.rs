//! Definitions for tracefs: `kprobe_events` (Documentation/trace/kprobetrace.rst), and `uprobe_events`
//! (Documentation/trace/uprobetracer.rst) for programs and shared libraries.
use super::{printable, printable_bytes as text, words};
use crate::build_id::hex;
use crate::query::index::functions::Instance;
use crate::query::index::{functions, user_object};
use crate::query::resolve::placement::Placement;
use crate::query::spec::Filter;
use crate::query::value::{ValueAt, arguments};
use probeidx_format::View;
use probeidx_format::id::ObjectId;
use std::collections::HashSet;
use std::io::{self, Write};

/// The group of all our events.
const GROUP: &str = "probeidx";

/// The kernel's limit is 64 with the NUL (`MAX_EVENT_NAME_LEN`).
const LONGEST_NAME: usize = 63;

/// The kernel's limit for a definition (`trace_parse_run_command`, kernel/trace/trace.c).
const LONGEST_LINE: usize = 4094;

/// The definition of a probe at one place: `p:probeidx/do_open _text+3543965`. By default the event is named after the
/// function.
///
/// # Errors
/// Why kprobe_events refuse it.
pub fn definition(p: &Placement<'_>, filter: Filter, name: Option<&str>) -> Result<String, String> {
    let is_return = filter == Filter::Return;
    let verdict = p.verdicts.definition(is_return);
    if let Some(reason) = verdict.reason() {
        return Err(reason.name().to_owned());
    }
    let anchor = p.anchor.as_ref().ok_or("no anchor")?;
    if !anchor.is_definable() {
        return Err("the kernel ends a name at blanks and #".to_owned());
    }
    let plain = event_name(p, is_return);
    let kind = if is_return { 'r' } else { 'p' };
    let arguments: String = arguments(&p.values).iter().map(|a| format!(" {a}")).collect();
    let line = format!("{kind}:{GROUP}/{} {anchor}{arguments}", name.unwrap_or(&plain));
    match line.len() {
        0..=LONGEST_LINE => Ok(line),
        length => Err(format!("the definition has {length} characters, and the kernel takes {LONGEST_LINE}")),
    }
}

/// The names and types of the arguments, which all probes of an event must have in common.
fn signature(values: &[ValueAt]) -> Vec<String> {
    let of = |argument: String| match (argument.split_once('='), argument.rsplit_once(':')) {
        (Some((name, _)), Some((_, kind))) => format!("{name}:{kind}"),
        _ => argument,
    };
    arguments(values).into_iter().map(of).collect()
}

/// An event name that the kernel accepts: a C identifier. Return probes get a distinct name, because types must not be
/// mixed. Lines get the suffix that perf uses, the distance from the declaration: `vfs_read_L17`.
fn event_name(p: &Placement<'_>, is_return: bool) -> String {
    let legal = |b: &u8| if b.is_ascii_alphanumeric() || *b == b'_' { char::from(*b) } else { '_' };
    let mut name: String = p.function.iter().map(legal).collect();
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        name.insert(0, '_');
    }
    let suffix = match (line(p), is_return) {
        (Some(line), _) => format!("_{line}"),
        (None, true) => "__return".to_owned(),
        (None, false) => String::new(),
    };
    name.truncate(LONGEST_NAME - suffix.len());
    name + &suffix
}

/// The line of a placement that was found by line: `L17` if it is 17 lines after the declaration; in another file, the
/// line number.
fn line(p: &Placement<'_>) -> Option<String> {
    let source = p.source?;
    let relative = source.line.checked_sub(p.line).filter(|_| source.file == p.file);
    Some(format!("L{}", relative.unwrap_or(source.line)))
}

/// Writes definitions that cover functions: one event for each function, however many places and objects it has.
/// Addresses that places share are defined once; a place that cannot be probed becomes a comment with the reason. The
/// definitions only fit the indexed kernel, which the first line names.
pub struct Writer {
    names: HashSet<String>,
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
    names: Vec<(Vec<String>, String)>,
    object: ObjectId,
    /// The addresses in `object` that have a definition.
    addresses: HashSet<u32>,
}

impl Writer {
    /// Writes the first line.
    pub fn new(view: &View<'_>, out: &mut dyn Write) -> io::Result<Self> {
        let only = if user_object::path(view).is_some() { ": for uprobe_events" } else { "" };
        writeln!(out, "# {}{only}", subject(view))?;
        Ok(Self { names: HashSet::new(), event: None, defined: 0, events: vec![] })
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
        let name = self.name(p, filter);
        let Some(event) = &mut self.event else { return Ok(()) };
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

    /// The name of the event for a placement.
    fn name(&mut self, p: &Placement<'_>, filter: Filter) -> String {
        let signature: Vec<String> = signature(&p.values).into_iter().chain(line(p)).collect();
        let known = self.event.iter().flat_map(|e| &e.names).find(|(s, _)| *s == signature);
        if let Some((_, name)) = known {
            return name.clone();
        }
        let name = self.free_name(&event_name(p, filter == Filter::Return));
        if let Some(event) = &mut self.event {
            event.names.push((signature, name.clone()));
        }
        name
    }

    /// The name, with a number appended if another function's event has it.
    fn free_name(&mut self, name: &str) -> String {
        let numbered = (1..).map(|n| {
            let number = format!("_{n}");
            format!("{}{number}", &name[..name.len().min(LONGEST_NAME - number.len())])
        });
        let free = std::iter::once(name.to_owned()).chain(numbered).find(|n| !self.names.contains(n));
        let free = free.unwrap_or_default();
        self.names.insert(free.clone());
        free
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
