//! Packs records into the bytes of a table.
use super::block::{along, number_of};
use super::{BLOCK, COLUMNS, PADDING, SLOPE};
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
    let mut slopes = [0u64; COLUMNS];
    let mut at = 0;
    for (column, &bytes) in R::COLUMNS.iter().enumerate() {
        let values = &mut values[column][..records.len()];
        for (value, record) in values.iter_mut().zip(records) {
            *value = number_of(&record.as_bytes()[at..at + bytes]);
        }
        at += bytes;
        let most = u64::MAX >> (64 - 8 * bytes);
        let ascends = R::ASCENDING >> column & 1 != 0;
        let base;
        (slopes[column], base, widths[column]) =
            if ascends { line(values, most) } else { level(values, most) };
        for (row, value) in values.iter_mut().enumerate() {
            *value = value.wrapping_sub(along(slopes[column], row)).wrapping_sub(base) & most;
        }
        out.extend(&base.to_le_bytes()[..bytes]);
    }
    let widths = &widths[..R::COLUMNS.len()];
    out.extend(widths.iter().map(|width| *width as u8));
    for (column, slope) in slopes.iter().enumerate() {
        if R::ASCENDING >> column & 1 != 0 {
            out.extend(&slope.to_le_bytes()[..SLOPE]);
        }
    }
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

/// The slope of a column, its base, and the width of its numbers: along a line from the first value to the last, or level
/// if that takes no more bits.
fn line(values: &[u64], most: u64) -> (u64, u64, u32) {
    let flat = level(values, most);
    let (Some(first), Some(last)) = (values.first(), values.last()) else { return flat };
    let rise = last.wrapping_sub(*first) & most;
    let slope = (rise << 8) / (values.len() as u64 - 1).max(1);
    if slope == 0 || slope >> (8 * SLOPE) != 0 {
        return flat;
    }
    let mut strays = [0; BLOCK];
    for (row, (stray, value)) in strays.iter_mut().zip(values).enumerate() {
        *stray = value.wrapping_sub(along(slope, row)) & most;
    }
    let (_, base, width) = level(&strays[..values.len()], most);
    if width < flat.2 { (slope, base, width) } else { flat }
}

/// No slope, the base from which the numbers reach least far, and the width of how far they reach. The base is the lowest
/// of them, or the highest possible number, after which they start again from 0.
fn level(values: &[u64], most: u64) -> (u64, u64, u32) {
    let (mut low, mut high, mut after) = (u64::MAX, 0, 0);
    for &value in values {
        low = low.min(value);
        high = high.max(value);
        after = after.max(value.wrapping_add(1) & most);
    }
    let base = if after < high.wrapping_sub(low) { most } else { low };
    let farthest = if base == most { after } else { high.wrapping_sub(low) };
    (0, base, 64 - farthest.leading_zeros())
}
