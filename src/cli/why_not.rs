//! Explains why nothing matched.
use super::config::Config;
use super::exit::Outcome;
use super::note;
use crate::error::{Error, ErrorKind, Result};
use crate::kernels::side_by_side;
use crate::pattern;
use crate::query::spec::Spec;
use crate::query::systemtap::alias::missing;
use crate::query::{Index, explain as query};
use std::sync::Arc;

/// Why a command found nothing in some kernels. Similar names are looked for only if all others have nothing either: that
/// takes some milliseconds in each.
pub struct Reasons<'t> {
    /// The sources of the specs.
    texts: &'t [String],
    all: Vec<Reason>,
}

enum Reason {
    Known(String),
    /// Nothing matched these specs.
    Missed(Vec<Spec>, Arc<Index>),
}

impl<'t> Reasons<'t> {
    /// None yet. `texts` are the sources of the specs.
    pub fn new(texts: &'t [String]) -> Self {
        Self { texts, all: vec![] }
    }
    /// Adds what is known already.
    pub fn push(&mut self, reason: String) {
        self.all.push(Reason::Known(reason));
    }
    /// Adds an index in which nothing matched.
    pub fn missed(&mut self, specs: Vec<Spec>, index: &Arc<Index>) {
        self.all.push(Reason::Missed(specs, Arc::clone(index)));
    }
    /// Ends a command that found nothing anywhere: see [`nothing`].
    ///
    /// # Errors
    /// Those of [`why_not`].
    pub fn nothing(&self, config: &Config) -> Result<Outcome> {
        let told = side_by_side(&self.all, |reason| match reason {
            Reason::Known(reason) => Ok(vec![reason.clone()]),
            Reason::Missed(specs, index) => why_not(specs, self.texts, index),
        });
        nothing(&told.into_iter().collect::<Result<Vec<_>>>()?.concat(), config)
    }
}

/// Ends a command that found nothing: prints the reasons on stderr, with `--json` as one JSON object. What several kernels
/// say is said once.
pub fn nothing(reasons: &[String], config: &Config) -> Result<Outcome> {
    let mut told: Vec<&str> = vec![];
    for reason in reasons {
        // Kernels have different names that are near.
        match told.iter_mut().find(|known| without_names(known) == without_names(reason)) {
            Some(known) if known.len() < reason.len() => *known = reason,
            Some(_) => {}
            None => told.push(reason),
        }
    }
    let reasons = told;
    if config.json && !reasons.is_empty() {
        return Err(Error::new(ErrorKind::NoMatch, reasons.join("; ")));
    }
    reasons.iter().for_each(|reason| note(config, reason));
    Ok(Outcome::Nothing)
}

/// A reason without the names that are near.
pub fn without_names(reason: &str) -> &str {
    reason.split_once("; did you mean ").map_or(reason, |(reason, _)| reason)
}

/// Why nothing in this index matched, if known, or which names are similar. `texts` are the sources of the specs.
///
/// # Errors
/// Those of decoding tapset definitions.
pub fn why_not(specs: &[Spec], texts: &[String], index: &Index) -> Result<Vec<String>> {
    Ok(why_not_with_names(specs, texts, index)?.0)
}

/// Like [`why_not`]; and the similar names, the nearest first.
///
/// # Errors
/// Those of decoding tapset definitions.
pub fn why_not_with_names(
    specs: &[Spec],
    texts: &[String],
    index: &Index,
) -> Result<(Vec<String>, Vec<String>)> {
    let view = &index.view()?;
    let mut reasons = query::why_not(view, specs);
    reasons.extend(missing::why_not(view, specs).map_err(|e| index.named(e))?);
    let release = String::from_utf8_lossy(view.release());
    let said = |missing: &query::Missing| match missing.needs_debug_information {
        true => format!("{missing}; for the rest: {}", super::build::install_hint(&release)),
        false => missing.to_string(),
    };
    let open = texts.iter().filter(|_| reasons.iter().any(|missing| !missing.is_known));
    let said = reasons.iter().map(said).chain(open.filter_map(|text| unclosed(text))).collect();
    Ok((said, reasons.iter().flat_map(|missing| missing.near.iter().cloned()).collect()))
}

/// A message for a pattern that matched nothing and has an unclosed bracket.
fn unclosed(text: &str) -> Option<String> {
    let at = pattern::unclosed(text)?;
    let column = text[..at].chars().count() + 1;
    let remedy = "close it with ], or write \\[";
    Some(format!("{text}: column {column}: the [ is not closed and stands for itself; {remedy}"))
}
