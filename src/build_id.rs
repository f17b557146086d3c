//! Build ids in hexadecimal, and the debug files that packages install by them.

/// Where distributions install debug files.
pub const DEBUG_ROOT: &str = "/usr/lib/debug";

/// The id in hexadecimal.
pub fn hex(id: &[u8]) -> String {
    let digit = |nibble: u8| char::from_digit(nibble.into(), 16);
    id.iter().flat_map(|b| [b >> 4, b & 15]).filter_map(digit).collect()
}

/// The debug file of a build id, relative to a folder of debug files: `.build-id/ab/cdef.debug`; `None` for an empty
/// id.
pub fn debug_file(id: &[u8]) -> Option<String> {
    let (first, rest) = id.split_first()?;
    Some(format!(".build-id/{first:02x}/{}.debug", hex(rest)))
}
