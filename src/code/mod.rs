//! The machine code of an object and the kernel's tables about it: where instructions start, what the running kernel
//! puts elsewhere, and what it refuses.
//!
//! The rules are those of `register_kprobe` (kernel/kprobes.c, arch/*/kernel/) and of `kprobe_events`
//! (kernel/trace/trace_kprobe.c), read in 5.10 to 6.12 and compared with running kernels (`tests/kernel/live`).
mod arm64;
mod blacklist;
mod data;
mod entry;
mod exits;
mod extent;
pub mod layout;
mod riscv64;
mod rules;
mod sites;
mod table;
mod text;
pub mod tracepoints;
mod x86;

use crate::error::Error;
use crate::link::Symbol;
use crate::load::elf::Elf;
pub use entry::bodies;
pub use extent::measure;
use object::elf::{EM_AARCH64, EM_RISCV, EM_X86_64, Machine};
use probeidx_format::record::{ObjectRecord, SiteKind, SymbolRecord};
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
    let code = Code { object, text: &text, tables: &tables, is_module, kernel };
    match Machine(object.machine) {
        EM_X86_64 => code.x86(symbols, &mut facts, faults),
        EM_AARCH64 => code.arm64(symbols, &mut facts, faults),
        EM_RISCV => riscv64::read(&code, symbols, &mut facts, faults),
        // Elsewhere the rules are not known yet.
        _ => facts.flags |= ObjectRecord::UNSURE | ObjectRecord::NO_FTRACE_TABLE,
    }
    facts.sites.sort_unstable();
    facts.sites.dedup();
    facts
}

/// An object of which the code is read.
struct Code<'a, 'o, 'd> {
    object: &'o Elf<'d>,
    text: &'a Text<'d>,
    tables: &'a Tables<'o, 'd>,
    is_module: bool,
    kernel: Kernel<'a>,
}

impl Code<'_, '_, '_> {
    fn x86(&self, symbols: &mut [Symbol<'_>], facts: &mut CodeFacts, faults: &mut Vec<Error>) {
        let Self { object, text, tables, .. } = *self;
        self.lacks_bytes(facts, faults);
        let mut traced = tables.ftrace().unwrap_or_else(|error| {
            facts.flags |= ObjectRecord::NO_FTRACE_TABLE;
            faults.push(error);
            vec![]
        });
        traced.retain(|pc| self.stays(*pc));
        mark_traced(symbols, &traced, text, |pc| {
            let has_endbr = text.at(pc).is_some_and(|code| code.starts_with(&ENDBR64));
            match has_endbr {
                true => (SymbolRecord::ENDBR, pc.saturating_add(ENDBR64.len() as u32)),
                false => (0, pc),
            }
        });
        for error in x86::sites::sites(tables, text, symbols, &mut facts.sites) {
            facts.flags |= ObjectRecord::UNSURE;
            faults.push(error);
        }
        let refuses = x86::decode::refused_since(self.kernel.version);
        facts.boundaries = x86::decode::decode(object, text, symbols, refuses, &mut facts.sites);
    }

    fn arm64(&self, symbols: &mut [Symbol<'_>], facts: &mut CodeFacts, faults: &mut Vec<Error>) {
        let Self { object, text, tables, kernel, .. } = *self;
        self.lacks_bytes(facts, faults);
        let functions: Vec<u32> = symbols.iter().filter(|s| s.is_function()).map(|s| s.pc).collect();
        let entries = arm64::entry::entries(tables, text, &functions).unwrap_or_else(|error| {
            // No probe is taken on a site: without the table it is not known where any is.
            facts.flags |= ObjectRecord::NO_FTRACE_TABLE | ObjectRecord::UNSURE;
            faults.push(error);
            vec![]
        });
        let mut traced: Vec<u32> =
            entries.iter().filter_map(|e| e.site).filter(|pc| self.stays(*pc)).collect();
        traced.sort_unstable();
        let mut at_start: Vec<(u32, u32)> = entries.iter().filter_map(|e| Some((e.start, e.site?))).collect();
        at_start.sort_unstable();
        mark_traced(symbols, &traced, text, |pc| {
            let found = at_start.binary_search_by_key(&pc, |e| e.0);
            (0, found.map_or(pc, |at| at_start[at].1))
        });
        // `check_ftrace_location`, kernel/kprobes.c
        if !kernel.config.is_some_and(|c| c.has("KPROBES_ON_FTRACE")) {
            let length = arm64::LENGTH as u8;
            facts.sites.extend(traced.iter().map(|pc| sites::site(*pc, length, SiteKind::Ftrace)));
        }
        let mut lack = |error| {
            facts.flags |= ObjectRecord::UNSURE;
            faults.push(error);
        };
        arm64::sites::sites(tables, text, &mut facts.sites).into_iter().for_each(&mut lack);
        let alternatives = arm64::sites::alternatives(tables, text, symbols).unwrap_or_else(|error| {
            lack(error);
            Default::default()
        });
        let rules = arm64::decode::Rules {
            refuses: &|instruction| instruction.is_refused_by_kprobes(kernel.version),
            keeps_sequences: true,
            alternatives: &alternatives,
        };
        facts.boundaries = arm64::decode::decode(object, text, symbols, &rules, &mut facts.sites);
    }

    fn lacks_bytes(&self, facts: &mut CodeFacts, faults: &mut Vec<Error>) {
        if let Some(section) = self.text.without_bytes() {
            facts.flags |= ObjectRecord::NO_CODE;
            faults.push(text::no_bytes(section));
        }
    }

    /// Whether code at an address is there to be traced: records of code that is gone are dropped with it
    /// (`ftrace_free_init_mem`).
    fn stays(&self, pc: u32) -> bool {
        self.text.section(pc).is_some_and(|s| !s.is_discarded(self.is_module))
    }
}

/// The same of a program or shared library, to which none of the kernel's tables apply: where instructions start, and which
/// of them uprobes refuse.
pub fn read_user(object: &Elf<'_>, symbols: &mut [Symbol<'_>], faults: &mut Vec<Error>) -> CodeFacts {
    let mut facts = CodeFacts { flags: ObjectRecord::USER, ..CodeFacts::default() };
    let text = Text::new(object);
    facts.boundaries = match Machine(object.machine) {
        EM_X86_64 => x86::decode::decode(object, &text, symbols, x86::uprobe::refuses, &mut facts.sites),
        EM_AARCH64 => {
            let rules = arm64::decode::Rules {
                refuses: &|instruction| instruction.is_refused_by_uprobes(),
                keeps_sequences: false,
                alternatives: &Default::default(),
            };
            arm64::decode::decode(object, &text, symbols, &rules, &mut facts.sites)
        }
        _ => {
            facts.flags |= ObjectRecord::UNSURE;
            return facts;
        }
    };
    if let Some(section) = text.without_bytes() {
        facts.flags |= ObjectRecord::NO_CODE;
        faults.push(text::no_bytes(section));
    }
    facts.sites.sort_unstable();
    facts.sites.dedup();
    facts
}

/// Marks the symbols before whose next one an ftrace site lies (`__within_notrace_func`, trace_kprobe.c), and those that
/// have it at their entry. `entry` gives for the address of a symbol where that site is, and flags of the code there.
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
        // Behind a module's last function in `.text` lies `.init.text` here, and its next one in memory.
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

/// The distinct addresses of the symbols by which the kernel looks up an address, rising.
fn symbol_starts(symbols: &[Symbol<'_>]) -> Vec<u32> {
    let mut starts: Vec<u32> = symbols.iter().filter(|s| s.is_looked_up()).map(|s| s.pc).collect();
    starts.dedup();
    starts
}

const ENDBR64: [u8; 4] = [0xf3, 0x0f, 0x1e, 0xfa];
