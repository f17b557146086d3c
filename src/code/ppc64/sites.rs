//! Places that the running ppc64le kernel rewrites or reserves, from its tables.
use super::{Instruction, LENGTH};
use crate::code::sites::{Entry, Reader, bugs, for_shapes, jump_labels, site, tables};
use crate::code::table::TableName;
use crate::code::{Object, SiteFacts};
use crate::error::Result;
use crate::load::elf::Elf;
use probeidx_format::record::SiteKind;
use rustc_hash::FxHashMap;

tables! {
    FEATURES = "__ftr_fixup" from "__start___ftr_fixup" to "__stop___ftr_fixup" read by "do_feature_fixups";
    MMU_FEATURES = "__mmu_ftr_fixup" from "__start___mmu_ftr_fixup" to "__stop___mmu_ftr_fixup"
        read by "do_feature_fixups";
    FIRMWARE_FEATURES = "__fw_ftr_fixup" from "__start___fw_ftr_fixup" to "__stop___fw_ftr_fixup"
        read by "do_feature_fixups";
}

/// The tables by which code is replaced for the processor, its memory management and the firmware. Others replace no-ops and
/// barriers by no-ops and barriers (arch/powerpc/lib/feature-fixups.c), and kprobes take all of these.
const ALTERNATIVES: [TableName; 3] = [FEATURES, MMU_FEATURES, FIRMWARE_FEATURES];

/// All tables except those of alternatives.
pub const READERS: [Reader; 2] = [jump_labels(jump_label), bugs(bug)];

/// A jump or a no-op.
fn jump_label(entry: &Entry<'_, '_>, found: &mut Vec<SiteFacts>) -> Option<()> {
    let start = entry.relative("code")?;
    let is_label = Instruction::first(entry.text.at(start)?).is_some_and(|i| i.is_nop() || i.is_jump());
    found.push(site(start, LENGTH as u8, SiteKind::JumpLabel));
    is_label.then_some(())
}

/// The address of a trap. Kprobes refuse any address in the table, whatever the instruction (`find_bug` in
/// `check_kprobe_address_safe`, kernel/kprobes.c).
fn bug(entry: &Entry<'_, '_>, found: &mut Vec<SiteFacts>) -> Option<()> {
    let start = entry.relative("bug_addr_disp")?;
    let is_trap = Instruction::first(entry.text.at(start)?).is_some_and(Instruction::is_trap);
    found.push(site(start, LENGTH as u8, SiteKind::Bug));
    (is_trap || entry.is_declared).then_some(())
}

/// Instructions that may replace those of an object, by address; `None` stands for an unknown one.
pub type Alternatives = FxHashMap<u32, Vec<Option<Instruction>>>;

/// The most alternatives of an instruction in a table.
const MOST: usize = 16;
/// The most bytes that are replaced together; Debian's kernels have up to 148.
const LONGEST: u32 = 1 << 12;

/// Reads the alternatives: a range of code, and another that replaces it, no-ops behind it (`patch_feature_section`,
/// arch/powerpc/lib/feature-fixups.c). An empty one leaves no-ops alone.
///
/// # Errors
/// A table is missing or damaged, has more than [`MOST`] alternatives for one instruction, or replaces more than [`LONGEST`].
pub fn alternatives(of: &Object<'_, '_, '_>) -> Result<Alternatives> {
    const MEMBERS: [&str; 4] = ["start_off", "end_off", "alt_start_off", "alt_end_off"];
    let mut all = Alternatives::default();
    for name in &ALTERNATIVES {
        let Some(table) = of.tables.table(name)? else { continue };
        let found = for_shapes(&table, "fixup_entry", &MEMBERS, of, |shape, is_declared| {
            let mut found = Alternatives::default();
            for at in table.entries(shape.size as usize, shape.size as usize)? {
                let entry = Entry { table: &table, text: of.text, at, shape, is_declared };
                add(of.object, &entry, &mut found).ok_or_else(|| table.damaged(at))?;
            }
            Ok(found)
        })?;
        for (pc, instructions) in found {
            all.entry(pc).or_default().extend(instructions);
        }
    }
    Ok(all)
}

/// Adds the instructions that an entry puts in place of others; `None` if the entry is invalid.
fn add(object: &Elf<'_>, entry: &Entry<'_, '_>, found: &mut Alternatives) -> Option<()> {
    let at = |member: &str| entry.distant(member);
    let (start, end) = (at("start_off")?, at("end_off")?);
    let (new, new_end) = (at("alt_start_off")?, at("alt_end_off")?);
    let (length, new_length) = (end.checked_sub(start)?, new_end.checked_sub(new)?);
    if !length.is_multiple_of(LENGTH) || new_length > length || length > LONGEST {
        return None;
    }
    for offset in (0..length).step_by(LENGTH as usize).filter(|_| entry.text.contains(start)) {
        let there = match offset < new_length {
            true => word(object, new.saturating_add(offset)),
            false => Some(Instruction::NOP),
        };
        let own = found.entry(start.saturating_add(offset)).or_default();
        if own.len() >= MOST {
            return None;
        }
        own.push(there);
    }
    Some(())
}

/// The instruction at an address, in any section: modules have those that replace others in sections without code.
fn word(object: &Elf<'_>, pc: u32) -> Option<Instruction> {
    object.sections.iter().find_map(|section| {
        let offset = pc.checked_sub(section.pc?)?;
        Instruction::first(section.raw().get(offset as usize..)?)
    })
}
