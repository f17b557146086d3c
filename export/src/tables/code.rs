//! `functions`, `placements`, `arguments` and what becomes of them over kernels: the rows of one name.
use super::Kernel;
use crate::cell::{Cell, assigned};
use crate::since::Facts;
use crate::sink::Tables;
use probeidx::Result;
use probeidx::answer::{Anchor, Coverage, Instance, Mechanism, Placement};
use probeidx::cli::args::Table;
use probeidx::query::index::functions::{self, Declaration};
use probeidx::query::types::c_declaration::Prototype;
use probeidx::query::value::parameter_list::ParameterList;
use probeidx::query::value::place::Place;
use probeidx::render::words;
use probeidx_format::View;
use probeidx_format::id::NameId;
use std::rc::Rc;

/// The facts of a name over kernels.
#[derive(Default)]
pub struct CodeFacts {
    functions: Facts,
    placements: Facts,
}

impl CodeFacts {
    /// Writes the facts of a name, and forgets them.
    ///
    /// # Errors
    /// Those of writing.
    pub fn write(&mut self, names: &[String], out: &mut Tables<'_, '_>) -> Result<()> {
        self.functions.drain(names, |mut row, kernels| {
            row.push(Cell::Numbers(kernels.iter().map(|(_, line)| *line).collect()));
            out.push(Table::FunctionsSince, 0, &row)
        })?;
        self.placements.write(Table::PlacementsSince, names, out)
    }
}

/// A function in one object.
struct Function<'a> {
    file: &'a [u8],
    line: u32,
    module: Option<&'a [u8]>,
    rests_on: &'static str,
    coverage: Rc<Coverage>,
}

/// What a declaration says.
struct Declared<'a> {
    file: &'a [u8],
    line: u32,
    /// If its prototype is known.
    whole: Option<String>,
    return_type: Option<String>,
    parameters: Option<Vec<String>>,
}

/// The rows of a name in one kernel.
///
/// # Errors
/// Those of the index and of writing.
pub fn rows<'a>(
    kernel: &mut Kernel<'a, '_>,
    name: (NameId, &'a [u8]),
    facts: &mut CodeFacts,
    out: &mut Tables<'_, 'a>,
) -> Result<()> {
    let Kernel { view, describer, parameters, all, number, label, partition, next_placement, .. } = kernel;
    let (has_placements, has_arguments) = (out.has(Table::Placements), out.has(Table::Arguments));
    let has_facts = out.has(Table::PlacementsSince);
    let mut found: Vec<Function<'a>> = vec![];
    all.of_name(view, name.0, describer, |placement, _| {
        if found.last().is_none_or(|last| !Rc::ptr_eq(&last.coverage, &placement.coverage)) {
            found.push(Function {
                file: placement.file,
                line: placement.line,
                module: placement.module,
                rests_on: placement.provenance.name(),
                coverage: Rc::clone(&placement.coverage),
            });
        }
        let id = i64::from(*next_placement);
        *next_placement += 1;
        if has_placements {
            push_placement(out, *partition, label, id, &placement)?;
        }
        if has_arguments {
            push_arguments(out, (label, *partition), id, &placement, parameters, view.machine())?;
        }
        if has_facts {
            let inlined_into = inlined_into(&placement);
            facts.placements.add(*number, &placement_fact(&placement, &inlined_into), None);
        }
        Ok(())
    })?;
    if out.has(Table::Functions) || out.has(Table::FunctionsSince) {
        push_functions(view, (*number, label, *partition), name, &found, facts, out)?;
    }
    Ok(())
}

fn push_functions<'a>(
    view: &'a View<'a>,
    (number, label, partition): (usize, &'a str, usize),
    (id, name): (NameId, &'a [u8]),
    found: &[Function<'a>],
    facts: &mut CodeFacts,
    out: &mut Tables<'_, 'a>,
) -> Result<()> {
    let declarations = functions::declarations(view, id, None);
    let spelled = String::from_utf8_lossy(name);
    let mut declared: Option<Declared<'_>> = None;
    for function in found {
        // Of a static function of a header there is one for each object.
        if declared.as_ref().is_none_or(|d| (d.file, d.line) != (function.file, function.line)) {
            let is_same = |d: &&Declaration| view.string(d.file) == function.file && d.line == function.line;
            let first = declarations.iter().find(is_same).filter(|_| function.rests_on != "symbols");
            let record = first.and_then(|d| view.functions.get(d.functions().next()?.index()));
            let known = record.and_then(|record| Prototype::of(view, record));
            let in_facts = known.as_ref().filter(|_| out.has(Table::FunctionsSince));
            declared = Some(Declared {
                file: function.file,
                line: function.line,
                whole: in_facts.map(|known| known.declaration(view, &spelled)),
                return_type: known.as_ref().map(|known| known.return_type(view)),
                parameters: known.map(|known| known.parameters),
            });
        }
        let Some(declared) = &declared else { continue };
        let module = Cell::lasting(function.module.unwrap_or_default());
        let coverage = &*function.coverage;
        let (entries, copies) = (coverage.out_of_line.total, coverage.inline.total);
        if out.has(Table::Functions) {
            let gone: u32 = coverage.left_out.iter().map(|(_, count)| count).sum();
            let row = [
                Cell::from(label),
                Cell::Lasting(name),
                Cell::lasting(function.file),
                Cell::line(function.line),
                module.clone(),
                Cell::maybe(declared.return_type.as_deref()),
                declared.parameters.as_deref().map_or(Cell::Null, Cell::texts),
                Cell::from(function.rests_on),
                Cell::from(entries),
                Cell::from(copies),
                Cell::from(coverage.callers),
                Cell::from(coverage.by.any_address()),
                Cell::from(gone),
            ];
            out.push(Table::Functions, partition, &row)?;
        }
        if out.has(Table::FunctionsSince) {
            let inlined = match (entries, copies) {
                _ if function.rests_on != "dwarf" => Cell::Null,
                (0, 0) => Cell::from("gone"),
                (_, 0) => Cell::from("not"),
                (0, _) => Cell::from("fully"),
                _ => Cell::from("in part"),
            };
            let fact = [
                Cell::Lasting(name),
                Cell::lasting(function.file),
                module,
                Cell::maybe(declared.whole.as_deref()),
                inlined,
            ];
            let line = Some(i64::from(function.line)).filter(|line| *line > 0);
            facts.functions.add(number, &fact, line);
        }
    }
    Ok(())
}

fn push_placement<'a>(
    out: &mut Tables<'_, 'a>,
    partition: usize,
    label: &'a str,
    id: i64,
    p: &Placement<'a>,
) -> Result<()> {
    let (anchor_symbol, anchor_offset) = match p.anchor {
        Some(Anchor::Symbol { symbol, offset, .. }) => (Cell::Lasting(symbol), Cell::from(offset)),
        Some(Anchor::File { path, offset }) => (Cell::Lasting(path), Cell::Number(offset as i64)),
        None => (Cell::Null, Cell::Null),
    };
    let is_inline = p.instance == Instance::Inline;
    let call = p.inlined_into.first().filter(|_| is_inline);
    let unknown = p.verdicts.unknown();
    let because = unknown.to_string();
    let [kprobe, kprobe_events, kretprobe, ftrace, trampoline] = verdicts(p);
    let inlined_into = inlined_into(p);
    let row = [
        Cell::from(label),
        Cell::Number(id),
        Cell::Lasting(p.function),
        Cell::lasting(p.file),
        Cell::line(p.line),
        Cell::lasting(p.module.unwrap_or_default()),
        Cell::from(p.instance.name()),
        Cell::from(p.provenance.name()),
        Cell::lasting(p.section),
        Cell::Address(p.address),
        p.symbol.map_or(Cell::Null, |(symbol, _)| Cell::Lasting(symbol)),
        p.symbol.map_or(Cell::Null, |(_, offset)| Cell::from(offset)),
        Cell::from(p.uniqueness.unique),
        anchor_symbol,
        anchor_offset,
        Cell::from(p.verdicts.shift),
        Cell::lasting_texts(&inlined_into),
        call.map_or(Cell::Null, |call| Cell::lasting(call.file)),
        call.map_or(Cell::Null, |call| Cell::line(call.line)),
        Cell::from(p.is_nested),
        Cell::from(p.coverage.instances()),
        Cell::from(p.coverage.by.any_address()),
        p.by_name.map_or(Cell::Null, |by| Cell::from(by.state.name())),
        kprobe,
        kprobe_events,
        kretprobe,
        ftrace,
        trampoline,
        Cell::text(because.as_bytes()),
    ];
    out.push(Table::Placements, partition, &row)
}

fn push_arguments<'a>(
    out: &mut Tables<'_, 'a>,
    (label, partition): (&'a str, usize),
    id: i64,
    p: &Placement<'a>,
    parameters: &mut ParameterList<'a>,
    machine: u16,
) -> Result<()> {
    let Some(placed) = p.placed else { return Ok(()) };
    let place = Place { object: p.object, placed, pc: p.pc, at_return: false, with_lines: false };
    parameters.list(place, p.entry, |value| {
        let slot = value.parameter.map(|passed| words::slot(passed.slot, machine));
        let fetch = value.fetch.filter(|_| !value.is_kept).map(|body| assigned(value.name, body));
        let row = [
            Cell::from(label),
            Cell::Number(id),
            Cell::Lasting(p.function),
            Cell::from(value.number),
            Cell::Lasting(value.name),
            value.type_name.map_or(Cell::Null, Cell::Shared),
            Cell::from(value.state.name()),
            match value.location {
                Some(text) if value.is_kept => Cell::Shared(text),
                text => Cell::maybe(text.map(|text| &**text)),
            },
            match (value.fetch, &fetch) {
                (None, _) => Cell::Null,
                (_, Some(fetch)) => Cell::Text(fetch),
                (Some(body), None) => Cell::Assigned(value.name, body),
            },
            Cell::maybe(slot.as_deref()),
            value.parameter.map_or(Cell::Null, |passed| Cell::from(passed.proof.name())),
        ];
        out.push(Table::Arguments, partition, &row)
    })
}

fn placement_fact<'a, 'c>(p: &Placement<'a>, inlined_into: &'c [&'a [u8]]) -> [Cell<'a, 'c>; 12] {
    let [kprobe, kprobe_events, kretprobe, ftrace, trampoline] = verdicts(p);
    [
        Cell::Lasting(p.function),
        Cell::lasting(p.file),
        Cell::lasting(p.module.unwrap_or_default()),
        Cell::from(p.instance.name()),
        Cell::lasting_texts(inlined_into),
        p.symbol.map_or(Cell::Null, |(symbol, _)| Cell::Lasting(symbol)),
        p.symbol.map_or(Cell::Null, |(_, offset)| Cell::from(offset)),
        kprobe,
        kprobe_events,
        kretprobe,
        ftrace,
        trampoline,
    ]
}

/// The functions that this copy is in, the innermost first.
fn inlined_into<'a>(p: &Placement<'a>) -> Vec<&'a [u8]> {
    p.inlined_into.iter().map(|call| call.function).collect()
}

/// In the order of the columns.
fn verdicts<'c>(p: &Placement<'_>) -> [Cell<'static, 'c>; 5] {
    [
        Mechanism::Kprobe,
        Mechanism::KprobeEvents,
        Mechanism::Kretprobe,
        Mechanism::Ftrace,
        Mechanism::Trampoline,
    ]
    .map(|mechanism| p.verdicts.of(mechanism).map_or(Cell::Null, |verdict| Cell::from(verdict.name())))
}
