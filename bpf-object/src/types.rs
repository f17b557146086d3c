//! Types as BTF has them, apart from how they are stored.
//!
//! [`Types`] is one space of ids: the BTF of an object, of vmlinux, or of a module together with vmlinux below it. It is
//! implemented by [`Btf`](crate::btf::Btf) over the bytes, and can be by tables that keep kinds, names and members as
//! columns: nothing here is a raw record, and each part is asked for by its number.

/// A type's id. 0 is `void`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TypeId(pub u32);

impl TypeId {
    /// The id of `void`.
    pub const VOID: Self = Self(0);
}

/// The kinds of BTF (`include/uapi/linux/btf.h`, 6.16), with their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Kind {
    Void = 0,
    Int = 1,
    Pointer = 2,
    Array = 3,
    Struct = 4,
    Union = 5,
    Enum = 6,
    Forward = 7,
    Typedef = 8,
    Volatile = 9,
    Const = 10,
    Restrict = 11,
    Function = 12,
    Prototype = 13,
    Variable = 14,
    DataSection = 15,
    Float = 16,
    DeclTag = 17,
    TypeTag = 18,
    Enum64 = 19,
}

impl Kind {
    /// The kind with this number. `None` for those that libbpf 1.7 does not know either.
    pub fn from_number(number: u32) -> Option<Self> {
        use Kind::*;
        const ALL: [Kind; 20] = [
            Void,
            Int,
            Pointer,
            Array,
            Struct,
            Union,
            Enum,
            Forward,
            Typedef,
            Volatile,
            Const,
            Restrict,
            Function,
            Prototype,
            Variable,
            DataSection,
            Float,
            DeclTag,
            TypeTag,
            Enum64,
        ];
        ALL.get(usize::try_from(number).ok()?).copied()
    }

    /// Whether it is a struct or a union.
    pub fn is_composite(self) -> bool {
        matches!(self, Self::Struct | Self::Union)
    }

    /// Whether it is an enum of 32 or of 64 bits.
    pub fn is_enum(self) -> bool {
        matches!(self, Self::Enum | Self::Enum64)
    }

    /// Whether it is a modifier or a typedef: what `skip_mods_and_typedefs` of libbpf passes over.
    pub fn is_alias(self) -> bool {
        matches!(self, Self::Typedef | Self::Volatile | Self::Const | Self::Restrict | Self::TypeTag)
    }

    /// Whether CO-RE takes one kind for the other (`btf_kind_core_compat`): equal, or both enums.
    pub fn is_compatible(self, other: Self) -> bool {
        self == other || self.is_enum() && other.is_enum()
    }

    /// As C and libbpf's messages call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Void => "void",
            Self::Int => "int",
            Self::Pointer => "ptr",
            Self::Array => "array",
            Self::Struct => "struct",
            Self::Union => "union",
            Self::Enum => "enum",
            Self::Forward => "fwd",
            Self::Typedef => "typedef",
            Self::Volatile => "volatile",
            Self::Const => "const",
            Self::Restrict => "restrict",
            Self::Function => "func",
            Self::Prototype => "func_proto",
            Self::Variable => "var",
            Self::DataSection => "datasec",
            Self::Float => "float",
            Self::DeclTag => "decl_tag",
            Self::TypeTag => "type_tag",
            Self::Enum64 => "enum64",
        }
    }
}

/// A type without its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Type<'a> {
    /// What it is.
    pub kind: Kind,
    /// Its name, empty if it has none.
    pub name: &'a [u8],
    /// BTF's `kind_flag`. Of an enum: signed; of a forward declaration: a union. Of a composite it says how members
    /// store their offsets, and is resolved in [`Member`]; implementations may leave it unset.
    pub flag: bool,
    /// How many members, parameters, enumerators or variables there are; of an array, how many elements.
    pub count: u32,
    /// In bytes. 0 for kinds without a size of their own (pointers, arrays, typedefs, …).
    pub size: u32,
    /// What it refers to: pointee, element, aliased type, prototype of a function, result of a prototype.
    pub target: TypeId,
    /// Of an int, BTF's word: bits 0..8 width, 16..24 offset, 24.. encoding (1 signed, 2 char, 4 bool). Of a variable or
    /// function, its linkage. Of a declaration tag, the component.
    pub detail: u32,
}

impl Type<'_> {
    /// `void`, and the type of what has no name, size or target.
    pub const VOID: Self =
        Self { kind: Kind::Void, name: b"", flag: false, count: 0, size: 0, target: TypeId::VOID, detail: 0 };

    /// The encoding of an int: 1 signed, 2 char, 4 bool.
    pub fn encoding(&self) -> u32 {
        self.detail >> 24 & 15
    }

    /// Whether an int is signed.
    pub fn is_signed(&self) -> bool {
        self.encoding() & 1 != 0
    }

    /// The bit offset of an int that stands for a bit-field: deprecated, 0 in all BTF of today.
    pub fn int_offset(&self) -> u32 {
        self.detail >> 16 & 255
    }
}

/// A member of a struct or union.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member<'a> {
    /// Its name, empty if it is an anonymous struct or union.
    pub name: &'a [u8],
    /// Its type.
    pub type_id: TypeId,
    /// From the start of the struct, in bits.
    pub bit_offset: u32,
    /// In bits; 0 if it is no bit-field.
    pub bit_size: u32,
}

/// A parameter of a prototype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameter<'a> {
    /// Its name, empty if it has none.
    pub name: &'a [u8],
    /// Its type. `void` of the last one means `...`.
    pub type_id: TypeId,
}

/// An enumerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enumerator<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// Its value. Of a 32-bit enum sign-extended, also where the enum is unsigned: libbpf takes it so.
    pub value: u64,
}

/// A variable in a data section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variable {
    /// The type of kind [`Kind::Variable`] or, in `.ksyms`, [`Kind::Function`].
    pub type_id: TypeId,
    /// In the section, in bytes.
    pub offset: u32,
    /// In bytes.
    pub size: u32,
}

/// One space of type ids. All methods are cheap and allocate nothing.
pub trait Types {
    /// The type of an id: [`Type::VOID`] for 0, `None` if there is none.
    fn get(&self, id: TypeId) -> Option<Type<'_>>;

    /// A member of a struct or union, by its position.
    fn member(&self, id: TypeId, index: u32) -> Option<Member<'_>>;

    /// An enumerator of an enum, by its position.
    fn enumerator(&self, id: TypeId, index: u32) -> Option<Enumerator<'_>>;

    /// A parameter of a prototype, by its position.
    fn parameter(&self, id: TypeId, index: u32) -> Option<Parameter<'_>>;

    /// The size of a pointer in bytes: 8 on every kernel with BPF programs of today, but for 32-bit ARM and the like.
    fn pointer_size(&self) -> u32 {
        8
    }

    /// The type behind modifiers and typedefs, with its id. `None` for an id that does not exist, and for a chain longer
    /// than any of C (damaged BTF can have cycles).
    fn resolve(&self, mut id: TypeId) -> Option<(TypeId, Type<'_>)> {
        for _ in 0..MAX_ALIASES {
            let found = self.get(id)?;
            if !found.kind.is_alias() {
                return Some((id, found));
            }
            id = found.target;
        }
        None
    }

    /// The size of a type in bytes (`btf__resolve_size`). `None` where it has none, or it exceeds 32 bits.
    fn size_of(&self, mut id: TypeId) -> Option<u32> {
        let mut elements = 1u32;
        for _ in 0..MAX_SIZE_STEPS {
            let found = self.get(id)?;
            let size = match found.kind {
                Kind::Int
                | Kind::Struct
                | Kind::Union
                | Kind::Enum
                | Kind::Enum64
                | Kind::DataSection
                | Kind::Float => found.size,
                Kind::Pointer => self.pointer_size(),
                Kind::Array => {
                    elements = elements.checked_mul(found.count)?;
                    id = found.target;
                    continue;
                }
                kind if kind.is_alias() || matches!(kind, Kind::Variable | Kind::DeclTag) => {
                    id = found.target;
                    continue;
                }
                _ => return None,
            };
            return elements.checked_mul(size);
        }
        None
    }
}

/// How many modifiers and typedefs are followed. The longest chain in the BTF of Debian's kernels is 9.
const MAX_ALIASES: u32 = 256;
/// As `MAX_RESOLVE_DEPTH` of libbpf 1.7 (`btf.c`).
const MAX_SIZE_STEPS: u32 = 32;

/// The length of a name without its flavour: what stands before the last `X___Y`, where X and Y are no underscores
/// (`bpf_core_essential_name_len` of libbpf 1.7).
pub fn essential(name: &[u8]) -> &[u8] {
    let is_separator =
        |w: &[u8]| w[0] != b'_' && w[1] == b'_' && w[2] == b'_' && w[3] == b'_' && w[4] != b'_';
    match name.windows(5).rposition(is_separator) {
        Some(at) => &name[..=at],
        None => name,
    }
}
