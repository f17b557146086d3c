//! What two kernels of a chain have in common: from the positions of the newer one's records to those of the older one's
//! that have the same rows, or ids.
//!
//! What is the same row in both does not differ but for what numbers of the kernel it leads to. If the runs of the newer
//! kernel lead through the older one, only those above that are read.
use super::kernel::Kernel;
use super::runs::flat;
use super::runs::levels::Levels;
use super::runs::{NEW, Run, inverse};
use super::segment::{Part, Source, Space};
use crate::record::{FunctionRecord, VariableRecord};
use crate::variables::{Ranked, Variables};
use std::ops::Range;

/// Two kernels, of which one has the segments of the other.
#[derive(Clone, Copy)]
pub struct Pair<'k, 'a> {
    /// The one whose segments the other has.
    pub old: &'k Kernel<'a>,
    /// The other one.
    pub new: &'k Kernel<'a>,
}

/// What they have in common of a space.
#[derive(Clone, Debug)]
pub struct Common {
    /// By the newer kernel's positions; each has a length, and ends within both.
    runs: Vec<Run>,
    /// The same by the older kernel's positions.
    back: Vec<Run>,
    /// How many numbers the older one has, and the newer one.
    lengths: [u32; 2],
}

/// One of two kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Which {
    /// The older one.
    Old = 0,
    /// The newer one.
    New = 1,
}

impl Which {
    /// Both.
    pub const BOTH: [Self; 2] = [Self::Old, Self::New];

    /// The other one.
    pub const fn other(self) -> Self {
        match self {
            Self::Old => Self::New,
            Self::New => Self::Old,
        }
    }
}

impl<'k, 'a> Pair<'k, 'a> {
    /// Two kernels, if the segment of the first is in the chain of the second. Cost: none to speak of.
    pub fn of(old: &'k Kernel<'a>, new: &'k Kernel<'a>) -> Option<Self> {
        let same = new.chain().get(old.chain().len() - 1)?;
        (same.id() == old.own().id()).then_some(Self { old, new })
    }
    /// One of them.
    pub fn kernel(&self, which: Which) -> &'k Kernel<'a> {
        match which {
            Which::Old => self.old,
            Which::New => self.new,
        }
    }
    /// What they have in common of a space; nothing of one without numbers of its own. Cost: linear in the runs of the
    /// segments between them, or in those of both kernels if these do not lead from one to the other.
    pub fn common(&self, space: Space) -> Common {
        let lengths = Which::BOTH.map(|which| self.kernel(which).length(space));
        let mut runs = match space.source() {
            Source::Themselves => vec![],
            _ => self.new.levels().since(self.old, space),
        };
        let ends_within = |run: &Run| {
            let ends = [run.to.checked_add(run.length), run.from.checked_add(run.length)];
            run.to < NEW && ends.iter().zip(lengths).all(|(end, length)| end.is_some_and(|end| end <= length))
        };
        runs.retain(ends_within);
        Common { back: inverse(&runs), runs, lengths }
    }
}

impl Levels<'_> {
    /// The runs from this kernel's numbers to those of another one of its chain. Those from [`NEW`] on are none of that kernel.
    fn since(&self, old: &Kernel<'_>, space: Space) -> Vec<Run> {
        match self.above(old.chain().len() - 1, space) {
            Some(levels) => {
                let itself = Run { from: 0, to: 0, length: old.length(space) };
                levels.into_iter().fold(vec![itself], |lower, upper| flat::compose(upper, &lower, NEW))
            }
            None => flat::join(&self.flat_there(space), &inverse(&old.levels().flat_there(space))),
        }
    }
}

impl Common {
    /// The runs from the newer kernel's positions to the older one's, or the other way.
    pub fn runs(&self, from: Which) -> &[Run] {
        match from {
            Which::Old => &self.back,
            Which::New => &self.runs,
        }
    }
    /// The other kernel's position of one's. Cost: a binary search.
    pub fn other(&self, of: Which, position: u32) -> Option<u32> {
        flat::find(self.runs(of), position).map(|found| found.0)
    }
    /// The positions that only this kernel has, ascending.
    pub fn only(&self, which: Which) -> impl Iterator<Item = Range<u32>> {
        let mut last = 0;
        let ends = self.runs(which).iter().map(|run| (run.from, run.from + run.length));
        let end = self.lengths[which as usize];
        let gaps = ends.chain([(end, end)]).map(move |(start, after)| {
            let gap = last..start.max(last);
            last = last.max(after);
            gap
        });
        gaps.filter(|gap| !gap.is_empty())
    }
    /// The positions that do not follow the one before them in the other kernel too, ascending: where a run starts, or
    /// what only this kernel has. The first record is none if it is the first of both.
    pub fn breaks(&self, which: Which) -> impl Iterator<Item = u32> {
        let starts = self.runs(which).iter().filter(|run| (run.from, run.to) != (0, 0)).map(|run| run.from);
        let mut gaps = self.only(which).map(|gap| gap.start).peekable();
        let mut starts = starts.peekable();
        std::iter::from_fn(move || match (starts.peek(), gaps.peek()) {
            (Some(start), Some(gap)) if gap < start => gaps.next(),
            (Some(_), _) => starts.next(),
            (None, _) => gaps.next(),
        })
    }
    /// The runs, by the newer kernel's positions, without which all others are in the same order in both kernels: short
    /// ones where there is a choice.
    pub fn moved(&self) -> Vec<Run> {
        let (mut moved, mut kept): (Vec<Run>, Vec<Run>) = Default::default();
        for run in &self.runs {
            // How many of those kept are beyond it, as long as they are shorter together.
            let (mut length, mut count) = (0, 0);
            for kept in kept.iter().rev().take_while(|kept| kept.to > run.to) {
                length += u64::from(kept.length);
                count += 1;
                if length >= run.length.into() {
                    break;
                }
            }
            if length < run.length.into() {
                moved.extend(kept.drain(kept.len() - count..));
                kept.push(*run);
            } else {
                moved.push(*run);
            }
        }
        moved
    }
    /// The positions of the newer kernel whose ids are those of other positions of the older one than their rows, with the
    /// older one's position of the id; `self` is of the ids. In the order of the ids' runs.
    pub fn changed(&self, rows: &Self) -> Vec<(u32, u32)> {
        let mut changed = vec![];
        for run in &self.runs {
            let (mut at, end) = (run.from, run.from + run.length);
            let mut next = rows.runs.partition_point(|row| row.from + row.length <= at);
            while at < end {
                let to = run.to + (at - run.from);
                let Some(row) = rows.runs.get(next) else {
                    changed.extend((at..end).zip(to..));
                    break;
                };
                let stop = if at < row.from {
                    let stop = end.min(row.from);
                    changed.extend((at..stop).zip(to..));
                    stop
                } else {
                    let stop = end.min(row.from + row.length);
                    if row.to + (at - row.from) != to {
                        changed.extend((at..stop).zip(to..));
                    }
                    next += usize::from(stop == row.from + row.length);
                    stop
                };
                at = stop;
            }
        }
        changed
    }
}

/// The variables of a chain by their shared ranks, in shared numbers.
#[derive(Clone, Copy)]
pub struct SharedRanks<'k, 'a>(&'k Kernel<'a>);

impl Ranked for SharedRanks<'_, '_> {
    fn ranked(&self, rank: usize) -> Option<VariableRecord> {
        self.0.raw(Part::Variables, rank as u32)
    }
}

impl<'a> Kernel<'a> {
    /// The return type and the variables of a function as it is stored: types are shared numbers, and so are lines. Names
    /// of local variables are without what is added to their numbers.
    pub fn shared_variables(&self, function: FunctionRecord) -> Variables<'_, SharedRanks<'_, 'a>> {
        let bytes = self.bytes(Part::FunctionDetails, function.details.get());
        Variables::read(SharedRanks(self), bytes, function.variables.get(), function.line.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What two lists of numbers have in common.
    fn common(old: &[u32], new: &[u32]) -> Common {
        let mut runs = super::super::runs::Builder::default();
        for (at, number) in new.iter().enumerate() {
            match old.iter().position(|other| other == number) {
                Some(to) => {
                    runs.skip_to(at as u32);
                    runs.push(to as u32);
                }
                None => runs.skip_to(at as u32 + 1),
            }
        }
        let runs = runs.finish();
        Common { back: inverse(&runs), runs, lengths: [old.len() as u32, new.len() as u32] }
    }

    #[test]
    fn what_one_has_alone_and_where_the_order_breaks() {
        let common = common(&[1, 2, 3, 4, 5, 6, 7], &[1, 9, 2, 3, 6, 7, 5, 8]);
        let only = |which| common.only(which).flatten().collect::<Vec<_>>();
        assert_eq!((only(Which::Old), only(Which::New)), (vec![3], vec![1, 7]));
        let breaks = |which| common.breaks(which).collect::<Vec<_>>();
        assert_eq!((breaks(Which::Old), breaks(Which::New)), (vec![1, 3, 4, 5], vec![1, 2, 4, 6, 7]));
        assert_eq!(common.moved(), [Run { from: 6, to: 4, length: 1 }]);
        assert_eq!(common.other(Which::New, 5), Some(6));
        assert_eq!(common.other(Which::Old, 3), None);
    }

    #[test]
    fn a_long_run_is_not_moved_past_a_short_one() {
        let common = common(&[1, 2, 3, 4, 5], &[5, 1, 2, 3, 4]);
        assert_eq!(common.moved(), [Run { from: 0, to: 4, length: 1 }]);
    }

    proptest! {
        #[test]
        fn what_changed_is_found_one_by_one(
            ids in Just((0..30).collect::<Vec<u32>>()).prop_shuffle(),
            rows in Just((0..30).collect::<Vec<u32>>()).prop_shuffle(),
            old in 0usize..30, new in 0usize..30,
        ) {
            let all: Vec<u32> = (0..30).collect();
            let ids = common(&all[..old], &ids[..new]);
            let rows = common(&all[..old], &rows[..new]);
            let mut changed = ids.changed(&rows);
            changed.sort_unstable();
            let one_by_one = (0..new as u32).filter_map(|at| {
                let to = ids.other(Which::New, at)?;
                (rows.other(Which::New, at) != Some(to)).then_some((at, to))
            });
            prop_assert_eq!(changed, one_by_one.collect::<Vec<_>>());
            let moved = ids.moved();
            let mut kept: Vec<_> = ids.runs.iter().filter(|run| !moved.contains(run)).collect();
            kept.sort_by_key(|run| run.from);
            prop_assert!(kept.is_sorted_by_key(|run| run.to));
        }
    }
}
