//! Writes the file: the sections in order, then the header in front of them.
use crate::header::{self, DirectoryEntry, Header, MAGIC, SectionName, VERSION};
use crate::id::StrId;
use crate::table::Packed;
use std::io::{Result, Seek, SeekFrom, Write};
use zerocopy::IntoBytes;
use zerocopy::byteorder::little_endian::{U16, U32, U64};

/// Writes an index. All sections must be written, in the order of [`SectionName::ALL`].
pub struct Writer<W> {
    out: W,
    at: u64,
    directory: Vec<DirectoryEntry>,
}

impl<W: Write + Seek> Writer<W> {
    /// Reserves space for header and directory.
    ///
    /// # Errors
    /// Those of writing.
    pub fn new(mut out: W) -> Result<Self> {
        let front = size_of::<Header>() + SectionName::ALL.len() * size_of::<DirectoryEntry>();
        out.write_all(&vec![0; front])?;
        Ok(Self { out, at: front as u64, directory: vec![] })
    }

    /// Writes the next section, as a concatenation of parts.
    ///
    /// # Errors
    /// Those of writing.
    pub fn section<'a>(
        &mut self,
        name: SectionName,
        parts: impl IntoIterator<Item = &'a [u8]>,
    ) -> Result<()> {
        self.put(name, 0, |pass| parts.into_iter().try_for_each(pass))
    }

    /// Writes the next section, as what `write` passes on, part after part.
    ///
    /// # Errors
    /// Those of `write` and of writing.
    pub fn section_by(
        &mut self,
        name: SectionName,
        write: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        self.put(name, 0, write)
    }

    /// Writes the next section, a packed table.
    ///
    /// # Errors
    /// Those of writing.
    pub fn table(&mut self, name: SectionName, table: &Packed) -> Result<()> {
        self.put(name, table.records, |pass| pass(&table.bytes))
    }

    fn put(
        &mut self,
        name: SectionName,
        records: u32,
        write: impl FnOnce(&mut dyn FnMut(&[u8]) -> Result<()>) -> Result<()>,
    ) -> Result<()> {
        assert_eq!(SectionName::ALL.get(self.directory.len()), Some(&name), "sections are written in order");
        let mut checksum = crc32fast::Hasher::new();
        let mut length = 0;
        write(&mut |part| {
            self.out.write_all(part)?;
            checksum.update(part);
            length += part.len() as u64;
            Ok(())
        })?;
        self.directory.push(DirectoryEntry {
            offset: U64::new(self.at),
            length: U64::new(length),
            checksum: U32::new(checksum.finalize()),
            name: U32::new(name as u32),
            records: U32::new(records),
        });
        self.at += length;
        Ok(())
    }

    /// Writes the header for objects of this `e_machine` and a kernel of this release; returns the total length.
    ///
    /// # Errors
    /// Those of writing and seeking.
    pub fn finish(mut self, machine: u16, release: StrId) -> Result<u64> {
        assert_eq!(self.directory.len(), SectionName::ALL.len(), "all sections are written");
        let mut header = Header {
            magic: MAGIC,
            version: U32::new(VERSION),
            sections: U16::new(self.directory.len() as u16),
            machine: U16::new(machine),
            length: U64::new(self.at),
            release,
            directory_checksum: U32::new(header::checksum(self.directory.as_bytes())),
            checksum: U32::ZERO,
        };
        header.seal();
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(header.as_bytes())?;
        self.out.write_all(self.directory.as_bytes())?;
        self.out.flush()?;
        Ok(self.at)
    }
}
