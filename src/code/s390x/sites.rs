//! Places that the running s390x kernel rewrites or keeps for itself, from its tables.
use super::alternatives::{self, Alternative};
use super::{Instruction, Opcodes};
use crate::code::SiteFacts;
use crate::code::sites::{ALTERNATIVES, BUGS, JUMP_LABELS, each, first_that_fits, read_all, site, tables};
use crate::code::table::{Table, TableName, Tables};
use crate::code::text::Text;
use crate::error::{Error, Result};
use probeidx_format::record::SiteKind;

tables! {
    // Calls and jumps to thunks against speculation, of vmlinux in two tables, of a module in several.
    // (arch/s390/kernel/vmlinux.lds.S, arch/s390/kernel/module.c)
    INDIRECT = ".s390_indirect_branches" from "__nospec_call_start" to "__nospec_call_end" read by "nospec_revert";
    RETURNS = ".s390_return_mem" from "__nospec_return_start" to "__nospec_return_end" read by "nospec_revert";
    INDIRECT_CALLS = ".s390_indirect_call" from "" to "" read by "";
    INDIRECT_JUMPS = ".s390_indirect_jump" from "" to "" read by "";
    RETURNS_BY_REGISTER = ".s390_return_reg" from "" to "" read by "";
}

/// Reads all tables; gives what could not be read.
pub fn sites(
    tables: &Tables<'_, '_>,
    text: &Text<'_>,
    opcodes: Option<&Opcodes>,
    found: &mut Vec<SiteFacts>,
) -> Vec<Error> {
    let mut faults = read_all(
        &[
            (&JUMP_LABELS, jump_labels),
            (&BUGS, bugs),
            (&INDIRECT, thunked),
            (&RETURNS, thunked),
            (&INDIRECT_CALLS, thunked),
            (&INDIRECT_JUMPS, thunked),
            (&RETURNS_BY_REGISTER, thunked),
        ],
        tables,
        text,
        found,
    );
    match read_alternatives(tables, text) {
        Ok(all) => found.extend(alternatives::differing(all, text, opcodes)),
        Err(error) => faults.push(error),
    }
    faults
}

fn instruction(text: &Text<'_>, pc: u32) -> Option<Instruction> {
    text.at(pc).and_then(Instruction::first)
}

/// A jump, or a no-op that keeps where it would lead; an entry is 16 bytes: code, target, key.
fn jump_labels(table: &Table<'_>, text: &Text<'_>) -> Result<Vec<SiteFacts>> {
    each(table, 16, |at| {
        let start = table.relative(at)?;
        let label = instruction(text, start).filter(|i| i.is_jump_or_nop())?;
        Some(site(start, label.length() as u8, SiteKind::JumpLabel))
    })
}

/// An entry starts with the address of a monitor call; since 7.0 also with that of the instruction that loads the entry's own
/// address, for a warning with a format. 12 bytes, 8 without CONFIG_DEBUG_BUGVERBOSE, 16 since 7.0. (`struct bug_entry`,
/// arch/s390/include/asm/bug.h)
fn bugs(table: &Table<'_>, text: &Text<'_>) -> Result<Vec<SiteFacts>> {
    first_that_fits(table, &[12, 8, 16], |at, _| {
        let start = table.relative(at)?;
        let found = instruction(text, start)?;
        // In a module the address is not in the instruction yet.
        let is_own = || {
            let entry = table.start().filter(|_| table.is_in_place()).map(|first| first + at as u32);
            entry.is_none_or(|entry| found.relative_long(start) == entry)
        };
        let fits = found.is_monitor_call() || (found.is_load_of_address() && is_own());
        fits.then(|| vec![site(start, found.length() as u8, SiteKind::Bug)])
    })
}

/// A jump or call of six bytes to a thunk, in place of which the kernel may write a branch of two and a no-op of four
/// (`__nospec_revert`, arch/s390/kernel/nospec-branch.c). Others are passed over. An entry is relative to its own place.
fn thunked(table: &Table<'_>, text: &Text<'_>) -> Result<Vec<SiteFacts>> {
    const BRANCH: u32 = 2;
    let mut found = vec![];
    for at in table.entries(4)? {
        let start = table.relative(at).ok_or_else(|| table.damaged(at))?;
        let there = instruction(text, start).ok_or_else(|| table.damaged(at))?;
        if there.is_call() || there.is_jump_or_nop() {
            found.push(site(start.saturating_add(BRANCH), 1, SiteKind::PatchedWhole));
        }
    }
    Ok(found)
}

/// An entry starts with place and replacement, and ends with their length, behind which 5.10 has that of the replacement again:
/// 13 bytes since 6.11, 11 before, 12 to 5.18. (`struct alt_instr`, arch/s390/include/asm/alternative.h)
fn read_alternatives(tables: &Tables<'_, '_>, text: &Text<'_>) -> Result<Vec<Alternative>> {
    /// Size of an entry, and where in it the length is.
    const LAYOUTS: [(usize, usize); 3] = [(13, 12), (11, 10), (12, 10)];
    let Some(table) = tables.table(&ALTERNATIVES)? else { return Ok(vec![]) };
    let read = |at: usize, length_at: usize| {
        let (start, replacement) = (table.relative(at)?, table.relative(at + 4)?);
        let length = table.byte(at + length_at);
        let reaches = |pc: u32| text.at(pc).is_some_and(|code| code.len() >= usize::from(length));
        let fits = length > 0 && length.is_multiple_of(2) && reaches(start) && reaches(replacement);
        fits.then_some(Alternative { start, length, replacement })
    };
    let with = |(size, length_at): (usize, usize)| -> Option<Vec<Alternative>> {
        table.entries(size).ok()?.map(|at| read(at, length_at)).collect()
    };
    LAYOUTS.into_iter().find_map(with).ok_or_else(|| table.damaged(0))
}
