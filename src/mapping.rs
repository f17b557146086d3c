//! Files as bytes, without reading them. The only `unsafe` of the crate.
#![allow(unsafe_code)]
use crate::error::{Error, Result};
use memmap2::Mmap;
use std::fs::File;
use std::path::Path;

/// A file mapped into memory, read-only.
pub struct Mapping(Option<Mmap>);

impl Mapping {
    /// Maps a whole regular file. An empty one has no bytes.
    pub fn open(path: &Path) -> Result<Self> {
        let io = |e| Error::io(path, "read", e);
        let file = File::open(path).map_err(io)?;
        let metadata = file.metadata().map_err(io)?;
        if !metadata.is_file() {
            return Err(Error::new(crate::ErrorKind::Io, "not a regular file").at(path));
        }
        if metadata.len() == 0 {
            return Ok(Self(None));
        }
        // SAFETY: the mapping is private and read-only, and everything that reads it bears any bytes, so that a
        // change of the file beneath can make an answer wrong but nothing else. One that is truncated while it is
        // mapped kills the process with SIGBUS: an index is replaced by renaming a new file over it, never written
        // in place, and a kernel's debuginfo is installed by package managers in the same way.
        let map = unsafe { Mmap::map(&file) }.map_err(io)?;
        Ok(Self(Some(map)))
    }
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        self.0.as_deref().unwrap_or_default()
    }
}
