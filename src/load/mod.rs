//! Files to sections: mapping, decompression, ELF, relocation.
pub mod config;
pub mod decompress;
pub mod elf;
pub(crate) mod relocate;
mod supplement;

use crate::error::Result;
use crate::mapping::Mapping;
use std::path::Path;

/// An object file's bytes: mapped, or decompressed into memory of their own.
pub enum Image {
    /// The file as it is on disk.
    Mapped(Mapping),
    /// What a compressed file holds.
    Inflated(Vec<u8>),
}

impl Image {
    /// Opens a file; a `.gz`, `.xz` or `.zst` one is inflated, up to 64 times its length.
    pub fn open(path: &Path) -> Result<Self> {
        let mapping = Mapping::open(path)?;
        match decompress::detect(mapping.bytes()) {
            Some(kind) => {
                let length = mapping.bytes().len() as u64;
                let inflated = decompress::decompress(kind, mapping.bytes(), decompress::most(length))
                    .map_err(|e| e.at(path))?;
                Ok(Self::Inflated(inflated))
            }
            None => Ok(Self::Mapped(mapping)),
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
