//! Where the records of a table start in another space, in the kernel's own numbers: which object a placement belongs to.
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// The starts, which are put side by side when enough was searched for to pay for it.
#[derive(Default)]
pub struct Starts {
    all: OnceLock<Box<[u32]>>,
    searches: AtomicU32,
}

impl Starts {
    /// How many of `count` starts are at most this number, given each of them. Cost: a binary search, which asks for as many
    /// starts as it has steps until they are side by side.
    pub fn up_to(&self, count: u32, number: u32, start: impl Fn(u32) -> u32) -> usize {
        if let Some(all) = self.all.get() {
            return all.partition_point(|start| *start <= number);
        }
        let (mut low, mut high) = (0, count);
        // Most of what is asked for belongs to the first: to vmlinux.
        if count > 1 {
            if start(1) <= number { low = 2 } else { high = 1 }
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if start(middle) <= number { low = middle + 1 } else { high = middle }
        }
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
        assert_eq!((up_to(13), asked.get()), (2, before));
        assert_eq!(Starts::default().up_to(0, 9, |_| unreachable!()), 0);
    }
}
