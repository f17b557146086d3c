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

/// The length of an instruction.
const LENGTH: u32 = 4;

/// Reads the code and tables of a kernel object.
pub fn read(of: &Object<'_, '_, '_>, symbols: &mut [Symbol<'_>], reading: &mut Reading<'_>) {
    let Object { object, text, tables, kernel, is_module } = *of;
    if !is_module {
        reading.facts.evidence.decoder = Decoder::of(object, symbols);
    }
    let is_known = kernel.version.is_some_and(|version| version >= assumptions::ARM);
    let Some(decoder) = reading.facts.evidence.decoder.filter(|_| is_known) else {
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
    // The call itself, wherever it stands in a function: GCC puts it behind what saves registers.
    let mut traced = tables.ftrace().unwrap_or_else(|error| {
        reading.lacks(CodeTable::Ftrace, error);
        vec![]
    });
    traced.retain(|pc| of.stays(*pc));
    let first_from = |pc: u32| traced.get(traced.partition_point(|site| *site < pc)).copied();
    mark_traced(symbols, &traced, text, |pc| (0, first_from(pc).unwrap_or(pc)));
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
