//! The runs of a space in one piece, for walks: a search in them costs a tenth of one through all levels.
use super::later::Later;
use super::upper_bits::UpperBits;
use super::{Builder, NEW, Run, Runs, append};

/// The runs of a space, which are made when enough numbers were searched for to pay for it.
pub type Flat = Later<Spread>;

/// The searches of a question for one thing, after which runs may be made.
pub const FEW: u32 = 64;

/// Runs, and where numbers are among them.
pub struct Spread {
    runs: Box<[Run]>,
    near: UpperBits,
}

impl Spread {
    /// Of sorted runs. Cost: linear.
    pub fn new(runs: Vec<Run>) -> Self {
        Self { near: UpperBits::new(runs.iter().map(|run| run.from)), runs: runs.into() }
    }
    /// All of them.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }
    /// As [`find`]. Cost: a look at two numbers, and at a run or two.
    #[inline]
    pub fn find(&self, number: u32) -> Option<(u32, Run)> {
        let at = self.near.up_to(&self.runs, number, |run| run.from).checked_sub(1)?;
        within(&self.runs[at], number)
    }
}

/// What a number stands for, and its run.
#[inline]
pub fn find(runs: &[Run], number: u32) -> Option<(u32, Run)> {
    within(runs[..runs.partition_point(|run| run.from <= number)].last()?, number)
}

#[inline]
fn within(run: &Run, number: u32) -> Option<(u32, Run)> {
    let within = number.wrapping_sub(run.from);
    (within < run.length).then(|| (run.to.wrapping_add(within), *run))
}

/// Leads the numbers that runs stand for on: old ones by the runs of the level below, new ones to the shared numbers from
/// `first` on. A number that leads nowhere, as in a damaged segment, is left out. Cost: linear in both.
pub fn compose(upper: Runs<'_>, lower: &[Run], first: u32) -> Vec<Run> {
    // No number is led to twice, but in a forged segment.
    let (upper, most) = (upper.iter(), upper.len() + lower.len());
    let mut all: Vec<Run> = Vec::with_capacity(upper.size_hint().0 + lower.len());
    let mut next = 0;
    for run in upper {
        if all.len() > most {
            break;
        }
        if let Some(new) = run.to.checked_sub(NEW) {
            append(&mut all, Run { to: new.wrapping_add(first), ..run });
            continue;
        }
        let (end, moved) = (run.to.saturating_add(run.length), run.from.wrapping_sub(run.to));
        // What follows is mostly the next one, or a few behind.
        let is_before = |old: &Run| end_of(old) <= run.to;
        if lower.get(next).is_none_or(|old| old.from > run.to || is_before(old)) {
            next = last_up_to(lower, next, run.to).unwrap_or(0);
            next += usize::from(lower.get(next).is_some_and(is_before));
        }
        let mut is_first = true;
        for old in lower.get(next..).unwrap_or_default().iter().take_while(|old| old.from < end) {
            let (from, stop) = (old.from.max(run.to), end.min(end_of(old)));
            let part = Run {
                from: from.wrapping_add(moved),
                to: old.to.wrapping_add(from - old.from),
                length: stop.saturating_sub(from),
            };
            // Those that follow do not continue each other.
            if std::mem::take(&mut is_first) {
                append(&mut all, part)
            } else {
                all.push(part)
            }
            if stop == end {
                break;
            }
            next += 1;
        }
    }
    all
}

fn end_of(run: &Run) -> u32 {
    run.from.saturating_add(run.length)
}

/// The position of the last run that starts up to a number, which mostly is near this one. Cost: a binary search in twice as many as
/// it is away.
fn last_up_to(runs: &[Run], near: usize, number: u32) -> Option<usize> {
    let is_before = |run: &Run| run.from <= number;
    let near = near.min(runs.len());
    let (mut start, mut step) = (near, 1);
    if runs.get(near).is_some_and(is_before) {
        while runs.get(start + step).is_some_and(is_before) {
            (start, step) = (start + step, step * 2);
        }
        let end = runs.len().min(start + step);
        return Some(start + runs[start..end].partition_point(is_before) - 1);
    }
    while start > 0 && !is_before(&runs[start - 1]) {
        (start, step) = (start.saturating_sub(step), step * 2);
    }
    runs[start..near].partition_point(is_before).checked_add(start)?.checked_sub(1)
}

/// The runs of numbers that two kernels lead to the same ones: `lower` leads from these to the other kernel. What leads
/// nowhere is left out. Cost: linear in both, and a binary search for each of the upper runs.
pub fn join(upper: &[Run], lower: &[Run]) -> Vec<Run> {
    let mut builder = Builder::default();
    for run in upper {
        let (mut at, end) = (run.to, run.to.saturating_add(run.length));
        let first = lower.partition_point(|other| other.from.saturating_add(other.length) <= at);
        for other in &lower[first..] {
            let start = at.max(other.from);
            let stop = end.min(other.from.saturating_add(other.length));
            if start >= end {
                break;
            }
            if start < stop {
                builder.skip_to(run.from + (start - run.to));
                builder.extend(other.to.wrapping_add(start - other.from), stop - start);
                at = stop;
            }
        }
    }
    builder.finish()
}

#[cfg(test)]
mod tests {
    use super::super::encode;
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn two_levels_lead_where_one_after_the_other_does() {
        let builder = |numbers: &[u32]| {
            let mut builder = Builder::default();
            numbers.iter().for_each(|to| builder.push(*to));
            builder
        };
        let lower = builder(&[5, 6, 7, 20, 21, 9, 1]);
        let upper = builder(&[1, 2, 3, NEW, NEW + 1, 0, 4, 5, 6, NEW + 2]);
        let bytes = encode(upper.runs());
        let runs = compose(Runs::open(&bytes, upper.runs().len() as u32), lower.runs(), 100);
        let led: Vec<_> = (0..11).map(|own| find(&runs, own).map(|found| found.0)).collect();
        let expected = [6, 7, 20, 100, 101, 5, 21, 9, 1, 102].map(Some);
        assert_eq!(led[..10], expected);
        assert_eq!(led[10], None);
        // No run is in two parts.
        assert!(runs.windows(2).all(|two| two[0].to + two[0].length != two[1].to));
    }

    #[test]
    fn what_two_lead_to_is_joined() {
        let run = |from, to, length| Run { from, to, length };
        let upper = [run(0, 10, 5), run(5, 100, 3), run(8, 40, 4)];
        let lower = [run(8, 0, 4), run(13, 50, 2), run(41, 7, 2), run(101, 90, 9)];
        let expected = [run(0, 2, 2), run(3, 50, 2), run(6, 90, 2), run(9, 7, 2)];
        assert_eq!(join(&upper, &lower), expected);
    }

    proptest! {
        #[test]
        fn the_last_run_up_to_a_number_is_found_from_anywhere(gaps in prop::collection::vec(1u32..9, 0..70), near in 0usize..80) {
            let from = gaps.iter().scan(0, |at, gap| { *at += gap; Some(*at) });
            let runs: Vec<Run> = from.map(|from| Run { from, to: 0, length: 1 }).collect();
            for number in 0..600 {
                let expected = runs.partition_point(|run| run.from <= number).checked_sub(1);
                prop_assert_eq!(last_up_to(&runs, near, number), expected);
            }
        }

        /// Levels in any order, with numbers that lead nowhere, lead where one after the other does.
        #[test]
        fn any_two_levels_lead_where_one_after_the_other_does(
            lower in prop::collection::vec((1u32..9, 0u32..100, 0u32..4), 0..40),
            upper in prop::collection::vec((1u32..12, 0u32..100, 0u32..4), 0..40),
        ) {
            // No number is led to twice: pieces of what there is, in another order, with gaps and what is new between them.
            let built = |parts: &[(u32, u32, u32)]| {
                let mut to = 0;
                let piece = |(length, order, kind): &(u32, u32, u32)| {
                    to += length;
                    (*order, to - length, *length, *kind)
                };
                let mut pieces: Vec<_> = parts.iter().map(piece).collect();
                pieces.sort();
                let (mut builder, mut from) = (Builder::default(), 0);
                for (_, to, length, kind) in pieces {
                    from += if kind == 0 { 3 } else { 0 };
                    builder.skip_to(from);
                    builder.extend(if kind == 1 { NEW + to } else { to }, length);
                    from += length;
                }
                builder.finish()
            };
            let (lower, upper) = (built(&lower), built(&upper));
            let bytes = encode(&upper);
            let composed = compose(Runs::open(&bytes, upper.len() as u32), &lower, 1000);
            for own in 0..800 {
                let expected = find(&upper, own).and_then(|(to, _)| match to.checked_sub(NEW) {
                    Some(new) => Some(1000 + new),
                    None => find(&lower, to).map(|found| found.0),
                });
                prop_assert_eq!(find(&composed, own).map(|found| found.0), expected, "{}", own);
            }
        }

        /// What is found among some runs is what is found among all.
        #[test]
        fn numbers_are_found_where_their_upper_bits_lead(
            parts in prop::collection::vec((0u32..3, 1u32..100, 0u32..20), 0..100),
            numbers in prop::collection::vec(any::<u32>(), 100),
        ) {
            let (mut runs, mut from): (Vec<Run>, u32) = Default::default();
            for (gap, length, far) in parts {
                from += gap << far;
                runs.push(Run { from, to: from ^ 1, length });
                from += length;
            }
            let spread = Spread::new(runs.clone());
            let near = runs.iter().flat_map(|run| [run.from.wrapping_sub(1), run.from, run.from + run.length - 1, run.from + run.length]);
            for number in near.chain(numbers.iter().map(|n| n % (from + 9))).chain([u32::MAX]) {
                prop_assert_eq!(spread.find(number), find(&runs, number));
            }
        }
    }
}
