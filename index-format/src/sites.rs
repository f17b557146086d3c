//! What is special about code: the kinds of sites, and why the kernel lists a range as refused.

/// What is special about a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum SiteKind {
    /// The kernel switches it between a jump and nothing (`__jump_table`).
    JumpLabel = 1,
    /// The kernel writes the target of a call into it (`.static_call_sites`).
    StaticCall = 2,
    /// An undefined instruction that stands for a BUG or WARN (`__bug_table`).
    Bug = 3,
    /// The processor decides which instructions stand there. The first byte starts one that can be probed, whichever it
    /// is; what starts behind it is not known.
    Patched = 4,
    /// The same, and the first instruction may be one that cannot be probed.
    PatchedWhole = 5,
    /// An instruction that the kernel neither copies nor emulates.
    Unsupported = 6,
    /// An instruction that ftrace patches, of a kernel that takes no kprobe there (`check_ftrace_location`).
    Ftrace = 7,
}

impl SiteKind {
    /// The kind of this number.
    pub fn from_number(number: u8) -> Option<Self> {
        use SiteKind::*;
        [JumpLabel, StaticCall, Bug, Patched, PatchedWhole, Unsupported, Ftrace]
            .into_iter()
            .find(|kind| *kind as u8 == number)
    }
}

/// Why the kernel's list has a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum RefusedBy {
    /// `NOKPROBE_SYMBOL` (section `_kprobe_blacklist`).
    Nokprobe = 1,
    /// Between `__kprobes_text_start` and `__kprobes_text_end`; of a module, the section `.kprobes.text`.
    KprobesText = 2,
    /// Between `__noinstr_text_start` and `__noinstr_text_end`; of a module, the section `.noinstr.text`.
    NoinstrText = 3,
    /// Between `__entry_text_start` and `__entry_text_end`, and what else the architecture adds.
    EntryText = 4,
}

impl RefusedBy {
    /// The source of this number.
    pub fn from_number(number: u32) -> Option<Self> {
        use RefusedBy::*;
        [Nokprobe, KprobesText, NoinstrText, EntryText].into_iter().find(|source| *source as u32 == number)
    }
}
