//! The details of a placement beyond its record: ranges, call site, variables.
//!
//! Bits ([`bits`](crate::bits)), with a context for each number ([`codes`]):
//! 1. the distance in the table to the preceding placement that it is inlined into, 0 if it is out of line
//! 2. twice the number of its ranges, plus one if the first does not start at the entry
//! 3. its ranges: for each, the signed distance from the end of the previous one (for the first only as above, from the
//!    entry), and its length
//! 4. if it is inlined, its call site: the file (its position in the unit's files), the column, the line
//! 5. items, up to an end: the kind, for a variable its signed position in the function's list less the expected one (one
//!    more than the previous variable's), and:
//!
//! | kind | item |
//! | --- | --- |
//! | 0 | end of the block, or of the details |
//! | 1 | start of a lexical block with variables: counted ranges, its items |
//! | 2 | a variable without location: optimized out |
//! | 3 | a variable with one expression for all addresses |
//! | 4 | a variable with a constant value: a signed number |
//! | 5 | a variable with a constant value of several bytes: their number, and from the next whole byte on the bytes |
//! | 6 | a variable with a location list: counted ranges, an expression for each |
//! | 7 | a variable with one expression for the placement's first range |
//!
//! The list of a parameter may start with an empty range at the entry: its location before the function's first
//! assignments, which may precede the first instruction.
//!
//! Counted ranges: a number, which is 0 for the ranges of the placement, 1 for those of the previous list (for the first
//! list: of the placement), else the number of ranges plus 2, and the ranges follow, before any expression. They are
//! mostly within the placement's ranges, and are read along these:
//! * the start: 0 if it is the end of the previous one (of the first: the entry); 1 if it is the start of the placement's
//!   range after the current one, which is at first the placement's first; else the signed distance from there as
//!   zigzag, plus one
//! * then the current range of the placement becomes the next one if the start was 1; and as long as it does not contain
//!   the start, the one after it. There is none after the last
//! * the length: 0 if the end is that of the placement's current range, else the length plus one
//!
//! A kernel's placement takes 21 bytes on average: 2 are its own ranges, 2 the call site, 6 the ranges and 7 the
//! expressions of its variables. Equal details are stored once.
mod copy;
mod ranges;
mod write;

use crate::bits::{BitWriter, Bits};
use crate::codes::{self, Context};
use crate::expr::{self, Expr, Place};
use crate::id::Pc;
use crate::store::moved::Moved;
pub use copy::{Moving, copy};
pub use ranges::Ranges;
use ranges::{Cursor, Own};
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

impl CallSite {
    #[inline]
    fn read(bits: &mut Bits<'_>) -> Self {
        let file = bits.number32(codes::CALL_FILE);
        let other = u32::from(file != 0);
        let column = bits.column(codes::CALL_COLUMN.at(other));
        Self { file, line: bits.number32(codes::CALL_LINE.at(other)), column }
    }
    fn put(self, out: &mut BitWriter) {
        let other = u32::from(self.file != 0);
        out.number(codes::CALL_FILE, self.file.into());
        out.column(codes::CALL_COLUMN.at(other), self.column);
        out.number(codes::CALL_LINE.at(other), self.line.into());
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
    expressions: expr::Reader<'a>,
    place: Place,
}

impl<'a> LocationList<'a> {
    /// The position after its expressions.
    #[inline]
    fn skip_all(mut self) -> expr::Reader<'a> {
        for _ in 0..self.ranges.left() {
            if self.expressions.bits.ended() {
                break;
            }
            self.expressions.skip(self.place);
            self.place = Place::Later;
        }
        self.expressions
    }
}

impl<'a> Iterator for LocationList<'a> {
    type Item = (Range, Expr<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.expressions.bits.ended() {
            return None;
        }
        let range = self.ranges.next()?;
        let place = std::mem::replace(&mut self.place, Place::Later);
        Some((range, self.expressions.read(place)))
    }
}

impl<'a> Location<'a> {
    /// The expression of a parameter when its function starts, at the entry `pc`: that of an empty range there, else
    /// the one that covers the address. Before the first instruction both are true: one for the parameter as passed,
    /// the other as changed by the function's first assignments.
    pub fn at_start(self, pc: u32) -> Option<Expr<'a>> {
        let empty = Range { start: pc, end: pc };
        match self {
            Self::List(mut list) => {
                let (range, expr) = list.next()?;
                if range == empty || range.contains(pc) {
                    return Some(expr);
                }
                list.find(|(range, _)| range.contains(pc)).map(|(_, expr)| expr)
            }
            Self::Within(range, expr) if range == empty => Some(expr),
            _ => self.at(pc),
        }
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
        Self::read_moved(bytes, entry, Moved::NOT)
    }
    /// Reads details whose addresses, and `entry`, are shared by several kernels.
    #[inline]
    pub fn read_moved(bytes: &'a [u8], entry: Pc, moved: Moved<'a>) -> Self {
        let mut bits = Bits::new(bytes);
        let entry = entry.get();
        let outer = bits.number32(codes::OUTER);
        let (own, cursor) = Own::read(&mut bits, entry, outer != 0);
        let call = (outer != 0).then(|| CallSite::read(&mut bits));
        let ranges = Ranges::of_placement(own, moved);
        let reader = expr::Reader::new(bits, moved);
        let (count, kind) = (NO_LIST, FIRST_ITEM);
        let items = Items { reader, entry, own, cursor, last: ranges, count, due: 0, kind, depth: 0 };
        Self { outer, ranges, call, items }
    }
}

/// The distance to the outer placement, at the start of a placement's details.
#[inline]
pub(crate) fn read_outer(bytes: &[u8]) -> u32 {
    Bits::new(bytes).number32(codes::OUTER)
}

/// The distance to the outer placement, and the call, of a placement that is inlined.
pub(crate) fn read_call(bytes: &[u8]) -> Option<(u32, CallSite)> {
    let mut bits = Bits::new(bytes);
    let outer = bits.number32(codes::OUTER);
    if outer == 0 {
        return None;
    }
    // Where its ranges end does not depend on where they start.
    Own::read(&mut bits, 0, true);
    Some((outer, CallSite::read(&mut bits)))
}

/// The items of a placement in the order of the debug information. Cost: linear in what is read.
#[derive(Clone, Copy, Debug)]
pub struct Items<'a> {
    reader: expr::Reader<'a>,
    entry: u32,
    own: Own<'a>,
    /// At the first of them.
    cursor: Cursor<Own<'a>>,
    /// The ranges of the previous list.
    last: Ranges<'a>,
    /// The encoded number of the previous list's ranges.
    count: u64,
    due: u32,
    /// The kind of the previous item.
    kind: u32,
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
    fn counted(&mut self, count: u64, of_block: bool) -> Ranges<'a> {
        match count {
            OF_PLACEMENT => Ranges::of_placement(self.own, self.reader.moved),
            OF_LAST => self.last,
            count => Ranges::counted(
                &mut self.reader.bits,
                (count - KNOWN) as u32,
                self.entry,
                self.cursor,
                of_block,
                self.reader.moved,
            ),
        }
    }
}

impl<'a> Iterator for Items<'a> {
    type Item = Item<'a>;

    #[inline]
    fn next(&mut self) -> Option<Item<'a>> {
        let item = self.next_unread()?;
        if let Item::Variable(_, Location::List(list)) = &item {
            self.reader = list.skip_all();
        }
        Some(item)
    }
}

impl<'a> Items<'a> {
    /// The next one. After a list, the reader must be brought behind its expressions.
    #[inline(always)]
    fn next_unread(&mut self) -> Option<Item<'a>> {
        let bits = &mut self.reader.bits;
        if bits.ended() {
            return None;
        }
        let kind = bits.symbol(kind_context(self.kind, self.depth));
        let previous = std::mem::replace(&mut self.kind, kind);
        match kind {
            END if self.depth == 0 => {
                *bits = bits.past_the_end();
                return None;
            }
            END => {
                self.depth -= 1;
                return Some(Item::End);
            }
            BLOCK => {
                self.depth += 1;
                let count = bits.number(codes::BLOCK_RANGES);
                return Some(Item::Block(self.counted(count, true)));
            }
            _ => {}
        }
        let index = self.due.wrapping_add(bits.signed(variable_context(previous)) as u32);
        self.due = index.wrapping_add(1);
        let location = match kind {
            EVERYWHERE => Location::Everywhere(self.reader.read(Place::Only)),
            CONSTANT => Location::Constant(bits.signed(codes::CONSTANT_VALUE)),
            BYTES => {
                let length = bits.number32(codes::VERBATIM_LENGTH) as usize;
                Location::Bytes(bits.raw(length))
            }
            LIST => {
                let count = bits.number(list_context(self.count));
                self.count = count;
                let ranges = self.counted(count, false);
                self.last = ranges;
                let place = Place::of_first(ranges.left() as usize);
                Location::List(LocationList { ranges, expressions: self.reader, place })
            }
            WHOLE => {
                let first = self.cursor.current().unwrap_or(Range { start: 0, end: 0 });
                Location::Within(self.reader.moved.range(first), self.reader.read(Place::Only))
            }
            _ => Location::None,
        };
        Some(Item::Variable(index, location))
    }
}

const END: u32 = 0;
const BLOCK: u32 = 1;
const NOWHERE: u32 = 2;
const EVERYWHERE: u32 = 3;
const CONSTANT: u32 = 4;
const BYTES: u32 = 5;
const LIST: u32 = 6;
const WHOLE: u32 = 7;
/// In place of the previous item's kind.
const FIRST_ITEM: u32 = 8;

/// Counted ranges: those of the placement.
const OF_PLACEMENT: u64 = 0;
/// Counted ranges: those of the previous list.
const OF_LAST: u64 = 1;
/// Added to the number of counted ranges.
const KNOWN: u64 = 2;
/// In place of the previous list's number.
const NO_LIST: u64 = u64::MAX;

/// The context of an item's kind.
#[inline]
fn kind_context(previous: u32, depth: u32) -> Context {
    codes::KIND.at(previous * 2 + u32::from(depth > 0))
}

/// The context of a variable's position.
#[inline]
fn variable_context(previous: u32) -> Context {
    codes::VARIABLE.at(match previous {
        FIRST_ITEM => 0,
        END => 1,
        BLOCK => 2,
        _ => 3,
    })
}

/// The context of the number of a list's ranges.
#[inline]
fn list_context(previous: u64) -> Context {
    codes::LIST_RANGES.at(match previous {
        NO_LIST => 7,
        count => count.min(6) as u32,
    })
}

#[cfg(test)]
mod tests;
