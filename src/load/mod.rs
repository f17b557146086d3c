//! Reads files into sections: mapping, decompression, ELF, relocation.
pub mod config;
pub mod decompress;
pub mod elf;
pub mod image;
pub(crate) mod in_place;
mod kallsyms;
pub mod kcore;
pub mod live;
pub mod members;
pub(crate) mod object_kind;
pub(crate) mod relocate;
mod running;
pub mod symbol_table;
pub(crate) mod symbols;
mod system_map;
pub(crate) mod widen;

use crate::error::Result;
use crate::mapping::Watching;
use std::path::Path;
use std::sync::Arc;

/// The bytes of an object file, mapped or decompressed into memory.
pub enum Image {
    /// The file as it is on disk.
    Mapped(Watching),
    /// The content of a compressed file.
    Inflated(Vec<u8>),
    /// A file in a package.
    Member(Arc<Vec<u8>>),
}

impl Image {
    /// Opens a file. A `.gz`, `.xz` or `.zst` file is inflated and a boot image unpacked, up to 64 times its length.
    ///
    /// Bare BTF becomes an object (see [`live`]), and a 32-bit object a 64-bit one (`widen`).
    pub fn open(path: &Path) -> Result<Self> {
        if live::release(path).is_some() {
            return Ok(Self::Inflated(live::object(path, &live::read(path)?)));
        }
        if let Some(member) = members::find(path) {
            return Self::of_member(path, member.bytes);
        }
        let mapping = Watching::open(path)?;
        let inflated = match live::is_btf(mapping.bytes()) {
            true => Ok(Some(live::object(path, mapping.bytes()))),
            false => Self::inflate(mapping.bytes()),
        };
        let inflated =
            if matches!(inflated, Ok(None)) { inflated } else { mapping.unchanged().and(inflated) };
        let image = inflated.map_err(|e| e.at(path))?.map_or(Self::Mapped(mapping), Self::Inflated);
        match widen::is_narrow(image.bytes()) {
            true => Ok(Self::Inflated(widen::widen(image.bytes()).map_err(|e| e.at(path))?)),
            false => Ok(image),
        }
    }

    /// Like [`Self::open`], for a file in a package.
    fn of_member(path: &Path, bytes: Arc<Vec<u8>>) -> Result<Self> {
        let image = match Self::inflate(&bytes).map_err(|e| e.at(path))? {
            Some(inflated) => Self::Inflated(inflated),
            None => Self::Member(bytes),
        };
        match widen::is_narrow(image.bytes()) {
            true => Ok(Self::Inflated(widen::widen(image.bytes()).map_err(|e| e.at(path))?)),
            false => Ok(image),
        }
    }

    /// The content of compressed bytes; `None` if they are not compressed.
    fn inflate(bytes: &[u8]) -> Result<Option<Vec<u8>>> {
        let Some(kind) = decompress::detect(bytes) else { return image::unpack(bytes) };
        let inflated = decompress::decompress(kind, bytes, decompress::most(bytes.len() as u64))?;
        Ok(Some(image::unpack(&inflated)?.unwrap_or(inflated)))
    }
    /// Removes a part of the object from the process's memory until it is read again, if the file has it as it is.
    pub fn forget(&self, part: &[u8]) {
        if let Self::Mapped(mapping) = self {
            mapping.forget(part);
        }
    }
    /// Checks that the file has not changed since it was opened.
    ///
    /// # Errors
    /// [`ErrorKind::Changed`](crate::ErrorKind::Changed).
    pub fn unchanged(&self, path: &Path) -> Result<()> {
        match self {
            Self::Mapped(mapping) => mapping.unchanged().map_err(|e| e.at(path)),
            Self::Inflated(_) | Self::Member(_) => Ok(()),
        }
    }
    /// The bytes of the object.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Self::Mapped(mapping) => mapping.bytes(),
            Self::Inflated(bytes) => bytes,
            Self::Member(bytes) => bytes,
        }
    }
}
