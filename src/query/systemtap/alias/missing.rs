//! Explains why tapset aliases match nothing.
use super::asked;
use crate::error::Result;
use crate::nearest;
use crate::query::explain::Missing;
use crate::query::spec::Spec;
use crate::query::systemtap::derive::{Deriver, Visited};
use crate::tapset::Definitions;
use crate::tapset::ast::Point;
use probeidx_format::View;

/// Why the aliases among the specs match nothing.
///
/// # Errors
/// Those of [`Deriver::visit`].
pub fn why_not(view: &View<'_>, specs: &[Spec]) -> Result<Vec<Missing>> {
    const MOST: usize = 4;
    let mut reasons = vec![];
    for point in asked(specs) {
        let definitions = Definitions::of_index(view)?;
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
            let near = nearest::nearest(&name, names.into_iter().filter(|n| !n.starts_with('_')), 5);
            let has_wildcard = whole.components.iter().any(|c| c.name.contains('*'));
            let error = failed.pop().map(|(_, why)| why).filter(|_| near.is_empty() && !has_wildcard);
            reasons.push(match error {
                Some(error) => {
                    let hint = error.remedy().map_or(String::new(), |hint| format!("; {hint}"));
                    Missing::unknown(format!("{}{hint}", error.message()), near)
                }
                None => Missing::unknown(format!("no alias or probe point {name}"), near),
            });
            continue;
        }
        if failed.is_empty() {
            // The message already mentions that it is not indexed.
            continue;
        }
        let told: Vec<_> = failed.iter().map(|(point, why)| format!("{point}: {}", why.message())).collect();
        reasons.push(Missing::known(format!("{whole} has no place in this kernel: {}", told.join("; "))));
    }
    Ok(reasons)
}
