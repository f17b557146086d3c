//! Writes a placement's details.
use super::{
    BLOCK, BYTES, CONSTANT, CallSite, END, EVERYWHERE, KNOWN, LIST, MORE, NOWHERE, OF_LAST, OF_PLACEMENT,
    Range, WHOLE,
};
use crate::expr::{self, FrameBase};
use crate::varint;

/// The reusable memory of a [`DetailWriter`].
#[derive(Default)]
pub struct Buffer {
    bytes: Vec<u8>,
    ranges: Vec<Range>,
    /// Empty before the first list.
    last: Vec<Range>,
    earlier: expr::Earlier,
}

impl Buffer {
    /// The details written last.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// An open lexical block: the start of its bytes, and of its items.
#[derive(Clone, Copy, Debug)]
pub struct Block {
    start: usize,
    items: usize,
}

/// Writes the details of one placement, in order.
pub struct DetailWriter<'a> {
    buffer: &'a mut Buffer,
    entry: u32,
    due: u32,
    base: FrameBase,
    blocks: u32,
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
        Self { buffer, entry, due: 0, base, blocks: 0 }
    }
    /// Starts a lexical block with these ranges.
    pub fn block(&mut self, ranges: &[Range]) -> Block {
        let start = self.buffer.bytes.len();
        self.blocks += 1;
        let count = self.count(ranges.iter().copied());
        self.buffer.bytes.push(in_tag(count) << 6 | BLOCK);
        self.counted(count, ranges.iter().copied());
        Block { start, items: self.buffer.bytes.len() }
    }
    /// Ends the innermost open lexical block. A block without variables is dropped; returns whether it was kept.
    pub fn end_block(&mut self, block: Block) -> bool {
        let is_kept = self.buffer.bytes.len() > block.items;
        if is_kept {
            self.buffer.bytes.push(END);
        } else {
            self.buffer.bytes.truncate(block.start);
            self.blocks -= 1;
        }
        is_kept
    }
    /// The number of lexical blocks so far, which is the number of the one started last, from 1.
    pub fn blocks(&self) -> u32 {
        self.blocks
    }
    /// Ends the placement.
    pub fn end(self) {
        self.buffer.bytes.push(END);
    }
    /// The placement's entry.
    #[inline]
    pub fn entry(&self) -> u32 {
        self.entry
    }
    /// The expected position of the next variable.
    #[inline]
    pub fn due(&self) -> u32 {
        self.due
    }
    /// A variable without location.
    pub fn nowhere(&mut self, index: u32) {
        self.variable(index, NOWHERE, 0);
    }
    /// A variable with one expression, given as DWARF operations.
    pub fn everywhere(&mut self, index: u32, operations: &[u8]) {
        self.variable(index, EVERYWHERE, 0);
        self.expression(operations);
    }
    /// A variable with a constant number as value.
    pub fn constant(&mut self, index: u32, value: i64) {
        self.variable(index, CONSTANT, 0);
        varint::put_signed(&mut self.buffer.bytes, value);
    }
    /// A variable with constant bytes as value.
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
    /// The count that encodes these ranges.
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

/// The count of ranges as stored in an item's byte, or 0 if there is no room.
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
