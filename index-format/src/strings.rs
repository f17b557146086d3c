//! Names, paths and other texts, sorted.
//!
//! ```text
//! 0     u32       the number of strings
//! 4     u32[n]    where each block of 16 strings ends, from the first block on
//! …     u128[n]   which trigrams may be in each block: a bit for each that is, see trigrams
//! …     blocks
//! ```
//!
//! A block has one string after the other. Each but the first starts with a byte: how many bytes it shares with the one before
//! it, 255 at most. Then follow codes, a byte each: the number of a [symbol](symbols), or 255 and a byte as it is. The symbol
//! that ends with NUL ends the string.
//!
//! A block is decoded when one of its strings is first asked for, and kept as long as the index is open.
use crate::error::{Error, Result};
use crate::kept::Kept;
use block::{Block, Buffer};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use zerocopy::FromBytes;
use zerocopy::byteorder::little_endian::{U32, U128};

mod block;
pub mod symbols;
#[cfg(feature = "train")]
pub mod train;
mod write;

#[cfg(test)]
mod tests;

pub use write::{Blocks, section};

/// Number of strings in a block.
pub const BLOCK: usize = 16;

/// The blocks that were decoded, for as long as the strings of a section are in use.
#[derive(Default)]
pub struct Decoded {
    /// An index has some ten thousand, of which a question needs some ten.
    blocks: Kept<Block, 64>,
    /// Memory for whoever decodes.
    buffer: Mutex<Buffer>,
    /// How many bytes the blocks have.
    bytes: AtomicUsize,
}

/// The most bytes of strings that are decoded. What a kernel has is a tenth of it; only a damaged index has more.
const MOST: usize = 256 << 20;
/// The longest block as it is stored: names have up to 65,536 bytes.
const LONGEST: usize = 1 << 23;

impl Decoded {
    /// Nothing yet.
    pub const fn new() -> Self {
        Self { blocks: Kept::new(), buffer: Mutex::new(Buffer::new()), bytes: AtomicUsize::new(0) }
    }
}

/// The strings of a section. Copying it copies some pointers.
#[derive(Clone, Copy)]
pub struct Strings<'a> {
    coded: Coded<'a>,
    decoded: &'a Decoded,
}

/// The strings of a section as they are stored.
#[derive(Clone, Copy, Default)]
pub struct Coded<'a> {
    count: u32,
    /// Where blocks end.
    ends: &'a [U32],
    trigrams: &'a [U128],
    blocks: &'a [u8],
}

impl<'a> Coded<'a> {
    /// Finds the blocks of a section; an empty section has no strings.
    ///
    /// # Errors
    /// [`Error::Section`], if the list of blocks does not lie within it.
    pub fn open(section: &'a [u8]) -> Result<Self> {
        if section.is_empty() {
            return Ok(Self::default());
        }
        let list = || {
            let (count, rest) = U32::ref_from_prefix(section).ok()?;
            let blocks = (count.get() as usize).div_ceil(BLOCK);
            let (ends, rest) = <[U32]>::ref_from_prefix_with_elems(rest, blocks).ok()?;
            let (trigrams, blocks) = <[U128]>::ref_from_prefix_with_elems(rest, blocks).ok()?;
            Some(Self { count: count.get(), ends, trigrams, blocks })
        };
        let what = "its list of blocks does not lie within it";
        list().ok_or(Error::Section { section: "strings", offset: 0, what })
    }
    /// Decodes a block. The bytes of different ones do not overlap, so that all of them cost no more than the section is long.
    fn decode(&self, number: u32, buffer: &mut Buffer) {
        let end = |number: u32| self.ends.get(number as usize).map_or(0, |end| end.get() as usize);
        let start = number.checked_sub(1).map_or(0, end);
        let left = (self.count as usize).saturating_sub(number as usize * BLOCK);
        let coded = self.blocks.get(start..end(number)).filter(|coded| coded.len() <= LONGEST);
        buffer.decode(coded.unwrap_or_default(), left.min(BLOCK));
    }
}

impl<'a> Strings<'a> {
    /// The strings of a section, given where blocks are kept that are decoded: always the same for the same section.
    #[inline]
    pub fn new(coded: Coded<'a>, decoded: &'a Decoded) -> Self {
        Self { coded, decoded }
    }
    /// The number of strings.
    pub fn len(&self) -> u32 {
        self.coded.count
    }
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// A string; empty if there is none. A NUL follows it, and it stays where it is as long as what is decoded is kept. Cost: the first time that of decoding its block.
    #[inline]
    pub fn get(&self, at: u32) -> &'a [u8] {
        self.block(at / BLOCK as u32).map_or(&[], |block| block.get(at as usize % BLOCK))
    }
    /// All of them. Cost: that of decoding them.
    pub fn iter(self) -> impl Iterator<Item = &'a [u8]> {
        (0..self.len()).map(move |at| self.get(at))
    }
    /// The number of a string. Cost: a binary search, and the decoding of blocks on its way.
    pub fn find(&self, text: &[u8]) -> Option<u32> {
        let (mut low, mut high) = (0, self.blocks());
        while low < high {
            let middle = low.midpoint(high);
            if self.get(middle * BLOCK as u32) <= text { low = middle + 1 } else { high = middle }
        }
        let first = low.checked_sub(1)? * BLOCK as u32;
        (first..(first + BLOCK as u32).min(self.len())).find(|at| self.get(*at) == text)
    }
    /// The strings that contain a text without NUL, in order, with their numbers. Cost: that of decoding those blocks that may
    /// have it, all of them for a text of one or two bytes. None is kept.
    pub fn containing(&self, text: &[u8], mut found: impl FnMut(u32, &[u8])) {
        let finder = memchr::memmem::Finder::new(text);
        let trigrams = U128::from(Trigrams::default().with(text));
        let (mut block, mut decoded) = (Buffer::new(), 0);
        for (number, own) in (0..).zip(self.coded.trigrams) {
            if *own & trigrams != trigrams {
                continue;
            }
            self.coded.decode(number, &mut block);
            decoded += block.text().len();
            if decoded > MOST {
                return;
            }
            let (text, mut at) = (block.text(), 0);
            while let Some(hit) = text.get(at..).and_then(|rest| finder.find(rest)) {
                let (string, range) = block.around(at + hit);
                at = range.end + 1;
                found(number * BLOCK as u32 + string, &text[range]);
            }
        }
    }
    #[inline]
    fn block(&self, number: u32) -> Option<&'a Block> {
        self.decoded.blocks.get(number, self.blocks(), || self.decode(number))
    }
    #[cold]
    fn decode(&self, number: u32) -> Block {
        if self.decoded.bytes.load(Ordering::Relaxed) > MOST {
            return Block::default();
        }
        let (mut own, mut free);
        let buffer = match self.decoded.buffer.try_lock() {
            Ok(buffer) => {
                free = buffer;
                &mut *free
            }
            Err(_) => {
                own = Buffer::new();
                &mut own
            }
        };
        self.coded.decode(number, buffer);
        self.decoded.bytes.fetch_add(buffer.text().len(), Ordering::Relaxed);
        buffer.to_block()
    }
    fn blocks(&self) -> u32 {
        self.coded.ends.len() as u32
    }
}

/// Which trigrams there are in texts: a bit for each, the same for some that are alike.
#[derive(Clone, Copy, Default)]
struct Trigrams([u64; 2]);

impl Trigrams {
    /// These and those of a text.
    fn with(mut self, text: &[u8]) -> Self {
        let mut number = 0;
        for (at, byte) in text.iter().enumerate() {
            number = number << 8 | u32::from(*byte) << 8;
            if at >= 2 {
                let bit = number.wrapping_mul(0x9e37_79b1) >> 25;
                self.0[(bit >> 6) as usize] |= 1 << (bit & 63);
            }
        }
        self
    }
}

impl From<Trigrams> for U128 {
    fn from(Trigrams([low, high]): Trigrams) -> Self {
        Self::new(u128::from(high) << 64 | u128::from(low))
    }
}
