//! Rows of the line tables: the source line of an address, the rows of a range of addresses, the rows of a file.
use super::pattern::Pattern;
use super::select::Scope;
use probeidx_format::View;
use probeidx_format::details::Range;
use probeidx_format::id::{ObjectId, StrId, UnitId};
use probeidx_format::lines;
use probeidx_format::record::SequenceRecord;
use rustc_hash::FxHashMap;

/// A row: from this address on, up to that of the next row, the code is that of this line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The address.
    pub pc: u32,
    /// The path, as the line table spells it.
    pub file: StrId,
    /// From 1; 0 where the code belongs to no line.
    pub line: u32,
    /// From 1; 0 unknown.
    pub column: u32,
    /// Whether it is a recommended breakpoint location.
    pub is_stmt: bool,
}

impl Row {
    pub(super) fn new(view: &View<'_>, unit: UnitId, row: lines::Row) -> Self {
        let lines::Row { pc, position, is_stmt } = row;
        let file = view.unit_file(unit, position.file);
        Self { pc, file, line: position.line, column: position.column, is_stmt }
    }
}

/// The row that an address belongs to: the last one up to it. Cost: of the rows before it in its sequence.
pub fn at(view: &View<'_>, object: ObjectId, pc: u32) -> Option<Row> {
    let sequence = sequence(view, object, pc)?;
    let row = view.rows(sequence).take_while(|row| row.pc <= pc).last()?;
    Some(Row::new(view, sequence.unit, row))
}

/// The sequence that holds an address. Cost: a binary search.
pub fn sequence<'a>(view: &View<'a>, object: ObjectId, pc: u32) -> Option<&'a SequenceRecord> {
    let sequences = view.sequences_of(object);
    let after = sequences.partition_point(|s| s.start.get() <= pc);
    sequences[..after].iter().rev().take(OVERLAPPING).find(|s| pc < s.end.get())
}

/// Sequences do not overlap in sound debug information, but for empty ones and for functions that were merged.
const OVERLAPPING: usize = 8;

/// Calls `each` with the rows that start within one of the ranges, in order of their addresses. Cost: of the rows of the
/// sequences that the ranges touch.
pub fn within(view: &View<'_>, object: ObjectId, ranges: &[Range], mut each: impl FnMut(Row)) {
    let sequences = view.sequences_of(object);
    let (Some(low), Some(high)) = (ranges.iter().map(|r| r.start).min(), ranges.iter().map(|r| r.end).max())
    else {
        return;
    };
    let first = sequences.partition_point(|s| s.start.get() <= low).saturating_sub(OVERLAPPING);
    let touched = sequences[first..].iter().take_while(|s| s.start.get() < high);
    for sequence in touched.filter(|s| ranges.iter().any(|r| r.start < s.end.get() && s.start.get() < r.end))
    {
        for row in view.rows(sequence).take_while(|row| row.pc < high) {
            if ranges.iter().any(|r| r.contains(row.pc)) {
                each(Row::new(view, sequence.unit, row));
            }
        }
    }
}

/// Source files that a pattern matches.
pub struct Files<'p> {
    pattern: &'p Pattern,
    known: FxHashMap<StrId, bool>,
}

impl<'p> Files<'p> {
    /// Nothing is compared yet.
    pub fn new(pattern: &'p Pattern) -> Self {
        Self { pattern, known: FxHashMap::default() }
    }
    /// Whether this path is one of them. Cost: a comparison once for each path.
    pub fn contain(&mut self, view: &View<'_>, file: StrId) -> bool {
        *self.known.entry(file).or_insert_with(|| self.pattern.matches_path(view.string(file)))
    }

    /// Calls `each` with the rows of these files in the asked objects, by object, in order of their addresses. Cost: of
    /// the rows of the units that have code of these files.
    pub fn rows(&mut self, view: &View<'_>, scope: &Scope, mut each: impl FnMut(ObjectId, Row)) {
        let mut own: FxHashMap<UnitId, Vec<(u32, StrId)>> = FxHashMap::default();
        for object in scope.objects() {
            for sequence in view.sequences_of(object) {
                let unit = sequence.unit;
                let files = own.entry(unit).or_insert_with(|| {
                    let named = view.unit_files(unit).iter().enumerate();
                    named.filter(|(_, f)| self.contain(view, **f)).map(|(at, f)| (at as u32, *f)).collect()
                });
                if files.is_empty() {
                    continue;
                }
                for row in view.rows(sequence) {
                    if files.iter().any(|(at, _)| *at == row.position.file) {
                        each(object, Row::new(view, unit, row));
                    }
                }
            }
        }
    }
}
