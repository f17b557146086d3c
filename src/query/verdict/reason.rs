//! Why the kernel refuses a probe.
use super::unknown::Unknown;
use probeidx_format::record::RefusedBy;

/// Why a mechanism refuses an address: the first reason that applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Reason {
    /// Code that runs only while the kernel or module starts. (`kernel_text_address`)
    InitText,
    /// Exit code of vmlinux: it never runs, because vmlinux is not unloaded.
    ExitText,
    /// Not loaded, or never run in place: replacements for patched instructions, padding, data.
    Discarded,
    /// A function that lost to another one of the same name at link time: the code is present but unreachable.
    DeadCode,
    /// `NOKPROBE_SYMBOL`.
    Blacklist,
    /// `noinstr`.
    Noinstr,
    /// Entry code of the architecture.
    EntryText,
    /// `__kprobes`.
    KprobesText,
    /// The instruction that ftrace patches, if kprobes do not use ftrace (arm64).
    FtraceSite,
    /// A static branch, rewritten at run time.
    JumpLabel,
    /// A static call, rewritten at run time.
    StaticCall,
    /// The trap of a BUG or WARN.
    BugSite,
    /// Instructions that depend on the processor the kernel runs on.
    Patched,
    /// No instruction starts there.
    NotBoundary,
    /// An instruction that the kernel can neither copy nor emulate.
    UnsupportedInstruction,
    /// An instruction under a condition: the kernel takes the probe, and calls it only where that holds (32-bit ARM).
    Conditional,
    /// The symbol has no ftrace site, and the mechanism needs one.
    NoFtraceSite,
    /// Not the entry of a function.
    NotEntry,
    /// An inlined copy has no entry and no return of its own.
    Inline,
    /// In a `__pfx_` or `__cfi_` symbol.
    PrefixSymbol,
    /// A function that returns somewhere else. (`kretprobe_blacklist`)
    KretprobeBlacklist,
    /// A function of a language whose runtime depends on return addresses, or returns without them: Go, OCaml, Haskell.
    RuntimeStack,
    /// No symbol holds the address.
    NoSymbol,
    /// The kernel attaches no BPF trampolines: ftrace has no direct calls.
    NoTrampoline,
    /// The function is not in the kernel's BTF.
    NoBtf,
    /// Several functions have the name, by which the kernel would look for the function.
    AmbiguousName,
    /// A function with `...`, whose arguments a trampoline cannot pass on.
    Variadic,
    /// A function that returns a struct or union.
    StructReturn,
    /// A parameter is a struct or union that a trampoline of this kernel cannot pass on.
    StructArgument,
    /// More arguments than a trampoline of this kernel can pass on.
    TooManyArguments,
    /// A table or rule that decides it is unknown.
    Undecided(Unknown),
}

impl Reason {
    /// `Undecided`, if something is not known.
    pub fn of(unknown: Unknown) -> Option<Self> {
        (!unknown.is_nothing()).then_some(Self::Undecided(unknown))
    }
    /// What is not known, if undecided.
    pub fn unknown(self) -> Unknown {
        match self {
            Self::Undecided(unknown) => unknown,
            _ => Unknown::NOTHING,
        }
    }
    /// The name in JSON. It does not include the cause of an undecided verdict.
    pub fn name(self) -> &'static str {
        match self {
            Self::InitText => "init-text",
            Self::ExitText => "exit-text",
            Self::Discarded => "discarded",
            Self::DeadCode => "dead-code",
            Self::Blacklist => "blacklist",
            Self::Noinstr => "noinstr",
            Self::EntryText => "entry-text",
            Self::KprobesText => "kprobes-text",
            Self::FtraceSite => "ftrace-site",
            Self::JumpLabel => "jump-label",
            Self::StaticCall => "static-call",
            Self::BugSite => "bug-site",
            Self::Patched => "patched",
            Self::NotBoundary => "not-boundary",
            Self::UnsupportedInstruction => "unsupported-instruction",
            Self::Conditional => "conditional",
            Self::NoFtraceSite => "no-ftrace-site",
            Self::NotEntry => "not-entry",
            Self::Inline => "inline",
            Self::PrefixSymbol => "prefix-symbol",
            Self::KretprobeBlacklist => "kretprobe-blacklist",
            Self::RuntimeStack => "runtime-stack",
            Self::NoSymbol => "no-symbol",
            Self::NoTrampoline => "no-trampoline",
            Self::NoBtf => "no-btf",
            Self::AmbiguousName => "ambiguous-name",
            Self::Variadic => "variadic",
            Self::StructReturn => "struct-return",
            Self::StructArgument => "struct-argument",
            Self::TooManyArguments => "too-many-arguments",
            Self::Undecided(_) => "undecided",
        }
    }
    /// Whether the verdict is undecided.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Undecided(_))
    }
    /// A phrase to follow a count: `2 on a jump label`.
    pub fn phrase(self) -> &'static str {
        match self {
            Self::InitText => "in init code",
            Self::ExitText => "in exit code",
            Self::Discarded => "in discarded code",
            Self::DeadCode => "in code that nothing leads to",
            Self::Blacklist => "in a NOKPROBE function",
            Self::Noinstr => "in a noinstr function",
            Self::EntryText => "in entry code",
            Self::KprobesText => "in a __kprobes function",
            Self::FtraceSite => "on the instruction that ftrace patches",
            Self::JumpLabel => "on a jump label",
            Self::StaticCall => "on a static call",
            Self::BugSite => "on a BUG or WARN",
            Self::Patched => "within patched instructions",
            Self::NotBoundary => "within an instruction",
            Self::UnsupportedInstruction => "on an instruction that cannot be probed",
            Self::Conditional => "on an instruction under a condition, where probes miss calls",
            Self::NoFtraceSite => "without an ftrace site",
            Self::NotEntry => "not at an entry",
            Self::Inline => "inlined",
            Self::PrefixSymbol => "in a prefix symbol",
            Self::KretprobeBlacklist => "in a function that returns elsewhere",
            Self::RuntimeStack => "in a function whose runtime does not let its return be probed",
            Self::NoSymbol => "outside of all symbols",
            Self::NoTrampoline => "in a kernel without BPF trampolines",
            Self::NoBtf => "not in BTF",
            Self::AmbiguousName => "with a name that is not unique",
            Self::Variadic => "variadic",
            Self::StructReturn => "returning a struct",
            Self::StructArgument => "with a struct as parameter",
            Self::TooManyArguments => "with too many arguments",
            Self::Undecided(Unknown::ARCHITECTURE) => "not supported on this architecture yet",
            Self::Undecided(_) => "undecided",
        }
    }
    /// Whether the code itself is gone or never runs, so that the address is not counted.
    pub fn is_gone(self) -> bool {
        self <= Self::DeadCode
    }
}

/// Adds one to the count of a reason.
pub fn count(counts: &mut Vec<(Reason, u32)>, reason: Reason) {
    match counts.iter_mut().find(|(known, _)| *known == reason) {
        Some((_, n)) => *n += 1,
        None => counts.push((reason, 1)),
    }
}

impl From<RefusedBy> for Reason {
    fn from(source: RefusedBy) -> Self {
        match source {
            RefusedBy::Nokprobe => Self::Blacklist,
            RefusedBy::KprobesText => Self::KprobesText,
            RefusedBy::NoinstrText => Self::Noinstr,
            RefusedBy::EntryText | RefusedBy::Head => Self::EntryText,
        }
    }
}
