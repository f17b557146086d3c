//! The machine code of an object and the kernel's tables about it: where instructions start, what the running kernel
//! patches, and what it refuses.
//!
//! The rules are those of `register_kprobe` (kernel/kprobes.c, arch/*/kernel/) and `kprobe_events`
//! (kernel/trace/trace_kprobe.c), checked against the sources of 5.10 to 7.3 and running kernels
//! (`tests/kernel/live`).
mod arm;
mod arm64;
mod assumptions;
mod blacklist;
mod bodies;
mod data;
mod entry;
mod exits;
mod extent;
pub mod layout;
pub mod marks;
mod ppc64;
mod riscv64;
mod rules;
pub mod running;
mod s390x;
mod sites;
pub mod system_calls;
mod table;
mod text;
pub mod tracepoints;
pub mod trampolines;
mod x86;

use crate::error::Error;
use crate::load::elf::Elf;
use crate::load::symbols::Symbol;
pub use assumptions::PROVEN;
pub use bodies::bodies;
pub use entry::untouched;
pub use extent::measure;
use object::elf::{EM_386, EM_AARCH64, EM_ARM, EM_PPC64, EM_RISCV, EM_S390, EM_X86_64, Machine};
use probeidx_format::record::{CodeTable, ObjectRecord, SymbolRecord, TableSet};
pub use rules::{Evidence, Kernel};
use table::Tables;
use text::Text;

/// Facts from code and tables, ordered by address except for `refused`.
#[derive(Default)]
pub struct CodeFacts {
    pub sites: Vec<SiteFacts>,
    /// In the order of the kernel's own list.
    pub refused: Vec<RefusedFacts>,
    /// For each section with readable code: its start, and a bit for every byte.
    pub boundaries: Vec<(u32, Vec<u8>)>,
    /// As in the format's object record.
    pub flags: u32,
    /// The tables that could not be read.
    pub unread: TableSet,
    /// For vmlinux: which rules the kernel has, from its code. It has some kilobytes, of which a module has no use.
    pub evidence: Option<Box<Evidence>>,
    /// For vmlinux: whether the flags follow from the kernel's configuration.
    pub is_configured: bool,
}

/// An address with other rules than its code suggests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SiteFacts {
    pub start: u32,
    pub length: u8,
    /// As in the format's site record.
    pub kind: u8,
}

/// A range of the kernel's own blacklist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusedFacts {
    pub start: u32,
    pub end: u32,
    /// As in the format's record.
    pub source: u32,
}

/// Reads the code of a kernel object and marks its symbols, which are sorted by address. Errors are appended to
/// `faults`.
pub fn read(
    object: &Elf<'_>,
    symbols: &mut [Symbol<'_>],
    is_module: bool,
    kernel: Kernel<'_>,
    faults: &mut Vec<Error>,
) -> CodeFacts {
    let text = Text::new(object);
    let tables = Tables::new(object, symbols, is_module);
    let mut facts = CodeFacts::default();
    let mut kernel = kernel;
    if !is_module {
        facts.flags |= rules::of_kernel(object.machine, symbols, &kernel);
        facts.is_configured = kernel.config.is_some();
        kernel.evidence = Evidence::of(object, symbols, &text, &tables);
        facts.evidence = Some(Box::new(kernel.evidence));
    }
    let (refused, fault) = blacklist::refused(object, &tables, symbols, is_module, &kernel);
    facts.refused = refused;
    let mut reading = Reading { facts: &mut facts, faults };
    if let Some(error) = fault {
        reading.lacks(CodeTable::Blacklist, error);
    }
    let of = Object { object, text: &text, tables: &tables, is_module, kernel };
    let read = match Machine(object.machine) {
        EM_X86_64 | EM_386 => x86::read,
        EM_AARCH64 => arm64::read,
        EM_RISCV => riscv64::read,
        EM_S390 => s390x::read,
        EM_PPC64 => ppc64::read,
        EM_ARM => arm::read,
        // On other machines the rules are unknown or not yet proven.
        _ => {
            facts.flags |= ObjectRecord::NO_RULES;
            return facts;
        }
    };
    lacks_bytes(&text, reading.facts, reading.faults);
    read(&of, symbols, &mut reading);
    facts.sites.sort_unstable();
    facts.sites.dedup();
    facts
}

/// Facts and faults of an object while it is read.
pub struct Reading<'a> {
    pub facts: &'a mut CodeFacts,
    pub faults: &'a mut Vec<Error>,
}

impl Reading<'_> {
    /// Records that a table could not be read.
    pub fn lacks(&mut self, table: CodeTable, error: Error) {
        self.facts.unread = self.facts.unread.with(table);
        self.faults.push(error);
    }
}

/// A kernel object whose code is read.
#[derive(Clone, Copy)]
pub struct Object<'a, 'o, 'd> {
    pub object: &'o Elf<'d>,
    pub text: &'a Text<'d>,
    pub tables: &'a Tables<'o, 'd>,
    pub is_module: bool,
    pub kernel: Kernel<'a>,
}

impl Object<'_, '_, '_> {
    /// Whether the code at an address remains loaded: ftrace drops the records of discarded code
    /// (`ftrace_free_init_mem`).
    pub fn stays(&self, pc: u32) -> bool {
        self.text.section(pc).is_some_and(|s| !s.is_discarded(self.is_module))
    }
}

/// Reads the code of a program or shared library, which has none of the kernel's tables: where instructions start,
/// and which of them uprobes refuse.
pub fn read_user(object: &Elf<'_>, symbols: &mut [Symbol<'_>], faults: &mut Vec<Error>) -> CodeFacts {
    let mut facts = CodeFacts { flags: ObjectRecord::USER, ..CodeFacts::default() };
    let text = Text::new(object);
    facts.boundaries = match Machine(object.machine) {
        EM_X86_64 => x86::read_user(object, &text, symbols, &mut facts.sites),
        EM_AARCH64 => arm64::read_user(object, &text, symbols, &mut facts.sites),
        _ => {
            facts.flags |= ObjectRecord::NO_RULES;
            return facts;
        }
    };
    lacks_bytes(&text, &mut facts, faults);
    facts.sites.sort_unstable();
    facts.sites.dedup();
    facts
}

fn lacks_bytes(text: &Text<'_>, facts: &mut CodeFacts, faults: &mut Vec<Error>) {
    if let Some(section) = text.without_bytes() {
        facts.flags |= ObjectRecord::NO_CODE;
        faults.push(text::no_bytes(section));
    }
}

/// Marks the symbols with an ftrace site before the next symbol (`__within_notrace_func`, trace_kprobe.c), and those
/// with one at their entry. `entry` returns flags for the code at an address and the address of its ftrace site.
fn mark_traced(
    symbols: &mut [Symbol<'_>],
    traced: &[u32],
    text: &Text<'_>,
    entry: impl Fn(u32) -> (u16, u32),
) {
    let starts = symbol_starts(symbols);
    let mut next = 0;
    for group in symbols.chunk_by_mut(|a, b| a.pc == b.pc) {
        let pc = group[0].pc;
        let Ok(at) = starts.binary_search(&pc) else { continue };
        // After a module's last function in `.text` comes `.init.text` here, but another section in memory.
        let section_end = text.section(pc).map_or(u32::MAX, |s| s.pcs.end);
        let limit = starts.get(at + 1).map_or(section_end, |next| section_end.min(*next));
        next += traced[next..].partition_point(|t| *t < pc);
        let own = &traced[next..][..traced[next..].partition_point(|t| *t < limit)];
        let (flags, site) = entry(pc);
        let flag = |condition, flag| if condition { flag } else { 0 };
        let flags = flags
            | flag(!own.is_empty(), SymbolRecord::TRACED)
            | flag(own.contains(&site), SymbolRecord::FTRACE_ENTRY);
        group.iter_mut().for_each(|s| s.flags |= flags);
    }
}

/// The distinct addresses of symbols that the kernel finds by address, ascending.
fn symbol_starts(symbols: &[Symbol<'_>]) -> Vec<u32> {
    let mut starts: Vec<u32> = symbols.iter().filter(|s| s.is_looked_up()).map(|s| s.pc).collect();
    starts.dedup();
    starts
}
