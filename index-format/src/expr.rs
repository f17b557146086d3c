//! Location expressions: frequent ones take one to three bytes, all others are verbatim DWARF.
//!
//! | first byte | meaning |
//! | --- | --- |
//! | `00`–`1f` | `DW_OP_reg0`–`31` |
//! | `20`–`3f` | `DW_OP_lit0`–`31`, `DW_OP_stack_value` |
//! | `40`–`7e` | verbatim bytes follow, as many as this byte less `40` |
//! | `7f` | a number and that many verbatim bytes follow |
//! | `80`–`9f` | `DW_OP_breg0`–`31`, a signed number follows |
//! | `a0`–`bf` | `DW_OP_entry_value (DW_OP_reg0–31)`, `DW_OP_stack_value` |
//! | `c0` | `DW_OP_fbreg`, if the frame base is the CFA ([`frames`](crate::frames)), a signed number follows |
//! | `c1` | a constant and `DW_OP_stack_value`, a signed number follows |
//! | `c2` | as `c0`, then `DW_OP_stack_value`, a signed number follows |
//! | `c3` | `DW_OP_addr` of eight bytes, a signed number follows |
//! | `c4` | `DW_OP_addr` of eight bytes, `DW_OP_stack_value`, a signed number follows |
//! | `c5` | the verbatim expression at this distance from the start of the details: a number follows |
//! | `c6`–`df` | reserved |
//! | `e0`–`ff` | `DW_OP_breg0–31`, `DW_OP_stack_value`, a signed number follows |
//!
//! If the frame base is a register, `DW_OP_fbreg` becomes that register's `DW_OP_breg`; if it is anything else, the
//! expression is verbatim. In verbatim bytes, offsets into `.debug_info` have no meaning, and addresses are the
//! object's base plus a `Pc`. Operands of fixed size are little-endian for all objects; only the bytes of
//! `DW_OP_implicit_value` are as in its memory.
use crate::varint::{self, Reader};
use std::borrow::Cow;

/// A location expression (DWARF 5, section 2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expr<'a> {
    /// In this register.
    Register(u8),
    /// This value, not in memory.
    Literal(u8),
    /// This value, not in memory.
    Constant(i64),
    /// In memory, at a register plus an offset.
    BasedOn(u8, i64),
    /// The value of this register at the function's entry.
    EntryValue(u8),
    /// A register plus an offset, not in memory.
    Sum(u8, i64),
    /// In memory, at the canonical frame address plus an offset.
    Frame(i64),
    /// The canonical frame address plus an offset, not in memory.
    FrameSum(i64),
    /// In memory at this address.
    Memory(u64),
    /// This address, not in memory.
    Address(u64),
    /// Operations in DWARF's encoding.
    Verbatim(&'a [u8]),
}

/// The base of `DW_OP_fbreg`: the function's `DW_AT_frame_base`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FrameBase {
    /// The canonical frame address (`DW_OP_call_frame_cfa`), as from GCC.
    #[default]
    Cfa,
    /// The value of this register (`DW_OP_reg0`–`31`), as from clang.
    Register(u8),
    /// Unknown, or changes within the function.
    Other,
}

const STACK_VALUE: u8 = 0x9f;

/// The verbatim expressions of a placement's details: their first four bytes, the offset of the code, and the offset
/// of the operations.
pub(crate) type Earlier = Vec<([u8; 4], u32, u32)>;

/// Number of recent verbatim expressions that a new one is compared with.
const COMPARED: usize = 16;

/// Appends an expression, given as DWARF operations. `out` starts with the placement's details.
#[inline]
pub(crate) fn put(out: &mut Vec<u8>, operations: &[u8], base: FrameBase, earlier: &mut Earlier) {
    if let &[register @ 0x50..=0x6f] = operations {
        return out.push(register - 0x50);
    }
    let (op, rest) = operations.split_first().map_or((0, operations), |(op, rest)| (*op, rest));
    let (rest, is_value) = match rest {
        [rest @ .., STACK_VALUE] => (rest, true),
        _ => (rest, false),
    };
    match (op, rest, is_value) {
        (0x30..=0x4f, [], true) => out.push(op - 0x30 + 0x20),
        (0xa3 | 0xf3, [1, register @ 0x50..=0x6f], true) => out.push(register - 0x50 + 0xa0),
        (0x70..=0x8f, _, _) if let Some(offset) = whole_sleb(rest) => {
            out.push(op - 0x70 + if is_value { 0xe0 } else { 0x80 });
            varint::put_signed(out, offset);
        }
        (0x91, _, _)
            if base != FrameBase::Other
                && let Some(offset) = whole_sleb(rest) =>
        {
            out.push(match base {
                FrameBase::Register(register) => register & 0x1f | if is_value { 0xe0 } else { 0x80 },
                _ if is_value => 0xc2,
                _ => 0xc0,
            });
            varint::put_signed(out, offset);
        }
        (0x03, address, _) if let Ok(address) = address.try_into() => {
            out.push(if is_value { 0xc4 } else { 0xc3 });
            varint::put_signed(out, i64::from_le_bytes(address));
        }
        _ if is_value && let Some(value) = constant(op, rest) => {
            out.push(0xc1);
            varint::put_signed(out, value);
        }
        _ => put_verbatim(out, operations, earlier),
    }
}

fn put_verbatim(out: &mut Vec<u8>, operations: &[u8], earlier: &mut Earlier) {
    let code = out.len() as u32;
    let put_length = |out: &mut Vec<u8>| {
        if operations.len() < 0x3f {
            out.push(0x40 + operations.len() as u8);
        } else {
            out.push(0x7f);
            varint::put(out, operations.len() as u64);
        }
    };
    // Shorter ones take no more space than a reference.
    if let Some(&first) = operations.first_chunk::<4>() {
        put_length(out);
        let length = &out[code as usize..];
        let same = |&&(known, at, start): &&([u8; 4], u32, u32)| {
            known == first
                && out[at as usize..start as usize] == *length
                && out[start as usize..].starts_with(operations)
        };
        if let Some(&(_, at, _)) = earlier.iter().rev().take(COMPARED).find(same) {
            out.truncate(code as usize);
            out.push(0xc5);
            return varint::put(out, at.into());
        }
        earlier.push((first, code, out.len() as u32));
    } else {
        put_length(out);
    }
    out.extend_from_slice(operations);
}

/// Reads the next expression in these details.
#[inline]
pub(crate) fn read<'a>(reader: &mut Reader<'a>, details: &'a [u8]) -> Expr<'a> {
    match reader.byte() {
        first @ 0x00..=0x1f => Expr::Register(first),
        first @ 0x20..=0x3f => Expr::Literal(first - 0x20),
        first @ 0x40..=0x7f => read_verbatim(first, reader),
        first @ 0x80..=0x9f => Expr::BasedOn(first - 0x80, reader.signed()),
        first @ 0xa0..=0xbf => Expr::EntryValue(first - 0xa0),
        0xc0 => Expr::Frame(reader.signed()),
        0xc1 => Expr::Constant(reader.signed()),
        0xc2 => Expr::FrameSum(reader.signed()),
        0xc3 => Expr::Memory(reader.signed() as u64),
        0xc4 => Expr::Address(reader.signed() as u64),
        0xc5 => {
            let mut reader = Reader::new(details.get(reader.number32() as usize..).unwrap_or_default());
            let first = reader.byte();
            read_verbatim(first, &mut reader)
        }
        first @ 0xe0..=0xff => Expr::Sum(first - 0xe0, reader.signed()),
        _ => Expr::Verbatim(&[]),
    }
}

/// A verbatim expression after its first byte.
fn read_verbatim<'a>(first: u8, reader: &mut Reader<'a>) -> Expr<'a> {
    let length = match first {
        0x40..=0x7e => usize::from(first) - 0x40,
        0x7f => reader.number32() as usize,
        _ => 0,
    };
    Expr::Verbatim(reader.bytes(length))
}

impl<'a> Expr<'a> {
    /// The operations in DWARF 5's encoding: byte for byte those of the debug information, except that a constant may
    /// have had another width, and an entry value the opcode used before DWARF 5.
    pub fn operations(self) -> Cow<'a, [u8]> {
        let with_number = |op: u8, number: i64, is_value: bool| {
            let mut bytes = vec![op];
            put_sleb(&mut bytes, number);
            if is_value {
                bytes.push(STACK_VALUE);
            }
            bytes
        };
        let address = |address: u64| [&[0x03], &address.to_le_bytes()[..]].concat();
        Cow::Owned(match self {
            Self::Register(register) => vec![0x50 + register],
            Self::Literal(value) => vec![0x30 + value, STACK_VALUE],
            Self::Constant(value) => with_number(0x11, value, true),
            Self::BasedOn(register, offset) => with_number(0x70 + register, offset, false),
            Self::Sum(register, offset) => with_number(0x70 + register, offset, true),
            Self::EntryValue(register) => vec![0xa3, 1, 0x50 + register, STACK_VALUE],
            Self::Frame(offset) => with_number(0x91, offset, false),
            Self::FrameSum(offset) => with_number(0x91, offset, true),
            Self::Memory(at) => address(at),
            Self::Address(at) => [&address(at)[..], &[STACK_VALUE]].concat(),
            Self::Verbatim(operations) => return Cow::Borrowed(operations),
        })
    }
    /// Whether it is empty: the variable is optimized out here.
    pub fn is_empty(&self) -> bool {
        matches!(self, Self::Verbatim([]))
    }
    /// Whether the variable is not yet initialized (`DW_OP_GNU_uninit`).
    pub fn is_uninitialized(&self) -> bool {
        matches!(self, Self::Verbatim([.., 0xf0]))
    }
}

/// The value of `DW_OP_const* N`. One of eight bytes may be an address and stays verbatim.
fn constant(op: u8, operand: &[u8]) -> Option<i64> {
    Some(match (op, operand) {
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

/// The value of these bytes, if they are exactly one signed LEB128 number in its shortest form.
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
    match bytes {
        [.., before, 0x00] if before & 0x40 == 0 => None,
        [.., before, 0x7f] if before & 0x40 != 0 => None,
        _ => Some(value),
    }
}

/// Appends a number as signed LEB128.
fn put_sleb(out: &mut Vec<u8>, mut value: i64) {
    while !(-0x40..0x40).contains(&value) {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8 & 0x7f);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn there_and_back(operations: &[u8], length: usize, expected: Expr<'_>) {
        let mut out = vec![];
        put(&mut out, operations, FrameBase::Cfa, &mut vec![]);
        assert_eq!(out.len(), length, "{operations:x?}");
        assert_eq!(read(&mut Reader::new(&out), &out), expected);
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
        // The value r12-704 is not the memory at that address: the last operation matters.
        there_and_back(&[0x7c, 0xc0, 0x7a, 0x9f], 3, Expr::Sum(12, -704));
        there_and_back(&[0x91, 0x40, 0x9f], 2, Expr::FrameSum(-64));
        let address = [0x03, 0xc0, 0x11, 0x2a, 0x82, 0xff, 0xff, 0xff, 0xff];
        there_and_back(&address, 6, Expr::Memory(0xffff_ffff_822a_11c0));
        there_and_back(&[&address[..], &[0x9f]].concat(), 6, Expr::Address(0xffff_ffff_822a_11c0));
        // A number in more bytes than needed stays verbatim.
        there_and_back(&[0x77, 0x88, 0x00], 4, Expr::Verbatim(&[0x77, 0x88, 0x00]));
        there_and_back(&[], 1, Expr::Verbatim(&[]));
        let long = vec![0x96; 100];
        there_and_back(&long, 102, Expr::Verbatim(&long));
    }

    #[test]
    fn the_frame_base_decides_what_an_offset_from_it_is() {
        let based = |base, operations: &[u8]| {
            let mut out = vec![];
            put(&mut out, operations, base, &mut vec![]);
            read(&mut Reader::new(&out), &out).operations().into_owned()
        };
        assert_eq!(based(FrameBase::Register(7), &[0x91, 0x40]), [0x77, 0x40]);
        assert_eq!(based(FrameBase::Register(6), &[0x91, 0x40, 0x9f]), [0x76, 0x40, 0x9f]);
        let mut out = vec![];
        put(&mut out, &[0x91, 0x40], FrameBase::Other, &mut vec![]);
        assert_eq!(read(&mut Reader::new(&out), &out), Expr::Verbatim(&[0x91, 0x40]));
    }

    #[test]
    fn a_verbatim_expression_that_comes_again_is_a_reference() {
        let (mut out, mut earlier) = (vec![9, 9], vec![]);
        let operations = [0x70, 0x00, 0x06, 0x23, 0x08];
        put(&mut out, &operations, FrameBase::Cfa, &mut earlier);
        let second = out.len();
        put(&mut out, &operations, FrameBase::Cfa, &mut earlier);
        assert_eq!(out[second..], [0xc5, 2]);
        assert_eq!(read(&mut Reader::new(&out[second..]), &out), Expr::Verbatim(&operations));
    }

    proptest! {
        #[test]
        fn all_operations_are_given_back(operations in prop::collection::vec(any::<u8>(), 0..12)) {
            exactly(&operations)?;
        }

        #[test]
        fn operations_with_a_number_are_given_back(op in prop::sample::select(&[0x70u8, 0x8f, 0x91, 0x11][..]), number: i64, is_value: bool) {
            let mut operations = vec![op];
            put_sleb(&mut operations, number);
            if is_value {
                operations.push(STACK_VALUE);
            }
            exactly(&operations)?;
        }

        #[test]
        fn damaged_expressions_are_read(bytes in prop::collection::vec(any::<u8>(), 0..12)) {
            let mut reader = Reader::new(&bytes);
            while !reader.rest().is_empty() {
                let before = reader.rest().len();
                read(&mut reader, &bytes).operations();
                prop_assert!(reader.rest().len() < before);
            }
        }
    }

    /// Checks that these operations are read as they were written; constants at least by value.
    fn exactly(operations: &[u8]) -> Result<(), TestCaseError> {
        let mut out = vec![];
        put(&mut out, operations, FrameBase::Cfa, &mut vec![]);
        match read(&mut Reader::new(&out), &out) {
            Expr::Constant(value) => {
                let [op, operand @ .., STACK_VALUE] = operations else { panic!("{operations:x?}") };
                prop_assert_eq!(constant(*op, operand), Some(value));
            }
            // The opcode of older compilers.
            Expr::EntryValue(_) if operations[0] == 0xf3 => {}
            expr => prop_assert_eq!(&*expr.operations(), operations),
        }
        Ok(())
    }
}
