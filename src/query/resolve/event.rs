//! What reads like a function and is none: events by their perf and tracefs names, `sched:sched_switch`, and aliases of one
//! word, `oneshot`.
use super::placement::Wanted;
use super::tracepoint;
use crate::error::{Error, ErrorKind};
use crate::pattern::Pattern;
use crate::query::resolve;
use crate::query::spec::{Filter, FunctionSpec, ModuleScope, Point, Spec, Spelled, TraceSpec};
use crate::tapset::Place;
use crate::tapset::ast::Component;
use probeidx_format::View;
use probeidx_format::tapset::DefinitionKind;

/// Turns specs that read like `MODULE:NAME` but mean `SYSTEM:EVENT` into tracepoints: those where the module has no
/// such function and the system has such a tracepoint. A name of which there is no function, but an alias, is that alias.
/// Cost: resolves each of the former up to its first placement.
pub fn told_apart(view: &View<'_>, mut specs: Vec<Spec>) -> Vec<Spec> {
    for spec in &mut specs {
        if let Some(asked) = as_event(spec)
            && tracepoint::matching(view, &asked).next().is_some()
            && !has_places(view, spec)
        {
            spec.point = Point::Trace(asked);
        } else if let Some(alias) = as_alias(view, spec) {
            spec.point = alias;
            spec.spelled = Spelled::Systemtap;
        }
    }
    specs
}

/// The alias that a bare name is, if there is no function of this name.
fn as_alias(view: &View<'_>, spec: &Spec) -> Option<Point> {
    let Point::Function(asked) = &spec.point else { return None };
    let Pattern::Literal(name) = &asked.declared.name else { return None };
    let plain = FunctionSpec::of(ModuleScope::Any, asked.declared.name.clone());
    let has_function = |name| !view.functions_named(name).is_empty();
    let is_bare = spec.spelled == Spelled::Bare && *asked == plain;
    if !is_bare || view.name(name.as_bytes()).is_some_and(has_function) {
        return None;
    }
    let is_alias = !view.tapset.named(DefinitionKind::Alias, name.as_bytes()).is_empty();
    is_alias.then(|| {
        Point::Alias(vec![Component { name: name.clone(), argument: None, place: Place::default() }])
    })
}

/// Notes for the specs that stayed a function of a module but also name a tracepoint.
pub fn too(view: &View<'_>, specs: &[Spec]) -> Vec<String> {
    let said = |asked: &TraceSpec| {
        let system = asked.system.as_ref()?;
        let found = tracepoint::matching(view, asked).next()?;
        let name = format!("{system}:{}", asked.event);
        let mut spelled = vec![];
        found.put(&mut spelled);
        let spelled = String::from_utf8_lossy(&spelled);
        asked.event.is_literal().then(|| format!("{name} is a tracepoint too: {spelled}"))
    };
    specs.iter().filter_map(|spec| said(&as_event(spec)?)).collect()
}

/// The tracepoint that a spec may name although it reads like a function of a module.
pub(crate) fn as_event(spec: &Spec) -> Option<TraceSpec> {
    let Point::Function(asked) = &spec.point else { return None };
    let ModuleScope::Module(system) = &asked.module else { return None };
    let plain = FunctionSpec::of(asked.module.clone(), asked.declared.name.clone());
    (spec.spelled == Spelled::Bare && asked.filter == Filter::Any && *asked == plain).then(|| TraceSpec {
        system: Some(system.clone()),
        event: asked.declared.name.clone(),
        with_system_calls: true,
        by_number: None,
    })
}

fn has_places(view: &View<'_>, spec: &Spec) -> bool {
    // The first placement is enough.
    let enough = || Error::new(ErrorKind::Usage, "enough");
    resolve::resolve(view, spec, Wanted::default(), |_, _| Err(enough())).is_err()
}
