//! Tapset aliases on the command line.
use super::why_not::with_near;
use crate::error::Result;
use crate::query::aliased::{At, Probe, asked};
use crate::query::derive::{Deriver, Visited};
use crate::query::spec::Spec;
use crate::query::suggest;
use crate::render;
use crate::tapset::Definitions;
use crate::tapset::ast::Point;
use probeidx_format::View;
use serde_json::json;
use std::io::{self, Write};

/// Writes a probe as one line of JSON: a placement or tracepoint with the fields of the alias.
pub fn put_json(view: &View<'_>, kernel: &str, probe: &Probe<'_, '_>, out: &mut dyn Write) -> io::Result<()> {
    let mut line = vec![];
    match &probe.place {
        At::Code(placement) => render::json::placement(view, kernel, placement, probe.filter, &mut line)?,
        At::Trace(traced) => render::tracepoint::json(view, kernel, traced, &mut line)?,
        At::Nowhere | At::Unindexed => {
            let instance = if matches!(probe.place, At::Unindexed) { "unindexed" } else { "none" };
            let point = probe.named.point;
            writeln!(
                line,
                "{}",
                json!({"kernel": kernel, "module": null, "probe": point, "instance": instance})
            )?;
        }
    }
    render::aliases::extend(&mut line, &probe.named)?;
    out.write_all(&line)
}

/// Why the aliases among the specs match nothing.
pub fn why_not(view: View<'_>, specs: &[Spec]) -> Result<Vec<String>> {
    const MOST: usize = 4;
    let mut reasons = vec![];
    for point in asked(specs) {
        let definitions = Definitions::of_index(&view)?;
        let mut failed = vec![];
        let mut is_alias = false;
        Deriver::new(view, &definitions).visit(&point, &mut |visited| {
            if let Visited::Derived(derived) = &visited {
                is_alias |= !derived.through.is_empty();
            }
            if let Visited::Failed(point) = visited {
                is_alias |= !point.through.is_empty();
                if failed.len() < MOST {
                    failed.push((point.point(), point.why()));
                }
            }
            Ok(())
        })?;
        let whole = Point { optional: false, sufficient: false, ..point.clone() };
        if !is_alias && !failed.is_empty() {
            let names = definitions.alias_names();
            let name = whole.to_string();
            let near = suggest::nearest(&name, names.into_iter().filter(|n| !n.starts_with('_')), 5);
            let has_wildcard = whole.components.iter().any(|c| c.name.contains('*'));
            let error = failed.pop().map(|(_, why)| why).filter(|_| near.is_empty() && !has_wildcard);
            reasons.push(match error {
                Some(error) => {
                    let hint = error.remedy().map_or(String::new(), |hint| format!("; {hint}"));
                    format!("{}{hint}", error.message())
                }
                None => with_near(&format!("no alias or probe point {name}"), &near),
            });
            continue;
        }
        if failed.is_empty() {
            // That it is not in the index is said.
            continue;
        }
        let told: Vec<_> = failed.iter().map(|(point, why)| format!("{point}: {}", why.message())).collect();
        reasons.push(format!("{whole} has no place in this kernel: {}", told.join("; ")));
    }
    Ok(reasons)
}
