//! The fixed records of the tables. Little-endian, alignment 1, no padding; their sizes are asserted below.
pub use crate::sites::{CodeTable, RefusedBy, SiteKind, TableSet};

use crate::id::{FunctionId, ObjectId, Pc, PlaceId, StrId, SymbolId, TypeId, UnitId};
use crate::table::COLUMNS;
use zerocopy::byteorder::little_endian::{I64, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

mod meanings;

pub use meanings::{BtfTypeState, InBtf};

macro_rules! records {
    ($($(#[$doc:meta])* $name:ident = $size:literal { $($(#[$field_doc:meta])* $field:ident: $type:ty $(= $order:ident)?,)* })*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
        #[repr(C)]
        pub struct $name { $($(#[$field_doc])* pub $field: $type,)* }
        const _: () = assert!(size_of::<$name>() == $size);
        impl Record for $name {
            const COLUMNS: &'static [usize] = {
                const ALL: ([usize; COLUMNS], usize) = columns(&[$(size_of::<$type>()),*]);
                ALL.0.split_at(ALL.1).0
            };
            const ASCENDING: u32 = ascending(&[$((size_of::<$type>(), is_ascending!($($order)?))),*]);
        }
    )*};
}

macro_rules! is_ascending {
    () => {
        false
    };
    (ascending) => {
        true
    };
}

/// The columns for fields of these sizes: see [`table`](crate::table).
const fn columns(fields: &[usize]) -> ([usize; COLUMNS], usize) {
    let (mut columns, mut count, mut at) = ([0; COLUMNS], 0, 0);
    while at < fields.len() {
        let mut left = fields[at];
        while left > 0 {
            columns[count] = if left > 6 { 6 } else { left };
            left -= columns[count];
            count += 1;
        }
        at += 1;
    }
    (columns, count)
}

/// The columns, a bit each, for fields of these sizes that ascend or not.
const fn ascending(fields: &[(usize, bool)]) -> u32 {
    let (mut columns, mut column, mut at) = (0, 0, 0);
    while at < fields.len() {
        let (bytes, ascends) = fields[at];
        assert!(!ascends || bytes <= 6, "a field of two columns ascends in neither");
        columns |= (ascends as u32) << column;
        column += bytes.div_ceil(6);
        at += 1;
    }
    columns
}

/// What a [`Table`](crate::table::Table) consists of.
pub trait Record: FromBytes + IntoBytes + Immutable + KnownLayout + Unaligned + Copy {
    /// The bytes of each column.
    const COLUMNS: &'static [usize];
    /// The columns that ascend in most blocks, a bit each: these have a slope.
    const ASCENDING: u32 = 0;
}

records! {
    /// vmlinux, a module, or a user object. `first_*` are the starts of its ranges in other tables; each range ends
    /// where that of the next record starts, and there is one record more than objects.
    ObjectRecord = 88 {
        /// The kernel's name of the module (`kvm_amd`); empty for vmlinux. For a user object, the last component of
        /// its path.
        name: StrId,
        /// The file it was read from; for a user object the one that runs, without symbolic links.
        path: StrId,
        /// Added to a [`Pc`], it gives an address of the debug information; 0 for a module.
        base: U64,
        /// The GNU build id, zero-filled.
        build_id: [u8; 20],
        /// Into `sections`.
        first_section: U32,
        /// Into `symbols`.
        first_symbol: U32,
        /// Into `units`.
        first_unit: U32,
        /// Into `places`.
        first_place: U32,
        /// Into `ranges`.
        first_range: U32,
        /// Into `sequences`.
        first_sequence: U32,
        /// Into `sites`.
        first_site: U32,
        /// Into `refused`.
        first_refused: U32,
        /// Into `frames`.
        first_frame: U32,
        /// See the `ObjectRecord::…` constants.
        flags: U32,
        /// The tables about its code that are missing or damaged: a [`TableSet`].
        unread: U32,
        /// vmlinux: `_stext`, where code starts that can be probed; 0 if it has no such symbol.
        core_start: Pc,
        /// vmlinux: `_etext`, the end of that code; `u32::MAX` if it has no such symbol.
        core_end: Pc,
    }
    /// A mapped part of a user object's file (`PT_LOAD`): uprobes use offsets in the file.
    SegmentRecord = 24 {
        /// `p_vaddr`.
        address: U64,
        /// `p_offset`.
        offset: U64,
        /// `p_filesz`.
        size: U64,
    }
    /// A compilation unit. Ends where the next one starts; the table has one record more than there are units.
    UnitRecord = 24 {
        /// `DW_AT_name`.
        name: StrId,
        /// `DW_AT_producer`.
        producer: StrId,
        /// Into `places`.
        first_place: U32,
        /// Into `unit_files`.
        first_file: U32,
        /// `DW_AT_language`.
        language: U16,
        /// The DWARF version.
        version: U16,
        /// See the `UnitRecord::…` constants.
        flags: U32,
    }
    /// A range of addresses in the kernel's own kprobe blacklist.
    RefusedRecord = 12 {
        /// The first address.
        start: Pc,
        /// One past the last address.
        end: Pc,
        /// A [`RefusedBy`].
        source: U32,
    }
    /// A tracepoint of an object: a `struct tracepoint`, and its trace event, if it has one; or an event of a system call.
    TracepointRecord = 28 {
        /// Its name (`sched_switch`), which is the event's too.
        name: StrId,
        /// The event's system (`sched`); empty if unknown.
        system: StrId,
        /// The object that contains it.
        object: ObjectId,
        /// The address of its `struct tracepoint`.
        pc: Pc,
        /// A function with its parameters, preceded by one named `__data`; none if unknown. The function's file and
        /// line are those of the declaration.
        prototype: FunctionId,
        /// Into `event_fields`.
        first_field: U32,
        /// The number of its event's fields, without those common to all events.
        fields: U16,
        /// See the `TracepointRecord::…` constants.
        flags: U16,
    }
}

records! {
    /// A struct, union, class or enum that functions take or return. Ends where the next one starts; the table has one
    /// record more.
    TypeUsersRecord = 8 {
        /// The type.
        type_id: TypeId = ascending,
        /// Into `type_uses`.
        first_use: U32 = ascending,
    }
    /// A function that is called directly. Its calls end where those of the next one start; the table has one record
    /// more.
    CalledRecord = 8 {
        /// The function.
        function: FunctionId = ascending,
        /// Into `calls`.
        first_call: U32 = ascending,
    }
    /// A named type in the BTF of an object: what BPF programs are relocated to. Sorted by type and object.
    BtfTypeRecord = 9 {
        /// The type of the index.
        type_id: TypeId = ascending,
        /// The object whose BTF has it.
        object: ObjectId,
        /// A [`BtfTypeState`].
        state: u8,
    }
    /// A field of an event's record (tracefs, `events/SYSTEM/EVENT/format`).
    EventFieldRecord = 16 {
        /// Its name.
        name: StrId,
        /// Its type as the kernel spells it: `pid_t`, `char[16]`, `__data_loc char[]`.
        type_name: StrId,
        /// In bytes from the start of the record.
        offset: U16,
        /// In bytes.
        size: U16,
        /// See the `EventFieldRecord::…` constants.
        flags: U32,
    }
    /// An allocated section of an object.
    SectionRecord = 32 {
        /// `.text`, `.init.text` …
        name: StrId,
        /// `sh_flags`.
        flags: U32,
        /// `sh_addr`; 0 in a module.
        address: U64,
        /// `sh_size`.
        size: U64,
        /// Its start in the object's address space.
        pc: Pc,
        /// Where its instructions start: an offset into `boundaries`; [`SectionRecord::NO_BOUNDARIES`] if none of its code was read.
        boundaries: U32,
    }
    /// A symbol of the object's `.symtab` with a name and a section, except section and file symbols; in a module,
    /// also except those of its exports and of the texts in `.modinfo` and `__versions`. Sorted by address, then in
    /// the order of the kernel's own table.
    SymbolRecord = 16 {
        /// Its name with all suffixes (`do_open.isra.0`).
        name: StrId,
        /// Its address.
        pc: Pc = ascending,
        /// `st_size`.
        size: U32,
        /// The position in the object's sections, or [`SymbolRecord::ABSOLUTE`].
        section: U16,
        /// See the `SymbolRecord::…` constants.
        flags: U16,
    }
    /// A function declaration, continued in `function_details` at `details`. Its placements are the range of
    /// `postings` at `postings`, which ends where the next one starts; the table has one record more.
    FunctionRecord = 24 {
        /// `DW_AT_name`.
        name: StrId = ascending,
        /// The path of `DW_AT_decl_file`, as the line table spells it.
        file: StrId,
        /// `DW_AT_decl_line`.
        line: U32,
        /// Into `postings`: its placements, ascending, each less the previous one (the first: less 0).
        postings: U32 = ascending,
        /// Into `function_details`.
        details: U32 = ascending,
        /// The number of variables in `details`.
        variables: U16,
        /// See the `FunctionRecord::…` constants.
        flags: U16,
    }
    /// A name and type of variables. The most frequent ones first.
    VariableRecord = 8 {
        /// The name; empty for an unnamed parameter.
        name: StrId = ascending,
        /// The type, or none.
        type_id: TypeId,
    }
    /// One address at which a function runs.
    PlaceRecord = 12 {
        /// The function.
        function: FunctionId,
        /// `DW_AT_entry_pc`, else the start of the first range; 0 if there is neither.
        entry: Pc,
        /// Outer placement, ranges, call site and variables: an offset into `place_details`.
        details: U32,
    }
    /// A range of addresses of an out-of-line function. Sorted by start within the object.
    RangeRecord = 12 {
        /// The first address.
        start: Pc = ascending,
        /// One past the last address.
        end: Pc = ascending,
        /// The out-of-line placement.
        place: PlaceId,
    }
    /// A distinct name of a function or a symbol. Ends where the next one starts; the table has one record more.
    NameRecord = 12 {
        /// The name.
        name: StrId = ascending,
        /// The first function of this name.
        first_function: FunctionId = ascending,
        /// Into `symbol_names`, which lists symbols by name.
        first_symbol: U32 = ascending,
    }
    /// A type. Ends where the next one starts; the table has one record more.
    TypeRecord = 28 {
        /// The name, or empty.
        name: StrId = ascending,
        /// `DW_AT_decl_file`, or empty.
        file: StrId,
        /// `DW_AT_decl_line`, or 0.
        line: U32,
        /// Size in bytes.
        size: U32,
        /// The type that a pointer points to, a typedef names, an array consists of, or a function returns; none is
        /// void.
        target: TypeId,
        /// Into `members`.
        first_member: U32 = ascending,
        /// A [`TypeKind`](crate::types::TypeKind).
        kind: u8,
        /// `DW_AT_encoding` of a base type.
        encoding: u8,
        /// See the `TypeRecord::…` constants.
        flags: U16,
    }
    /// A member of a struct or union, an enumerator, a parameter of a function type, or a dimension of an array.
    MemberRecord = 16 {
        /// The name, or empty.
        name: StrId,
        /// Its type; none for enumerators and dimensions.
        target: TypeId,
        /// Member: offset in bits; from bit 48 on, the width of a bit-field (0: none). Bits are counted as in memory:
        /// from the least significant bit of a byte, for big-endian objects from the most significant bit
        /// (`DW_AT_data_bit_offset`, DWARF 5, section 5.7.6). Enumerator: its value. Dimension: the number of
        /// elements, -1 if unknown.
        value: I64,
    }
    /// An address with other rules than its code suggests: other code at run time, or refused by the kernel. Sites
    /// may overlap.
    SiteRecord = 6 {
        /// Its first address.
        start: Pc = ascending,
        /// In bytes.
        length: u8,
        /// A [`SiteKind`], or [`MAY_BE`](SiteRecord::MAY_BE) plus the number of an unreadable table.
        kind: u8,
    }
    /// A run of line rows with ascending addresses, or a piece of a long one, which another continues. Sorted by start
    /// within the object.
    SequenceRecord = 16 {
        /// The first address.
        start: Pc = ascending,
        /// One past the last address.
        end: Pc = ascending,
        /// The unit whose file numbers it uses.
        unit: UnitId,
        /// Its rows: an offset into `lines`.
        rows: U32 = ascending,
    }
    /// A range of addresses with frame rules. Sorted by start within the object.
    FrameRecord = 12 {
        /// The first address.
        start: Pc = ascending,
        /// One past the last address.
        end: Pc = ascending,
        /// Its rules: an offset into `frame_rows`.
        rows: U32,
    }
}

impl Record for PlaceId {
    const COLUMNS: &'static [usize] = &[size_of::<Self>()];
}

impl Record for StrId {
    const COLUMNS: &'static [usize] = &[size_of::<Self>()];
}

impl Record for SymbolId {
    const COLUMNS: &'static [usize] = &[size_of::<Self>()];
}
