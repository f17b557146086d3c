//! The records of a store's table one after another, for readers of bytes: what an index has as bytes, a store has as records.
use super::{Rows, Table, around};
use crate::store::runs::Hints;
use std::ops::Range;

/// What is left of a table of a store; nothing of an index.
pub(crate) struct Walk<'a, R> {
    rows: Option<&'a dyn Rows<R>>,
    at: u32,
    end: u32,
}

impl<R> Clone for Walk<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Walk<'_, R> {}

impl<'a, R> Walk<'a, R> {
    /// No records.
    #[inline]
    pub fn none() -> Self {
        Self { rows: None, at: 0, end: 0 }
    }
    /// All records of a table of a store.
    pub fn of(table: Table<'a, R>) -> Self {
        Self { rows: table.shared, at: table.first, end: table.first + table.len }
    }
    /// The number of records that are left.
    pub fn len(&self) -> usize {
        (self.end - self.at) as usize
    }
    /// The next record.
    #[inline]
    pub fn next(&mut self) -> Option<R> {
        if self.at >= self.end {
            return None;
        }
        let at = self.at;
        self.at += 1;
        step(self.rows, at)
    }
    /// Passes over the records for which this holds, which come before all others. Cost: a search among twice as many.
    #[cold]
    #[inline(never)]
    pub fn skip_while(&mut self, is_before: impl Fn(R) -> bool) {
        if self.at >= self.end {
            return;
        }
        let is_before = |at: usize| step(self.rows, at as u32).is_some_and(&is_before);
        let first = self.at as usize;
        let Range { start: mut low, end: mut high } = around(first, first..self.end as usize, is_before);
        while low < high {
            let middle = low + (high - low) / 2;
            if is_before(middle) { low = middle + 1 } else { high = middle }
        }
        self.at = low as u32;
    }
}

/// A record of a [`Walk`], which it is not given: its owner then need not lie in memory.
#[cold]
#[inline(never)]
fn step<R>(rows: Option<&dyn Rows<R>>, at: u32) -> Option<R> {
    rows?.row(at, &mut Hints::default())
}

#[cfg(test)]
mod tests {
    use super::super::{Piece, Search};
    use super::*;
    use proptest::prelude::*;

    /// Numbers as the records of a store.
    struct Numbers(Vec<u32>);

    impl Rows<u32> for Numbers {
        fn row(&self, at: u32, _: &mut Hints) -> Option<u32> {
            self.0.get(at as usize).copied()
        }
        fn key(&self, at: u32, hints: &mut Hints) -> Option<u32> {
            self.row(at, hints)
        }
        fn packed(&self, _: u32) -> Option<Piece<'_>> {
            None
        }
        fn start_of_search(&self, _: Range<u32>) -> Option<Search> {
            None
        }
        fn end_of_search(&self, _: Search, _: u32, _: &mut Hints) {}
        fn pieces(&self, _: Range<u32>) -> Vec<Piece<'_>> {
            vec![]
        }
        fn position(&self, _: u32) -> Option<u32> {
            None
        }
    }

    proptest! {
        #[test]
        fn what_is_skipped_is_what_a_walk_passes_over(
            gaps in prop::collection::vec(0u32..9, 0..200),
            skips in prop::collection::vec(0u32..60, 0..20),
        ) {
            let numbers = Numbers(gaps.iter().scan(0, |at, gap| { *at += gap; Some(*at) }).collect());
            let rows: &dyn Rows<u32> = &numbers;
            let mut walk = Walk { rows: Some(rows), at: 0, end: numbers.0.len() as u32 };
            let (mut plain, mut to) = (numbers.0.iter().copied().peekable(), 0);
            for skip in skips {
                to += skip;
                walk.skip_while(|number| number < to);
                while plain.next_if(|number| *number < to).is_some() {}
                prop_assert_eq!(walk.len(), plain.len());
                prop_assert_eq!(walk.next(), plain.next());
            }
        }
    }
}
