//! Where the canonical frame address is at an address, to which variables on the stack are relative.
use probeidx_format::View;
use probeidx_format::frames::Rule;
use probeidx_format::id::ObjectId;
use probeidx_format::record::FrameRecord;

/// The DWARF register and the offset whose sum is the canonical frame address at `pc`, before the instruction there has
/// run; `None` where the debug information does not tell it. Cost: a binary search, then the rows of the function.
pub fn cfa(view: &View<'_>, object: ObjectId, pc: u32) -> Option<(u8, i64)> {
    let row = view.frame_rows(frame(view, object, pc)?).take_while(|(start, _)| *start <= pc).last()?;
    row.1.map(|Rule { register, offset }| (register, offset))
}

/// Whether the rule is the same in the whole function that holds `pc`: what it keeps on the stack it finds there from the
/// entry on. Cost: as above.
pub fn is_fixed(view: &View<'_>, object: ObjectId, pc: u32) -> bool {
    let Some(frame) = frame(view, object, pc) else { return false };
    let mut rules = view.frame_rows(frame).map(|(_, rule)| rule);
    let first = rules.next().flatten();
    first.is_some() && rules.all(|rule| rule == first)
}

fn frame<'a>(view: &View<'a>, object: ObjectId, pc: u32) -> Option<&'a FrameRecord> {
    let frames = view.frames_of(object);
    let after = frames.partition_point(|f| f.start.get() <= pc);
    frames[..after].last().filter(|f| pc < f.end.get())
}
