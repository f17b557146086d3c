//! Resolves labels and callees of functions to placements. Copies in several pieces are included although SystemTap
//! does not see them. Callees that are called rather than inlined are unknown: the index does not keep call sites.
use super::inner_places::{self, Inlined, Labelled};
use super::placement::{Describer, Placement, Within};
use crate::error::Result;
use crate::query::index::functions::{self, Scope};
use crate::query::spec::{Filter, FunctionSpec};
use crate::query::verdict::coverage::Coverage;
use probeidx_format::View;
use probeidx_format::id::ObjectId;
use std::rc::Rc;

/// Calls `each` with the placement of every label or every inlined callee of the functions of a spec.
pub(super) fn resolve<'a>(
    view: &'a View<'a>,
    spec: &FunctionSpec,
    describer: &mut Describer<'a, '_>,
    each: &mut impl FnMut(Placement<'a>, Filter) -> Result<()>,
) -> Result<()> {
    let scope = Scope::new(view, &spec.module);
    let labels = spec.label.as_ref().map(|name| inner_places::labels(view, name)).unwrap_or_default();
    let (mut callees, mut scratch) = (vec![], vec![]);
    for name in functions::names(view, &spec.declared.name) {
        for declaration in functions::declarations(view, name, spec.declared.file.as_ref()) {
            let mut result = Ok(());
            functions::places(view, &declaration, &scope, &mut scratch, |object, own| {
                for placed in own {
                    if result.is_err() {
                        return;
                    }
                    callees.clear();
                    if let Some(asked) = &spec.callee {
                        inner_places::callees(view, *placed, asked, &mut |found| {
                            callees.push(found);
                            true
                        });
                    }
                    let labels = inner_places::labels_of(&labels, placed).iter();
                    let is_meant = |line| {
                        let lines = spec.declared.lines.as_ref();
                        lines.is_none_or(|lines| lines.contains(line, declaration.line))
                    };
                    result = labels
                        .filter(|l| is_meant(l.line))
                        .try_for_each(|l| label(view, object, l, describer, each))
                        .and_then(|()| {
                            let mut all = callees.iter();
                            all.try_for_each(|c| callee(view, object, *c, spec.filter, describer, each))
                        });
                }
            });
            result?;
        }
    }
    Ok(())
}

fn label<'a>(
    view: &'a View<'a>,
    object: ObjectId,
    label: &Labelled,
    describer: &mut Describer<'a, '_>,
    each: &mut impl FnMut(Placement<'a>, Filter) -> Result<()>,
) -> Result<()> {
    let Some(described) = describer.statement(object, label.placed, label.pc)? else { return Ok(()) };
    let within = Some(Within::Label { name: view.string(label.name), line: label.line });
    each(Placement { within, ..described }, Filter::Any)
}

fn callee<'a>(
    view: &'a View<'a>,
    object: ObjectId,
    found: Inlined,
    filter: Filter,
    describer: &mut Describer<'a, '_>,
    each: &mut impl FnMut(Placement<'a>, Filter) -> Result<()>,
) -> Result<()> {
    let Some(caller) = functions::function(view, found.caller.record) else { return Ok(()) };
    if found.callee.record.entry.get() == 0 {
        return Ok(());
    }
    let coverage = Rc::new(Coverage::of(view, &describer.judge, object, &[found.callee]));
    let Some(described) = describer.placement(object, found.callee, coverage)? else { return Ok(()) };
    each(Placement { within: Some(Within::Caller(caller)), ..described }, filter)
}
