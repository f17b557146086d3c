//! Where numbers with the same upper bits are among sorted ones: a search then looks at two numbers, and at one or two more.
use std::ops::Range;

/// The positions of sorted numbers, by upper bits.
pub struct UpperBits {
    /// For each of the upper bits, the first number that starts at these or later; and how many there are.
    starts: Box<[u32]>,
    /// How many lower bits are left out.
    shift: u32,
}

impl UpperBits {
    /// Of sorted numbers. Cost: linear; a number for each one or two is kept.
    pub fn new(numbers: impl DoubleEndedIterator<Item = u32> + ExactSizeIterator + Clone) -> Self {
        let (last, count) = (numbers.clone().next_back().unwrap_or(0), numbers.len());
        let shift = (0..u32::BITS).find(|shift| (last >> shift) as usize <= count).unwrap_or(u32::BITS - 1);
        let mut starts = Vec::with_capacity((last >> shift) as usize + 2);
        for (at, number) in (0..).zip(numbers) {
            // Those of a forged segment may not be sorted.
            let upper = ((number >> shift) as usize).min(count);
            while starts.len() <= upper {
                starts.push(at);
            }
        }
        starts.push(count as u32);
        Self { starts: starts.into(), shift }
    }
    /// How many of the items, whose numbers these are, have one up to this. Cost: a look at two numbers, and at an item or two.
    #[inline]
    pub fn up_to<T>(&self, items: &[T], number: u32, of: impl Fn(&T) -> u32) -> usize {
        let Range { start, end } = self.near(number);
        let near = items.get(start..end).unwrap_or_default();
        start + near.partition_point(|item| of(item) <= number)
    }
    #[inline]
    fn near(&self, number: u32) -> Range<usize> {
        let Some(last) = self.starts.len().checked_sub(2) else { return 0..0 };
        let upper = ((number >> self.shift) as usize).min(last);
        self.starts[upper] as usize..self.starts[upper + 1] as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn as_many_are_found_as_among_all(
            parts in prop::collection::vec((1u32..100, 0u32..20), 0..100),
            numbers in prop::collection::vec(any::<u32>(), 100),
        ) {
            let mut last = 0;
            let all: Vec<u32> = parts.into_iter().map(|(gap, far)| { last += gap << far; last }).collect();
            let bits = UpperBits::new(all.iter().copied());
            let near = all.iter().flat_map(|number| [number - 1, *number, number + 1]);
            for number in near.chain(numbers.iter().map(|n| n % (last + 9))).chain([0, u32::MAX]) {
                let expected = all.partition_point(|one| *one <= number);
                prop_assert_eq!(bits.up_to(&all, number, |one| *one), expected);
            }
        }

        #[test]
        fn what_is_not_sorted_is_read(all in prop::collection::vec(any::<u32>(), 0..50), number: u32) {
            let found = UpperBits::new(all.iter().copied()).up_to(&all, number, |one| *one);
            prop_assert!(found <= all.len());
        }
    }
}
