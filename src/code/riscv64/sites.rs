//! Places that the running riscv64 kernel rewrites or reserves, from its tables.
use super::Instruction;
use crate::code::sites::{Entry, Reader, bugs, for_shapes, jump_labels, site, tables};
use crate::code::{Object, SiteFacts};
use crate::error::Result;
use probeidx_format::record::SiteKind;
use rustc_hash::FxHashMap;

tables! {
    ALTERNATIVES = ".alternative" from "__alt_start" to "__alt_end" read by "apply_boot_alternatives";
}

/// All tables except that of alternatives.
pub const READERS: [Reader; 2] = [jump_labels(jump_label), bugs(bug)];

/// A jump or a no-op of four bytes.
fn jump_label(entry: &Entry<'_, '_>, found: &mut Vec<SiteFacts>) -> Option<()> {
    let start = entry.relative("code")?;
    let is_label = Instruction::first(entry.text.at(start)?).is_some_and(Instruction::is_jump_label);
    found.push(site(start, 4, SiteKind::JumpLabel));
    is_label.then_some(())
}

/// The address of an `ebreak`. Kprobes refuse any address in the table, whatever the instruction (`find_bug` in
/// `check_kprobe_address_safe`, kernel/kprobes.c).
fn bug(entry: &Entry<'_, '_>, found: &mut Vec<SiteFacts>) -> Option<()> {
    let start = entry.relative("bug_addr_disp")?;
    let there = Instruction::first(entry.text.at(start)?)?;
    found.push(site(start, there.length() as u8, SiteKind::Bug));
    (there.is_break() || entry.is_declared).then_some(())
}

/// The alternatives of an object.
#[derive(Default)]
pub struct Alternatives {
    /// Alternative instructions by address, where the replacement has the same boundaries as the original.
    pub by_address: FxHashMap<u32, Vec<Instruction>>,
    /// Bytes whose replacement has other boundaries or is not in the file.
    pub unlike: Vec<SiteFacts>,
}

/// The most alternatives of an instruction: Debian's kernels have three.
const MOST: usize = 16;

/// Reads the alternatives: place, replacement and their common length. Data may be patched too. Jumps in replacements
/// are adjusted, and remain jumps (`struct alt_entry`, arch/riscv/include/asm/alternative.h).
///
/// # Errors
/// The table is missing or damaged, or has more than [`MOST`] alternatives for one instruction.
pub fn alternatives(of: &Object<'_, '_, '_>) -> Result<Alternatives> {
    const MEMBERS: [&str; 3] = ["old_offset", "alt_offset", "alt_len"];
    let Some(table) = of.tables.table(&ALTERNATIVES)? else { return Ok(Alternatives::default()) };
    for_shapes(&table, "alt_entry", &MEMBERS, of, |shape, is_declared| {
        let mut found = Alternatives::default();
        for at in table.entries(shape.size as usize, shape.size as usize)? {
            let entry = Entry { table: &table, text: of.text, at, shape, is_declared };
            add(&entry, &mut found).ok_or_else(|| table.damaged(at))?;
        }
        Ok(found)
    })
}

/// Adds the alternatives in an entry; `None` if the entry is invalid.
fn add(entry: &Entry<'_, '_>, found: &mut Alternatives) -> Option<()> {
    let text = entry.text;
    let start = entry.relative("old_offset")?;
    let length = entry.half("alt_len")?;
    if !text.contains(start) {
        return Some(());
    }
    let old = text.at(start)?.get(..length.into())?;
    let new = entry.relative("alt_offset").and_then(|pc| text.at(pc)?.get(..length.into()));
    let (old, new) = (whole(old), new.and_then(whole));
    let is_alike = old.iter().flatten().map(|i| i.0).eq(new.iter().flatten().map(|i| i.0));
    match new.filter(|_| is_alike && old.is_some()) {
        Some(new) => {
            for (offset, instruction) in new {
                let own = found.by_address.entry(start.saturating_add(offset)).or_default();
                if own.len() >= MOST {
                    return None;
                }
                own.push(instruction);
            }
        }
        None => {
            let bytes = (0..length.into()).map(|offset| start.saturating_add(offset));
            found.unlike.extend(bytes.map(|pc| site(pc, 1, SiteKind::PatchedWhole)));
        }
    }
    Some(())
}

/// The instructions in some code with their offsets; `None` if the last one is cut off.
fn whole(code: &[u8]) -> Option<Vec<(u32, Instruction)>> {
    let (mut found, mut at) = (vec![], 0);
    while at < code.len() {
        let instruction = Instruction::first(&code[at..])?;
        found.push((at as u32, instruction));
        at += instruction.length() as usize;
    }
    Some(found)
}
