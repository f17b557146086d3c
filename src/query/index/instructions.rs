//! Where instructions start.
use super::symbols;
use probeidx_format::View;
use probeidx_format::details::Range;
use probeidx_format::id::ObjectId;
use probeidx_format::record::SectionRecord;

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

/// The start of the next instruction; `None` if the code was not read. Cost: as [`start_of`].
pub fn after(view: &View<'_>, object: ObjectId, pc: u32) -> Option<u32> {
    let end = pc.checked_add(LONGEST + 1)?;
    starts(view, object, Range { start: pc.checked_add(1)?, end }).next()
}

/// The starts of the instructions in a range of one section, ascending; none if the code was not read. Cost: some hundred
/// nanoseconds for each byte.
pub fn starts<'a>(view: &View<'a>, object: ObjectId, range: Range) -> impl Iterator<Item = u32> + use<'a> {
    let view = *view;
    let section = symbols::section(&view, object, range.start);
    let all = section.map(|section| range.start..range.end.min(end(section))).into_iter().flatten();
    all.filter(move |pc| {
        section.is_some_and(|section| {
            view.is_boundary(object, section, pc.wrapping_sub(section.pc.get())) == Some(true)
        })
    })
}

fn end(section: SectionRecord) -> u32 {
    u32::try_from(u64::from(section.pc.get()).saturating_add(section.size.get())).unwrap_or(u32::MAX)
}
