//! Location expressions: the frequent ones in one to three bytes, all others as they stand in the debug information.
//!
//! | first byte | meaning |
//! | --- | --- |
//! | `00`–`1f` | `DW_OP_reg0`–`31` |
//! | `20`–`3f` | `DW_OP_lit0`–`31`, `DW_OP_stack_value` |
//! | `40`–`7e` | that many bytes less `40` follow, verbatim |
//! | `7f` | a number and that many bytes follow, verbatim |
//! | `80`–`9f` | `DW_OP_breg0`–`31`, a signed number follows |
//! | `a0`–`bf` | `DW_OP_entry_value (DW_OP_reg0–31)`, `DW_OP_stack_value` |
//! | `c0` | `DW_OP_fbreg`, a signed number follows |
//! | `c1` | a constant and `DW_OP_stack_value`, a signed number follows |
//! | `c2`–`ff` | kept free |
//!
//! In verbatim bytes offsets into `.debug_info` mean nothing any more; addresses are the object's base plus a `Pc`.
use crate::varint::{self, Reader};

/// A location expression (DWARF 5, section 2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expr<'a> {
    /// In this register.
    Register(u8),
    /// This value, nowhere in memory.
    Literal(u8),
    /// This value, nowhere in memory.
    Constant(i64),
    /// In memory at a register plus an offset.
    BasedOn(u8, i64),
    /// The value that this register had when the function was entered.
    EntryValue(u8),
    /// In memory at the frame base plus an offset.
    Frame(i64),
    /// Operations as DWARF encodes them.
    Verbatim(&'a [u8]),
}

const STACK_VALUE: u8 = 0x9f;

/// Appends an expression, given as DWARF operations.
pub fn put(out: &mut Vec<u8>, operations: &[u8]) {
    match *operations {
        [op @ 0x50..=0x6f] => out.push(op - 0x50),
        [op @ 0x30..=0x4f, STACK_VALUE] => out.push(op - 0x30 + 0x20),
        [0xa3 | 0xf3, 1, op @ 0x50..=0x6f, STACK_VALUE] => out.push(op - 0x50 + 0xa0),
        [op @ 0x70..=0x8f, ref rest @ ..] if let Some(offset) = whole_sleb(rest) => {
            out.push(op - 0x70 + 0x80);
            varint::put_signed(out, offset);
        }
        [0x91, ref rest @ ..] if let Some(offset) = whole_sleb(rest) => {
            out.push(0xc0);
            varint::put_signed(out, offset);
        }
        _ if let Some(value) = constant(operations) => {
            out.push(0xc1);
            varint::put_signed(out, value);
        }
        _ => {
            if operations.len() < 0x3f {
                out.push(0x40 + operations.len() as u8);
            } else {
                out.push(0x7f);
                varint::put(out, operations.len() as u64);
            }
            out.extend_from_slice(operations);
        }
    }
}

/// Reads the next expression.
#[inline]
pub fn read<'a>(reader: &mut Reader<'a>) -> Expr<'a> {
    match reader.byte() {
        first @ 0x00..=0x1f => Expr::Register(first),
        first @ 0x20..=0x3f => Expr::Literal(first - 0x20),
        first @ 0x40..=0x7e => Expr::Verbatim(reader.bytes(usize::from(first) - 0x40)),
        0x7f => {
            let length = reader.number32() as usize;
            Expr::Verbatim(reader.bytes(length))
        }
        first @ 0x80..=0x9f => Expr::BasedOn(first - 0x80, reader.signed()),
        first @ 0xa0..=0xbf => Expr::EntryValue(first - 0xa0),
        0xc0 => Expr::Frame(reader.signed()),
        0xc1 => Expr::Constant(reader.signed()),
        _ => Expr::Verbatim(&[]),
    }
}

impl Expr<'_> {
    /// Whether it says nothing: the variable is optimized out here.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Verbatim([]))
    }
    /// Whether nothing of the program is there yet (`DW_OP_GNU_uninit`).
    pub fn is_uninitialized(&self) -> bool {
        matches!(self, Self::Verbatim([.., 0xf0]))
    }
}

/// The value of `DW_OP_const* N, DW_OP_stack_value`. One of eight bytes may be an address and stays as it is.
fn constant(operations: &[u8]) -> Option<i64> {
    let (&STACK_VALUE, rest) = operations.split_last()? else { return None };
    let (op, value) = rest.split_first()?;
    Some(match (op, value) {
        (0x08, [v]) => i64::from(*v),
        (0x09, [v]) => i64::from(*v as i8),
        (0x0a, v) => i64::from(u16::from_le_bytes(v.try_into().ok()?)),
        (0x0b, v) => i64::from(i16::from_le_bytes(v.try_into().ok()?)),
        (0x0c, v) => i64::from(u32::from_le_bytes(v.try_into().ok()?)),
        (0x0d, v) => i64::from(i32::from_le_bytes(v.try_into().ok()?)),
        (0x11, v) => whole_sleb(v)?,
        _ => return None,
    })
}

/// The signed LEB128 number that these bytes are, if they are one and nothing else.
fn whole_sleb(bytes: &[u8]) -> Option<i64> {
    if bytes.is_empty() || bytes.len() > 9 {
        return None;
    }
    let mut value = 0;
    for (i, &byte) in bytes.iter().enumerate() {
        let last = i + 1 == bytes.len();
        if (byte < 0x80) != last {
            return None;
        }
        value |= i64::from(byte & 0x7f) << (7 * i);
        if last && byte & 0x40 != 0 {
            value |= -1 << (7 * (i + 1)).min(63);
        }
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there_and_back(operations: &[u8], length: usize, expected: Expr<'_>) {
        let mut out = vec![];
        put(&mut out, operations);
        assert_eq!(out.len(), length, "{operations:x?}");
        assert_eq!(read(&mut Reader::new(&out)), expected);
    }

    #[test]
    fn frequent_expressions_are_short_and_others_verbatim() {
        there_and_back(&[0x55], 1, Expr::Register(5));
        there_and_back(&[0x31, 0x9f], 1, Expr::Literal(1));
        there_and_back(&[0xa3, 1, 0x54, 0x9f], 1, Expr::EntryValue(4));
        there_and_back(&[0x77, 0x08], 2, Expr::BasedOn(7, 8));
        there_and_back(&[0x7c, 0xc0, 0x7a], 3, Expr::BasedOn(12, -704));
        there_and_back(&[0x91, 0xb8, 0x7f], 3, Expr::Frame(-72));
        there_and_back(&[0x09, 0xde, 0x9f], 2, Expr::Constant(-34));
        there_and_back(&[0x0c, 0xff, 0xff, 0xff, 0xff, 0x9f], 6, Expr::Constant(0xffff_ffff));
        // The value r12-704 is not the memory there: the last operation matters.
        there_and_back(&[0x7c, 0xc0, 0x7a, 0x9f], 5, Expr::Verbatim(&[0x7c, 0xc0, 0x7a, 0x9f]));
        there_and_back(&[], 1, Expr::Verbatim(&[]));
        let long = vec![0x96; 100];
        there_and_back(&long, 102, Expr::Verbatim(&long));
    }
}
