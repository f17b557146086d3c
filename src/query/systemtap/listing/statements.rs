//! Lists source lines like SystemTap: one address of the line for each function and inlined copy declared in the file.
//! The rules follow `dwflpp.cxx` and `tapsets.cxx` of SystemTap 4.8.
use super::probe_sites::{Each, Met, Probed, Seen};
use crate::error::Result;
use crate::query::index::functions::{self, Scope};
use crate::query::index::line_table::{self, Files, Row};
use crate::query::resolve::statement::{self, Copy, Units, nearest_to};
use crate::query::resolve::within_statement;
use crate::query::spec::{self, AddressKind, AddressSpec, Filter, StatementSpec};
use crate::query::systemtap::probe_point;
use probeidx_format::SectionName;
use probeidx_format::id::{ObjectId, StrId};
use probeidx_format::record::FunctionRecord;
use rustc_hash::{FxHashMap, FxHashSet};
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// The name and file of a function, and the line to print.
type Printed = (StrId, StrId, u32);

impl<'a> Probed<'a> {
    /// Lists the lines of a spec. Cost: linear in the rows and placements of the units that have the file.
    pub(super) fn statements(&self, spec: &StatementSpec, each: &mut Each<'_, 'a>) -> Result<()> {
        let view = self.view;
        let mut left = view.left(SectionName::Lines);
        let mut units = Units::new(view, spec);
        for object in Scope::new(view, &spec.module).objects() {
            let mut points: FxHashMap<Printed, Vec<Seen>> = FxHashMap::default();
            let (mut entries, mut inlined) = (FxHashSet::default(), FxHashSet::default());
            let mut files = spec.file.as_ref().map(Files::new);
            let is_asked = |f: FunctionRecord| {
                files.as_mut().is_none_or(|files| files.contain(view, f.file))
                    && spec.function.as_ref().is_none_or(|name| name.matches(view.string(f.name)))
            };
            statement::by_unit(view, &mut units, object, &mut left, is_asked, |rows, mut copies| {
                // Copies whose entry was already seen are skipped (`alias_dupes`, `inline_dupes`).
                copies.retain(|c| {
                    let entry = c.placed.record.entry;
                    match c.is_inline {
                        true => inlined.insert((entry, c.function.name, c.declared())),
                        false => entries.insert(entry) && !self.is_part(object, &c.placed),
                    }
                });
                // SystemTap takes inlined copies in the order of a hash table, which decides the line of an address
                // that has several. Here callers come first, because they are declared after their callees.
                copies.sort_by_key(|c| (c.is_inline, Reverse(c.function.line.get())));
                for_each_point(rows, &copies, spec, |copy, pc, line| {
                    let printed = (copy.function.name, copy.function.file, line);
                    points
                        .entry(printed)
                        .or_default()
                        .push(Seen { pc: Some(pc), ..Seen::at_entry(copy.placed) });
                });
            });
            for ((name, file, line), mut seen) in points {
                let [name, file] = [name, file].map(|text| view.string(text));
                seen.retain(|s| !self.is_closed(object, s.pc.unwrap_or(0)));
                if seen.is_empty() || self.is_blocked(name, file, Filter::Any) {
                    continue;
                }
                let put = |out: &mut Vec<u8>| {
                    probe_point::put_statement(view, object, name, file, line, spec.nearest, out)
                };
                each(&Met { object, seen: &seen, symbol: None, filter: Filter::Any, put: &put })?;
            }
        }
        Ok(())
    }

    /// Lists an address that is the start of a statement.
    pub(super) fn address(&self, spec: &AddressSpec, each: &mut Each<'_, 'a>) -> Result<()> {
        let view = self.view;
        let nearest = spec.kind == AddressKind::Statement { nearest: true };
        for object in Scope::new(view, &spec.module).objects() {
            let base = view.objects[object.index()].base.get();
            let Ok(pc) = u32::try_from(spec.address.wrapping_sub(base)) else { continue };
            let Some(row) = line_table::at(view, object, pc) else { continue };
            if row.pc != pc && !nearest {
                return Err(within_statement(spec.address, row.pc.wrapping_sub(pc)));
            }
            let Some(placed) = functions::holding(view, object, row.pc) else { continue };
            let Some(function) = functions::function(view, placed.record) else { continue };
            if self.is_refused(object, function, row.pc) {
                continue;
            }
            let address = spec.address.wrapping_sub((pc - row.pc).into());
            let put = |out: &mut Vec<u8>| probe_point::put_address(view, object, address, nearest, out);
            let seen = [Seen { pc: Some(row.pc), ..Seen::at_entry(placed) }];
            each(&Met { object, seen: &seen, symbol: None, filter: Filter::Any, put: &put })?;
        }
        Ok(())
    }

    fn is_refused(&self, object: ObjectId, function: FunctionRecord, pc: u32) -> bool {
        let [name, file] = [function.name, function.file].map(|text| self.view.string(text));
        self.is_closed(object, pc) || self.is_blocked(name, file, Filter::Any)
    }
}

/// Calls `each` with every copy, address and printed line that SystemTap finds in a unit. The address of one copy
/// counts for all copies that hold it: an inlined line is also one of the enclosing function.
fn for_each_point(
    rows: &[Row],
    copies: &[Copy],
    spec: &StatementSpec,
    mut each: impl FnMut(&Copy, u32, u32),
) {
    let files: BTreeSet<StrId> = copies.iter().map(|c| c.function.file).collect();
    for file in files {
        let own: Vec<&Copy> = copies.iter().filter(|c| c.function.file == file).collect();
        let mut claims = Unit::new(rows, file).claims(&own, spec);
        // An address belongs to the line that claims it first.
        claims.sort_by_key(|(pc, _)| *pc);
        claims.dedup_by_key(|(pc, _)| *pc);
        for copy in copies {
            for range in &copy.ranges {
                let first = claims.partition_point(|(pc, _)| *pc < range.start);
                for &(pc, line) in claims[first..].iter().take_while(|(pc, _)| *pc < range.end) {
                    each(copy, pc, printed(spec, copy, line));
                }
            }
        }
    }
}

/// The line to print: with `.nearest` the requested one, unless the spec has a list of lines.
fn printed(spec: &StatementSpec, copy: &Copy, line: u32) -> u32 {
    match (&spec.lines, spec.nearest) {
        (Some(spec::Lines::Absolute(ranges)), true) if is_single(ranges) => *ranges[0].start(),
        (Some(spec::Lines::Relative(ranges)), true) if is_single(ranges) => {
            ranges[0].start().saturating_add(copy.function.line.get())
        }
        _ => line,
    }
}

fn is_single(ranges: &[std::ops::RangeInclusive<u32>]) -> bool {
    matches!(ranges, [range] if range.start() == range.end())
}

/// The rows of one file in a unit.
struct Unit<'r> {
    rows: &'r [Row],
    /// The lines with their addresses, sorted.
    by_line: Vec<(u32, u32)>,
}

impl<'r> Unit<'r> {
    fn new(rows: &'r [Row], file: StrId) -> Self {
        let own = rows.iter().filter(|row| row.file == file);
        let mut by_line: Vec<_> = own.map(|row| (row.line, row.pc)).collect();
        by_line.sort_unstable();
        by_line.dedup();
        Self { rows, by_line }
    }

    /// The addresses with their lines, in SystemTap's order (`iterate_over_srcfile_lines`).
    fn claims(&self, copies: &[&Copy], spec: &StatementSpec) -> Vec<(u32, u32)> {
        let mut claims = vec![];
        match &spec.lines {
            None | Some(spec::Lines::All) => {
                copies.iter().for_each(|copy| self.walk(copy, &mut claims));
            }
            Some(spec::Lines::Absolute(ranges)) => {
                let is_asked = |line: &u32| ranges.iter().any(|r| r.contains(line));
                let mut taken = FxHashSet::default();
                for line in self.lines(spec.nearest).into_iter().filter(is_asked) {
                    if taken.contains(&line) || self.claim(line, copies, &mut claims) {
                        taken.insert(line);
                    } else if let Some(near) =
                        self.near(line, copies, spec).filter(|near| taken.insert(*near))
                    {
                        self.claim(near, copies, &mut claims);
                    }
                }
            }
            Some(spec::Lines::Relative(ranges)) => {
                for copy in copies {
                    let declared = copy.function.line.get();
                    let is_asked = |line: &u32| {
                        line.checked_sub(declared).is_some_and(|l| ranges.iter().any(|r| r.contains(&l)))
                    };
                    for line in self.lines(false).into_iter().filter(is_asked) {
                        self.claim(line, &[*copy], &mut claims);
                    }
                }
                if claims.is_empty()
                    && let (Some(range), Some(first)) = (ranges.first(), copies.first())
                {
                    let line = range.start().saturating_add(first.function.line.get());
                    if let Some(near) = self.near(line, copies, spec) {
                        self.claim(near, copies, &mut claims);
                    }
                }
            }
        }
        claims
    }

    /// The lines that have rows; `with_near` adds those around them.
    fn lines(&self, with_near: bool) -> BTreeSet<u32> {
        let far = if with_near { statement::NEAR } else { 0 };
        self.by_line
            .iter()
            .flat_map(|(line, _)| line.saturating_sub(far)..=line.saturating_add(far))
            .collect()
    }

    /// The line closest to one without rows that has rows in the copies.
    fn near(&self, line: u32, copies: &[&Copy], spec: &StatementSpec) -> Option<u32> {
        let around = line.saturating_sub(statement::NEAR)..=line.saturating_add(statement::NEAR);
        let has_some = |line: &u32| copies.iter().any(|c| self.lowest(*line, c).is_some());
        let lines = around.filter(|l| spec.nearest && *l != line).filter(has_some).collect();
        nearest_to(line, &lines)
    }

    /// Claims the address of a line in each of the copies. Returns whether there was one.
    fn claim(&self, line: u32, copies: &[&Copy], claims: &mut Vec<(u32, u32)>) -> bool {
        let before = claims.len();
        claims.extend(copies.iter().filter_map(|c| Some((self.lowest(line, c)?, line))));
        claims.len() > before
    }

    /// The lowest address of a line within a copy, regardless of `is_stmt`.
    fn lowest(&self, line: u32, copy: &Copy) -> Option<u32> {
        let first = self.by_line.partition_point(|(l, _)| *l < line);
        let own = self.by_line[first..].iter().take_while(|(l, _)| *l == line);
        own.map(|(_, pc)| *pc).find(|pc| copy.holds(*pc))
    }

    /// Claims the lines of a copy from that of its first row, whatever file that is in, up to the first line of the
    /// file without an address in the copy (`add_matching_lines_in_func`).
    fn walk(&self, copy: &Copy, claims: &mut Vec<(u32, u32)>) {
        let Some(mut line) = self.first_line(copy) else { return };
        while let Some(pc) = self.lowest(line, copy) {
            claims.push((pc, line));
            let behind = self.by_line.partition_point(|(l, _)| *l <= line);
            match self.by_line.get(behind) {
                Some((next, _)) => line = *next,
                None => return,
            }
        }
    }

    /// The line of the last row at a copy's entry, or else of the first row within the copy (`get_func_first_line`).
    fn first_line(&self, copy: &Copy) -> Option<u32> {
        let entry = copy.placed.record.entry.get();
        let after = self.rows.partition_point(|row| row.pc <= entry);
        let at_entry = self.rows[..after].last().filter(|row| row.pc == entry);
        at_entry.or_else(|| self.rows.iter().find(|row| copy.holds(row.pc))).map(|row| row.line)
    }
}
