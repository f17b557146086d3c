//! The fixed records of the tables. Little-endian, alignment 1, no padding; their sizes are asserted below.
pub use crate::sites::{CodeTable, RefusedBy, SiteKind, TableSet};

use crate::id::{FunctionId, ObjectId, Pc, PlaceId, StrId, SymbolId, TypeId, UnitId};
use crate::table::COLUMNS;
use zerocopy::byteorder::little_endian::{I64, U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

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

impl ObjectRecord {
    /// The code is unavailable: no placement of the object is known to be accepted.
    pub const NO_CODE: u32 = 1;
    /// The kernel's rules for this architecture are unknown, or not proven on running kernels.
    pub const NO_RULES: u32 = 1 << 1;
    /// vmlinux: instructions that raise exceptions are refused (`can_probe`, arch/x86/kernel/kprobes/core.c, 6.9).
    pub const REFUSES_TRAPS: u32 = 1 << 2;
    /// vmlinux: kprobe_events, perf and BPF refuse functions without an ftrace site (`within_notrace_func`).
    pub const REFUSES_NOTRACE: u32 = 1 << 3;
    /// vmlinux: `__pfx_` and `__cfi_` symbols are refused (`is_cfi_preamble_symbol`).
    pub const REFUSES_PREFIXES: u32 = 1 << 4;
    /// vmlinux: a probe on an `endbr64` at the start of a symbol is moved behind it (`arch_adjust_kprobe_addr`).
    pub const SKIPS_ENDBR: u32 = 1 << 5;
    /// vmlinux: built without kprobes.
    pub const NO_KPROBES: u32 = 1 << 6;
    /// A program or shared library, probed by uprobes.
    pub const USER: u32 = 1 << 7;
    /// vmlinux: the addresses of its symbols are unknown. Those here only distinguish them.
    pub const NAMES_ONLY: u32 = 1 << 8;
    /// Big-endian bytes in numbers, and most significant bit first in bit-fields.
    pub const BIG_ENDIAN: u32 = 1 << 9;
    /// Its BTF was read: what is said of a function in BTF, and of none, is complete.
    pub const BTF: u32 = 1 << 10;
    /// It has no BTF. Without this flag and [`Self::BTF`], it is unknown whether it has some.
    pub const NO_BTF: u32 = 1 << 11;
    /// vmlinux: the limits of BPF trampolines are known; the flags that follow are these limits.
    pub const TRAMPOLINES: u32 = 1 << 12;
    /// vmlinux: no BPF trampoline can be attached, as ftrace calls none directly (`register_ftrace_direct`).
    pub const NO_TRAMPOLINES: u32 = 1 << 13;
    /// vmlinux: trampolines pass structs of up to 16 bytes (`btf_distill_func_proto`, kernel/bpf/btf.c).
    pub const STRUCT_ARGUMENTS: u32 = 1 << 14;
    /// vmlinux: trampolines pass unions of up to 16 bytes.
    pub const UNION_ARGUMENTS: u32 = 1 << 15;
    /// vmlinux: trampolines pass up to 12 arguments (`MAX_BPF_FUNC_ARGS`), else those in registers.
    pub const STACK_ARGUMENTS: u32 = 1 << 16;
    /// vmlinux: a function of a module is looked up in that module alone (`bpf_check_attach_target`).
    pub const LOOKS_IN_MODULE: u32 = 1 << 17;
    /// vmlinux: its code was read from the memory of the running kernel, where it is patched for the processor.
    pub const OF_MEMORY: u32 = 1 << 18;

    /// Whether one of these flags is set.
    pub fn has(&self, flag: u32) -> bool {
        self.flags.get() & flag != 0
    }
    /// The tables about its code that are missing or damaged.
    pub fn unread(&self) -> TableSet {
        TableSet(self.unread.get())
    }
}

impl SiteRecord {
    /// Added to the number of a [`CodeTable`] instead of a [`SiteKind`]: the table could not be read, and this
    /// address may be in it.
    pub const MAY_BE: u8 = 0x80;

    /// The unreadable table that may contain the site.
    pub fn may_be_of(&self) -> Option<CodeTable> {
        let number = self.kind.checked_sub(Self::MAY_BE)?;
        CodeTable::ALL.get(usize::from(number)).copied()
    }
}

impl TracepointRecord {
    /// It has a trace event (`TRACE_EVENT`), and the event's system. Otherwise the system is that of its header.
    pub const EVENT: u16 = 1;
    /// All fields of the event's record are known.
    pub const FIELDS: u16 = 1 << 1;
    /// An event of a system call: it has no `struct tracepoint`, and its address is that of the `struct syscall_metadata`.
    pub const SYSTEM_CALL: u16 = 1 << 2;
    /// The kernel may add fields when it starts, for what the arguments of a system call point to (`__filename_val`).
    pub const EXTENDED: u16 = 1 << 3;

    /// Whether one of these flags is set.
    pub fn has(&self, flag: u16) -> bool {
        self.flags.get() & flag != 0
    }
}

/// What the BTF of an object has of a type of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum BtfTypeState {
    /// The type.
    Same = 0,
    /// A declaration.
    Declared = 1,
    /// A type of the same kind and name with other members.
    Other = 2,
}

impl BtfTypeRecord {
    /// What the BTF has; unknown numbers count as another type.
    pub fn state(&self) -> BtfTypeState {
        match self.state {
            0 => BtfTypeState::Same,
            1 => BtfTypeState::Declared,
            _ => BtfTypeState::Other,
        }
    }
}

impl EventFieldRecord {
    /// The kernel treats it as a signed number.
    pub const SIGNED: u32 = 1;
}

impl SectionRecord {
    /// No bits in `boundaries`.
    pub const NO_BOUNDARIES: u32 = u32::MAX;
}

impl SymbolRecord {
    /// The section of an absolute symbol.
    pub const ABSOLUTE: u16 = 0xfff1;
    /// Mask of `STT_*`.
    pub const TYPE: u16 = 0xf;
    /// `STT_FUNC`.
    pub const FUNC: u16 = 2;
    /// Shift of `STB_*`; values above 2 are stored as 3.
    pub const BIND_SHIFT: u16 = 4;
    /// An ftrace site lies between its address and that of the next symbol.
    pub const TRACED: u16 = 1 << 6;
    /// An ftrace site is at its entry, or after an `endbr64` there.
    pub const FTRACE_ENTRY: u16 = 1 << 7;
    /// `EXPORT_SYMBOL`, with any licence.
    pub const EXPORTED: u16 = 0x100;
    /// The kernel keeps it in its own table at run time.
    pub const KEPT: u16 = 0x200;
    /// The debug information describes code under its name, or under the name of another symbol at its address.
    pub const DESCRIBED: u16 = 0x400;
    /// A contiguous out-of-line function starts at its address, whatever its name.
    pub const ENTRY: u16 = 0x800;
    /// It starts with `endbr64`.
    pub const ENDBR: u16 = 1 << 12;
    /// Some of its exits are returns.
    pub const RETURNS: u16 = 1 << 13;
    /// Some of its exits are jumps to other functions.
    pub const TAIL_CALLS: u16 = 1 << 14;
    /// The BTF of its object has prototypes of its name, and all of them are plain: at most 6 parameters, all of them numbers
    /// or pointers, as what it returns. Only for objects that also have debug information.
    pub const PLAIN_IN_BTF: u16 = 1 << 15;

    /// Whether it is an `STT_FUNC`.
    pub fn is_function(&self) -> bool {
        self.flags.get() & Self::TYPE == Self::FUNC
    }
    /// Whether it is an `STT_GNU_IFUNC`: a function that returns the address of another one.
    pub fn is_indirect(&self) -> bool {
        self.flags.get() & Self::TYPE == 10
    }
    /// `STB_LOCAL`, `STB_GLOBAL`, `STB_WEAK`; 3 for any other.
    pub fn binding(&self) -> u8 {
        (self.flags.get() >> Self::BIND_SHIFT & 3) as u8
    }
    /// Whether one of these flags is set.
    pub fn has(&self, flag: u16) -> bool {
        self.flags.get() & flag != 0
    }
}

impl UnitRecord {
    /// Compiled by GCC with `-mfentry`: variables at a function's entry may be described only from 5 bytes later on.
    pub const GCC_MFENTRY: u32 = 1;
    /// Not a unit, but the BTF of an object: only functions with their parameters.
    pub const BTF: u32 = 1 << 1;

    /// Whether one of these flags is set.
    pub fn has(&self, flag: u32) -> bool {
        self.flags.get() & flag != 0
    }
}

impl MemberRecord {
    /// The column of names.
    pub const NAME: usize = 0;
}

impl TypeRecord {
    /// The column of kinds.
    pub const KIND: usize = 6;
    /// Only declared: its members and size are unknown.
    pub const DECLARED: u16 = 1;
}

/// How BTF describes a function of the debug information, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u16)]
pub enum InBtf {
    /// It has no symbol of exactly its name, or its object has no BTF or no debug information.
    Unknown = 0,
    /// BTF has one prototype, which agrees: names and types of the parameters, and return type.
    Same = 1,
    /// BTF has no prototype.
    Missing = 2,
    /// BTF has several prototypes of its name, and its own is unknown.
    Ambiguous = 3,
    /// BTF has one prototype, which differs.
    Changed = 4,
}

impl FunctionRecord {
    /// The column of files.
    pub const FILE_COLUMN: usize = 1;
    /// Mask of `DW_AT_inline`: 0 not, 1 inlined, 2 declared but not inlined, 3 declared and inlined.
    pub const INLINE: u16 = 3;
    /// `DW_AT_external`.
    pub const EXTERNAL: u16 = 1 << 2;
    /// `DW_AT_noreturn`.
    pub const NORETURN: u16 = 1 << 3;
    /// `DW_AT_prototyped`.
    pub const PROTOTYPED: u16 = 1 << 4;
    /// Shift of an [`InBtf`] of three bits.
    pub const IN_BTF_SHIFT: u16 = 5;
    /// Takes further arguments: `...` (`DW_TAG_unspecified_parameters`, or a last parameter of BTF without type).
    pub const VARIADIC: u16 = 1 << 8;
    /// A function of its name is a kfunc: BPF programs may call it.
    pub const KFUNC: u16 = 1 << 9;
    /// It is an LSM hook to which no program can be attached.
    pub const DISABLED_HOOK: u16 = 1 << 10;
    /// A function of its name may be made to fail (`ALLOW_ERROR_INJECTION`), or its result be changed.
    pub const MAY_FAIL: u16 = 1 << 11;
    /// It is an LSM hook: programs can be attached to it, unless it is disabled.
    pub const LSM_HOOK: u16 = 1 << 12;

    /// Its status in BTF.
    pub fn in_btf(&self) -> InBtf {
        match self.flags.get() >> Self::IN_BTF_SHIFT & 7 {
            1 => InBtf::Same,
            2 => InBtf::Missing,
            3 => InBtf::Ambiguous,
            4 => InBtf::Changed,
            _ => InBtf::Unknown,
        }
    }

    /// Whether its inline instances are placements (`DW_AT_inline` 1 or 3).
    pub fn is_inlined(&self) -> bool {
        self.flags.get() & 1 != 0
    }
    /// Whether one of these flags is set.
    pub fn has(&self, flag: u16) -> bool {
        self.flags.get() & flag != 0
    }
}
