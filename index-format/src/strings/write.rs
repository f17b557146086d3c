//! Writes strings: see [`strings`](super).
use super::block::SHARED;
use super::symbols::{LITERAL, SYMBOLS, Symbol};
use super::{BLOCK, Trigrams};
use std::sync::LazyLock;
use zerocopy::IntoBytes;
use zerocopy::byteorder::little_endian::{U32, U128};

/// Encoded blocks of strings that follow each other.
#[derive(Default)]
pub struct Blocks {
    count: u32,
    lengths: Vec<u32>,
    trigrams: Vec<Trigrams>,
    bytes: Vec<u8>,
}

impl Blocks {
    /// Encodes strings, which are sorted and have no NUL. Whoever makes pieces of many strings gives all but the last a multiple
    /// of [`BLOCK`].
    pub fn of<'s>(strings: impl IntoIterator<Item = &'s [u8]>) -> Self {
        let (mut blocks, mut before): (Self, &[u8]) = Default::default();
        let coder = &*CODER;
        for string in strings {
            let start = blocks.bytes.len();
            let mut shared = 0;
            if blocks.count.is_multiple_of(BLOCK as u32) {
                blocks.lengths.push(0);
                blocks.trigrams.push(Trigrams::default());
            } else {
                shared = string.iter().zip(before).take(SHARED).take_while(|(a, b)| a == b).count();
                blocks.bytes.push(shared as u8);
            }
            coder.encode(&string[shared..], &mut blocks.bytes);
            if let (Some(length), Some(trigrams)) = (blocks.lengths.last_mut(), blocks.trigrams.last_mut()) {
                *length += (blocks.bytes.len() - start) as u32;
                *trigrams = trigrams.with(&string[shared.saturating_sub(2)..]);
            }
            blocks.count += 1;
            before = string;
        }
        blocks
    }
}

/// The section of pieces that follow each other.
pub fn section(pieces: &[Blocks]) -> Vec<u8> {
    let count: u32 = pieces.iter().map(|piece| piece.count).sum();
    let mut at = 0;
    let ends = pieces.iter().flat_map(|piece| &piece.lengths).map(|length| {
        at += length;
        U32::new(at)
    });
    let ends: Vec<U32> = ends.collect();
    let trigrams: Vec<U128> =
        pieces.iter().flat_map(|piece| &piece.trigrams).map(|own| U128::from(*own)).collect();
    let mut section = Vec::with_capacity(4 + (4 + 16) * ends.len() + at as usize);
    section.extend_from_slice(U32::new(count).as_bytes());
    section.extend_from_slice(ends.as_bytes());
    section.extend_from_slice(trigrams.as_bytes());
    pieces.iter().for_each(|piece| section.extend_from_slice(&piece.bytes));
    section
}

static CODER: LazyLock<Coder> = LazyLock::new(|| Coder::new(&SYMBOLS));

/// Finds the longest symbol at the start of a text.
pub(crate) struct Coder {
    /// Symbols of more than a byte by their first two, the longest first: bytes, mask, code. Where those of two bytes start:
    /// by the first and then the second.
    symbols: Vec<(u64, u64, u8)>,
    starts: Vec<u16>,
    /// The symbol of one byte alone, or [`LITERAL`].
    single: [u8; 256],
}

impl Coder {
    /// A coder for symbols.
    pub(crate) fn new(all: &[Symbol]) -> Self {
        let mut single = [LITERAL; 256];
        let mut symbols = vec![];
        for (code, symbol) in (0..LITERAL).zip(all) {
            match symbol.length {
                0 => {}
                1 => single[symbol.bytes as usize] = code,
                length => symbols.push((symbol.bytes, u64::MAX >> (64 - 8 * u32::from(length)), code)),
            }
        }
        let pair = |symbol: u64| (symbol as u16).swap_bytes();
        symbols.sort_unstable_by_key(|(symbol, mask, _)| (pair(*symbol), !mask, *symbol));
        let mut starts = vec![0; (1 << 16) + 1];
        for (symbol, ..) in &symbols {
            starts[usize::from(pair(*symbol)) + 1] += 1;
        }
        for at in 1..starts.len() {
            starts[at] += starts[at - 1];
        }
        Self { symbols, starts, single }
    }
    /// Appends the codes of a text and its NUL.
    pub(crate) fn encode(&self, text: &[u8], out: &mut Vec<u8>) {
        let mut at = 0;
        // The NUL is the byte after the text.
        while at <= text.len() {
            let next = match text[at..].first_chunk() {
                Some(next) => u64::from_le_bytes(*next),
                None => text[at..].iter().rev().fold(0, |next, byte| next << 8 | u64::from(*byte)),
            };
            let pair = usize::from((next as u16).swap_bytes());
            let alike = &self.symbols[usize::from(self.starts[pair])..usize::from(self.starts[pair + 1])];
            // A symbol with a NUL has it last, so that none reaches beyond the first one of the text.
            match alike.iter().find(|(symbol, mask, _)| next & mask == *symbol) {
                Some((_, mask, code)) => {
                    out.push(*code);
                    at += mask.count_ones() as usize / 8;
                }
                None => {
                    let code = self.single[next as u8 as usize];
                    out.push(code);
                    if code == LITERAL {
                        out.push(next as u8);
                    }
                    at += 1;
                }
            }
        }
    }
}
