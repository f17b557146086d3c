//! A tracepoint with the values that can be read there: its parameters, and the fields of its event record.
use super::placement::Wanted;
use super::tracepoint::{self, Parameter, Tracepoint};
use crate::error::{Error, ErrorKind, Result};
use crate::nearest;
use crate::query::spec::TraceSpec;
use crate::query::spec::argument::{Argument, Cast, Source};
use crate::query::value::fetch_arg;
use crate::query::value::plan::Plan;
use crate::query::value::reader::Values;
use crate::query::value::tracefs_features::Ability;
use crate::query::value::{Role, State, ValueAt, arguments};
use probeidx_format::View;
use probeidx_format::record::EventFieldRecord;
use std::borrow::Cow;

/// A tracepoint and its values.
pub struct TracepointValues<'a> {
    /// Its name, module and fields.
    pub tracepoint: Tracepoint<'a>,
    /// Its parameters, or the requested values.
    pub values: Vec<ValueAt>,
    /// The dynamic event that reads these values, or why the kernel accepts none.
    pub definition: Result<String, String>,
}

/// Calls `each` with every tracepoint that matches a pattern, ordered by name, system and object.
///
/// # Errors
/// [`ErrorKind::NoMatch`] for an argument that no matching tracepoint has, and any error that `each` returns.
pub fn resolve<'a>(
    view: &'a View<'a>,
    spec: &TraceSpec,
    wanted: Wanted<'_>,
    mut each: impl FnMut(TracepointValues<'a>) -> Result<()>,
) -> Result<()> {
    let mut values = Values::new(view);
    let reader = Reader::new(view);
    for argument in wanted.arguments {
        check(view, spec, argument)?;
    }
    for tracepoint in tracepoint::matching(view, spec) {
        let values = match wanted.arguments {
            [] => parameters(&tracepoint, &mut values, &reader),
            asked => asked
                .iter()
                .map(|argument| value(view, &tracepoint, &mut values, &reader, argument))
                .collect::<Result<_>>()?,
        };
        let definition = reader.definition(&tracepoint, &values);
        each(TracepointValues { tracepoint, values, definition })?;
    }
    Ok(())
}

/// The dynamic events that can read tracepoints (kernel/trace/trace_fprobe.c, trace_eprobe.c).
struct Reader {
    /// `t`, for tracepoints of vmlinux and of modules.
    probes: [std::result::Result<(), String>; 2],
    /// `e`
    events: std::result::Result<(), String>,
}

impl Reader {
    fn new(view: &View<'_>) -> Self {
        let check = |ability: Ability| ability.check(view);
        Self {
            probes: [Ability::TracepointProbes, Ability::ModuleTracepointProbes].map(check),
            events: check(Ability::EventProbes),
        }
    }

    fn probes(&self, t: &Tracepoint<'_>) -> std::result::Result<(), String> {
        if t.is_system_call() {
            return Err("t: it has no tracepoint".to_owned());
        }
        self.probes[usize::from(t.module().is_some())].clone().map_err(|why| format!("t: {why}"))
    }

    fn events(&self, t: &Tracepoint<'_>) -> std::result::Result<(), String> {
        match t.has_event() {
            true => self.events.clone().map_err(|why| format!("e: {why}")),
            false => Err("e: no event records it".to_owned()),
        }
    }

    /// `t:probeidx/NAME NAME arg=$arg1:x64`, `e:probeidx/NAME SYSTEM/NAME arg=$field:s32`, for `dynamic_events`.
    fn definition(&self, t: &Tracepoint<'_>, values: &[ValueAt]) -> std::result::Result<String, String> {
        let asked = || values.iter().filter(|v| v.is_asked);
        let (has_parameters, has_fields) =
            (asked().any(|v| v.role == Role::Parameter), asked().any(|v| v.role == Role::Field));
        let (name, system) = (String::from_utf8_lossy(t.name()), String::from_utf8_lossy(t.system()));
        let kind = match (has_parameters, has_fields) {
            (true, true) => {
                return Err(
                    "a probe reads parameters, or fields of the event: ask for one of both".to_owned()
                );
            }
            (true, false) => self.probes(t).map(|()| format!("t:probeidx/{name} {name}")),
            (false, true) => self.events(t).map(|()| format!("e:probeidx/{name} {system}/{name}")),
            (false, false) => match (self.probes(t), self.events(t)) {
                (Ok(()), _) => Ok(format!("t:probeidx/{name} {name}")),
                (_, Ok(())) => Ok(format!("e:probeidx/{name} {system}/{name}")),
                (Err(probes), Err(events)) => Err(format!("{probes}; {events}")),
            },
        };
        let arguments: String = arguments(values).iter().map(|a| format!(" {a}")).collect();
        Ok(kind? + &arguments)
    }
}

fn parameters(t: &Tracepoint<'_>, values: &mut Values<'_>, reader: &Reader) -> Vec<ValueAt> {
    let named = t.named_parameters().into_iter();
    named
        .map(|Parameter { name, number, variable: v }| {
            let name = String::from_utf8_lossy(&name).into_owned();
            let plan = Plan::of_argument(number, v.type_id);
            let (state, _, fetch) = values.lower((t.object(), t.pc()), &plan, None, &name);
            ValueAt {
                type_id: v.type_id,
                type_name: values.spelled(v.type_id),
                location: Some(format!("parameter {number}")),
                fetch: fetch.filter(|_| reader.probes(t).is_ok()),
                plan: Some(plan),
                ..blank(name, Role::Parameter, state)
            }
        })
        .collect()
}

/// A requested value: of a parameter or a field.
fn value(
    view: &View<'_>,
    t: &Tracepoint<'_>,
    values: &mut Values<'_>,
    reader: &Reader,
    argument: &Argument,
) -> Result<ValueAt> {
    let blank = |role, state| ValueAt { is_asked: true, ..blank(argument.text.clone(), role, state) };
    let without = |role, why: String| ValueAt { location: Some(why), ..blank(role, State::Unsupported) };
    let access = match &argument.source {
        Source::Variable(access) => access,
        Source::Returned(_) => return Ok(without(Role::Return, "a tracepoint returns nothing".to_owned())),
        Source::Raw(_) => return Ok(without(Role::Raw, "ask for parameters or fields by name".to_owned())),
    };
    let root = access.root.as_bytes();
    let named = t.named_parameters().into_iter().find(|p| *p.name == *root);
    if let Some(Parameter { number, variable: v, .. }) = named {
        let plan = match values.along(Plan::of_argument(number, v.type_id), access) {
            Err(error) if error.kind() == ErrorKind::Usage => {
                return Ok(without(Role::Parameter, error.message().to_owned()));
            }
            plan => plan?,
        };
        let name = fetch_arg::name(argument);
        let (state, location, fetch) = values.lower((t.object(), t.pc()), &plan, Some(argument), &name);
        let star = if plan.is_pointer { "*" } else { "" };
        let why = reader.probes(t).err();
        return Ok(ValueAt {
            type_id: plan.type_id,
            type_name: values.spelled(plan.type_id).map(|t| t + star),
            location: location.map(|at| why.as_ref().map_or(at.clone(), |why| format!("{at}; {why}"))),
            fetch: fetch.filter(|_| why.is_none()),
            plan: Some(plan),
            ..blank(Role::Parameter, state)
        });
    }
    let field = t.fields().into_iter().flatten().find(|f| view.string(f.name) == root);
    let Some(field) = field.filter(|_| access.steps.is_empty()) else {
        return Ok(without(Role::Local, "there is no such parameter or field".to_owned()));
    };
    let at = format!("field at {}, {} bytes", field.offset, field.size);
    let fetch = reader.events(t).and_then(|()| field_type(view, field, argument.cast.as_ref()));
    let body = |kind: String| format!("{}=${}:{kind}", fetch_arg::name(argument), access.root);
    Ok(ValueAt {
        type_name: Some(String::from_utf8_lossy(view.string(field.type_name)).into_owned()),
        location: Some(fetch.as_ref().err().map_or(at.clone(), |why| format!("{at}; {why}"))),
        fetch: fetch.ok().map(body),
        ..blank(Role::Field, State::Readable)
    })
}

/// The type with which an event probe reads a field (`get_event_field`, kernel/trace/trace_eprobe.c, 5.15 to 6.12): a
/// number of its size, or a string.
fn field_type(
    view: &View<'_>,
    field: EventFieldRecord,
    cast: Option<&Cast>,
) -> std::result::Result<String, String> {
    let bits = u32::from(field.size.get()) * 8;
    let name = view.string(field.type_name);
    let is_text =
        [&b"char["[..], b"__data_loc char[]", b"__rel_loc char[]"].iter().any(|t| name.starts_with(t));
    match cast {
        Some(Cast::As(text) | Cast::Text(text)) => return Ok(text.clone()),
        Some(Cast::DentryName(text)) => return Err(format!("{text} is for parameters of functions")),
        _ if is_text => return Ok("string".to_owned()),
        _ if !matches!(bits, 8 | 16 | 32 | 64) || memchr::memchr(b'[', name).is_some() => {
            return Err("no number and no text".to_owned());
        }
        Some(Cast::Radix(radix)) => return Ok(format!("{radix}{bits}")),
        None => {}
    }
    let is_signed = field.flags.get() & EventFieldRecord::SIGNED != 0;
    let radix = if is_signed {
        's'
    } else if name.ends_with(b"*") {
        'x'
    } else {
        'u'
    };
    Ok(format!("{radix}{bits}"))
}

/// Rejects an argument that no matching tracepoint has.
fn check(view: &View<'_>, spec: &TraceSpec, argument: &Argument) -> Result<()> {
    let Source::Variable(access) = &argument.source else { return Ok(()) };
    let mut known: Vec<String> = vec![];
    for t in tracepoint::matching(view, spec) {
        let fields = t.fields().into_iter().flatten().map(|f| f.name);
        let fields = fields.map(|name| Cow::Borrowed(view.string(name)));
        for name in t.named_parameters().into_iter().map(|p| p.name).chain(fields) {
            let name = String::from_utf8_lossy(&name);
            if name == access.root {
                return Ok(());
            }
            if !known.iter().any(|k| *k == name) {
                known.push(name.into_owned());
            }
        }
    }
    if known.is_empty() {
        return Ok(());
    }
    let near = nearest::nearest(&access.root, known.iter().map(String::as_str), 3);
    let error =
        Error::new(ErrorKind::NoMatch, format!("no parameter or field '{}' of the tracepoint", access.root));
    Err(match near.is_empty() {
        false => error.hint(format!("did you mean {}?", near.join(", "))),
        true => error.hint(format!("there are {}", known.join(", "))),
    })
}

fn blank(name: String, role: Role, state: State) -> ValueAt {
    ValueAt {
        name,
        role,
        type_id: None,
        type_name: None,
        state,
        location: None,
        fetch: None,
        plan: None,
        parameter: None,
        elsewhere: None,
        is_asked: false,
    }
}
