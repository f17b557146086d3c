//! The struct of a placement.
use super::alias::Alias;
use super::tracepoint::Tracepoint;
use super::value::Value;
use crate::text::Text;

/// `struct probeidx_call`
#[repr(C)]
pub struct Call {
    /// Of the struct.
    pub size: usize,
    /// The caller.
    pub function: Text,
    /// Where it calls.
    pub file: Text,
    /// From 1.
    pub line: u32,
    /// From 1; 0 unknown.
    pub column: u32,
}

/// `struct probeidx_placement`
#[repr(C)]
pub struct Placement {
    /// Of the struct.
    pub size: usize,
    /// The release.
    pub kernel: Text,
    /// Empty for vmlinux.
    pub module: Text,
    /// Of a program its path.
    pub process: Text,
    /// The function.
    pub function: Text,
    /// Of its declaration.
    pub file: Text,
    /// Which holds the address.
    pub section: Text,
    /// Which the kernel prints for the address.
    pub symbol: Text,
    /// What to write to the kernel.
    pub anchor: Text,
    /// Of the anchor.
    pub anchor_module: Text,
    /// Of the anchor.
    pub anchor_symbol: Text,
    /// A line for kprobe_events, of a tracepoint for dynamic_events; empty where they do not take it.
    pub definition: Text,
    /// What is possible where it is refused.
    pub instead: Text,
    /// Of the line for which the address was found.
    pub source_file: Text,
    /// A link address; in a module an offset within the section.
    pub address: u64,
    /// Of the anchor.
    pub anchor_offset: u64,
    /// Innermost first.
    pub inlined_into: *const *const Call,
    /// How many calls.
    pub inlined_into_count: usize,
    /// What can be read there.
    pub values: *const *const Value,
    /// How many values.
    pub value_count: usize,
    /// Of the declaration.
    pub line: u32,
    /// See `probeidx_instance_name`.
    pub instance: u32,
    /// Behind the symbol's start.
    pub symbol_offset: u32,
    /// See the header.
    pub flags: u32,
    /// See `probeidx_verdict_name`.
    pub kprobe: u32,
    /// The same.
    pub kprobe_events: u32,
    /// The same.
    pub kretprobe: u32,
    /// The same.
    pub fentry: u32,
    /// How many bytes behind the address the kernel puts the probe.
    pub shift: u32,
    /// Of the line for which the address was found.
    pub source_line: u32,
    /// The same.
    pub source_column: u32,
    /// At how many addresses the function runs.
    pub instances: u32,
    /// How many of them kprobes reach.
    pub reachable: u32,
    /// How many kprobe_events reach.
    pub reachable_events: u32,
    /// The number of the object.
    pub object: u32,
    /// Less the base of the object.
    pub pc: u32,
    /// Of what a tapset alias leads to; else null.
    pub alias: *const Alias,
    /// Of a tracepoint; else null.
    pub tracepoint: *const Tracepoint,
    /// The modules in which the symbol's name stands too.
    pub collides_with: *const Text,
    /// How many.
    pub collides_with_count: usize,
    /// The probe point, as SystemTap spells it.
    pub probe: Text,
    /// Of what is possible instead: an anchor nearby; empty where there is none.
    pub instead_anchor: Text,
    /// Its address.
    pub instead_address: u64,
    /// Pairs of a verdict and a number: the entries at which kprobes are refused.
    pub entries_refused: *const u32,
    /// How many pairs.
    pub entries_refused_count: usize,
    /// The same of inline instances.
    pub copies_refused: *const u32,
    /// How many pairs.
    pub copies_refused_count: usize,
    /// The same of addresses that do not count, as their code is gone once the kernel runs.
    pub left_out: *const u32,
    /// How many pairs.
    pub left_out_count: usize,
    /// Of `instances` those that are inlined.
    pub copies: u32,
    /// Of these kprobes reach so many.
    pub copies_reachable: u32,
    /// Into so many functions it is inlined.
    pub callers: u32,
    /// Of `instances` kretprobes reach so many.
    pub reachable_kretprobe: u32,
    /// And the mechanisms of ftrace.
    pub reachable_fentry: u32,
    /// Whether the row of `source_line` is a recommended breakpoint location.
    pub source_is_stmt: u32,
    /// What is not known of verdicts that are undecided: the tables by their sections, commas between them.
    pub because: Text,
    /// Entries of which it is not known whether kprobes are taken there.
    pub entries_undecided: u32,
    /// The same of inline instances.
    pub copies_undecided: u32,
}

impl Placement {
    /// The symbol's name stands once.
    pub const UNIQUE: u32 = 1;
    /// It lies within another copy of the same function.
    pub const NESTED: u32 = 2;
    /// A return probe is meant.
    pub const RETURN: u32 = 4;
    /// The function does not return.
    pub const NEVER_RETURNS: u32 = 8;
    /// Some of its exits are jumps to other functions.
    pub const TAIL_CALLS: u32 = 16;
    /// Of the addresses of the line the best to probe.
    pub const BEST: u32 = 32;
    /// Of the addresses of the line the one that SystemTap takes.
    pub const SYSTEMTAP: u32 = 64;

    /// Among the instances: a tracepoint.
    pub const TRACEPOINT: u32 = 3;
    /// Among the instances: no place of the kernel, such as `begin`.
    pub const NOWHERE: u32 = 4;
    /// Among the instances: in no index.
    pub const UNINDEXED: u32 = 5;

    /// Of nothing.
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
    };
}
