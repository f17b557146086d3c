//! Loads, stores and addresses.
use crate::feature::Feature;
use crate::instruction::{Instruction, class};
use crate::object::{ExternKind, ImageKind, KconfigType, Reference};
use crate::reach::pointer::Pointer;
use crate::reach::state::State;
use crate::reach::value::Value;
use crate::reach::walk::Walk;
use crate::reach::{ContextRead, Environment, Place, PlainOffset};

impl<E: Environment> Walk<'_, '_, E> {
    /// What a load of a 64-bit constant gives: a number, or the address of what it refers to.
    pub(super) fn loaded_address(&mut self, place: Place, number: u64) -> Value {
        match self.object.function(place.function).reference(place.instruction) {
            None => Value::Constant(number),
            Some(Reference::Map(map)) => {
                self.found.maps.insert((place, map));
                Value::Map(map)
            }
            Some(Reference::Data(image, offset)) => Value::Image(image, offset),
            Some(Reference::Extern(external)) => {
                self.found.externs.insert((place, external));
                match self.object.externs[external as usize].kind {
                    ExternKind::Kconfig(_) => Value::Extern(external),
                    _ => match self.environment.exists(external) {
                        Some(true) => Value::Not(0),
                        Some(false) => Value::Constant(0),
                        None => Value::Other,
                    },
                }
            }
            Some(Reference::FunctionAddress(function)) => {
                // A helper calls it later, with what it was given. libbpf writes the kind of load when it links.
                self.found.features.insert((place, Feature::Callback));
                self.enter(function, Value::Any);
                Value::Not(0)
            }
            Some(_) => Value::Not(0),
        }
    }

    pub(super) fn load(
        &mut self,
        place: Place,
        instruction: Instruction,
        is_broken: bool,
        state: &State,
    ) -> Value {
        let (size, off) = (instruction.width(), i32::from(instruction.off));
        let loaded = match state.register(instruction.src) {
            _ if is_broken => Value::Other,
            Value::Context(base) => {
                self.found.context.insert(ContextRead { place, offset: base.saturating_add(off), size });
                match (self.environment.read_of_context(base.saturating_add(off), size), size) {
                    (pointer, 8) => Value::Kernel(0, false, pointer),
                    (Pointer::Number, _) => Value::Number(None),
                    _ => Value::Other,
                }
            }
            Value::Kernel(base, in_field, pointer) => {
                self.through(place, state.register(instruction.src));
                let offset = base.saturating_add(off);
                if offset != 0 && !self.code.is_offset(place) {
                    self.found.plain.insert(PlainOffset { place, offset, in_field });
                }
                let next = match pointer.plus(off.into()) {
                    Pointer::To(id, offset) => self.environment.read_of_type(id, offset),
                    _ => Pointer::Unknown,
                };
                if size == 8 { Value::Kernel(0, false, next) } else { Value::Number(None) }
            }
            Value::Stack(frame, offset) => {
                let value = state.load(frame, offset.and_then(|offset| offset.checked_add(off)), size);
                // Loads of fewer than 8 bytes give no pointer.
                if size < 8 && value.number().is_none() { Value::Number(None) } else { value }
            }
            Value::Image(image, offset) => offset
                .checked_add_signed(off)
                .map_or(Value::Other, |offset| self.initial(image, offset, size)),
            Value::Extern(external) if off == 0 && self.option_size(external) == Some(size) => self
                .environment
                .option(external)
                .map_or(Value::Number(None), |number| Value::Constant(number & mask(size))),
            value @ Value::Memory(_) => {
                self.through(place, value);
                self.own(size)
            }
            value if value.is_number() => {
                self.through(place, value);
                Value::Number(None)
            }
            _ => Value::Other,
        };
        // Mode 4 (MEMSX) extends the sign.
        match loaded {
            Value::Constant(number) if instruction.code >> 5 == 4 => {
                let unused = 64 - size * 8;
                Value::Constant((number.cast_signed() << unused >> unused).cast_unsigned())
            }
            Value::Not(_) | Value::Number(_) if instruction.code >> 5 == 4 => Value::Number(None),
            loaded => loaded,
        }
    }

    /// How many bytes the value of an option has.
    fn option_size(&self, external: u32) -> Option<u32> {
        match self.object.externs[external as usize].kind {
            ExternKind::Kconfig(KconfigType::Bool | KconfigType::Char) => Some(1),
            ExternKind::Kconfig(KconfigType::Tristate) => Some(4),
            ExternKind::Kconfig(KconfigType::Integer { size, .. }) => Some(size),
            _ => None,
        }
    }

    /// What a global variable is known to be.
    pub(super) fn initial(&mut self, number: u32, offset: u32, size: u32) -> Value {
        let image = &self.object.images[number as usize];
        if image.kind != ImageKind::ReadOnly {
            return self.own(size);
        }
        let start = offset as usize;
        let Some(bytes) = image.bytes.get(start..start + size as usize) else { return Value::Other };
        let order = self.object.byte_order();
        let initial = crate::bytes::Bytes::new(bytes, order).number();
        let after = image.variables.partition_point(|variable| variable.offset <= u64::from(offset));
        let Some(index) = after.checked_sub(1) else { return Value::Constant(initial) };
        let variable = &image.variables[index];
        let is_inside = u64::from(offset) - variable.offset < variable.size;
        if !is_inside || !variable.is_volatile || self.environment.takes_initial_values() {
            return Value::Constant(initial);
        }
        let key = (number, index as u32);
        self.found.variables.insert(key);
        match self.assumption {
            Some(assumption) if assumption.variable == key && assumption.is_initial => {
                Value::Constant(initial)
            }
            Some(assumption) if assumption.variable == key => Value::Number(Some(initial)),
            _ => Value::Number(None),
        }
    }

    /// What is read from memory of the program: a number, unless it keeps pointers of the kernel there (kptr).
    fn own(&self, size: u32) -> Value {
        if size == 8 && self.keeps_pointers { Value::Other } else { Value::Number(None) }
    }

    /// Notes a load or store through what is, or may be, a number.
    fn through(&mut self, place: Place, pointer: Value) {
        match pointer {
            Value::Kernel(_, _, Pointer::Doubtful) => self.found.doubtful.insert(place),
            Value::Memory(Some(_)) => self.found.unchecked.insert(place),
            value if value.is_number() => self.found.numbers.insert(place),
            _ => false,
        };
    }

    pub(super) fn store(
        &mut self,
        place: Place,
        instruction: Instruction,
        is_broken: bool,
        state: &mut State,
    ) {
        let (size, off) = (instruction.width(), i32::from(instruction.off));
        let is_atomic = instruction.class() == class::STX && instruction.code >> 5 == 6;
        let value = match instruction.class() {
            class::ST => Value::Constant(i64::from(instruction.imm).cast_unsigned() & mask(size)),
            _ if is_atomic => Value::Number(None),
            _ => match state.register(instruction.src) {
                value if size == 8 => value,
                value => {
                    value.number().map_or(Value::Number(None), |number| Value::Constant(number & mask(size)))
                }
            },
        };
        if !is_broken {
            self.through(place, state.register(instruction.dst));
        }
        match state.register(instruction.dst) {
            _ if is_broken => state.forget_all(),
            Value::Stack(frame, offset) => {
                state.store(frame, offset.and_then(|offset| offset.checked_add(off)), size, value);
            }
            Value::Any => state.forget_all(),
            _ => {}
        }
        if is_atomic {
            // With fetch (1) the old value goes to src; cmpxchg (0xf1) has it in r0.
            if instruction.imm == 0xf1 {
                state.set(0, Value::Other);
            } else if instruction.imm & 1 != 0 {
                state.set(instruction.src, Value::Other);
            }
        }
    }
}

fn mask(size: u32) -> u64 {
    u64::MAX >> (64 - size * 8)
}
