//! Ids: positions in the tables of an index, each with a type of its own.
//!
//! All are little-endian `u32`s of alignment 1, so that records made of them can be read in place.
use zerocopy::byteorder::little_endian::U32;
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
        #[repr(transparent)]
        pub struct $name(U32);

        impl $name {
            /// No id.
            pub const NONE: Self = Self(U32::from_bytes([0xff; 4]));
            /// The id of this position.
            #[inline]
            pub const fn new(position: u32) -> Self {
                Self(U32::from_bytes(position.to_le_bytes()))
            }
            /// The position as a number.
            #[inline]
            pub const fn get(self) -> u32 {
                u32::from_le_bytes(self.0.to_bytes())
            }
            /// The position as an index.
            #[inline]
            pub const fn index(self) -> usize {
                self.get() as usize
            }
            /// The id, unless it is [`Self::NONE`].
            #[inline]
            pub fn some(self) -> Option<Self> {
                (self != Self::NONE).then_some(self)
            }
        }
        impl PartialOrd for $name {
            #[inline]
            fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
                Some(self.cmp(other))
            }
        }
        impl Ord for $name {
            #[inline]
            fn cmp(&self, other: &Self) -> std::cmp::Ordering {
                self.get().cmp(&other.get())
            }
        }
        impl std::fmt::Debug for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                write!(f, concat!(stringify!($name), "({})"), self.get())
            }
        }
    )*};
}

ids! {
    /// A string: its rank among all strings, so that ids compare like the strings.
    StrId
    /// A distinct name of functions or symbols: its rank among all names.
    NameId
    /// A function as declared: name, file, line and variables. Sorted by name, file and line.
    FunctionId
    /// A placement: one address at which a function runs. In the order of the debug information.
    PlaceId
    /// A symbol of an object's symbol table. Sorted by address within the object.
    SymbolId
    /// A type. Named ones first, sorted by name.
    TypeId
    /// A compilation unit.
    UnitId
    /// vmlinux (always 0, if it is indexed) or a module.
    ObjectId
    /// An address within its object: the distance from the object's base. 0 is not an address.
    Pc
}
