//! `probeidx bpf`
use super::args::{Bpf, Offered};
use super::config::Config;
use super::exit::Outcome;
use super::output::failed;
use super::several::Several;
use super::why_not::nothing;
use crate::error::{Error, ErrorKind, Result};
use crate::nearest;
use crate::pattern::Pattern;
use crate::query::offers::{Kind, offers};
use crate::render::offers::{json, text};
use clap::ValueEnum;
use probeidx_format::View;
use std::io::Write;

/// Lists what kernels offer to BPF programs.
pub fn run(args: &Bpf, config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    let pattern = Pattern::new(args.pattern.as_deref().unwrap_or("*"))?;
    let kinds = kinds(args.kind);
    let (mut outcome, mut near) = (Outcome::Nothing, vec![]);
    let files = config.indexes()?;
    let mut several = Several::new(config, files.len());
    for path in files {
        let index = config.open(&path)?;
        let view = &index.view()?;
        let out = &mut several.below(view, out);
        let mut any = false;
        let release = String::from_utf8_lossy(view.release());
        for kind in &kinds {
            let found = offers(view, *kind, &pattern);
            for offer in &found {
                any = true;
                let written = if config.json { json(&release, offer, out) } else { text(offer, out) };
                written.map_err(failed)?;
            }
            if found.is_empty() {
                near.extend(near_to(view, *kind, &pattern)?);
            }
        }
        match any {
            true => outcome = Outcome::Done,
            false => several.lacks(view, None),
        }
    }
    if outcome == Outcome::Done {
        several.end(outcome, out)
    } else {
        nothing(&[missing(&pattern, &mut near)], config)
    }
}

/// What is asked for by this name.
///
/// # Errors
/// [`ErrorKind::Usage`] for one that the command line does not take.
pub fn named(name: &str) -> Result<Offered> {
    Offered::from_str(name, false).map_err(|_| {
        let known = Offered::value_variants().iter().filter_map(ValueEnum::to_possible_value);
        let known: Vec<String> = known.map(|value| value.get_name().to_owned()).collect();
        let what = format!("there is nothing of the kind {name}");
        Error::new(ErrorKind::Usage, what).hint(format!("write one of {}", known.join(", ")))
    })
}

/// The kinds that are asked for.
pub fn kinds(asked: Offered) -> Vec<Kind> {
    let name = asked.to_possible_value();
    let is_asked = |kind: &Kind| {
        asked == Offered::All || name.as_ref().is_some_and(|name| name.get_name() == kind.name())
    };
    Kind::ALL.into_iter().filter(is_asked).collect()
}

/// The names of a kind that are near to one that there is not.
///
/// # Errors
/// None: every name is a pattern.
pub fn near_to(view: &View<'_>, kind: Kind, pattern: &Pattern) -> Result<Vec<String>> {
    if !pattern.is_literal() {
        return Ok(vec![]);
    }
    let all = offers(view, kind, &Pattern::new("*")?);
    let names = all.iter().map(|offer| offer.name.as_str());
    Ok(nearest::nearest(pattern.literal_prefix(), names, 3))
}

/// That nothing is called so, and what is called similarly: each once.
pub fn missing(pattern: &Pattern, near: &mut Vec<String>) -> String {
    near.sort();
    near.dedup();
    match near.is_empty() {
        true => format!("the kernel offers nothing of that kind called {pattern}"),
        false => format!("nothing is called {pattern}; did you mean {}?", near.join(", ")),
    }
}
