//! Where instructions start.
use super::symbols;
use probeidx_format::View;
use probeidx_format::id::ObjectId;

/// The longest instruction of any machine (x86, Intel SDM volume 2, section 2.3.11).
const LONGEST: u32 = 15;

/// The start of the instruction that has a byte at this address; `None` if the code was not read. Cost: some hundred
/// nanoseconds for each byte before it.
pub fn start_of(view: &View<'_>, object: ObjectId, pc: u32) -> Option<u32> {
    let section = symbols::section(view, object, pc)?;
    let offset = pc.wrapping_sub(section.pc.get());
    (offset.saturating_sub(LONGEST - 1)..=offset)
        .rev()
        .find(|offset| view.is_boundary(object, section, *offset) == Some(true))
        .map(|offset| section.pc.get().wrapping_add(offset))
}
