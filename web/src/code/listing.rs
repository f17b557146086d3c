//! What the index has of a function's code: parts, scopes, variables, instructions. Addresses are bytes from its entry.
use super::place::Shown;
use crate::lines::{Lines, text};
use probeidx::query::index::functions;
use probeidx::query::index::line_table::{self, Row};
use probeidx::query::index::symbols;
use probeidx::query::types::stap_spelling;
use probeidx::query::value::lifetime::{self, Lifetime};
use probeidx::query::verdict::Judge;
use probeidx_format::View;
use probeidx_format::details::Range;
use probeidx_format::id::{PlaceId, StrId, TypeId};
use rustc_hash::FxHashMap;
use serde_json::{Value, json};
use std::time::{Duration, Instant};

/// The most variables that are told.
const MOST_VARIABLES: usize = 20_000;
/// Scopes and variables are told for so long: those of a kernel take some 10 ms, those of a forged index could take hours.
const LONGEST: Duration = Duration::from_secs(5);

/// Writes them. Cost: some microseconds for an instruction, and for a variable.
pub fn write(view: &View<'_>, shown: &Shown, out: &mut Lines) {
    out.item(&function(view, shown));
    for part in &shown.parts {
        out.item(&part_of(view, shown, *part));
    }
    let end = Instant::now() + LONGEST;
    scopes(view, shown, end, out);
    variables(view, shown, end, out);
    instructions(view, shown, out);
    out.is_truncated |= shown.is_cut;
    if shown.meanings > 1 {
        out.note(&format!("{} functions have this name; this is the first", shown.meanings));
    }
    if !shown.has_boundaries(view) {
        out.note("the index has no instructions of it: lines are shown instead");
    }
}

fn function(view: &View<'_>, shown: &Shown) -> Value {
    let declared = shown.scopes.first().and_then(|root| functions::function(view, root.record));
    let symbol = symbols::holding(view, shown.object, shown.base);
    let name = declared.map(|f| f.name).or(symbol.map(|held| held.record.name));
    json!({
        "of": "function",
        "module": shown.module(view),
        "function": name.map(|name| text(view.string(name))),
        "file": declared.map(|f| text(view.string(f.file))),
        "line": declared.map(|f| f.line.get()),
        "at": shown.offset(shown.pc),
    })
}

/// A part has one section, and one symbol that the kernel prints.
fn part_of(view: &View<'_>, shown: &Shown, part: Range) -> Value {
    let section = symbols::section(view, shown.object, part.start);
    let held = symbols::holding(view, shown.object, part.start);
    json!({
        "of": "part",
        "at": shown.offset(part.start),
        "length": part.end - part.start,
        "address": format!("{:#x}", symbols::address(view, shown.object, part.start)),
        "section": section.map(|s| text(view.string(s.name))),
        "symbol": held.map(|held| text(view.string(held.record.name))),
        "offset": held.map(|held| held.offset),
    })
}

fn scopes(view: &View<'_>, shown: &Shown, end: Instant, out: &mut Lines) {
    let numbers: FxHashMap<PlaceId, usize> =
        shown.scopes.iter().enumerate().map(|(at, placed)| (placed.id, at)).collect();
    for (number, placed) in shown.scopes.iter().enumerate() {
        if Instant::now() > end {
            out.is_truncated = true;
            return;
        }
        let function = functions::function(view, placed.record);
        let details = view.details(placed.id, placed.record);
        let unit = view.unit_of_place(placed.id);
        let call = details.call.map(|call| {
            let file = view.unit_file(unit, call.file);
            json!({ "file": text(view.string(file)), "line": view.line(file, call.line), "column": call.column })
        });
        out.item(&json!({
            "of": "scope",
            "scope": number,
            "outer": placed.outer(view).and_then(|outer| numbers.get(&outer.id)),
            "function": function.map(|f| text(view.string(f.name))),
            "file": function.map(|f| text(view.string(f.file))),
            "line": function.map(|f| f.line.get()),
            "call": call,
            "ranges": ranges(shown, details.ranges),
        }));
    }
}

fn ranges(shown: &Shown, ranges: impl Iterator<Item = Range>) -> Vec<[i64; 2]> {
    ranges.map(|range| [shown.offset(range.start), shown.offset(range.end)]).collect()
}

fn variables(view: &View<'_>, shown: &Shown, end: Instant, out: &mut Lines) {
    let mut spelled: FxHashMap<TypeId, Option<String>> = FxHashMap::default();
    let mut count = 0;
    for (scope, placed) in shown.scopes.iter().enumerate() {
        for variable in lifetime::lifetimes(view, shown.object, *placed) {
            if count == MOST_VARIABLES || Instant::now() > end {
                out.is_truncated = true;
                return;
            }
            count += 1;
            let Lifetime { name, is_parameter, type_id, scope: within, stays } = variable;
            let type_name = type_id
                .and_then(|id| spelled.entry(id).or_insert_with(|| stap_spelling::spell(view, id)).clone());
            let places: Vec<Value> = stays
                .into_iter()
                .map(|stay| {
                    let [from, to] = [stay.range.start, stay.range.end].map(|pc| shown.offset(pc));
                    json!({ "from": from, "to": to, "in": stay.medium.name(), "state": stay.state.name(), "location": stay.text })
                })
                .collect();
            out.item(&json!({
                "of": "variable",
                "scope": scope,
                "name": text(view.string(name)),
                "kind": if is_parameter { "param" } else { "local" },
                "type": type_name,
                "within": ranges(shown, within.into_iter()),
                "places": places,
            }));
        }
    }
}

fn instructions(view: &View<'_>, shown: &Shown, out: &mut Lines) {
    let judge = Judge::new(view);
    let mut lines = SourceLines::of(view, shown);
    let names: Vec<String> = lines.files.iter().map(|file| text(view.string(*file))).collect();
    out.item(&json!({ "of": "files", "files": names }));
    for Range { start, end } in shown.instructions(view) {
        let row = lines.at(start);
        let line = row.map_or(String::new(), |(file, row)| {
            format!(
                ",\"file\":{file},\"line\":{},\"column\":{},\"is_stmt\":{}",
                row.line, row.column, row.is_stmt
            )
        });
        // Of numbers and names of verdicts alone: there are thousands.
        out.written(&format_args!(
            "{{\"of\":\"instruction\",\"at\":{},\"length\":{},\"kprobe\":\"{}\"{line}}}",
            shown.offset(start),
            end - start,
            judge.kprobe(shown.object, start).name(),
        ));
    }
}

/// The line rows of a function, walked upwards.
pub struct SourceLines {
    rows: Vec<Row>,
    next: usize,
    /// Each once, in the order of the rows.
    pub files: Vec<StrId>,
    numbers: FxHashMap<StrId, usize>,
}

impl SourceLines {
    /// Reads them. Cost: the rows of the sequences that hold it.
    pub fn of(view: &View<'_>, shown: &Shown) -> Self {
        let rows: Vec<Row> =
            shown.parts.iter().flat_map(|part| line_table::within(view, shown.object, *part)).collect();
        let mut own = Self { rows, next: 0, files: vec![], numbers: FxHashMap::default() };
        for row in own.rows.iter().filter(|row| row.line > 0) {
            own.numbers.entry(row.file).or_insert_with(|| {
                own.files.push(row.file);
                own.files.len() - 1
            });
        }
        own
    }

    /// The lines of each file.
    pub fn by_file(&self) -> impl Iterator<Item = (StrId, u32)> {
        self.rows.iter().filter(|row| row.line > 0).map(|row| (row.file, row.line))
    }

    /// The row of an address, which is not below the one before; and the number of its file.
    fn at(&mut self, pc: u32) -> Option<(usize, Row)> {
        while self.rows.get(self.next).is_some_and(|row| row.pc <= pc) {
            self.next += 1;
        }
        let row = *self.rows.get(self.next.checked_sub(1)?)?;
        (row.line > 0).then(|| Some((*self.numbers.get(&row.file)?, row))).flatten()
    }
}
