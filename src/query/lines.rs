//! Which source lines of a function or of a file have code, and at which addresses.
use super::placement;
use super::rows::{self, Files, Row};
use super::select::{self, Declaration, Placed, Scope};
use super::spec::{Lines, StatementSpec};
use super::verdict::Judge;
use probeidx_format::View;
use probeidx_format::details::{CallSite, Range};
use probeidx_format::id::{ObjectId, PlaceId, StrId};
use std::collections::BTreeMap;

/// The lines of a function, or of a file, in one object.
#[derive(Clone, Debug)]
pub struct Listing<'a> {
    pub object: ObjectId,
    /// The function, if one was asked for.
    pub function: Option<Declaration>,
    /// The file.
    pub file: StrId,
    /// Those that have code, rising.
    pub lines: Vec<Line<'a>>,
}

/// A line that has code.
#[derive(Clone, Debug, Default)]
pub struct Line<'a> {
    /// From 1.
    pub number: u32,
    /// Where rows of it start, rising, each address once.
    pub points: Vec<Point<'a>>,
    /// What is called there and was inlined, each function once; its code has lines of its own.
    pub inlined: Vec<Placed<'a>>,
}

/// An address of a line.
#[derive(Clone, Copy, Debug)]
pub struct Point<'a> {
    /// The innermost placement that holds it; none in assembly.
    pub placed: Option<Placed<'a>>,
    pub row: Row,
}

/// The lines of what a spec names: of its functions, each by itself, else of its files. Those within the lines that it
/// asks for, if it asks for some. Cost: of the rows of the units that have code of it.
pub fn lines<'a>(view: &View<'a>, spec: &StatementSpec) -> Vec<Listing<'a>> {
    let scope = Scope::new(view, &spec.module);
    let mut found = match &spec.function {
        Some(_) => of_functions(view, spec, &scope),
        None => of_files(view, spec, &scope),
    };
    if let Some(asked) = &spec.lines {
        for listing in &mut found {
            let declared = listing.function.map_or(0, |f| f.line);
            listing.lines.retain(|line| asked.contains(line.number, declared));
        }
    }
    found.retain(|listing| !listing.lines.is_empty());
    found
}

/// The address of a line that is best probed: one that `register_kprobe` takes, not in an inlined copy, a statement, the
/// lowest.
pub fn best<'p, 'a>(judge: &Judge<'_>, object: ObjectId, points: &'p [Point<'a>]) -> Option<&'p Point<'a>> {
    let is_root = |p: &Point<'_>| p.placed.is_none_or(|p| p.record.entry.get() != 0);
    points
        .iter()
        .min_by_key(|p| (!judge.kprobe(object, p.row.pc).is_ok(), !is_root(p), !p.row.is_stmt, p.row.pc))
}

fn of_functions<'a>(view: &View<'a>, spec: &StatementSpec, scope: &Scope) -> Vec<Listing<'a>> {
    let Some(name) = &spec.function else { return vec![] };
    let mut found = vec![];
    let mut scratch = vec![];
    for name in select::names(view, name) {
        for declaration in select::declarations(view, name, spec.file.as_ref()) {
            select::places(view, &declaration, scope, &mut scratch, |object, own| {
                let mut lines = Gathered::default();
                for placed in own {
                    lines.add_placement(view, object, *placed, &declaration);
                }
                let (function, file) = (Some(declaration), declaration.file);
                found.push(Listing { object, function, file, lines: lines.finish() });
            });
        }
    }
    found
}

fn of_files<'a>(view: &View<'a>, spec: &StatementSpec, scope: &Scope) -> Vec<Listing<'a>> {
    let Some(pattern) = &spec.file else { return vec![] };
    let mut by_file: BTreeMap<(ObjectId, StrId), Gathered<'a>> = BTreeMap::new();
    let asked = |line| match &spec.lines {
        Some(lines @ Lines::Absolute(_)) => lines.contains(line, 0),
        _ => true,
    };
    let mut files = Files::new(pattern);
    for object in scope.objects() {
        let units = files.units(view, object);
        rows::by_unit(view, object, &units, |_, rows| {
            for row in rows.iter().filter(|row| row.line > 0 && asked(row.line)) {
                if files.contain(view, row.file) {
                    let placed = placement::holding(view, object, row.pc).map(|p| owner(view, p, row));
                    by_file.entry((object, row.file)).or_default().add_row(placed, *row);
                }
            }
        });
    }
    let listing = |((object, file), lines): (_, Gathered<'a>)| Listing {
        object,
        function: None,
        file,
        lines: lines.finish(),
    };
    by_file.into_iter().map(listing).collect()
}

/// Whose line a row is: where inlined code starts or ends, an address has rows of both. Of the placements that hold it,
/// innermost first, the one that is declared in the row's file.
fn owner<'a>(view: &View<'a>, innermost: Placed<'a>, row: &Row) -> Placed<'a> {
    let is_of_file = |p: &Placed<'_>| select::function(view, p.record).is_some_and(|f| f.file == row.file);
    std::iter::successors(Some(innermost), |p| p.outer(view)).find(is_of_file).unwrap_or(innermost)
}

/// Lines while they are gathered.
#[derive(Default)]
struct Gathered<'a> {
    lines: BTreeMap<u32, Line<'a>>,
}

impl<'a> Gathered<'a> {
    fn line(&mut self, number: u32) -> &mut Line<'a> {
        self.lines.entry(number).or_insert_with(|| Line { number, ..Line::default() })
    }

    fn add_row(&mut self, placed: Option<Placed<'a>>, row: Row) {
        self.line(row.line).points.push(Point { placed, row });
    }

    /// The code of a placement that belongs to it and not to what is inlined into it, and what that is.
    fn add_placement(
        &mut self,
        view: &View<'a>,
        object: ObjectId,
        placed: Placed<'a>,
        declared: &Declaration,
    ) {
        let unit = view.unit_of_place(placed.id);
        // Where inlined code ends GCC 12 leaves rows of it behind, which are of no length.
        let is_own = |file, line| file == declared.file && line > 0 && line >= declared.line;
        let mut inlined: Vec<Range> = vec![];
        for inner in inlined_into(view, object, placed) {
            let details = view.details(inner.record);
            inlined.extend(details.ranges);
            let Some(CallSite { file: called, line, .. }) = details.call else { continue };
            if is_own(view.unit_file(unit, called), line) {
                let known = &mut self.line(line).inlined;
                if !known.iter().any(|k| k.record.function == inner.record.function) {
                    known.push(inner);
                }
            }
        }
        let ranges = view.details(placed.record).ranges;
        rows::within(view, object, ranges, |row| {
            if is_own(row.file, row.line) && !inlined.iter().any(|r| r.contains(row.pc)) {
                self.add_row(Some(placed), row);
            }
        });
    }

    fn finish(self) -> Vec<Line<'a>> {
        let mut lines: Vec<Line<'a>> = self.lines.into_values().collect();
        for line in &mut lines {
            // Of several rows at an address the last one counts, but a statement is one, whichever row says so.
            line.points.sort_by_key(|p| (p.row.pc, !p.row.is_stmt));
            line.points.dedup_by_key(|p| p.row.pc);
        }
        lines
    }
}

/// What is inlined into a placement, but not into something that is. Cost: of all that stands within it.
fn inlined_into<'a>(
    view: &View<'a>,
    object: ObjectId,
    placed: Placed<'a>,
) -> impl Iterator<Item = Placed<'a>> + use<'a> {
    let view = *view;
    let places = placed.id.index() + 1..view.places_of(object).end;
    let inner = places.map_while(move |at| {
        let inner = Placed { id: PlaceId::new(at as u32), record: view.places.get(at)? };
        let outer = view.outer(inner.id, inner.record)?;
        (outer >= placed.id).then_some((inner, outer))
    });
    inner.filter(move |(_, outer)| *outer == placed.id).map(|(inner, _)| inner)
}
