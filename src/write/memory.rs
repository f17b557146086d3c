//! Where an index is written: to a file with a name, or to memory, for who only reads it once.
use crate::error::{Error, Result};
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

/// Where an index goes.
pub enum Target {
    /// A file, in a folder of indexes.
    File(PathBuf),
    /// Memory.
    Memory(Memory),
}

impl Target {
    /// The folder that the index is to be in.
    pub fn folder(&self) -> Option<&Path> {
        match self {
            Self::File(path) => path.parent(),
            Self::Memory(_) => None,
        }
    }
    /// The path of the index, once it is written.
    pub fn path(&self) -> &Path {
        match self {
            Self::File(path) => path,
            Self::Memory(memory) => &memory.path,
        }
    }
}

/// A file without a name, in memory. It is gone when this is dropped.
pub struct Memory {
    file: File,
    path: PathBuf,
}

impl Memory {
    /// An empty one.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) if the system has no more files.
    pub fn new() -> Result<Self> {
        let file = memfd_create("probeidx", MemfdFlags::CLOEXEC)
            .map_err(|e| Error::io(Path::new("memory"), "make a file in", e.into()))?;
        let file = File::from(file);
        let path = format!("/proc/self/fd/{}", file.as_raw_fd()).into();
        Ok(Self { file, path })
    }
    /// The file.
    pub fn file(&self) -> &File {
        &self.file
    }
    /// The file alone.
    pub fn into_file(self) -> File {
        self.file
    }
}
