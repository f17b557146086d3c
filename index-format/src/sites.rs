//! The kinds of sites, and the reasons for ranges in the kernel's blacklist.

/// The kind of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SiteKind {
    /// The kernel switches it between a jump and a no-op (`__jump_table`).
    JumpLabel = 1,
    /// The kernel patches the target of its call (`.static_call_sites`).
    StaticCall = 2,
    /// An undefined instruction used for BUG or WARN (`__bug_table`).
    Bug = 3,
    /// The instructions depend on the processor. At the first byte there is one that can be probed in any case; later
    /// boundaries are unknown.
    Patched = 4,
    /// As [`Self::Patched`], but the first instruction may be one that cannot be probed.
    PatchedWhole = 5,
    /// An instruction that the kernel can neither copy nor emulate.
    Unsupported = 6,
    /// An instruction patched by ftrace, in a kernel that refuses kprobes there (`check_ftrace_location`).
    Ftrace = 7,
    /// An instruction that raises an exception, which kernels with
    /// [`REFUSES_TRAPS`](crate::record::ObjectRecord::REFUSES_TRAPS) refuse.
    Trap = 8,
    /// An instruction under a condition, on a machine whose kernel calls the handler of a probe only where that holds.
    Conditional = 9,
}

impl SiteKind {
    /// The kind of this number.
    pub fn from_number(number: u8) -> Option<Self> {
        use SiteKind::*;
        [JumpLabel, StaticCall, Bug, Patched, PatchedWhole, Unsupported, Ftrace, Trap, Conditional]
            .into_iter()
            .find(|kind| *kind as u8 == number)
    }
}

/// A table of the kernel about its own code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum CodeTable {
    /// Static branches.
    JumpLabels = 0,
    /// Static calls.
    StaticCalls = 1,
    /// BUG and WARN.
    Bugs = 2,
    /// Instructions that depend on the processor.
    Alternatives = 3,
    /// Calls that depend on the hypervisor.
    Paravirt = 4,
    /// Calls and jumps to retpolines or similar thunks.
    Retpolines = 5,
    /// Type checks of indirect calls (kCFI).
    CfiTraps = 6,
    /// `NOKPROBE_SYMBOL`.
    Blacklist = 7,
    /// Instructions that may fault.
    Exceptions = 8,
    /// Calls of ftrace.
    Ftrace = 9,
    /// Instructions that depend on the processor or the firmware (powerpc).
    Fixups = 10,
}

impl CodeTable {
    /// All of them, by number.
    pub const ALL: [Self; 11] = {
        use CodeTable::*;
        [
            JumpLabels,
            StaticCalls,
            Bugs,
            Alternatives,
            Paravirt,
            Retpolines,
            CfiTraps,
            Blacklist,
            Exceptions,
            Ftrace,
            Fixups,
        ]
    };

    /// Its section in a module, also used in messages.
    pub fn section(self) -> &'static str {
        match self {
            Self::JumpLabels => "__jump_table",
            Self::StaticCalls => ".static_call_sites",
            Self::Bugs => "__bug_table",
            Self::Alternatives => ".altinstructions",
            Self::Paravirt => ".parainstructions",
            Self::Retpolines => ".retpoline_sites",
            Self::CfiTraps => ".kcfi_traps",
            Self::Blacklist => "_kprobe_blacklist",
            Self::Exceptions => "__ex_table",
            Self::Ftrace => "__mcount_loc",
            Self::Fixups => "__ftr_fixup",
        }
    }

    /// Whether any instruction may be in it. For the others, the code shows which instructions may be:
    /// [`SiteRecord::MAY_BE`](crate::record::SiteRecord::MAY_BE).
    pub fn may_hold_anything(self) -> bool {
        matches!(self, Self::Alternatives | Self::Blacklist | Self::Exceptions | Self::Fixups)
    }

    /// Whether the kernel replaces the instructions that it lists.
    pub fn is_of_patches(self) -> bool {
        matches!(self, Self::Alternatives | Self::Paravirt | Self::Retpolines | Self::Fixups)
    }
}

/// A set of tables.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TableSet(pub u32);

impl TableSet {
    /// No table.
    pub const EMPTY: Self = Self(0);

    /// The set with one more table.
    #[must_use]
    pub fn with(self, table: CodeTable) -> Self {
        Self(self.0 | 1 << table as u8)
    }
    /// Whether it contains a table.
    pub fn has(self, table: CodeTable) -> bool {
        self.0 & 1 << table as u8 != 0
    }
    /// Whether it is empty.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }
    /// The tables in it, in order.
    pub fn iter(self) -> impl Iterator<Item = CodeTable> {
        CodeTable::ALL.into_iter().filter(move |table| self.has(*table))
    }
    /// The tables in it that satisfy a condition.
    #[must_use]
    pub fn filtered(self, holds: impl Fn(CodeTable) -> bool) -> Self {
        self.iter().filter(|table| holds(*table)).fold(Self::EMPTY, Self::with)
    }
    /// The tables in either set.
    #[must_use]
    pub fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// The reason for a range in the kernel's blacklist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum RefusedBy {
    /// `NOKPROBE_SYMBOL` (section `_kprobe_blacklist`).
    Nokprobe = 1,
    /// Between `__kprobes_text_start` and `__kprobes_text_end`; in a module, the section `.kprobes.text`.
    KprobesText = 2,
    /// Between `__noinstr_text_start` and `__noinstr_text_end`; in a module, the section `.noinstr.text`.
    NoinstrText = 3,
    /// Between `__entry_text_start` and `__entry_text_end`, and areas that the architecture adds.
    EntryText = 4,
    /// Entries of exceptions and interrupts that the kernel refuses and does not list: those of ppc64 and ARM.
    Head = 5,
}

impl RefusedBy {
    /// The reason of this number.
    pub fn from_number(number: u32) -> Option<Self> {
        use RefusedBy::*;
        let all = [Nokprobe, KprobesText, NoinstrText, EntryText, Head];
        all.into_iter().find(|source| *source as u32 == number)
    }
}
