//! Records that are not packed: those of an index as a slice, those of a store each as it is first asked for.
use std::ops::{Index, Range};

/// Records of a store that are made once and kept.
pub trait KeptRows<R>: Sync {
    /// The record of this position.
    fn kept(&self, at: u32) -> Option<&R>;
}

/// Records, or a part of them. Copying it copies some pointers.
pub struct Records<'a, R> {
    slice: &'a [R],
    /// Where the records are, if not in the slice: these, from `first` on.
    kept: Option<&'a dyn KeptRows<R>>,
    first: u32,
    len: u32,
}

impl<R> Clone for Records<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Records<'_, R> {}

impl<'a, R> Records<'a, R> {
    /// The records of an index.
    pub fn of_slice(slice: &'a [R]) -> Self {
        Self { slice, kept: None, first: 0, len: slice.len() as u32 }
    }
    /// So many records of a store.
    pub fn of_rows(rows: &'a dyn KeptRows<R>, len: u32) -> Self {
        Self { slice: &[], kept: Some(rows), first: 0, len }
    }
    /// The number of records.
    #[inline]
    pub fn len(&self) -> usize {
        self.len as usize
    }
    /// Whether there are none.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// A record by its position. Cost: of a store, a search in each segment for each of its fields when it is first asked for.
    #[inline]
    pub fn get(&self, at: usize) -> Option<&'a R> {
        match self.slice.get(at) {
            Some(record) => Some(record),
            None => fetch(self.kept, self.first as usize + at, (self.first + self.len) as usize),
        }
    }
    /// The first record.
    #[inline]
    pub fn first(&self) -> Option<&'a R> {
        self.get(0)
    }
    /// The records at these positions; none if some do not exist.
    #[inline]
    pub fn part(&self, range: Range<usize>) -> Self {
        let none = Self { slice: &[], kept: None, first: 0, len: 0 };
        if range.start > range.end || range.end > self.len() {
            return none;
        }
        let (first, len) = (self.first + range.start as u32, (range.end - range.start) as u32);
        Self { slice: self.slice.get(range).unwrap_or_default(), first, len, ..*self }
    }
    /// All records in order.
    #[inline]
    pub fn iter(&self) -> Iter<'a, R> {
        Iter { slice: self.slice.iter(), rest: *self, at: self.slice.len() }
    }
    /// The number of records up to the first one that does not satisfy this; those that do must come first. Cost: a binary
    /// search.
    #[inline]
    pub fn partition_point(&self, is_before: impl FnMut(&R) -> bool) -> usize {
        match self.kept {
            None => self.slice.partition_point(is_before),
            Some(_) => self.search(is_before),
        }
    }
    #[cold]
    fn search(&self, mut is_before: impl FnMut(&R) -> bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low + (high - low) / 2;
            if self.get(middle).is_some_and(&mut is_before) { low = middle + 1 } else { high = middle }
        }
        low
    }
}

impl<R: Clone> Records<'_, R> {
    /// All records.
    pub fn to_vec(&self) -> Vec<R> {
        self.iter().cloned().collect()
    }
}

#[cold]
#[inline(never)]
fn fetch<R>(kept: Option<&dyn KeptRows<R>>, at: usize, end: usize) -> Option<&R> {
    kept.filter(|_| at < end)?.kept(at as u32)
}

impl<R> Index<usize> for Records<'_, R> {
    type Output = R;

    /// # Panics
    /// If there is no such record.
    #[inline]
    fn index(&self, at: usize) -> &R {
        self.get(at).expect("a record of this position")
    }
}

impl<'a, R> IntoIterator for Records<'a, R> {
    type Item = &'a R;
    type IntoIter = Iter<'a, R>;

    fn into_iter(self) -> Iter<'a, R> {
        self.iter()
    }
}

/// Records in order.
pub struct Iter<'a, R> {
    slice: std::slice::Iter<'a, R>,
    rest: Records<'a, R>,
    at: usize,
}

impl<'a, R> Iterator for Iter<'a, R> {
    type Item = &'a R;

    #[inline]
    fn next(&mut self) -> Option<&'a R> {
        self.slice.next().or_else(|| {
            let found = self.rest.get(self.at);
            self.at += 1;
            found
        })
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.slice.len() + self.rest.len().saturating_sub(self.at);
        (left, Some(left))
    }
}

impl<R> ExactSizeIterator for Iter<'_, R> {}

#[cfg(test)]
mod tests {
    use super::*;

    struct Squares(Vec<u32>);

    impl KeptRows<u32> for Squares {
        fn kept(&self, at: u32) -> Option<&u32> {
            self.0.get(at as usize)
        }
    }

    #[test]
    fn rows_are_read_as_a_slice() {
        let squares: Vec<u32> = (0..40).map(|at| at * at).collect();
        let rows = Squares(squares.clone());
        let both = [Records::of_slice(&squares), Records::of_rows(&rows, 30)].map(|all| all.part(0..30));
        for records in both.iter().flat_map(|all| [*all, all.part(7..19), all.part(5..25).part(2..14)]) {
            let first = if records.len() == 30 { 0 } else { 7 };
            let own = &squares[first..first + records.len()];
            assert_eq!(records.to_vec(), own);
            assert_eq!((records.first(), records.get(own.len())), (own.first(), None));
            assert_eq!(records[3], own[3]);
            assert_eq!(records.iter().len(), own.len());
            for bound in [0, 1, 49, 100, 5000] {
                let at = records.partition_point(|square| *square < bound);
                assert_eq!(at, own.partition_point(|square| *square < bound));
            }
            assert!(records.part(3..3).is_empty() && records.part(1..99).is_empty());
        }
    }
}
