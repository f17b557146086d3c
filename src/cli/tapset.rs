//! `probeidx tapset`
use super::args::Tapset;
use super::config::Config;
use super::exit::Outcome;
use super::output::failed;
use super::several::Several;
use super::why_not::nothing;
use crate::error::Result;
use crate::query::Index;
use crate::query::explain::Missing;
use crate::query::explain::definitions::{Kind, missing};
use crate::query::systemtap::alias;
use crate::query::systemtap::alias::explain::explain;
use crate::render::text::Style;
use crate::render::{aliases as meanings, printable, tapset as lines, tapset_definitions as full};
use crate::tapset::Definitions;
use crate::tapset::ast::Alias;
use crate::tapset::handler::Words;
use crate::tapset::name::NamePattern;
use probeidx_format::View;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::Write;

/// Shows tapset definitions; without a pattern, a line for each, like SystemTap's dumps.
pub fn run(args: &Tapset, config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    let patterns = parsed(args)?;
    let mut outcome = Outcome::Nothing;
    let mut reasons = vec![];
    let files = config.indexes()?;
    let mut several = Several::new(config, files.len());
    for path in files {
        let index = config.open(&path)?;
        let view = &index.view()?;
        match of_index(args, &patterns, &index, config, &mut several.below(view, out))? {
            None => outcome = Outcome::Done,
            Some(missing) => {
                several.lacks(view, None);
                reasons.extend(missing.iter().map(Missing::to_string));
            }
        }
    }
    if outcome == Outcome::Nothing { nothing(&reasons, config) } else { several.end(outcome, out) }
}

/// The patterns.
///
/// # Errors
/// [`ErrorKind::Usage`](crate::error::ErrorKind::Usage) for one that is none.
pub fn parsed(args: &Tapset) -> Result<Vec<NamePattern>> {
    args.patterns.iter().map(|p| NamePattern::new(p)).collect()
}

/// Shows the definitions of one index; if there are none, what is missing.
///
/// # Errors
/// Those of decoding the definitions, and of writing.
pub fn of_index(
    args: &Tapset,
    patterns: &[NamePattern],
    index: &Index,
    config: &Config,
    out: &mut dyn Write,
) -> Result<Option<Vec<Missing>>> {
    let view = &index.view()?;
    let path = index.path();
    let definitions = Definitions::of_index(view).map_err(|e| e.at(path))?;
    let kernel = String::from_utf8_lossy(view.release());
    let asked = Asked { args, patterns, definitions: &definitions, view, kernel: &kernel, config };
    let (kind, any) = match (args.functions, args.macros) {
        (true, _) => (Kind::Function, asked.functions(out).map_err(failed)?),
        (_, true) => (Kind::Macro, asked.macros(out).map_err(failed)?),
        _ => (Kind::Alias, asked.aliases(out).map_err(|e| index.named(e))?),
    };
    definitions.whole().map_err(|e| e.at(path))?;
    let missing = |pattern: &String| missing(&definitions, kind, pattern);
    Ok((!any).then(|| args.patterns.iter().map(missing).collect()))
}

/// A query of one index. Its methods return whether anything matched.
struct Asked<'a> {
    args: &'a Tapset,
    patterns: &'a [NamePattern],
    definitions: &'a Definitions<'a>,
    view: &'a View<'a>,
    kernel: &'a str,
    config: &'a Config,
}

impl Asked<'_> {
    fn is_asked(&self, name: &str) -> bool {
        let shown = |hidden_too: bool| self.args.all || hidden_too || !name.starts_with('_');
        match self.patterns {
            [] => shown(false),
            patterns => patterns.iter().any(|p| p.matches(name) && shown(p.asks_for_hidden())),
        }
    }
    fn in_full(&self) -> bool {
        !self.patterns.is_empty()
    }

    fn aliases(&self, out: &mut dyn Write) -> Result<bool> {
        let definitions = self.definitions;
        if !self.in_full() && !self.config.json {
            let asked = definitions.aliases().filter(|alias| self.args.all || !alias.hidden());
            let dumped = lines::aliases(asked);
            dumped.iter().try_for_each(|line| writeln!(out, "{}", printable(line))).map_err(failed)?;
            return Ok(!dumped.is_empty());
        }
        // By position: an alias with several names is one, and a name can be defined repeatedly.
        let names = definitions.alias_names().into_iter().filter(|name| self.is_asked(name));
        let mut asked: Vec<&Alias> = vec![];
        for alias in names.flat_map(|name| definitions.alias(name)) {
            if !asked.iter().any(|other| std::ptr::eq(*other, alias)) {
                asked.push(alias);
            }
        }
        let words = alias::words(self.view, definitions);
        for alias in &asked {
            self.alias(alias, &words, out)?;
        }
        Ok(!asked.is_empty())
    }

    /// Prints an alias: its definition and, with a pattern, its meaning on this kernel.
    fn alias(&self, alias: &Alias, words: &Words<'_>, out: &mut dyn Write) -> Result<()> {
        let Self { definitions, view, config, .. } = *self;
        let explained = || explain(view, definitions, words, alias);
        if config.json {
            let mut line = vec![];
            full::alias_json(definitions, self.kernel, alias, &mut line).map_err(failed)?;
            if self.in_full() {
                let here = json!({"here": meanings::explained_json(&explained()?)});
                meanings::add(&mut line, &here).map_err(failed)?;
            }
            return out.write_all(&line).map_err(failed);
        }
        let (here, style) = (explained()?, Style { color: config.color });
        full::alias(definitions, alias, config.verbose > 0, out)
            .and_then(|()| meanings::arms(&here, style, out))
            .and_then(|()| full::assignments(alias, out))
            .and_then(|()| meanings::all_locals(&here, style, out))
            .map_err(failed)
    }

    fn functions(&self, out: &mut dyn Write) -> std::io::Result<bool> {
        let definitions = self.definitions;
        if !self.in_full() && !self.config.json && !self.args.all {
            let dumped = lines::functions(definitions.all_functions());
            dumped.iter().try_for_each(|line| writeln!(out, "{}", printable(line)))?;
            return Ok(!dumped.is_empty());
        }
        let mut any = false;
        let names = definitions.function_names().into_iter().filter(|name| self.is_asked(name));
        for function in names.flat_map(|name| definitions.functions(name)) {
            if function.private && !self.in_full() && !self.args.all {
                continue;
            }
            any = true;
            match self.config.json {
                true => full::function_json(definitions, self.kernel, function, out)?,
                false => full::function(definitions, function, self.config.verbose > 0, out)?,
            }
        }
        Ok(any)
    }

    fn macros(&self, out: &mut dyn Write) -> std::io::Result<bool> {
        let asked: BTreeMap<_, _> =
            self.definitions.macros().filter(|(name, _)| self.is_asked(name)).collect();
        for (name, of) in &asked {
            match self.config.json {
                true => full::macro_json(self.definitions, self.kernel, name, of, out)?,
                false => full::named_macro(self.definitions, name, of, self.in_full(), out)?,
            }
        }
        Ok(!asked.is_empty())
    }
}
