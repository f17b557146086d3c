//! Places that the running ARM kernel rewrites or reserves, from its tables.
use super::{Instruction, LENGTH};
use crate::code::sites::{Entry, Reader, bugs, jump_labels, site, tables};
use crate::code::{Object, SiteFacts};
use crate::error::Result;
use probeidx_format::record::SiteKind;
use rustc_hash::FxHashMap;

tables! {
    ALTERNATIVES = ".alt.smp.init" from "__smpalt_begin" to "__smpalt_end" read by "fixup_smp";
}

/// All tables except that of alternatives. Their entries are addresses: offsets are for machines of 64 bits.
pub const READERS: [Reader; 2] = [jump_labels(jump_label), bugs(bug)];

/// A jump or a no-op.
fn jump_label(entry: &Entry<'_, '_>, found: &mut Vec<SiteFacts>) -> Option<()> {
    let start = entry.address("code")?;
    let is_label = Instruction::first(entry.text.at(start)?).is_some_and(|i| i.is_nop() || i.is_jump());
    found.push(site(start, LENGTH as u8, SiteKind::JumpLabel));
    is_label.then_some(())
}

/// The address of a `udf`. Kprobes refuse any address in the table, whatever the instruction (`find_bug` in
/// `check_kprobe_address_safe`, kernel/kprobes.c).
fn bug(entry: &Entry<'_, '_>, found: &mut Vec<SiteFacts>) -> Option<()> {
    let start = entry.address("bug_addr").or_else(|| entry.relative("bug_addr_disp"))?;
    let is_undefined = Instruction::first(entry.text.at(start)?).is_some_and(Instruction::is_undefined);
    found.push(site(start, LENGTH as u8, SiteKind::Bug));
    (is_undefined || entry.is_declared).then_some(())
}

/// What replaces an instruction where there is one processor, by address.
pub type Alternatives = FxHashMap<u32, Instruction>;

/// Size of an entry: place and instruction.
const SIZE: usize = 8;

/// Reads the alternatives (CONFIG_SMP_ON_UP; `fixup_smp`, arch/arm/kernel/head.S). Their places are addresses in 5.10, and since then
/// relative to themselves. A few are data.
///
/// # Errors
/// The table is missing or damaged.
pub fn alternatives(of: &Object<'_, '_, '_>) -> Result<Alternatives> {
    let Some(table) = of.tables.table(&ALTERNATIVES)? else { return Ok(Alternatives::default()) };
    let entries: Vec<usize> = table.entries(SIZE, SIZE)?.collect();
    let read = |place: &dyn Fn(usize) -> Option<u32>| {
        let in_code = |pc: &u32| of.text.contains(*pc) && pc.is_multiple_of(LENGTH);
        let place = |at: &usize| Some((place(*at).filter(in_code)?, Instruction(table.word(at + SIZE / 2))));
        entries.iter().filter_map(place).collect::<Alternatives>()
    };
    let found = [read(&|at| table.address(at)), read(&|at| table.relative(at))]
        .into_iter()
        .find(|found| found.len() * 2 >= entries.len());
    found.ok_or_else(|| table.damaged(0))
}
