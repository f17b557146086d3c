//! arm64: instructions of four bytes, alternatives of the same length, and no-ops at function entries that ftrace
//! patches. Checked against the sources of 5.10 to 7.2 and running kernels (`tests/kernel/live`).
mod decode;
pub mod entry;
mod evidence;
mod instruction;
mod sites;

use super::text::Text;
use super::{Object, Reading, SiteFacts, mark_traced};
use crate::code::sites::{read_all, site};
use crate::load::elf::Elf;
use crate::load::symbols::Symbol;
pub use evidence::evidence;
pub use instruction::Instruction;
use probeidx_format::record::{CodeTable, SiteKind, TableSet};

/// The length of an instruction.
pub const LENGTH: u32 = 4;

/// Reads the code and tables of a kernel object.
pub fn read(of: &Object<'_, '_, '_>, symbols: &mut [Symbol<'_>], reading: &mut Reading<'_>) {
    let Object { object, text, tables, kernel, .. } = *of;
    let functions: Vec<u32> = symbols.iter().filter(|s| s.is_function()).map(|s| s.pc).collect();
    let entries = entry::entries(tables, text, &functions).unwrap_or_else(|error| {
        reading.lacks(CodeTable::Ftrace, error);
        vec![]
    });
    let mut traced: Vec<u32> = entries.iter().filter_map(|e| e.site).filter(|pc| of.stays(*pc)).collect();
    traced.sort_unstable();
    let mut at_start: Vec<(u32, u32)> = entries.iter().filter_map(|e| Some((e.start, e.site?))).collect();
    at_start.sort_unstable();
    mark_traced(symbols, &traced, text, |pc| {
        let found = at_start.binary_search_by_key(&pc, |e| e.0);
        (0, found.map_or(pc, |at| at_start[at].1))
    });
    // `check_ftrace_location`, kernel/kprobes.c
    let keeps_ftrace_sites = !kernel.config.is_some_and(|c| c.has("KPROBES_ON_FTRACE"));
    if keeps_ftrace_sites {
        let sites = traced.iter().map(|pc| site(*pc, LENGTH as u8, SiteKind::Ftrace));
        reading.facts.sites.extend(sites);
    }
    read_all(&sites::READERS, of, reading);
    let alternatives = sites::alternatives(of, symbols).unwrap_or_else(|error| {
        reading.lacks(CodeTable::Alternatives, error);
        Default::default()
    });
    let unread = reading.facts.unread.filtered(|table| !table.may_hold_anything());
    let rules = decode::Rules {
        refuses: &|instruction| instruction.is_refused_by_kprobes(kernel.refuses_copies()),
        sequences: Some(kernel.has_narrow_exclusive()),
        may_be: &|pc, instruction| match traced.binary_search(&pc) {
            // An ftrace site is in no other table.
            Ok(_) => TableSet::EMPTY,
            Err(_) => unread.filtered(|table| may_be_of(instruction, table, keeps_ftrace_sites)),
        },
        alternatives: &alternatives,
    };
    reading.facts.boundaries = decode::decode(object, text, symbols, &rules, &mut reading.facts.sites);
}

/// Whether an instruction may be in a table that could not be read.
fn may_be_of(instruction: Instruction, table: CodeTable, keeps_ftrace_sites: bool) -> bool {
    match table {
        CodeTable::JumpLabels => instruction.is_nop() || instruction.is_jump(),
        CodeTable::Bugs => instruction.is_break(),
        CodeTable::Ftrace => keeps_ftrace_sites && (instruction.is_nop() || instruction.is_call()),
        _ => false,
    }
}

/// See [`running::instructions`](super::running::instructions).
pub fn running(
    code: &[u8],
    before: usize,
    length: usize,
    kernel: &super::Kernel<'_>,
) -> Vec<(u32, Option<SiteKind>)> {
    let rules = decode::Rules {
        refuses: &|instruction| instruction.is_refused_by_kprobes(kernel.refuses_copies()),
        sequences: Some(kernel.has_narrow_exclusive()),
        may_be: &|_, _| TableSet::EMPTY,
        alternatives: &Default::default(),
    };
    decode::part(code, before, length, &rules)
}

/// Decodes the code of a program or shared library.
pub fn read_user(
    object: &Elf<'_>,
    text: &Text<'_>,
    symbols: &mut [Symbol<'_>],
    sites: &mut Vec<SiteFacts>,
) -> Vec<(u32, Vec<u8>)> {
    let rules = decode::Rules {
        refuses: &|instruction| instruction.is_refused_by_uprobes(),
        sequences: None,
        may_be: &|_, _| TableSet::EMPTY,
        alternatives: &Default::default(),
    };
    decode::decode(object, text, symbols, &rules, sites)
}
