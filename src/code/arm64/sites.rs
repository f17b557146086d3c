//! Places that the running arm64 kernel rewrites or reserves, from its tables.
use super::{Instruction, LENGTH};
use crate::code::sites::{ALTERNATIVES, Entries, Entry, Reader, bugs, for_shapes, jump_labels, site, tables};
use crate::code::{Object, SiteFacts};
use crate::error::Result;
use crate::load::symbols::Symbol;
use probeidx_format::record::{CodeTable, SiteKind};
use rustc_hash::FxHashMap;

tables! {
    EXCEPTIONS = "__ex_table" from "__start___ex_table" to "__stop___ex_table" read by "search_exception_tables";
}

/// All tables except that of alternatives.
pub const READERS: [Reader; 3] = [
    jump_labels(jump_label),
    bugs(bug),
    Reader {
        of: CodeTable::Exceptions,
        table: EXCEPTIONS,
        entries: Entries::Struct("exception_table_entry", &["insn", "fixup"]),
        read: exception,
    },
];

/// A jump or a no-op.
fn jump_label(entry: &Entry<'_, '_>, found: &mut Vec<SiteFacts>) -> Option<()> {
    let start = entry.relative("code")?;
    let is_label = Instruction::first(entry.text.at(start)?).is_some_and(|i| i.is_nop() || i.is_jump());
    found.push(site(start, LENGTH as u8, SiteKind::JumpLabel));
    is_label.then_some(())
}

/// The address of a `brk`. Kprobes refuse any address in the table, whatever the instruction (`find_bug` in
/// `check_kprobe_address_safe`, kernel/kprobes.c).
fn bug(entry: &Entry<'_, '_>, found: &mut Vec<SiteFacts>) -> Option<()> {
    let start = entry.relative("bug_addr_disp")?;
    let is_break = Instruction::first(entry.text.at(start)?).is_some_and(Instruction::is_break);
    found.push(site(start, LENGTH as u8, SiteKind::Bug));
    (is_break || entry.is_declared).then_some(())
}

/// Instructions that may fault cannot be probed (`arch_prepare_kprobe`). The address counts even if the fixup is not
/// in code.
fn exception(entry: &Entry<'_, '_>, found: &mut Vec<SiteFacts>) -> Option<()> {
    let (start, fixup) = (entry.relative("insn")?, entry.relative("fixup")?);
    found.push(site(start, 1, SiteKind::Unsupported));
    (entry.text.contains(start) && entry.text.contains(fixup)).then_some(())
}

/// Instructions that may replace those of an object, by address; `None` stands for an unknown one.
pub type Alternatives = FxHashMap<u32, Vec<Option<Instruction>>>;

/// The most alternatives of an instruction: Debian's kernels have three.
const MOST: usize = 16;

/// The only patching callback whose output is known.
const TO_NOPS: &[u8] = b"alt_cb_patch_nops";

/// Reads the alternatives: place, replacement, capability and two equal lengths; or a callback instead of the
/// replacement, and no second length (`struct alt_instr`, arch/arm64/include/asm/alternative.h).
///
/// # Errors
/// The table is missing or damaged, or has more than [`MOST`] alternatives for one instruction.
pub fn alternatives(of: &Object<'_, '_, '_>, symbols: &[Symbol<'_>]) -> Result<Alternatives> {
    const MEMBERS: [&str; 4] = ["orig_offset", "alt_offset", "orig_len", "alt_len"];
    let Some(table) = of.tables.table(&ALTERNATIVES)? else { return Ok(Alternatives::default()) };
    let patched_to_nops: Vec<u32> = symbols.iter().filter(|s| s.name == TO_NOPS).map(|s| s.pc).collect();
    for_shapes(&table, "alt_instr", &MEMBERS, of, |shape, is_declared| {
        let mut found = Alternatives::default();
        for at in table.entries(shape.size as usize, shape.size as usize)? {
            let entry = Entry { table: &table, text: of.text, at, shape, is_declared };
            add(&entry, &patched_to_nops, &mut found).ok_or_else(|| table.damaged(at))?;
        }
        Ok(found)
    })
}

/// Adds the alternatives in an entry; `None` if the entry is invalid.
fn add(entry: &Entry<'_, '_>, patched_to_nops: &[u32], found: &mut Alternatives) -> Option<()> {
    let text = entry.text;
    let start = entry.relative("orig_offset")?;
    let (length, replaced_by) = (entry.byte("orig_len")?, entry.byte("alt_len")?);
    let is_there = text.at(start).is_some_and(|code| code.len() >= usize::from(length));
    let replacement = entry.relative("alt_offset");
    let code = replacement.filter(|_| replaced_by > 0).and_then(|pc| text.at(pc));
    let is_whole = replaced_by == 0 || code.is_some_and(|c| c.len() >= usize::from(length));
    if !length.is_multiple_of(LENGTH as u8)
        || !is_there
        || !is_whole
        || (replaced_by > 0 && replaced_by != length)
    {
        return None;
    }
    for offset in (0..u32::from(length)).step_by(LENGTH as usize) {
        let there = match code {
            Some(code) => Instruction::first(&code[offset as usize..]),
            None if replacement.is_some_and(|f| patched_to_nops.contains(&f)) => Some(Instruction::NOP),
            None if entry.foreign("alt_offset") == Some(TO_NOPS) => Some(Instruction::NOP),
            None => None,
        };
        let own = found.entry(start.saturating_add(offset)).or_default();
        if own.len() >= MOST {
            return None;
        }
        own.push(there);
    }
    Some(())
}
