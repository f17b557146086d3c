//! Where instructions start: about three bits each, or a 30th of a byte where all are equally long.
//!
//! The code of a section is divided into blocks of 1024 bytes. First comes a `U32` for each, where it starts from here;
//! then the blocks, as bits ([`bits`](crate::bits)). A block is read from the byte before it, by symbols of 17; the
//! context is by the previous one of 1 to 15 (see `INSTRUCTION`):
//!
//! | symbol | meaning |
//! | --- | --- |
//! | 0 | none of the next 15 bytes starts an instruction |
//! | 1–15 | so many bytes on, an instruction starts |
//! | 16 | the symbol before, 16 times |
//!
//! Those of x86-64 take a tenth of the code's own bytes, those of arm64 a hundredth.
use crate::bits::{BitWriter, Bits};
use crate::codes::{self, Context};

/// The bytes of code in a block.
const BLOCK: usize = 1024;
/// None of the next [`FAR`] bytes.
const GAP: u32 = 0;
/// The previous symbol, as often as [`TIMES`].
const REPEATED: u32 = 16;
const FAR: usize = 15;
const TIMES: usize = 16;

/// The context after a symbol.
fn after(symbol: u32) -> Context {
    codes::INSTRUCTION.at(match symbol {
        GAP => 6,
        REPEATED => 7,
        length => length.min(6) - 1,
    })
}

/// Encodes a bit for each byte of a section's code, the lowest of a byte first: whether an instruction starts there.
pub fn encode(bits: &[u8]) -> Vec<u8> {
    let blocks = bits.chunks(BLOCK / 8);
    let mut offsets = Vec::with_capacity(blocks.len());
    let mut out = BitWriter::new(vec![0; 4 * blocks.len()]);
    let mut starts = Vec::with_capacity(BLOCK);
    for block in blocks {
        out.align();
        offsets.push(out.bytes().len() as u32);
        starts.clear();
        for (at, byte) in (0..).step_by(8).zip(block) {
            let mut left = *byte;
            while left != 0 {
                starts.push(at + left.trailing_zeros() as usize);
                left &= left - 1;
            }
        }
        put(&mut out, &starts, block.len() * 8);
    }
    let mut out = out.finish();
    for (to, offset) in out.chunks_exact_mut(4).zip(offsets) {
        to.copy_from_slice(&offset.to_le_bytes());
    }
    out
}

/// Writes the starts in a block of this length. Positions are counted from the byte before it.
fn put(out: &mut BitWriter, starts: &[usize], length: usize) {
    let (mut at, mut next) = (0, 0);
    let mut symbol = GAP;
    let mut length_before = 0;
    while at < length {
        let context = after(symbol);
        let is_regular = |(k, start): (usize, &usize)| *start + 1 == at + (k + 1) * length_before;
        let repeated = starts.get(next..next + TIMES).filter(|_| length_before > 0);
        symbol = if repeated.is_some_and(|starts| starts.iter().enumerate().all(is_regular)) {
            at += TIMES * length_before;
            next += TIMES;
            REPEATED
        } else {
            match starts.get(next).map(|start| start + 1 - at) {
                Some(distance @ 1..=FAR) => {
                    (at, next, length_before) = (at + distance, next + 1, distance);
                    distance as u32
                }
                _ => {
                    (at, length_before) = (at + FAR, 0);
                    GAP
                }
            }
        };
        out.symbol(context, symbol);
    }
}

/// Whether an instruction starts at an offset in a section, whose bytes these are, and perhaps others behind. `None`
/// if they are too few. Cost: the instructions before it in its block, one or two nanoseconds each.
pub fn is_start(bytes: &[u8], offset: u32) -> Option<bool> {
    let (number, wanted) = (offset as usize / BLOCK, offset as usize % BLOCK + 1);
    let start = u32::from_le_bytes(*bytes.get(4 * number..)?.first_chunk()?);
    let mut bits = Bits::new(bytes.get(start as usize..)?);
    let (mut at, mut length) = (0, 0);
    let mut symbol = GAP;
    while at < wanted && !bits.ended() {
        symbol = bits.symbol(after(symbol));
        match symbol {
            GAP => (at, length) = (at + FAR, 0),
            REPEATED => {
                let end = at + TIMES * length;
                if wanted <= end {
                    return Some(length > 0 && (wanted - at).is_multiple_of(length));
                }
                at = end;
            }
            distance => {
                length = distance as usize;
                at += length;
            }
        }
    }
    Some(at == wanted && symbol != GAP)
}

/// The starts in a block of code, for who asks about many addresses of it.
#[derive(Clone, Copy, Debug)]
pub struct Starts {
    /// The offset of the block.
    first: u32,
    /// Bytes of code.
    length: u32,
    bits: [u8; BLOCK / 8],
}

impl Starts {
    /// Those of the block that has an offset in code of this length: see [`is_start`]. Cost: the instructions of the block.
    pub(crate) fn read(bytes: &[u8], offset: u32, length: u32) -> Option<Self> {
        let number = offset as usize / BLOCK;
        let first = (number * BLOCK) as u32;
        let length = length.saturating_sub(first).min(BLOCK as u32);
        Some(Self { first, length, bits: block(bytes, number, length as usize)? })
    }
    /// The block of code at another address.
    pub(crate) fn moved(self, by: u32) -> Self {
        Self { first: self.first.wrapping_add(by), ..self }
    }
    /// Whether an instruction starts at an address; `None` for one of another block.
    pub fn at(&self, address: u32) -> Option<bool> {
        let into = address.checked_sub(self.first).filter(|into| *into < self.length)?;
        Some(self.bits[into as usize / 8] >> (into % 8) & 1 != 0)
    }
}

/// A bit for each byte of a block, of which at least so many bytes are read; `None` if its bytes are missing.
fn block(bytes: &[u8], number: usize, end: usize) -> Option<[u8; BLOCK / 8]> {
    let start = u32::from_le_bytes(*bytes.get(4 * number..)?.first_chunk()?);
    let mut bits = Bits::new(bytes.get(start as usize..)?);
    let mut out = [0; BLOCK / 8];
    let (mut at, mut length, mut symbol) = (0, 0, GAP);
    let mut set = |at: usize| {
        if (1..=BLOCK).contains(&at) {
            out[(at - 1) / 8] |= 1 << ((at - 1) % 8);
        }
    };
    while at < end && !bits.ended() {
        symbol = bits.symbol(after(symbol));
        match symbol {
            GAP => (at, length) = (at + FAR, 0),
            REPEATED => {
                (1..=TIMES).filter(|_| length > 0).for_each(|times| set(at + times * length));
                at += TIMES * length;
            }
            distance => {
                length = distance as usize;
                at += length;
                set(at);
            }
        }
    }
    Some(out)
}

/// A bit for each byte of a section of this size, the lowest of a byte first: what [`encode`] was given.
pub fn decode(bytes: &[u8], size: u32) -> Vec<u8> {
    let size = size as usize;
    let mut out = vec![0; size.div_ceil(8)];
    for (number, own) in out.chunks_mut(BLOCK / 8).enumerate() {
        let Some(bits) = block(bytes, number, BLOCK) else { break };
        own.copy_from_slice(&bits[..own.len()]);
    }
    // Behind the end there is no code.
    if let Some(last) = out.last_mut()
        && !size.is_multiple_of(8)
    {
        *last &= (1 << (size % 8)) - 1;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn bit(bits: &[u8], at: u32) -> bool {
        bits[at as usize / 8] >> (at % 8) & 1 != 0
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn starts_are_read_as_they_were_written(runs in prop::collection::vec((1usize..40, 1usize..90), 0..60)) {
            let mut bits = vec![];
            let mut at = 0;
            for (length, times) in runs {
                for _ in 0..times {
                    bits.resize(at / 8 + 1, 0u8);
                    bits[at / 8] |= 1 << (at % 8);
                    at += length;
                }
            }
            let mut encoded = encode(&bits);
            encoded.extend([0xff; 9]);
            prop_assert_eq!(&decode(&encoded, 8 * bits.len() as u32), &bits);
            for at in 0..bits.len() as u32 * 8 {
                prop_assert_eq!(is_start(&encoded, at), Some(bit(&bits, at)), "{}", at);
                for length in [at + 1, bits.len() as u32 * 8] {
                    let block = Starts::read(&encoded, at, length).and_then(|block| block.at(at));
                    prop_assert_eq!(block, Some(bit(&bits, at)), "{}", at);
                }
            }
        }

        #[test]
        fn damaged_starts_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200), offset in 0u32..9000) {
            let block = Starts::read(&bytes, offset, u32::MAX).and_then(|block| block.at(offset));
            prop_assert_eq!(block, is_start(&bytes, offset));
        }
    }

    #[test]
    fn equally_long_instructions_take_next_to_nothing() {
        let four = vec![0x11; 4096 / 8];
        assert!(encode(&four).len() < 4 * 16, "{}", encode(&four).len());
    }
}
