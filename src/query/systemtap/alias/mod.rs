//! Answers specs that are tapset aliases, from the tapset in a kernel's index.
pub mod explain;
mod listing;
pub mod locals;
pub mod missing;
mod placements;
pub use self::listing::list;
use super::derive::handler_context::everywhere;
use super::derive::{Deriver, Place};
use crate::error::Result;
use crate::query::resolve::placement::{Placement, Wanted};
use crate::query::resolve::tracepoint::Tracepoint;
use crate::query::resolve::tracepoint_values::{self, TracepointValues};
use crate::query::spec::argument::{self, Argument, Source};
use crate::query::spec::{self, Filter, Presence, Spec};
use crate::query::value::ValueAt;
use crate::tapset::Definitions;
use crate::tapset::ast::{Component, Point};
use crate::tapset::handler::Words;
use locals::Locals;
use placements::Placements;
use probeidx_format::View;
use std::rc::Rc;

/// The aliases among the specs, as points of the language.
pub fn asked(specs: &[Spec]) -> Vec<Point> {
    let point = |spec: &Spec| match &spec.point {
        spec::Point::Alias(components) => Some(point(components, spec.presence)),
        _ => None,
    };
    specs.iter().filter_map(point).collect()
}

fn point(components: &[Component], presence: Presence) -> Point {
    Point {
        components: components.to_vec(),
        optional: presence != Presence::Required,
        sufficient: presence == Presence::Sufficient,
        condition: None,
    }
}

/// The words that handlers can use on this kernel.
pub fn words<'d>(view: &'d View<'d>, definitions: &'d Definitions<'d>) -> Words<'d> {
    Words::new(definitions, Rc::new(everywhere(view)))
}

/// An alias, and the locals it provides to a handler at a place.
pub struct Named<'a> {
    /// The requested name.
    pub name: &'a str,
    /// The aliases that lead to the point, the requested one first.
    pub through: &'a [String],
    /// The point that they lead to.
    pub point: &'a str,
    /// The locals that these aliases provide to a handler there.
    pub locals: &'a Locals,
}

/// A probe of an alias.
pub struct Probe<'p, 'a> {
    /// The alias.
    pub named: Named<'p>,
    /// Whether it is a return probe.
    pub filter: Filter,
    /// The place where it runs.
    pub place: At<'a>,
}

/// The place where a probe runs.
pub enum At<'a> {
    /// Code of the kernel.
    Code(Box<Placement<'a>>),
    /// A tracepoint.
    Trace(Box<TracepointValues<'a>>),
    /// Not at a place of the kernel.
    Nowhere,
    /// In a program, which is not in a kernel's index.
    Unindexed,
}

impl Probe<'_, '_> {
    /// The values that can be read there, or those requested.
    pub fn values(&self) -> &[ValueAt] {
        match &self.place {
            At::Code(placement) => &placement.values,
            At::Trace(traced) => &traced.values,
            At::Nowhere | At::Unindexed => &[],
        }
    }
}

/// Calls `each` with every probe of a point, in SystemTap's order. An argument that names a local of the aliases stands
/// for the variable that the local is a copy of.
///
/// # Errors
/// Those of [`list`], those of the arguments, and any error of `each`.
pub fn resolve(
    view: &View<'_>,
    point: &Point,
    wanted: Wanted<'_>,
    each: &mut dyn FnMut(Probe<'_, '_>) -> Result<()>,
) -> Result<()> {
    let definitions = Definitions::of_index(view)?;
    let words = words(view, &definitions);
    let mut plain = Placements::new(view, wanted);
    Deriver::new(view, &definitions).derive(point, &mut |derived| {
        let locals = locals::read_copies(&words, &derived);
        let (arguments, computed) = substitute(wanted.arguments, &locals);
        let is_plain = arguments == wanted.arguments;
        let wanted = Wanted { arguments: &arguments, ..wanted };
        let blank = !wanted.arguments.is_empty() || computed.is_empty();
        let place = match derived.place {
            Place::Trace(tracepoint) => traced(view, tracepoint, wanted)?.map(|t| At::Trace(Box::new(t))),
            Place::Code { .. } | Place::Symbol { .. } | Place::Address { .. } => {
                let placement = match is_plain {
                    true => plain.of(&derived)?,
                    false => Placements::new(view, wanted).of(&derived)?,
                };
                placement.map(|p| At::Code(Box::new(p)))
            }
            Place::Nowhere => Some(At::Nowhere),
            Place::Unindexed => Some(At::Unindexed),
        };
        let Some(mut place) = place else { return Ok(()) };
        let values = match &mut place {
            At::Code(placement) => Some(&mut placement.values),
            At::Trace(traced) => Some(&mut traced.values),
            At::Nowhere | At::Unindexed => None,
        };
        if let Some(values) = values {
            if !blank {
                values.clear();
            }
            values.extend(computed);
        }
        let through: Vec<String> = derived
            .through
            .iter()
            .map(|a| a.names.first().map(Point::to_string).unwrap_or_default())
            .collect();
        let [name, point] = [derived.name, derived.point].map(String::from_utf8_lossy);
        let named = Named { name: &name, through: &through, point: &point, locals: &locals };
        let returns =
            matches!(derived.place, Place::Code { returns: true, .. } | Place::Symbol { returns: true, .. });
        let filter = if returns { Filter::Return } else { Filter::Any };
        each(Probe { named, filter, place })
    })?;
    definitions.whole()
}

/// The tracepoint of a probe, with its values.
fn traced<'a>(
    view: &'a View<'a>,
    asked: &Tracepoint<'_>,
    wanted: Wanted<'_>,
) -> Result<Option<TracepointValues<'a>>> {
    let mut found = None;
    tracepoint_values::resolve(view, &asked.spec(), wanted, |traced| {
        if (traced.tracepoint.object(), traced.tracepoint.pc()) == (asked.object(), asked.pc()) {
            found = Some(TracepointValues { tracepoint: traced.tracepoint.named_as(asked), ..traced });
        }
        Ok(())
    })?;
    Ok(found)
}

/// The arguments with locals replaced by variables; and the values of the locals that have no variable.
fn substitute(asked: &[Argument], locals: &Locals) -> (Vec<Argument>, Vec<ValueAt>) {
    let (mut arguments, mut computed) = (vec![], vec![]);
    for argument in asked {
        let local = match &argument.source {
            Source::Variable(access) if access.steps.is_empty() && !argument.text.contains('$') => {
                locals.own.iter().find(|local| local.name == access.root)
            }
            _ => None,
        };
        let Some(local) = local else {
            arguments.push(argument.clone());
            continue;
        };
        let copied = local.copy_of.as_ref().and_then(|variable| argument::parse(variable).ok());
        if let Some(Argument { source, .. }) = copied {
            let name = argument.name.clone().or_else(|| Some(local.name.clone()));
            arguments.push(Argument { name, source, ..argument.clone() });
            continue;
        }
        let why = match &local.broken {
            Some(broken) => format!("{}: {}", broken.variable, broken.why),
            None => "the tapset computes it: only SystemTap has it".to_owned(),
        };
        computed.push(ValueAt::unsupported(&argument.text, why));
    }
    (arguments, computed)
}
