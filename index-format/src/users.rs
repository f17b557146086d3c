//! The functions that take or return a struct, union, class or enum, directly or through pointers.
//!
//! `type_users` gives the range of a type in `type_uses`, which is a stream of numbers, one per return value and
//! parameter, by function and position: bits 0 and 1 are the number of pointers to the type (3: it follows as a
//! number), bits 2 to 4 the position (0 the return value, 1 the first parameter; 7: it follows as a number), and the
//! rest the `FunctionId` less that of the previous use (the first: less 0). Typedefs, qualifiers and the dimensions
//! of arrays do not count; parameters of function pointer types are not uses.
use crate::id::FunctionId;
use crate::store::record::UseRecord;
use crate::table::{Table, Walk};
use crate::varint::{self, Reader};

/// A return value or parameter of some type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Use {
    /// The function.
    pub function: FunctionId,
    /// 0 for the return value, else the number of the parameter.
    pub position: u32,
    /// The number of pointers to the type.
    pub depth: u32,
}

const DEPTHS: u32 = 3;
const POSITIONS: u32 = 7;

/// Appends the uses of one type, given in order.
pub fn put(out: &mut Vec<u8>, uses: impl IntoIterator<Item = Use>) {
    let mut last = 0;
    for one in uses {
        let (depth, position) = (one.depth.min(DEPTHS), one.position.min(POSITIONS));
        let distance = u64::from(one.function.get() - last);
        varint::put(out, distance << 5 | u64::from(position << 2 | depth));
        if depth == DEPTHS {
            varint::put(out, one.depth.into());
        }
        if position == POSITIONS {
            varint::put(out, one.position.into());
        }
        last = one.function.get();
    }
}

/// The uses of a type, by function and position.
#[derive(Clone, Copy)]
pub struct Uses<'a> {
    reader: Reader<'a>,
    last: u32,
    shared: Walk<'a, UseRecord>,
}

impl<'a> Uses<'a> {
    /// Reads a type's range of `type_uses`.
    pub fn read(bytes: &'a [u8]) -> Self {
        Self { reader: Reader::new(bytes), last: 0, shared: Walk::none() }
    }
    /// Those of a type in a store.
    #[cold]
    pub fn of_rows(shared: Table<'a, UseRecord>) -> Self {
        Self { reader: Reader::new(&[]), last: 0, shared: Walk::of(shared) }
    }
}

impl Iterator for Uses<'_> {
    type Item = Use;

    #[inline]
    fn next(&mut self) -> Option<Use> {
        if self.reader.rest().is_empty() {
            let UseRecord { function, position } = self.shared.next()?;
            let (position, depth) = (position.get() & 0xffff, position.get() >> 16);
            return Some(Use { function, position, depth });
        }
        let head = self.reader.number();
        let (mut depth, mut position) = (head as u32 & DEPTHS, head as u32 >> 2 & POSITIONS);
        if depth == DEPTHS {
            depth = self.reader.number32();
        }
        if position == POSITIONS {
            position = self.reader.number32();
        }
        self.last = self.last.wrapping_add((head >> 5) as u32);
        Some(Use { function: FunctionId::new(self.last), position, depth })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn uses_are_read_as_they_were_written(
            uses in prop::collection::btree_set((any::<u32>(), 0u32..20, 0u32..6), 0..20),
        ) {
            let uses: Vec<Use> = uses
                .into_iter()
                .map(|(function, position, depth)| Use { function: FunctionId::new(function), position, depth })
                .collect();
            let mut out = vec![];
            put(&mut out, uses.iter().copied());
            prop_assert_eq!(Uses::read(&out).collect::<Vec<_>>(), uses);
        }

        #[test]
        fn damaged_uses_end(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
            prop_assert!(Uses::read(&bytes).count() <= bytes.len());
        }
    }

    #[test]
    fn a_use_close_to_the_one_before_is_one_byte() {
        let one = |function, position| Use { function: FunctionId::new(function), position, depth: 1 };
        let mut out = vec![];
        put(&mut out, [one(3, 1), one(3, 2), one(4, 0)]);
        assert_eq!(out, [0x65, 0x09, 0x21]);
    }
}
