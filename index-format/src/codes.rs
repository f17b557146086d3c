//! The prefix codes of numbers ([`bits`](crate::bits)), by context.
//!
//! They belong to the format, as do those of HPACK or deflate's fixed blocks: nothing is built when a file is opened,
//! and equal content is equal bytes in all files. `lengths.rs` has the lengths of all codes, from which the codes follow
//! as in deflate (RFC 1951, section 3.2.2): those of one length are consecutive, in the order of their symbols, and
//! follow the shorter ones. All symbols of a context have a code, of 1 to 15 bits.
//!
//! The lengths are those of Huffman codes for kernels of several machines and compilers: `examples/train.rs` writes
//! `lengths.rs` from their indexes. New lengths are a new version of the format.
mod lengths;
#[cfg(feature = "train")]
pub mod train;

use crate::bits::{COLUMN, NUMBER};

/// The code that a number has: by what it means, and by what precedes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Context(u16);

impl Context {
    /// Another context of its group.
    #[inline]
    pub const fn at(self, index: u32) -> Self {
        Self(self.0 + index as u16)
    }
}

macro_rules! groups {
    ($($(#[$doc:meta])* $name:ident = $count:literal of $symbols:expr,)*) => {
        enum Group { $(#[allow(non_camel_case_types, clippy::upper_case_acronyms)] $name,)* }
        /// The groups of contexts: name, number of contexts, and symbols of each.
        const GROUPS: &[(&str, usize, usize)] = &[$((stringify!($name), $count, $symbols),)*];
        $($(#[$doc])* pub(crate) const $name: Context = first(Group::$name as usize);)*
    };
}

groups! {
    /// Distance to the outer placement.
    OUTER = 1 of NUMBER,
    /// Twice the number of ranges of a placement, plus one if the first does not start at the entry: out of line, inlined.
    PLACE_RANGES = 2 of NUMBER,
    /// The distance of a placement's range to where the previous one ends: the first, others.
    PLACE_SHIFT = 2 of NUMBER,
    /// The length of a placement's range: the only one, the first, others, each out of line and inlined.
    PLACE_LENGTH = 6 of NUMBER,
    /// The call site's file.
    CALL_FILE = 1 of NUMBER,
    /// The call site's column: in the unit's first file, in others.
    CALL_COLUMN = 2 of COLUMN,
    /// The call site's line: in the unit's first file, in others.
    CALL_LINE = 2 of NUMBER,
    /// The kind of an item: after each kind, and as the first; each outermost, and in a block.
    KIND = 18 of 8,
    /// The variable: as the first item, after an end, a block, another variable.
    VARIABLE = 4 of NUMBER,
    /// A constant value.
    CONSTANT_VALUE = 1 of NUMBER,
    /// The counted ranges of a block.
    BLOCK_RANGES = 1 of NUMBER,
    /// The counted ranges of a list: after a count of 0, 1 … 5, more; for the first list.
    LIST_RANGES = 8 of NUMBER,
    /// The start of a counted range: the only one, the first, after one that ends with the placement's, others; each
    /// of lists and of blocks.
    START = 8 of NUMBER,
    /// The length of a counted range: of lists neither first nor last, first, last, only; of blocks. Each for starts
    /// at the previous end, at the next range of the placement, elsewhere.
    LENGTH = 15 of NUMBER,
    /// The kind of an expression: after each of six groups, each in a list after its first, as the only one, as the
    /// first of several.
    EXPRESSION = 18 of 108,
    /// The register of a based expression, of a sum.
    REGISTER = 2 of 32,
    /// The number of an expression: based, sum, frame, sum with the frame, constant, address.
    OPERAND = 6 of NUMBER,
    /// The distance to an earlier verbatim expression, in bits.
    REFERENCE = 1 of NUMBER,
    /// The number of verbatim bytes.
    VERBATIM_LENGTH = 1 of NUMBER,
    /// A verbatim byte: by the group of the previous one.
    VERBATIM = 8 of 256,
    /// The number of line rows.
    ROWS = 1 of NUMBER,
    /// Whether a row has another address, `is_stmt`, and code: after each of five kinds, each not a statement and one,
    /// each at the same address and another.
    HEAD = 20 of 64,
    /// The advance of a row, less one: by whether it and the previous one are statements, and at the position before.
    ADVANCE = 16 of NUMBER,
    /// The file of a row.
    FILE = 1 of NUMBER,
    /// The line of a row: by whether it and the previous one are statements, and the file is another.
    LINE = 8 of NUMBER,
    /// The column of a row: by the line's distance, at most 5, and whether it is a statement.
    LINE_COLUMN = 12 of COLUMN,
    /// The return type of a function.
    RETURN_TYPE = 1 of NUMBER,
    /// The linkage name of a function.
    LINKAGE_NAME = 1 of NUMBER,
    /// The flags of a variable: after each, and as the first.
    VARIABLE_FLAGS = 5 of 4,
    /// The rank of a variable, by its flags.
    VARIABLE_RANK = 4 of NUMBER,
    /// The line of a variable, by its flags and those of the previous one.
    VARIABLE_LINE = 20 of NUMBER,
    /// An instruction: after one of 1 byte, 2, 3, 4, 5, more; after a gap; after a repetition.
    INSTRUCTION = 8 of 17,
}

/// The number of contexts before a group.
const fn first(group: usize) -> Context {
    let (mut at, mut contexts) = (0, 0);
    while at < group {
        contexts += GROUPS[at].1;
        at += 1;
    }
    Context(contexts as u16)
}

const CONTEXTS: usize = first(GROUPS.len()).0 as usize;

/// The group of each byte for what follows it in a verbatim expression, and last that of the start. Found by clustering:
/// operations with like operands, and like operands, are followed by the same.
const BYTE_GROUPS: &[u8; 257] = b"\
    1516152536060556534416115544444414464444544444463111141111111110476111164111111112472276117777775166\
    1466566616666666666666666655760076677666767676655666766677576667766616667666766676767666766666666636\
    666666666666666666666666666660666666666663676666666606002";

/// The context of a verbatim byte after this one.
#[inline]
pub(crate) fn verbatim(previous: Option<u8>) -> Context {
    let group = BYTE_GROUPS[previous.map_or(256, usize::from)];
    VERBATIM.at(u32::from(group - b'0'))
}

/// Bits that the first look-up of a code decides.
const LOOKED_UP: u32 = 7;
/// The longest code.
const LONGEST: u32 = 15;

/// What decodes the symbols of a context.
struct Decoder {
    /// By the next bits: 16 times the symbol, plus the length of its code; 0 for longer codes.
    short: [u16; 1 << LOOKED_UP],
    /// For each longer length: the first sixteen bits after those codes and all shorter ones.
    limits: [u32; (LONGEST - LOOKED_UP) as usize],
    /// For each longer length: what to add to a code for its position in `SYMBOLS`.
    bases: [u16; (LONGEST - LOOKED_UP) as usize],
}

/// Position of each context's symbols in `SYMBOLS` and `CODES`, and the end.
const STARTS: [u16; CONTEXTS + 1] = {
    let mut starts = [0; CONTEXTS + 1];
    let (mut group, mut context) = (0, 0);
    while group < GROUPS.len() {
        let end = context + GROUPS[group].1;
        while context < end {
            starts[context + 1] = starts[context] + GROUPS[group].2 as u16;
            context += 1;
        }
        group += 1;
    }
    starts
};

const SYMBOL_COUNT: usize = STARTS[CONTEXTS] as usize;

struct Tables {
    decoders: [Decoder; CONTEXTS],
    /// Ordered by context, length of the code, symbol.
    symbols: [u8; SYMBOL_COUNT],
    /// Ordered by context, symbol: 16 times the code, plus its length.
    codes: [u32; SYMBOL_COUNT],
}

const fn tables() -> Tables {
    const NONE: Decoder = Decoder {
        short: [0; 1 << LOOKED_UP],
        limits: [0; (LONGEST - LOOKED_UP) as usize],
        bases: [0; (LONGEST - LOOKED_UP) as usize],
    };
    let mut tables =
        Tables { decoders: [NONE; CONTEXTS], symbols: [0; SYMBOL_COUNT], codes: [0; SYMBOL_COUNT] };
    let mut context = 0;
    while context < CONTEXTS {
        let start = STARTS[context] as usize;
        let count = STARTS[context + 1] as usize - start;
        let lengths = lengths::LENGTHS[context].as_bytes();
        assert!(lengths.len() == count);
        let decoder = &mut tables.decoders[context];
        let (mut code, mut position, mut length) = (0u32, start, 1);
        while length <= LONGEST {
            code <<= 1;
            if length > LOOKED_UP {
                decoder.bases[(length - LOOKED_UP - 1) as usize] =
                    (position as u16).wrapping_sub(code as u16);
            }
            let mut symbol = 0;
            while symbol < count {
                if digit(lengths[symbol]) == length {
                    tables.codes[start + symbol] = code << 4 | length;
                    tables.symbols[position] = symbol as u8;
                    position += 1;
                    if length <= LOOKED_UP {
                        let mut at = code << (LOOKED_UP - length);
                        while at < (code + 1) << (LOOKED_UP - length) {
                            decoder.short[at as usize] = (symbol as u16) << 4 | length as u16;
                            at += 1;
                        }
                    }
                    code += 1;
                }
                symbol += 1;
            }
            if length > LOOKED_UP {
                decoder.limits[(length - LOOKED_UP - 1) as usize] = code << (16 - length);
            }
            length += 1;
        }
        assert!(code == 1 << LONGEST, "the code is not complete");
        context += 1;
    }
    tables
}

const fn digit(hexadecimal: u8) -> u32 {
    match hexadecimal {
        b'1'..=b'9' => (hexadecimal - b'0') as u32,
        _ => (hexadecimal - b'a') as u32 + 10,
    }
}

#[allow(long_running_const_eval)]
const TABLES: Tables = tables();
static DECODERS: [Decoder; CONTEXTS] = TABLES.decoders;
static SYMBOLS: [u8; SYMBOL_COUNT] = TABLES.symbols;
static CODES: [u32; SYMBOL_COUNT] = TABLES.codes;

/// The code of a symbol, and its length.
#[inline]
pub(crate) fn encode(context: Context, symbol: u32) -> (u64, u32) {
    let at = STARTS[usize::from(context.0)] as usize + symbol as usize;
    #[cfg(feature = "train")]
    train::count(at);
    let code = CODES[at];
    ((code >> 4).into(), code & 15)
}

/// The first symbol of a word, from its highest bit on, and the length of its code.
#[inline(always)]
pub(crate) fn decode(context: Context, word: u64) -> (u32, u32) {
    let decoder = &DECODERS[usize::from(context.0)];
    let short = decoder.short[(word >> (64 - LOOKED_UP)) as usize];
    if short != 0 { (u32::from(short >> 4), u32::from(short & 15)) } else { decode_long(decoder, word) }
}

#[inline(never)]
fn decode_long(decoder: &Decoder, word: u64) -> (u32, u32) {
    let bits = (word >> 48) as u32;
    // The limit of the longest codes is that of all.
    let at = decoder.limits.iter().position(|limit| bits < *limit).unwrap_or_default();
    let length = LOOKED_UP + 1 + at as u32;
    let position = decoder.bases[at].wrapping_add((bits >> (16 - length)) as u16);
    (SYMBOLS[usize::from(position)].into(), length)
}
