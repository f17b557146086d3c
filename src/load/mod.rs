//! Files to sections: mapping, decompression, ELF, relocation.
pub mod build_id;
pub mod config;
mod debug;
pub mod decompress;
pub mod elf;
mod package;
mod relocate;
mod split;
mod supplement;

use crate::error::Result;
use crate::mapping::Watching;
pub(crate) use debug::{DebugSections, Files};
use std::path::Path;

/// An object file's bytes: mapped, or decompressed into memory of their own.
pub enum Image {
    /// The file as it is on disk.
    Mapped(Watching),
    /// What a compressed file holds.
    Inflated(Vec<u8>),
}

impl Image {
    /// Opens a file; a `.gz`, `.xz` or `.zst` one is inflated, up to 64 times its length.
    pub fn open(path: &Path) -> Result<Self> {
        let mapping = Watching::open(path)?;
        match decompress::detect(mapping.bytes()) {
            Some(kind) => {
                let length = mapping.bytes().len() as u64;
                let inflated = decompress::decompress(kind, mapping.bytes(), decompress::most(length));
                let inflated = mapping.unchanged().and(inflated).map_err(|e| e.at(path))?;
                Ok(Self::Inflated(inflated))
            }
            None => Ok(Self::Mapped(mapping)),
        }
    }
    /// Whether what was read of it so far is what the file was when it was opened.
    ///
    /// # Errors
    /// [`ErrorKind::Changed`](crate::ErrorKind::Changed).
    pub fn unchanged(&self, path: &Path) -> Result<()> {
        match self {
            Self::Mapped(mapping) => mapping.unchanged().map_err(|e| e.at(path)),
            Self::Inflated(_) => Ok(()),
        }
    }
    /// The bytes of the object.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Mapped(mapping) => mapping.bytes(),
            Self::Inflated(bytes) => bytes,
        }
    }
}
