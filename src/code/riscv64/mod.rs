//! riscv64: instructions of two and four bytes, which the kernel counts from the symbol; alternatives of the same
//! length; no-ops at function entries that ftrace patches. Checked against the sources of 6.12 and 7.2 and running
//! kernels (`tests/kernel/live`).
mod decode;
pub mod entry;
mod instruction;
mod sites;

use super::assumptions;
use super::rules::Evidence;
use super::sites::{read_all, site};
use super::{Object, Reading, mark_traced};
use crate::error::{Error, ErrorKind};
use crate::load::symbols::Symbol;
use instruction::Instruction;
use probeidx_format::record::{CodeTable, ObjectRecord, SiteKind};

/// Which rules the kernel has, from the symbols of vmlinux.
pub fn evidence(symbols: &[Symbol<'_>]) -> Evidence {
    let adjusts = symbols.iter().any(|s| s.is_function() && s.name == b"ftrace_call_adjust");
    Evidence { patches_second: Some(adjusts), ..Evidence::default() }
}

/// Reads the code and tables of a kernel object.
pub fn read(of: &Object<'_, '_, '_>, symbols: &mut [Symbol<'_>], reading: &mut Reading<'_>) {
    let Object { object, text, tables, kernel, .. } = *of;
    if kernel.version.is_none_or(|version| version < assumptions::RISCV64) {
        let (major, minor) = assumptions::RISCV64;
        let what = format!("the rules of riscv64 are known from {major}.{minor} on: verdicts stay undecided");
        reading.facts.flags |= ObjectRecord::NO_RULES;
        reading.faults.push(Error::new(ErrorKind::Unsupported, what));
    }
    let functions: Vec<u32> = symbols.iter().filter(|s| s.is_function()).map(|s| s.pc).collect();
    let found = entry::entries(tables, text, &functions, kernel.patches_second());
    let mut entries = found.unwrap_or_else(|error| {
        reading.lacks(CodeTable::Ftrace, error);
        vec![]
    });
    entries.retain(|entry| of.stays(entry.site));
    let mut traced: Vec<u32> = entries.iter().map(|entry| entry.site).collect();
    traced.sort_unstable();
    let mut at_start: Vec<(u32, u32)> = entries.iter().map(|entry| (entry.start, entry.site)).collect();
    at_start.sort_unstable();
    mark_traced(symbols, &traced, text, |pc| {
        let found = at_start.binary_search_by_key(&pc, |e| e.0);
        (0, found.map_or(pc, |at| at_start[at].1))
    });
    // Only the first byte of the site (`check_ftrace_location`, kernel/kprobes.c).
    let keeps_ftrace_sites = !kernel.config.is_some_and(|c| c.has("KPROBES_ON_FTRACE"));
    if keeps_ftrace_sites {
        reading.facts.sites.extend(traced.iter().map(|pc| site(*pc, 1, SiteKind::Ftrace)));
    }
    read_all(&sites::READERS, of, reading);
    let alternatives = sites::alternatives(of).unwrap_or_else(|error| {
        reading.lacks(CodeTable::Alternatives, error);
        Default::default()
    });
    let unread = reading.facts.unread.filtered(|table| !table.may_hold_anything());
    let patched = decode::Patched {
        entries: &at_start,
        alternatives: &alternatives,
        may_be: &|instruction| unread.filtered(|table| may_be_of(instruction, table, keeps_ftrace_sites)),
    };
    reading.facts.boundaries = decode::decode(object, text, symbols, &patched, &mut reading.facts.sites);
}

/// Whether an instruction may be in an unreadable table. All in the table of BUG and WARN are refused anyway.
fn may_be_of(instruction: Instruction, table: CodeTable, keeps_ftrace_sites: bool) -> bool {
    match table {
        CodeTable::JumpLabels => instruction.is_jump_label(),
        CodeTable::Ftrace => keeps_ftrace_sites && instruction.is_nop(),
        _ => false,
    }
}
