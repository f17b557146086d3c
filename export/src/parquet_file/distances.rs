//! Parquet's encoding DELTA_BINARY_PACKED: the distance of each number from the one before, as few bits as the block needs.
//! (<https://parquet.apache.org/docs/file-format/data-pages/encodings/>)
use super::run_length::{bits, length};

/// The distances of a block, and of a part of it that has a width of its own.
const BLOCK: usize = 128;
const PART: usize = 32;

/// Appends numbers.
pub fn encode(numbers: &[u32], out: &mut Vec<u8>) {
    length(out, BLOCK as u64);
    length(out, (BLOCK / PART) as u64);
    length(out, numbers.len() as u64);
    let Some(first) = numbers.first() else { return length(out, 0) };
    length(out, zigzag(i64::from(*first)));
    let distances: Vec<i64> =
        numbers.windows(2).map(|pair| i64::from(pair[1]) - i64::from(pair[0])).collect();
    for block in distances.chunks(BLOCK) {
        let least = block.iter().copied().min().unwrap_or(0);
        length(out, zigzag(least));
        let width = |part: &[i64]| {
            let most = part.iter().map(|distance| distance - least).max().unwrap_or(0);
            u64::BITS - (most as u64).leading_zeros()
        };
        let widths = out.len();
        out.resize(widths + BLOCK / PART, 0);
        for (at, part) in block.chunks(PART).enumerate() {
            let width = width(part);
            out[widths + at] = width as u8;
            // Each part is whole.
            let above = part.iter().map(|distance| (distance - least) as u64);
            bits(above.chain(std::iter::repeat_n(0, PART - part.len())), width, out);
        }
    }
}

fn zigzag(number: i64) -> u64 {
    ((number << 1) ^ (number >> 63)) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the format says of the bytes, read without care for speed.
    fn decoded(mut bytes: &[u8]) -> (Vec<u32>, &[u8]) {
        fn unsigned(bytes: &mut &[u8]) -> u64 {
            let (mut value, mut shift) = (0, 0);
            loop {
                let byte = bytes[0];
                *bytes = &bytes[1..];
                value |= u64::from(byte & 0x7f) << shift;
                shift += 7;
                if byte & 0x80 == 0 {
                    return value;
                }
            }
        }
        let signed = |bytes: &mut &[u8]| {
            let value = unsigned(bytes);
            (value >> 1) as i64 ^ -((value & 1) as i64)
        };
        let (block, parts) = (unsigned(&mut bytes) as usize, unsigned(&mut bytes) as usize);
        let count = unsigned(&mut bytes) as usize;
        let mut values = vec![signed(&mut bytes)];
        while values.len() < count {
            let least = signed(&mut bytes);
            let (widths, rest) = bytes.split_at(parts);
            bytes = rest;
            for width in widths {
                if values.len() >= count {
                    continue;
                }
                let width = usize::from(*width);
                let (packed, rest) = bytes.split_at(block / parts * width / 8);
                bytes = rest;
                let bit = |at: usize| i64::from(packed[at / 8] >> (at % 8) & 1);
                for n in 0..block / parts {
                    let above = (0..width).map(|b| bit(n * width + b) << b).sum::<i64>();
                    values.push(values[values.len() - 1] + least + above);
                }
            }
        }
        values.truncate(count);
        (values.iter().map(|value| u32::try_from(*value).unwrap()).collect(), bytes)
    }

    #[test]
    fn what_was_encoded_is_decoded() {
        let mut state = 1u32;
        for most in [0, 1, 5, 200, 70_000, u32::MAX] {
            let numbers: Vec<u32> = (0..300)
                .map(|_| {
                    state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    ((u64::from(state) * u64::from(most)) >> 32) as u32
                })
                .collect();
            for count in [1, 2, 32, 33, 34, 129, 130, 300] {
                let mut bytes = vec![];
                encode(&numbers[..count], &mut bytes);
                bytes.push(7);
                assert_eq!(decoded(&bytes), (numbers[..count].to_vec(), &[7][..]), "{most} {count}");
            }
        }
        let mut of_none = vec![];
        encode(&[], &mut of_none);
        assert_eq!(of_none, [128, 1, 4, 0, 0]);
    }
}
