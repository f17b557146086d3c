//! Packs records into the bytes of a table.
use super::{BLOCK, COLUMNS, PADDING, number_of};
use crate::record::Record;

/// A packed table.
#[derive(Clone, Debug, Default)]
pub struct Packed {
    /// The number of records.
    pub records: u32,
    /// The section.
    pub bytes: Vec<u8>,
}

/// Packs records into a table. Cost: some nanoseconds for each column of a record.
pub fn pack<R: Record>(records: &[R]) -> Packed {
    let blocks = records.len().div_ceil(BLOCK);
    let mut out = Vec::with_capacity(4 * blocks + size_of_val(records) / 2 + PADDING);
    out.resize(4 * blocks, 0);
    for (number, block) in records.chunks(BLOCK).enumerate() {
        let start = out.len() as u32;
        out[4 * number..][..4].copy_from_slice(&start.to_le_bytes());
        put(&mut out, block);
    }
    out.extend([0; PADDING]);
    Packed { records: records.len() as u32, bytes: out }
}

/// Appends a block.
fn put<R: Record>(out: &mut Vec<u8>, records: &[R]) {
    let mut values = [[0u64; BLOCK]; COLUMNS];
    let mut widths = [0u32; COLUMNS];
    let mut at = 0;
    for (column, &bytes) in R::COLUMNS.iter().enumerate() {
        let values = &mut values[column][..records.len()];
        for (value, record) in values.iter_mut().zip(records) {
            *value = number_of(&record.as_bytes()[at..at + bytes]);
        }
        at += bytes;
        let most = u64::MAX >> (64 - 8 * bytes);
        let base = base(values, most);
        for value in values.iter_mut() {
            *value = value.wrapping_sub(base) & most;
        }
        widths[column] = 64 - values.iter().fold(0, |all, value| all | value).leading_zeros();
        out.extend(&base.to_le_bytes()[..bytes]);
    }
    let widths = &widths[..R::COLUMNS.len()];
    out.extend(widths.iter().map(|width| *width as u8));
    let (mut pending, mut bits) = (0u64, 0);
    for row in 0..records.len() {
        for (values, width) in values.iter().zip(widths) {
            // Up to 7 bits are pending, and a column has up to 48.
            pending |= values[row] << bits;
            bits += width;
            while bits >= 8 {
                out.push(pending as u8);
                pending >>= 8;
                bits -= 8;
            }
        }
    }
    if bits > 0 {
        out.push(pending as u8);
    }
}

/// The base from which the numbers reach least far: the lowest of them, or the highest possible number, after which
/// they start again from 0.
fn base(values: &[u64], most: u64) -> u64 {
    let (mut low, mut high, mut after) = (u64::MAX, 0, 0);
    for &value in values {
        low = low.min(value);
        high = high.max(value);
        after = after.max(value.wrapping_add(1) & most);
    }
    if after < high.wrapping_sub(low) { most } else { low }
}
