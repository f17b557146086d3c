//! The way back: from what runs lead to.
//!
//! Most runs of a kernel lead to numbers that ascend, as they do themselves: what it has of the kernel before is in its order,
//! and what is new is numbered as it comes. Each of these two is mostly one **ascent**: runs that follow one another in both
//! orders, but for those of the other kind between them. So the way back is not stored once more: an ascent says where its first
//! run is, and a number is searched for among its runs.
use super::{GROUP, NEW, Run, Runs};
use crate::record::Record;
use crate::table::{Table, pack};
use zerocopy::byteorder::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// Runs that lead to ascending numbers, all of them old or all new, with no other run that does so between their numbers.
#[derive(Clone, Copy, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
struct Ascent {
    /// The first number that they lead to.
    to: U32,
    /// The first of them.
    run: U32,
    /// How many runs there are from the first to the last, with those between that are of the other kind.
    runs: U32,
}

impl Record for Ascent {
    const COLUMNS: &'static [usize] = &[4, 4, 4];
}

/// Runs in the order of the numbers that they lead to.
#[derive(Clone, Copy, Default)]
pub struct Back<'a> {
    runs: Runs<'a>,
    ascents: Table<'a, Ascent>,
}

impl<'a> Back<'a> {
    /// Reads so many ascents of these runs; they may be damaged: numbers then lead anywhere.
    #[inline]
    pub fn open(runs: Runs<'a>, bytes: &'a [u8], ascents: u32) -> Self {
        Self { runs, ascents: Table::open(bytes, ascents).unwrap_or_default() }
    }
    /// What leads to a number, and the run from there: `None` if nothing does. Cost: two binary searches, and up to 16 runs.
    #[inline]
    pub fn find(&self, number: u32) -> Option<(u32, Run)> {
        let at = self.ascents.partition_point(|ascent| ascent.to.get() <= number).checked_sub(1)?;
        let ascent = self.ascents.get(at)?;
        let (first, is_new) = (ascent.run.get() as usize, number >= NEW);
        let end = first.saturating_add(ascent.runs.get() as usize).min(self.runs.len());
        // Groups say where the last of these runs before them ends, but for the group that the first is in.
        let (own, last) = (first / GROUP, end.div_ceil(GROUP));
        let groups = self.runs.groups.part(own + 1..last);
        let group = own + groups.partition_point(|group| group.next(is_new) <= number);
        let start = group * GROUP;
        let mut reader = self.runs.reader(group)?;
        for at in start..end.min(start + GROUP) {
            let run = reader.next();
            if at < first || (run.to >= NEW) != is_new {
                continue;
            }
            let within = number.wrapping_sub(run.to);
            if within < run.length {
                return Some((run.from.wrapping_add(within), run.back()));
            }
            if number < run.to {
                break;
            }
        }
        None
    }
}

/// The ascents of runs as they are stored, and their number.
pub fn encode(runs: &[Run]) -> (Vec<u8>, u32) {
    // For each run, how many of its kind are before it.
    let mut counts = [0u32; 2];
    let ranks: Vec<u32> = runs
        .iter()
        .map(|run| {
            let count = &mut counts[usize::from(run.to >= NEW)];
            *count += 1;
            *count - 1
        })
        .collect();
    let mut order: Vec<u32> = (0..runs.len() as u32).collect();
    // Most of what runs lead to ascends, which this sort finds.
    order.sort_by_key(|at| runs[*at as usize].to);
    let mut ascents: Vec<Ascent> = vec![];
    let mut before: Option<u32> = None;
    for at in order {
        let of = |at: u32| (runs[at as usize].to >= NEW, ranks[at as usize]);
        let follows = before.is_some_and(|before| {
            let (is_new, rank) = of(before);
            of(at) == (is_new, rank + 1)
        });
        match ascents.last_mut().filter(|_| follows) {
            Some(last) => last.runs.set(at + 1 - last.run.get()),
            None => ascents.push(Ascent {
                to: U32::new(runs[at as usize].to),
                run: U32::new(at),
                runs: U32::new(1),
            }),
        }
        before = Some(at);
    }
    let packed = pack(&ascents);
    (packed.bytes, packed.records)
}

#[cfg(test)]
mod tests {
    use super::super::{self as runs, Builder, inverse};
    use super::*;
    use proptest::prelude::*;

    /// Checks that all numbers of these runs and those beside them lead back, and returns the number of ascents.
    fn lead_back(runs: &[Run]) -> u32 {
        let (bytes, (ascents, count)) = (runs::encode(runs), encode(runs));
        let back = Back::open(Runs::open(&bytes, runs.len() as u32), &ascents, count);
        let expected = inverse(runs);
        for run in &expected {
            for number in
                [run.from.wrapping_sub(1), run.from, run.from + run.length - 1, run.from + run.length]
            {
                let found = expected.iter().find(|run| number.wrapping_sub(run.from) < run.length);
                let found = found.map(|run| (run.to + (number - run.from), *run));
                assert_eq!(back.find(number), found, "{number}");
            }
        }
        count
    }

    fn built(numbers: impl IntoIterator<Item = u32>) -> Vec<Run> {
        let mut builder = Builder::default();
        numbers.into_iter().for_each(|to| builder.push(to));
        builder.finish()
    }

    #[test]
    fn what_keeps_its_order_is_one_ascent_and_what_is_new_another() {
        let numbers = (0..1000).map(|at| if at % 3 == 0 { NEW + at / 3 } else { 5 * at });
        let runs = built(numbers);
        assert_eq!((runs.len(), lead_back(&runs)), (1000, 2));
    }

    #[test]
    fn what_moved_is_an_ascent_of_its_own() {
        let numbers =
            (0..40).map(|at| 900 + 2 * at).chain((0..100).map(|at| 3 * at)).chain([1000, NEW, 1100]);
        assert_eq!(lead_back(&built(numbers)), 4);
        assert_eq!(lead_back(&[]), 0);
    }

    proptest! {
        #[test]
        fn all_that_runs_lead_to_leads_back(order in Just((0..200u32).collect::<Vec<_>>()).prop_shuffle(), sorted in 0usize..200) {
            let mut order = order;
            order[..sorted].sort_unstable();
            // Each fifth number is a new one, and each eighth is led to by nothing.
            lead_back(&built(order.into_iter().map(|n| if n % 5 == 0 { NEW + n / 5 } else { n + n / 7 })));
        }

        #[test]
        fn damaged_ascents_are_read(bytes in prop::collection::vec(any::<u8>(), 0..100), ascents in prop::collection::vec(any::<u8>(), 0..100), counts: [u32; 2], number: u32) {
            Back::open(Runs::open(&bytes, counts[0]), &ascents, counts[1]).find(number);
        }
    }
}
