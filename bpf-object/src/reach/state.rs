//! What is known at an instruction: registers, and the stacks of the functions that are running.
use crate::object::FunctionId;
use crate::reach::pointer::{AfterRead, Pointer};
use crate::reach::value::Value;

/// A piece of a stack whose content is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Slot {
    /// Relative to the end of the frame, in bytes: negative.
    pub(super) offset: i32,
    /// In bytes.
    size: u32,
    value: Value,
}

/// A function that is running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Frame {
    /// Which.
    pub(super) function: FunctionId,
    /// Where its caller goes on, and the registers r6 to r9 that it finds again.
    pub(super) back: (u32, [Value; 4]),
    /// Ascending and disjoint. What is not in here may be anything.
    slots: Vec<Slot>,
}

impl Frame {
    pub(super) fn new(function: FunctionId, back: (u32, [Value; 4])) -> Self {
        Self { function, back, slots: Vec::new() }
    }
}

/// All that is known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct State {
    /// r0 to r9; r10 is the end of the stack of the last frame.
    registers: [Value; 10],
    /// The last is the one that runs.
    pub(super) frames: Vec<Frame>,
}

impl State {
    /// At the start of a function, with its first argument.
    pub(super) fn at(function: FunctionId, argument: Value) -> Self {
        let mut registers = [Value::Other; 10];
        registers[1] = argument;
        Self { registers, frames: vec![Frame::new(function, (0, [Value::Other; 4]))] }
    }

    pub(super) fn function(&self) -> FunctionId {
        self.frames.last().expect("a frame").function
    }

    /// The number of the frame that runs.
    pub(super) fn depth(&self) -> u8 {
        (self.frames.len() - 1) as u8
    }

    pub(super) fn register(&self, number: u8) -> Value {
        match self.registers.get(usize::from(number)) {
            Some(&value) => value,
            None => Value::Stack(self.depth(), Some(0)),
        }
    }

    pub(super) fn set(&mut self, number: u8, value: Value) {
        if let Some(register) = self.registers.get_mut(usize::from(number)) {
            *register = value;
        }
    }

    pub(super) fn saved(&self) -> [Value; 4] {
        self.registers.last_chunk().copied().expect("ten registers")
    }

    pub(super) fn restore(&mut self, saved: [Value; 4]) {
        self.registers[6..].copy_from_slice(&saved);
    }

    /// Forgets the registers that are not in the mask: nothing reads them before they are set.
    pub(super) fn keep(&mut self, mask: u16) {
        for (number, register) in self.registers.iter_mut().enumerate() {
            if mask >> number & 1 == 0 {
                *register = Value::Other;
            }
        }
    }

    /// What a load from a stack gives.
    pub(super) fn load(&self, frame: u8, offset: Option<i32>, size: u32) -> Value {
        let Some((frame, offset)) = self.frames.get(usize::from(frame)).zip(offset) else {
            return Value::Any;
        };
        let holds = |slot: &&Slot| slot.offset <= offset && end(offset, size) <= end(slot.offset, slot.size);
        match frame.slots.iter().find(holds) {
            Some(slot) if slot.offset == offset && slot.size == size => slot.value,
            // Part of a number. Programs run in the order of the machine; which end comes first is not known here.
            Some(Slot { value: Value::Constant(0), .. }) => Value::Constant(0),
            Some(slot) if !slot.value.may_be_stack() => Value::Other,
            _ => Value::Any,
        }
    }

    /// Notes a store to a stack. What it overlaps is forgotten.
    pub(super) fn store(&mut self, frame: u8, offset: Option<i32>, size: u32, value: Value) {
        let Some(offset) = offset else { return self.forget(frame, i32::MIN, i64::MAX) };
        self.forget(frame, offset, size.into());
        if let Some(frame) = self.frames.get_mut(usize::from(frame))
            && (value != Value::Any && frame.slots.len() < MAX_SLOTS)
        {
            let at = frame.slots.partition_point(|slot| slot.offset < offset);
            frame.slots.insert(at, Slot { offset, size, value });
        }
    }

    /// Forgets so many bytes of a stack.
    pub(super) fn forget(&mut self, frame: u8, offset: i32, size: i64) {
        if let Some(frame) = self.frames.get_mut(usize::from(frame)) {
            let after = i64::from(offset).saturating_add(size);
            frame.slots.retain(|slot| {
                end(slot.offset, slot.size) <= i64::from(offset) || i64::from(slot.offset) >= after
            });
        }
    }

    /// Puts another value wherever one stands.
    pub(super) fn replace(&mut self, value: Value, by: Value) {
        let saved = self.frames.iter_mut().flat_map(|frame| frame.back.1.iter_mut());
        self.registers.iter_mut().chain(saved).filter(|one| **one == value).for_each(|one| *one = by);
        let slots = self.frames.iter_mut().flat_map(|frame| frame.slots.iter_mut());
        slots.filter(|slot| slot.value == value).for_each(|slot| slot.value = by);
    }

    /// Makes of what stands in so many bytes of a stack what the verifier makes of it when a helper reads them.
    pub(super) fn read_by_helper(&mut self, frame: u8, offset: i32, size: i64, after: AfterRead) {
        let Some(frame) = self.frames.get_mut(usize::from(frame)) else { return };
        let (start, after_end) = (i64::from(offset), i64::from(offset).saturating_add(size));
        let is_read = |slot: &Slot| end(slot.offset, slot.size) > start && i64::from(slot.offset) < after_end;
        for slot in frame.slots.iter_mut().filter(|slot| is_read(slot)) {
            slot.value = match (slot.value, after) {
                (value, AfterRead::Kept) => value,
                (Value::Kernel(from, in_field, _), AfterRead::Lost) => {
                    Value::Kernel(from, in_field, Pointer::Number)
                }
                (Value::Kernel(from, in_field, Pointer::To(..)), AfterRead::Doubtful) => {
                    Value::Kernel(from, in_field, Pointer::Doubtful)
                }
                // Perhaps a pointer to a type of the kernel.
                (value @ (Value::Kernel(..) | Value::Other | Value::Any | Value::Not(_)), after)
                    if after != AfterRead::Lost =>
                {
                    value
                }
                _ => Value::Number(None),
            };
        }
    }

    /// Forgets all stacks.
    pub(super) fn forget_all(&mut self) {
        self.frames.iter_mut().for_each(|frame| frame.slots.clear());
    }

    /// Whether the other is a case of this one. Both are at the same instruction with the same callers.
    pub(super) fn covers(&self, other: &Self) -> bool {
        let registers = self.registers.iter().zip(&other.registers);
        let frames = self.frames.iter().zip(&other.frames);
        registers.into_iter().all(|(a, b)| a.covers(*b))
            && frames.into_iter().all(|(a, b)| {
                let saved = a.back.1.iter().zip(&b.back.1);
                let is_there =
                    |slot: &Slot| b.slots.iter().any(|s| slot.is_at(s) && slot.value.covers(s.value));
                saved.into_iter().all(|(a, b)| a.covers(*b)) && a.slots.iter().all(is_there)
            })
    }

    /// What both have in common.
    pub(super) fn join(&mut self, other: &Self) {
        for (a, b) in self.registers.iter_mut().zip(&other.registers) {
            *a = a.join(*b);
        }
        for (a, b) in self.frames.iter_mut().zip(&other.frames) {
            for (a, b) in a.back.1.iter_mut().zip(&b.back.1) {
                *a = a.join(*b);
            }
            a.slots.retain_mut(|slot| {
                let other = b.slots.iter().find(|other| slot.is_at(other));
                slot.value = other.map_or(Value::Any, |other| slot.value.join(other.value));
                slot.value != Value::Any
            });
        }
    }
}

impl Slot {
    fn is_at(&self, other: &Self) -> bool {
        (self.offset, self.size) == (other.offset, other.size)
    }
}

/// How many slots of a frame are kept; a stack has 512 bytes.
const MAX_SLOTS: usize = 64;

fn end(offset: i32, size: u32) -> i64 {
    i64::from(offset) + i64::from(size)
}
