//! Where searches ended in the tables of a chain's kernels: one that asks the same of each kernel searches for nearly the same
//! rows, one after another.
use crate::store::segment::{SegmentId, Space};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// How many searches in a table are followed: those of one question.
const FOLLOWED: usize = 16;
/// So many searches of a kernel may end far from where they started; the others start in the middle.
const MISSES: u32 = 2;
/// How far that may be.
const NEAR: u32 = 64;

/// By table and search: the shared row at its end, and whose search it was. What two threads write at once is of one of them.
#[derive(Debug)]
pub struct Recent(Vec<[AtomicU64; FOLLOWED]>);

impl Default for Recent {
    fn default() -> Self {
        Self(Space::ALL.iter().map(|_| Default::default()).collect())
    }
}

/// The searches of a kernel, beside those of others of its chain.
#[derive(Debug)]
pub struct Searches {
    recent: Arc<Recent>,
    /// Not 0.
    who: u32,
    /// By table: how many there were.
    counts: Vec<AtomicU32>,
    misses: AtomicU32,
}

impl Searches {
    /// None yet, of the kernel with this segment.
    pub fn new(recent: Arc<Recent>, own: SegmentId) -> Self {
        let counts = Space::ALL.iter().map(|_| AtomicU32::new(0)).collect();
        Self { recent, who: u32::from_le_bytes(own.checksum) | 1, counts, misses: AtomicU32::new(0) }
    }
    /// Counts a search. Returns its number, and the shared row at which the same search of another kernel ended; nothing if it is
    /// not followed.
    pub fn start(&self, space: Space) -> Option<(u32, Option<u32>)> {
        let count = &self.counts[space as usize];
        let number = count.load(Relaxed);
        let slot = self.recent.0[space as usize].get(number as usize)?.load(Relaxed);
        // Two threads may count as one.
        count.store(number + 1, Relaxed);
        let (who, row) = ((slot >> 32) as u32, slot as u32);
        let is_of_another = who != 0 && who != self.who && self.misses.load(Relaxed) < MISSES;
        Some((number, is_of_another.then_some(row)))
    }
    /// A search of this number ended at this row, so far from where it started.
    pub fn end(&self, space: Space, number: u32, row: u32, distance: Option<u32>) {
        if distance.is_some_and(|distance| distance > NEAR) {
            self.misses.fetch_add(1, Relaxed);
        }
        if let Some(slot) = self.recent.0[space as usize].get(number as usize) {
            slot.store(u64::from(self.who) << 32 | u64::from(row), Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_starts_where_that_of_another_kernel_ended() {
        let recent = Arc::new(Recent::default());
        let of = |number| {
            let id = SegmentId { build_id: [number; 20], checksum: [number, 0, 0, 0] };
            Searches::new(Arc::clone(&recent), id)
        };
        let (one, other) = (of(3), of(5));
        assert_eq!(one.start(Space::Symbols), Some((0, None)));
        one.end(Space::Symbols, 0, 100, None);
        assert_eq!(one.start(Space::Symbols), Some((1, None)));
        one.end(Space::Symbols, 1, 200, None);
        assert_eq!(other.start(Space::Ranges), Some((0, None)));
        assert_eq!(other.start(Space::Symbols), Some((0, Some(100))));
        other.end(Space::Symbols, 0, 101, Some(1));
        // Another question goes other ways: it does without.
        assert_eq!(other.start(Space::Symbols), Some((1, Some(200))));
        other.end(Space::Symbols, 1, 9000, Some(8800));
        other.end(Space::Symbols, 2, 9000, Some(8800));
        let third = of(7);
        assert_eq!(third.start(Space::Symbols), Some((0, Some(101))));
        assert_eq!(other.start(Space::Symbols), Some((2, None)));
        let more = std::iter::from_fn(|| other.start(Space::Symbols));
        assert_eq!(more.count(), FOLLOWED - 3);
    }
}
