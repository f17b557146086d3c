//! Line rows: about two bytes each.
//!
//! The rows of a sequence are at `SequenceRecord::rows`, starting with their number. The state is initially address =
//! the sequence's start, file 0, line 0, column 0, and zeros in three memories: the last 12 positions written in
//! full; the last line of 16 files, by the lowest four bits of the file number; and for 1024 positions the one that
//! followed them last. The slot of a position is the upper ten bits of (file × `9e3779b1` ^ line × `85ebca6b` ^
//! column × `c2b2ae35`) × `9e3779b1`, each in 32 bits. Code that is inlined twice repeats its rows. Then a byte per
//! row:
//!
//! | bits | meaning |
//! | --- | --- |
//! | 7 | `is_stmt` |
//! | 6–4 | the advance of the address; 7: a number to add follows |
//! | 3–0 | 0: the position (file, line, column) of the previous row; 1: line and column follow; 2: file, line and column follow; 3: the position that last followed that of the previous row; 4–15: one of the last 12, at this number less 4 |
//!
//! Line and column are a byte: the upper three bits are the line less the file's last one as zigzag (7: a number to
//! add follows), the lower five the column (31: a number to add follows). Such a position replaces the oldest of the
//! last 12.
use crate::varint::{self, Reader};

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
const FILES: usize = 16;
const FOLLOWERS: usize = 1024;

const SAME: u8 = 0;
const LINE_AND_COLUMN: u8 = 1;
const FILE_TOO: u8 = 2;
const FOLLOWER: u8 = 3;
const FIRST_RECENT: u8 = 4;

const ADVANCE_FOLLOWS: u32 = 7;
const LINE_FOLLOWS: u64 = 7;
const COLUMN_FOLLOWS: u64 = 31;

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
        Self {
            position: Position::default(),
            key: 0,
            recent: Default::default(),
            oldest: 0,
            lines: [0; FILES],
            followers: vec![Position::default(); FOLLOWERS],
        }
    }
    /// The position that last followed this one.
    #[inline]
    fn follower(&mut self) -> &mut Position {
        &mut self.followers[self.key as usize >> 22]
    }
    /// The last line of a file.
    #[inline]
    fn line(&mut self, file: u32) -> &mut u32 {
        &mut self.lines[file as usize % FILES]
    }
    fn remember(&mut self, position: Position) {
        self.recent[self.oldest] = position;
        self.oldest = (self.oldest + 1) % RECENT;
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

/// Appends the rows of one sequence that starts at `start`. Their addresses must not decrease.
pub fn put(out: &mut Vec<u8>, start: u32, rows: &[Row]) {
    varint::put(out, rows.len() as u64);
    let mut memory = Memory::new();
    let mut keys = [0; RECENT];
    let mut pc = start;
    for row in rows {
        let advance = row.pc.wrapping_sub(pc);
        pc = row.pc;
        let position = row.position;
        let before = memory.position;
        let head = u8::from(row.is_stmt) << 7 | (advance.min(ADVANCE_FOLLOWS) as u8) << 4;
        let put_advance = |out: &mut Vec<u8>| {
            if advance >= ADVANCE_FOLLOWS {
                varint::put(out, (advance - ADVANCE_FOLLOWS).into());
            }
        };
        if position == before {
            out.push(head | SAME);
            put_advance(out);
            continue;
        }
        let key = key(position);
        let foretold = *memory.follower() == position;
        let known = || {
            // All are compared at once, which compiles to a few instructions.
            let equal = (0..RECENT).fold(0u32, |bits, at| bits | u32::from(keys[at] == key) << at);
            let at = equal.trailing_zeros() as usize;
            memory.recent.get(at).filter(|p| **p == position).map(|_| at)
        };
        let code = if foretold {
            FOLLOWER
        } else if let Some(at) = known() {
            FIRST_RECENT + at as u8
        } else if position.file == before.file {
            LINE_AND_COLUMN
        } else {
            FILE_TOO
        };
        out.push(head | code);
        put_advance(out);
        if matches!(code, LINE_AND_COLUMN | FILE_TOO) {
            if code == FILE_TOO {
                varint::put(out, position.file.into());
            }
            let due = *memory.line(position.file);
            let line = varint::zigzag(i64::from(position.line) - i64::from(due));
            let column = u64::from(position.column);
            out.push((line.min(LINE_FOLLOWS) << 5 | column.min(COLUMN_FOLLOWS)) as u8);
            if line >= LINE_FOLLOWS {
                varint::put(out, line - LINE_FOLLOWS);
            }
            if column >= COLUMN_FOLLOWS {
                varint::put(out, column - COLUMN_FOLLOWS);
            }
            keys[memory.oldest] = key;
            memory.remember(position);
        }
        memory.go(position, key);
    }
}

/// The rows of one sequence by address. Cost: linear in what is read.
#[derive(Clone, Debug)]
pub struct Rows<'a> {
    reader: Reader<'a>,
    left: u32,
    pc: u32,
    memory: Memory,
}

impl<'a> Rows<'a> {
    /// Reads a sequence that starts at this address from the bytes at its offset.
    pub fn read(bytes: &'a [u8], start: u32) -> Self {
        let mut reader = Reader::new(bytes);
        let left = reader.number32();
        Self { reader, left, pc: start, memory: Memory::new() }
    }

    /// Moves to the last row at or before an address, and returns whether it is a statement; `None` if no row was
    /// passed. Faster than iterating.
    pub fn pass(&mut self, pc: u32) -> Option<bool> {
        let mut is_stmt = None;
        while self.left > 0 && !self.reader.ended() {
            let before = self.reader;
            let (byte, advance) = self.head();
            if self.pc.wrapping_add(advance) > pc {
                self.reader = before;
                break;
            }
            self.body(byte, advance);
            is_stmt = Some(byte & 0x80 != 0);
        }
        is_stmt
    }

    /// The row read last, given whether it is a statement.
    pub fn passed(&self, is_stmt: bool) -> Row {
        Row { pc: self.pc, position: self.memory.position, is_stmt }
    }

    #[inline]
    fn head(&mut self) -> (u8, u32) {
        let byte = self.reader.byte();
        let mut advance = u32::from(byte >> 4 & 7);
        if advance == ADVANCE_FOLLOWS {
            advance = advance.wrapping_add(self.reader.number32());
        }
        (byte, advance)
    }

    #[inline]
    fn body(&mut self, byte: u8, advance: u32) {
        self.left -= 1;
        let Self { reader, memory, .. } = self;
        self.pc = self.pc.wrapping_add(advance);
        let position = match byte & 15 {
            SAME => return,
            code @ (LINE_AND_COLUMN | FILE_TOO) => {
                let file = if code == FILE_TOO { reader.number32() } else { memory.position.file };
                let byte = reader.byte();
                let (mut line, mut column) = (u64::from(byte >> 5), u64::from(byte & 31));
                if line == LINE_FOLLOWS {
                    line = line.wrapping_add(reader.number());
                }
                if column == COLUMN_FOLLOWS {
                    column = column.wrapping_add(reader.number());
                }
                let line = memory.line(file).wrapping_add(varint::unzigzag(line) as u32);
                let position = Position { file, line, column: column as u32 };
                memory.remember(position);
                position
            }
            FOLLOWER => *memory.follower(),
            code => memory.recent[usize::from(code - FIRST_RECENT)],
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
        if self.left == 0 || self.reader.ended() {
            return None;
        }
        let (byte, advance) = self.head();
        self.body(byte, advance);
        Some(self.passed(byte & 0x80 != 0))
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
            put(&mut out, start, &rows);
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
            prop_assert!(Rows::read(&bytes, 1).count() <= bytes.len() + 1);
        }
    }
}
