//! Indexes of programs and shared libraries, and the names that select them.
use crate::pattern::Pattern;
use probeidx_format::View;
use probeidx_format::meta::UserMeta;

/// The folder of these indexes, inside that of the kernel indexes.
pub const FOLDER: &str = "user";

/// Whether a pattern names a user object: as a whole, one of its paths; without a slash, the last component of one of
/// them, or the name under which other objects request it (`DT_SONAME`).
pub fn is_named(user: &UserMeta, pattern: &Pattern) -> bool {
    let matches = |name: &str| pattern.matches(name.as_bytes());
    let last = |path: &str| path.rsplit('/').next().is_some_and(matches);
    let is_plain = !pattern.to_string().contains('/');
    user.paths.iter().any(|path| matches(path) || (is_plain && last(path)))
        || (!user.soname.is_empty() && matches(&user.soname))
}

/// The path of the object of an index, with symbolic links resolved; `None` for the index of a kernel.
pub fn path<'a>(view: &View<'a>) -> Option<&'a [u8]> {
    let object = view.object_ids().next().filter(|o| view.is_user(*o))?;
    Some(view.string(view.objects[object.index()].path))
}
