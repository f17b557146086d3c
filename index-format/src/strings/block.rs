//! A block of strings, decoded.
use super::BLOCK;
use super::symbols::{LITERAL, SYMBOL, SYMBOLS};
use std::ops::Range;

/// Bytes before the texts: where each string ends.
const ENDS: usize = BLOCK * size_of::<u32>();

/// The strings of a block, one after the other with a NUL each, after the list of their ends; nothing at all for none.
#[derive(Default)]
pub struct Block(Box<[u8]>);

impl Block {
    /// A string of it.
    #[inline]
    pub fn get(&self, at: usize) -> &[u8] {
        let Some((ends, text)) = self.0.split_at_checked(ENDS) else { return &[] };
        let ends = ends.as_chunks().0;
        let end = |at: usize| ends.get(at).map_or(0, |end| u32::from_le_bytes(*end) as usize);
        let start = at.checked_sub(1).map_or(0, |before| end(before) + 1);
        // Of those that are missing in the last block, the end is that of the last string.
        text.get(start..end(at)).unwrap_or_default()
    }
}

/// A block that is being decoded, with memory that the next one uses again.
#[derive(Default)]
pub struct Buffer {
    /// Longer than the texts: symbols are copied eight bytes at a time.
    bytes: Vec<u8>,
    length: usize,
    ends: [u32; BLOCK],
    count: usize,
}

impl Buffer {
    /// No memory yet.
    pub const fn new() -> Self {
        Self { bytes: vec![], length: 0, ends: [0; BLOCK], count: 0 }
    }
    /// Decodes so many strings. What is missing of damaged ones is left out.
    pub fn decode(&mut self, coded: &[u8], count: usize) {
        // A code gives eight bytes at most; a string takes one more for the bytes that it shares, and a NUL if it has none.
        let longest = coded.len() * SYMBOL + count * (SHARED + 1) + WORD;
        if self.bytes.len() < longest {
            self.bytes.resize(longest, 0);
        }
        let (bytes, mut codes) = (&mut self.bytes[..], coded.iter());
        // Of 32 bits, so that no sum of them overflows: a section is no longer than that.
        let (mut start, mut at) = (0_u32, 0_u32);
        for (string, end) in self.ends[..count].iter_mut().enumerate() {
            let shared = if string == 0 { 0 } else { codes.next().map_or(0, |shared| u32::from(*shared)) };
            // Of the one before without its NUL.
            let shared = shared.min((at - start).saturating_sub(1));
            let mut copied = 0;
            while copied < shared {
                let from = (start + copied) as usize;
                bytes.copy_within(from..from + WORD, (at + copied) as usize);
                copied += WORD as u32;
            }
            (start, at) = (at, at + shared);
            loop {
                let Some(code) = codes.next() else {
                    bytes[at as usize] = 0;
                    at += 1;
                    break;
                };
                let symbol = &SYMBOLS[usize::from(*code)];
                bytes[at as usize..at as usize + SYMBOL].copy_from_slice(&symbol.bytes.to_le_bytes());
                at += u32::from(symbol.length);
                if symbol.is_last {
                    if *code != LITERAL {
                        break;
                    }
                    let literal = codes.next().copied().unwrap_or_default();
                    bytes[at as usize] = literal;
                    at += 1;
                    if literal == 0 {
                        break;
                    }
                }
            }
            *end = at - 1;
        }
        let last = self.ends[..count].last().copied().unwrap_or_default();
        self.ends[count..].fill(last);
        (self.length, self.count) = (at as usize, count);
    }
    /// The texts, each with a NUL.
    pub fn text(&self) -> &[u8] {
        &self.bytes[..self.length]
    }
    /// The string that has this byte of the texts, and where it is.
    pub fn around(&self, at: usize) -> (u32, Range<usize>) {
        let string = self.ends[..self.count].partition_point(|end| (*end as usize) < at);
        let start = string.checked_sub(1).map_or(0, |before| self.ends[before] as usize + 1);
        (string as u32, start..self.ends.get(string).map_or(start, |end| *end as usize))
    }
    /// What is kept of it.
    pub fn to_block(&self) -> Block {
        let ends = self.ends.iter().flat_map(|end| end.to_le_bytes());
        let mut bytes = Vec::with_capacity(ENDS + self.length);
        bytes.extend(ends);
        bytes.extend_from_slice(self.text());
        Block(bytes.into())
    }
}

/// How many of the bytes that a string shares are copied together.
const WORD: usize = 16;
/// The most bytes that a string shares with the one before it.
pub const SHARED: usize = u8::MAX as usize;
