//! What is known of one placement beyond its record: ranges, call site, variables.
//!
//! A stream of numbers ([`varint`]):
//! 1. how many places before it in the table the placement stands into which it is inlined; 0 if it is out of line
//! 2. twice the number of ranges, plus one if a call site follows
//! 3. each range: twice its length, plus one if it does not start where the one before ended (the first: at the
//!    entry); then the distance (signed)
//! 4. file (position in the unit's files), line and column of the call
//! 5. items, until an end: a byte, the low three bits its kind, the next three which variable it is, the upper two a
//!    count
//!
//! | kind | item |
//! | --- | --- |
//! | 0 | end of the block, or of all |
//! | 1 | a lexical block starts: the number of its ranges, the ranges as above from the entry on, its items |
//! | 2 | a variable without location: optimized out |
//! | 3 | a variable with one expression for everywhere |
//! | 4 | a variable that is a constant: a signed number |
//! | 5 | a variable that is a constant of several bytes: their number, the bytes |
//! | 6 | a variable with a location list: the count, or with 0 the number of entries less 4; for each entry a range as above, an expression |
//! | 7 | a variable with one expression for the placement's first range |
//!
//! Which variable: its position in the function's list less the one that is due (one more than that of the variable
//! before), as zigzag; 7: a number follows that is added.
use crate::expr::{self, Expr};
use crate::id::Pc;
use crate::varint::{self, Reader};

/// Addresses from `start` on and below `end`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// The first address.
    pub start: u32,
    /// The first address after it.
    pub end: u32,
}

impl Range {
    /// Whether the address lies in it.
    #[inline]
    pub fn contains(self, pc: u32) -> bool {
        self.start <= pc && pc < self.end
    }
}

/// Where an inlined function is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallSite {
    /// Position in the unit's files.
    pub file: u32,
    /// Line, from 1.
    pub line: u32,
    /// Column, from 1; 0 unknown.
    pub column: u32,
}

/// Where a variable is.
#[derive(Clone, Copy, Debug)]
pub enum Location<'a> {
    /// Nowhere.
    None,
    /// At one place, wherever its scope is.
    Everywhere(Expr<'a>),
    /// It is this number.
    Constant(i64),
    /// It is these bytes.
    Bytes(&'a [u8]),
    /// At one place within one range.
    Within(Range, Expr<'a>),
    /// It depends on the address.
    List(LocationList<'a>),
}

/// The entries of a location list: iterate over a copy.
#[derive(Clone, Copy, Debug)]
pub struct LocationList<'a> {
    reader: Reader<'a>,
    left: u32,
    due: u32,
}

impl<'a> Iterator for LocationList<'a> {
    type Item = (Range, Expr<'a>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.left == 0 || self.reader.ended() {
            return None;
        }
        self.left -= 1;
        let range = read_range(&mut self.reader, &mut self.due);
        Some((range, expr::read(&mut self.reader)))
    }
}

impl<'a> Location<'a> {
    /// The expression that holds at this address: of the first entry that covers it.
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
    /// A lexical block starts; its ranges are those that [`Ranges`] gives.
    Block(Ranges<'a>),
    /// The innermost lexical block ends.
    End,
    /// A variable of the innermost scope: its position in the function's list.
    Variable(u32, Location<'a>),
}

/// A placement's details.
#[derive(Clone, Copy, Debug)]
pub struct Details<'a> {
    /// How many places before it in the table the placement stands into which it is inlined; 0 if out of line.
    pub outer: u32,
    /// Its ranges.
    pub ranges: Ranges<'a>,
    /// Where it is called, if it is inlined.
    pub call: Option<CallSite>,
    /// Its variables.
    pub items: Items<'a>,
}

impl<'a> Details<'a> {
    /// Reads the details of a placement with this entry from the bytes at its offset. Cost: its ranges.
    #[inline]
    pub fn read(bytes: &'a [u8], entry: Pc) -> Self {
        let mut reader = Reader::new(bytes);
        let outer = reader.number32();
        let head = reader.number();
        let ranges = Ranges { reader, left: (head >> 1) as u32, due: entry.get() };
        reader = ranges.skip_all();
        let call = (head & 1 != 0).then(|| CallSite {
            file: reader.number32(),
            line: reader.number32(),
            column: reader.number32(),
        });
        let first = ranges.clone().next().unwrap_or(Range { start: 0, end: 0 });
        Self { outer, ranges, call, items: Items { reader, entry: entry.get(), first, due: 0, depth: 0 } }
    }
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
        Some(read_range(&mut self.reader, &mut self.due))
    }
}

#[inline]
fn read_range(reader: &mut Reader<'_>, due: &mut u32) -> Range {
    let head = reader.number();
    let shift = if head & 1 != 0 { reader.signed() } else { 0 };
    let start = due.wrapping_add(shift as u32);
    let end = start.wrapping_add((head >> 1) as u32);
    *due = end;
    Range { start, end }
}

/// The items of a placement in the order of the debug information. Cost: linear in what is read.
#[derive(Clone, Copy, Debug)]
pub struct Items<'a> {
    reader: Reader<'a>,
    entry: u32,
    first: Range,
    due: u32,
    depth: u32,
}

impl<'a> Items<'a> {
    /// The variables of the outermost scope only, lexical blocks left out.
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
}

impl<'a> Iterator for Items<'a> {
    type Item = Item<'a>;

    #[inline]
    fn next(&mut self) -> Option<Item<'a>> {
        let reader = &mut self.reader;
        if reader.ended() {
            return None;
        }
        let tag = reader.byte();
        let kind = tag & 7;
        match kind {
            END if self.depth == 0 => {
                *reader = Reader::new(&[]);
                reader.byte();
                return None;
            }
            END => {
                self.depth -= 1;
                return Some(Item::End);
            }
            BLOCK => {
                let left = reader.number32();
                let ranges = Ranges { reader: *reader, left, due: self.entry };
                *reader = ranges.skip_all();
                self.depth += 1;
                return Some(Item::Block(ranges));
            }
            _ => {}
        }
        let mut which = u64::from(tag >> 3 & 7);
        if which == MORE {
            which = which.wrapping_add(reader.number());
        }
        let index = self.due.wrapping_add(varint::unzigzag(which) as u32);
        self.due = index.wrapping_add(1);
        let location = match kind {
            EVERYWHERE => Location::Everywhere(expr::read(reader)),
            CONSTANT => Location::Constant(reader.signed()),
            BYTES => {
                let length = reader.number32() as usize;
                Location::Bytes(reader.bytes(length))
            }
            LIST => {
                let count = u32::from(tag >> 6);
                let left = if count == 0 { reader.number32().wrapping_add(4) } else { count };
                let list = LocationList { reader: *reader, left, due: self.entry };
                let mut skipped = list;
                while skipped.next().is_some() {}
                *reader = skipped.reader;
                Location::List(list)
            }
            WHOLE => Location::Within(self.first, expr::read(reader)),
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

/// A number follows that is added.
const MORE: u64 = 7;

/// Writes one placement's details, part by part in their order.
pub struct DetailWriter<'a> {
    out: &'a mut Vec<u8>,
    entry: u32,
    first: Option<Range>,
    due: u32,
}

impl<'a> DetailWriter<'a> {
    /// Writes how far the outer placement is, ranges and call site; the items follow.
    pub fn new(
        out: &'a mut Vec<u8>,
        entry: u32,
        outer: u32,
        ranges: &[Range],
        call: Option<CallSite>,
    ) -> Self {
        varint::put(out, outer.into());
        varint::put(out, (ranges.len() as u64) << 1 | u64::from(call.is_some()));
        put_ranges(out, entry, ranges);
        if let Some(call) = call {
            varint::put(out, call.file.into());
            varint::put(out, call.line.into());
            varint::put(out, call.column.into());
        }
        Self { out, entry, first: ranges.first().copied(), due: 0 }
    }
    /// Starts a lexical block with these ranges.
    pub fn block(&mut self, ranges: &[Range]) {
        self.out.push(BLOCK);
        varint::put(self.out, ranges.len() as u64);
        put_ranges(self.out, self.entry, ranges);
    }
    /// Ends the innermost lexical block, or all.
    pub fn end(&mut self) {
        self.out.push(END);
    }
    /// The position that the next variable is expected to have.
    #[inline]
    pub fn due(&self) -> u32 {
        self.due
    }
    /// A variable that is nowhere.
    pub fn nowhere(&mut self, index: u32) {
        self.variable(index, NOWHERE, 0);
    }
    /// A variable with one expression, given as DWARF operations.
    pub fn everywhere(&mut self, index: u32, operations: &[u8]) {
        self.variable(index, EVERYWHERE, 0);
        expr::put(self.out, operations);
    }
    /// A variable that is a number.
    pub fn constant(&mut self, index: u32, value: i64) {
        self.variable(index, CONSTANT, 0);
        varint::put_signed(self.out, value);
    }
    /// A variable that is a constant of several bytes.
    pub fn bytes(&mut self, index: u32, value: &[u8]) {
        self.variable(index, BYTES, 0);
        varint::put(self.out, value.len() as u64);
        self.out.extend_from_slice(value);
    }
    /// A variable with a location list: ranges and DWARF operations.
    #[inline]
    pub fn list(&mut self, index: u32, entries: &[(Range, &[u8])]) {
        match entries {
            [] => self.nowhere(index),
            [(range, operations)] if Some(*range) == self.first => {
                self.variable(index, WHOLE, 0);
                expr::put(self.out, operations);
            }
            _ => {
                let count = entries.len();
                self.variable(index, LIST, if count < 4 { count as u8 } else { 0 });
                if count >= 4 {
                    varint::put(self.out, count as u64 - 4);
                }
                let mut due = self.entry;
                for (range, operations) in entries {
                    put_range(self.out, &mut due, *range);
                    expr::put(self.out, operations);
                }
            }
        }
    }

    #[inline]
    fn variable(&mut self, index: u32, kind: u8, count: u8) {
        let which = varint::zigzag(i64::from(index as i32).wrapping_sub(i64::from(self.due as i32)));
        self.due = index.wrapping_add(1);
        self.out.push(count << 6 | (which.min(MORE) as u8) << 3 | kind);
        if which >= MORE {
            varint::put(self.out, which - MORE);
        }
    }
}

fn put_ranges(out: &mut Vec<u8>, entry: u32, ranges: &[Range]) {
    let mut due = entry;
    for &range in ranges {
        put_range(out, &mut due, range);
    }
}

#[inline]
fn put_range(out: &mut Vec<u8>, due: &mut u32, range: Range) {
    let shift = i64::from(range.start.wrapping_sub(*due) as i32);
    varint::put(out, u64::from(range.end.wrapping_sub(range.start)) << 1 | u64::from(shift != 0));
    if shift != 0 {
        varint::put_signed(out, shift);
    }
    *due = range.end;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placement_is_read_as_it_was_written() {
        let mut out = vec![];
        let call = CallSite { file: 3, line: 3789, column: 9 };
        let ranges = [Range { start: 0x1000, end: 0x1010 }, Range { start: 0x800, end: 0x820 }];
        let mut writer = DetailWriter::new(&mut out, 0x1008, 3, &ranges, Some(call));
        writer.everywhere(0, &[0x55]);
        writer.list(
            1,
            &[(Range { start: 0x1008, end: 0x100a }, &[0x54]), (Range { start: 0x800, end: 0x820 }, &[0x53])],
        );
        writer.block(&[Range { start: 0x1009, end: 0x100b }]);
        writer.constant(60, -2);
        writer.end();
        writer.nowhere(2);
        writer.list(0, &[(ranges[0], &[0x51])]);
        writer.end();
        out.extend([0xff; 4]);

        let details = Details::read(&out, Pc::new(0x1008));
        assert_eq!(details.ranges.collect::<Vec<_>>(), ranges);
        assert_eq!(details.call, Some(call));
        let outermost: Vec<_> = details.items.outermost().collect();
        assert_eq!(outermost.iter().map(|v| v.0).collect::<Vec<_>>(), [0, 1, 2, 0]);
        assert_eq!(outermost[3].1.at(0x1000), Some(Expr::Register(1)));
        assert_eq!(outermost[3].1.at(0x1010), None);
        assert_eq!(details.outer, 3);
        assert_eq!(outermost[1].1.at(0x1009), Some(Expr::Register(4)));
        assert_eq!(outermost[1].1.at(0x100a), None);
        assert_eq!(outermost[1].1.at(0x81f), Some(Expr::Register(3)));
        let in_block = details.items.filter(|i| matches!(i, Item::Variable(60, Location::Constant(-2))));
        assert_eq!(in_block.count(), 1);
    }

    #[test]
    fn damaged_bytes_end_and_do_not_panic() {
        for byte in 0..=255 {
            for length in 0..6 {
                let bytes = vec![byte; length];
                let details = Details::read(&bytes, Pc::new(1));
                assert!(details.items.count() <= length + 1);
            }
        }
    }
}
