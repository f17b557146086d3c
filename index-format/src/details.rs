//! What is known of one placement beyond its record: ranges, call site, variables.
//!
//! A stream of numbers ([`varint`]):
//! 1. four times how many places before it in the table the placement stands into which it is inlined (0 if it is out of
//!    line), plus the number of its ranges if that is 1 to 3
//! 2. else the number of its ranges
//! 3. its ranges, from the entry on
//! 4. if it is inlined, where it is called: a byte, the upper three bits the file (its position in the unit's files; 7: a
//!    number follows that is added), the lower five the column (31: a number follows that is added); the line
//! 5. items, until an end: a byte, the low three bits its kind, the next three which variable it is, the upper two a
//!    count
//!
//! | kind | item |
//! | --- | --- |
//! | 0 | end of the block, or of all |
//! | 1 | a lexical block that has variables starts: counted ranges, its items |
//! | 2 | a variable without location: optimized out |
//! | 3 | a variable with one expression for everywhere |
//! | 4 | a variable that is a constant: a signed number |
//! | 5 | a variable that is a constant of several bytes: their number, the bytes |
//! | 6 | a variable with a location list: counted ranges, for each of them an expression |
//! | 7 | a variable with one expression for the placement's first range |
//!
//! Which variable: its position in the function's list less the one that is due (one more than that of the variable
//! before), as zigzag; 7: a number follows that is added.
//!
//! Ranges: for each twice its length, plus one if it does not start where the one before ended (the first: at the
//! placement's entry); then the distance (signed).
//!
//! Counted ranges: the count, or with 0 a number: 0 those of the placement, 1 those of the list before (the first:
//! of the placement), else the number of ranges plus 2; then the ranges, from the entry on, unless they are known.
use crate::expr::{self, Expr, FrameBase};
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
    ranges: Ranges<'a>,
    expressions: Reader<'a>,
    details: &'a [u8],
}

impl<'a> LocationList<'a> {
    /// What stands behind its expressions.
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

/// How far the outer placement is, and the count of ranges.
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
    /// The placement's.
    ranges: Ranges<'a>,
    /// Those of the list before.
    last: Ranges<'a>,
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

    /// Counted ranges.
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

/// A number follows that is added.
const MORE: u64 = 7;

/// Of counted ranges: those of the placement.
const OF_PLACEMENT: u32 = 0;
/// Of counted ranges: those of the list before.
const OF_LAST: u32 = 1;
/// What is added to the number of counted ranges.
const KNOWN: u32 = 2;

/// The memory of a [`DetailWriter`], to be used again.
#[derive(Default)]
pub struct Buffer {
    bytes: Vec<u8>,
    ranges: Vec<Range>,
    /// Empty before the first list.
    last: Vec<Range>,
    earlier: expr::Earlier,
}

impl Buffer {
    /// The details that were written last.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// A lexical block that was started: where its bytes start, and those of its items.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    start: usize,
    items: usize,
}

/// Writes one placement's details, part by part in their order.
pub struct DetailWriter<'a> {
    buffer: &'a mut Buffer,
    entry: u32,
    due: u32,
    base: FrameBase,
}

impl<'a> DetailWriter<'a> {
    /// Writes ranges and, of an inline instance, how far the outer placement is and the call site; the items follow.
    /// `base` is that of the out-of-line function.
    pub fn new(
        buffer: &'a mut Buffer,
        entry: u32,
        base: FrameBase,
        ranges: &[Range],
        inlined: Option<(u32, CallSite)>,
    ) -> Self {
        let Buffer { bytes: out, ranges: own, last, earlier } = buffer;
        out.clear();
        earlier.clear();
        last.clear();
        own.clear();
        own.extend_from_slice(ranges);
        let outer = inlined.map_or(0, |(outer, _)| u64::from(outer));
        let count = ranges.len();
        varint::put(out, outer << 2 | if count < 4 { count as u64 } else { 0 });
        if !(1..4).contains(&count) {
            varint::put(out, count as u64);
        }
        put_ranges(out, entry, ranges.iter().copied());
        if let Some((_, call)) = inlined {
            call.put(out);
        }
        Self { buffer, entry, due: 0, base }
    }
    /// Starts a lexical block with these ranges.
    pub fn block(&mut self, ranges: &[Range]) -> Block {
        let start = self.buffer.bytes.len();
        let count = self.count(ranges.iter().copied());
        self.buffer.bytes.push(in_tag(count) << 6 | BLOCK);
        self.counted(count, ranges.iter().copied());
        Block { start, items: self.buffer.bytes.len() }
    }
    /// Ends the lexical block that started last. One without variables is left out.
    pub fn end_block(&mut self, block: Block) {
        if self.buffer.bytes.len() == block.items {
            self.buffer.bytes.truncate(block.start);
        } else {
            self.buffer.bytes.push(END);
        }
    }
    /// Ends the placement.
    pub fn end(self) {
        self.buffer.bytes.push(END);
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
        self.expression(operations);
    }
    /// A variable that is a number.
    pub fn constant(&mut self, index: u32, value: i64) {
        self.variable(index, CONSTANT, 0);
        varint::put_signed(&mut self.buffer.bytes, value);
    }
    /// A variable that is a constant of several bytes.
    pub fn bytes(&mut self, index: u32, value: &[u8]) {
        self.variable(index, BYTES, 0);
        varint::put(&mut self.buffer.bytes, value.len() as u64);
        self.buffer.bytes.extend_from_slice(value);
    }
    /// A variable with a location list: ranges and DWARF operations.
    #[inline]
    pub fn list(&mut self, index: u32, entries: &[(Range, &[u8])]) {
        match entries {
            [] => self.nowhere(index),
            [(range, operations)] if Some(range) == self.buffer.ranges.first() => {
                self.variable(index, WHOLE, 0);
                self.expression(operations);
            }
            _ => {
                let ranges = entries.iter().map(|e| e.0);
                let count = self.count(ranges.clone());
                self.variable(index, LIST, in_tag(count));
                if count != OF_LAST {
                    self.buffer.last.clear();
                    self.buffer.last.extend(ranges.clone());
                }
                self.counted(count, ranges);
                for (_, operations) in entries {
                    self.expression(operations);
                }
            }
        }
    }

    #[inline]
    fn variable(&mut self, index: u32, kind: u8, count: u8) {
        let which = varint::zigzag(i64::from(index as i32).wrapping_sub(i64::from(self.due as i32)));
        self.due = index.wrapping_add(1);
        let out = &mut self.buffer.bytes;
        out.push(count << 6 | (which.min(MORE) as u8) << 3 | kind);
        if which >= MORE {
            varint::put(out, which - MORE);
        }
    }
    #[inline]
    fn expression(&mut self, operations: &[u8]) {
        expr::put(&mut self.buffer.bytes, operations, self.base, &mut self.buffer.earlier);
    }
    /// What stands for these ranges where they are counted.
    #[inline]
    fn count(&self, ranges: impl ExactSizeIterator<Item = Range> + Clone) -> u32 {
        let are = |known: &[Range]| {
            known.len() == ranges.len()
                && known.iter().zip(ranges.clone()).all(|(known, range)| *known == range)
        };
        match ranges.len() as u32 {
            _ if are(&self.buffer.ranges) => OF_PLACEMENT,
            count if count != 0 && are(&self.buffer.last) => OF_LAST,
            count => count + KNOWN,
        }
    }
    #[inline]
    fn counted(&mut self, count: u32, ranges: impl Iterator<Item = Range>) {
        let out = &mut self.buffer.bytes;
        if in_tag(count) == 0 {
            varint::put(out, count.into());
        }
        if count >= KNOWN {
            put_ranges(out, self.entry, ranges);
        }
    }
}

/// The count of ranges that an item's byte has room for, or 0.
fn in_tag(count: u32) -> u8 {
    match count.saturating_sub(KNOWN) {
        few @ 1..=3 => few as u8,
        _ => 0,
    }
}

#[inline(always)]
fn put_ranges(out: &mut Vec<u8>, entry: u32, ranges: impl Iterator<Item = Range>) {
    let mut due = entry;
    for range in ranges {
        put_range(out, due, range);
        due = range.end;
    }
}

#[inline]
fn put_range(out: &mut Vec<u8>, due: u32, range: Range) {
    let shift = i64::from(range.start.wrapping_sub(due) as i32);
    varint::put(out, u64::from(range.end.wrapping_sub(range.start)) << 1 | u64::from(shift != 0));
    if shift != 0 {
        varint::put_signed(out, shift);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_placement_is_read_as_it_was_written() {
        let mut buffer = Buffer::default();
        let call = CallSite { file: 3, line: 3789, column: 9 };
        let ranges = [Range { start: 0x1000, end: 0x1010 }, Range { start: 0x800, end: 0x820 }];
        let mut writer = DetailWriter::new(&mut buffer, 0x1008, FrameBase::Cfa, &ranges, Some((3, call)));
        writer.everywhere(0, &[0x55]);
        writer.list(
            1,
            &[(Range { start: 0x1008, end: 0x100a }, &[0x54]), (Range { start: 0x800, end: 0x820 }, &[0x53])],
        );
        let block = writer.block(&[Range { start: 0x1009, end: 0x100b }]);
        let empty = writer.block(&[Range { start: 0x1009, end: 0x100a }]);
        writer.end_block(empty);
        writer.constant(60, -2);
        writer.end_block(block);
        writer.nowhere(2);
        writer.list(0, &[(ranges[0], &[0x51])]);
        writer.end();
        let out = [buffer.bytes(), &[0xff; 4]].concat();

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
        assert_eq!(details.items.filter(|i| matches!(i, Item::Block(_))).count(), 1);
    }

    fn ranges() -> impl Strategy<Value = Vec<Range>> {
        let range = (0u32..9, 1u32..9).prop_map(|(start, length)| Range { start, end: start + length });
        prop::collection::vec(range, 0..6)
    }

    proptest! {
        #[test]
        fn lists_and_blocks_have_the_ranges_they_were_given(
            place in ranges(),
            lists in prop::collection::vec((any::<bool>(), ranges()), 0..8),
            call: Option<(u8, u8, u8)>,
        ) {
            let mut buffer = Buffer::default();
            let call = call.map(|(f, l, c)| CallSite { file: f.into(), line: l.into(), column: c.into() });
            let mut writer = DetailWriter::new(&mut buffer, 5, FrameBase::Cfa, &place, call.map(|call| (40, call)));
            for (is_block, ranges) in &lists {
                if *is_block {
                    let block = writer.block(ranges);
                    writer.nowhere(0);
                    writer.end_block(block);
                } else {
                    let list: Vec<_> = ranges.iter().map(|r| (*r, &[0x70u8, 0, 6, 0x23, 8][..])).collect();
                    writer.list(0, &list);
                }
            }
            writer.end();

            let details = Details::read(buffer.bytes(), Pc::new(5));
            prop_assert_eq!((details.outer, details.call), (if call.is_some() { 40 } else { 0 }, call));
            prop_assert_eq!(details.ranges.collect::<Vec<_>>(), place);
            let mut found = vec![];
            let mut in_block = false;
            for item in details.items {
                match item {
                    Item::Block(ranges) => {
                        in_block = true;
                        found.push((true, ranges.collect()));
                    }
                    Item::End => in_block = false,
                    Item::Variable(..) if in_block => {}
                    Item::Variable(_, Location::List(list)) => {
                        found.push((false, list.map(|(range, _)| range).collect()));
                    }
                    Item::Variable(_, Location::Within(range, _)) => found.push((false, vec![range])),
                    Item::Variable(..) => found.push((false, vec![])),
                }
            }
            prop_assert_eq!(found, lists);
        }

        #[test]
        fn damaged_details_end(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            let details = Details::read(&bytes, Pc::new(1));
            prop_assert!(details.ranges.count() <= bytes.len() + 1);
            let mut items = 0;
            for item in details.items {
                items += 1;
                match item {
                    Item::Variable(_, Location::List(list)) => prop_assert!(list.count() <= bytes.len() + 1),
                    Item::Block(ranges) => prop_assert!(ranges.count() <= bytes.len() + 1),
                    _ => {}
                }
            }
            prop_assert!(items <= bytes.len() + 1);
        }
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
