//! Resolves source lines to addresses: every row of a line, with the function or inlined copy that it belongs to.
use super::best_address::{Candidate, best};
use super::placement::{Describer, Placement, Source};
use crate::error::Result;
use crate::pattern::Pattern;
use crate::query::index::functions::{self, Placed, Scope};
use crate::query::index::held_places::HeldPlaces;
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

/// How many lines `.nearest` searches in each direction (`dwflpp::get_nearest_linenos`, SystemTap 4.8).
pub const NEAR: u32 = 5;

/// Calls `each` with every address of the lines of a spec, function by function. For each line in each copy of a
/// function, one address is marked best.
///
/// # Errors
/// Errors of `each`, and of describing a placement.
pub(super) fn resolve<'a>(
    view: &'a View<'a>,
    spec: &StatementSpec,
    describer: &mut Describer<'a, '_>,
    each: &mut impl FnMut(Placement<'a>, Filter) -> Result<()>,
) -> Result<()> {
    let mut found = addresses(view, spec, spec.lines.as_ref().unwrap_or(&Lines::All));
    if found.is_empty() && spec.nearest {
        found = addresses(view, spec, &nearest(view, spec));
    }
    let mut by_line: FxHashMap<_, Vec<u32>> = FxHashMap::default();
    for f in &found {
        by_line.entry(f.line()).or_default().push(f.row.pc);
    }
    by_line.values_mut().for_each(|addresses| addresses.sort_unstable());
    for own in found.chunk_by(|a, b| (a.object, a.declared) == (b.object, b.declared)) {
        let coverage = own[0].owner.and_then(|owner| coverage(view, describer, own[0].object, owner));
        for line in own.chunk_by(|a, b| (a.line(), a.copy()) == (b.line(), b.copy())) {
            let lowest = lowest(view, line[0].owner, &by_line[&line[0].line()]);
            describe(view, line, lowest, coverage.as_ref(), describer, each)?;
        }
    }
    Ok(())
}

/// An address of a line.
#[derive(Clone, Copy)]
pub(crate) struct Found {
    pub object: ObjectId,
    pub row: Row,
    /// The function or copy that the line belongs to; `None` if the debug information has no function there.
    pub owner: Option<Placed>,
    /// How its function is declared.
    pub declared: Option<Declared>,
}

/// How a function is declared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Declared {
    /// The name as declared, without compiler suffixes.
    pub name: StrId,
    /// The file of the declaration.
    pub file: StrId,
    /// From 1; 0 if unknown.
    pub line: u32,
}

impl Declared {
    fn new(function: FunctionRecord) -> Self {
        Self { name: function.name, file: function.file, line: function.line.get() }
    }
}

impl Found {
    fn line(&self) -> (ObjectId, StrId, u32) {
        (self.object, self.row.file, self.row.line)
    }
    fn copy(&self) -> Option<PlaceId> {
        self.owner.map(|owner| owner.id)
    }
}

/// Describes the addresses of one line in one copy of a function, and marks the best.
fn describe<'a>(
    view: &View<'a>,
    line: &[Found],
    lowest: Option<u32>,
    coverage: Option<&Rc<Coverage>>,
    describer: &mut Describer<'a, '_>,
    each: &mut impl FnMut(Placement<'a>, Filter) -> Result<()>,
) -> Result<()> {
    let (mut placements, mut candidates) = (vec![], vec![]);
    for found in line {
        let Found { object, row, owner, .. } = *found;
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

/// The address that SystemTap chooses from the sorted addresses of a line: the lowest within the copy, even if it lies
/// within another copy inlined into that.
pub(super) fn lowest(view: &View<'_>, copy: Option<Placed>, addresses: &[u32]) -> Option<u32> {
    let first = |r: Range| {
        let behind = addresses.partition_point(|pc| *pc < r.start);
        addresses.get(behind).copied().filter(|pc| *pc < r.end)
    };
    let copy = copy?;
    view.details(copy.id, copy.record).ranges.filter_map(first).min()
}

/// The coverage of the function of a placement.
fn coverage<'a>(
    view: &View<'a>,
    describer: &Describer<'a, '_>,
    object: ObjectId,
    placed: Placed,
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

/// The addresses of these lines, ordered by function, object, file, line, copy of the function and address.
pub(crate) fn addresses<'a>(view: &View<'a>, spec: &StatementSpec, lines: &Lines) -> Vec<Found> {
    let mut files = spec.file.as_ref().map(Files::new);
    let name = spec.function.as_ref().filter(|name| !name.matches_all());
    // A function declared in another file has lines in this one only if the spec names the file.
    let only_own = lines.is_relative() || spec.file.is_none();
    let is_meant = |row: &Row, declared: Option<(StrId, u32)>| match declared {
        Some((file, line)) => lines.contains(row.line, line) && (row.file == file || !only_own),
        None => lines.contains(row.line, 0) && !lines.is_relative(),
    };
    let mut found = vec![];
    let mut left = view.left(SectionName::Lines);
    let mut units = Units::new(view, spec);
    for object in Scope::new(view, &spec.module).objects() {
        let is_asked = |f: FunctionRecord| name.is_some_and(|name| name.matches(view.string(f.name)));
        let mut places = HeldPlaces::new(view, object);
        by_unit(view, &mut units, object, &mut left, is_asked, |rows, copies| {
            let declared: FxHashSet<_> = copies.iter().map(Copy::declared).collect();
            for row in rows {
                if row.line == 0 || files.as_mut().is_some_and(|files| !files.contain(view, row.file)) {
                    continue;
                }
                let is_asked = match name {
                    // The second condition implies the first, but costs more.
                    Some(_) => {
                        declared.iter().any(|d| is_meant(row, Some(*d)))
                            && copies.iter().any(|c| is_meant(row, Some(c.declared())) && c.holds(row.pc))
                    }
                    None => lines.is_relative() || is_meant(row, None),
                };
                if !is_asked {
                    continue;
                }
                let owner = owner(&mut places, row);
                if owner.is_none() && is_padding(view, object, row.pc) {
                    continue;
                }
                let declared = owner.and_then(|(_, function)| function).map(Declared::new);
                if name.is_some() || is_meant(row, declared.map(|d| (d.file, d.line))) {
                    found.push(Found { object, row: *row, owner: owner.map(|owner| owner.0), declared });
                }
            }
        });
    }
    found.sort_by_cached_key(|f| {
        (f.declared, f.object, f.row.file, f.row.line, f.copy(), f.row.pc, !f.row.is_stmt)
    });
    if view.store().is_some() {
        // Equal ids are together now, and stay so.
        let text = |id| view.string(id);
        found.sort_by_cached_key(|f| {
            let declared = f.declared.map(|d| (text(d.name), text(d.file), d.line));
            (declared, f.object, text(f.row.file))
        });
    }
    found.dedup_by_key(|f| (f.object, f.row.file, f.row.line, f.copy(), f.row.pc));
    found
}

/// Whether no function holds the address: after a jump at a function's end, GCC leaves a row for its last line.
fn is_padding(view: &View<'_>, object: ObjectId, pc: u32) -> bool {
    !symbols::holding(view, object, pc).is_some_and(|held| symbols::covers(view, object, held))
}

/// The function or inlined copy that a row's line belongs to, and what it is a copy of. Of those that hold its address, it is the
/// one declared closest before the line, else the innermost. The start of a copy also has rows of the caller.
fn owner(places: &mut HeldPlaces<'_, '_>, row: &Row) -> Option<(Placed, Option<FunctionRecord>)> {
    let mut holding = places.at(row.pc).peekable();
    let innermost = *holding.peek()?;
    let declared = holding.filter_map(|held| {
        let f = held.function?;
        (f.file == row.file && f.line.get() <= row.line).then_some((f.line.get(), held))
    });
    // On a tie the first wins, which is the innermost.
    let closest = declared.reduce(|a, b| if b.0 > a.0 { b } else { a });
    let owner = closest.map_or(innermost, |(_, held)| held);
    Some((owner.placed, owner.function))
}

/// The files with code that a spec matches, in order. Cost: linear in the files of all units.
pub fn files<'a>(view: &View<'a>, spec: &StatementSpec) -> Vec<&'a [u8]> {
    let Some(pattern) = &spec.file else { return vec![] };
    let mut files = Files::new(pattern);
    let units = Scope::new(view, &spec.module).objects().flat_map(|o| view.units_of(o)).collect::<Vec<_>>();
    let all = units.into_iter().flat_map(|unit| view.unit_files(unit));
    let own: BTreeSet<StrId> = all.filter(|f| files.contain(view, *f)).collect();
    let mut own: Vec<StrId> = own.into_iter().collect();
    own.sort_unstable_by_key(|f| view.order_of(*f));
    own.into_iter().map(|f| view.string(f)).collect()
}

/// The lines with code around the requested ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Around<'a> {
    /// The file's path, as the line table has it.
    pub file: &'a [u8],
    /// The first and the last requested line.
    pub asked: (u32, u32),
    /// Whether a requested line has code.
    pub has_code: bool,
    /// The last line with code before the requested lines.
    pub before: Option<u32>,
    /// The first line with code after them.
    pub behind: Option<u32>,
}

/// For each file that a spec matches, the lines with code near the requested ones. Cost: that of all lines of the file.
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

/// The lines that `.nearest` chooses in place of lines without code.
fn nearest(view: &View<'_>, spec: &StatementSpec) -> Lines {
    let mut chosen = BTreeSet::new();
    for (file, lines) in all_lines(view, spec) {
        chosen.extend(absolute(view, spec, file).iter().filter_map(|r| nearest_to(*r.start(), &lines)));
    }
    Lines::Absolute(chosen.into_iter().map(|line| line..=line).collect())
}

/// The line closest to another, at most [`NEAR`] away; the later one on a tie.
pub fn nearest_to(line: u32, lines: &BTreeSet<u32>) -> Option<u32> {
    let near = lines.range(line.saturating_sub(NEAR)..=line.saturating_add(NEAR));
    near.rev().min_by_key(|l| l.abs_diff(line)).copied()
}

/// All lines with code, for each file that a spec matches, in order.
fn all_lines(view: &View<'_>, spec: &StatementSpec) -> Vec<(StrId, BTreeSet<u32>)> {
    let mut lines: BTreeMap<_, BTreeSet<u32>> = BTreeMap::new();
    for found in addresses(view, spec, &Lines::All) {
        lines.entry(found.row.file).or_default().insert(found.row.line);
    }
    let mut lines: Vec<_> = lines.into_iter().collect();
    lines.sort_by_key(|(file, _)| view.order_of(*file));
    lines
}

/// The requested lines as line numbers of the file.
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

/// An out-of-line or inlined copy of a function that a spec names.
pub struct Copy {
    /// The placement.
    pub placed: Placed,
    /// The function, as declared.
    pub function: FunctionRecord,
    /// Whether it is inlined.
    pub is_inline: bool,
    /// The ranges of its code, in rising order.
    pub ranges: Vec<Range>,
}

impl Copy {
    /// The file and line of the function's declaration.
    pub fn declared(&self) -> (StrId, u32) {
        (self.function.file, self.function.line.get())
    }
    /// Whether the copy's code contains the address.
    pub fn holds(&self, pc: u32) -> bool {
        self.ranges.iter().any(|r| r.contains(pc))
    }
}

/// The units that can have rows of a spec.
pub struct Units<'p> {
    files: Option<Files<'p>>,
    /// Those that have code of the functions, by object, if no file is asked for.
    named: Option<FxHashMap<ObjectId, Vec<UnitId>>>,
}

impl<'p> Units<'p> {
    /// Those of a spec. Cost: linear in the placements of the functions, unless it names a file.
    pub fn new(view: &View<'_>, spec: &'p StatementSpec) -> Self {
        let name = spec.function.as_ref().filter(|_| spec.file.is_none());
        Self { files: spec.file.as_ref().map(Files::new), named: name.map(|name| units_of(view, name)) }
    }
    /// Those of an object. Cost: for a file, linear in the files of all its units.
    fn of_object(&mut self, view: &View<'_>, object: ObjectId) -> Vec<UnitId> {
        match (&mut self.files, &mut self.named) {
            (Some(files), _) => files.units(view, object),
            (None, Some(named)) => named.get(&object).cloned().unwrap_or_default(),
            (None, None) => view.units_of(object).collect(),
        }
    }
}

/// The units that have code of functions of this name.
fn units_of(view: &View<'_>, name: &Pattern) -> FxHashMap<ObjectId, Vec<UnitId>> {
    let functions = functions::names(view, name).into_iter().flat_map(|n| view.functions_named(n));
    let places = functions.flat_map(|f| view.places_of_function(FunctionId::new(f as u32)));
    let mut units: FxHashMap<ObjectId, Vec<UnitId>> = FxHashMap::default();
    for place in places {
        units.entry(view.object_of_place(place)).or_default().push(view.unit_of_place(place));
    }
    for own in units.values_mut() {
        own.sort_unstable();
        own.dedup();
    }
    units
}

/// Calls `each` with every one of these units of an object: its rows in order of address, and the copies
/// of the requested functions in the order of the debug information. Cost: linear in the rows and placements of these
/// units; at most `left` rows are read.
pub fn by_unit<'a>(
    view: &View<'a>,
    units: &mut Units<'_>,
    object: ObjectId,
    left: &mut Left,
    mut is_asked: impl FnMut(FunctionRecord) -> bool,
    mut each: impl FnMut(&[Row], Vec<Copy>),
) {
    let units = units.of_object(view, object);
    if units.is_empty() {
        return;
    }
    let mut known: FxHashMap<FunctionId, bool> = FxHashMap::default();
    line_table::by_unit(view, object, &units, left, |unit, rows| {
        let mut copies = vec![];
        for at in view.places_of_unit(unit) {
            let placed = Placed { id: PlaceId::new(at as u32), record: view.places.at(at) };
            let Some(function) = functions::function(view, placed.record) else { continue };
            let is_asked = *known.entry(placed.record.function).or_insert_with(|| is_asked(function));
            if is_asked && placed.record.entry.get() != 0 {
                let ranges = view.details(placed.id, placed.record).ranges.collect();
                copies.push(Copy { placed, function, is_inline: placed.is_inline(view), ranges });
            }
        }
        each(rows, copies);
    });
}
