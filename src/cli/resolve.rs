//! `probeidx resolve`
use super::args::{Format, Resolve};
use super::config::Config;
use super::exit::Outcome;
use super::output::failed;
use super::why_not::{nothing, why_not};
use crate::error::{Error, ErrorKind, Result};
use crate::query::placement::Placement;
use crate::query::spec::Filter;
use crate::query::{Index, resolve, spec, suggest};
use crate::render::{json, kprobe_events, text};
use probeidx_format::View;
use probeidx_format::id::ObjectId;
use std::borrow::Cow;
use std::io::Write;

/// Shows every placement of a spec.
pub fn run(args: &Resolve, config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    let specs = spec::parse(&args.spec)?;
    let format = if config.json { Format::Json } else { args.format };
    if format == Format::KprobeEvents && !args.args.is_empty() {
        return Err(Error::new(ErrorKind::Usage, "fetch arguments cannot be written by this version")
            .hint("leave the arguments away, and add them by hand"));
    }
    let wanted: Vec<&str> = args.args.iter().map(|a| root_of(a)).collect();
    let mut outcome = Outcome::Nothing;
    let mut reasons = vec![];
    for path in config.indexes()? {
        let index = Index::open(&path)?;
        let view = index.view()?;
        let mut printer = Printer::new(&view, format, text::Style { color: config.color });
        let mut found = false;
        let mut known: Vec<String> = vec![];
        let mut seen = vec![false; wanted.len()];
        for spec in &specs {
            resolve::resolve(view, spec, args.locals || !wanted.is_empty(), |mut placement, filter| {
                found = true;
                keep_wanted(&mut placement, &wanted, &mut seen, &mut known);
                printer.placement(&placement, filter, out).map_err(failed)
            })?;
        }
        if !found {
            reasons.extend(why_not(&specs, &index)?);
        } else if printer.is_without_definitions() {
            reasons.push("kprobe_events take none of the places; see: probeidx resolve".to_owned());
        } else {
            outcome = Outcome::Done;
        }
        if let Some(at) = seen.iter().position(|s| !s).filter(|_| found) {
            return Err(no_variable(wanted[at], &known));
        }
    }
    if outcome == Outcome::Nothing { nothing(&reasons, config) } else { Ok(outcome) }
}

/// Writes placements in one of the formats.
struct Printer<'a> {
    view: &'a View<'a>,
    release: Cow<'a, str>,
    format: Format,
    style: text::Style,
    /// The declaration of which the heading stands: object, function, file and line.
    heading: Option<(ObjectId, Vec<u8>, Vec<u8>, u32)>,
    definitions: Option<kprobe_events::Writer>,
}

impl<'a> Printer<'a> {
    fn new(view: &'a View<'a>, format: Format, style: text::Style) -> Self {
        let release = String::from_utf8_lossy(view.release());
        Self { view, release, format, style, heading: None, definitions: None }
    }

    fn placement(&mut self, p: &Placement<'_>, filter: Filter, out: &mut dyn Write) -> std::io::Result<()> {
        match self.format {
            Format::Json => json::placement(self.view, &self.release, p, filter, out),
            Format::KprobeEvents => {
                let writer = match &mut self.definitions {
                    Some(writer) => writer,
                    none => none.insert(kprobe_events::Writer::new(self.view, out)?),
                };
                writer.placement(p, filter, out)
            }
            Format::Text => {
                let is_same = |h: &(ObjectId, Vec<u8>, Vec<u8>, u32)| {
                    (h.0, &h.1[..], &h.2[..], h.3) == (p.object, p.function, p.file, p.line)
                };
                if !self.heading.as_ref().is_some_and(is_same) {
                    self.heading = Some((p.object, p.function.to_vec(), p.file.to_vec(), p.line));
                    text::heading(p, filter, self.style, out)?;
                }
                text::placement(p, self.style, out)
            }
        }
    }

    /// Whether definitions were asked for, and there are none.
    fn is_without_definitions(&self) -> bool {
        self.definitions.as_ref().is_some_and(|d| d.defined == 0)
    }
}

/// The variable with which an argument such as `file->f_path.dentry` or `name=+8(x)` starts.
fn root_of(argument: &str) -> &str {
    let argument = argument.trim_start_matches('$');
    let end = argument.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(argument.len());
    &argument[..end]
}

fn keep_wanted(placement: &mut Placement<'_>, wanted: &[&str], seen: &mut [bool], known: &mut Vec<String>) {
    if wanted.is_empty() {
        return;
    }
    placement.variables.retain(|v| {
        let name = String::from_utf8_lossy(v.name);
        match wanted.iter().position(|w| *w == name) {
            Some(at) => {
                seen[at] = true;
                true
            }
            None => {
                if !known.iter().any(|k| *k == name) {
                    known.push(name.into_owned());
                }
                false
            }
        }
    });
}

fn no_variable(name: &str, known: &[String]) -> Error {
    let near = suggest::nearest(name, known.iter().map(String::as_str), 3);
    let error = Error::new(ErrorKind::NoMatch, format!("no variable '{name}' in any of the placements"));
    match (near.is_empty(), known.is_empty()) {
        (false, _) => error.hint(format!("did you mean {}?", near.join(", "))),
        (true, false) => error.hint(format!("there are {}", known.join(", "))),
        (true, true) => error,
    }
}
