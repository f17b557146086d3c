//! ppc64le: instructions of four bytes, few of them with a second half; functions with two entries; instructions that are
//! replaced for the processor. Checked against the sources of 6.1, 6.12 and 7.2 and running kernels (`tests/kernel/live`).
mod decode;
pub mod entry;
mod instruction;
mod sites;

use super::assumptions;
use super::rules::{Evidence, code_of};
use super::sites::{read_all, site};
use super::text::Text;
use super::{Object, Reading, mark_traced};
use crate::error::{Error, ErrorKind};
use crate::load::symbols::Symbol;
pub use instruction::Instruction;
use object::Endianness;
use probeidx_format::record::{CodeTable, ObjectRecord, SiteKind, SymbolRecord};

/// The length of an instruction.
pub const LENGTH: u32 = 4;

/// Which rules the kernel has, from the symbols and code of vmlinux.
pub fn evidence(symbols: &[Symbol<'_>], text: &Text<'_>) -> Evidence {
    let has_ftrace_probes = symbols.iter().any(|s| s.name == b"arch_prepare_kprobe_ftrace");
    let judge = code_of(symbols, text, &[b"arch_adjust_kprobe_addr"]);
    let asked = code_of(symbols, text, &[b"ftrace_location"]);
    Evidence {
        probes_ftrace_sites: Some(has_ftrace_probes),
        ends_entries_at_sites: judge.zip(asked).map(|((pc, code), (asked, _))| {
            let words = code.chunks_exact(LENGTH as usize).filter_map(Instruction::first);
            let mut calls = (pc..).step_by(LENGTH as usize).zip(words).filter(|(_, word)| word.is_call());
            calls.any(|(at, call)| entry::global(text, call.target(at)) == asked)
        }),
        ..Evidence::default()
    }
}

/// Reads the code and tables of a kernel object.
pub fn read(of: &Object<'_, '_, '_>, symbols: &mut [Symbol<'_>], reading: &mut Reading<'_>) {
    let Object { object, text, tables, kernel, is_module } = *of;
    if object.order == Endianness::Big || kernel.version.is_none_or(|v| v < assumptions::PPC64LE) {
        let (major, minor) = assumptions::PPC64LE;
        let what = format!(
            "the rules of ppc64 are known for little-endian kernels from {major}.{minor} on: verdicts stay undecided"
        );
        reading.facts.flags |= ObjectRecord::NO_RULES;
        reading.faults.push(Error::new(ErrorKind::Unsupported, what));
        return;
    }
    let entry::Sites { all: mut traced, behind } = entry::sites(tables, text).unwrap_or_else(|error| {
        reading.lacks(CodeTable::Ftrace, error);
        Default::default()
    });
    traced.retain(|pc| of.stays(*pc));
    mark_traced(symbols, &traced, text, |pc| {
        let local = entry::local(text, pc);
        (if local > pc { SymbolRecord::TWO_ENTRIES } else { 0 }, local.saturating_add(behind))
    });
    let keeps_ftrace_sites = !kernel.probes_ftrace_sites();
    if keeps_ftrace_sites {
        // `check_ftrace_location`, kernel/kprobes.c
        reading.facts.sites.extend(traced.iter().map(|pc| site(*pc, 1, SiteKind::Ftrace)));
    }
    if !is_module {
        let flag = |holds, flag| if holds { flag } else { 0 };
        reading.facts.flags |= flag(!keeps_ftrace_sites, ObjectRecord::PROBES_FTRACE_SITES)
            | flag(behind > 0, ObjectRecord::SITES_BEHIND_ENTRIES)
            | flag(kernel.ends_entries_at_sites(), ObjectRecord::ENTRIES_END_AT_SITES);
    }
    read_all(&sites::READERS, of, reading);
    let alternatives = sites::alternatives(of).unwrap_or_else(|error| {
        reading.lacks(CodeTable::Alternatives, error);
        Default::default()
    });
    let unread = reading.facts.unread.filtered(|table| !table.may_hold_anything());
    let rules = decode::Rules {
        alternatives: &alternatives,
        may_be: &|instruction| unread.filtered(|table| may_be_of(instruction, table, keeps_ftrace_sites)),
    };
    reading.facts.boundaries = decode::decode(object, text, symbols, &rules, &mut reading.facts.sites);
}

/// Whether an instruction may be in a table that could not be read. All traps are refused anyway.
fn may_be_of(instruction: Instruction, table: CodeTable, keeps_ftrace_sites: bool) -> bool {
    match table {
        CodeTable::JumpLabels => instruction.is_nop() || instruction.is_jump(),
        CodeTable::Ftrace => keeps_ftrace_sites,
        _ => false,
    }
}
