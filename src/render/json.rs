//! JSON Lines: one object for each placement, with the fields of the contract.
use crate::query::placement::{Instance, Placement};
use crate::query::point;
use crate::query::spec::Filter;
use probeidx_format::View;
use serde::Serialize;
use std::io::Write;

/// A placement as JSON.
#[derive(Serialize)]
struct Object<'a> {
    kernel: &'a str,
    module: Option<String>,
    probe: String,
    function: String,
    file: String,
    line: u32,
    instance: &'static str,
    section: String,
    address: String,
    inlined_into: Vec<Call>,
    symbol: Option<String>,
    offset: Option<u32>,
    symbol_unique: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    collides_with: Vec<String>,
    anchor: Option<Anchor>,
    attach: Attach,
    coverage: Coverage,
    vars: Vec<Variable>,
}

#[derive(Serialize)]
struct Call {
    function: String,
    file: String,
    line: u32,
    column: u32,
}

#[derive(Serialize)]
struct Anchor {
    module: Option<String>,
    symbol: String,
    offset: u32,
}

/// What each mechanism of the kernel says; nothing is claimed that was not found out.
#[derive(Serialize)]
struct Attach {
    kprobe: &'static str,
    kprobe_events: &'static str,
    kretprobe: &'static str,
    fentry: &'static str,
}

#[derive(Serialize)]
struct Coverage {
    instances: u32,
    reachable: Option<u32>,
}

#[derive(Serialize)]
struct Variable {
    name: String,
    kind: &'static str,
    #[serde(rename = "type")]
    type_name: Option<String>,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    location: Option<String>,
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Writes a placement as one line.
pub fn placement(
    view: &View<'_>,
    kernel: &str,
    placement: &Placement<'_>,
    filter: Filter,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    let mut probe = vec![];
    point::put(
        view,
        placement.object,
        placement.function,
        placement.file,
        placement.line,
        filter,
        &mut probe,
    );
    let not_inline = |verdict| if placement.instance == Instance::Inline { "inline" } else { verdict };
    let object = Object {
        kernel,
        module: placement.module.map(text),
        probe: text(&probe),
        function: text(placement.function),
        file: text(placement.file),
        line: placement.line,
        instance: placement.instance.name(),
        section: text(placement.section),
        address: format!("{:#x}", placement.address),
        inlined_into: placement
            .inlined_into
            .iter()
            .map(|c| Call { function: text(c.function), file: text(c.file), line: c.line, column: c.column })
            .collect(),
        symbol: placement.symbol.map(|s| text(s.0)),
        offset: placement.symbol.map(|s| s.1),
        symbol_unique: placement.uniqueness.unique,
        collides_with: placement
            .uniqueness
            .collides_with
            .iter()
            .filter_map(|o| Some(text(view.string(view.objects.get(o.index())?.name))))
            .collect(),
        anchor: placement.anchor.as_ref().map(|a| Anchor {
            module: a.module.map(text),
            symbol: text(a.symbol),
            offset: a.offset,
        }),
        attach: Attach {
            kprobe: "undecided",
            kprobe_events: "undecided",
            kretprobe: not_inline("undecided"),
            fentry: not_inline("undecided"),
        },
        coverage: Coverage { instances: placement.instances, reachable: None },
        vars: placement
            .variables
            .iter()
            .map(|v| Variable {
                name: text(v.name),
                kind: if v.is_parameter { "param" } else { "local" },
                type_name: v.type_name.clone(),
                state: v.state.name(),
                location: v.location.clone(),
            })
            .collect(),
    };
    serde_json::to_writer(&mut *out, &object)?;
    out.write_all(b"\n")
}
