//! An index file as its sections, so that one can change without all others becoming unreadable.
//!
//! Header, directory and sections have checksums, which say that a file is whole, not that it means well: a stranger
//! computes them as easily as we do. So they are made right again here, and what is behind them gets the changed bytes.
use libfuzzer_sys::fuzzer_mutate;
use probeidx_format::SectionName;
use probeidx_format::header::Header;
use probeidx_format::id::StrId;
use probeidx_format::writer::Writer;
use std::io::Cursor;

/// The index of a small kernel, for targets that need something to ask. `scripts/fuzz-seeds` makes it.
pub const SMALL: &[u8] = include_bytes!("../seeds/index_open_and_ask/kernel.pidx");

/// What a file consists of.
pub struct Parts {
    machine: u16,
    release: StrId,
    /// In the order of [`SectionName::ALL`].
    sections: Vec<Vec<u8>>,
}

impl Parts {
    /// Of a file whose header and directory are whole.
    pub fn of(file: &[u8]) -> Option<Self> {
        let (header, directory) = Header::read(file).ok()?;
        let bytes = |offset: u64, length: u64| file.get(offset as usize..)?.get(..length as usize);
        let sections: Option<Vec<Vec<u8>>> =
            directory.iter().map(|e| Some(bytes(e.offset.get(), e.length.get())?.to_vec())).collect();
        Some(Self { machine: header.machine.get(), release: header.release, sections: sections? })
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
        for (name, bytes) in SectionName::ALL.iter().zip(&self.sections) {
            writer.section(*name, [&bytes[..]]).expect("memory");
        }
        writer.finish(self.machine, self.release).expect("memory");
        file
    }
}

/// Changes one section of an index, mostly; now and then any bytes of it, or the header's fields. For `fuzz_mutator!`.
pub fn mutate(data: &mut [u8], size: usize, max_size: usize, seed: u32) -> usize {
    let Some(mut parts) = Parts::of(&data[..size]) else { return fuzzer_mutate(data, size, max_size) };
    let choice = (seed >> 16) as usize;
    match seed & 0xff {
        0..8 => return fuzzer_mutate(data, size, max_size),
        8..12 => parts.machine = choice as u16,
        12..16 => parts.release = StrId::new(choice as u32),
        _ => {
            // Empty sections are as good as others, but there is less to find in them.
            let filled: Vec<usize> =
                (0..parts.sections.len()).filter(|s| !parts.sections[*s].is_empty()).collect();
            let chosen = match filled.len() {
                n if n > 0 && seed & 0x700 != 0 => filled[choice % n],
                _ => choice % parts.sections.len(),
            };
            let room = max_size.saturating_sub(size);
            let section = &mut parts.sections[chosen];
            let length = section.len();
            // Mutations that keep the length keep the records of the table whole.
            let most = if seed & 0x800 == 0 { length } else { length + room.min(64) };
            section.resize(most.max(1), 0);
            let most = section.len();
            let changed = fuzzer_mutate(section, length, most);
            section.truncate(changed);
        }
    }
    let file = parts.file();
    let size = file.len().min(max_size);
    data[..size].copy_from_slice(&file[..size]);
    size
}
