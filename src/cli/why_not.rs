//! Explains why nothing matched.
use super::config::Config;
use super::exit::Outcome;
use super::note;
use crate::error::{Error, ErrorKind, Result};
use crate::pattern;
use crate::query::spec::Spec;
use crate::query::systemtap::alias::missing;
use crate::query::{Index, explain as query};
use rustc_hash::FxHashSet;

/// Ends a command that found nothing: prints the reasons on stderr, with `--json` as one JSON object. What several kernels
/// say is said once.
pub fn nothing(reasons: &[String], config: &Config) -> Result<Outcome> {
    let mut known = FxHashSet::default();
    let reasons: Vec<&str> =
        reasons.iter().map(String::as_str).filter(|reason| known.insert(*reason)).collect();
    if config.json && !reasons.is_empty() {
        return Err(Error::new(ErrorKind::NoMatch, reasons.join("; ")));
    }
    reasons.iter().for_each(|reason| note(config, reason));
    Ok(Outcome::Nothing)
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
