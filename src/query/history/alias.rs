//! Facts of tapset aliases.
use super::fact::{About, Value, What};
use super::function::list;
use crate::error::Result;
use crate::query::systemtap::alias::explain::{Arm, Outcome, explain};
use crate::query::systemtap::alias::locals::Local;
use crate::query::systemtap::alias::words;
use crate::tapset::Definitions;
use crate::tapset::ast::Point;
use probeidx_format::View;
use probeidx_format::tapset::DefinitionKind;

/// An alias as the tapset in the index defines it for this kernel. Cost: derives its points.
pub(super) fn facts(view: &View<'_>, name: &str) -> Result<Vec<About>> {
    // To decode where the definitions are costs more than all other facts. Without tapsets there are none.
    if !is_named(view, name) {
        return Ok(vec![]);
    }
    let definitions = Definitions::of_index(view)?;
    let (mut points, mut probes, mut variables) = (vec![], 0, vec![]);
    let mut is_defined = false;
    let words = words(view, &definitions);
    for alias in definitions.alias(name) {
        is_defined = true;
        let explained = explain(view, &definitions, &words, alias)?;
        explained.arms.iter().for_each(|arm| resolved(arm, &mut points, &mut probes));
        for local in explained.locals.iter().flat_map(|(locals, _)| &locals.own) {
            let known = (local.name.clone(), meaning(local));
            if !variables.contains(&known) {
                variables.push(known);
            }
        }
    }
    definitions.whole()?;
    if !is_defined {
        return Ok(vec![]);
    }
    let variables = if variables.is_empty() { Value::None } else { Value::Named(variables) };
    let facts = vec![
        (What::Points, list(points.into_iter())),
        (What::Probes, Value::Number(probes)),
        (What::Variables, variables),
    ];
    Ok(vec![About::whole(name, facts)])
}

/// Whether the tapset in the index has an alias of this name. Cost: a binary search.
pub(super) fn is_named(view: &View<'_>, name: &str) -> bool {
    !view.tapset.named(DefinitionKind::Alias, name.as_bytes()).is_empty()
}

/// The points that have a place and are no aliases.
fn resolved(arm: &Arm, points: &mut Vec<String>, probes: &mut u64) {
    if !arm.inner.is_empty() {
        return arm.inner.iter().for_each(|inner| resolved(inner, points, probes));
    }
    if let Outcome::Probes { places, .. } = arm.outcome {
        let plain = Point { optional: false, sufficient: false, condition: None, ..arm.point.clone() };
        let plain = plain.to_string();
        *probes += places as u64;
        if !points.contains(&plain) {
            points.push(plain);
        }
    }
}

/// The type of a variable, with what it is a copy of, or why it cannot be used.
fn meaning(local: &Local) -> String {
    match (&local.broken, &local.copy_of) {
        (Some(broken), _) => format!("broken: {}: {}", broken.variable, broken.why),
        (None, Some(variable)) => format!("{} {variable}", local.kind),
        (None, None) => local.kind.to_owned(),
    }
}
