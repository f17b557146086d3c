//! Writes location expressions.
use super::{
    ADDRESS, BASED, BEFORE, Coded, EARLIER, EMPTY, ENTRY_VALUES, EXPRESSION, Expr, FRAME, FRAME_SUM,
    FrameBase, History, LITERALS, MEMORY, NUMBER, OPERATIONS, PREVIOUS, Place, REFERENCE, REGISTER,
    REGISTERS, STACK_VALUE, SUM, VERBATIM_LENGTH, operand, verbatim,
};
use crate::bits::BitWriter;
use crate::codes::Context;

/// What was written of a placement's expressions.
#[derive(Debug)]
pub(crate) struct Written {
    history: History,
    /// Verbatim expressions: their first bytes, the position of their number, and their range of `operations`.
    verbatim: Vec<([u8; 4], usize, std::ops::Range<usize>)>,
    operations: Vec<u8>,
}

impl Default for Written {
    fn default() -> Self {
        Self { history: History::NEW, verbatim: vec![], operations: vec![] }
    }
}

impl Written {
    pub fn clear(&mut self) {
        self.history = History::NEW;
        self.verbatim.clear();
        self.operations.clear();
    }
    /// The position of an equal verbatim expression among the last ones.
    fn find(&self, first: [u8; 4], operations: &[u8]) -> Option<usize> {
        let same = |(known, _, range): &&([u8; 4], _, std::ops::Range<usize>)| {
            *known == first && self.operations[range.clone()] == *operations
        };
        self.verbatim.iter().rev().take(COMPARED).find(same).map(|(_, at, _)| *at)
    }
}

/// Number of recent verbatim expressions that a new one is compared with.
const COMPARED: usize = 16;

/// Appends an expression, given as DWARF operations. `out` starts with the placement's details.
#[inline]
pub(crate) fn put(
    out: &mut BitWriter,
    operations: &[u8],
    base: FrameBase,
    place: Place,
    written: &mut Written,
) {
    let context = EXPRESSION.at(written.history.0[0].group() * 3 + place as u32);
    let Some(coded) = coded(operations, base) else {
        return put_verbatim(out, operations, context, written);
    };
    put_coded(out, coded, context, written);
}

/// Appends an expression as it was read, with the operations of a verbatim one.
#[inline]
pub(crate) fn put_read(
    out: &mut BitWriter,
    expr: &Expr<'_>,
    operations: &[u8],
    place: Place,
    written: &mut Written,
) {
    let context = EXPRESSION.at(written.history.0[0].group() * 3 + place as u32);
    let of = |kind: u32, register: u8, number: i64| Coded { kind: kind as u8, register, number };
    let coded = match *expr {
        Expr::Register(register) => Coded::of(REGISTERS + u32::from(register)),
        Expr::Literal(value) => Coded::of(LITERALS + u32::from(value)),
        Expr::EntryValue(register) => Coded::of(ENTRY_VALUES + u32::from(register)),
        Expr::Constant(number) => of(NUMBER, 0, number),
        Expr::BasedOn(register, number) => of(BASED, register, number),
        Expr::Sum(register, number) => of(SUM, register, number),
        Expr::Frame(number) => of(FRAME, 0, number),
        Expr::FrameSum(number) => of(FRAME_SUM, 0, number),
        Expr::Memory(address) => of(MEMORY, 0, address as i64),
        Expr::Address(address) => of(ADDRESS, 0, address as i64),
        Expr::Verbatim(_) if operations.is_empty() => Coded::of(EMPTY),
        Expr::Verbatim(_) => return put_verbatim(out, operations, context, written),
    };
    put_coded(out, coded, context, written);
}

fn put_coded(out: &mut BitWriter, coded: Coded, context: Context, written: &mut Written) {
    let [previous, before] = written.history.0;
    if coded == previous {
        out.symbol(context, PREVIOUS);
    } else if coded == before {
        out.symbol(context, BEFORE);
    } else {
        out.symbol(context, coded.kind.into());
        let kind = u32::from(coded.kind);
        if let BASED | SUM = kind {
            out.symbol(REGISTER.at(kind - BASED), coded.register.into());
        }
        if let Some(operand) = operand(kind) {
            out.signed(operand, coded.number);
        }
    }
    written.history.add(coded);
}

/// The parts of an expression; `None` if it must be verbatim.
#[inline]
fn coded(operations: &[u8], base: FrameBase) -> Option<Coded> {
    if let &[register @ 0x50..=0x6f] = operations {
        return Some(Coded::of(REGISTERS + u32::from(register) - 0x50));
    }
    let Some((&op, rest)) = operations.split_first() else { return Some(Coded::of(EMPTY)) };
    let (rest, is_value) = match rest {
        [rest @ .., STACK_VALUE] => (rest, true),
        _ => (rest, false),
    };
    let value = u32::from(is_value);
    Some(match (op, rest) {
        (0x30..=0x4f, []) if is_value => Coded::of(LITERALS + u32::from(op) - 0x30),
        (0xa3 | 0xf3, &[1, register @ 0x50..=0x6f]) if is_value => {
            Coded::of(ENTRY_VALUES + u32::from(register) - 0x50)
        }
        _ => match based(op, rest, base, value) {
            Some(coded) => coded,
            None if is_value => Coded { number: constant(op, rest)?, ..Coded::of(NUMBER) },
            None => return None,
        },
    })
}

/// What is a number after a register, the frame's base or nothing: the last is an address in memory.
#[inline]
fn based(op: u8, rest: &[u8], base: FrameBase, value: u32) -> Option<Coded> {
    match (op, base) {
        (0x70..=0x8f, _) => {
            let number = whole_sleb(rest)?;
            Some(Coded { register: op - 0x70, number, ..Coded::of(BASED + value) })
        }
        (0x91, FrameBase::Other) => None,
        (0x91, FrameBase::Register(register)) => {
            let number = whole_sleb(rest)?;
            Some(Coded { register: register & 0x1f, number, ..Coded::of(BASED + value) })
        }
        (0x91, _) => Some(Coded { number: whole_sleb(rest)?, ..Coded::of(FRAME + value) }),
        (0x03, _) => {
            let number = i64::from_le_bytes(rest.try_into().ok()?);
            Some(Coded { number, ..Coded::of(MEMORY + value) })
        }
        _ => None,
    }
}

fn put_verbatim(out: &mut BitWriter, operations: &[u8], context: Context, written: &mut Written) {
    let mut first = [0; 4];
    let some = operations.len().min(first.len());
    first[..some].copy_from_slice(&operations[..some]);
    let known = written.find(first, operations);
    let of = |at: usize| Coded { number: at as i64, ..Coded::of(OPERATIONS) };
    let [previous, before] = written.history.0;
    // Shorter ones take no more space than a reference.
    let at = match known {
        Some(at) if of(at) == previous => {
            out.symbol(context, PREVIOUS);
            at
        }
        Some(at) if of(at) == before => {
            out.symbol(context, BEFORE);
            at
        }
        Some(at) if operations.len() > 3 => {
            out.symbol(context, EARLIER);
            out.number(REFERENCE, (out.position() - at) as u64);
            at
        }
        _ => {
            out.symbol(context, OPERATIONS);
            let at = out.position();
            out.number(VERBATIM_LENGTH, operations.len() as u64);
            let mut before = None;
            for byte in operations {
                out.symbol(verbatim(before), (*byte).into());
                before = Some(*byte);
            }
            let start = written.operations.len();
            written.operations.extend_from_slice(operations);
            written.verbatim.push((first, at, start..written.operations.len()));
            at
        }
    };
    written.history.add(of(at));
}

/// The value of `DW_OP_const* N`. One of eight bytes may be an address and stays verbatim.
pub(super) fn constant(op: u8, operand: &[u8]) -> Option<i64> {
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
pub fn put_sleb(out: &mut Vec<u8>, mut value: i64) {
    while !(-0x40..0x40).contains(&value) {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8 & 0x7f);
}
