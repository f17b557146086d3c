//! Checks a tapset library against a kernel: aliases that do not resolve, locals that cannot be read, points of aliases
//! that match nothing, functions that cannot compile.
use std::collections::HashSet;
use std::path::PathBuf;
use std::rc::Rc;

use probeidx_format::View;

use super::Located;
use super::assumptions::Assumed;
use super::probe_points::State;
use crate::error::Result;
use crate::query::systemtap::derive::handler_context::everywhere;
use crate::query::systemtap::derive::{Deriver, Place, Visited};
use crate::tapset::Definitions;
use crate::tapset::ast::{Alias, Point};
use crate::tapset::handler::{self, Words};

/// A library on one kernel.
#[derive(Clone, Debug, Default)]
pub struct Health {
    /// The aliases, in the order of reading.
    pub aliases: Vec<AliasHealth>,
    /// The number of functions.
    pub functions: usize,
    /// The findings in functions.
    pub findings: Vec<Located>,
}

/// An alias on one kernel.
#[derive(Clone, Debug)]
pub struct AliasHealth {
    /// The name as the tapset writes it, with its components.
    pub name: String,
    /// The file that defines it.
    pub path: PathBuf,
    /// From 1.
    pub line: u32,
    /// From 1, in bytes.
    pub column: u32,
    /// `Fails` if none of its points resolves.
    pub state: State,
    /// Its points as written, and whether each one resolves alone.
    pub arms: Vec<(String, bool)>,
    /// Locals that cannot be read at some of its places.
    pub broken: Vec<Broken>,
}

/// A local that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Broken {
    /// Its name.
    pub local: String,
    /// The part of the kernel's variable that is missing.
    pub variable: String,
    /// The reason, in lower case and without a full stop.
    pub why: String,
    /// Replacements to suggest, the likeliest first.
    pub instead: Vec<String>,
}

/// Checks every alias and function. Cost: derives each alias, and each of its points separately.
///
/// # Errors
/// [`IndexDamaged`](crate::ErrorKind::IndexDamaged), if a definition cannot be decoded.
pub fn health(view: &View<'_>, definitions: &Definitions<'_>) -> Result<Health> {
    let words = Words::new(definitions, Rc::new(everywhere(view)));
    let mut deriver = Deriver::new(view, definitions);
    let mut health = Health::default();
    for alias in definitions.aliases() {
        for name in &alias.names {
            health.aliases.push(of_alias(alias, name, &words, &mut deriver));
        }
    }
    for function in definitions.all_functions() {
        health.functions += 1;
        for finding in handler::check_function(&words, function) {
            let path = definitions.path(finding.place.file);
            health.findings.push(Located::new(path, finding));
        }
    }
    definitions.whole()?;
    Ok(health)
}

fn of_alias(alias: &Alias, name: &Point, words: &Words<'_>, deriver: &mut Deriver<'_, '_>) -> AliasHealth {
    let mut broken: Vec<Broken> = vec![];
    let mut seen = HashSet::new();
    let mut unindexed = false;
    let found = deriver.visit(name, &mut |visited| {
        let Visited::Derived(derived) = visited else { return Ok(()) };
        unindexed |= matches!(derived.place, Place::Unindexed);
        let context = Rc::new(Assumed::new(&derived));
        let parts = derived.handler(None);
        if seen.insert(context.fingerprint(&parts)) {
            let reading = handler::read(words, &parts, context);
            for local in &reading.locals {
                let Some(finding) = local.broken.map(|at| &reading.findings[at]) else { continue };
                let of = Broken {
                    local: local.name.to_owned(),
                    variable: finding.what.clone(),
                    why: finding.why.clone(),
                    instead: finding.instead.clone(),
                };
                if !broken.contains(&of) {
                    broken.push(of);
                }
            }
        }
        Ok(())
    });
    let state = match (found.unwrap_or(false), unindexed) {
        (false, _) => State::Fails,
        (true, true) => State::Unindexed,
        (true, false) => State::Resolves,
    };
    let mut matches = |point: &Point| deriver.visit(point, &mut |_| Ok(())).unwrap_or(false);
    let arms = alias.points.iter().map(|point| (point.to_string(), matches(point))).collect();
    let (line, column) = (alias.body.place.line, alias.body.place.column);
    let path = words.definitions.path(alias.body.place.file).to_owned();
    AliasHealth { name: name.to_string(), path, line, column, state, arms, broken }
}
