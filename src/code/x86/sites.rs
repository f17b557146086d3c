//! Places that the running x86 kernel rewrites or keeps for itself, from its tables.
use super::decode::{self, is_unsupported};
use crate::code::SiteFacts;
use crate::code::sites::{
    ALTERNATIVES, BUGS, JUMP_LABELS, Reader, each, first_that_fits, read_all, site, tables,
};
use crate::code::table::{Table, TableName, Tables};
use crate::code::text::Text;
use crate::error::{Error, Result};
use crate::link::Symbol;
use probeidx_format::record::SiteKind;

/// Reads all tables; gives what could not be read.
pub fn sites(
    tables: &Tables<'_, '_>,
    text: &Text<'_>,
    symbols: &[Symbol<'_>],
    found: &mut Vec<SiteFacts>,
) -> Vec<Error> {
    let readers: [(&TableName, Reader); 7] = [
        (&JUMP_LABELS, jump_labels),
        (&STATIC_CALLS, static_calls),
        (&BUGS, bugs),
        (&ALTERNATIVES, alternatives),
        (&PARAVIRT, paravirt),
        (&RETPOLINES, retpolines),
        (&CFI_TRAPS, cfi_traps),
    ];
    let faults = read_all(&readers, tables, text, found);
    // Static calls without inline patching go through these, which are rewritten (arch/x86/include/asm/static_call.h):
    // a jump or return of 5 bytes, and a trap of 3.
    let trampolines = symbols.iter().filter(|s| s.name.starts_with(b"__SCT__"));
    found.extend(trampolines.map(|s| SiteFacts { start: s.pc, length: 8, kind: SiteKind::Patched as u8 }));
    faults
}

tables! {
    STATIC_CALLS = ".static_call_sites" from "__start_static_call_sites" to "__stop_static_call_sites"
        read by "static_call_text_reserved";
    PARAVIRT = ".parainstructions" from "__parainstructions" to "__parainstructions_end" read by "apply_paravirt";
    RETPOLINES = ".retpoline_sites" from "__retpoline_sites" to "__retpoline_sites_end" read by "apply_retpolines";
    CFI_TRAPS = ".kcfi_traps" from "__start___kcfi_traps" to "__stop___kcfi_traps" read by "is_cfi_trap";
}

/// A jump of 2 or 5 bytes, or a no-op of that length (`arch_jump_entry_size`); an entry is 16 bytes: code, target, key.
fn jump_labels(table: &Table<'_>, text: &Text<'_>) -> Result<Vec<SiteFacts>> {
    each(table, 16, |at| {
        let start = table.relative(at)?;
        let length = match text.at(start)? {
            [0xeb, ..] | [0x66, 0x90, ..] => 2,
            [0xe9, ..] | [0x0f, 0x1f, ..] => 5,
            _ => return None,
        };
        Some(site(start, length, SiteKind::JumpLabel))
    })
}

/// 5 bytes at the site, whatever the instruction (`static_call_text_reserved`); an entry is 8 bytes: site, key.
fn static_calls(table: &Table<'_>, text: &Text<'_>) -> Result<Vec<SiteFacts>> {
    each(table, 8, |at| {
        let start = table.relative(at).filter(|pc| text.contains(*pc))?;
        Some(site(start, 5, SiteKind::StaticCall))
    })
}

/// An entry starts with the address of a trap. Its size depends on CONFIG_DEBUG_BUGVERBOSE (12 bytes with it, 8 without)
/// and grew after 6.12.
fn bugs(table: &Table<'_>, text: &Text<'_>) -> Result<Vec<SiteFacts>> {
    first_that_fits(table, &[12, 8, 16, 20], |at, _| {
        let start = table.relative(at)?;
        let code = text.at(start)?;
        let is_trap = decode::is_undefined(code);
        is_trap.then(|| vec![site(start, 2, SiteKind::Bug)])
    })
}

/// `struct alt_instr`: 13 bytes to 5.12, 12 to 6.2, 14 since (arch/x86/include/asm/alternative.h).
fn alternatives(table: &Table<'_>, text: &Text<'_>) -> Result<Vec<SiteFacts>> {
    first_that_fits(table, &[12, 14, 13], |at, size| {
        let (start, replacement) = (table.relative(at)?, table.relative(at + 4)?);
        let lengths = if size == 14 { at + 12 } else { at + 10 };
        let (length, replaced_by) = (table.byte(lengths), table.byte(lengths + 1));
        if !text.contains(start) || (replaced_by > 0 && !text.contains(replacement)) || replaced_by > length {
            return None;
        }
        if length == 0 {
            return Some(vec![]);
        }
        let first = |pc| text.at(pc).is_some_and(is_unsupported);
        let whole = first(start) || (replaced_by > 0 && first(replacement));
        Some(vec![site(start, length, if whole { SiteKind::PatchedWhole } else { SiteKind::Patched })])
    })
}

/// `struct paravirt_patch_site` to 6.7: address, type, length. Its indirect call is always replaced.
fn paravirt(table: &Table<'_>, text: &Text<'_>) -> Result<Vec<SiteFacts>> {
    each(table, 16, |at| {
        let start = table.address(at).filter(|pc| text.contains(*pc))?;
        Some(site(start, table.byte(at + 9), SiteKind::Patched))
    })
}

/// A call or jump to a thunk, which may become an indirect one with a barrier.
fn retpolines(table: &Table<'_>, text: &Text<'_>) -> Result<Vec<SiteFacts>> {
    each(table, 4, |at| {
        let start = table.relative(at)?;
        Some(site(start, decode::length_of_branch(text.at(start)?)?, SiteKind::Patched))
    })
}

/// The two instructions that load and compare the type before a trap must stay as they are (`can_probe`, 6.9).
fn cfi_traps(table: &Table<'_>, text: &Text<'_>) -> Result<Vec<SiteFacts>> {
    let mut found = vec![];
    for at in table.entries(4)? {
        let trap = table.relative(at).filter(|pc| text.contains(*pc)).ok_or_else(|| table.damaged(at))?;
        found.extend([12, 6].map(|before| site(trap.saturating_sub(before), 1, SiteKind::Unsupported)));
    }
    Ok(found)
}
