//! The operands of operations (DWARF 5, 7.7.1). They are little-endian, as the index stores them.
use super::opcodes::*;

/// The number that an operation pushes, if it is a constant.
pub fn constant(op: u8, rest: &mut &[u8]) -> Option<u64> {
    let is_signed = op % 2 == 1;
    let length = match op {
        0x30..=0x4f => return Some(u64::from(op - 0x30)),
        0x08..=0x0f => 1 << ((op - 0x08) / 2),
        0x10 => return unsigned(rest),
        0x11 => return signed(rest).map(|n| n as u64),
        _ => return None,
    };
    let (bytes, after) = rest.split_at_checked(length)?;
    *rest = after;
    let mut value = [if is_signed && bytes[length - 1] > 0x7f { 0xff } else { 0 }; 8];
    value[..length].copy_from_slice(bytes);
    Some(u64::from_le_bytes(value))
}

/// Skips the operands of an operation (DWARF 5, 7.7.1, and the earlier GNU ones). `None` for an unknown operation.
pub fn skip_operands(op: u8, rest: &mut &[u8]) -> Option<()> {
    let (numbers, bytes) = match op {
        0x08 | 0x09 | 0x15 | DEREF_SIZE | 0x95 => (0, 1),
        0x0a | 0x0b | 0x28 | 0x2f => (0, 2),
        0x0c | 0x0d | 0xfa => (0, 4),
        0x03 | 0x0e | 0x0f => (0, 8),
        0x10 | 0x11 | PLUS_UCONST | BREG0..=BREG31 | REGX | 0x91 | 0xa8 | 0xa9 | 0xf7 | 0xf9 => (1, 0),
        0x92 | 0xa5 | 0xf5 => (2, 0),
        0xa6 | 0xf6 => {
            *rest = rest.get(1..)?;
            (1, 0)
        }
        // A four-byte offset, because the kernel's debug information is 32-bit DWARF.
        0xa0 | 0xf2 => {
            *rest = rest.get(4..)?;
            (1, 0)
        }
        IMPLICIT_VALUE | 0xa3 | 0xf3 => (0, usize::try_from(unsigned(rest)?).ok()?),
        0xa4 | 0xf4 => {
            unsigned(rest)?;
            let (&length, after) = rest.split_first()?;
            *rest = after;
            (0, usize::from(length))
        }
        DEREF | 0x12..=0x14 | 0x16..=0x22 | 0x24..=0x27 | 0x29..=0x2e | 0x30..=REG31 => (0, 0),
        0x96 | 0x97 | 0x9b | 0x9c | STACK_VALUE | 0xe0 | 0xf0 => (0, 0),
        _ => return None,
    };
    for _ in 0..numbers {
        unsigned(rest)?;
    }
    *rest = rest.get(bytes..)?;
    Some(())
}

pub fn unsigned(rest: &mut &[u8]) -> Option<u64> {
    leb(rest, false).map(|n| n as u64)
}

pub fn signed(rest: &mut &[u8]) -> Option<i64> {
    leb(rest, true)
}

/// A LEB128 number, signed or unsigned, that fits in 64 bits.
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
