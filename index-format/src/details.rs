//! The details of a placement beyond its record: ranges, call site, variables.
//!
//! A stream of numbers ([`varint`]):
//! 1. four times the distance in the table to the preceding placement that it is inlined into (0 if it is out of
//!    line), plus the number of its ranges if that is 1 to 3
//! 2. the number of its ranges, if not part of the first number
//! 3. its ranges, starting from the entry
//! 4. if it is inlined, its call site: a byte with the file in the upper three bits (its position in the unit's
//!    files; 7: a number to add follows) and the column in the lower five (31: a number to add follows); then the
//!    line
//! 5. items, up to an end: a byte with the kind in the low three bits, the variable in the next three, and a count in
//!    the upper two
//!
//! | kind | item |
//! | --- | --- |
//! | 0 | end of the block, or of the details |
//! | 1 | start of a lexical block with variables: counted ranges, its items |
//! | 2 | a variable without location: optimized out |
//! | 3 | a variable with one expression for all addresses |
//! | 4 | a variable with a constant value: a signed number |
//! | 5 | a variable with a constant value of several bytes: their number, the bytes |
//! | 6 | a variable with a location list: counted ranges, an expression for each |
//! | 7 | a variable with one expression for the placement's first range |
//!
//! The variable is its position in the function's list less the expected one (one more than the previous variable's),
//! as zigzag; 7: a number to add follows.
//!
//! The list of a parameter may start with an empty range at the entry: its location before the function's first
//! assignments, which may precede the first instruction.
//!
//! Ranges: for each, twice its length, plus one if it does not start at the end of the previous one (the first: at
//! the placement's entry); if so, the signed distance follows.
//!
//! Counted ranges: the count; if that is 0, a number: 0 for the ranges of the placement, 1 for those of the previous
//! list (for the first list: of the placement), else the number of ranges plus 2. Then the ranges, starting from the
//! entry, unless they are already known.
mod write;

use crate::expr::{self, Expr};
use crate::id::Pc;
use crate::varint::{self, Reader};
pub use write::{Block, Buffer, DetailWriter};

/// Addresses from `start` to below `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first address.
    pub start: u32,
    /// One past the last address.
    pub end: u32,
}

impl Range {
    /// Whether the address lies in it.
    #[inline]
    pub fn contains(self, pc: u32) -> bool {
        self.start <= pc && pc < self.end
    }
}

/// The call site of an inlined function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallSite {
    /// The position in the unit's files.
    pub file: u32,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 unknown.
    pub column: u32,
}

const FILE_FOLLOWS: u32 = 7;
const COLUMN_FOLLOWS: u32 = 31;

impl CallSite {
    #[inline]
    fn read(reader: &mut Reader<'_>) -> Self {
        let byte = reader.byte();
        let (mut file, mut column) = (u32::from(byte >> 5), u32::from(byte & 31));
        if file == FILE_FOLLOWS {
            file = file.wrapping_add(reader.number32());
        }
        if column == COLUMN_FOLLOWS {
            column = column.wrapping_add(reader.number32());
        }
        Self { file, line: reader.number32(), column }
    }
    fn put(self, out: &mut Vec<u8>) {
        out.push((self.file.min(FILE_FOLLOWS) << 5 | self.column.min(COLUMN_FOLLOWS)) as u8);
        for (number, most) in [(self.file, FILE_FOLLOWS), (self.column, COLUMN_FOLLOWS)] {
            if number >= most {
                varint::put(out, (number - most).into());
            }
        }
        varint::put(out, self.line.into());
    }
}

/// The location or value of a variable.
#[derive(Clone, Copy, Debug)]
pub enum Location<'a> {
    /// Nowhere.
    None,
    /// One expression, valid throughout its scope.
    Everywhere(Expr<'a>),
    /// The value is this number.
    Constant(i64),
    /// The value is these bytes, as in the object's memory.
    Bytes(&'a [u8]),
    /// One expression, valid within one range.
    Within(Range, Expr<'a>),
    /// Different expressions by address.
    List(LocationList<'a>),
}

/// The entries of a location list: iterate over a copy.
#[derive(Clone, Copy, Debug)]
pub struct LocationList<'a> {
    ranges: Ranges<'a>,
    expressions: Reader<'a>,
    details: &'a [u8],
}

impl<'a> LocationList<'a> {
    /// The position after its expressions.
    #[inline]
    fn skip_all(mut self) -> Reader<'a> {
        for _ in 0..self.ranges.left {
            if self.expressions.ended() {
                break;
            }
            expr::read(&mut self.expressions, self.details);
        }
        self.expressions
    }
}

impl<'a> Iterator for LocationList<'a> {
    type Item = (Range, Expr<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.expressions.ended() {
            return None;
        }
        let range = self.ranges.next()?;
        Some((range, expr::read(&mut self.expressions, self.details)))
    }
}

impl<'a> Location<'a> {
    /// The expression of a parameter when its function starts, at the entry `pc`: that of an empty range there, else
    /// the one that covers the address. Before the first instruction both are true: one for the parameter as passed,
    /// the other as changed by the function's first assignments.
    pub fn at_start(self, pc: u32) -> Option<Expr<'a>> {
        let empty = Range { start: pc, end: pc };
        let passed = match self {
            Self::List(mut list) => list.next().filter(|(range, _)| *range == empty),
            Self::Within(range, expr) => Some((range, expr)).filter(|_| range == empty),
            _ => None,
        };
        passed.map(|(_, expr)| expr).or_else(|| self.at(pc))
    }
    /// The expression at this address: of the first entry that covers it.
    #[inline]
    pub fn at(self, pc: u32) -> Option<Expr<'a>> {
        match self {
            Self::Everywhere(expr) => Some(expr),
            Self::Within(range, expr) => range.contains(pc).then_some(expr),
            Self::List(mut list) => list.find(|(range, _)| range.contains(pc)).map(|(_, expr)| expr),
            Self::None | Self::Constant(_) | Self::Bytes(_) => None,
        }
    }
}

/// A part of a placement's variables.
#[derive(Clone, Copy, Debug)]
pub enum Item<'a> {
    /// A lexical block with these ranges starts.
    Block(Ranges<'a>),
    /// The innermost lexical block ends.
    End,
    /// A variable of the innermost scope, by its position in the function's list.
    Variable(u32, Location<'a>),
}

/// A placement's details.
#[derive(Clone, Copy, Debug)]
pub struct Details<'a> {
    /// The distance in the table to the preceding placement that it is inlined into; 0 if out of line.
    pub outer: u32,
    /// Its ranges.
    pub ranges: Ranges<'a>,
    /// The call site, if it is inlined.
    pub call: Option<CallSite>,
    /// Its variables.
    pub items: Items<'a>,
}

impl<'a> Details<'a> {
    /// Reads the details of a placement with this entry from the bytes at its offset. Cost: its ranges.
    #[inline]
    pub fn read(bytes: &'a [u8], entry: Pc) -> Self {
        let mut reader = Reader::new(bytes);
        let entry = entry.get();
        let (outer, count) = read_outer(&mut reader);
        let left = if count == 0 { reader.number32() } else { count };
        let ranges = Ranges { reader, left, due: entry };
        reader = ranges.skip_all();
        let call = (outer != 0).then(|| CallSite::read(&mut reader));
        let items = Items { details: bytes, reader, entry, ranges, last: ranges, due: 0, depth: 0 };
        Self { outer, ranges, call, items }
    }
}

/// The distance to the outer placement, and the count of ranges.
#[inline]
pub(crate) fn read_outer(reader: &mut Reader<'_>) -> (u32, u32) {
    let head = reader.number();
    ((head >> 2) as u32, head as u32 & 3)
}

/// Ranges of addresses: iterate over a copy.
#[derive(Clone, Copy, Debug)]
pub struct Ranges<'a> {
    reader: Reader<'a>,
    left: u32,
    due: u32,
}

impl<'a> Ranges<'a> {
    #[inline]
    fn skip_all(mut self) -> Reader<'a> {
        while self.next().is_some() {}
        self.reader
    }
}

impl Iterator for Ranges<'_> {
    type Item = Range;

    #[inline]
    fn next(&mut self) -> Option<Range> {
        if self.left == 0 || self.reader.ended() {
            return None;
        }
        self.left -= 1;
        let head = self.reader.number();
        let shift = if head & 1 != 0 { self.reader.signed() } else { 0 };
        let start = self.due.wrapping_add(shift as u32);
        let end = start.wrapping_add((head >> 1) as u32);
        self.due = end;
        Some(Range { start, end })
    }
}

/// The items of a placement in the order of the debug information. Cost: linear in what is read.
#[derive(Clone, Copy, Debug)]
pub struct Items<'a> {
    details: &'a [u8],
    reader: Reader<'a>,
    entry: u32,
    /// The ranges of the placement.
    ranges: Ranges<'a>,
    /// The ranges of the previous list.
    last: Ranges<'a>,
    due: u32,
    depth: u32,
}

impl<'a> Items<'a> {
    /// Only the variables of the outermost scope, without lexical blocks.
    #[inline]
    pub fn outermost(self) -> impl Iterator<Item = (u32, Location<'a>)> + Clone {
        let mut items = self;
        std::iter::from_fn(move || {
            loop {
                match items.next()? {
                    Item::Variable(index, location) if items.depth == 0 => return Some((index, location)),
                    _ => {}
                }
            }
        })
    }

    /// Reads counted ranges.
    #[inline]
    fn counted(&mut self, tag: u8) -> Ranges<'a> {
        let count = match u32::from(tag >> 6) {
            0 => self.reader.number32(),
            count => count + KNOWN,
        };
        match count {
            OF_PLACEMENT => self.ranges,
            OF_LAST => self.last,
            count => {
                let ranges = Ranges { reader: self.reader, left: count - KNOWN, due: self.entry };
                self.reader = ranges.skip_all();
                ranges
            }
        }
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Item<'a>;

    #[inline]
    fn next(&mut self) -> Option<Item<'a>> {
        if self.reader.ended() {
            return None;
        }
        let tag = self.reader.byte();
        let kind = tag & 7;
        match kind {
            END if self.depth == 0 => {
                self.reader = Reader::new(&[]);
                self.reader.byte();
                return None;
            }
            END => {
                self.depth -= 1;
                return Some(Item::End);
            }
            BLOCK => {
                self.depth += 1;
                return Some(Item::Block(self.counted(tag)));
            }
            _ => {}
        }
        let reader = &mut self.reader;
        let mut which = u64::from(tag >> 3 & 7);
        if which == MORE {
            which = which.wrapping_add(reader.number());
        }
        let index = self.due.wrapping_add(varint::unzigzag(which) as u32);
        self.due = index.wrapping_add(1);
        let location = match kind {
            EVERYWHERE => Location::Everywhere(expr::read(reader, self.details)),
            CONSTANT => Location::Constant(reader.signed()),
            BYTES => {
                let length = reader.number32() as usize;
                Location::Bytes(reader.bytes(length))
            }
            LIST => {
                let ranges = self.counted(tag);
                self.last = ranges;
                let list = LocationList { ranges, expressions: self.reader, details: self.details };
                self.reader = list.skip_all();
                Location::List(list)
            }
            WHOLE => {
                let first = self.ranges.clone().next().unwrap_or(Range { start: 0, end: 0 });
                Location::Within(first, expr::read(reader, self.details))
            }
            _ => Location::None,
        };
        Some(Item::Variable(index, location))
    }
}

const END: u8 = 0;
const BLOCK: u8 = 1;
const NOWHERE: u8 = 2;
const EVERYWHERE: u8 = 3;
const CONSTANT: u8 = 4;
const BYTES: u8 = 5;
const LIST: u8 = 6;
const WHOLE: u8 = 7;

/// A number to add follows.
const MORE: u64 = 7;

/// Counted ranges: those of the placement.
const OF_PLACEMENT: u32 = 0;
/// Counted ranges: those of the previous list.
const OF_LAST: u32 = 1;
/// Added to the number of counted ranges.
const KNOWN: u32 = 2;

#[cfg(test)]
mod tests;
