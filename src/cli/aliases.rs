//! Tapset aliases on the command line: what is asked of the tapset that the index of a kernel holds.
use super::why_not::with_near;
use crate::error::Result;
use crate::query::argument::{self, Argument, Source};
use crate::query::derive::here::everywhere;
use crate::query::derive::{Deriver, Listing, Locals, Place, Placements, Visited, locals};
use crate::query::listing::Lines;
use crate::query::pattern::Pattern;
use crate::query::placement::{Placement, Wanted};
use crate::query::spec::{self, Filter, Presence, Spec, TraceSpec};
use crate::query::suggest;
use crate::query::traced::{self, Traced};
use crate::query::tracepoint::Tracepoint;
use crate::query::variables::ValueAt;
use crate::render::{self, aliases::Named};
use crate::tapset::Definitions;
use crate::tapset::ast::{Component, Point};
use crate::tapset::handler::Words;
use probeidx_format::View;
use serde_json::json;
use std::borrow::Cow;
use std::io::{self, Write};
use std::mem::ManuallyDrop;
use std::rc::Rc;
use std::thread;

/// The aliases among the specs, as the language has them.
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

/// Appends the lines of the points, with locals and variables if they are wanted, and gives the names of which the index
/// cannot tell.
pub fn list(
    view: View<'_>,
    points: &[Point],
    with_variables: bool,
    lines: &mut Lines,
) -> Result<Vec<String>> {
    // What was decoded goes with the process: giving it back piece by piece takes a sixth of the time.
    let definitions = ManuallyDrop::new(Definitions::of_index(&view)?);
    let words = with_variables.then(|| words(view, &definitions));
    let mut listing = Listing::new(view, words);
    let mut deriver = Deriver::new(view, &definitions);
    thread::scope(|threads| {
        // Where much is asked, decoding takes a third of the time: another thread goes ahead over the same aliases.
        let ahead = points.iter().filter(|p| p.components.iter().any(|c| c.name.contains('*')));
        let ahead: Vec<&Point> = ahead.collect();
        if !ahead.is_empty() {
            let definitions: &Definitions<'_> = &definitions;
            // What is wrong in them the one that follows says.
            threads.spawn(move || ahead.iter().all(|point| definitions.expand(point, |_| false).is_ok()));
        }
        points.iter().try_for_each(|point| {
            let found = deriver.derive(point, &mut |derived| {
                listing.add(&derived);
                Ok(())
            });
            found.map(|_| ())
        })
    })?;
    listing.put(lines);
    definitions.whole()?;
    Ok(listing.unindexed().map(Cow::into_owned).collect())
}

/// What handlers of this kernel can use.
pub fn words<'d>(view: View<'d>, definitions: &'d Definitions<'d>) -> Words<'d> {
    Words::new(definitions, Rc::new(everywhere(view)))
}

/// What is given for each probe of an alias.
pub struct Probe<'p, 'a> {
    pub named: Named<'p>,
    pub filter: Filter,
    pub place: At<'a>,
}

/// Where it runs.
pub enum At<'a> {
    Code(Box<Placement<'a>>),
    Trace(Box<Traced<'a>>),
    /// It is no place of the kernel.
    Nowhere,
    Unindexed,
}

impl Probe<'_, '_> {
    /// What can be read there, or was asked for.
    pub fn values(&self) -> &[ValueAt] {
        match &self.place {
            At::Code(placement) => &placement.values,
            At::Trace(traced) => &traced.values,
            At::Nowhere | At::Unindexed => &[],
        }
    }
}

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

/// Calls `each` with every probe of a point. An argument that is a local of the aliases stands for the variable that the
/// local is a copy of.
pub fn resolve(
    view: View<'_>,
    point: &Point,
    wanted: Wanted<'_>,
    each: &mut dyn FnMut(Probe<'_, '_>) -> Result<()>,
) -> Result<()> {
    let definitions = Definitions::of_index(&view)?;
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
            Place::Code { .. } | Place::Symbol { .. } => {
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

/// The tracepoint of a probe in full.
fn traced<'a>(view: View<'a>, asked: &Tracepoint<'_>, wanted: Wanted<'_>) -> Result<Option<Traced<'a>>> {
    let literal = |text: &[u8]| Pattern::literal(&String::from_utf8_lossy(text));
    let spec = TraceSpec { system: Some(literal(asked.system())), event: literal(asked.name()) };
    let mut found = None;
    traced::resolve(view, &spec, wanted, |traced| {
        if (traced.tracepoint.object(), traced.tracepoint.pc()) == (asked.object(), asked.pc()) {
            found = Some(traced);
        }
        Ok(())
    })?;
    Ok(found)
}

/// The arguments with the variables for which locals stand; and what is said of locals that stand for none.
fn substitute(asked: &[Argument], locals: &Locals) -> (Vec<Argument>, Vec<ValueAt>) {
    let (mut arguments, mut computed) = (vec![], vec![]);
    for argument in asked {
        let local = match &argument.source {
            Source::Variable(way) if way.legs.is_empty() && !argument.text.contains('$') => {
                locals.own.iter().find(|local| local.name == way.root)
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
