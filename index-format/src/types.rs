//! Kinds of types.

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident = $value:literal,)*) => {
        /// The kind of a type.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum TypeKind { $($(#[$doc])* $name = $value,)* }

        impl TypeKind {
            /// The kind encoded by this byte of a [`TypeRecord`](crate::record::TypeRecord).
            pub fn from_u8(byte: u8) -> Self {
                match byte { $($value => Self::$name,)* _ => Self::Unspecified }
            }
        }
    };
}

kinds! {
    /// An unnamed or unknown type (`DW_TAG_unspecified_type` and unknown tags).
    Unspecified = 0,
    /// A number, character or boolean.
    Base = 1,
    /// A struct; its members are `members`.
    Struct = 2,
    /// A union.
    Union = 3,
    /// A C++ class.
    Class = 4,
    /// An enumeration; `members` are its enumerators.
    Enum = 5,
    /// Another name of `target`.
    Typedef = 6,
    /// A pointer to `target`.
    Pointer = 7,
    /// An array of `target`; `members` are its dimensions, outermost first.
    Array = 8,
    /// `const`.
    Const = 9,
    /// `volatile`.
    Volatile = 10,
    /// `restrict`.
    Restrict = 11,
    /// `_Atomic`.
    Atomic = 12,
    /// A function that returns `target`; `members` are its parameters, where one without type and name is `...`.
    Function = 13,
    /// A C++ reference.
    Reference = 14,
    /// A C++ rvalue reference.
    RvalueReference = 15,
}

impl TypeKind {
    /// Whether it has named members.
    pub fn is_aggregate(self) -> bool {
        matches!(self, Self::Struct | Self::Union | Self::Class)
    }
}
