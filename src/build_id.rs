//! Build ids as people write them, and where packages put debug files by them.

/// Where distributions install debug files.
pub const DEBUG_ROOT: &str = "/usr/lib/debug";

/// In hexadecimal.
pub fn hex(id: &[u8]) -> String {
    id.iter().map(|b| format!("{b:02x}")).collect()
}

/// The debug file of a build id, below any folder of debug files: `.build-id/ab/cdef.debug`; `None` without an id.
pub fn debug_file(id: &[u8]) -> Option<String> {
    let (first, rest) = id.split_first()?;
    Some(format!(".build-id/{first:02x}/{}.debug", hex(rest)))
}
