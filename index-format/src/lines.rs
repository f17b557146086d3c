//! Line rows: about two bytes each.
//!
//! The rows of one sequence start at `SequenceRecord::rows` with their number; the registers are address = the
//! sequence's start, file 0, line 0, column 0 and an empty list of recent positions. Then a byte for each row:
//!
//! | bits | meaning |
//! | --- | --- |
//! | 7 | `is_stmt` |
//! | 6–4 | how far the address advances; 7: a number follows that is added |
//! | 3–0 | 0: the position (file, line, column) is that of the row before; 1: line and column follow; 2: file, line and column follow; 3–15: that of the list, less 3 |
//!
//! Line and column are a byte: the upper three bits the line less the one before as zigzag (7: a number follows that
//! is added), the lower five the column (31: a number follows that is added). Such a position replaces the oldest entry
//! of the list of 13.
use crate::varint::{self, Reader};

/// A row of a line table (DWARF 5, section 6.2.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The address, as a `Pc`.
    pub pc: u32,
    /// The position in the source text.
    pub position: Position,
    /// Whether it is a recommended breakpoint location.
    pub is_stmt: bool,
}

/// A position in a source text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// Position in the unit's files.
    pub file: u32,
    /// Line, from 1; 0 none.
    pub line: u32,
    /// Column, from 1; 0 unknown.
    pub column: u32,
}

const RECENT: usize = 13;
const ADVANCE_FOLLOWS: u32 = 7;
const LINE_FOLLOWS: u64 = 7;
const COLUMN_FOLLOWS: u64 = 31;

#[derive(Clone, Debug, Default)]
struct Registers {
    position: Position,
    recent: [Position; RECENT],
    oldest: usize,
}

impl Registers {
    fn remember(&mut self, position: Position) {
        self.recent[self.oldest] = position;
        self.oldest = (self.oldest + 1) % RECENT;
    }
}

/// A number that is the same for the same position, and mostly for no other: quicker to compare.
fn key(position: Position) -> u32 {
    position.file.rotate_left(27) ^ position.line << 9 ^ position.column
}

/// Appends the rows of one sequence, which start at `start` and whose addresses do not fall.
pub fn put(out: &mut Vec<u8>, start: u32, rows: &[Row]) {
    varint::put(out, rows.len() as u64);
    let mut registers = Registers::default();
    let mut keys = [key(Position::default()); RECENT];
    let mut pc = start;
    for row in rows {
        let advance = row.pc.wrapping_sub(pc);
        pc = row.pc;
        let before = registers.position;
        let key = key(row.position);
        let known = || {
            // All are compared at once, which the compiler turns into a few instructions.
            let equal = (0..RECENT).fold(0u32, |bits, at| bits | u32::from(keys[at] == key) << at);
            let at = equal.trailing_zeros() as usize;
            registers.recent.get(at).filter(|p| **p == row.position).map(|_| at)
        };
        let code = if row.position == before {
            0
        } else if let Some(at) = known() {
            at as u8 + 3
        } else {
            1 + u8::from(row.position.file != before.file)
        };
        out.push(u8::from(row.is_stmt) << 7 | (advance.min(ADVANCE_FOLLOWS) as u8) << 4 | code);
        if advance >= ADVANCE_FOLLOWS {
            varint::put(out, (advance - ADVANCE_FOLLOWS).into());
        }
        if matches!(code, 1 | 2) {
            if code == 2 {
                varint::put(out, row.position.file.into());
            }
            let line = varint::zigzag(i64::from(row.position.line) - i64::from(before.line));
            let column = u64::from(row.position.column);
            out.push((line.min(LINE_FOLLOWS) << 5 | column.min(COLUMN_FOLLOWS)) as u8);
            if line >= LINE_FOLLOWS {
                varint::put(out, line - LINE_FOLLOWS);
            }
            if column >= COLUMN_FOLLOWS {
                varint::put(out, column - COLUMN_FOLLOWS);
            }
            keys[registers.oldest] = key;
            registers.remember(row.position);
        }
        registers.position = row.position;
    }
}

/// The rows of one sequence, in order of their addresses. Cost: linear in what is read.
#[derive(Clone, Debug)]
pub struct Rows<'a> {
    reader: Reader<'a>,
    left: u32,
    pc: u32,
    registers: Registers,
}

impl<'a> Rows<'a> {
    /// Reads a sequence that starts at this address from the bytes at its offset.
    pub fn read(bytes: &'a [u8], start: u32) -> Self {
        let mut reader = Reader::new(bytes);
        let left = reader.number32();
        Self { reader, left, pc: start, registers: Registers::default() }
    }
}

impl Iterator for Rows<'_> {
    type Item = Row;

    #[inline]
    fn next(&mut self) -> Option<Row> {
        if self.left == 0 || self.reader.ended() {
            return None;
        }
        self.left -= 1;
        let reader = &mut self.reader;
        let byte = reader.byte();
        let mut advance = u32::from(byte >> 4 & 7);
        if advance == ADVANCE_FOLLOWS {
            advance = advance.wrapping_add(reader.number32());
        }
        self.pc = self.pc.wrapping_add(advance);
        let registers = &mut self.registers;
        match byte & 15 {
            0 => {}
            code @ (1 | 2) => {
                let position = &mut registers.position;
                if code == 2 {
                    position.file = reader.number32();
                }
                let byte = reader.byte();
                let (mut line, mut column) = (u64::from(byte >> 5), u64::from(byte & 31));
                if line == LINE_FOLLOWS {
                    line = line.wrapping_add(reader.number());
                }
                if column == COLUMN_FOLLOWS {
                    column = column.wrapping_add(reader.number());
                }
                position.line = position.line.wrapping_add(varint::unzigzag(line) as u32);
                position.column = column as u32;
                registers.remember(registers.position);
            }
            code => registers.position = registers.recent[usize::from(code) - 3],
        }
        Some(Row { pc: self.pc, position: registers.position, is_stmt: byte & 0x80 != 0 })
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
        fn damaged_rows_end(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            prop_assert!(Rows::read(&bytes, 1).count() <= bytes.len() + 1);
        }
    }
}
