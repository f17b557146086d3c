//! Where the records of a table start in another space, in the kernel's own numbers: which object a placement belongs to.
use crate::store::runs::Hint;
use crate::store::runs::found::Slot;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The starts, which are put side by side when enough was searched for to pay for it.
#[derive(Default)]
pub struct Starts {
    all: OnceLock<Box<[u32]>>,
    searches: AtomicU32,
    /// The numbers from one start to the next, and how many starts are up to there: what is asked next is mostly beside what was
    /// asked last.
    last: Slot,
}

impl Starts {
    /// How many of `count` starts are at most this number, given each of them. Cost: a binary search, which asks for as many
    /// starts as it has steps until they are side by side.
    pub fn up_to(&self, count: u32, number: u32, start: impl Fn(u32) -> u32) -> usize {
        if let Some(all) = self.all.get() {
            return all.partition_point(|start| *start <= number);
        }
        let (from, last, length) = self.last.get().parts();
        if number.wrapping_sub(from) < length {
            return last as usize;
        }
        let (mut low, mut high) = (0, count);
        let (mut from, mut end) = (0, u32::MAX);
        // Most of what is asked for belongs to the first: to vmlinux.
        let mut middle = 1.min(high / 2);
        while low < high {
            match start(middle) {
                start if start <= number => (low, from) = (middle + 1, start),
                start => (high, end) = (middle, start),
            }
            middle = low + (high - low) / 2;
        }
        self.last.set(Hint::new(from, low, end.saturating_sub(from)));
        // Two threads may count as one.
        let steps = self.searches.load(Ordering::Relaxed).saturating_add(u32::BITS - count.leading_zeros());
        self.searches.store(steps, Ordering::Relaxed);
        if steps > count {
            self.all.get_or_init(|| (0..count).map(start).collect());
        }
        low as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn starts_are_asked_for_until_they_are_side_by_side() {
        let own: Vec<u32> = (0..100).map(|at| at * 7).collect();
        let (starts, asked) = (Starts::default(), Cell::new(0));
        let up_to = |number| {
            starts.up_to(100, number, |at| {
                asked.set(asked.get() + 1);
                own[at as usize]
            })
        };
        for number in [0, 6, 7, 350, 693, 694, u32::MAX].into_iter().cycle().take(70) {
            assert_eq!(up_to(number), own.partition_point(|start| *start <= number), "{number}");
        }
        let before = asked.get();
        assert!(before < 300);
        let next_to = Starts::default();
        let first = next_to.up_to(100, 350, |at| own[at as usize]);
        for number in 350..357 {
            assert_eq!(next_to.up_to(100, number, |_| unreachable!()), first);
        }
        assert_eq!(next_to.up_to(100, 349, |at| own[at as usize]) + 1, first);
        assert_eq!((up_to(13), asked.get()), (2, before));
        assert_eq!(Starts::default().up_to(0, 9, |_| unreachable!()), 0);
    }
}
