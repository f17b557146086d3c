//! Bytes that differ from other bytes in one place: what a changed placement keeps of its details.
//!
//! Details, variables and line rows are bits ([`crate::bits`]), whose codes depend on little of what precedes them. Where one
//! location changes, the bits before it and those behind it stay the same, at other positions. A patch is, as numbers
//! ([`varint`]): the number of the bytes that it starts from; how many bits it takes from their start; how many it passes
//! over; how many it takes behind that; how many bits it has of its own, which stand in between; how many zeros end it. Its
//! own bits follow.
//!
//! Half of what changes with an update is a patch, of a third of its size.
use crate::bits::{BitWriter, Bits};
use crate::varint::{self, Reader};

/// The longest bytes that are put together, in bits.
const LONGEST: u64 = 1 << 20;
/// How many patches may lead from one to the next.
pub const DEEPEST: u32 = 16;

/// The patch that makes `new` of `old`, whose number is `base`; `None` if it takes no less than `new`.
/// Cost: linear in both.
pub fn make(base: u32, old: &[u8], new: &[u8]) -> Option<Vec<u8>> {
    let all = new.len() as u64 * 8;
    if all > LONGEST {
        return None;
    }
    let (had, has) = (used_bits(old), used_bits(new));
    let start = equal_start(old, new).min(had).min(has);
    let end = equal_end(&to_the_right(old, had), &to_the_right(new, has)).min(had.min(has) - start);
    let own = has - start - end;
    let mut out = vec![];
    for number in [u64::from(base), start, had - start - end, end, own, all - has] {
        varint::put(&mut out, number);
    }
    if out.len() as u64 + own.div_ceil(8) >= new.len() as u64 {
        return None;
    }
    let mut bits = BitWriter::new(out);
    // The numbers fill whole bytes.
    bits.copy(Bits::new(new).to(start as usize), own as usize);
    Some(bits.finish())
}

/// The start of a patch.
#[derive(Clone, Copy, Debug)]
pub struct Patch<'a> {
    /// The number of the bytes that it starts from.
    pub base: u32,
    start: u64,
    passed: u64,
    end: u64,
    own: u64,
    zeros: u64,
    bits: &'a [u8],
}

impl<'a> Patch<'a> {
    /// Reads a patch; `None` if it is damaged.
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        let mut reader = Reader::new(bytes);
        let base = u32::try_from(reader.number()).ok()?;
        let mut next = || Some(reader.number()).filter(|bits| *bits <= LONGEST);
        let (start, passed, end, own, zeros) = (next()?, next()?, next()?, next()?, next()?);
        let is_whole = !reader.ended() && own <= reader.rest().len() as u64 * 8;
        let fits = start + end + own + zeros <= LONGEST;
        (is_whole && fits).then(|| Self { base, start, passed, end, own, zeros, bits: reader.rest() })
    }
    /// Whether so many bits at the start of what it makes are those of what it starts from.
    pub fn starts_as_its_base(&self, bits: u64) -> bool {
        self.start >= bits
    }
    /// What it makes of these bytes. Cost: linear in the result.
    pub fn apply(&self, old: &[u8]) -> Vec<u8> {
        let old = Bits::new(old);
        let mut out = BitWriter::default();
        out.copy(old, self.start as usize);
        out.copy(Bits::new(self.bits), self.own as usize);
        out.copy(old.to((self.start + self.passed) as usize), self.end as usize);
        out.zeros(self.zeros as usize);
        out.finish()
    }
}

/// How many bits there are up to the last one that is set.
fn used_bits(bytes: &[u8]) -> u64 {
    let last = bytes.iter().rposition(|byte| *byte != 0);
    last.map_or(0, |last| last as u64 * 8 + 8 - u64::from(bytes[last].trailing_zeros()))
}

/// How many bits are the same from the start.
fn equal_start(one: &[u8], other: &[u8]) -> u64 {
    let differs = one.iter().zip(other).position(|(a, b)| a != b);
    differs.map_or(one.len().min(other.len()) as u64 * 8, |at| {
        at as u64 * 8 + u64::from((one[at] ^ other[at]).leading_zeros())
    })
}

/// How many bits are the same from the end.
fn equal_end(one: &[u8], other: &[u8]) -> u64 {
    let differs = one.iter().rev().zip(other.iter().rev()).position(|(a, b)| a != b);
    differs.map_or(one.len().min(other.len()) as u64 * 8, |at| {
        let (a, b) = (one[one.len() - 1 - at], other[other.len() - 1 - at]);
        at as u64 * 8 + u64::from((a ^ b).trailing_zeros())
    })
}

/// The first bits, so that the last of them is the last bit of a byte.
fn to_the_right(bytes: &[u8], bits: u64) -> Vec<u8> {
    let whole = &bytes[..bits.div_ceil(8) as usize];
    let shift = (whole.len() as u64 * 8 - bits) as u32;
    let mut before = 0;
    let moved = whole.iter().map(|byte| {
        let both = u16::from_be_bytes([before, *byte]);
        before = *byte;
        (both >> shift) as u8
    });
    moved.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_patch_is_what_differs() {
        let old: Vec<u8> = (1..=64).collect();
        // A bit more in the middle, and so all that follows is elsewhere.
        let mut bits = BitWriter::default();
        bits.copy(Bits::new(&old), 200);
        bits.copy(Bits::new(&[0x80]), 1);
        bits.copy(Bits::new(&old).to(200), 312);
        let new = bits.finish();
        let patch = make(7, &old, &new).unwrap();
        assert!(patch.len() < 10, "{patch:?}");
        let patch = Patch::read(&patch).unwrap();
        assert_eq!((patch.base, patch.apply(&old)), (7, new));
    }

    proptest! {
        #[test]
        fn a_patch_makes_what_it_was_made_of(
            start in prop::collection::vec(any::<u8>(), 0..40),
            two in prop::array::uniform2(prop::collection::vec(any::<u8>(), 0..8)),
            end in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let [old, new] = two.map(|middle| [&start[..], &middle, &end].concat());
            if let Some(patch) = make(1, &old, &new) {
                prop_assert!(patch.len() < new.len());
                prop_assert_eq!(Patch::read(&patch).unwrap().apply(&old), new);
            }
        }

        #[test]
        fn damaged_patches_end(patch in prop::collection::vec(any::<u8>(), 0..40), old in prop::collection::vec(any::<u8>(), 0..40)) {
            if let Some(patch) = Patch::read(&patch) {
                prop_assert!(patch.apply(&old).len() as u64 <= LONGEST / 8);
            }
        }
    }
}
