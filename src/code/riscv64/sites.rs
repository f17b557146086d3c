//! Places that the running riscv64 kernel rewrites or keeps for itself, from its tables.
use super::Instruction;
use crate::code::SiteFacts;
use crate::code::sites::{BUGS, JUMP_LABELS, Reader, each, first_that_fits, read_all, site, tables};
use crate::code::table::{Table, TableName, Tables};
use crate::code::text::Text;
use crate::error::{Error, Result};
use probeidx_format::record::SiteKind;
use rustc_hash::FxHashMap;

tables! {
    ALTERNATIVES = ".alternative" from "__alt_start" to "__alt_end" read by "apply_boot_alternatives";
}

/// Reads the table of jump labels; gives what is wrong with it.
pub fn jump_labels(tables: &Tables<'_, '_>, text: &Text<'_>, found: &mut Vec<SiteFacts>) -> Vec<Error> {
    read_all(&[(&JUMP_LABELS, labels as Reader)], tables, text, found)
}

/// Reads the table of BUG and WARN; gives what is wrong with it.
pub fn bugs(tables: &Tables<'_, '_>, text: &Text<'_>, found: &mut Vec<SiteFacts>) -> Vec<Error> {
    read_all(&[(&BUGS, traps as Reader)], tables, text, found)
}

/// A jump or a no-op of four bytes; an entry is 16 bytes: code, target, key.
fn labels(table: &Table<'_>, text: &Text<'_>) -> Result<Vec<SiteFacts>> {
    each(table, 16, |at| {
        let start = table.relative(at)?;
        let is_label = Instruction::first(text.at(start)?).is_some_and(Instruction::is_jump_label);
        is_label.then_some(site(start, 4, SiteKind::JumpLabel))
    })
}

/// An entry starts with the address of an `ebreak`: 12 bytes with CONFIG_DEBUG_BUGVERBOSE, 8 without.
fn traps(table: &Table<'_>, text: &Text<'_>) -> Result<Vec<SiteFacts>> {
    first_that_fits(table, &[12, 8, 16, 20], |at, _| {
        let start = table.relative(at)?;
        let trap = Instruction::first(text.at(start)?).filter(|i| i.is_break())?;
        Some(vec![site(start, trap.length() as u8, SiteKind::Bug)])
    })
}

/// What may stand in place of the instructions of an object.
#[derive(Default)]
pub struct Alternatives {
    /// By address, of those that start where instructions start without them.
    pub by_address: FxHashMap<u32, Vec<Instruction>>,
    /// Where they start elsewhere, or are not in the file.
    pub unlike: Vec<SiteFacts>,
}

/// No instruction has more alternatives: in Debian's kernels three.
const MOST: usize = 16;

/// Reads the alternatives: 16 bytes: place, replacement, vendor, length of both, patch. What is no code may be patched too.
/// (`struct alt_entry`, arch/riscv/include/asm/alternative.h; jumps in them are adapted, and stay jumps)
///
/// # Errors
/// The table is missing or damaged, or has more than [`MOST`] for one instruction.
pub fn alternatives(tables: &Tables<'_, '_>, text: &Text<'_>) -> Result<Alternatives> {
    let mut found = Alternatives::default();
    let Some(table) = tables.table(&ALTERNATIVES)? else { return Ok(found) };
    for at in table.entries(16)? {
        let damaged = || table.damaged(at);
        let start = table.relative(at).ok_or_else(damaged)?;
        let length = usize::from(table.half(at + 10));
        if !text.contains(start) {
            continue;
        }
        let old = text.at(start).and_then(|code| code.get(..length)).ok_or_else(damaged)?;
        let new = table.relative(at + 4).and_then(|pc| text.at(pc)).and_then(|code| code.get(..length));
        let new = new.and_then(whole);
        let is_alike = |new: &[(u32, Instruction)], old: &[(u32, Instruction)]| {
            new.iter().map(|i| i.0).eq(old.iter().map(|i| i.0))
        };
        match (whole(old), new) {
            (Some(old), Some(new)) if is_alike(&new, &old) => {
                for (offset, instruction) in new {
                    let own = found.by_address.entry(start.saturating_add(offset)).or_default();
                    own.push(instruction);
                    if own.len() > MOST {
                        return Err(damaged());
                    }
                }
            }
            _ => {
                let bytes = (0..length as u32).map(|offset| start.saturating_add(offset));
                found.unlike.extend(bytes.map(|pc| site(pc, 1, SiteKind::PatchedWhole)));
            }
        }
    }
    Ok(found)
}

/// The instructions of some code and where they start, if they end with it.
fn whole(code: &[u8]) -> Option<Vec<(u32, Instruction)>> {
    let (mut found, mut at) = (vec![], 0);
    while at < code.len() {
        let instruction = Instruction::first(&code[at..])?;
        found.push((at as u32, instruction));
        at += instruction.length() as usize;
    }
    Some(found)
}
