//! DWARF operations (DWARF 5, section 2.5) that reduce to additions, memory reads and bit selection; and pieces
//! (2.6.1.2).
mod kept;
mod numbers;
mod opcodes;
mod operands;

pub(crate) use operands::skip_operands;

use super::plan::{Missing, Op, Piece, Plan};
use kept::Kept;
use numbers::{folded, signed_word};
use opcodes::*;
use operands::{constant, signed, unsigned};
use probeidx_format::ByteOrder;
use probeidx_format::expr::is_implicit_pointer;

/// Where operations are run.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// Whether the registers hold their values at the function's entry.
    pub is_entry: bool,
    /// The order of the bytes of a value in the object.
    pub order: ByteOrder,
    /// The size of an address and of the stack entries.
    pub word: u8,
    /// The register and the offset that make the canonical frame address, if known.
    pub cfa: Option<(u8, i64)>,
}

/// The plan of a sequence of operations. `DW_OP_fbreg` has no plan: what is left of it in an index is in a frame without a known base.
///
/// Operands are little-endian, as the index stores them.
pub fn run(operations: &[u8], context: Context) -> Result<Plan, Missing> {
    match pieces(operations, context) {
        Some(pieces) if !pieces.is_empty() => Ok(Plan { pieces, ..Plan::default() }),
        _ => simple(operations, context),
    }
}

/// The pieces of a value; `None` if they cannot be decoded.
fn pieces(operations: &[u8], context: Context) -> Option<Vec<Piece>> {
    let (mut found, mut rest) = (vec![], operations);
    let mut first = rest;
    while let Some((&op, after)) = rest.split_first() {
        let place = &first[..first.len() - rest.len()];
        rest = after;
        let bits = match op {
            PIECE => unsigned(&mut rest)?.checked_mul(8)?,
            BIT_PIECE => {
                let bits = unsigned(&mut rest)?;
                // A piece that starts above the lowest bit: no compiler of kernels writes that.
                (unsigned(&mut rest)? == 0).then_some(bits)?
            }
            _ => {
                skip_operands(op, &mut rest)?;
                continue;
            }
        };
        let plan = match place {
            [] => Err(Missing::OptimizedOut),
            place => simple(place, context),
        };
        found.push(Piece { bits, plan });
        first = rest;
    }
    // Nothing may follow the last piece.
    (first.is_empty() || found.is_empty()).then_some(found)
}

fn simple(operations: &[u8], context: Context) -> Result<Plan, Missing> {
    let Context { is_entry, order, word, cfa } = context;
    let unsupported = || {
        let hex: Vec<String> = operations.iter().map(|b| format!("{b:02x}")).collect();
        Missing::Unsupported(format!("DWARF operations {}", hex.join(" ")))
    };
    match *operations {
        [register @ REG0..=REG31] => return Ok(Plan::number(vec![Op::Register(register - REG0)])),
        [IMPLICIT_VALUE, length @ 1..=8, ref bytes @ ..] if bytes.len() == usize::from(length) => {
            return Ok(Plan::number(vec![Op::Constant(order.number(bytes).ok_or_else(unsupported)? as i64)]));
        }
        [op, ..] if is_implicit_pointer(op) => {
            return Err(Missing::Unsupported("a pointer to what is not in memory".to_owned()));
        }
        _ => {}
    }
    if let [REGX, number @ ..] = operations
        && let Some(number) = unsigned(&mut &*number)
    {
        return Err(Missing::Unsupported(format!("the kernel has no name for DWARF register {number}")));
    }
    if let Some(number) = folded(operations, word) {
        return Ok(Plan::number(vec![Op::Constant(number)]));
    }
    let mut ops: Vec<Op> = vec![];
    let all = Kept::all(word);
    let mut kept = all;
    let mut rest = operations;
    while let Some((&op, after)) = rest.split_first() {
        rest = after;
        match op {
            BREG0..=BREG31 if ops.is_empty() => {
                ops.push(Op::Register(op - BREG0));
                add(&mut ops, signed(&mut rest).ok_or_else(unsupported)?);
            }
            CALL_FRAME_CFA if ops.is_empty() => {
                let (register, distance) = cfa.ok_or_else(unknown_frame)?;
                ops.push(Op::Register(register));
                add(&mut ops, distance);
            }
            _ if ENTRY_VALUE.contains(&op) && ops.is_empty() && is_entry => {
                let [1, register @ REG0..=REG31, after @ ..] = rest else { return Err(unsupported()) };
                ops.push(Op::Register(register - REG0));
                rest = after;
            }
            STACK_VALUE if rest.is_empty() && !ops.is_empty() => {
                let bits = kept.bits().ok_or_else(unsupported)?;
                return Ok(Plan { bits, ..Plan::number(ops) });
            }
            PLUS_UCONST if !ops.is_empty() && kept == all => {
                add(&mut ops, unsigned(&mut rest).ok_or_else(unsupported)? as i64);
            }
            DEREF if !ops.is_empty() && kept == all => ops.push(Op::Read(word)),
            DEREF_SIZE if !ops.is_empty() && kept == all => {
                let (&size, after) = rest
                    .split_first()
                    .filter(|(s, _)| [1, 2, 4].contains(*s) && **s < word)
                    .ok_or_else(unsupported)?;
                rest = after;
                ops.push(Op::Read(size));
                kept.width = u32::from(size) * 8;
            }
            _ if !ops.is_empty() => {
                let number = constant(op, &mut rest).ok_or_else(unsupported)?;
                let (&operation, after) = rest.split_first().ok_or_else(unsupported)?;
                rest = after;
                match operation {
                    PLUS if kept == all => add(&mut ops, signed_word(number, word)),
                    MINUS if kept == all => add(&mut ops, signed_word(number, word).wrapping_neg()),
                    _ => kept = kept.after(operation, number).ok_or_else(unsupported)?,
                }
            }
            _ => return Err(unsupported()),
        }
    }
    match kept == all && !ops.is_empty() {
        true => Ok(Plan { in_memory: true, ..Plan::number(ops) }),
        false => Err(unsupported()),
    }
}

/// Whether some of the operations are `DW_OP_call_frame_cfa`.
pub(super) fn counts_from_frame(operations: &[u8]) -> bool {
    let mut rest = operations;
    while let Some((&op, after)) = rest.split_first() {
        rest = after;
        if op == CALL_FRAME_CFA {
            return true;
        }
        if skip_operands(op, &mut rest).is_none() {
            return false;
        }
    }
    false
}

/// Why there is no plan for what is in a frame.
pub(super) fn unknown_frame() -> Missing {
    Missing::Unsupported("in the frame, of which nothing is known here".to_owned())
}

fn add(ops: &mut Vec<Op>, distance: i64) {
    match ops.last_mut() {
        Some(Op::Add(last)) => *last = last.wrapping_add(distance),
        _ if distance == 0 => {}
        _ => ops.push(Op::Add(distance)),
    }
}

#[cfg(test)]
mod tests {
    use super::super::plan::Bits;
    use super::*;

    const LITTLE: ByteOrder = ByteOrder::Little;

    fn context(is_entry: bool, order: ByteOrder, word: u8) -> Context {
        Context { is_entry, order, word, cfa: Some((7, 16)) }
    }

    fn plan(operations: &[u8]) -> Option<(Vec<Op>, bool)> {
        run(operations, context(false, LITTLE, 8)).ok().map(|p| (p.ops, p.in_memory))
    }

    #[test]
    fn adding_and_reading_are_told_apart() {
        assert_eq!(
            plan(&[0x7c, 0xc0, 0x7a, STACK_VALUE]),
            Some((vec![Op::Register(12), Op::Add(-704)], false))
        );
        assert_eq!(
            plan(&[0x75, 0x08, DEREF, PLUS_UCONST, 0x10]),
            Some((vec![Op::Register(5), Op::Add(8), Op::Read(8), Op::Add(16)], true))
        );
    }

    #[test]
    fn a_number_is_a_value_by_itself() {
        assert_eq!(plan(&[0x32, STACK_VALUE]), Some((vec![Op::Constant(2)], false)));
        assert_eq!(plan(&[0x09, 0xff, STACK_VALUE]), Some((vec![Op::Constant(-1)], false)));
        assert_eq!(plan(&[0x32, 0x33, STACK_VALUE]), None);
        // 16 << 14; ~0; (5 - 7) < 0; 1 << 31 as a signed number of 32 bits.
        assert_eq!(plan(&[0x40, 0x3e, SHL, STACK_VALUE]), Some((vec![Op::Constant(1 << 18)], false)));
        assert_eq!(plan(&[0x30, NOT, STACK_VALUE]), Some((vec![Op::Constant(-1)], false)));
        assert_eq!(plan(&[0x35, 0x37, MINUS, 0x30, LT, STACK_VALUE]), Some((vec![Op::Constant(1)], false)));
        let narrow = run(&[0x31, 0x4f, SHL, STACK_VALUE], context(false, LITTLE, 4)).unwrap().ops;
        assert_eq!(narrow, [Op::Constant(i64::from(i32::MIN))]);
        assert_eq!(plan(&[STACK_VALUE]), None);
        // A length that rustc knows, beside a pointer.
        let pieces =
            run(&[0x55, PIECE, 8, 0x32, STACK_VALUE, PIECE, 8], context(false, LITTLE, 8)).unwrap().pieces;
        assert_eq!(pieces[1].plan.as_ref().unwrap().ops, [Op::Constant(2)]);
    }

    #[test]
    fn the_frame_is_counted_from_its_address() {
        let read = vec![Op::Register(7), Op::Add(-256), Op::Read(8), Op::Add(16)];
        let operations = [CALL_FRAME_CFA, 0x11, 0xf0, 0x7d, PLUS, DEREF, PLUS_UCONST, 0x10, STACK_VALUE];
        assert_eq!(plan(&operations), Some((read, false)));
        assert_eq!(plan(&[CALL_FRAME_CFA]), Some((vec![Op::Register(7), Op::Add(16)], true)));
        assert_eq!(plan(&[0x75, 0, 0x38, MINUS]), Some((vec![Op::Register(5), Op::Add(-8)], true)));
        let unknown = Context { cfa: None, ..context(false, LITTLE, 8) };
        assert_eq!(run(&[CALL_FRAME_CFA], unknown), Err(unknown_frame()));
    }

    #[test]
    fn masks_and_shifts_keep_bits() {
        type Case<'a> = (&'a [u8], (u32, u32, bool));
        let cases: [Case<'_>; 8] = [
            (&[0x0c, 0xff, 0xff, 0xff, 0xff, AND], (0, 32, false)),
            (&[0x08, 0xff, AND], (0, 8, false)),
            (&[0x4f, AND], (0, 5, false)),
            (&[0x38, SHR, 0x08, 0xff, AND], (8, 8, false)),
            (&[0x08, 0x20, SHL, 0x08, 0x20, SHRA], (0, 32, true)),
            (&[0x08, 0x20, SHL, 0x08, 0x30, SHR], (16, 16, false)),
            (&[0x08, 0x30, SHR], (48, 16, false)),
            // The highest bit is not from the value: it is 0.
            (&[0x0a, 0xff, 0xff, AND, 0x38, SHRA], (8, 8, false)),
        ];
        for (operations, (lowest, width, is_signed)) in cases {
            let whole = [&[0x70, 0], operations, &[STACK_VALUE]].concat();
            let plan = run(&whole, context(false, LITTLE, 8)).unwrap();
            assert_eq!(plan.bits, Some(Bits { lowest, width, is_signed }), "{operations:x?}");
        }
        let read = run(&[0x75, 0x10, DEREF_SIZE, 4, STACK_VALUE], context(false, LITTLE, 8)).unwrap();
        assert_eq!(read.ops, [Op::Register(5), Op::Add(16), Op::Read(4)]);
        assert_eq!(read.bits.map(|b| b.width), Some(32));
        // A mask of all bits loses nothing.
        let all = [&[0x70, 0, 0x0e], &[0xff; 8][..], &[AND, STACK_VALUE]].concat();
        assert_eq!(run(&all, context(false, LITTLE, 8)).unwrap().bits, None);
    }

    #[test]
    fn pieces_are_plans_of_their_own() {
        let pieces = |operations: &[u8]| {
            let plan = run(operations, context(true, LITTLE, 8)).unwrap();
            let piece = |p: Piece| (p.bits, p.plan.ok().map(|p| (p.ops, p.in_memory)));
            plan.pieces.into_iter().map(piece).collect::<Vec<_>>()
        };
        let register = |n| Some((vec![Op::Register(n)], false));
        assert_eq!(pieces(&[0x55, PIECE, 8, 0x54, PIECE, 4]), [(64, register(5)), (32, register(4))]);
        assert_eq!(pieces(&[0x52, PIECE, 8, PIECE, 8]), [(64, register(2)), (64, None)]);
        // Pieces are independent: one without a plan does not affect the others.
        let operations = [
            0x5e,
            PIECE,
            8,
            0x91,
            8,
            DEREF_SIZE,
            1,
            0x31,
            AND,
            STACK_VALUE,
            BIT_PIECE,
            1,
            0,
            BIT_PIECE,
            63,
            0,
        ];
        assert_eq!(pieces(&operations), [(64, register(14)), (1, None), (63, None)]);
        let operations = [0xa3, 1, 0x55, STACK_VALUE, PIECE, 8, 0x77, 0x10, PIECE, 8];
        let memory = Some((vec![Op::Register(7), Op::Add(16)], true));
        assert_eq!(pieces(&operations), [(64, register(5)), (64, memory)]);
    }

    #[test]
    fn what_is_more_than_that_has_no_plan() {
        let cases: [&[u8]; 15] = [
            &[],
            &[0x75],
            &[0x75, 0x80],
            &[STACK_VALUE],
            &[0x31],
            // Not a run of low bits; bits that are not shifted back; nothing kept; a mask before a memory read.
            &[0x75, 0, 0x32, AND, STACK_VALUE],
            &[0x75, 0, 0x38, SHL, STACK_VALUE],
            &[0x75, 0, 0x30, AND, STACK_VALUE],
            &[0x75, 0, 0x31, AND],
            &[0x75, 0, 0x31, AND, PLUS_UCONST, 1, STACK_VALUE],
            &[0x75, 0, 0x08, 64, SHR, STACK_VALUE],
            &[0x75, 0, 0x31, MUL, STACK_VALUE],
            // Pieces that end early, that start at another bit, or with something after them.
            &[0x55, PIECE],
            &[0x55, BIT_PIECE, 8, 1],
            &[0x55, PIECE, 8, 0x54],
        ];
        for operations in cases {
            assert!(run(operations, context(false, LITTLE, 8)).is_err(), "{operations:x?}");
        }
        // After the entry, an entry value is not in a register.
        assert!(run(&[0xa3, 1, 0x55, STACK_VALUE], context(false, LITTLE, 8)).is_err());
    }
}
