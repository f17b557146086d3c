//! Places that the running s390x kernel rewrites or reserves, from its tables.
use super::Instruction;
use super::alternatives::Alternative;
use crate::code::sites::{ALTERNATIVES, Entries, Entry, Reader, bugs, for_shapes, jump_labels, site, tables};
use crate::code::table::TableName;
use crate::code::{Object, SiteFacts};
use crate::error::Result;
use probeidx_format::record::{CodeTable, SiteKind};

tables! {
    // Calls and jumps to expoline thunks: two tables in vmlinux, several in a module (arch/s390/kernel/vmlinux.lds.S,
    // arch/s390/kernel/module.c).
    INDIRECT = ".s390_indirect_branches" from "__nospec_call_start" to "__nospec_call_end" read by "nospec_revert";
    RETURNS = ".s390_return_mem" from "__nospec_return_start" to "__nospec_return_end" read by "nospec_revert";
    INDIRECT_CALLS = ".s390_indirect_call" from "" to "" read by "";
    INDIRECT_JUMPS = ".s390_indirect_jump" from "" to "" read by "";
    RETURNS_BY_REGISTER = ".s390_return_reg" from "" to "" read by "";
}

/// All tables except that of alternatives.
pub const READERS: [Reader; 7] = [
    jump_labels(jump_label),
    bugs(bug),
    thunks(INDIRECT),
    thunks(RETURNS),
    thunks(INDIRECT_CALLS),
    thunks(INDIRECT_JUMPS),
    thunks(RETURNS_BY_REGISTER),
];

const fn thunks(table: TableName) -> Reader {
    Reader { of: CodeTable::Retpolines, table, entries: Entries::References, read: thunk }
}

fn instruction(entry: &Entry<'_, '_>, pc: u32) -> Option<Instruction> {
    entry.text.at(pc).and_then(Instruction::first)
}

/// A jump, or a no-op that retains the jump's target.
fn jump_label(entry: &Entry<'_, '_>, found: &mut Vec<SiteFacts>) -> Option<()> {
    let start = entry.relative("code")?;
    let label = instruction(entry, start).filter(|i| i.is_jump_or_nop())?;
    found.push(site(start, label.length() as u8, SiteKind::JumpLabel));
    Some(())
}

/// The address of a monitor call; since 7.0 also that of the instruction that loads the entry's own address, for a
/// warning with a format (arch/s390/include/asm/bug.h). Kprobes refuse any address in the table, whatever the
/// instruction (`find_bug` in `check_kprobe_address_safe`, kernel/kprobes.c).
fn bug(entry: &Entry<'_, '_>, found: &mut Vec<SiteFacts>) -> Option<()> {
    let start = entry.relative("bug_addr_disp")?;
    let there = instruction(entry, start)?;
    // In a module the address is in a relocation, not in the instruction.
    let loads_entry = || {
        let own = entry.table.start().map(|table| table.wrapping_add(entry.at as u32));
        there.is_load_of_address() && (entry.table.is_relocated() || own == Some(there.relative_long(start)))
    };
    found.push(site(start, there.length() as u8, SiteKind::Bug));
    (entry.is_declared || there.is_monitor_call() || loads_entry()).then_some(())
}

/// A jump or call of six bytes to a thunk, which the kernel may replace by a branch of two bytes and a no-op of four
/// (`__nospec_revert`, arch/s390/kernel/nospec-branch.c). Others are skipped.
fn thunk(entry: &Entry<'_, '_>, found: &mut Vec<SiteFacts>) -> Option<()> {
    const BRANCH: u32 = 2;
    let start = entry.reference()?;
    let there = instruction(entry, start)?;
    if there.is_call() || there.is_jump_or_nop() {
        found.push(site(start.saturating_add(BRANCH), 1, SiteKind::PatchedWhole));
    }
    Some(())
}

/// Reads the alternatives: place, replacement and their common length (`struct alt_instr`,
/// arch/s390/include/asm/alternative.h).
///
/// # Errors
/// The table is missing or damaged.
pub fn alternatives(of: &Object<'_, '_, '_>) -> Result<Vec<Alternative>> {
    const MEMBERS: [&str; 3] = ["instr_offset", "repl_offset", "instrlen"];
    let Some(table) = of.tables.table(&ALTERNATIVES)? else { return Ok(vec![]) };
    for_shapes(&table, "alt_instr", &MEMBERS, of, |shape, is_declared| {
        let entries = table.entries(shape.size as usize, shape.size as usize)?;
        let read = |at| {
            let entry = Entry { table: &table, text: of.text, at, shape, is_declared };
            alternative(&entry).ok_or_else(|| table.damaged(at))
        };
        entries.map(read).collect()
    })
}

/// `None` if the entry is invalid.
fn alternative(entry: &Entry<'_, '_>) -> Option<Alternative> {
    let (start, replacement) = (entry.relative("instr_offset")?, entry.relative("repl_offset")?);
    let length = entry.byte("instrlen")?;
    let reaches = |pc: u32| entry.text.at(pc).is_some_and(|code| code.len() >= usize::from(length));
    let fits = length > 0 && length.is_multiple_of(2) && reaches(start) && reaches(replacement);
    fits.then_some(Alternative { start, length, replacement })
}
