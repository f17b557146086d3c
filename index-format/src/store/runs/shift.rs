//! Addresses of a kernel, by how far they are from those of its base.
//!
//! What stands behind a function that grew moves as a whole: nearly all pieces of an update moved as far as their neighbours. So
//! the runs of [`Space::Pcs`](crate::store::Space::Pcs) lead, of a segment with a base, from a shared address not to the
//! kernel's own but to the shared one plus that distance: a run for all that moved as far. New shared addresses lead to the
//! kernel's own, as all do in the first segment of a chain. What the kernel has no more leads to new numbers.
//!
//! The kernel's own addresses of several objects are the same numbers, so that they could not lead on from kernel to kernel.
use super::{NEW, Run, append};
use std::iter::once;
use std::ops::Range;

/// Distances are less than that in both directions.
pub const FAR: u32 = 1 << 30;

/// What a shared address leads to: itself, moved.
fn moved(shared: u32, distance: u32) -> u32 {
    shared.wrapping_add(distance) & (NEW - 1)
}

/// How far a shared address is moved that leads to `to`; `None` if it is gone. The distance may be negative, wrapped.
#[inline]
pub fn distance(shared: u32, to: u32) -> Option<u32> {
    let wrapped = to.wrapping_sub(shared) << 1;
    (to < NEW).then_some((wrapped.cast_signed() >> 1).cast_unsigned())
}

/// Runs without gaps: sorted ones, and what is gone up to `end`.
fn filled(runs: impl Iterator<Item = Run>, end: u32) -> Vec<Run> {
    let (mut all, mut next, mut gone) = (vec![], 0, NEW);
    for run in runs.chain(once(Run { from: end, to: 0, length: 0 })) {
        if let Some(length) = run.from.checked_sub(next).filter(|length| *length > 0) {
            all.push(Run { from: next, to: gone, length });
            gone = gone.wrapping_add(length);
        }
        next = next.max(run.from.wrapping_add(run.length));
        if run.length > 0 {
            append(&mut all, run);
        }
    }
    all
}

/// Leads runs to a kernel's addresses on to those of the kernel after it, given that one's runs and its first new address.
pub fn compose(upper: impl Iterator<Item = Run>, lower: &[Run], first: u32) -> Vec<Run> {
    let mut all: Vec<Run> = vec![];
    let mut next = 0;
    for run in upper {
        if run.from >= first {
            append(&mut all, run);
            continue;
        }
        let Some(distance) = distance(run.from, run.to) else { continue };
        let end = run.from.saturating_add(run.length);
        for old in within(lower, &mut next, run.from..end) {
            append(&mut all, Run { to: old.to.wrapping_add(distance), ..old });
        }
    }
    all
}

/// The parts of sorted runs that are in a range, from the position on at which those of the last range started.
fn within<'r>(runs: &'r [Run], next: &mut usize, range: Range<u32>) -> impl Iterator<Item = Run> + use<'r> {
    let end_of = |run: &Run| run.from.saturating_add(run.length);
    *next += runs[*next..].partition_point(|run| end_of(run) <= range.start);
    runs[*next..].iter().take_while(move |run| run.from < range.end).map(move |run| {
        let from = run.from.max(range.start);
        let length = range.end.min(end_of(run)).saturating_sub(from);
        Run { from, to: run.to.wrapping_add(from - run.from), length }
    })
}

/// The runs that lead a kernel's addresses on to those of another one, given the sorted runs to the own addresses of both, and
/// the first address that is new after the one below: the inverse of [`compose`]. `None` if an older address is not in the one
/// below, or is further away than can be told. Cost: linear in both.
pub fn between(own: &[Run], lower: &[Run], first: u32) -> Option<Vec<Run>> {
    let known = &own[..own.partition_point(|run| run.from < first)];
    let (mut moves, mut new, mut next) = (vec![], vec![], 0);
    for run in known {
        let end = run.from.saturating_add(run.length).min(first);
        let mut from = run.from;
        for old in within(lower, &mut next, run.from..end) {
            let by = run.to.wrapping_add(old.from - run.from).wrapping_sub(old.to);
            let to = moved(old.from, by);
            if old.from > from || distance(old.from, to) != Some(by) {
                return None;
            }
            append(&mut moves, Run { to, ..old });
            from += old.length;
        }
        if from < end {
            return None;
        }
        // A run may begin with what is known and end with what is new.
        let rest = run.from.saturating_add(run.length) - end;
        let to = run.to.wrapping_add(end - run.from);
        new.extend((rest > 0).then_some(Run { from: end, to, length: rest }));
    }
    let mut all = filled(moves.into_iter(), first);
    all.extend(new);
    all.extend_from_slice(&own[known.len()..]);
    Some(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn run(from: u32, to: u32, length: u32) -> Run {
        Run { from, to, length }
    }

    #[test]
    fn distances_go_both_ways_and_what_is_gone_has_none() {
        for (shared, by) in [(4096, 64), (4096, -64), (4096, -100_000), (NEW - 1, 5), (7, 0)] {
            let by = i32::cast_unsigned(by);
            assert_eq!(distance(shared, moved(shared, by)), Some(by), "{shared}");
        }
        assert_eq!(distance(4096, NEW + 9), None);
    }

    #[test]
    fn gaps_are_what_is_gone() {
        let runs = [run(10, 10, 5), run(15, 15, 5), run(30, 38, 2)];
        let filled = filled(runs.into_iter(), 40);
        let expected =
            [run(0, NEW, 10), run(10, 10, 10), run(20, NEW + 10, 10), run(30, 38, 2), run(32, NEW + 20, 8)];
        assert_eq!(filled, expected);
    }

    #[test]
    fn addresses_that_the_one_below_has_not_are_refused() {
        let own = [run(10, 50, 5)];
        let with = |lower: Run| between(&own, &[lower], 100);
        let all = [run(0, NEW, 10), run(10, moved(10, 20), 5), run(15, NEW + 10, 85)];
        assert_eq!(with(run(0, 20, 100)).as_deref(), Some(&all[..]));
        for lower in [run(10, 20, 4), run(11, 21, 9), run(0, 20, 10), run(15, 20, 10)] {
            assert_eq!(with(lower), None, "{lower:?}");
        }
        assert_eq!(between(&[run(10, FAR + 60, 5)], &[run(0, 20, 100)], 100), None, "it is too far away");
        assert_eq!(
            between(&[run(90, 5, 20)], &[run(90, 5, 10)], 100).map(|runs| runs[1..].to_vec()),
            Some(vec![run(90, 90, 10), run(100, 15, 10)])
        );
    }

    proptest! {
        /// Two levels lead where one after the other does.
        #[test]
        fn composed_runs_lead_there_at_once(
            pieces in prop::collection::vec((1u32..50, 0u32..4, prop::option::of(-30i32..30)), 1..40),
            new in 0u32..30,
        ) {
            let (mut lower, mut upper, mut from, mut own) = (vec![], vec![], 4096, 5000);
            for (length, gap, by) in pieces {
                lower.push(run(from, own, length));
                if let Some(by) = by {
                    upper.push(run(from, moved(from, by.cast_unsigned()), length));
                }
                (from, own) = (from + length, own + length + gap);
            }
            let first = from;
            let filled: Vec<Run> = filled(upper.into_iter(), first).into_iter().chain((new > 0).then(|| run(first, 77, new))).collect();
            let at_once = compose(filled.iter().copied(), &lower, first);
            let find = |runs: &[Run], number: u32| super::super::flat::find(runs, number).map(|found| found.0);
            for shared in 4096..first + new + 3 {
                let one_by_one = match find(&filled, shared) {
                    Some(to) if shared >= first => Some(to),
                    Some(to) => distance(shared, to).and_then(|by| Some(find(&lower, shared)?.wrapping_add(by))),
                    None => None,
                };
                prop_assert_eq!(find(&at_once, shared), one_by_one);
            }
            let again = between(&at_once, &lower, first).unwrap();
            let composed = compose(again.into_iter(), &lower, first);
            for shared in 4096..first + new + 3 {
                prop_assert_eq!(find(&composed, shared), find(&at_once, shared));
            }
        }
    }
}
