//! The struct of a placement.
use super::alias::Alias;
use super::tracepoint::Tracepoint;
use super::value::Value;
use crate::text::Text;

/// `struct probeidx_call`
#[repr(C)]
pub struct Call {
    /// The size of the struct.
    pub size: usize,
    /// The caller.
    pub function: Text,
    /// The file of the call.
    pub file: Text,
    /// The line, from 1.
    pub line: u32,
    /// From 1; 0 if unknown.
    pub column: u32,
}

/// `struct probeidx_placement`
#[repr(C)]
pub struct Placement {
    /// The size of the struct.
    pub size: usize,
    /// The release of the kernel.
    pub kernel: Text,
    /// The name of the module; empty for vmlinux.
    pub module: Text,
    /// The path of a program.
    pub process: Text,
    /// The function.
    pub function: Text,
    /// The file of the declaration.
    pub file: Text,
    /// The section that holds the address.
    pub section: Text,
    /// The symbol that the kernel prints for the address.
    pub symbol: Text,
    /// The anchor: what to write to the kernel.
    pub anchor: Text,
    /// The module of the anchor.
    pub anchor_module: Text,
    /// The symbol of the anchor.
    pub anchor_symbol: Text,
    /// A line for kprobe_events, or for a tracepoint, for dynamic_events; empty if they refuse it.
    pub definition: Text,
    /// What to do if the probe is refused.
    pub instead: Text,
    /// The file of the source line, if a line was requested.
    pub source_file: Text,
    /// A link address; in a module, an offset within the section.
    pub address: u64,
    /// The offset of the anchor.
    pub anchor_offset: u64,
    /// The calls through which it is inlined, innermost first.
    pub inlined_into: *const *const Call,
    /// The length of `inlined_into`.
    pub inlined_into_count: usize,
    /// The values that can be read there.
    pub values: *const *const Value,
    /// The length of `values`.
    pub value_count: usize,
    /// The line of the declaration.
    pub line: u32,
    /// See `probeidx_instance_name`.
    pub instance: u32,
    /// The offset from the symbol's start.
    pub symbol_offset: u32,
    /// See the header.
    pub flags: u32,
    /// See `probeidx_verdict_name`.
    pub kprobe: u32,
    /// See `kprobe`.
    pub kprobe_events: u32,
    /// See `kprobe`.
    pub kretprobe: u32,
    /// See `kprobe`.
    pub fentry: u32,
    /// How many bytes after the address the kernel puts the probe.
    pub shift: u32,
    /// The source line, if a line was requested.
    pub source_line: u32,
    /// The column of the source line.
    pub source_column: u32,
    /// The number of addresses at which the function runs.
    pub instances: u32,
    /// The number of these that kprobes accept.
    pub reachable: u32,
    /// The number of these that kprobe_events accept.
    pub reachable_events: u32,
    /// The number of the object.
    pub object: u32,
    /// The address less the base of the object.
    pub pc: u32,
    /// For a probe of a tapset alias; else null.
    pub alias: *const Alias,
    /// For a tracepoint; else null.
    pub tracepoint: *const Tracepoint,
    /// The other modules that have the symbol's name.
    pub collides_with: *const Text,
    /// The length of `collides_with`.
    pub collides_with_count: usize,
    /// The probe point in SystemTap's spelling.
    pub probe: Text,
    /// The anchor of the alternative; empty if there is none.
    pub instead_anchor: Text,
    /// The address of the alternative.
    pub instead_address: u64,
    /// Pairs of a verdict and a number: the entries at which kprobes are refused.
    pub entries_refused: *const u32,
    /// The number of pairs in `entries_refused`.
    pub entries_refused_count: usize,
    /// Like `entries_refused`, for inline instances.
    pub copies_refused: *const u32,
    /// The number of pairs in `copies_refused`.
    pub copies_refused_count: usize,
    /// Like `entries_refused`, for addresses that are not counted because their code is gone once the kernel runs.
    pub left_out: *const u32,
    /// The number of pairs in `left_out`.
    pub left_out_count: usize,
    /// The number of `instances` that are inlined.
    pub copies: u32,
    /// The number of `copies` that kprobes accept.
    pub copies_reachable: u32,
    /// The number of functions into which it is inlined.
    pub callers: u32,
    /// The number of `instances` that kretprobes accept.
    pub reachable_kretprobe: u32,
    /// The number of `instances` that the mechanisms of ftrace accept.
    pub reachable_fentry: u32,
    /// Whether the row of `source_line` is a recommended breakpoint location.
    pub source_is_stmt: u32,
    /// What is not known about undecided verdicts: the tables by their sections, separated by commas.
    pub because: Text,
    /// The number of entries whose kprobe verdict is undecided.
    pub entries_undecided: u32,
    /// The number of inline instances whose kprobe verdict is undecided.
    pub copies_undecided: u32,
    /// See `kprobe`: fprobe, kprobe.multi.
    pub ftrace: u32,
    /// See `kprobe`: BPF trampolines.
    pub trampoline: u32,
    /// The number of `instances` that `ftrace` accepts.
    pub reachable_ftrace: u32,
    /// The number of `instances` that `trampoline` accepts.
    pub reachable_trampoline: u32,
    /// The name to attach to.
    pub by_name: Text,
    /// 0 ok, 1 ambiguous, 2 renamed, 3 absent.
    pub by_name_state: u32,
    /// 0.
    pub reserved32: u32,
}

impl Placement {
    /// The symbol's name is unique.
    pub const UNIQUE: u32 = 1;
    /// It lies within another copy of the same function.
    pub const NESTED: u32 = 2;
    /// A return probe is requested.
    pub const RETURN: u32 = 4;
    /// The function does not return.
    pub const NEVER_RETURNS: u32 = 8;
    /// Some of its exits are jumps to other functions.
    pub const TAIL_CALLS: u32 = 16;
    /// The best address to probe for the line.
    pub const BEST: u32 = 32;
    /// The address that SystemTap probes for the line.
    pub const SYSTEMTAP: u32 = 64;

    /// In `by_name_state`: no name attaches to it.
    pub const NO_NAME: u32 = 3;

    /// In `instance`: a tracepoint.
    pub const TRACEPOINT: u32 = 3;
    /// In `instance`: not at a place of the kernel, such as `begin`.
    pub const NOWHERE: u32 = 4;
    /// In `instance`: not indexed.
    pub const UNINDEXED: u32 = 5;

    /// An empty placement.
    pub const BLANK: Self = Self {
        size: size_of::<Self>(),
        kernel: Text::EMPTY,
        module: Text::EMPTY,
        process: Text::EMPTY,
        function: Text::EMPTY,
        file: Text::EMPTY,
        section: Text::EMPTY,
        symbol: Text::EMPTY,
        anchor: Text::EMPTY,
        anchor_module: Text::EMPTY,
        anchor_symbol: Text::EMPTY,
        definition: Text::EMPTY,
        instead: Text::EMPTY,
        source_file: Text::EMPTY,
        address: 0,
        anchor_offset: 0,
        inlined_into: std::ptr::null(),
        inlined_into_count: 0,
        values: std::ptr::null(),
        value_count: 0,
        line: 0,
        instance: Self::NOWHERE,
        symbol_offset: 0,
        flags: 0,
        kprobe: 0,
        kprobe_events: 0,
        kretprobe: 0,
        fentry: 0,
        shift: 0,
        source_line: 0,
        source_column: 0,
        instances: 0,
        reachable: 0,
        reachable_events: 0,
        object: u32::MAX,
        pc: 0,
        alias: std::ptr::null(),
        tracepoint: std::ptr::null(),
        collides_with: std::ptr::null(),
        collides_with_count: 0,
        probe: Text::EMPTY,
        instead_anchor: Text::EMPTY,
        instead_address: 0,
        entries_refused: std::ptr::null(),
        entries_refused_count: 0,
        copies_refused: std::ptr::null(),
        copies_refused_count: 0,
        left_out: std::ptr::null(),
        left_out_count: 0,
        copies: 0,
        copies_reachable: 0,
        callers: 0,
        reachable_kretprobe: 0,
        reachable_fentry: 0,
        source_is_stmt: 0,
        because: Text::EMPTY,
        entries_undecided: 0,
        copies_undecided: 0,
        ftrace: 0,
        trampoline: 0,
        reachable_ftrace: 0,
        reachable_trampoline: 0,
        by_name: Text::EMPTY,
        by_name_state: Self::NO_NAME,
        reserved32: 0,
    };
}
