//! Line table rows: the row of an address, the rows of units, the units with code of a file.
use crate::pattern::Pattern;
use probeidx_format::details::Range;
use probeidx_format::id::{ObjectId, StrId, UnitId};
use probeidx_format::lines;
use probeidx_format::record::SequenceRecord;
use probeidx_format::{Left, SectionName, View};
use rustc_hash::FxHashMap;

/// A row: the code from this address up to that of the next row belongs to this line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The address.
    pub pc: u32,
    /// The path, as the line table spells it.
    pub file: StrId,
    /// From 1; 0 if the code belongs to no line.
    pub line: u32,
    /// From 1; 0 if unknown.
    pub column: u32,
    /// Whether it is a recommended breakpoint location.
    pub is_stmt: bool,
}

impl Row {
    pub(crate) fn new(view: &View<'_>, unit: UnitId, row: lines::Row) -> Self {
        Self::of_file(view, view.unit_file(unit, row.position.file), row)
    }
    fn of_file(view: &View<'_>, file: StrId, row: lines::Row) -> Self {
        let lines::Row { pc, position, is_stmt } = row;
        Self { pc, file, line: view.line(file, position.line), column: position.column, is_stmt }
    }
}

/// The row of an address: the last one that starts at or before it. Cost: linear in the rows before it in its sequence.
pub fn at(view: &View<'_>, object: ObjectId, pc: u32) -> Option<Row> {
    let sequence = sequence(view, object, pc)?;
    let row = view.rows(sequence).take_while(|row| row.pc <= pc).last()?;
    Some(Row::new(view, sequence.unit, row))
}

/// The address of the first row after an address, in its sequence or one that continues it. Cost: as [`at`].
pub fn after(view: &View<'_>, object: ObjectId, pc: u32) -> Option<u32> {
    let sequence = sequence(view, object, pc)?;
    let later = view.rows(sequence).map(|row| row.pc).find(|next| *next > pc);
    // A long sequence is stored in pieces.
    let continued = || self::sequence(view, object, sequence.end.get()).map(|next| next.start.get());
    later.or_else(|| continued().filter(|start| *start == sequence.end.get()))
}

/// The rows of a range, ascending: the first may start before it. Of rows with the same address, the last one counts, as
/// for [`at`]. Cost: linear in the rows of the sequences that hold it.
pub fn within(view: &View<'_>, object: ObjectId, range: Range) -> Vec<Row> {
    let mut rows: Vec<Row> = vec![];
    // Only a forged index has sequences that share rows.
    let mut left = view.left(SectionName::Lines);
    let mut pc = range.start;
    while pc < range.end {
        let sequences = view.sequences_of(object);
        let Some(sequence) = sequence(view, object, pc) else {
            // A gap between sequences.
            let next = sequences.partition_point_of_key(|s| s.start.get() <= pc);
            match sequences.get(next) {
                Some(next) => pc = next.start.get(),
                None => break,
            }
            continue;
        };
        let own = view.rows(sequence).take_while(|row| row.pc < range.end && left.take(1));
        for row in own.map(|row| Row::new(view, sequence.unit, row)) {
            match rows.last_mut() {
                Some(last) if last.pc == row.pc || row.pc <= range.start => *last = row,
                _ => rows.push(row),
            }
        }
        pc = sequence.end.get().max(pc.saturating_add(1));
    }
    rows
}

/// The sequence, or the piece of a long one, that holds an address. Cost: a binary search.
pub fn sequence<'a>(view: &View<'a>, object: ObjectId, pc: u32) -> Option<SequenceRecord> {
    let sequences = view.sequences_of(object);
    let after = sequences.partition_point_of_key(|s| s.start.get() <= pc);
    sequences.up_to(after).iter().rev().take(OVERLAPPING).find(|s| pc < s.end.get())
}

/// Sequences in valid debug information do not overlap, except for empty ones and merged functions.
const OVERLAPPING: usize = 8;

/// Calls `each` with the rows of each of these units of an object, in order of address. Cost: linear in the rows. All
/// objects together read at most `left` bytes of the line section, which only a forged index exceeds.
pub fn by_unit(
    view: &View<'_>,
    object: ObjectId,
    units: &[UnitId],
    left: &mut Left,
    mut each: impl FnMut(UnitId, &[Row]),
) {
    let mut own: FxHashMap<UnitId, Vec<SequenceRecord>> = FxHashMap::default();
    if units.len() <= FEW {
        own.extend(units.iter().map(|unit| (*unit, view.sequences_of_unit(object, *unit).collect())));
    } else {
        own.extend(units.iter().map(|unit| (*unit, vec![])));
        for sequence in view.sequences_of(object) {
            if let Some(own) = own.get_mut(&sequence.unit) {
                own.push(sequence);
            }
        }
    }
    let mut rows = vec![];
    for &unit in units {
        rows.clear();
        let files: Vec<StrId> = view.unit_files(unit).iter().collect();
        let file = |row: &lines::Row| files.get(row.position.file as usize).copied().unwrap_or(StrId::new(0));
        for sequence in &own[&unit] {
            let own = view.rows(*sequence).take_while(|_| left.take(1));
            rows.extend(own.map(|row| Row::of_file(view, file(&row), row)));
        }
        each(unit, &rows);
    }
}

/// So many units are looked for in the time of reading all sequences.
const FEW: usize = 8;

/// The source files that a pattern matches.
pub struct Files<'p> {
    pattern: &'p Pattern,
    known: FxHashMap<StrId, bool>,
}

impl<'p> Files<'p> {
    /// Compares nothing yet.
    pub fn new(pattern: &'p Pattern) -> Self {
        Self { pattern, known: FxHashMap::default() }
    }
    /// Whether the pattern matches this path. Cost: a comparison once for each path.
    pub fn contain(&mut self, view: &View<'_>, file: StrId) -> bool {
        *self.known.entry(file).or_insert_with(|| self.pattern.matches_path(view.string(file)))
    }

    /// The units of an object that have code of these files. Cost: linear in the files of all its units.
    pub fn units(&mut self, view: &View<'_>, object: ObjectId) -> Vec<UnitId> {
        let has_some = |unit: &UnitId| view.unit_files(*unit).iter().any(|f| self.contain(view, f));
        view.units_of(object).filter(has_some).collect()
    }
}
