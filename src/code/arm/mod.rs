//! 32-bit ARM: instructions of four bytes, of which the kernel probes those that its own tables take; calls of `__gnu_mcount_nc` that
//! ftrace patches; instructions that are replaced where there is one processor. Checked against the sources and running kernels of
//! 5.10 to 7.2.
mod decode;
mod decoder;
mod instruction;
mod sites;

use super::assumptions;
use super::sites::{read_all, site};
use super::{Object, Reading, mark_traced};
use crate::error::{Error, ErrorKind};
use crate::load::symbols::Symbol;
pub use decoder::Decoder;
use instruction::Instruction;
use probeidx_format::record::{CodeTable, ObjectRecord, SiteKind};
use rustc_hash::FxHashMap;

/// The length of an instruction.
const LENGTH: u32 = 4;

/// Reads the code and tables of a kernel object.
pub fn read(of: &Object<'_, '_, '_>, symbols: &mut [Symbol<'_>], reading: &mut Reading<'_>) {
    let Object { object, text, tables, kernel, is_module } = *of;
    let is_known = kernel.version.is_some_and(|version| version >= assumptions::ARM);
    let Some(decoder) = kernel.evidence.decoder.filter(|_| is_known) else {
        reading.facts.flags |= ObjectRecord::NO_RULES;
        if !is_module {
            let (major, minor) = assumptions::ARM;
            let what = format!(
                "the rules of ARM are read from the kernel's table probes_decode_arm_table, and known for little-endian kernels without \
                 Thumb code from {major}.{minor} on: verdicts stay undecided"
            );
            reading.faults.push(Error::new(ErrorKind::Unsupported, what));
        }
        return;
    };
    // The call itself, wherever it stands in a function: GCC puts it behind what saves registers. One behind the end is of a weak
    // function that lost.
    let mut traced = tables.ftrace().unwrap_or_else(|error| {
        reading.lacks(CodeTable::Ftrace, error);
        vec![]
    });
    traced.retain(|pc| of.stays(*pc));
    let functions = symbols.iter().filter(|s| s.is_function() && s.size > 0);
    let ends: FxHashMap<u32, u32> = functions.map(|s| (s.pc, s.pc.saturating_add(s.size))).collect();
    let first_of = |pc: u32| {
        let site = traced.get(traced.partition_point(|site| *site < pc)).copied();
        site.filter(|site| ends.get(&pc).is_none_or(|end| site < end))
    };
    // An address in no function is none of a site.
    mark_traced(symbols, &traced, text, |pc| (0, first_of(pc).unwrap_or(u32::MAX)));
    // `check_ftrace_location`, kernel/kprobes.c: there is no CONFIG_KPROBES_ON_FTRACE for ARM.
    reading.facts.sites.extend(traced.iter().map(|pc| site(*pc, LENGTH as u8, SiteKind::Ftrace)));
    read_all(&sites::READERS, of, reading);
    let alternatives = sites::alternatives(of).unwrap_or_else(|error| {
        reading.lacks(CodeTable::Alternatives, error);
        Default::default()
    });
    let unread = reading.facts.unread.filtered(|table| !table.may_hold_anything());
    let rules = decode::Rules {
        decoder: &decoder,
        alternatives: &alternatives,
        may_be: &|instruction| unread.filtered(|table| may_be_of(instruction, table)),
    };
    reading.facts.boundaries = decode::decode(object, text, symbols, &rules, &mut reading.facts.sites);
}

/// Whether an instruction may be in a table that could not be read. What is in the table of BUG and WARN is refused anyway.
fn may_be_of(instruction: Instruction, table: CodeTable) -> bool {
    match table {
        CodeTable::JumpLabels => instruction.is_nop() || instruction.is_jump(),
        CodeTable::Ftrace => instruction.is_call(),
        _ => false,
    }
}
