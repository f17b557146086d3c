//! Line rows: about ten bits each.
//!
//! The rows of a sequence are at `SequenceRecord::rows`, starting with their number. The state is initially address =
//! the sequence's start, file 0, line 0, column 0, and zeros in three memories: the last 12 positions written in
//! full; the last line of 64 files, by the lowest six bits of the file number; and for 1024 positions the one that
//! followed them last. The slot of a position is the upper ten bits of (file × `9e3779b1` ^ line × `85ebca6b` ^
//! column × `c2b2ae35`) × `9e3779b1`, each in 32 bits. Code that is inlined twice repeats its rows. A row is, in bits
//! ([`bits`](crate::bits)):
//! 1. a symbol (context `HEAD`): 32 if its address is not that of the previous row, plus 16 if it `is_stmt`, plus its code
//! 2. if the address is another, the advance less one
//!
//! | code | the position |
//! | --- | --- |
//! | 0 | that of the previous row |
//! | 1 | line and column follow |
//! | 2 | file, line and column follow |
//! | 3 | the one that last followed that of the previous row |
//! | 4–15 | one of the last 12, the newest first |
//!
//! The line is less the file's last one, signed. A position that follows replaces the oldest of the last 12.
//!
//! Contexts: `HEAD` by four times the previous code (at most 4), plus 2 if that row was a statement, plus 1 if it had
//! another address than the row before; `ADVANCE` by 8 if this row is a statement, 4 if the previous one was, 2 if this
//! code is 0, and 1 if the previous one was; `LINE` by 4 if this row is a statement, 2 if the previous one was, and 1 if the code is 2; `LINE_COLUMN` by
//! twice the line's distance as zigzag, at most 5, plus 1 if it is a statement. Before the first row, the code is 0, no
//! statement and no other address. The head takes 3.5 bits on average, the advance 1.5; line and column 8, for half of
//! the rows.
use crate::bits::{BitWriter, Bits};
use crate::codes::{self, Context};
use crate::varint::{unzigzag, zigzag};

/// A row of a line table (DWARF 5, section 6.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The address, as a `Pc`.
    pub pc: u32,
    /// The position in the source.
    pub position: Position,
    /// Whether it is a recommended breakpoint location.
    pub is_stmt: bool,
}

/// A position in the source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The position in the unit's files.
    pub file: u32,
    /// Line, from 1; 0 none.
    pub line: u32,
    /// Column, from 1; 0 unknown.
    pub column: u32,
}

const RECENT: usize = 12;
const FILES: usize = 64;
const FOLLOWERS: usize = 1024;

const SAME: u32 = 0;
const LINE_AND_COLUMN: u32 = 1;
const FILE_TOO: u32 = 2;
const FOLLOWER: u32 = 3;
const FIRST_RECENT: u32 = 4;

const IS_STMT: u32 = 16;
const ADVANCES: u32 = 32;

/// The head of the previous row, for the contexts.
#[derive(Clone, Copy, Debug, Default)]
struct Before {
    code: u32,
    is_stmt: u32,
    /// Whether its address is another.
    advances: u32,
}

impl Before {
    #[inline]
    fn head(self) -> Context {
        codes::HEAD.at(self.code.min(FIRST_RECENT) * 4 + self.is_stmt * 2 + self.advances)
    }
    #[inline]
    fn advance(self, now: Self) -> Context {
        let same = u32::from(now.code == SAME) * 2 + u32::from(self.code == SAME);
        codes::ADVANCE.at(now.is_stmt * 8 + self.is_stmt * 4 + same)
    }
    #[inline]
    fn line(self, now: Self) -> Context {
        codes::LINE.at(now.is_stmt * 4 + self.is_stmt * 2 + u32::from(now.code == FILE_TOO))
    }
    /// For a line at this distance.
    #[inline]
    fn column(now: Self, line: u64) -> Context {
        codes::LINE_COLUMN.at(line.min(5) as u32 * 2 + now.is_stmt)
    }
}

/// The state shared by reader and writer.
#[derive(Clone, Debug)]
struct Memory {
    position: Position,
    key: u32,
    recent: [Position; RECENT],
    oldest: usize,
    lines: [u32; FILES],
    followers: Vec<Position>,
}

impl Memory {
    fn new() -> Self {
        Self::with(vec![Position::default(); FOLLOWERS])
    }
    /// Nothing but these followers, which are zeros.
    fn with(followers: Vec<Position>) -> Self {
        Self {
            position: Position::default(),
            key: 0,
            recent: Default::default(),
            oldest: 0,
            lines: [0; FILES],
            followers,
        }
    }
    /// Where the position that last followed this one is.
    #[inline]
    fn slot(&self) -> usize {
        self.key as usize >> 22
    }
    /// The position that last followed this one.
    #[inline]
    fn follower(&mut self) -> &mut Position {
        let slot = self.slot();
        &mut self.followers[slot]
    }
    /// The last line of a file.
    #[inline]
    fn line(&mut self, file: u32) -> &mut u32 {
        &mut self.lines[file as usize % FILES]
    }
    fn remember(&mut self, position: Position) {
        self.recent[self.oldest] = position;
        self.oldest = if self.oldest + 1 < RECENT { self.oldest + 1 } else { 0 };
    }
    /// The slot of the `age`th newest of the last ones, or the age of a slot.
    #[inline]
    fn recent(&self, age: usize) -> usize {
        let at = self.oldest + RECENT - 1 - age;
        if at < RECENT { at } else { at - RECENT }
    }
    /// The age of a position among the last ones, given their keys.
    #[inline]
    fn find(&self, keys: &[u32; RECENT], position: Position, key: u32) -> Option<usize> {
        // All are compared at once, which compiles to a few instructions.
        let equal = (0..RECENT).fold(0u32, |bits, at| bits | u32::from(keys[at] == key) << at);
        let at = equal.trailing_zeros() as usize;
        self.recent.get(at).filter(|p| **p == position).map(|_| self.recent(at))
    }
    /// Moves to another position with this key.
    #[inline]
    fn go(&mut self, position: Position, key: u32) {
        *self.follower() = position;
        *self.line(position.file) = position.line;
        (self.position, self.key) = (position, key);
    }
}

/// A hash of the position.
#[inline]
fn key(position: Position) -> u32 {
    let Position { file, line, column } = position;
    let mixed =
        file.wrapping_mul(0x9e37_79b1) ^ line.wrapping_mul(0x85eb_ca6b) ^ column.wrapping_mul(0xc2b2_ae35);
    mixed.wrapping_mul(0x9e37_79b1)
}

/// Writes sequences of rows. To clear its memory before each would take longer than most.
#[derive(Debug, Default)]
pub struct Writer {
    /// Of the last sequence.
    followers: Vec<Position>,
    /// The slots of those that are not zero.
    followed: Vec<u16>,
}

impl Writer {
    /// Appends the rows of one sequence that starts at `start`. Their addresses must not decrease.
    pub fn put(&mut self, out: &mut Vec<u8>, start: u32, rows: &[Row]) {
        let Self { followers, followed } = self;
        followers.resize(FOLLOWERS, Position::default());
        followed.drain(..).for_each(|slot| followers[usize::from(slot)] = Position::default());
        let mut memory = Memory::with(std::mem::take(followers));
        let mut bits = BitWriter::new(std::mem::take(out));
        bits.number(codes::ROWS, rows.len() as u64);
        let mut keys = [0; RECENT];
        let mut pc = start;
        let mut last = Before::default();
        for row in rows {
            let advance = row.pc.wrapping_sub(pc);
            pc = row.pc;
            let position = row.position;
            let before = memory.position;
            let key = if position == before { memory.key } else { key(position) };
            let code = if position == before {
                SAME
            } else if *memory.follower() == position {
                FOLLOWER
            } else if let Some(age) = memory.find(&keys, position, key) {
                FIRST_RECENT + age as u32
            } else if position.file == before.file {
                LINE_AND_COLUMN
            } else {
                FILE_TOO
            };
            let now = Before { code, is_stmt: row.is_stmt.into(), advances: u32::from(advance != 0) };
            bits.symbol(last.head(), now.advances * ADVANCES + now.is_stmt * IS_STMT + code);
            if let Some(more) = advance.checked_sub(1) {
                bits.number(last.advance(now), more.into());
            }
            if let LINE_AND_COLUMN | FILE_TOO = code {
                if code == FILE_TOO {
                    bits.number(codes::FILE, position.file.into());
                }
                let line = zigzag(i64::from(position.line) - i64::from(*memory.line(position.file)));
                bits.number(last.line(now), line);
                bits.column(Before::column(now, line), position.column);
                keys[memory.oldest] = key;
                memory.remember(position);
            }
            if code != SAME {
                followed.push(memory.slot() as u16);
                memory.go(position, key);
            }
            last = now;
        }
        *followers = memory.followers;
        *out = bits.finish();
    }
}

/// The rows of one sequence by address. Cost: linear in what is read.
#[derive(Clone, Debug)]
pub struct Rows<'a> {
    bits: Bits<'a>,
    left: u32,
    pc: u32,
    last: Before,
    memory: Memory,
}

impl<'a> Rows<'a> {
    /// Reads a sequence that starts at this address from the bytes at its offset.
    pub fn read(bytes: &'a [u8], start: u32) -> Self {
        let mut bits = Bits::new(bytes);
        let left = bits.number32(codes::ROWS);
        Self { bits, left, pc: start, last: Before::default(), memory: Memory::new() }
    }

    /// Moves to the last row at or before an address, and returns whether it is a statement; `None` if no row was
    /// passed. Faster than iterating.
    pub fn pass(&mut self, pc: u32) -> Option<bool> {
        let mut is_stmt = None;
        while self.left > 0 && !self.bits.ended() {
            let before = self.bits;
            let (now, advance) = self.head();
            if self.pc.wrapping_add(advance) > pc {
                self.bits = before;
                break;
            }
            self.body(now, advance);
            is_stmt = Some(now.is_stmt != 0);
        }
        is_stmt
    }

    /// The row read last, given whether it is a statement.
    pub fn passed(&self, is_stmt: bool) -> Row {
        Row { pc: self.pc, position: self.memory.position, is_stmt }
    }

    #[inline]
    fn head(&mut self) -> (Before, u32) {
        let head = self.bits.symbol(self.last.head());
        let (code, is_stmt, advances) = (head % IS_STMT, head / IS_STMT % 2, head / ADVANCES);
        let now = Before { code, is_stmt, advances };
        let advance = if advances == 0 {
            0
        } else {
            (self.bits.number_here(self.last.advance(now)) as u32).wrapping_add(1)
        };
        (now, advance)
    }

    #[inline]
    fn body(&mut self, now: Before, advance: u32) {
        self.left -= 1;
        let Self { bits, memory, .. } = self;
        self.pc = self.pc.wrapping_add(advance);
        let last = std::mem::replace(&mut self.last, now);
        let position = match now.code {
            SAME => return,
            code @ (LINE_AND_COLUMN | FILE_TOO) => {
                let file = if code == FILE_TOO { bits.number32(codes::FILE) } else { memory.position.file };
                let line = bits.number_here(last.line(now));
                let column = bits.column(Before::column(now, line));
                let line = memory.line(file).wrapping_add(unzigzag(line) as u32);
                let position = Position { file, line, column };
                memory.remember(position);
                position
            }
            FOLLOWER => *memory.follower(),
            code => memory.recent[memory.recent((code - FIRST_RECENT) as usize)],
        };
        if position != memory.position {
            memory.go(position, key(position));
        }
    }
}

impl Iterator for Rows<'_> {
    type Item = Row;

    #[inline]
    fn next(&mut self) -> Option<Row> {
        if self.left == 0 || self.bits.ended() {
            return None;
        }
        let (now, advance) = self.head();
        self.body(now, advance);
        Some(self.passed(now.is_stmt != 0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    prop_compose! {
        fn row()(advance in 0u32..40, file in 0u32..4, line in 1u32..30, column in 0u32..40, is_stmt: bool) -> Row {
            Row { pc: advance, position: Position { file, line, column }, is_stmt }
        }
    }

    proptest! {
        #[test]
        fn rows_are_read_as_they_were_written(mut rows in prop::collection::vec(row(), 0..200), start in 1u32..9) {
            let mut pc = start;
            for row in &mut rows {
                pc += row.pc;
                row.pc = pc;
            }
            let mut out = vec![];
            let mut writer = Writer::default();
            writer.put(&mut vec![], start, &rows);
            // What was written before leaves nothing behind.
            writer.put(&mut out, start, &rows);
            let mut new = vec![];
            Writer::default().put(&mut new, start, &rows);
            prop_assert_eq!(&out, &new);
            prop_assert_eq!(Rows::read(&out, start).collect::<Vec<_>>(), rows);
        }

        #[test]
        fn rows_are_passed_as_they_are_read(
            bytes in prop::collection::vec(any::<u8>(), 0..60),
            mut pcs in prop::collection::vec(0u32..400, 1..8),
        ) {
            pcs.sort();
            let mut rows = Rows::read(&bytes, 1);
            let mut last = None;
            let mut slow = Rows::read(&bytes, 1).peekable();
            let mut expected = None;
            for pc in pcs {
                last = rows.pass(pc).or(last);
                while let Some(row) = slow.next_if(|row| row.pc <= pc) {
                    expected = Some(row);
                }
                prop_assert_eq!(last.map(|is_stmt| rows.passed(is_stmt)), expected);
            }
        }

        #[test]
        fn damaged_rows_end(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            // The number of rows and each row take a bit or more, and the last row may reach past the end.
            prop_assert!(Rows::read(&bytes, 1).count() <= 8 * bytes.len());
        }
    }
}
