//! Records that only a store has. Those of an index are in [`record`](crate::record).
use crate::id::{FunctionId, ObjectId, Pc, PlaceId, StrId};
use crate::record::Record;
use zerocopy::byteorder::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

macro_rules! rows {
    ($($(#[$doc:meta])* $name:ident [$($column:literal),*] { $($(#[$field_doc:meta])* $field:ident: $type:ty,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
        #[repr(C)]
        pub struct $name { $($(#[$field_doc])* pub $field: $type,)* }
        impl Record for $name {
            const COLUMNS: &'static [usize] = &[$($column),*];
        }
    )*};
}

rows! {
    /// Where the instructions of a symbol start. Sorted by start within the object.
    CodeRecord [4, 4, 4] {
        /// The first address.
        start: Pc,
        /// One past the last address.
        end: Pc,
        /// Into `boundaries`.
        boundaries: U32,
    }
    /// A return value or parameter of some type.
    UseRecord [4, 4] {
        /// The function.
        function: FunctionId,
        /// The position, and from bit 16 on the number of pointers.
        position: U32,
    }
    /// A direct call.
    CallRecord [4, 4, 4] {
        /// The object that contains it.
        object: ObjectId,
        /// A byte of its instruction.
        pc: Pc,
        /// 1 if it is a jump.
        is_tail: U32,
    }
    /// A label.
    LabelRecord [4, 4, 4, 4, 4] {
        /// The placement that contains it.
        place: PlaceId,
        /// Its name.
        name: StrId,
        /// Its line, relative to the function's declaration; signed.
        line: U32,
        /// Its address, relative to the entry of the placement; signed.
        distance: U32,
        /// Its lexical block.
        block: U32,
    }
    /// An option of the kernel's configuration. Sorted by name.
    OptionRecord [4, 4] {
        /// Without `CONFIG_`.
        name: StrId,
        /// What follows the equals sign.
        value: StrId,
    }
    /// Names that the preprocessor numbered (`__UNIQUE_ID_x512`): what is added to the shared numbers of a function's
    /// variables. Sorted by details.
    CounterRecord [4, 4] {
        /// The function's details.
        details: U32,
        /// What is added.
        base: U32,
    }
    /// The first posting of a function.
    PostingRecord [4] {
        /// Its number.
        first: U32,
    }
    /// Where a patch is. Sorted by part and number.
    PatchedRecord [4, 4] {
        /// The part, as a number.
        part: U32,
        /// The first byte.
        number: U32,
    }
    /// Consecutive lines of a file of this kernel that are consecutive shared lines. Sorted by file and shared line.
    LineRun [4, 4, 4, 4] {
        /// The file.
        file: StrId,
        /// The first shared line.
        from: U32,
        /// The first line of this kernel.
        to: U32,
        /// How many.
        length: U32,
    }
}
