use probeidx_format::View;
use probeidx_format::id::ObjectId;
pub fn cfa(_: &View<'_>, _: ObjectId, _: u32) -> Option<(u8, i64)> {
    None
}
