//! The canonical frame address at an address, which variables on the stack are relative to.
use probeidx_format::View;
use probeidx_format::details::Range;
use probeidx_format::frames::Rule;
use probeidx_format::id::ObjectId;
use probeidx_format::record::FrameRecord;

/// The DWARF register and the offset whose sum is the canonical frame address at `pc`, before the instruction there
/// runs; `None` if unknown. Cost: a binary search, then linear in the rows of the function.
pub fn cfa(view: &View<'_>, object: ObjectId, pc: u32) -> Option<(u8, i64)> {
    let row = view.frame_rows(frame(view, object, pc)?).take_while(|(start, _)| *start <= pc).last()?;
    row.1.map(|Rule { register, offset }| (register, offset))
}

/// Whether the rule is the same in the whole function that holds `pc`, so that variables on the stack are in place from
/// the entry on. Cost: as for [`cfa`].
pub fn is_fixed(view: &View<'_>, object: ObjectId, pc: u32) -> bool {
    let Some(frame) = frame(view, object, pc) else { return false };
    let mut rules = view.frame_rows(frame).map(|(_, rule)| rule);
    let first = rules.next().flatten();
    first.is_some() && rules.all(|rule| rule == first)
}

/// Whether the function that holds `pc` has a register as the base of its frame somewhere. Cost: as for [`cfa`].
pub fn has_base(view: &View<'_>, object: ObjectId, pc: u32, register: u8) -> bool {
    let is_base = |(_, rule): (u32, Option<Rule>)| rule.is_some_and(|rule| rule.register == register);
    frame(view, object, pc).is_some_and(|frame| view.frame_rows(frame).any(is_base))
}

/// The addresses in a range from which on another rule holds, ascending. Cost: as for [`cfa`], for each function within.
pub fn changes(view: &View<'_>, object: ObjectId, range: Range) -> Vec<u32> {
    let frames = view.frames_of(object);
    let first = frames.partition_point(|f| f.end.get() <= range.start);
    let within = frames.from(first).iter().take_while(|f| f.start.get() < range.end);
    let starts = within.flat_map(|frame| view.frame_rows(frame)).map(|(start, _)| start);
    starts.filter(|pc| range.contains(*pc)).collect()
}

fn frame<'a>(view: &View<'a>, object: ObjectId, pc: u32) -> Option<FrameRecord> {
    let frames = view.frames_of(object);
    let after = frames.partition_point(|f| f.start.get() <= pc);
    frames.up_to(after).last().filter(|f| pc < f.end.get())
}
