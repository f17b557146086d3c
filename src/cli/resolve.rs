//! `probeidx resolve`
use super::aliases;
use super::args::{Format, Resolve};
use super::capture;
use super::config::Config;
use super::exit::Outcome;
use super::find;
use super::note;
use super::output::{Held, failed};
use super::processes;
use super::several::Several;
use super::why_not::Reasons;
use crate::error::{Error, ErrorKind, Result};
use crate::nearest;
use crate::query::answer::{Answer, answers};
use crate::query::index::user_object;
use crate::query::resolve::placement::{Placement, Wanted};
use crate::query::resolve::tracepoint_values::TracepointValues;
use crate::query::resolve::{self, defined, event};
use crate::query::runtime::overlay::Overlay;
use crate::query::spec;
use crate::query::spec::argument::{self, Argument, Source};
use crate::query::spec::{Filter, Point, Spec};
use crate::query::systemtap::alias::{At, Probe};
use crate::query::value::reader::{Role, State, ValueAt};
use crate::render::hand_over::{self, Recorder, Tool};
use crate::render::{aliases as render, json, text, tracepoint};
use probeidx_format::View;
use probeidx_format::id::ObjectId;
use rustc_hash::{FxBuildHasher, FxHashSet};
use std::borrow::Cow;
use std::hash::BuildHasher;
use std::io::Write;

/// Shows every placement of a spec.
pub fn run(args: &Resolve, config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    let specs = spec::parse(&args.spec)?;
    let format = if config.json { Format::Json } else { args.format };
    if let Some(asked) = &args.defined {
        return is_defined(asked, &specs, config, out);
    }
    let arguments: Vec<Argument> = args.args.iter().map(|a| argument::parse(a)).collect::<Result<_>>()?;
    if arguments.len() > argument::MOST {
        let what = format!("{} arguments, and the kernel takes {}", arguments.len(), argument::MOST);
        return Err(Error::new(ErrorKind::Usage, what));
    }
    if format == Format::Stap && !arguments.is_empty() {
        let error = Error::new(ErrorKind::Usage, "probe points in SystemTap's spelling have no arguments");
        return Err(error.hint("use: probeidx find SPEC --args"));
    }
    let wanted = Wanted { locals: args.locals, lines: true, arguments: &arguments, ..Wanted::default() };
    let live = args.live.as_deref().map(capture::read).transpose()?;
    let mut outcome = Outcome::Nothing;
    let mut reasons = Reasons::new(std::slice::from_ref(&args.spec));
    let asked = processes::asked(config, &specs)?;
    if matches!(format, Format::Text | Format::Stap) {
        processes::name_kernel(config);
    }
    let is_one_of_several = asked.len() > 1;
    if is_one_of_several && tool(format).is_some_and(Tool::is_program) {
        let error = Error::new(ErrorKind::Usage, "what a tool takes is about one kernel");
        return Err(error.hint("name it: --kernel RELEASE"));
    }
    let mut several = Several::new(config, asked.len()).headed_if(format == Format::Text);
    for (path, specs) in asked {
        let index = config.open(&path)?;
        let view = &index.view()?;
        let out = &mut several.below(view, out);
        let specs = event::told_apart(view, specs);
        if format == Format::Stap {
            match find::listing(view, &specs, false, config, out).map_err(|e| index.named(e))? {
                Some(_) => outcome = Outcome::Done,
                None => {
                    several.lacks(view, None);
                    reasons.missed(specs, &index);
                }
            }
            continue;
        }
        let laid = live.as_ref().map(|live| Overlay::new(view, live)).transpose();
        let overlay = laid.map_err(|e| e.at(args.live.as_deref().unwrap_or(&path)))?;
        let wanted = Wanted { running: overlay.as_ref(), ..wanted };
        let mut printer = Printer::new(view, format, text::Style { color: config.color });
        // Placements are of no use without the requested values: hold them back until each argument has been found at
        // one.
        let is_held = !arguments.is_empty() && format != Format::Json;
        let out = &mut if is_held { Held::waiting(out) } else { Held::open(out) };
        let mut found = false;
        let mut seen = vec![false; arguments.len()];
        let mut unread = Unread::default();
        for spec in &specs {
            let is_event = matches!(spec.point, Point::Trace(_));
            let shown = answers(view, spec, wanted, &mut |answer| {
                let values = answer.values();
                found = true;
                for (seen, argument) in seen.iter_mut().zip(&arguments) {
                    // An argument that no event has was reported before the first one.
                    *seen |= is_event || values.iter().any(|v| v.name == argument.text && is_known(v));
                }
                unread.add(values);
                if !seen.contains(&false) {
                    out.release().map_err(failed)?;
                }
                printer.answer(&answer, out).map_err(failed)
            });
            shown.map_err(|e| index.named(e))?;
        }
        if found {
            event::too(view, &specs).iter().for_each(|said| note(config, said));
            find::name_files(view, &specs, config);
        }
        let nothing_read = unread.reasons(arguments.len()).filter(|_| format != Format::Json);
        if !found {
            several.lacks(view, None);
            reasons.missed(specs.clone(), &index);
        } else if let Some(why) = printer.nothing() {
            reasons.push(why.to_owned());
        } else if let Some(why) = nothing_read.filter(|_| !seen.contains(&false)) {
            reasons.push(why);
        } else {
            outcome = Outcome::Done;
        }
        if let Some(at) = seen.iter().position(|s| !s).filter(|_| found) {
            return Err(no_variable(view, &specs, &arguments[at]));
        }
        printer.finish(out).map_err(failed)?;
        if let Some(many) = printer.many() {
            out.flush().map_err(failed)?;
            note(config, &many);
        }
    }
    if outcome == Outcome::Nothing { reasons.nothing(config) } else { several.end(outcome, out) }
}

/// Whether the variable exists, readable or not.
pub fn is_known(value: &ValueAt) -> bool {
    value.type_id.is_some() || value.role != Role::Local || value.state == State::Unsupported
}

/// Why none of the requested values can be read, while that is so.
#[derive(Default)]
struct Unread {
    reasons: Vec<String>,
    is_any_read: bool,
}

impl Unread {
    fn add(&mut self, values: &[ValueAt]) {
        self.is_any_read |= values.iter().any(|v| v.fetch.is_some());
        for v in values.iter().filter(|v| v.is_asked && !self.is_any_read) {
            let why = v.location.as_deref().map_or(String::new(), |why| format!(", {why}"));
            let reason = format!("{}: {}{why}", v.name, v.state.name());
            if !self.reasons.contains(&reason) {
                self.reasons.push(reason);
            }
        }
    }

    /// One line; `None` if something can be read, or nothing was requested.
    fn reasons(&self, asked: usize) -> Option<String> {
        if self.is_any_read || asked == 0 || self.reasons.is_empty() {
            return None;
        }
        let more = self.reasons.len().saturating_sub(asked.max(3));
        let shown = self.reasons[..self.reasons.len() - more].join("; ");
        let more = if more == 0 { String::new() } else { format!("; and {more} other reasons") };
        Some(format!("nothing of what was asked for can be read: {shown}{more}"))
    }
}

/// Reports for each kernel at how many places something is defined.
fn is_defined(asked: &str, specs: &[Spec], config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    let argument = argument::parse(asked)?;
    let mut outcome = Outcome::Done;
    for (path, specs) in processes::asked(config, specs)? {
        let index = config.open(&path)?;
        let view = &index.view()?;
        for spec in &event::told_apart(view, specs) {
            let found = defined::defined(view, spec, &argument).map_err(|e| index.named(e))?;
            if !found.everywhere() {
                outcome = Outcome::Nothing;
            }
            let name = String::from_utf8_lossy(user_object::path(view).unwrap_or(view.release()));
            let written = match config.json {
                true => json::defined(view, asked, &found, out),
                false => text::defined(&name, asked, &found, out),
            };
            written.map_err(failed)?;
        }
    }
    Ok(outcome)
}

/// The tool that a format is for.
fn tool(format: Format) -> Option<Tool> {
    match format {
        Format::KprobeEvents => Some(Tool::KprobeEvents),
        Format::Perf => Some(Tool::Recorder(Recorder::Perf)),
        Format::TraceCmd => Some(Tool::Recorder(Recorder::TraceCmd)),
        Format::Bpftrace => Some(Tool::Bpftrace),
        Format::C => Some(Tool::C),
        Format::Text | Format::Stap | Format::Json => None,
    }
}

/// Writes placements in one of the formats.
struct Printer<'a> {
    view: &'a View<'a>,
    release: Cow<'a, str>,
    format: Format,
    style: text::Style,
    /// The declaration of the last heading: object, function, file and line.
    heading: Option<(ObjectId, Vec<u8>, Vec<u8>, u32)>,
    handed_over: Option<hand_over::Writer>,
    /// The alias and point of the last heading.
    named: Option<(String, String)>,
    /// The number of placements written as text.
    placements: usize,
    /// The declarations of those placements, as hashes.
    functions: FxHashSet<u64>,
}

impl<'a> Printer<'a> {
    fn new(view: &'a View<'a>, format: Format, style: text::Style) -> Self {
        Self {
            view,
            release: String::from_utf8_lossy(view.release()),
            format,
            style,
            heading: None,
            handed_over: None,
            named: None,
            placements: 0,
            functions: FxHashSet::default(),
        }
    }

    /// The number of placements, if it is large enough to mention.
    fn many(&self) -> Option<String> {
        const FEW: usize = 50;
        let (placements, functions) = (self.placements, self.functions.len());
        let s = if functions == 1 { "" } else { "s" };
        (placements > FEW).then(|| format!("{placements} placements of {functions} function{s}"))
    }

    fn answer(&mut self, answer: &Answer<'_, '_>, out: &mut dyn Write) -> std::io::Result<()> {
        match answer {
            Answer::Code(placement, filter) => self.placement(placement, *filter, out),
            Answer::Tracepoint(traced) => self.tracepoint(traced, out),
            Answer::Alias(probe) => self.probe(probe, out),
        }
    }

    /// What another tool takes, if the answer is for one.
    fn hand_over(&mut self, out: &mut dyn Write) -> std::io::Result<Option<&mut hand_over::Writer>> {
        let Some(tool) = tool(self.format) else { return Ok(None) };
        let writer = match &mut self.handed_over {
            Some(writer) => writer,
            none => none.insert(hand_over::Writer::new(tool, self.view, out)?),
        };
        Ok(Some(writer))
    }

    fn placement(&mut self, p: &Placement<'_>, filter: Filter, out: &mut dyn Write) -> std::io::Result<()> {
        if let Some(writer) = self.hand_over(out)? {
            return writer.placement(p, filter, out);
        }
        match self.format {
            Format::Json => json::placement(self.view, &self.release, p, filter, out),
            Format::Text => {
                self.placements += 1;
                self.functions.insert(FxBuildHasher.hash_one((p.object, p.function, p.file, p.line)));
                let is_same = |h: &(ObjectId, Vec<u8>, Vec<u8>, u32)| {
                    (h.0, &h.1[..], &h.2[..], h.3) == (p.object, p.function, p.file, p.line)
                };
                if !self.heading.as_ref().is_some_and(is_same) {
                    self.heading = Some((p.object, p.function.to_vec(), p.file.to_vec(), p.line));
                    text::heading(p, filter, self.style, out)?;
                }
                text::placement(p, self.view.machine(), self.style, out)
            }
            // The listing prints the points in SystemTap's spelling, and a tool got the others.
            _ => Ok(()),
        }
    }

    fn tracepoint(&mut self, traced: &TracepointValues<'_>, out: &mut dyn Write) -> std::io::Result<()> {
        if let Some(writer) = self.hand_over(out)? {
            return writer.tracepoint(traced, out);
        }
        match self.format {
            Format::Json => tracepoint::json(self.view, &self.release, traced, out),
            Format::Text => tracepoint::text_of(self.view, traced, self.style, out),
            _ => Ok(()),
        }
    }

    /// A probe of an alias.
    fn probe(&mut self, probe: &Probe<'_, '_>, out: &mut dyn Write) -> std::io::Result<()> {
        if self.format == Format::Json {
            return aliases::put_json(self.view, &self.release, probe, out);
        }
        let Probe { named, filter, place } = probe;
        let above = (named.name.to_owned(), named.point.to_owned());
        if self.format == Format::Text && self.named.as_ref() != Some(&above) {
            render::heading(named, self.style, out)?;
            self.named = Some(above);
        }
        match place {
            At::Code(placement) => self.placement(placement, *filter, out)?,
            At::Trace(traced) => self.tracepoint(traced, out)?,
            At::Nowhere | At::Unindexed => {}
        }
        match self.format {
            Format::Text => render::locals(named.locals, self.style, out),
            _ => Ok(()),
        }
    }

    /// Why the tool that was asked for has nothing to do.
    fn nothing(&self) -> Option<&'static str> {
        self.handed_over.as_ref().and_then(hand_over::Writer::nothing)
    }

    /// Writes what follows the last place.
    fn finish(&mut self, out: &mut dyn Write) -> std::io::Result<()> {
        self.handed_over.as_mut().map_or(Ok(()), |writer| writer.finish(out))
    }
}

/// The error for an argument that no placement of the specs has, with the variables that there are.
pub fn no_variable(view: &View<'_>, specs: &[Spec], argument: &Argument) -> Error {
    let name = match &argument.source {
        Source::Variable(way) => &way.root,
        Source::Returned(_) | Source::Raw(_) => {
            return Error::new(ErrorKind::NoMatch, "the function is not known to return anything");
        }
    };
    let mut known: Vec<String> = vec![];
    for spec in specs {
        let all = Wanted { locals: true, ..Wanted::default() };
        // An error here has already been reported.
        let _ = resolve::resolve(view, spec, all, |placement, _| {
            for value in placement.values {
                if !known.contains(&value.name) {
                    known.push(value.name);
                }
            }
            Ok(())
        });
    }
    let near = nearest::nearest(name, known.iter().map(String::as_str), 3);
    let error = Error::new(ErrorKind::NoMatch, format!("no variable '{name}' in any of the placements"));
    match (near.is_empty(), known.is_empty()) {
        (false, _) => error.hint(format!("did you mean {}?", near.join(", "))),
        (true, false) => error.hint(format!("there are {}", known.join(", "))),
        (true, true) => error,
    }
}
