//! The source lines of a function or file that have code, with their addresses.
use super::placement::{Describer, Placement, Source};
pub use super::statement::Declared;
use super::statement::{self, Found};
use crate::error::{Error, ErrorKind, Result};
use crate::query::index::functions::Placed;
use crate::query::index::line_table::Row;
use crate::query::spec::{Lines, Point as Asked, Spec, StatementSpec};
use crate::query::verdict::Judge;
use probeidx_format::View;
use probeidx_format::details::CallSite;
use probeidx_format::id::{ObjectId, PlaceId, StrId};
use std::collections::{BTreeMap, BTreeSet};

/// The lines of a function, or of a file, in one object.
#[derive(Clone, Debug)]
pub struct Listing {
    /// The object that holds the code.
    pub object: ObjectId,
    /// The function, if the spec names functions.
    pub function: Option<Declared>,
    /// The file.
    pub file: StrId,
    /// The lines that have code, in rising order.
    pub lines: Vec<Line>,
}

/// A line that has code.
#[derive(Clone, Debug, Default)]
pub struct Line {
    /// From 1.
    pub number: u32,
    /// The addresses at which rows of the line start, in rising order, without duplicates.
    pub points: Vec<Point>,
    /// The functions that are called on the line and inlined, each once; their code has lines of its own.
    pub inlined: Vec<Placed>,
}

/// An address of a line.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// The innermost placement that contains it; `None` in assembly.
    pub placed: Option<Placed>,
    /// The row of the line table.
    pub row: Row,
}

impl Point {
    /// The placement at the address; `None` if no function and no symbol holds it.
    ///
    /// # Errors
    /// Those of the index.
    pub fn described<'a>(
        &self,
        describer: &mut Describer<'a, '_>,
        object: ObjectId,
    ) -> Result<Option<Placement<'a>>> {
        match self.placed {
            Some(placed) => describer.statement(object, placed, self.row.pc),
            None => Ok(describer.within_symbol(object, self.row.pc)),
        }
    }
}

/// The lines of each function that a spec names, or else of each of its files, limited to the lines that the spec
/// selects. Cost: linear in the rows and placements of the units that contain the code.
pub fn lines<'a>(view: &View<'a>, spec: &StatementSpec) -> Vec<Listing> {
    let asked = spec.lines.as_ref().unwrap_or(&Lines::All);
    let mut gathered: BTreeMap<_, BTreeMap<u32, Line>> = BTreeMap::new();
    for Found { object, row, owner, declared } in statement::addresses(view, spec, asked) {
        if row.line == 0 {
            continue;
        }
        let mut function = None;
        if let Some(name) = &spec.function {
            function = declared.filter(|f| name.matches(view.string(f.name)));
            // Code inlined into the function does not belong to it, even if declared in the same file. At its end, GCC
            // 12 leaves zero-length rows of it behind.
            if function.is_none_or(|f| f.file != row.file || f.line > row.line) {
                continue;
            }
        }
        let lines = gathered.entry((function, object, row.file)).or_default();
        let line = lines.entry(row.line).or_insert_with(|| Line { number: row.line, ..Line::default() });
        line.points.push(Point { placed: owner, row });
    }
    for ((function, object, _), lines) in &mut gathered {
        if let Some(function) = function {
            add_inlined(view, *object, *function, asked, lines);
        }
    }
    let listing = |((function, object, file), lines): ((_, _, _), BTreeMap<_, _>)| Listing {
        object,
        function,
        file,
        lines: lines.into_values().collect(),
    };
    gathered.into_iter().map(listing).collect()
}

/// The functions, files and lines that a spec selects.
///
/// # Errors
/// [`ErrorKind::Usage`] for specs that have no lines.
pub fn asked(spec: &Spec) -> Result<StatementSpec> {
    match &spec.point {
        Asked::Statement(statement) => Ok(statement.clone()),
        Asked::Function(f) if f.callee.is_none() && f.label.is_none() && f.offset.is_none() => {
            Ok(StatementSpec {
                module: f.module.clone(),
                function: Some(f.declared.name.clone()),
                file: f.declared.file.clone(),
                lines: None,
                nearest: false,
            })
        }
        _ => Err(Error::new(ErrorKind::Usage, "only functions and files have lines")
            .hint("ask for NAME, NAME@FILE, FILE, NAME:FROM-TO or FILE:FROM-TO")),
    }
}

/// The best address of a line to probe, over all copies of its function. Prefers one that `register_kprobe` accepts,
/// then one in the function itself, then the start of a statement, then the lowest.
pub fn best<'p, 'a>(
    view: &View<'a>,
    judge: &Judge<'_, '_>,
    object: ObjectId,
    points: &'p [Point],
) -> Option<&'p Point> {
    let is_inline = |p: &Point| p.placed.is_some_and(|p| p.is_inline(view));
    points
        .iter()
        .min_by_key(|p| (!judge.kprobe(object, p.row.pc).is_ok(), is_inline(p), !p.row.is_stmt, p.row.pc))
}

/// The placements of a line, with their sources, in the order of the addresses.
///
/// # Errors
/// Those of the index.
pub fn placements<'a>(
    view: &View<'a>,
    describer: &mut Describer<'a, '_>,
    object: ObjectId,
    line: &Line,
) -> Result<Vec<Placement<'a>>> {
    let sources: Vec<Source<'a>> = sources(view, &describer.judge, object, line).collect();
    let mut found = vec![];
    for (point, source) in line.points.iter().zip(sources) {
        let placement = point.described(describer, object)?;
        found.extend(placement.map(|placement| Placement { source: Some(source), ..placement }));
    }
    Ok(found)
}

/// The sources of the addresses of a line, in the order of the addresses.
pub fn sources<'a>(
    view: &View<'a>,
    judge: &Judge<'_, '_>,
    object: ObjectId,
    line: &Line,
) -> impl Iterator<Item = Source<'a>> {
    let best = best(view, judge, object, &line.points).map(|point| point.row.pc);
    let mut addresses: Vec<u32> = line.points.iter().map(|point| point.row.pc).collect();
    addresses.sort_unstable();
    line.points.iter().map(move |point| Source {
        is_best: best == Some(point.row.pc),
        is_systemtap: statement::lowest(view, point.placed, &addresses) == Some(point.row.pc),
        ..Source::of(view, point.row)
    })
}

/// Adds the functions that are inlined into a function to the lines of their calls.
fn add_inlined<'a>(
    view: &View<'a>,
    object: ObjectId,
    function: Declared,
    asked: &Lines,
    lines: &mut BTreeMap<u32, Line>,
) {
    let copies: BTreeSet<PlaceId> =
        lines.values().flat_map(|l| &l.points).filter_map(|p| p.placed).map(|p| p.id).collect();
    for id in copies {
        let unit = view.unit_of_place(id);
        for inner in inlined_into(view, object, id) {
            let Some(CallSite { file, line, .. }) = view.details(inner.id, inner.record).call else {
                continue;
            };
            let line = view.line(view.unit_file(unit, file), line);
            let is_asked = line > 0 && asked.contains(line, function.line);
            if view.unit_file(unit, file) == function.file && is_asked {
                let line = lines.entry(line).or_insert_with(|| Line { number: line, ..Line::default() });
                if !line.inlined.iter().any(|known| known.record.function == inner.record.function) {
                    line.inlined.push(inner);
                }
            }
        }
    }
}

/// The placements inlined directly into a placement. Cost: linear in everything within it.
fn inlined_into<'a>(
    view: &'a View<'a>,
    object: ObjectId,
    outer: PlaceId,
) -> impl Iterator<Item = Placed> + use<'a> {
    let places = outer.index() + 1..view.places_of(object).end;
    let inner = places.map_while(move |at| {
        let inner = Placed { id: PlaceId::new(at as u32), record: view.places.get(at)? };
        let directly = view.outer(inner.id, inner.record)?;
        (directly >= outer).then_some((inner, directly))
    });
    inner.filter(move |(_, directly)| *directly == outer).map(|(inner, _)| inner)
}
