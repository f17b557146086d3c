//! s390x: instructions of two, four and six bytes, of which the kernel probes those known to its own disassembler; a
//! no-op of six bytes at function entries that ftrace patches. Checked against the sources of 6.1, 6.12 and 7.2 and
//! running kernels (`tests/kernel/live`).
mod alternatives;
mod decode;
mod instruction;
mod opcodes;
mod sites;

use super::sites::read_all;
use super::{Object, Reading, mark_traced};
use crate::load::symbols::Symbol;
pub use instruction::Instruction;
pub use opcodes::Opcodes;
use probeidx_format::record::{CodeTable, ObjectRecord};

/// Reads the code and tables of a kernel object.
pub fn read(of: &Object<'_, '_, '_>, symbols: &mut [Symbol<'_>], reading: &mut Reading<'_>) {
    let Object { object, text, tables, .. } = *of;
    // Calls and no-ops of six bytes at the entry itself (arch/s390/kernel/ftrace.c).
    let mut traced = tables.ftrace().unwrap_or_else(|error| {
        reading.lacks(CodeTable::Ftrace, error);
        vec![]
    });
    traced.retain(|pc| of.stays(*pc));
    mark_traced(symbols, &traced, text, |pc| (0, pc));
    let opcodes = of.kernel.evidence.opcodes;
    if opcodes.is_none() {
        reading.facts.flags |= ObjectRecord::NO_RULES;
    }
    read_all(&sites::READERS, of, reading);
    match sites::alternatives(of) {
        Ok(all) => {
            reading.facts.sites.extend(alternatives::differing(all, text, opcodes.as_ref()));
        }
        Err(error) => reading.lacks(CodeTable::Alternatives, error),
    }
    let unread = reading.facts.unread.filtered(|table| !table.may_hold_anything());
    let rules = decode::Rules {
        opcodes: opcodes.as_ref(),
        may_be: &|instruction| unread.filtered(|table| may_be_of(instruction, table)),
    };
    reading.facts.boundaries = decode::decode(object, text, symbols, &rules, &mut reading.facts.sites);
}

/// Whether an instruction may be in a table that could not be read.
fn may_be_of(instruction: Instruction, table: CodeTable) -> bool {
    match table {
        CodeTable::JumpLabels => instruction.is_jump_or_nop(),
        CodeTable::Bugs => instruction.is_monitor_call() || instruction.is_load_of_address(),
        CodeTable::Retpolines => instruction.is_jump_or_nop() || instruction.is_call(),
        _ => false,
    }
}
