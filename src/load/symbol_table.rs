//! A symbol table for an object without one, made from other listings: the kernel's embedded kallsyms, `System.map`,
//! `/proc/kallsyms`.
use super::elf::Elf;
use crate::symbol_name::is_area_mark;
use object::Endianness;
use object::elf::{SHN_ABS, STB_GLOBAL, STB_LOCAL, STB_WEAK, STT_FUNC, STT_NOTYPE, STT_OBJECT, Sym64};
use object::endian::{U16, U32, U64};

/// A symbol as nm prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedSymbol<'a> {
    /// The linked address.
    pub address: u64,
    /// nm's type letter: `T` and `t` code, `W` weak, `A` absolute, capitals global.
    pub letter: u8,
    /// Including all suffixes.
    pub name: &'a [u8],
}

impl ListedSymbol<'_> {
    /// As nm prints it, with the line's end.
    pub fn to_line(&self) -> Vec<u8> {
        let start = format!("{:016x} {} ", self.address, char::from(self.letter));
        [start.as_bytes(), self.name, b"\n"].concat()
    }
}

/// Symbols in the form of an object file. Their sizes are 0: no listing has them.
pub struct SymbolTable {
    /// In the byte order of the object.
    pub(super) records: Vec<Sym64<Endianness>>,
    pub(super) names: Vec<u8>,
    pub(super) order: Endianness,
}

impl SymbolTable {
    /// Assigns symbols to the sections of an object, by address. Cost: a binary search for each.
    pub fn new<'a>(object: &Elf<'_>, symbols: impl Iterator<Item = ListedSymbol<'a>>) -> Self {
        // The first record of a symbol table is null, and the first name empty.
        let order = object.order;
        let mut table = Self { records: vec![record(order, 0, 0, 0, 0)], names: vec![0], order };
        let allocated = (0u16..).zip(&object.sections).filter(|(_, s)| s.is_allocated() && s.size() > 0);
        let mut sections: Vec<_> =
            allocated.map(|(i, s)| (s.address(), s.size(), i, s.is_of_code())).collect();
        sections.sort_unstable();
        for symbol in symbols {
            let after = sections.partition_point(|s| s.0 <= symbol.address);
            let holder = sections[..after].last();
            // A symbol that bounds a section lies just past it; absolute values lie anywhere.
            let is_plain = |s: &(u64, u64, u16, bool)| {
                symbol.letter.eq_ignore_ascii_case(&b'a') && symbol.address > s.0.saturating_add(s.1)
            };
            let (section, is_code) = match holder.filter(|s| !is_plain(s)) {
                Some(&(_, _, index, is_code)) => (index, is_code),
                None => (SHN_ABS.0, false),
            };
            let kind = match is_code {
                true if is_area_mark(symbol.name) => STT_NOTYPE,
                true => STT_FUNC,
                false => STT_OBJECT,
            };
            let binding = match symbol.letter {
                b'W' | b'w' | b'V' | b'v' => STB_WEAK,
                letter if letter.is_ascii_uppercase() => STB_GLOBAL,
                _ => STB_LOCAL,
            };
            let name = table.names.len() as u32;
            table.names.extend_from_slice(symbol.name);
            table.names.push(0);
            table.records.push(record(order, name, binding.0 << 4 | kind.0, section, symbol.address));
        }
        table
    }

    /// Whether it has no symbols.
    pub fn is_empty(&self) -> bool {
        self.records.len() < 2
    }

    /// All functions by section and address, each with its record number.
    pub(crate) fn functions(&self) -> Vec<(u16, u64, usize)> {
        let is_function = |s: &Sym64<Endianness>| s.st_info.0 & 0xf == STT_FUNC.0;
        let all = self.records.iter().enumerate().filter(|(_, s)| is_function(s));
        let mut found: Vec<_> = all
            .map(|(number, symbol)| {
                let (section, address) = self.place(symbol);
                (section, address, number)
            })
            .collect();
        found.sort_unstable();
        found
    }

    /// All addresses in sections, by section and address.
    pub(crate) fn addresses(&self) -> Vec<(u16, u64)> {
        let mut found: Vec<_> = self.records.iter().map(|s| self.place(s)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    pub(super) fn place(&self, symbol: &Sym64<Endianness>) -> (u16, u64) {
        (symbol.st_shndx.get(self.order).0, symbol.st_value.get(self.order))
    }

    /// The records as stored in a file.
    pub(super) fn records_bytes(&self) -> Vec<u8> {
        object::pod::bytes_of_slice(&self.records).to_vec()
    }

    /// Sets the size of a symbol.
    pub(crate) fn set_size(&mut self, number: usize, size: u64) {
        self.records[number].st_size = U64::new(self.order, size);
    }
}

fn record(order: Endianness, name: u32, info: u8, section: u16, value: u64) -> Sym64<Endianness> {
    Sym64 {
        st_name: U32::new(order, name),
        st_info: object::elf::SymbolInfo(info),
        st_other: object::elf::SymbolOther(0),
        st_shndx: U16::new(order, object::elf::SymbolSection(section)),
        st_value: U64::new(order, value),
        st_size: U64::new(order, 0),
    }
}

/// Parses lines as nm prints them into the symbols of the kernel, leaving out those of modules (`[module]`) and lines
/// that are not symbols.
pub fn lines(text: &[u8]) -> impl Iterator<Item = ListedSymbol<'_>> {
    text.split(|b| *b == b'\n').filter_map(|line| {
        let mut words = line.split(|b| b.is_ascii_whitespace()).filter(|w| !w.is_empty());
        let (address, letter, name) = (words.next()?, words.next()?, words.next()?);
        let address = u64::from_str_radix(std::str::from_utf8(address).ok()?, 16).ok()?;
        let &[letter] = letter else { return None };
        words.next().is_none().then_some(ListedSymbol { address, letter, name })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::live::Writer;

    #[test]
    fn lines_of_nm_are_read_and_others_passed_over() {
        let text =
            b"ffffffff81000000 T _text\nffffffffc0000000 t ovl_x\t[overlay]\n\nB The real System.map is \
            elsewhere\nzz T bad\n0000000000000000 A fixed_percpu_data";
        let symbols: Vec<_> = lines(text).collect();
        assert_eq!(
            symbols,
            [
                ListedSymbol { address: 0xffff_ffff_8100_0000, letter: b'T', name: b"_text" },
                ListedSymbol { address: 0, letter: b'A', name: b"fixed_percpu_data" },
            ]
        );
    }

    #[test]
    fn variables_are_no_functions_in_data_that_is_marked_as_code() {
        let mut writer = Writer::new(Endianness::Little);
        for (name, flags, start) in [(".text", 6, 0x1000), (".data", 7, 0x2000), ("own.text", 7, 0x3000)] {
            writer.section(name, 1, flags, start, 16, &[0; 16]);
        }
        let bytes = writer.finish(object::elf::EM_X86_64, &[]);
        let symbols = [(0x1000, &b"function"[..]), (0x2000, b"variable"), (0x3008, b"also_function")];
        let symbols = symbols.map(|(address, name)| ListedSymbol { address, letter: b'T', name });
        let table = SymbolTable::new(&Elf::parse(&bytes).unwrap(), symbols.into_iter());
        let functions: Vec<_> = table.functions().into_iter().map(|(_, address, _)| address).collect();
        assert_eq!(functions, [0x1000, 0x3008]);
    }

    #[test]
    fn marks_of_the_linker_are_no_functions() {
        assert!(
            [&b"_text"[..], b"__kprobes_text_start", b"__noinstr_text_end"].iter().all(|n| is_area_mark(n))
        );
        let functions = [&b"vfs_read"[..], b"cpu_start", b"__traceiter_ext4_write_end", b"__context_start"];
        assert!(!functions.iter().any(|n| is_area_mark(n)));
    }
}
