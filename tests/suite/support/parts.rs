//! An index file as its sections, so that one can change without all others becoming unreadable.
//!
//! Header, directory and sections have checksums, which say that a file is whole, not that it means well: a stranger
//! computes them as easily as we do. So they are made right again here, and what is behind them gets the changed bytes.
use probeidx_format::SectionName;
use probeidx_format::header::Header;
use probeidx_format::id::StrId;
use probeidx_format::table::Packed;
use probeidx_format::writer::Writer;
use std::io::Cursor;

/// What a file consists of.
pub struct Parts {
    pub machine: u16,
    pub release: StrId,
    /// In the order of [`SectionName::ALL`].
    pub sections: Vec<Vec<u8>>,
    /// As many; the numbers of records of those that are packed tables.
    pub records: Vec<u32>,
}

impl Parts {
    /// Of a file whose header and directory are whole.
    pub fn of(file: &[u8]) -> Option<Self> {
        let (header, directory) = Header::read(file).ok()?;
        let bytes = |offset: u64, length: u64| file.get(offset as usize..)?.get(..length as usize);
        let sections: Option<Vec<Vec<u8>>> =
            directory.iter().map(|e| Some(bytes(e.offset.get(), e.length.get())?.to_vec())).collect();
        let records = directory.iter().map(|e| e.records.get()).collect();
        Some(Self { machine: header.machine.get(), release: header.release, sections: sections?, records })
    }

    /// Makes one byte of a section another.
    pub fn change(&mut self, section: u8, at: u16, byte: u8) {
        let count = self.sections.len();
        let section = &mut self.sections[usize::from(section) % count];
        let length = section.len().max(1);
        if let Some(old) = section.get_mut(usize::from(at) % length) {
            *old = byte;
        }
    }

    /// The file, with its checksums.
    pub fn file(&self) -> Vec<u8> {
        let mut file = vec![];
        let mut writer = Writer::new(Cursor::new(&mut file)).expect("memory");
        for ((name, bytes), records) in SectionName::ALL.iter().zip(&self.sections).zip(&self.records) {
            let table = Packed { records: *records, bytes: bytes.clone() };
            writer.table(*name, &table).expect("memory");
        }
        writer.finish(self.machine, self.release).expect("memory");
        file
    }
}
