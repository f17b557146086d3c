//! Runs: how a kernel numbers what many kernels share.
//!
//! A table of a kernel is a sequence of shared rows. Where consecutive records of the kernel are consecutive rows, they
//! are one run: `own` is the first record, `row` the first row, and it ends where the next one starts. A kernel that
//! shares nothing, or all, has one run; an update has about two for each place where something was added or taken away.
//!
//! An update has them once more, with all updates before it. So the runs of most segments lead not to rows but to the
//! records of the kernel before, whose own runs lead on; what is new in the segment is numbered from [`NEW`] on. Every
//! [`LEVELS`]th segment of a chain has runs that lead to rows at once.
//!
//! The same pairs, sorted by `row` and with a length, lead back: from a shared number to that of this kernel.
use crate::record::Record;
use crate::table::Table;
use zerocopy::byteorder::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Added to the position of a row, or id, among those that are new in a segment.
pub const NEW: u32 = 1 << 31;
/// How many kernels are gone through at most.
pub const LEVELS: u32 = 8;

/// Consecutive numbers of a kernel that are consecutive shared numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Run {
    /// The first number that is searched for; the table is sorted by it.
    pub from: U32,
    /// The number that it stands for.
    pub to: U32,
    /// How many.
    pub length: U32,
}

impl Record for Run {
    const COLUMNS: &'static [usize] = &[4, 4, 4];
}

/// Runs in the order of the numbers that are searched for.
#[derive(Clone, Copy, Default)]
pub struct Runs<'a>(Table<'a, Run>);

impl<'a> Runs<'a> {
    /// Those of a table that is sorted.
    pub fn new(table: Table<'a, Run>) -> Self {
        Self(table)
    }
    /// What a number stands for, and its run; `None` if nothing. Cost: a binary search.
    #[inline]
    pub fn find(&self, number: u32) -> Option<(u32, Run)> {
        let after = self.0.partition_point(|run| run.from.get() <= number);
        let run = self.0.get(after.checked_sub(1)?)?;
        let within = number.wrapping_sub(run.from.get());
        (within < run.length.get()).then(|| (run.to.get().wrapping_add(within), run))
    }
}

/// The run that was found last, of one space of one kernel. Neighbours are mostly in one.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hint {
    from: u32,
    to: u32,
    length: u32,
}

impl Hint {
    /// Numbers from `from` on stand for those from `to` on.
    pub fn new(from: u32, to: u32, length: u32) -> Self {
        Self { from, to, length }
    }
    /// What a number stands for, and how many from it on are in the run.
    #[inline]
    pub fn get(&self, number: u32) -> Option<(u32, u32)> {
        let within = number.wrapping_sub(self.from);
        (within < self.length).then(|| (self.to.wrapping_add(within), self.length - within))
    }
}

/// Makes runs of numbers that come one by one, in order.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    runs: Vec<Run>,
    next: u32,
}

impl Builder {
    /// The next number of the kernel stands for this one.
    pub fn push(&mut self, to: u32) {
        self.extend(to, 1);
    }
    /// The next `length` numbers of the kernel stand for these.
    pub fn extend(&mut self, to: u32, length: u32) {
        if length == 0 {
            return;
        }
        match self.runs.last_mut() {
            Some(last)
                if last.to.get().wrapping_add(last.length.get()) == to
                    && last.from.get() + last.length.get() == self.next =>
            {
                last.length.set(last.length.get() + length);
            }
            _ => {
                self.runs.push(Run { from: U32::new(self.next), to: U32::new(to), length: U32::new(length) })
            }
        }
        self.next += length;
    }
    /// From the kernel's numbers to the shared ones.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }
    /// From the shared numbers to the kernel's.
    pub fn inverse(&self) -> Vec<Run> {
        inverse(&self.runs)
    }
}

/// The same pairs, the other way.
pub fn inverse(runs: &[Run]) -> Vec<Run> {
    let mut back: Vec<Run> =
        runs.iter().map(|run| Run { from: run.to, to: run.from, length: run.length }).collect();
    back.sort_unstable_by_key(|run| run.from.get());
    back
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::pack;

    #[test]
    fn numbers_lead_there_and_back() {
        let mut builder = Builder::default();
        for to in [7, 8, 9, 100, 101, 10, 11, 3] {
            builder.push(to);
        }
        assert_eq!(builder.runs().len(), 4);
        let (there, back) = (pack(builder.runs()), pack(&builder.inverse()));
        let there = Runs::new(Table::open(&there.bytes, there.records).unwrap());
        let back = Runs::new(Table::open(&back.bytes, back.records).unwrap());
        for (own, to) in [7, 8, 9, 100, 101, 10, 11, 3].into_iter().enumerate() {
            assert_eq!(there.find(own as u32).map(|found| found.0), Some(to));
            assert_eq!(back.find(to).map(|found| found.0), Some(own as u32));
        }
        assert!(there.find(8).is_none() && back.find(12).is_none());
    }
}
