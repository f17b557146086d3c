//! Decodes the rows of a block.
use super::{BLOCK, SLOPE};
use crate::record::Record;
use std::marker::PhantomData;

/// A block.
pub(super) struct Block<'a, R> {
    bases: &'a [u8],
    widths: &'a [u8],
    slopes: &'a [u8],
    /// The bits of a row.
    stride: usize,
    rows: &'a [u8],
    record: PhantomData<R>,
}

impl<R> Clone for Block<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R> Copy for Block<'_, R> {}

impl<'a, R: Record> Block<'a, R> {
    /// The bytes of all slopes of a block.
    const SLOPES: usize = SLOPE * R::ASCENDING.count_ones() as usize;

    /// The block of this number; `None` if it does not lie in the table.
    #[inline(always)]
    pub fn find(table: &'a [u8], number: usize) -> Option<Self> {
        let start = table.get(4 * number..4 * number + 4)?;
        let start = u32::from_le_bytes([start[0], start[1], start[2], start[3]]) as usize;
        let (bases, rest) = table.get(start..)?.split_at_checked(size_of::<R>())?;
        let (widths, rest) = rest.split_at_checked(R::COLUMNS.len())?;
        let (slopes, rows) = rest.split_at_checked(Self::SLOPES)?;
        let stride = widths.iter().map(|width| usize::from(*width)).sum();
        Some(Self { bases, widths, slopes, stride, rows, record: PhantomData })
    }
    /// Inlined always: what a caller does not use of a record is not decoded.
    #[inline(always)]
    pub fn row(&self, row: usize) -> R {
        let Self { bases, widths, slopes, .. } = self;
        assert!(
            bases.len() == size_of::<R>() && widths.len() == R::COLUMNS.len() && slopes.len() == Self::SLOPES
        );
        let mut record = R::new_zeroed();
        let out = record.as_mut_bytes();
        let (mut bit, mut at, mut sloped) = (row * self.stride, 0, 0);
        for (column, &bytes) in R::COLUMNS.iter().enumerate() {
            let mut value = number_of(&bases[at..at + bytes]);
            if R::ASCENDING >> column & 1 != 0 {
                value = value.wrapping_add(along(number_of(&slopes[sloped..sloped + SLOPE]), row));
                sloped += SLOPE;
            }
            value = value.wrapping_add(bits(self.rows, bit, widths[column]));
            out[at..at + bytes].copy_from_slice(&value.to_le_bytes()[..bytes]);
            bit += usize::from(widths[column]);
            at += bytes;
        }
        record
    }
    /// A column.
    pub fn column(&self, column: usize) -> Column<'a> {
        let (at, bytes) = (R::COLUMNS[..column].iter().sum::<usize>(), R::COLUMNS[column]);
        let before = R::ASCENDING & ((1 << column) - 1);
        let slope = match R::ASCENDING >> column & 1 {
            0 => 0,
            _ => number_of(&self.slopes[SLOPE * before.count_ones() as usize..][..SLOPE]),
        };
        Column {
            rows: self.rows,
            base: number_of(&self.bases[at..at + bytes]),
            most: u64::MAX >> (64 - 8 * bytes),
            slope,
            first: self.widths[..column].iter().map(|width| usize::from(*width)).sum(),
            stride: self.stride,
            width: self.widths[column],
        }
    }
}

/// A column of a block.
#[derive(Clone, Copy)]
pub(super) struct Column<'a> {
    rows: &'a [u8],
    base: u64,
    /// The highest number of its bytes.
    most: u64,
    slope: u64,
    /// Its bit in the first row.
    first: usize,
    /// The bits of a row.
    stride: usize,
    width: u8,
}

impl Column<'_> {
    /// How far a row is beyond the column's base.
    #[inline]
    pub fn number(&self, row: usize) -> u64 {
        let number = bits(self.rows, row * self.stride + self.first, self.width);
        number.wrapping_add(along(self.slope, row)) & self.most
    }
    /// How far a number is beyond the column's base; `None` if no row of this width and slope reaches it.
    pub fn beyond(&self, number: u64) -> Option<u64> {
        let beyond = number.wrapping_sub(self.base) & self.most;
        let farthest = along(self.slope, BLOCK - 1) + ((1 << (self.width & 63)) - 1);
        (beyond <= farthest).then_some(beyond)
    }
}

/// How far a column of this slope has risen at a row of its block.
#[inline(always)]
pub(super) fn along(slope: u64, row: usize) -> u64 {
    (slope * row as u64) >> 8
}

/// The number of this width at this bit; 0 past the end.
#[inline(always)]
fn bits(rows: &[u8], bit: usize, width: u8) -> u64 {
    let word = match rows.get(bit / 8..bit / 8 + 8) {
        Some(bytes) => number_of(bytes),
        None => 0,
    };
    // Wider ones are damaged.
    word >> (bit % 8) & ((1 << (width & 63)) - 1)
}

/// A record of a block, or zeros if the table has no such block.
#[inline(always)]
pub(super) fn row<R: Record>(block: Option<&Block<'_, R>>, row: usize) -> R {
    match block {
        Some(block) => block.row(row),
        None => R::new_zeroed(),
    }
}

/// A little-endian number of up to eight bytes.
#[inline(always)]
pub(super) fn number_of(bytes: &[u8]) -> u64 {
    let mut number = [0; 8];
    number[..bytes.len()].copy_from_slice(bytes);
    u64::from_le_bytes(number)
}
