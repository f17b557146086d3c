//! Writes a placement's details.
use super::ranges::{Cursor, How, length_context, start_context};
use super::{
    BLOCK, BYTES, CONSTANT, CallSite, END, EVERYWHERE, FIRST_ITEM, KNOWN, LIST, NOWHERE, OF_LAST,
    OF_PLACEMENT, Range, WHOLE, kind_context, list_context, variable_context,
};
use crate::bits::{BitWriter, Mark};
use crate::codes;
use crate::expr::{self, FrameBase, Place};
use crate::varint::zigzag;

/// The reusable memory of a [`DetailWriter`].
#[derive(Default)]
pub struct Buffer {
    pub(super) bits: BitWriter,
    /// Those of the placement.
    pub(super) ranges: Vec<Range>,
    /// Those of the last list; empty before the first.
    pub(super) last: Vec<Range>,
    pub(super) expressions: expr::Written,
    pub(super) scratch: Vec<Range>,
    pub(super) operations: Vec<u8>,
}

impl Buffer {
    /// The details written last.
    pub fn bytes(&self) -> &[u8] {
        self.bits.bytes()
    }
}

/// An open lexical block: the start of its bits, and of its items.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    start: Mark,
    /// The kind of the item before it.
    after: u32,
    items: usize,
}

/// Writes the details of one placement, in order.
pub struct DetailWriter<'a> {
    pub(super) buffer: &'a mut Buffer,
    entry: u32,
    due: u32,
    base: FrameBase,
    blocks: u32,
    /// The kind of the last item.
    pub(super) kind: u32,
    depth: u32,
    /// The encoded number of the previous list's ranges.
    count: u64,
}

impl<'a> DetailWriter<'a> {
    /// Writes the ranges and, for an inline instance, the distance to the outer placement and the call site; items
    /// follow. `base` is the frame base of the out-of-line function.
    pub fn new(
        buffer: &'a mut Buffer,
        entry: u32,
        base: FrameBase,
        ranges: &[Range],
        inlined: Option<(u32, CallSite)>,
    ) -> Self {
        let Buffer { bits: out, ranges: own, last, expressions, .. } = buffer;
        out.clear();
        expressions.clear();
        last.clear();
        own.clear();
        own.extend_from_slice(ranges);
        out.number(codes::OUTER, inlined.map_or(0, |(outer, _)| outer.into()));
        put_place_ranges(out, entry, ranges, inlined.is_some());
        if let Some((_, call)) = inlined {
            call.put(out);
        }
        Self { buffer, entry, due: 0, base, blocks: 0, kind: FIRST_ITEM, depth: 0, count: super::NO_LIST }
    }
    /// Starts a lexical block with these ranges.
    pub fn block(&mut self, ranges: &[Range]) -> Block {
        let (start, after) = (self.buffer.bits.mark(), self.kind);
        self.blocks += 1;
        self.item(BLOCK);
        self.depth += 1;
        let count = self.count(ranges.iter().copied());
        self.buffer.bits.number(codes::BLOCK_RANGES, count);
        self.counted(count, ranges.iter().copied(), true);
        Block { start, after, items: self.buffer.bits.position() }
    }
    /// Ends the innermost open lexical block. A block without variables is dropped; returns whether it was kept.
    pub fn end_block(&mut self, block: Block) -> bool {
        let is_kept = self.buffer.bits.position() > block.items;
        if is_kept {
            self.item(END);
        } else {
            self.buffer.bits.back(block.start);
            self.kind = block.after;
            self.blocks -= 1;
        }
        self.depth = self.depth.wrapping_sub(1);
        is_kept
    }
    /// The number of lexical blocks so far, which is the number of the one started last, from 1.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }
    /// Ends the placement.
    pub fn end(mut self) {
        self.item(END);
        self.buffer.bits.align();
    }
    /// The placement's entry.
    #[inline]
    pub fn entry(&self) -> u32 {
        self.entry
    }
    /// The frame base of the out-of-line function.
    pub fn base(&self) -> FrameBase {
        self.base
    }
    /// The expected position of the next variable.
    #[inline]
    pub fn due(&self) -> u32 {
        self.due
    }
    /// A variable without location.
    pub fn nowhere(&mut self, index: u32) {
        self.variable(index, NOWHERE);
    }
    /// A variable with one expression, given as DWARF operations.
    pub fn everywhere(&mut self, index: u32, operations: &[u8]) {
        self.variable(index, EVERYWHERE);
        self.expression(operations, Place::Only);
    }
    /// A variable with a constant number as value.
    pub fn constant(&mut self, index: u32, value: i64) {
        self.variable(index, CONSTANT);
        self.buffer.bits.signed(codes::CONSTANT_VALUE, value);
    }
    /// A variable with constant bytes as value.
    pub fn bytes(&mut self, index: u32, value: &[u8]) {
        self.variable(index, BYTES);
        self.buffer.bits.number(codes::VERBATIM_LENGTH, value.len() as u64);
        self.buffer.bits.raw(value);
    }
    /// A variable with a location list: ranges and DWARF operations.
    #[inline]
    pub fn list(&mut self, index: u32, entries: &[(Range, &[u8])]) {
        match entries {
            [] => self.nowhere(index),
            [(range, operations)] if Some(range) == self.buffer.ranges.first() => {
                self.variable(index, WHOLE);
                self.expression(operations, Place::Only);
            }
            _ => {
                self.list_of(index, entries.iter().map(|e| e.0));
                let mut place = Place::of_first(entries.len());
                for (_, operations) in entries {
                    self.expression(operations, place);
                    place = Place::Later;
                }
            }
        }
    }

    /// A variable with a list of these ranges, whose expressions follow.
    #[inline]
    pub(super) fn list_of(&mut self, index: u32, ranges: impl ExactSizeIterator<Item = Range> + Clone) {
        let count = self.count(ranges.clone());
        self.list_start(index, count);
        if count != OF_LAST {
            self.buffer.last.clear();
            self.buffer.last.extend(ranges.clone());
        }
        self.counted(count, ranges, false);
    }
    /// A variable with a list of so many ranges, as they are encoded.
    #[inline]
    pub(super) fn list_start(&mut self, index: u32, count: u64) {
        self.variable(index, LIST);
        self.buffer.bits.number(list_context(self.count), count);
        self.count = count;
    }

    #[inline]
    fn item(&mut self, kind: u32) {
        self.buffer.bits.symbol(kind_context(self.kind, self.depth), kind);
        self.kind = kind;
    }
    #[inline]
    pub(super) fn variable(&mut self, index: u32, kind: u32) {
        let context = variable_context(self.kind);
        self.item(kind);
        let distance = i64::from(index as i32).wrapping_sub(i64::from(self.due as i32));
        self.due = index.wrapping_add(1);
        self.buffer.bits.signed(context, distance);
    }
    #[inline]
    fn expression(&mut self, operations: &[u8], place: Place) {
        let Buffer { bits, expressions, .. } = &mut *self.buffer;
        expr::put(bits, operations, self.base, place, expressions);
    }
    /// The count that encodes these ranges.
    #[inline]
    fn count(&self, ranges: impl ExactSizeIterator<Item = Range> + Clone) -> u64 {
        let are = |known: &[Range]| {
            known.len() == ranges.len()
                && known.iter().zip(ranges.clone()).all(|(known, range)| *known == range)
        };
        match ranges.len() as u64 {
            _ if are(&self.buffer.ranges) => OF_PLACEMENT,
            count if count != 0 && are(&self.buffer.last) => OF_LAST,
            count => count + KNOWN,
        }
    }
    #[inline]
    fn counted(&mut self, count: u64, ranges: impl Iterator<Item = Range>, of_block: bool) {
        if count < KNOWN {
            return;
        }
        let Buffer { bits: out, ranges: own, .. } = &mut *self.buffer;
        let mut cursor = Cursor::new(own.iter().copied());
        let mut due = self.entry;
        let mut left = count - KNOWN;
        let (is_only, mut is_first, mut after_end) = (left == 1, true, false);
        for range in ranges {
            left -= 1;
            let how = match range.start.wrapping_sub(due) as i32 {
                0 => How::Next,
                _ if cursor.is_next(range.start) => How::InNext,
                shift => How::Shift(shift),
            };
            let number = match how {
                How::Next => 0,
                How::InNext => 1,
                How::Shift(shift) => zigzag(shift.into()) + 1,
            };
            out.number(start_context(of_block, is_only, is_first, after_end), number);
            let end = cursor.go(how, range.start);
            after_end = end == Some(range.end);
            let length = if after_end { 0 } else { u64::from(range.end.wrapping_sub(range.start)) + 1 };
            out.number(length_context(of_block, how, is_first, left == 0), length);
            due = range.end;
            is_first = false;
        }
    }
}

fn put_place_ranges(out: &mut BitWriter, entry: u32, ranges: &[Range], inlined: bool) {
    let has_shift = ranges.first().is_some_and(|range| range.start != entry);
    let of = u32::from(inlined);
    out.number(codes::PLACE_RANGES.at(of), (ranges.len() as u64) << 1 | u64::from(has_shift));
    let mut due = entry;
    for (at, range) in ranges.iter().enumerate() {
        if at > 0 || has_shift {
            let shift = i64::from(range.start.wrapping_sub(due) as i32);
            out.signed(codes::PLACE_SHIFT.at(u32::from(at > 0)), shift);
        }
        let which = if ranges.len() == 1 { 0 } else { 1 + u32::from(at > 0) };
        out.number(codes::PLACE_LENGTH.at(which * 2 + of), range.end.wrapping_sub(range.start).into());
        due = range.end;
    }
}
