//! DWARF operations (DWARF 5, section 2.5) that boil down to adding and reading.
use super::plan::{Missing, Op};

const DEREF: u8 = 0x06;
const PLUS_UCONST: u8 = 0x23;
const BREG0: u8 = 0x70;
const BREG31: u8 = 0x8f;
const IMPLICIT_VALUE: u8 = 0x9e;
const STACK_VALUE: u8 = 0x9f;

/// The steps of some operations, and whether they lead to memory. `DW_OP_fbreg` has none: among others it may stand for
/// any frame base.
pub fn run(operations: &[u8]) -> Result<(Vec<Op>, bool), Missing> {
    let unsupported = || {
        let hex: Vec<String> = operations.iter().map(|b| format!("{b:02x}")).collect();
        Missing::Unsupported(format!("DWARF operations {}", hex.join(" ")))
    };
    if let [IMPLICIT_VALUE, length @ 1..=8, bytes @ ..] = operations
        && bytes.len() == usize::from(*length)
    {
        let mut value = [0; 8];
        value[..bytes.len()].copy_from_slice(bytes);
        return Ok((vec![Op::Constant(i64::from_le_bytes(value))], false));
    }
    let mut ops: Vec<Op> = vec![];
    let mut rest = operations;
    while let Some((&op, after)) = rest.split_first() {
        rest = after;
        match op {
            BREG0..=BREG31 if ops.is_empty() => {
                ops.push(Op::Register(op - BREG0));
                add(&mut ops, leb(&mut rest, true).ok_or_else(unsupported)?);
            }
            PLUS_UCONST if !ops.is_empty() => add(&mut ops, leb(&mut rest, false).ok_or_else(unsupported)?),
            DEREF if !ops.is_empty() => ops.push(Op::Read(8)),
            STACK_VALUE if rest.is_empty() && !ops.is_empty() => return Ok((ops, false)),
            _ => return Err(unsupported()),
        }
    }
    if ops.is_empty() { Err(unsupported()) } else { Ok((ops, true)) }
}

fn add(ops: &mut Vec<Op>, distance: i64) {
    match ops.last_mut() {
        Some(Op::Add(last)) => *last = last.wrapping_add(distance),
        _ if distance == 0 => {}
        _ => ops.push(Op::Add(distance)),
    }
}

/// A LEB128 number, signed or not, that fits 64 bits.
fn leb(rest: &mut &[u8], is_signed: bool) -> Option<i64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        value |= i64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            let is_negative = is_signed && byte & 0x40 != 0 && shift + 7 < 64;
            return Some(if is_negative { value | -1 << (shift + 7) } else { value });
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(operations: &[u8]) -> Option<(Vec<Op>, bool)> {
        run(operations).ok()
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
    fn what_is_more_than_that_has_no_plan() {
        for operations in
            [&[][..], &[0x75], &[0x75, 0x80], &[0x75, 0, 0x31, 0x1a, STACK_VALUE], &[STACK_VALUE], &[0x31]]
        {
            assert_eq!(plan(operations), None, "{operations:x?}");
        }
    }
}
