//! Parquet's encoding RLE: runs of a value, and between them groups of eight values, packed.
//! (<https://parquet.apache.org/docs/file-format/data-pages/encodings/>)

/// The values of a group.
const GROUP: usize = 8;
/// A packed run has one byte for its length, as the `parquet` crate writes it.
const MOST_GROUPS: usize = 63;

/// Appends values of so many bits each.
pub fn encode(values: &[u32], width: u32, out: &mut Vec<u8>) {
    let mut packed = 0;
    let mut at = 0;
    while at < values.len() {
        let rest = &values[at..];
        let run = rest.iter().take_while(|value| **value == rest[0]).count();
        // What is left at the end is a run if nothing before it is packed.
        if run >= GROUP || (run == rest.len() && packed == at) {
            pack(&values[packed..at], width, out);
            length(out, (run as u64) << 1);
            out.extend_from_slice(&rest[0].to_le_bytes()[..width.div_ceil(8) as usize]);
            at += run;
            packed = at;
            continue;
        }
        at += rest.len().min(GROUP);
        if at - packed == MOST_GROUPS * GROUP {
            pack(&values[packed..at], width, out);
            packed = at;
        }
    }
    pack(&values[packed..], width, out);
}

/// Packs groups of values; zeros fill the last one.
fn pack(values: &[u32], width: u32, out: &mut Vec<u8>) {
    if values.is_empty() {
        return;
    }
    let groups = values.len().div_ceil(GROUP);
    length(out, (groups as u64) << 1 | 1);
    let end = out.len() + groups * width as usize;
    bits(values.iter().map(|value| u64::from(*value)), width, out);
    out.resize(end, 0);
}

/// Appends values of at most 33 bits each, the first in the lowest bits.
pub fn bits(values: impl Iterator<Item = u64>, width: u32, out: &mut Vec<u8>) {
    let (mut bits, mut count) = (0, 0);
    for value in values {
        bits |= value << count;
        count += width;
        while count >= 32 {
            out.extend_from_slice(&(bits as u32).to_le_bytes());
            bits >>= 32;
            count -= 32;
        }
    }
    out.extend_from_slice(&bits.to_le_bytes()[..count.div_ceil(8) as usize]);
}

/// Seven bits a byte, the lowest first.
pub fn length(out: &mut Vec<u8>, mut length: u64) {
    while length >= 0x80 {
        out.push(length as u8 | 0x80);
        length >>= 7;
    }
    out.push(length as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn encoded(values: &[u32], width: u32) -> Vec<u8> {
        let mut out = vec![];
        encode(values, width, &mut out);
        out
    }

    /// What the format says of the bytes, read without care for speed.
    fn decoded(mut bytes: &[u8], width: u32, count: usize) -> Vec<u32> {
        let mut values = vec![];
        while values.len() < count {
            let (mut header, mut shift) = (0u64, 0);
            loop {
                let byte = bytes[0];
                bytes = &bytes[1..];
                header |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte & 0x80 == 0 {
                    break;
                }
            }
            let length = (header >> 1) as usize;
            if header & 1 == 0 {
                let (value, rest) = bytes.split_at(width.div_ceil(8) as usize);
                let mut whole = [0; 4];
                whole[..value.len()].copy_from_slice(value);
                values.extend(std::iter::repeat_n(u32::from_le_bytes(whole), length));
                bytes = rest;
            } else {
                let (packed, rest) = bytes.split_at(length * width as usize);
                let bit = |at: usize| u32::from(packed[at / 8] >> (at % 8) & 1);
                let value =
                    |n: usize| (0..width as usize).map(|b| bit(n * width as usize + b) << b).sum::<u32>();
                values.extend((0..length * 8).map(value));
                bytes = rest;
            }
        }
        assert!(bytes.is_empty());
        values.truncate(count);
        values
    }

    #[test]
    fn what_was_encoded_is_decoded() {
        assert!(encoded(&[], 3).is_empty());
        // A run is one, however long; the rest of a page may be a short one.
        assert_eq!(encoded(&[5; 300], 3), [0xd8, 0x04, 5]);
        assert_eq!(encoded(&[1, 1], 1), [4, 1]);
        assert_eq!(encoded(&[1, 0, 1], 1), [3, 0b101]);
        let mut state = 1u32;
        for (width, most_equal) in [(0, 9), (1, 30), (1, 2), (3, 12), (8, 3), (13, 1), (17, 40), (31, 2)] {
            let mut values = vec![];
            while values.len() < 5000 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let value = (state >> 1) & ((1u64 << width) - 1) as u32;
                values.extend(std::iter::repeat_n(value, 1 + (state >> 7) as usize % most_equal));
            }
            for count in [1, 7, 8, 9, 503, 504, 505, values.len()] {
                let values = &values[..count];
                assert_eq!(decoded(&encoded(values, width), width, count), values, "{width} {count}");
            }
        }
    }
}
