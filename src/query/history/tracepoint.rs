//! Facts of tracepoints.
use super::fact::{About, Field, Value, What};
use super::function::{list, object_name};
use super::text;
use crate::query::resolve::tracepoint::{self, Tracepoint};
use crate::query::spec::TraceSpec;
use crate::query::types::c_declaration::declare;
use probeidx_format::View;

/// The tracepoints of a name, system by system. Cost: linear in their fields.
pub(super) fn facts(view: &View<'_>, asked: &TraceSpec) -> Vec<About> {
    let mut abouts: Vec<About> = vec![];
    let name = match &asked.system {
        Some(system) => format!("{system}:{}", asked.event),
        None => asked.event.to_string(),
    };
    for found in tracepoint::matching(view, asked) {
        let system = text(found.system());
        // Modules that share a system and a name share its header.
        if abouts.iter().any(|known| known.part.as_ref() == Some(&system)) {
            continue;
        }
        let full_name = format!("{system}:{}", asked.event);
        abouts.push(About {
            name: name.clone(),
            facts: described(view, &found, &system),
            part: Some(system),
            full_name,
        });
    }
    abouts
}

fn described(view: &View<'_>, found: &Tracepoint<'_>, system: &str) -> Vec<(What, Value)> {
    let parameters = found.parameters().map(|v| declare(view, v.type_id, &text(view.string(v.name))));
    let arguments = if found.prototype().is_some() { list(parameters) } else { Value::Unknown };
    let fields = match (found.fields(), found.has_event()) {
        (Some(fields), _) => Value::Fields(
            fields
                .iter()
                .map(|field| Field {
                    name: text(view.string(field.name)),
                    type_name: text(view.string(field.type_name)),
                    offset: field.offset.get().into(),
                    size: field.size.get().into(),
                })
                .collect(),
        ),
        (None, true) => Value::Unknown,
        (None, false) => Value::None,
    };
    let module = object_name(view, found.object());
    let word = |text: String| if text.is_empty() { Value::None } else { Value::Word(text) };
    vec![
        (What::System, word(system.to_owned())),
        (What::Arguments, arguments),
        (What::Fields, fields),
        (What::Module, word(module)),
    ]
}
