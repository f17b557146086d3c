//! `probeidx complete`: the completions of the word at the cursor, from the definition of the command line and from the
//! index. The scripts of `probeidx completions` call it for every press of the tab key.
pub mod alias;
pub mod argument;
pub mod bounded;
pub mod member;
pub mod point;
mod shell;
mod slot;

use super::args::{Complete, Shell};
use super::config::Config;
use super::exit::Outcome;
use super::output::failed;
use crate::error::{ErrorKind, Result};
use crate::kernels;
use crate::query::Index;
use crate::render::json_of;
use probeidx_format::View;
use shell::Typed;
use slot::{Slot, Source, Wanted};
use std::io::Write;
use std::sync::Arc;

/// A completion.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Candidate {
    /// The whole word.
    pub text: String,
    /// A short description; may be empty.
    pub about: String,
    /// Whether something may follow it without a space.
    pub goes_on: bool,
}

impl Candidate {
    fn new(text: impl Into<String>, about: impl Into<String>) -> Self {
        Self { text: text.into(), about: about.into(), goes_on: false }
    }
    fn going_on(text: impl Into<String>, about: impl Into<String>) -> Self {
        Self { goes_on: true, ..Self::new(text, about) }
    }
}

/// A completion, or that the shell is to complete file names.
#[derive(serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Completion"))]
#[serde(untagged)]
pub enum Line<'a> {
    /// File names.
    Files {
        /// True.
        files: bool,
    },
    /// A completion.
    Candidate {
        /// The whole word.
        text: &'a str,
        /// A short description; may be empty.
        about: &'a str,
        /// Whether something may follow it without a space.
        goes_on: bool,
    },
}

/// Printed alone if the shell is to complete file names.
const FILES: &str = ":files";

/// Prints a script that completes the command line in this shell.
pub fn script(shell: Shell, out: &mut dyn Write) -> Result<Outcome> {
    let script = match shell {
        Shell::Bash => include_str!("probeidx.bash"),
        Shell::Zsh => include_str!("_probeidx"),
        Shell::Fish => include_str!("probeidx.fish"),
    };
    out.write_all(script.as_bytes()).map_err(failed)?;
    Ok(Outcome::Done)
}

/// Prints the completions of the last word: for bash, the text that replaces it; for other shells the word, a tab, its
/// description and, if something may follow it, a tab and a plus sign.
pub fn run(args: &Complete, config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    let typed = match &args.line {
        Some(line) => shell::read(line, args.breaks.as_deref().unwrap_or(shell::USUAL_BREAKS)),
        None => Typed::words(&args.words),
    };
    let command = slot::command();
    let slot = Slot::find(&command, &typed.words);
    let found = if typed.is_file { None } else { candidates(&slot, config) };
    let Some(found) = found else {
        let line =
            if config.json { json_of(&Line::Files { files: true }).to_string() } else { FILES.to_owned() };
        writeln!(out, "{line}").map_err(failed)?;
        return Ok(Outcome::Done);
    };
    let mut found = bounded::bounded(found, slot.typed.len());
    let is_only = found.len() == 1;
    for candidate in &mut found {
        candidate.text.insert_str(0, slot.head);
    }
    // The text before the cursor stays as typed.
    found.retain(|candidate| candidate.text.starts_with(typed.last()));
    for candidate in &found {
        let Candidate { text, about, goes_on } = candidate;
        let written = match (&args.line, config.json) {
            (_, true) => {
                writeln!(out, "{}", json_of(&Line::Candidate { text, about, goes_on: *goes_on }))
            }
            (Some(_), _) => writeln!(out, "{}", typed.insertion(text, is_only && !goes_on)),
            (None, _) => writeln!(out, "{text}\t{about}{}", if *goes_on { "\t+" } else { "" }),
        };
        written.map_err(failed)?;
    }
    Ok(if found.is_empty() { Outcome::Nothing } else { Outcome::Done })
}

/// The completions at this position; `None` for a file.
fn candidates(slot: &Slot<'_>, config: &Config) -> Option<Vec<Candidate>> {
    let mut config = config.clone();
    config.db = slot.option("db").map_or(config.db, Into::into);
    config.kernel = slot.option("kernel").map(str::to_owned).or(config.kernel);
    let source = match &slot.wanted {
        Wanted::Nothing => return Some(vec![]),
        Wanted::Choice(choices) => return Some(choices.clone()),
        Wanted::File => return None,
        Wanted::Value(Source::Kernel) => return Some(kernels(&config)),
        Wanted::Value(source) => *source,
    };
    let Some(index) = index(&config) else { return Some(vec![]) };
    let Ok(view) = index.view() else { return Some(vec![]) };
    let typed = slot.typed;
    Some(match source {
        Source::Kernel => vec![],
        Source::Point => point::points(&view, typed),
        Source::Lines => point::lines(&view, typed),
        Source::Address => point::addresses(&view, typed),
        Source::Module => point::modules(&view, typed),
        Source::Type => member::types(&view, typed),
        Source::Alias => {
            let of_macros = slot.option("macros").is_some();
            match of_macros || slot.option("functions").is_some() {
                false => alias::aliases(&view, typed),
                true => alias::definitions(&view, typed, of_macros),
            }
        }
        Source::Argument => slot.first().map_or(vec![], |spec| of_spec(spec, &config, &view, typed)),
    })
}

/// The values that can be read at the placements of the spec.
fn of_spec(spec: &str, config: &Config, view: &View<'_>, typed: &str) -> Vec<Candidate> {
    let Ok(specs) = crate::query::spec::parse(spec) else { return vec![] };
    let is_of_kernel = specs
        .iter()
        .all(|spec| !matches!(spec.point.scope(), Some(crate::query::spec::ModuleScope::Process(_))));
    if is_of_kernel {
        return argument::arguments(view, &specs, typed);
    }
    let asked = super::processes::asked(config, &specs).unwrap_or_default();
    let opened = asked.first().and_then(|(path, specs)| Some((config.open(path).ok()?, specs)));
    let Some((index, specs)) = opened else { return vec![] };
    index.view().map_or(vec![], |view| argument::arguments(&view, specs, typed))
}

/// The index that a command would use; the last one if several are possible.
fn index(config: &Config) -> Option<Arc<Index>> {
    let files = match config.indexes() {
        Err(error) if error.kind() == ErrorKind::Usage => kernels::choose(&config.db, Some("*"), None),
        files => files,
    };
    config.open(files.ok()?.last()?).ok()
}

fn kernels(config: &Config) -> Vec<Candidate> {
    let releases = config.releases().unwrap_or_default();
    let all = (releases.len() > 1).then(|| Candidate::new("*", "all kernels that are indexed"));
    all.into_iter().chain(releases.into_iter().map(|release| Candidate::new(release, ""))).collect()
}
