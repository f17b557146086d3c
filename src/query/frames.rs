//! Where the canonical frame address is at an address, to which variables on the stack are relative.
use probeidx_format::View;
use probeidx_format::expr::Expr;
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

/// The same location at `pc`, relative to a register where it is relative to the canonical frame address; unchanged where
/// that is not known.
pub fn resolve<'a>(view: &View<'_>, object: ObjectId, pc: u32, expr: Expr<'a>) -> Expr<'a> {
    let (Expr::Frame(from_frame) | Expr::FrameSum(from_frame)) = expr else { return expr };
    let based = cfa(view, object, pc).and_then(|(register, offset)| {
        let offset = offset.checked_add(from_frame)?;
        let is_memory = matches!(expr, Expr::Frame(_));
        // The rule can name registers that no other location names.
        (register < 32).then_some(if is_memory {
            Expr::BasedOn(register, offset)
        } else {
            Expr::Sum(register, offset)
        })
    });
    based.unwrap_or(expr)
}
