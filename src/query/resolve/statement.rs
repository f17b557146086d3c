//! From source lines to addresses: every row of a line, with the function or inlined copy to which it belongs.
use super::best_address::{Candidate, best};
use super::placement::{Describer, Placement, Source};
use crate::error::Result;
use crate::pattern::Pattern;
use crate::query::index::functions::{self, Placed, Scope};
use crate::query::index::line_table::{self, Files, Row};
use crate::query::index::symbols;
use crate::query::spec::{Filter, Lines, StatementSpec};
use crate::query::verdict::coverage::Coverage;
use probeidx_format::details::Range;
use probeidx_format::id::{FunctionId, ObjectId, PlaceId, StrId, UnitId};
use probeidx_format::record::FunctionRecord;
use probeidx_format::{Left, SectionName, View};
use rustc_hash::{FxHashMap, FxHashSet};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;
use std::rc::Rc;

/// How far `.nearest` looks, in lines (`dwflpp::get_nearest_linenos`, SystemTap 4.8).
pub const NEAR: u32 = 5;

/// Calls `each` with every address of the lines of a spec, function by function; of each line in each copy of a function
/// one is the best.
///
/// # Errors
/// What `each` gives, and what describing a placement gives.
pub(super) fn resolve<'a>(
    view: View<'a>,
    spec: &StatementSpec,
    describer: &mut Describer<'a, '_>,
    each: &mut impl FnMut(Placement<'a>, Filter) -> Result<()>,
) -> Result<()> {
    let mut found = addresses(&view, spec, spec.lines.as_ref().unwrap_or(&Lines::All));
    if found.is_empty() && spec.nearest {
        found = addresses(&view, spec, &nearest(&view, spec));
    }
    let mut by_line: FxHashMap<_, Vec<u32>> = FxHashMap::default();
    for f in &found {
        by_line.entry(f.line()).or_default().push(f.row.pc);
    }
    by_line.values_mut().for_each(|addresses| addresses.sort_unstable());
    for own in found.chunk_by(|a, b| (a.object, a.declared(&view)) == (b.object, b.declared(&view))) {
        let coverage = own[0].owner.and_then(|owner| coverage(&view, describer, own[0].object, owner));
        for line in own.chunk_by(|a, b| (a.line(), a.copy()) == (b.line(), b.copy())) {
            let lowest = lowest(&view, line[0].owner, &by_line[&line[0].line()]);
            describe(&view, line, lowest, coverage.as_ref(), describer, each)?;
        }
    }
    Ok(())
}

/// An address of a line.
#[derive(Clone, Copy)]
pub(crate) struct Found<'a> {
    pub object: ObjectId,
    pub row: Row,
    /// Whose line it is; `None` where the debug information has no function.
    pub owner: Option<Placed<'a>>,
}

impl Found<'_> {
    /// Name, file and line of the function's declaration.
    fn declared(&self, view: &View<'_>) -> Option<(StrId, StrId, u32)> {
        let function = functions::function(view, self.owner?.record)?;
        Some((function.name, function.file, function.line.get()))
    }
    fn line(&self) -> (ObjectId, StrId, u32) {
        (self.object, self.row.file, self.row.line)
    }
    fn copy(&self) -> Option<PlaceId> {
        self.owner.map(|owner| owner.id)
    }
}

/// Describes the addresses of one line in one copy of a function, and marks the best of them.
fn describe<'a>(
    view: &View<'a>,
    line: &[Found<'a>],
    lowest: Option<u32>,
    coverage: Option<&Rc<Coverage>>,
    describer: &mut Describer<'a, '_>,
    each: &mut impl FnMut(Placement<'a>, Filter) -> Result<()>,
) -> Result<()> {
    let (mut placements, mut candidates) = (vec![], vec![]);
    for found in line {
        let Found { object, row, owner } = *found;
        let described = match owner {
            Some(owner) => describer.statement(object, owner, row.pc)?,
            None => describer.within_symbol(object, row.pc),
        };
        let Some(placement) = described else { continue };
        candidates.push(Candidate {
            object,
            pc: row.pc,
            copy: found.copy(),
            file: row.file,
            line: row.line,
            can_be_probed: placement.verdicts.any_address().is_ok(),
            readable: placement.values.iter().filter(|v| v.is_asked && v.state.is_known()).count(),
            is_stmt: row.is_stmt,
        });
        let coverage = coverage.map_or_else(|| Rc::clone(&placement.coverage), Rc::clone);
        let source = Some(Source { is_systemtap: lowest == Some(row.pc), ..Source::of(view, row) });
        placements.push(Placement { source, coverage, ..placement });
    }
    for at in best(&candidates) {
        if let Some(source) = &mut placements[at].source {
            source.is_best = true;
        }
    }
    placements.into_iter().try_for_each(|placement| each(placement, Filter::Any))
}

/// The address that SystemTap takes of those of a line, which are sorted: the lowest within the copy, also where that is
/// within another one that is inlined into it.
pub(super) fn lowest(view: &View<'_>, copy: Option<Placed<'_>>, addresses: &[u32]) -> Option<u32> {
    let first = |r: Range| {
        let behind = addresses.partition_point(|pc| *pc < r.start);
        addresses.get(behind).copied().filter(|pc| *pc < r.end)
    };
    view.details(copy?.record).ranges.filter_map(first).min()
}

/// The coverage of the function of a placement.
fn coverage<'a>(
    view: &View<'a>,
    describer: &Describer<'a, '_>,
    object: ObjectId,
    placed: Placed<'a>,
) -> Option<Rc<Coverage>> {
    let function = functions::function(view, placed.record)?;
    let name = view.name(view.string(function.name))?;
    let declared = functions::declarations(view, name, None);
    let own = declared.iter().find(|d| (d.file, d.line) == (function.file, function.line.get()))?;
    let mut coverage = None;
    functions::places(view, own, &Scope::of(view, object), &mut vec![], |_, places| {
        coverage = Some(Rc::new(Coverage::of(view, &describer.judge, object, places)));
    });
    coverage
}

/// The addresses of these lines: by function, object, file, line, copy of the function and address.
pub(crate) fn addresses<'a>(view: &View<'a>, spec: &StatementSpec, lines: &Lines) -> Vec<Found<'a>> {
    let mut files = spec.file.as_ref().map(Files::new);
    let name = spec.function.as_ref().filter(|name| !name.matches_all());
    // What is declared elsewhere has lines of a file only where that file was asked for.
    let only_own = lines.is_relative() || spec.file.is_none();
    let is_meant = |row: &Row, declared: Option<(StrId, u32)>| match declared {
        Some((file, line)) => lines.contains(row.line, line) && (row.file == file || !only_own),
        None => lines.contains(row.line, 0) && !lines.is_relative(),
    };
    let mut found = vec![];
    let mut left = view.left(SectionName::Lines);
    for object in Scope::new(view, &spec.module).objects() {
        let is_asked = |f: &FunctionRecord| name.is_some_and(|name| name.matches(view.string(f.name)));
        by_unit(view, spec, object, &mut left, is_asked, |rows, copies| {
            let declared: FxHashSet<_> = copies.iter().map(Copy::declared).collect();
            for row in rows {
                if row.line == 0 || files.as_mut().is_some_and(|files| !files.contain(view, row.file)) {
                    continue;
                }
                let is_asked = match name {
                    // The second question alone would be enough, and is the longer one.
                    Some(_) => {
                        declared.iter().any(|d| is_meant(row, Some(*d)))
                            && copies.iter().any(|c| is_meant(row, Some(c.declared())) && c.holds(row.pc))
                    }
                    None => lines.is_relative() || is_meant(row, None),
                };
                if !is_asked {
                    continue;
                }
                let own = Found { object, row: *row, owner: owner(view, object, row) };
                if own.owner.is_none() && is_padding(view, object, row.pc) {
                    continue;
                }
                let declared = own.declared(view).map(|(_, file, line)| (file, line));
                if name.is_some() || is_meant(row, declared) {
                    found.push(own);
                }
            }
        });
    }
    found.sort_by_cached_key(|f| {
        (f.declared(view), f.object, f.row.file, f.row.line, f.copy(), f.row.pc, !f.row.is_stmt)
    });
    found.dedup_by_key(|f| (f.object, f.row.file, f.row.line, f.copy(), f.row.pc));
    found
}

/// Whether no function holds the address: behind a jump at a function's end GCC leaves a row for its last line.
fn is_padding(view: &View<'_>, object: ObjectId, pc: u32) -> bool {
    !symbols::holding(view, object, pc).is_some_and(|held| symbols::covers(view, object, held))
}

/// The function or inlined copy to which a row's line belongs: of those that hold its address the one that is declared
/// closest before the line, else the innermost. Where a copy starts, there are rows of the caller too.
fn owner<'a>(view: &View<'a>, object: ObjectId, row: &Row) -> Option<Placed<'a>> {
    let innermost = functions::holding(view, object, row.pc)?;
    let chain = std::iter::successors(Some(innermost), |p| p.outer(view));
    let declared = chain.filter_map(|p| {
        let f = functions::function(view, p.record)?;
        (f.file == row.file && f.line.get() <= row.line).then_some((f.line.get(), p))
    });
    // Of equal ones the first, which is the innermost.
    let closest = declared.reduce(|a, b| if b.0 > a.0 { b } else { a });
    Some(closest.map_or(innermost, |(_, placed)| placed))
}

/// The files with code that a spec leads to, in order. Cost: of the files of all units.
pub fn files<'a>(view: &View<'a>, spec: &StatementSpec) -> Vec<&'a [u8]> {
    let Some(pattern) = &spec.file else { return vec![] };
    let mut files = Files::new(pattern);
    let units = Scope::new(view, &spec.module).objects().flat_map(|o| view.units_of(o)).collect::<Vec<_>>();
    let all = units.into_iter().flat_map(|unit| view.unit_files(unit));
    let own: BTreeSet<StrId> = all.copied().filter(|f| files.contain(view, *f)).collect();
    own.into_iter().map(|f| view.string(f)).collect()
}

/// The lines of a file that have code, around those that were asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Around<'a> {
    /// The file's path, as the line table has it.
    pub file: &'a [u8],
    /// The first and the last line that was asked for.
    pub asked: (u32, u32),
    /// Whether one of the asked lines has code.
    pub has_code: bool,
    /// The last line with code before those that were asked for.
    pub before: Option<u32>,
    /// The first line with code behind them.
    pub behind: Option<u32>,
}

/// Of each file that has lines of a spec, what is near those that were asked for. Cost: that of all lines of the file.
pub fn around<'a>(view: &View<'a>, spec: &StatementSpec) -> Vec<Around<'a>> {
    let near = |(file, lines): (StrId, BTreeSet<u32>)| {
        let asked = absolute(view, spec, file);
        let first = asked.iter().map(|r| *r.start()).min()?;
        let last = asked.iter().map(|r| *r.end()).max()?;
        Some(Around {
            file: view.string(file),
            asked: (first, last),
            has_code: asked.into_iter().any(|r| lines.range(r).next().is_some()),
            before: lines.range(..=first).next_back().copied(),
            behind: lines.range(last..).next().copied(),
        })
    };
    all_lines(view, spec).into_iter().filter_map(near).collect()
}

/// The lines that `.nearest` takes instead of those without code.
fn nearest(view: &View<'_>, spec: &StatementSpec) -> Lines {
    let mut chosen = BTreeSet::new();
    for (file, lines) in all_lines(view, spec) {
        chosen.extend(absolute(view, spec, file).iter().filter_map(|r| nearest_to(*r.start(), &lines)));
    }
    Lines::Absolute(chosen.into_iter().map(|line| line..=line).collect())
}

/// The line closest to another, at most [`NEAR`] away; of two the later one.
pub fn nearest_to(line: u32, lines: &BTreeSet<u32>) -> Option<u32> {
    let near = lines.range(line.saturating_sub(NEAR)..=line.saturating_add(NEAR));
    near.rev().min_by_key(|l| l.abs_diff(line)).copied()
}

/// The lines of each file that have code where the spec leads.
fn all_lines(view: &View<'_>, spec: &StatementSpec) -> BTreeMap<StrId, BTreeSet<u32>> {
    let mut lines: BTreeMap<_, BTreeSet<u32>> = BTreeMap::new();
    for found in addresses(view, spec, &Lines::All) {
        lines.entry(found.row.file).or_default().insert(found.row.line);
    }
    lines
}

/// The asked lines as lines of the file.
fn absolute(view: &View<'_>, spec: &StatementSpec, file: StrId) -> Vec<RangeInclusive<u32>> {
    match (&spec.lines, &spec.function) {
        (Some(Lines::Absolute(ranges)), _) => ranges.clone(),
        (Some(Lines::Relative(ranges)), Some(name)) => {
            let names = functions::names(view, name);
            let declared = names.into_iter().flat_map(|n| functions::declarations(view, n, None));
            let own = declared.filter(|d| d.file == file);
            let shifted = |line: u32| {
                ranges.iter().map(move |r| line.saturating_add(*r.start())..=line.saturating_add(*r.end()))
            };
            own.flat_map(|d| shifted(d.line)).collect()
        }
        _ => vec![],
    }
}

/// A function or an inlined copy of it that a spec names.
pub struct Copy<'a> {
    /// The placement.
    pub placed: Placed<'a>,
    /// The function, as declared.
    pub function: &'a FunctionRecord,
    /// Inlined; else out of line.
    pub is_inline: bool,
    /// Where its code lies, rising.
    pub ranges: Vec<Range>,
}

impl Copy<'_> {
    /// File and line of the function's declaration.
    pub fn declared(&self) -> (StrId, u32) {
        (self.function.file, self.function.line.get())
    }
    /// Whether the address is one of its.
    pub fn holds(&self, pc: u32) -> bool {
        self.ranges.iter().any(|r| r.contains(pc))
    }
}

/// Calls `each` with every unit of an object that can have rows of a spec: its rows in order of their addresses, and the
/// copies of the functions that are asked for, in the order of the debug information. Cost: of the rows and placements of
/// these units, but no more rows than are `left`.
pub fn by_unit<'a>(
    view: &View<'a>,
    spec: &StatementSpec,
    object: ObjectId,
    left: &mut Left,
    mut is_asked: impl FnMut(&FunctionRecord) -> bool,
    mut each: impl FnMut(&[Row], Vec<Copy<'a>>),
) {
    let units = match (&spec.file, &spec.function) {
        (Some(file), _) => Files::new(file).units(view, object),
        (None, Some(name)) => units_of(view, name, object),
        (None, None) => view.units_of(object).collect(),
    };
    let mut known: FxHashMap<FunctionId, bool> = FxHashMap::default();
    line_table::by_unit(view, object, &units, left, |unit, rows| {
        let mut copies = vec![];
        for at in view.places_of_unit(unit) {
            let placed = Placed { id: PlaceId::new(at as u32), record: &view.places[at] };
            let Some(function) = functions::function(view, placed.record) else { continue };
            let is_asked = *known.entry(placed.record.function).or_insert_with(|| is_asked(function));
            if is_asked && placed.record.entry.get() != 0 {
                let ranges = view.details(placed.record).ranges.collect();
                copies.push(Copy { placed, function, is_inline: placed.is_inline(view), ranges });
            }
        }
        each(rows, copies);
    });
}

/// The units that have code of functions of a name.
fn units_of(view: &View<'_>, name: &Pattern, object: ObjectId) -> Vec<UnitId> {
    let functions = functions::names(view, name).into_iter().flat_map(|n| view.functions_named(n));
    let places = functions.flat_map(|f| view.places_of_function(FunctionId::new(f as u32)));
    let within = view.places_of(object);
    let own = places.filter(|p| within.contains(&p.index()));
    let mut units: Vec<UnitId> = own.map(|p| view.unit_of_place(p)).collect();
    units.sort_unstable();
    units.dedup();
    units
}
