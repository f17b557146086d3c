//! Positions by a hash: in a list of neighbours, as most that are looked for are where they are expected, and few are asked of it.

/// Positions from 0 on, found by their hashes.
pub struct Buckets {
    /// The first position of each bucket, or `u32::MAX`.
    first: Vec<u32>,
    /// For each position the next one in its bucket, or `u32::MAX`.
    next: Vec<u32>,
}

impl Buckets {
    /// Those of so many positions. Cost: two writes each.
    pub fn of(length: usize, hash: impl Fn(usize) -> u64) -> Self {
        let mut first = vec![u32::MAX; length.next_power_of_two()];
        let mut next = vec![u32::MAX; length];
        for at in (0..length).rev() {
            let bucket = &mut first[bucket(hash(at), length)];
            next[at] = std::mem::replace(bucket, at as u32);
        }
        Self { first, next }
    }
    /// The first position with this hash that is the one. It is not found again.
    pub fn take(&mut self, hash: u64, is_it: impl Fn(usize) -> bool) -> Option<usize> {
        let bucket = bucket(hash, self.next.len());
        let (mut before, mut at) = (None, *self.first.get(bucket)?);
        while at != u32::MAX {
            let next = self.next[at as usize];
            if is_it(at as usize) {
                *before.map_or(&mut self.first[bucket], |before: u32| &mut self.next[before as usize]) = next;
                return Some(at as usize);
            }
            (before, at) = (Some(at), next);
        }
        None
    }
    /// The positions with this hash, ascending, and some others.
    pub fn get(&self, hash: u64) -> impl Iterator<Item = usize> + Clone {
        let first = self.first.get(bucket(hash, self.next.len())).copied();
        let there = |at: u32| (at != u32::MAX).then_some(at);
        let after = move |at: &u32| there(self.next[*at as usize]);
        std::iter::successors(first.and_then(there), after).map(|at| at as usize)
    }
}

fn bucket(hash: u64, length: usize) -> usize {
    // The highest bits of a product are those that all others reach.
    let bits = length.next_power_of_two().trailing_zeros();
    hash.wrapping_mul(0x9e37_79b9_7f4a_7c15).checked_shr(64 - bits).unwrap_or(0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_taken_is_gone() {
        let hash = |at: usize| (at % 10) as u64;
        let mut buckets = Buckets::of(40, hash);
        let mut take = |wanted: u64| buckets.take(wanted, |at| hash(at) == wanted);
        assert_eq!([3, 4, 3, 3, 3, 3].map(&mut take), [Some(3), Some(4), Some(13), Some(23), Some(33), None]);
        assert_eq!(buckets.get(3).filter(|at| hash(*at) == 3).count(), 0);
        assert_eq!(buckets.get(4).filter(|at| hash(*at) == 4).count(), 3);
        assert_eq!(Buckets::of(0, hash).take(3, |_| true), None);
    }

    #[test]
    fn all_of_a_hash_are_found_in_order() {
        for length in [0, 1, 2, 7, 8, 1000] {
            let hash = |at: usize| (at % 10) as u64;
            let buckets = Buckets::of(length, hash);
            for wanted in 0..11 {
                let found: Vec<usize> = buckets.get(wanted).filter(|at| hash(*at) == wanted).collect();
                let all: Vec<usize> = (0..length).filter(|at| hash(*at) == wanted).collect();
                assert_eq!(found, all, "{wanted} of {length}");
            }
        }
    }
}
