//! What is known of a register or a slot of the stack.
use crate::instruction::{Instruction, class};
use crate::reach::pointer::Pointer;

/// A call: the function and the instruction.
pub(super) type Call = (u32, u32);

/// What a value is known to be. Between them stands what they have in common ([`join`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Value {
    /// This number.
    Constant(u64),
    /// This number, which a relocation says: the offset of a field.
    Relocated(u64),
    /// A number other than this one, or a pointer that is not to the stack.
    Not(u64),
    /// A number, other than this one if one is told.
    Number(Option<u64>),
    /// A map, by number.
    Map(u32),
    /// Memory that is the program's own, as the value of a map. Where it may be null, the call that gave it: all copies are
    /// checked at once.
    Memory(Option<Call>),
    /// The context, so many bytes in.
    Context(i32),
    /// The stack of a frame, relative to its end; `None` where that is not known.
    Stack(u8, Option<i32>),
    /// A global variable: image and offset.
    Image(u32, u32),
    /// What an extern's address leads to.
    Extern(u32),
    /// Perhaps a pointer into memory of the kernel: what is added to it without a relocation, whether a relocation
    /// added something too, and what the verifier takes it for.
    Kernel(i32, bool, Pointer),
    /// Anything but a pointer to the stack.
    Other,
    /// Anything.
    Any,
}

use Value::*;

impl Value {
    /// The number, if it is one.
    pub(super) fn number(self) -> Option<u64> {
        match self {
            Constant(number) | Relocated(number) => Some(number),
            _ => None,
        }
    }

    /// Whether all that the other may be is among what this may be.
    pub(super) fn covers(self, other: Self) -> bool {
        match (self, other) {
            (Any, _) => true,
            (Other, _) => !other.may_be_stack(),
            (Constant(a), Relocated(b)) => a == b,
            (Not(excluded) | Number(Some(excluded)), Constant(value) | Relocated(value)) => value != excluded,
            (Not(excluded), Number(Some(other))) => excluded == other,
            (Not(0), Context(_) | Image(..) | Map(_) | Memory(None)) => true,
            (Number(None), Constant(_) | Relocated(_) | Number(_)) => true,
            (Memory(Some(_)), Memory(None)) => true,
            (Stack(a, None), Stack(b, _)) => a == b,
            _ => self == other,
        }
    }

    /// What both have in common.
    pub(super) fn join(self, other: Self) -> Self {
        match (self, other) {
            _ if self.covers(other) => self,
            _ if other.covers(self) => other,
            (Stack(a, _), Stack(b, _)) if a == b => Stack(a, None),
            _ if self.may_be_stack() || other.may_be_stack() => Any,
            _ if self.is_number() && other.is_number() => Number(None),
            _ => Other,
        }
    }

    /// Whether the verifier certainly takes it for a number.
    pub(super) fn is_number(self) -> bool {
        matches!(self, Constant(_) | Relocated(_) | Number(_) | Kernel(_, _, Pointer::Number))
    }

    pub(super) fn may_be_stack(self) -> bool {
        matches!(self, Any | Stack(..))
    }

    /// Whether it is zero, where that is certain.
    pub(super) fn is_zero(self) -> Option<bool> {
        match self {
            Constant(value) | Relocated(value) => Some(value == 0),
            Not(0) | Number(Some(0)) => Some(false),
            Context(_) | Stack(..) | Image(..) | Map(_) | Memory(None) => Some(false),
            _ => None,
        }
    }

    /// The value with a constant added.
    fn plus(self, number: i64) -> Self {
        let offset = i32::try_from(number).ok();
        let moved = |from: i32| offset.and_then(|offset| from.checked_add(offset));
        match self {
            Constant(value) => Constant(value.wrapping_add_signed(number)),
            Context(from) => moved(from).map_or(Other, Context),
            Stack(frame, from) => Stack(frame, from.and_then(moved)),
            Kernel(from, in_field, pointer) => {
                moved(from).map_or(Other, |to| Kernel(to, in_field, pointer.plus(number)))
            }
            Image(image, from) => {
                offset.and_then(|offset| from.checked_add_signed(offset)).map_or(Other, |to| Image(image, to))
            }
            Number(_) => Number(None),
            Memory(_) => Memory(None),
            Any => Any,
            _ => Other,
        }
    }
}

/// The result of an instruction of arithmetic; `operand` is its second one.
pub(super) fn arithmetic(instruction: Instruction, first: Value, operand: Value) -> Value {
    let is_wide = instruction.class() == class::ALU64;
    let operation = instruction.code >> 4;
    match (operation, first, operand) {
        // mov; with an offset it extends the sign of fewer bits.
        (0xb, _, _) if is_wide && instruction.off == 0 => return operand,
        // A field is gone to by its relocation: that is no plain offset.
        (0x0, Kernel(offset, _, pointer), Relocated(number))
        | (0x0, Relocated(number), Kernel(offset, _, pointer))
            if is_wide =>
        {
            return Kernel(offset, true, pointer.plus(number.cast_signed()));
        }
        // A cast between address spaces gives a pointer.
        (0xb, _, _) if is_wide && instruction.off == 1 => return Other,
        _ => {}
    }
    let plain = |value: Value| value.number().map_or(value, Constant);
    let (first, operand) = (plain(first), plain(operand));
    match (operation, first, operand) {
        (0xb, _, Constant(number)) => constant(instruction, 0, number).map_or(Other, Constant),
        (0x0, _, Constant(number)) if is_wide => first.plus(number.cast_signed()),
        (0x0, Constant(number), _) if is_wide => operand.plus(number.cast_signed()),
        (0x1, _, Constant(number)) if is_wide => first.plus(number.cast_signed().wrapping_neg()),
        (_, Constant(a), Constant(b)) => constant(instruction, a, b).map_or(Other, Constant),
        (0x0 | 0x1, _, _) if is_wide => moved(first, operand),
        // neg and byte swaps have no second operand.
        (0x8, Constant(a), _) => {
            Constant(if is_wide { a.wrapping_neg() } else { u64::from((a as u32).wrapping_neg()) })
        }
        _ if first.may_be_stack() && is_wide && operation != 0xb => Any,
        // Half of a pointer is none.
        _ if !is_wide || operation == 0xb || operation == 0xd => Number(None),
        _ if first.is_number() && operand.is_number() => Number(None),
        _ => Other,
    }
}

/// Whether what is not known is added to a pointer to a type of the kernel: "math between ptr_ pointer and register with
/// unbounded min value", unless the verifier knows more of the number.
pub(super) fn is_unbounded(instruction: Instruction, first: Value, operand: Value) -> bool {
    let is_sum = instruction.class() == class::ALU64 && matches!(instruction.code >> 4, 0x0 | 0x1);
    let is_typed = |value| matches!(value, Kernel(_, _, Pointer::To(..)));
    is_sum
        && (is_typed(first) && matches!(operand, Number(_))
            || matches!(first, Number(_)) && is_typed(operand))
}

/// A pointer to which is added what is not known.
fn moved(first: Value, operand: Value) -> Value {
    match (first, operand) {
        (Stack(frame, _), _) | (_, Stack(frame, _)) => Stack(frame, None),
        (Any, _) | (_, Any) => Any,
        (Memory(_), _) => Memory(None),
        // "math between ptr_ pointer and register with unbounded min value", unless the verifier knows more of the number.
        (Kernel(_, _, Pointer::To(..)), _) | (_, Kernel(_, _, Pointer::To(..))) => {
            Kernel(0, true, Pointer::Doubtful)
        }
        _ if first.is_number() && operand.is_number() => Number(None),
        _ => Other,
    }
}

/// Arithmetic of numbers. `None` for what is not worth it, or undefined.
fn constant(instruction: Instruction, a: u64, b: u64) -> Option<u64> {
    let is_wide = instruction.class() == class::ALU64;
    let (a, b) = if is_wide { (a, b) } else { (a & 0xffff_ffff, b & 0xffff_ffff) };
    let shift = (b & if is_wide { 63 } else { 31 }) as u32;
    let is_signed = instruction.off == 1;
    let result = match instruction.code >> 4 {
        0x0 => a.wrapping_add(b),
        0x1 => a.wrapping_sub(b),
        0x2 => a.wrapping_mul(b),
        0x3 | 0x9 if is_signed => return None,
        // Division by zero gives zero, modulo leaves the number.
        0x3 => a.checked_div(b).unwrap_or(0),
        0x4 => a | b,
        0x5 => a & b,
        0x6 => a << shift,
        0x7 => a >> shift,
        0x8 => a.wrapping_neg(),
        0x9 => a.checked_rem(b).unwrap_or(a),
        0xa => a ^ b,
        0xb => match instruction.off {
            0 => b,
            8 => i64::from(b as i8).cast_unsigned(),
            16 => i64::from(b as i16).cast_unsigned(),
            32 => i64::from(b as i32).cast_unsigned(),
            _ => return None,
        },
        0xc if is_wide => (a.cast_signed() >> shift).cast_unsigned(),
        0xc => u64::from(((a as u32).cast_signed() >> shift).cast_unsigned()),
        _ => return None,
    };
    Some(if is_wide { result } else { result & 0xffff_ffff })
}

/// Whether a conditional jump is taken, where that is certain.
pub(super) fn is_taken(instruction: Instruction, first: Value, operand: Value) -> Option<bool> {
    let is_wide = instruction.class() == class::JMP;
    let operation = instruction.code >> 4;
    if let (Some(a), Some(b)) = (first.number(), operand.number()) {
        let (a, b) = if is_wide { (a, b) } else { (a & 0xffff_ffff, b & 0xffff_ffff) };
        let (x, y) = match is_wide {
            true => (a.cast_signed(), b.cast_signed()),
            false => (i64::from((a as u32).cast_signed()), i64::from((b as u32).cast_signed())),
        };
        return Some(match operation {
            0x1 => a == b,
            0x2 => a > b,
            0x3 => a >= b,
            0x4 => a & b != 0,
            0x5 => a != b,
            0x6 => x > y,
            0x7 => x >= y,
            0xa => a < b,
            0xb => a <= b,
            0xc => x < y,
            0xd => x <= y,
            _ => return None,
        });
    }
    let is_equal = match (first, operand) {
        (Not(a) | Number(Some(a)), Constant(b)) | (Constant(b), Not(a) | Number(Some(a)))
            if a == b && is_wide =>
        {
            Some(false)
        }
        // The pointers of a program are never zero, nor is their lower half taken for one.
        (value, Constant(0)) | (Constant(0), value) if is_wide => value.is_zero(),
        _ => None,
    }?;
    match operation {
        0x1 => Some(is_equal),
        0x5 => Some(!is_equal),
        _ => None,
    }
}

/// What is known of the first operand after a comparison with a number, taken or not.
pub(super) fn refined(instruction: Instruction, first: Value, number: u64, taken: bool) -> Value {
    let is_equality = matches!(instruction.code >> 4, 0x1 | 0x5);
    let is_open = matches!(first, Other | Not(_) | Number(_) | Memory(_) | Kernel(..));
    if !is_equality || instruction.class() != class::JMP || !is_open {
        return first;
    }
    let is_equal = (instruction.code >> 4 == 0x1) == taken;
    match first {
        _ if is_equal => Constant(number),
        Other => Not(number),
        Number(_) => Number(Some(number)),
        Memory(_) if number == 0 => Memory(None),
        first => first,
    }
}
