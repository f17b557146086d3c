//! Tracepoints, and events of system calls.
use super::values::{Fetched, Values, shown_as};
use super::words::text;
use super::{Asked, Planner};
use crate::error::Result;
use crate::query::resolve::tracepoint_values::TracepointValues;
use crate::query::spec::argument::{Argument, Source};
use crate::query::trace::filter::{Field, Holds};
use crate::query::trace::{Column, Copy, Event, Kind, LeftOut};
use crate::query::value::Role;
use probeidx_format::View;
use probeidx_format::record::EventFieldRecord;

impl Planner<'_> {
    /// A tracepoint: the event that the kernel has, else a probe on the tracepoint.
    pub(super) fn tracepoint(
        &mut self,
        view: &View<'_>,
        traced: &TracepointValues<'_>,
        alias: Option<String>,
        fetched: &Fetched,
        asked: Asked<'_>,
    ) -> Result<()> {
        let t = &traced.tracepoint;
        let (system, name) = (text(t.system()), text(t.name()));
        let own = if system.is_empty() { name.clone() } else { format!("{system}:{name}") };
        let subject = alias.unwrap_or_else(|| own.clone());
        let left = |why: String, instead: Option<String>| LeftOut {
            subject: subject.clone(),
            what: own.clone(),
            why,
            instead,
        };
        self.known.extend(traced.values.iter().filter(|v| v.role != Role::Local).map(|v| v.name.clone()));
        let wants_parameters = traced.values.iter().any(|v| v.is_asked && v.role == Role::Parameter);
        let values = Values::new(&traced.values, fetched);
        if wants_parameters {
            let definition = match &traced.definition {
                Ok(definition) => definition.clone(),
                Err(why) => {
                    let fields: Vec<_> =
                        t.fields().into_iter().flatten().map(|f| text(view.string(f.name))).collect();
                    let instead = (!fields.is_empty()).then(|| format!("its fields: {}", fields.join(", ")));
                    return self.leave(left(why.clone(), instead));
                }
            };
            if let Some(why) = values.uncompared() {
                return self.leave(left(why, None));
            }
            let event = self.names.free(&name);
            let definition =
                definition.replacen(&format!("probeidx/{name} "), &format!("{}/{event} ", asked.group), 1);
            self.plan.events.push(Event {
                kind: Kind::Tracepoint,
                group: asked.group.to_owned(),
                name: event,
                subject,
                copies: vec![Copy {
                    definition: Some(definition),
                    is_certain: true,
                    place: None,
                    inlined_into: vec![],
                    unreadable: values.unreadable(),
                }],
                columns: values.columns(view),
                filter: values.filter(view, self.condition)?,
            });
            return Ok(());
        }
        let is_there = asked.has_event.map_or(t.has_event(), |has_event| has_event(&system, &name));
        if !is_there {
            let why = match t.has_event() {
                true => "this kernel has no such event now".to_owned(),
                false => "no event of the kernel records it".to_owned(),
            };
            let instead = t.module().map(|module| format!("modprobe {}, and trace again", text(module)));
            return self.leave(left(why, instead));
        }
        let fields = t.fields();
        let all: Vec<_> = fields.into_iter().flatten().collect();
        let holds = |name: &str| {
            all.iter().find(|f| view.string(f.name) == name.as_bytes()).map(|f| Field {
                name: name.to_owned(),
                holds: of_field(
                    view.string(f.type_name),
                    f.size.get().into(),
                    f.flags.get() & EventFieldRecord::SIGNED != 0,
                ),
            })
        };
        let root = |argument: &Argument| match &argument.source {
            Source::Variable(access) if access.steps.is_empty() => Some(access.root.clone()),
            _ => None,
        };
        let filter = match self.condition {
            None => None,
            Some(condition) => Some(condition.filter(view, &|argument| holds(&root(argument)?))?),
        };
        let printed: Vec<String> = match fetched.by_default {
            true => all.iter().map(|f| text(view.string(f.name))).collect(),
            false => fetched.arguments[..fetched.printed].iter().filter_map(root).collect(),
        };
        let columns = printed.into_iter().filter_map(|name| {
            let held = holds(&name)?;
            Some(Column { name: name.clone(), field: name, shown: shown_as(held.holds) })
        });
        self.plan.events.push(Event {
            kind: Kind::Tracepoint,
            group: system,
            name,
            subject,
            copies: vec![Copy {
                definition: None,
                is_certain: true,
                place: None,
                inlined_into: vec![],
                unreadable: values.unreadable(),
            }],
            columns: columns.collect(),
            filter,
        });
        Ok(())
    }
}

/// What a field of an event holds, by its type in the format.
fn of_field(type_name: &[u8], size: u32, is_signed: bool) -> Holds {
    let is_text = type_name.starts_with(b"__data_loc char[]") || type_name.starts_with(b"__rel_loc char[]");
    match size {
        _ if is_text || type_name.starts_with(b"char[") => Holds::Text,
        1 | 2 | 4 | 8 if !type_name.contains(&b'[') => Holds::Number { bits: size * 8, is_signed },
        _ => Holds::Array,
    }
}
