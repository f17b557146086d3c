//! Places that the running arm64 kernel rewrites or keeps for itself, from its tables.
use super::{Instruction, LENGTH};
use crate::code::SiteFacts;
use crate::code::sites::{ALTERNATIVES, BUGS, JUMP_LABELS, each, first_that_fits, read_all, site, tables};
use crate::code::table::{Table, TableName, Tables};
use crate::code::text::Text;
use crate::error::{Error, Result};
use crate::link::Symbol;
use probeidx_format::record::SiteKind;
use rustc_hash::FxHashMap;

tables! {
    EXCEPTIONS = "__ex_table" from "__start___ex_table" to "__stop___ex_table" read by "search_exception_tables";
}

/// Reads all tables but that of alternatives; gives what could not be read.
pub fn sites(tables: &Tables<'_, '_>, text: &Text<'_>, found: &mut Vec<SiteFacts>) -> Vec<Error> {
    read_all(&[(&JUMP_LABELS, jump_labels), (&BUGS, bugs), (&EXCEPTIONS, exceptions)], tables, text, found)
}

/// A jump or a no-op; an entry is 16 bytes: code, target, key.
fn jump_labels(table: &Table<'_>, text: &Text<'_>) -> Result<Vec<SiteFacts>> {
    each(table, 16, |at| {
        let start = table.relative(at)?;
        let is_label = Instruction::first(text.at(start)?).is_some_and(|i| i.is_nop() || i.is_jump());
        is_label.then_some(site(start, LENGTH as u8, SiteKind::JumpLabel))
    })
}

/// An entry starts with the address of a `brk`: 12 bytes with CONFIG_DEBUG_BUGVERBOSE, 8 without.
fn bugs(table: &Table<'_>, text: &Text<'_>) -> Result<Vec<SiteFacts>> {
    first_that_fits(table, &[12, 8, 16, 20], |at, _| {
        let start = table.relative(at)?;
        let is_break = Instruction::first(text.at(start)?).is_some_and(Instruction::is_break);
        is_break.then(|| vec![site(start, LENGTH as u8, SiteKind::Bug)])
    })
}

/// Instructions that may fault, which no probe may stand on (`arch_prepare_kprobe`): 12 bytes since 5.16, 8 before
/// (`struct exception_table_entry`). What belongs to no code has the instruction all the same.
fn exceptions(table: &Table<'_>, text: &Text<'_>) -> Result<Vec<SiteFacts>> {
    first_that_fits(table, &[12, 8], |at, _| {
        let (start, fixup) = (table.relative(at)?, table.relative(at + 4)?);
        let is_code = text.contains(start) && text.contains(fixup);
        is_code.then(|| vec![site(start, 1, SiteKind::Unsupported)])
    })
}

/// What may stand in place of the instructions of an object, by address; `None` what is not known.
pub type Alternatives = FxHashMap<u32, Vec<Option<Instruction>>>;

/// No instruction has more alternatives: in Debian's kernels three.
const MOST: usize = 16;

/// The one function in place of a replacement of which it is known what it writes.
const TO_NOPS: &[u8] = b"alt_cb_patch_nops";

/// Reads the alternatives: 12 bytes: place, replacement, capability, two lengths, which are equal; or a function in place of the
/// replacement, and no second length. (`struct alt_instr`, arch/arm64/include/asm/alternative.h)
///
/// # Errors
/// The table is missing or damaged, or has more than [`MOST`] for one instruction.
pub fn alternatives(
    tables: &Tables<'_, '_>,
    text: &Text<'_>,
    symbols: &[Symbol<'_>],
) -> Result<Alternatives> {
    let mut found = Alternatives::default();
    let Some(table) = tables.table(&ALTERNATIVES)? else { return Ok(found) };
    let patched_to_nops: Vec<u32> = symbols.iter().filter(|s| s.name == TO_NOPS).map(|s| s.pc).collect();
    for at in table.entries(12)? {
        let read = || {
            let start = table.relative(at)?;
            let (length, replaced_by) = (table.byte(at + 10), table.byte(at + 11));
            let is_there = text.at(start).is_some_and(|code| code.len() >= usize::from(length));
            let fits = length.is_multiple_of(LENGTH as u8) && is_there;
            let replacement = table.relative(at + 4);
            let code = replacement.filter(|_| replaced_by > 0).and_then(|pc| text.at(pc));
            let is_whole = replaced_by == 0 || code.is_some_and(|c| c.len() >= usize::from(length));
            (fits && is_whole && (replaced_by == 0 || replaced_by == length)).then_some((
                start,
                u32::from(length),
                replacement,
                code,
            ))
        };
        let (start, length, replacement, code) = read().ok_or_else(|| table.damaged(at))?;
        for offset in (0..length).step_by(LENGTH as usize) {
            let there = match code {
                Some(code) => Instruction::first(&code[offset as usize..]),
                None if replacement.is_some_and(|f| patched_to_nops.contains(&f)) => Some(Instruction::NOP),
                None if table.foreign(at + 4) == Some(TO_NOPS) => Some(Instruction::NOP),
                None => None,
            };
            let own = found.entry(start.saturating_add(offset)).or_default();
            if own.len() >= MOST {
                return Err(table.damaged(at));
            }
            own.push(there);
        }
    }
    Ok(found)
}
