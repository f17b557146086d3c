//! Where the canonical frame address is at an address, to which variables on the stack are relative.
use probeidx_format::View;
use probeidx_format::frames::Rule;
use probeidx_format::id::ObjectId;

/// The DWARF register and the offset whose sum is the canonical frame address at `pc`, before the instruction there has
/// run; `None` where the debug information does not tell it. Cost: a binary search, then the rows of the function.
pub fn cfa(view: &View<'_>, object: ObjectId, pc: u32) -> Option<(u8, i64)> {
    let frames = view.frames_of(object);
    let after = frames.partition_point(|f| f.start.get() <= pc);
    let frame = frames[..after].last().filter(|f| pc < f.end.get())?;
    let row = view.frame_rows(frame).take_while(|(start, _)| *start <= pc).last()?;
    row.1.map(|Rule { register, offset }| (register, offset))
}
