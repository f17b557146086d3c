//! `probeidx resolve`
use super::args::{Format, Resolve};
use super::config::Config;
use super::exit::Outcome;
use super::output::failed;
use super::why_not::{nothing, why_not};
use crate::error::{Error, ErrorKind, Result};
use crate::query::placement::Placement;
use crate::query::{Index, resolve, spec, suggest};
use crate::render::{json, text};
use std::io::Write;

/// Shows every placement of a spec.
pub fn run(args: &Resolve, config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    let specs = spec::parse(&args.spec)?;
    let as_json = config.json || args.format == Format::Json;
    let wanted: Vec<&str> = args.args.iter().map(|a| root_of(a)).collect();
    let mut outcome = Outcome::Nothing;
    let mut reasons = vec![];
    for path in config.indexes()? {
        let index = Index::open(&path)?;
        let view = index.view()?;
        let release = String::from_utf8_lossy(view.release());
        let style = text::Style { color: config.color };
        let mut heading = None;
        let mut known: Vec<String> = vec![];
        let mut seen = vec![false; wanted.len()];
        for spec in &specs {
            resolve::resolve(view, spec, args.locals || !wanted.is_empty(), |mut placement, filter| {
                outcome = Outcome::Done;
                keep_wanted(&mut placement, &wanted, &mut seen, &mut known);
                if as_json {
                    return json::placement(&view, &release, &placement, filter, out).map_err(failed);
                }
                let key = (placement.object, placement.function, placement.file, placement.line);
                if heading != Some(key) {
                    heading = Some(key);
                    text::heading(&placement, style, out).map_err(failed)?;
                }
                text::placement(&placement, style, out).map_err(failed)
            })?;
        }
        if heading.is_none() && outcome == Outcome::Nothing {
            reasons.extend(why_not(&specs, &index)?);
        }
        if let Some(at) = seen.iter().position(|s| !s).filter(|_| outcome == Outcome::Done) {
            return Err(no_variable(wanted[at], &known));
        }
    }
    if outcome == Outcome::Nothing { nothing(&reasons, config) } else { Ok(outcome) }
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
