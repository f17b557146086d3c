//! An ELF file in memory, to be changed at places that are found by name.
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The bytes of an ELF64 little-endian file.
#[derive(Clone)]
pub struct Image(pub Vec<u8>);

/// A section: where its header and its bytes are in the file.
#[derive(Clone, Debug)]
pub struct Section {
    pub name: String,
    pub header: usize,
    pub address: u64,
    pub bytes: Range<usize>,
}

const SHT_NOBITS: u32 = 8;

impl Image {
    pub fn read(path: &Path) -> Self {
        Self(std::fs::read(path).unwrap())
    }
    pub fn write(&self, path: &PathBuf) {
        std::fs::write(path, &self.0).unwrap();
    }
    pub fn number<const N: usize>(&self, at: usize) -> u64 {
        let mut bytes = [0; 8];
        bytes[..N].copy_from_slice(&self.0[at..at + N]);
        u64::from_le_bytes(bytes)
    }
    fn text(&self, at: usize) -> String {
        let length = self.0[at..].iter().position(|b| *b == 0).unwrap();
        String::from_utf8(self.0[at..at + length].to_vec()).unwrap()
    }
    pub fn sections(&self) -> Vec<Section> {
        let (first, count) = (self.number::<8>(0x28) as usize, self.number::<2>(0x3c) as usize);
        let names = first + 64 * self.number::<2>(0x3e) as usize;
        let names = self.number::<8>(names + 24) as usize;
        let section = |header: usize| {
            let start = self.number::<8>(header + 24) as usize;
            Section {
                name: self.text(names + self.number::<4>(header) as usize),
                header,
                address: self.number::<8>(header + 16),
                bytes: start..start + self.number::<8>(header + 32) as usize,
            }
        };
        (0..count).map(|index| section(first + 64 * index)).collect()
    }
    #[track_caller]
    pub fn section(&self, name: &str) -> Section {
        self.sections().into_iter().find(|s| s.name == name).unwrap_or_else(|| panic!("no section {name}"))
    }
    /// Where the entry of a symbol stands in the file.
    #[track_caller]
    fn symbol(&self, name: &str) -> usize {
        let (table, names) = (self.section(".symtab"), self.section(".strtab").bytes.start);
        let named = |at: &usize| self.text(names + self.number::<4>(*at) as usize) == name;
        table.bytes.step_by(24).find(named).unwrap_or_else(|| panic!("no symbol {name}"))
    }
    /// The link address of a symbol.
    pub fn value(&self, symbol: &str) -> u64 {
        self.number::<8>(self.symbol(symbol) + 8)
    }
    /// Where the bytes between two symbols stand in the file.
    pub fn between(&self, start: &str, stop: &str) -> Range<usize> {
        let [start, stop] = [start, stop].map(|name| self.value(name));
        let holds =
            |s: &Section| s.address != 0 && s.address <= start && stop <= s.address + s.bytes.len() as u64;
        let section = self.sections().into_iter().find(holds).unwrap();
        let offset = |address: u64| section.bytes.start + (address - section.address) as usize;
        offset(start)..offset(stop)
    }
    pub fn put(&mut self, at: usize, bytes: &[u8]) {
        self.0[at..at + bytes.len()].copy_from_slice(bytes);
    }
    /// Moves a symbol.
    pub fn set_value(&mut self, symbol: &str, value: u64) {
        let at = self.symbol(symbol) + 8;
        self.put(at, &value.to_le_bytes());
    }
    /// Gives a symbol no name: the empty one at the start of the table.
    pub fn lose_symbol(&mut self, symbol: &str) {
        let at = self.symbol(symbol);
        self.put(at, &[0; 4]);
    }
    /// Takes a section's bytes out of the file, as `objcopy --only-keep-debug` does.
    pub fn lose_bytes(&mut self, section: &str) {
        let at = self.section(section).header + 4;
        self.put(at, &SHT_NOBITS.to_le_bytes());
    }
    pub fn set_size(&mut self, section: &str, size: usize) {
        let at = self.section(section).header + 32;
        self.put(at, &(size as u64).to_le_bytes());
    }
}
