//! What flags and numbers of records mean.
use super::{
    BtfTypeRecord, CodeTable, EventFieldRecord, FunctionRecord, MemberRecord, ObjectRecord, SectionRecord,
    SequenceRecord, SiteRecord, SymbolRecord, TableSet, TracepointRecord, TypeRecord, UnitRecord,
};

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
    /// vmlinux of ppc64le: a probe where ftrace patches is one of ftrace, and a probe by name goes there (`kprobe_lookup_name`).
    pub const PROBES_FTRACE_SITES: u32 = 1 << 19;
    /// vmlinux of ppc64le: ftrace patches the second instruction of the local entry, else the first.
    pub const SITES_BEHIND_ENTRIES: u32 = 1 << 20;
    /// vmlinux of ppc64le: what counts as entry of a function ends with its ftrace site (`arch_kprobe_on_func_entry`, 6.13).
    pub const ENTRIES_END_AT_SITES: u32 = 1 << 21;

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
    /// Added to the number of a [`CodeTable`] instead of a [`SiteKind`](super::SiteKind): the table could not be read, and this
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
    /// An ftrace site is at its entry, or after an `endbr64` there; on ppc64le at or behind its local entry.
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
    /// ppc64le: it has a local entry, [`Self::LOCAL_ENTRY`] bytes behind the global one. No function has this and an `endbr64`.
    pub const TWO_ENTRIES: u16 = Self::ENDBR;
    /// How far the local entry of ppc64le is behind the global one (ELF ABI v2, 2.3.2.1: what a kernel's code has).
    pub const LOCAL_ENTRY: u32 = 8;
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

impl SequenceRecord {
    /// The column of units.
    pub const UNIT_COLUMN: usize = 2;
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
