//! ELF as far as BPF objects use it: 64 bit, relocatable, sections, one symbol table, relocations without addends.
//!
//! Objects lie at any offset of other files, so nothing here asks for alignment.
use crate::bytes::{ByteOrder, Bytes};
use crate::error::{Error, Result, shown};
use rustc_hash::FxHashMap;

/// A section header with its bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) kind: u32,
    pub(crate) flags: u64,
    /// Its bytes, none for `SHT_NOBITS`.
    pub(crate) data: &'a [u8],
    pub(crate) size: u64,
    pub(crate) info: u32,
}

/// A symbol.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Symbol<'a> {
    pub(crate) name: &'a [u8],
    pub(crate) info: u8,
    other: u8,
    pub(crate) section: u16,
    pub(crate) value: u64,
    pub(crate) size: u64,
}

/// What a relocation of `SHT_REL` says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rel {
    pub(crate) offset: u64,
    pub(crate) symbol: u32,
}

pub(crate) const SHT_PROGBITS: u32 = 1;
pub(crate) const SHT_SYMTAB: u32 = 2;
pub(crate) const SHT_NOBITS: u32 = 8;
pub(crate) const SHT_REL: u32 = 9;
pub(crate) const SHF_EXECINSTR: u64 = 4;
pub(crate) const STB_LOCAL: u8 = 0;
pub(crate) const STB_GLOBAL: u8 = 1;
pub(crate) const STB_WEAK: u8 = 2;
pub(crate) const STT_NOTYPE: u8 = 0;
pub(crate) const STT_OBJECT: u8 = 1;
pub(crate) const STT_FUNC: u8 = 2;
pub(crate) const STT_SECTION: u8 = 3;
/// The bytes of the file header.
const HEADER: usize = 64;
/// The bytes of a section header.
const SECTION_HEADER: usize = 64;
/// The bytes of a symbol.
const SYMBOL: usize = 24;
const EM_BPF: u16 = 247;
const ET_REL: u16 = 1;

impl Symbol<'_> {
    pub(crate) fn binding(&self) -> u8 {
        self.info >> 4
    }

    pub(crate) fn kind(&self) -> u8 {
        self.info & 15
    }

    /// Whether other objects do not see it: `STV_INTERNAL` (1) or `STV_HIDDEN` (2).
    pub(crate) fn is_hidden(&self) -> bool {
        matches!(self.other & 3, 1 | 2)
    }
}

/// A file with its sections.
#[derive(Clone, Debug)]
pub(crate) struct Elf<'a> {
    pub(crate) order: ByteOrder,
    pub(crate) sections: Vec<Section<'a>>,
    /// The first section of each name.
    names: FxHashMap<&'a [u8], usize>,
    symbols: Bytes<'a>,
    symbol_names: Bytes<'a>,
    /// How many bytes of the file its headers account for.
    pub(crate) length: usize,
}

impl<'a> Elf<'a> {
    /// Reads the headers.
    pub(crate) fn parse(data: &'a [u8]) -> Result<Self> {
        let identity: &[u8; 16] =
            data.first_chunk().ok_or_else(|| Error::not_bpf("the file is shorter than one"))?;
        let order = match identity {
            [0x7f, b'E', b'L', b'F', 2, 1, 1, ..] => ByteOrder::Little,
            [0x7f, b'E', b'L', b'F', 2, 2, 1, ..] => ByteOrder::Big,
            [0x7f, b'E', b'L', b'F', ..] => return Err(Error::not_bpf("the file is not ELF of 64 bit")),
            _ => return Err(Error::not_bpf("the file is not ELF")),
        };
        let file = Bytes::new(data, order);
        let ends = |what: &str| Error::truncated("ELF header", what.to_string());
        if file.u16(18) != Some(EM_BPF) {
            return Err(Error::not_bpf("the file is of another machine than BPF (247)"));
        }
        if file.u16(16) != Some(ET_REL) {
            return Err(Error::not_bpf("the file is not relocatable"));
        }
        let table = file.u64(40).ok_or_else(|| ends("it ends in its header"))?;
        let size = file.u16(58).ok_or_else(|| ends("it ends in its header"))?;
        let count = u64::from(file.u16(60).ok_or_else(|| ends("it ends in its header"))?);
        let names = u64::from(file.u16(62).ok_or_else(|| ends("it ends in its header"))?);
        if usize::from(size) != SECTION_HEADER {
            return Err(Error::damaged("ELF header", "it has no section headers of 64 bytes"));
        }
        let header = |index: u64| {
            let at = table.checked_add(index * SECTION_HEADER as u64)?;
            Some(Bytes::new(file.slice(at, SECTION_HEADER as u64)?, order))
        };
        // 0 and 0xffff say that there are more than 0xfeff sections: not so in objects of BPF.
        let whole = count.checked_mul(SECTION_HEADER as u64).and_then(|all| file.slice(table, all));
        whole.ok_or_else(|| ends("the section headers reach past the end"))?;
        let mut length =
            usize::try_from(table + count * SECTION_HEADER as u64).unwrap_or(data.len()).max(HEADER);
        let name_table = header(names).filter(|_| names < count).and_then(|h| contents(file, h));
        let name_table =
            name_table.ok_or_else(|| Error::damaged("ELF header", "the section names are not there"))?;
        let name_table = Bytes::new(name_table, order);
        let mut sections = Vec::with_capacity(count as usize);
        let mut symbols = None;
        for index in 0..count {
            let place = || format!("section {index}");
            let h = header(index).expect("a header of a table that is whole");
            let word = |at| h.u32(at).unwrap_or(0);
            let name = name_table.string(word(0) as usize);
            let name = name.ok_or_else(|| Error::damaged(place(), "its name is not there"))?;
            let bytes = contents(file, h).ok_or_else(|| {
                Error::truncated(format!("section {}", shown(name)), "it reaches past the end")
            })?;
            if !bytes.is_empty() {
                length = length.max(h.u64(24).unwrap_or(0) as usize + bytes.len());
            }
            let (kind, size) = (word(4), h.u64(32).unwrap_or(0));
            if kind == SHT_SYMTAB && symbols.replace((bytes, word(40))).is_some() {
                return Err(Error::damaged(place(), "a second symbol table"));
            }
            let flags = h.u64(8).unwrap_or(0);
            sections.push(Section { name, kind, flags, data: bytes, size, info: word(44) });
        }
        let (symbols, link) = symbols.unwrap_or((&[], 0));
        let symbol_names = sections.get(link as usize).map_or(&[][..], |names| names.data);
        let (symbols, symbol_names) = (Bytes::new(symbols, order), Bytes::new(symbol_names, order));
        let mut names = FxHashMap::default();
        for (index, section) in sections.iter().enumerate() {
            names.entry(section.name).or_insert(index);
        }
        Ok(Self { order, sections, names, symbols, symbol_names, length })
    }

    /// The section of a name.
    pub(crate) fn section(&self, name: &[u8]) -> Option<usize> {
        self.names.get(name).copied()
    }

    /// The symbol of a number.
    pub(crate) fn symbol(&self, index: u32) -> Option<Symbol<'a>> {
        let at = index as usize * SYMBOL;
        let record = Bytes::new(self.symbols.data.get(at..at + SYMBOL)?, self.order);
        let (info, other) = (*record.data.get(4)?, *record.data.get(5)?);
        Some(Symbol {
            name: self.symbol_names.string(record.u32(0)? as usize).unwrap_or_default(),
            info,
            other,

            section: record.u16(6)?,
            value: record.u64(8)?,
            size: record.u64(16)?,
        })
    }

    /// All symbols in the order of the file.
    pub(crate) fn symbols(&self) -> impl Iterator<Item = Symbol<'a>> {
        (0..(self.symbols.data.len() / SYMBOL) as u32).filter_map(|index| self.symbol(index))
    }

    /// Where the variables of all sections start, by section and name.
    pub(crate) fn objects(&self) -> FxHashMap<(usize, &'a [u8]), u64> {
        let objects = self.symbols().filter(|symbol| symbol.kind() == STT_OBJECT);
        objects.map(|symbol| ((symbol.section.into(), symbol.name), symbol.value)).collect()
    }

    /// The relocations of a section of kind `SHT_REL`.
    pub(crate) fn rels(&self, section: &Section<'a>) -> impl Iterator<Item = Rel> + use<'a> {
        let order = self.order;
        section.data.chunks_exact(16).filter_map(move |record| {
            let record = Bytes::new(record, order);
            Some(Rel { offset: record.u64(0)?, symbol: (record.u64(8)? >> 32) as u32 })
        })
    }
}

/// How many sections a header announces, if it is one of BPF (machine 247, relocatable): what [`Elf::parse`] costs.
pub(crate) fn announced(file: &[u8]) -> Option<u32> {
    let order = match file.first_chunk::<20>()? {
        [_, _, _, _, _, 1, .., 1, 0, 247, 0] => ByteOrder::Little,
        [_, _, _, _, _, 2, .., 0, 1, 0, 247] => ByteOrder::Big,
        _ => return None,
    };
    Bytes::new(file, order).u16(60).map(u32::from)
}

/// The bytes of the section of a header.
fn contents<'a>(file: Bytes<'a>, header: Bytes<'_>) -> Option<&'a [u8]> {
    match header.u32(4)? {
        0 | SHT_NOBITS => Some(&[]),
        _ => file.slice(header.u64(24)?, header.u64(32)?),
    }
}
