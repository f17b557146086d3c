//! The machine code of an object and the kernel's tables about it: where instructions start, what the running kernel
//! puts elsewhere, and what it refuses.
//!
//! The rules are those of `register_kprobe` (kernel/kprobes.c, arch/x86/kernel/kprobes/core.c) and of `kprobe_events`
//! (kernel/trace/trace_kprobe.c), read in 5.10 to 6.12 and compared with running kernels (`tests/kernel/live`).
mod blacklist;
mod data;
mod decode;
mod extent;
pub mod layout;
mod rules;
mod sites;
mod table;
mod text;
pub mod tracepoints;
mod uprobe;

use crate::error::Error;
use crate::link::Symbol;
use crate::load::elf::Elf;
pub use extent::measure;
use object::elf::EM_X86_64;
use probeidx_format::record::{ObjectRecord, SymbolRecord};
pub use rules::{Kernel, version};
use table::Tables;
use text::Text;

/// What code and tables say. All of it in the order of the object's addresses, but `refused`.
#[derive(Default)]
pub struct CodeFacts {
    pub sites: Vec<SiteFacts>,
    /// In the order of the kernel's own list.
    pub refused: Vec<RefusedFacts>,
    /// Of each section with code that was read: its start, and a bit for every byte.
    pub boundaries: Vec<(u32, Vec<u8>)>,
    /// As in the format's object record.
    pub flags: u32,
    /// Of vmlinux: the flags rest on the kernel's configuration.
    pub is_configured: bool,
}

/// Code that is not what it seems.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SiteFacts {
    pub start: u32,
    pub length: u8,
    /// As in the format's site record.
    pub kind: u8,
}

/// A range of the kernel's own list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusedFacts {
    pub start: u32,
    pub end: u32,
    /// As in the format's record.
    pub source: u32,
}

/// Reads the code of an object; marks the symbols, which are sorted. What is missing or damaged is told in `faults`.
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
    if !is_module {
        facts.flags |= rules::of_kernel(symbols, kernel.config);
        facts.is_configured = kernel.config.is_some();
    }
    let (refused, fault) = blacklist::refused(object, &tables, symbols, is_module);
    facts.refused = refused;
    if let Some(error) = fault {
        facts.flags |= ObjectRecord::UNSURE;
        faults.push(error);
    }
    if object.machine != EM_X86_64.0 {
        // Elsewhere tables of addresses are filled in when the kernel starts, and their rules are not known here yet.
        facts.flags |= ObjectRecord::UNSURE | ObjectRecord::NO_FTRACE_TABLE;
        return facts;
    }
    let mut lack = |flag, error: Error| {
        facts.flags |= flag;
        faults.push(error);
    };
    if let Some(section) = text.without_bytes() {
        lack(ObjectRecord::NO_CODE, text::no_bytes(section));
    }
    let mut traced = tables.ftrace().unwrap_or_else(|error| {
        lack(ObjectRecord::NO_FTRACE_TABLE, error);
        vec![]
    });
    // Records of code that is gone are dropped with it (`ftrace_free_init_mem`).
    traced.retain(|pc| text.section(*pc).is_some_and(|s| !s.is_discarded(is_module)));
    mark_traced(symbols, &traced, &text);
    let mut found = vec![];
    for error in sites::sites(&tables, &text, symbols, &mut found) {
        lack(ObjectRecord::UNSURE, error);
    }
    facts.boundaries =
        decode::decode(object, &text, symbols, decode::refused_since(kernel.version), &mut found);
    found.sort_unstable();
    found.dedup();
    facts.sites = found;
    facts
}

/// The same of a program or shared library, to which none of the kernel's tables apply: where instructions start, and which
/// of them uprobes refuse.
pub fn read_user(object: &Elf<'_>, symbols: &mut [Symbol<'_>], faults: &mut Vec<Error>) -> CodeFacts {
    let mut facts = CodeFacts { flags: ObjectRecord::USER, ..CodeFacts::default() };
    if object.machine != EM_X86_64.0 {
        facts.flags |= ObjectRecord::UNSURE;
        return facts;
    }
    let text = Text::new(object);
    if let Some(section) = text.without_bytes() {
        facts.flags |= ObjectRecord::NO_CODE;
        faults.push(text::no_bytes(section));
    }
    facts.boundaries = decode::decode(object, &text, symbols, uprobe::refuses, &mut facts.sites);
    facts.sites.sort_unstable();
    facts.sites.dedup();
    facts
}

/// Marks the symbols before whose next one an ftrace site lies (`__within_notrace_func`, trace_kprobe.c), those that have
/// it at their entry, and those that start with `endbr64`.
fn mark_traced(symbols: &mut [Symbol<'_>], traced: &[u32], text: &Text<'_>) {
    let starts = symbol_starts(symbols);
    let mut next = 0;
    for group in symbols.chunk_by_mut(|a, b| a.pc == b.pc) {
        let pc = group[0].pc;
        let Ok(at) = starts.binary_search(&pc) else { continue };
        // Behind a module's last function in `.text` lies `.init.text` here, and its next one in memory.
        let section_end = text.section(pc).map_or(u32::MAX, |s| s.pcs.end);
        let limit = starts.get(at + 1).map_or(section_end, |next| section_end.min(*next));
        next += traced[next..].partition_point(|t| *t < pc);
        let own = &traced[next..][..traced[next..].partition_point(|t| *t < limit)];
        let has_endbr = text.at(pc).is_some_and(|code| code.starts_with(&ENDBR64));
        let entry = if has_endbr { pc + ENDBR64.len() as u32 } else { pc };
        let flag = |condition, flag| if condition { flag } else { 0 };
        let flags = flag(has_endbr, SymbolRecord::ENDBR)
            | flag(!own.is_empty(), SymbolRecord::TRACED)
            | flag(own.contains(&entry), SymbolRecord::FTRACE_ENTRY);
        group.iter_mut().for_each(|s| s.flags |= flags);
    }
}

/// The distinct addresses of the symbols by which the kernel looks up an address, rising.
fn symbol_starts(symbols: &[Symbol<'_>]) -> Vec<u32> {
    let mut starts: Vec<u32> = symbols.iter().filter(|s| s.is_looked_up()).map(|s| s.pc).collect();
    starts.dedup();
    starts
}

const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
