//! Compares tracepoints by name and system: parameters, events, and the fields of event records.
use super::struct_members::{self, Item};
use super::{Asked, Change, Difference, Home, Side, State, Subject, What};
use crate::query::resolve::tracepoint::{self, Tracepoint};
use crate::query::spec::TraceSpec;
use std::collections::{BTreeMap, BTreeSet};

/// Compares the tracepoints by name and system: all, or those of some names. If several share both, the first counts.
pub fn compare<'a, E>(
    before: &Side<'a, '_>,
    after: &Side<'a, '_>,
    only: Option<&[&'a [u8]]>,
    asked: &Asked,
    tell: &mut impl FnMut(Difference<'a>) -> Result<(), E>,
) -> Result<(), E> {
    let (system, event) = (asked.system.clone(), asked.name.clone());
    let spec = TraceSpec { system, event, with_system_calls: true, by_number: None };
    let mut names: BTreeMap<_, [Option<Tracepoint<'a>>; 2]> = BTreeMap::new();
    for (number, side) in [before, after].into_iter().enumerate() {
        let matching: Box<dyn Iterator<Item = Tracepoint<'a>>> = match only {
            None => Box::new(tracepoint::matching(side.view, &spec)),
            Some(names) => Box::new(names.iter().flat_map(|name| tracepoint::named(side.view, name))),
        };
        for found in matching.filter(|t| side.scope.contains(t.object())) {
            names.entry((found.name(), found.system())).or_default()[number].get_or_insert(found);
        }
    }
    for ((name, system), [one, other]) in names {
        let changes = match (&one, &other) {
            (Some(one), Some(other)) => differences([before, after], [one, other]),
            _ => vec![],
        };
        let mut spelled = String::from_utf8_lossy(system).into_owned();
        if !spelled.is_empty() {
            spelled.push(':');
        }
        spelled += &String::from_utf8_lossy(name);
        tell(Difference {
            subject: Subject::Tracepoint,
            name: spelled,
            before: one.as_ref().map(home),
            after: other.as_ref().map(home),
            changes,
        })?;
    }
    Ok(())
}

/// How many tracepoints of a kernel are compared.
pub fn count(side: &Side<'_, '_>) -> usize {
    let own = tracepoint::all(side.view).filter(|t| side.scope.contains(t.object()));
    own.map(|t| (t.name(), t.system())).collect::<BTreeSet<_>>().len()
}

fn home<'a>(tracepoint: &Tracepoint<'a>) -> Home<'a> {
    let (file, line) = tracepoint.declared().unwrap_or_default();
    Home { module: tracepoint.module(), file, line }
}

fn differences(sides: [&Side<'_, '_>; 2], both: [&Tracepoint<'_>; 2]) -> Vec<Change> {
    let mut changes = vec![];
    let at = |number: usize| (sides[number], both[number]);
    let [one, other] = [at(0), at(1)].map(|(_, t)| t.has_event());
    if one != other {
        let [before, after] = [one, other].map(|has| {
            Some(State::Word(if has { "recorded by an event" } else { "without an event" }.to_owned()))
        });
        changes.push(Change { what: What::Event, name: String::new(), before, after });
    }
    let is_told = both.iter().all(|t| t.prototype().is_some());
    let [before, after] = [at(0), at(1)].map(|(side, t)| {
        let parameters = t.parameters().zip(1..).map(|(v, at)| Item {
            name: side.view.string(v.name),
            at,
            bits: None,
            of: side.spelling(v.type_id),
        });
        parameters.collect::<Vec<_>>()
    });
    if is_told {
        struct_members::compare(What::Parameter, sides, &before, &after, &mut changes);
    }
    let [before, after] = [at(0), at(1)].map(|(side, t)| {
        let number = |text| side.spelled_as(&String::from_utf8_lossy(side.view.string(text)));
        let fields = t.fields()?.iter().map(|field| Item {
            name: side.view.string(field.name),
            at: field.offset.get().into(),
            bits: None,
            of: number(field.type_name),
        });
        Some(fields.collect::<Vec<_>>())
    });
    if let (Some(before), Some(after)) = (before, after) {
        struct_members::compare(What::Field, sides, &before, &after, &mut changes);
    }
    changes
}
