//! What operations make of numbers alone.
use super::opcodes::*;
use super::operands::{constant, unsigned};

/// The number that operations on numbers alone make, which GCC leaves to the reader: `DW_OP_lit16`, `DW_OP_lit14`, `DW_OP_shl`.
pub fn folded(operations: &[u8], word: u8) -> Option<i64> {
    let [operations @ .., STACK_VALUE] = operations else { return None };
    let mut stack: Vec<i64> = vec![];
    let mut rest = operations;
    while let Some((&op, after)) = rest.split_first() {
        rest = after;
        let number = match constant(op, &mut rest) {
            Some(number) => number as i64,
            None => {
                let last = stack.pop()?;
                match op {
                    NEG => last.wrapping_neg(),
                    NOT => !last,
                    PLUS_UCONST => last.wrapping_add(unsigned(&mut rest)? as i64),
                    _ => combined(op, stack.pop()?, last, word)?,
                }
            }
        };
        stack.push(signed_word(number as u64, word));
    }
    match stack[..] {
        [number] => Some(number),
        _ => None,
    }
}

/// What an operation makes of two numbers, the former one first.
fn combined(op: u8, one: i64, other: i64, word: u8) -> Option<i64> {
    let whole = u32::from(word) * 8;
    let by = || u32::try_from(other).ok().filter(|by| *by < whole);
    Some(match op {
        AND => one & other,
        OR => one | other,
        XOR => one ^ other,
        PLUS => one.wrapping_add(other),
        MINUS => one.wrapping_sub(other),
        MUL => one.wrapping_mul(other),
        SHL => by().map_or(0, |by| one << by),
        SHR => by().map_or(0, |by| ((one as u64 & (u64::MAX >> (64 - whole))) >> by) as i64),
        SHRA => one >> by().unwrap_or(whole - 1),
        EQ => (one == other).into(),
        GE => (one >= other).into(),
        GT => (one > other).into(),
        LE => (one <= other).into(),
        LT => (one < other).into(),
        NE => (one != other).into(),
        _ => return None,
    })
}

/// A number of so many bytes, with its sign.
pub fn signed_word(number: u64, word: u8) -> i64 {
    if word == 4 { i64::from(number as i32) } else { number as i64 }
}
