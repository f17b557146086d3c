//! Tables of records, packed: about two fifths of the records' own size.
//!
//! ```text
//! 0             U32[b]    where each block of 64 records starts, from the start of the section
//! 4 b           …         the blocks, the last one with the records that are left, then 8 zero bytes
//! ```
//!
//! The directory has the number of records.
//!
//! A block has a base for each column, of as many bytes as the column; the width of each column in bits, a byte each;
//! the slope of each column that [ascends](Record::ASCENDING), three bytes each; then the rows one after another, the
//! columns of a row one after another, each a number of its width, from the lowest bit of the first byte on.
//!
//! A value is the base, plus the slope times the row's position in the block divided by 256, plus that number, less
//! what exceeds the bytes of its column: a column of small numbers and [`NONE`](crate::id::TypeId::NONE), which is the
//! highest, has that as its base and needs no more bits than the small ones; one that ascends evenly needs the bits of
//! how far it strays from a line.
//!
//! The columns of a record are its fields. A field of eight bytes is two columns, of its lower six and upper two.
//!
//! Of neighbours, most fields are close to each other: addresses, offsets into other tables, names of what is sorted
//! by name. A block's own numbers are a twentieth of all.
mod block;
mod walk;
mod write;

use crate::record::Record;
use crate::store::runs::Hints;
use block::{Block, row};
use std::ops::Range;
pub(crate) use walk::Walk;
pub use write::{Packed, pack};

/// Records per block.
const BLOCK: usize = 64;
/// Bytes of a slope.
const SLOPE: usize = 3;
/// Bytes at the end of a table, so that eight bytes can be read at the start of each number.
const PADDING: usize = 8;
/// The most columns a record has.
pub(crate) const COLUMNS: usize = 24;

/// Records that are not in a table of their own, but among those of other kernels.
pub trait Rows<R>: Sync {
    /// The record of this position. The hints are those of the position before, if there was one.
    fn row(&self, at: u32, hints: &mut Hints) -> Option<R>;
    /// The packed row of this position.
    fn packed(&self, at: u32) -> Option<Piece<'_>>;
    /// As [`row`](Self::row), for a search: only what the table is sorted by is as in the kernel.
    fn key(&self, at: u32, hints: &mut Hints) -> Option<R>;
    /// Starts a search in a part that is not empty; nothing if others are not told of it.
    fn start_of_search(&self, part: Range<u32>) -> Option<Search>;
    /// Ends it: this is the last position before what was searched for, or the first of the part.
    fn end_of_search(&self, search: Search, last: u32, hints: &mut Hints);
    /// The packed rows in which the records of a part are, and perhaps others.
    fn pieces(&self, part: Range<u32>) -> Vec<Piece<'_>>;
    /// The position of a shared row.
    fn position(&self, row: u32) -> Option<u32>;
}

/// Rows of a packed table, one after another.
pub struct Piece<'a> {
    /// The table, and the number of its records.
    pub table: (&'a [u8], u32),
    /// The positions of the rows there.
    pub rows: Range<u32>,
    /// The shared number of the first one.
    pub shared: u32,
    /// Its position among the records, if the others follow it there.
    pub own: Option<u32>,
}

/// A search among the records of one kernel, of which others may have been asked the same.
#[derive(Clone, Copy, Debug)]
pub struct Search {
    /// How many searches in the table there were before.
    pub number: u32,
    /// The position that may be the last one before what is searched for.
    pub near: Option<u32>,
}

/// A packed table, or a part of one. Copying it copies some pointers; records are decoded on demand. Damaged bytes give
/// arbitrary records.
pub struct Table<'a, R> {
    bytes: &'a [u8],
    /// The position of the part in the table.
    first: u32,
    len: u32,
    /// Where the records are, if not in `bytes`.
    shared: Option<&'a dyn Rows<R>>,
}

impl<R> Clone for Table<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Table<'_, R> {}

impl<R> Default for Table<'_, R> {
    fn default() -> Self {
        Self { bytes: &[], first: 0, len: 0, shared: None }
    }
}

impl<'a, R: Record> Table<'a, R> {
    /// The table of so many records; `None` if their blocks cannot lie in these bytes. Reads none of them.
    pub fn open(bytes: &'a [u8], records: u32) -> Option<Self> {
        let front = 4 * (records as usize).div_ceil(BLOCK) + PADDING;
        (records == 0 || front <= bytes.len()).then_some(Self { bytes, first: 0, len: records, shared: None })
    }
    /// A table of so many records that are elsewhere.
    pub fn of_rows(rows: &'a dyn Rows<R>, records: u32) -> Self {
        Self { bytes: &[], first: 0, len: records, shared: Some(rows) }
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
    /// A record by its position. Cost: two cache misses, and a nanosecond or two for each column.
    #[inline(always)]
    pub fn get(&self, at: usize) -> Option<R> {
        if at >= self.len() {
            return None;
        }
        let at = self.first as usize + at;
        match Block::find(self.bytes, at / BLOCK) {
            Some(block) => Some(block.row(at % BLOCK)),
            None => {
                let mut found = R::new_zeroed();
                fetch(self.shared, at, None, &mut found).then_some(found)
            }
        }
    }
    /// As [`get`](Self::get), for who only looks at fields that refer to nothing, such as flags, and at whether there is an
    /// address: of a store, the others are not this kernel's. Cost: of a store, a fraction of what the record takes.
    #[inline]
    pub fn facts(&self, at: usize) -> Option<R> {
        match self.shared {
            Some(rows) if at < self.len() => Self::of_piece(&rows.packed(self.first + at as u32)?).first(),
            _ => self.get(at),
        }
    }
    fn of_piece(piece: &Piece<'a>) -> Self {
        let table = Self::open(piece.table.0, piece.table.1).unwrap_or_default();
        table.part(piece.rows.start as usize..piece.rows.end as usize)
    }
    /// A record by its position, or zeros if there is none.
    #[inline(always)]
    pub fn at(&self, at: usize) -> R {
        self.get(at).unwrap_or_else(R::new_zeroed)
    }
    /// The first record.
    pub fn first(&self) -> Option<R> {
        self.get(0)
    }
    /// The last record.
    pub fn last(&self) -> Option<R> {
        self.get(self.len().checked_sub(1)?)
    }
    /// The records at these positions; none if some do not exist.
    #[inline]
    pub fn part(&self, range: Range<usize>) -> Self {
        if range.start <= range.end && range.end <= self.len() {
            Self { first: self.first + range.start as u32, len: (range.end - range.start) as u32, ..*self }
        } else {
            Self::default()
        }
    }
    /// The records before this position.
    pub fn up_to(&self, end: usize) -> Self {
        self.part(0..end.min(self.len()))
    }
    /// The records from this position on.
    pub fn from(&self, start: usize) -> Self {
        self.part(start.min(self.len())..self.len())
    }
    /// All but the last record, which only ends the ranges of the one before it.
    pub fn owners(&self) -> Self {
        self.up_to(self.len().saturating_sub(1))
    }
    /// All records in order. Cost: a nanosecond or two for each column.
    #[inline]
    pub fn iter(&self) -> Iter<'a, R> {
        Iter {
            table: *self,
            number: usize::MAX,
            block: None,
            hints: Hints::default(),
            at: 0,
            end: self.len(),
        }
    }
    /// The positions of the records with this number in a column (see [`Record::COLUMNS`]), ascending; of a store's records,
    /// with this shared number. Cost: a look at the base and width of each block, and at the rows of those that may have it.
    pub fn positions(self, column: usize, number: u64) -> impl Iterator<Item = usize> + use<'a, R> {
        let first = self.first as usize;
        // One of the two is empty.
        let elsewhere = self.shared.map(|rows| self.shared_positions(rows, column, number));
        let packed = self.packed_positions(column, number);
        packed.chain(elsewhere.into_iter().flatten().map(move |at| at as usize - first))
    }
    fn packed_positions(self, column: usize, number: u64) -> impl Iterator<Item = usize> + use<'a, R> {
        let (first, end) = (self.first as usize, self.first as usize + self.len());
        let packed = if self.shared.is_some() { 0..0 } else { first / BLOCK..end.div_ceil(BLOCK) };
        let holding = packed.filter_map(move |block| {
            let column = Block::<R>::find(self.bytes, block)?.column(column);
            Some((block * BLOCK, column, column.beyond(number)?))
        });
        holding.flat_map(move |(start, column, wanted)| {
            let rows = start.max(first)..(start + BLOCK).min(end);
            rows.filter(move |at| column.number(at - start) == wanted).map(move |at| at - first)
        })
    }
    #[cold]
    fn shared_positions(self, rows: &dyn Rows<R>, column: usize, number: u64) -> Vec<u32> {
        let all = self.first..self.first + self.len;
        let mut found = vec![];
        for piece in rows.pieces(all.clone()) {
            for within in Table::<R>::of_piece(&piece).packed_positions(column, number) {
                let own = match piece.own {
                    Some(own) => Some(own + within as u32),
                    None => rows.position(piece.shared.wrapping_add(within as u32)),
                };
                found.extend(own.filter(|own| all.contains(own)));
            }
        }
        found.sort_unstable();
        found
    }
    /// The number of records up to the first one that does not satisfy this; those that do must come first. Cost: a
    /// binary search, which decodes of each record what is asked of it.
    #[inline]
    pub fn partition_point(&self, is_before: impl FnMut(R) -> bool) -> usize {
        match self.shared {
            Some(shared) => search(shared, Rows::row, self.positions_of_part(), is_before),
            None => self.search_packed(is_before),
        }
    }
    /// As [`partition_point`](Self::partition_point), which may only look at what the table is sorted by: of a store's records,
    /// all else is not this kernel's, and half as much is searched for.
    #[inline]
    pub fn partition_point_of_key(&self, is_before: impl FnMut(R) -> bool) -> usize {
        match self.shared {
            Some(shared) => search(shared, Rows::key, self.positions_of_part(), is_before),
            None => self.search_packed(is_before),
        }
    }
    fn positions_of_part(&self) -> Range<usize> {
        self.first as usize..self.first as usize + self.len()
    }
    #[inline]
    fn search_packed(&self, mut is_before: impl FnMut(R) -> bool) -> usize {
        let (first, end) = (self.first as usize, self.first as usize + self.len());
        // The first records of blocks, of those that lie in this part.
        let (mut low, mut high) = (first.div_ceil(BLOCK), end.div_ceil(BLOCK));
        while low < high {
            let middle = low + (high - low) / 2;
            if is_before(row(Block::find(self.bytes, middle).as_ref(), 0)) {
                low = middle + 1
            } else {
                high = middle
            }
        }
        // It is after the first record of the block before, or in the part of a block that this part starts with.
        let before = low.saturating_sub(1);
        let block = Block::find(self.bytes, before);
        let start = before * BLOCK;
        let mut high = (low * BLOCK).clamp(first, end);
        let mut low = if start < first { first } else { high.min(start + 1) };
        while low < high {
            let middle = low + (high - low) / 2;
            if is_before(row(block.as_ref(), middle - start)) { low = middle + 1 } else { high = middle }
        }
        low - first
    }
    /// As [`slice::binary_search_by`].
    ///
    /// # Errors
    /// The position that it would have.
    pub fn binary_search_by(&self, mut compare: impl FnMut(R) -> std::cmp::Ordering) -> Result<usize, usize> {
        let at = self.partition_point(|record| compare(record).is_lt());
        match self.get(at) {
            Some(record) if compare(record).is_eq() => Ok(at),
            _ => Err(at),
        }
    }
}

impl<'a, R: Record> IntoIterator for Table<'a, R> {
    type Item = R;
    type IntoIter = Iter<'a, R>;

    fn into_iter(self) -> Iter<'a, R> {
        self.iter()
    }
}

/// The records of a table in order.
pub struct Iter<'a, R> {
    table: Table<'a, R>,
    /// The block of the last record, and its number.
    number: usize,
    block: Option<Block<'a, R>>,
    hints: Hints,
    at: usize,
    end: usize,
}

impl<R> Clone for Iter<'_, R> {
    fn clone(&self) -> Self {
        Self { at: self.at, ..*self }
    }
}

impl<R: Record> Iterator for Iter<'_, R> {
    type Item = R;

    #[inline(always)]
    fn next(&mut self) -> Option<R> {
        if self.at >= self.end {
            return None;
        }
        let at = self.table.first as usize + self.at;
        self.at += 1;
        if self.number != at / BLOCK {
            (self.number, self.block) = (at / BLOCK, Block::find(self.table.bytes, at / BLOCK));
        }
        match &self.block {
            Some(block) => Some(block.row(at % BLOCK)),
            None => {
                let mut found = R::new_zeroed();
                fetch(self.table.shared, at, Some(&mut self.hints), &mut found).then_some(found)
            }
        }
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.end - self.at, Some(self.end - self.at))
    }
    #[inline]
    fn nth(&mut self, skipped: usize) -> Option<R> {
        self.at = self.at.saturating_add(skipped);
        self.next()
    }
}

impl<R: Record> ExactSizeIterator for Iter<'_, R> {}

impl<R: Record> DoubleEndedIterator for Iter<'_, R> {
    #[inline(always)]
    fn next_back(&mut self) -> Option<R> {
        if self.at >= self.end {
            return None;
        }
        self.end -= 1;
        self.table.get(self.end)
    }
}

/// As [`Table::partition_point`], of records that are not in a table's bytes.
#[cold]
#[inline(never)]
fn search<'a, R: Record>(
    rows: &'a dyn Rows<R>,
    row: fn(&'a dyn Rows<R>, u32, &mut Hints) -> Option<R>,
    part: Range<usize>,
    mut is_before: impl FnMut(R) -> bool,
) -> usize {
    let mut hints = Hints::default();
    let is_long = part.len() >= BLOCK;
    let search = is_long.then(|| rows.start_of_search(part.start as u32..part.end as u32)).flatten();
    let mut is_before = |at: usize| is_before(row(rows, at as u32, &mut hints).unwrap_or_else(R::new_zeroed));
    let Range { start: mut low, end: mut high } = match search.and_then(|search| search.near) {
        Some(near) => around(near as usize, part.clone(), &mut is_before),
        None => part.clone(),
    };
    while low < high {
        let middle = low + (high - low) / 2;
        if is_before(middle) { low = middle + 1 } else { high = middle }
    }
    if let Some(search) = search {
        let last = low.saturating_sub(1).max(part.start);
        rows.end_of_search(search, last as u32, &mut hints);
    }
    low - part.start
}

/// Narrows a search that starts near a position: it goes away from there in steps, each twice as long as the one before it.
fn around(near: usize, part: Range<usize>, mut is_before: impl FnMut(usize) -> bool) -> Range<usize> {
    let Range { start: mut low, end: mut high } = part;
    let mut step = 1;
    if is_before(near) {
        low = near + 1;
        while low < high {
            let next = (low + step - 1).min(high - 1);
            if !is_before(next) {
                return low..next;
            }
            (low, step) = (next + 1, step * 2);
        }
    } else {
        high = near;
        while low < high {
            let next = high.saturating_sub(step).max(low);
            if is_before(next) {
                return next + 1..high;
            }
            (high, step) = (next, step * 2);
        }
    }
    low..high
}

/// Fetches a record that is not in a table's bytes; of a damaged table there is none, and zeros stay. It is given its own
/// place: returned, the record of a packed table would be decoded whole wherever this one might be returned instead.
#[cold]
#[inline(never)]
fn fetch<R>(rows: Option<&dyn Rows<R>>, at: usize, hints: Option<&mut Hints>, found: &mut R) -> bool {
    let Some(rows) = rows else { return true };
    let record = rows.row(at as u32, hints.unwrap_or(&mut Hints::default()));
    record.map(|record| *found = record).is_some()
}

#[cfg(test)]
mod tests;
