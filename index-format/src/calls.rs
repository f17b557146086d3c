//! The direct calls of each function, from the call sites of the debug information (DWARF 5, section 3.4.1).
//!
//! `called` gives the range of a function in `calls`, which is a stream of numbers, one per call, by object and
//! address: twice the address less that of the previous call (the first of an object: less 0), plus 1 if the call is a
//! jump. 0 and 1 are no call, as no two have one address: a number follows, which is the object of those that come next,
//! less the previous one (the first: less 0). The address is that of a byte of the call's instruction: the last, as
//! debug information has the address after it, or the first.
//!
//! The function that contains a call is the innermost one at its address. A call through a pointer names no function,
//! and is not here; nor is one of a function that the debug information does not describe.
use crate::id::{ObjectId, Pc};
use crate::store::record::CallRecord;
use crate::table::{Table, Walk};
use crate::varint::{self, Reader};

/// A direct call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Call {
    /// The object that contains it.
    pub object: ObjectId,
    /// A byte of its instruction.
    pub pc: Pc,
    /// Whether it is a jump: the function returns to where the caller was called (`DW_AT_call_tail_call`).
    pub is_tail: bool,
}

/// Appends the calls of one function, given in order, each address once.
pub fn put(out: &mut Vec<u8>, calls: impl IntoIterator<Item = Call>) {
    let (mut object, mut pc) = (0, 0);
    for call in calls {
        if call.object.get() != object {
            varint::put(out, 0);
            varint::put(out, (call.object.get() - object).into());
            (object, pc) = (call.object.get(), 0);
        }
        varint::put(out, u64::from(call.pc.get() - pc) << 1 | u64::from(call.is_tail));
        pc = call.pc.get();
    }
}

/// The calls of a function, by object and address.
#[derive(Clone, Copy)]
pub struct Calls<'a> {
    reader: Reader<'a>,
    object: u32,
    pc: u32,
    shared: Walk<'a, CallRecord>,
}

impl<'a> Calls<'a> {
    /// Reads a function's range of `calls`.
    pub fn read(bytes: &'a [u8]) -> Self {
        Self { reader: Reader::new(bytes), object: 0, pc: 0, shared: Walk::none() }
    }
    /// Those of a function in a store.
    #[cold]
    pub fn of_rows(shared: Table<'a, CallRecord>) -> Self {
        Self { shared: Walk::of(shared), ..Self::read(&[]) }
    }
}

impl Iterator for Calls<'_> {
    type Item = Call;

    #[inline]
    fn next(&mut self) -> Option<Call> {
        loop {
            if self.reader.rest().is_empty() {
                let CallRecord { object, pc, is_tail } = self.shared.next()?;
                return Some(Call { object, pc, is_tail: is_tail.get() != 0 });
            }
            let number = self.reader.number();
            if number < 2 {
                self.object = self.object.wrapping_add(self.reader.number32());
                self.pc = 0;
                continue;
            }
            self.pc = self.pc.wrapping_add((number >> 1) as u32);
            let (object, pc) = (ObjectId::new(self.object), Pc::new(self.pc));
            return Some(Call { object, pc, is_tail: number & 1 != 0 });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn call(object: u32, pc: u32, is_tail: bool) -> Call {
        Call { object: ObjectId::new(object), pc: Pc::new(pc), is_tail }
    }

    proptest! {
        #[test]
        fn calls_are_read_as_they_were_written(
            calls in prop::collection::btree_map((any::<u32>(), 1u32..), any::<bool>(), 0..20),
        ) {
            let calls: Vec<Call> = calls.into_iter().map(|((object, pc), tail)| call(object, pc, tail)).collect();
            let mut out = vec![];
            put(&mut out, calls.iter().copied());
            prop_assert_eq!(Calls::read(&out).collect::<Vec<_>>(), calls);
        }

        #[test]
        fn damaged_calls_end(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            prop_assert!(Calls::read(&bytes).count() <= bytes.len());
        }
    }

    #[test]
    fn a_call_close_to_the_one_before_is_one_byte() {
        let mut out = vec![];
        put(&mut out, [call(0, 70, false), call(0, 90, true), call(3, 70, false)]);
        assert_eq!(out, [0x8c, 0x01, 0x29, 0x00, 0x03, 0x8c, 0x01]);
    }
}
