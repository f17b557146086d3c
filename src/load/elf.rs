//! An ELF object as sections with data, laid out in one address space.
use super::decompress::{SectionCompression, inflate_section};
use super::symbol_table::SymbolTable;
use super::widen;
use crate::error::{Error, ErrorKind, Result};
pub use object::Endianness;
use object::elf::{self, Rela64, SectionHeader64, Sym64};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use object::{Endian, SectionIndex};
use probeidx_format::machine::address_size;
use std::borrow::Cow;

/// The distance from an object's base to its first address; no address is 0.
const FIRST_PC: u32 = 0x1000;

/// How often, on average, a byte of a name table may be part of a name. Linkers let names share a tail or all their
/// bytes.
const MOST_NAMINGS: usize = 32;

/// Symbols number their sections in 16 bits, of which the last 256 values are reserved (`SHN_LORESERVE`).
const MOST_ALLOCATED: usize = elf::SHN_LORESERVE as usize - 1;

/// This many bytes of names are always allowed, whatever the size of the table.
const ALWAYS: usize = 1 << 20;

/// A section of an object.
pub struct Section<'d> {
    /// As in the section header string table: `.text`, `.init.text`.
    pub name: &'d str,
    header: &'d SectionHeader64<Endianness>,
    /// The byte order of the object.
    order: Endianness,
    /// Empty for a section without bytes in the file.
    data: &'d [u8],
    /// Its first address in the object's address space, if it is allocated at run time.
    pub pc: Option<u32>,
}

impl<'d> Section<'d> {
    /// `sh_flags`.
    pub fn flags(&self) -> u32 {
        self.header.sh_flags(self.order).0 as u32
    }
    /// `sh_addr`.
    pub fn address(&self) -> u64 {
        self.header.sh_addr(self.order)
    }
    /// `sh_size`.
    pub fn size(&self) -> u64 {
        self.header.sh_size(self.order)
    }
    /// `sh_entsize`; `None` if it is 0.
    pub fn entry_size(&self) -> Option<u32> {
        u32::try_from(self.header.sh_entsize(self.order)).ok().filter(|size| *size > 0)
    }
    /// Whether it is part of the running kernel.
    pub fn is_allocated(&self) -> bool {
        self.flags() & elf::SHF_ALLOC.0 as u32 != 0
    }
    /// Whether it is code.
    pub fn is_executable(&self) -> bool {
        self.flags() & elf::SHF_EXECINSTR.0 as u32 != 0
    }
    /// Whether its symbols are code. Since 6.14 x86 kernels have `relocate_kernel` in `.data`, and so mark all of it as code
    /// (arch/x86/kernel/vmlinux.lds.S; `T` is then what nm and kallsyms call each variable there).
    pub fn is_of_code(&self) -> bool {
        let is_data = self.flags() & elf::SHF_WRITE.0 as u32 != 0 && self.name.starts_with(".data");
        self.is_executable() && !is_data
    }
    /// Whether it is thread-local without bytes in the file: such a section shares its addresses with the next one.
    fn is_tbss(&self) -> bool {
        self.flags() & elf::SHF_TLS.0 as u32 != 0 && self.header.sh_type(self.order) == elf::SHT_NOBITS
    }
    /// Whether the linker may have dropped it in favour of another member of its group (`SHF_GROUP`).
    pub fn is_in_group(&self) -> bool {
        self.flags() & elf::SHF_GROUP.0 as u32 != 0
    }
    /// Its bytes, inflated if they are compressed (`SHF_COMPRESSED`, or `.zdebug_*` of older tools).
    pub fn data(&self) -> Result<Cow<'d, [u8]>> {
        let damaged = |e: Error| e.section(self.name);
        if self.flags() & elf::SHF_COMPRESSED.0 as u32 != 0 {
            let short = || damaged(Error::new(ErrorKind::Damaged, "the compression header is cut off"));
            let kind = self.data.first_chunk::<4>().ok_or_else(short)?;
            let size = self.data.get(8..16).and_then(|s| s.first_chunk::<8>()).ok_or_else(short)?;
            let data = self.data.get(24..).ok_or_else(short)?;
            let kind = SectionCompression::from_ch_type(self.order.read_u32(*kind))
                .ok_or_else(|| damaged(Error::new(ErrorKind::Unsupported, "unknown compression")))?;
            return inflate_section(kind, data, self.order.read_u64(*size)).map(Cow::Owned).map_err(damaged);
        }
        if let Some(rest) = self.data.strip_prefix(b"ZLIB").filter(|_| self.name.starts_with(".zdebug")) {
            let short = || damaged(Error::new(ErrorKind::Damaged, "the compression header is cut off"));
            let (size, data) = rest.split_first_chunk::<8>().ok_or_else(short)?;
            let size = u64::from_be_bytes(*size);
            return inflate_section(SectionCompression::Zlib, data, size).map(Cow::Owned).map_err(damaged);
        }
        Ok(Cow::Borrowed(self.data))
    }
    /// Its bytes as stored in the file.
    pub fn raw(&self) -> &'d [u8] {
        self.data
    }
}

/// A 64-bit object, or a 32-bit one that was widened.
pub struct Elf<'d> {
    /// `e_machine`.
    pub machine: u16,
    /// Bytes per address: 8, or 4 in an object that was widened.
    pub address_size: u8,
    /// The byte order (`EI_DATA`) of its headers, its debug information and its data in memory.
    pub order: Endianness,
    /// A module or object file (`ET_REL`): its sections have only the addresses assigned here.
    pub is_relocatable: bool,
    /// In the order of the section headers, including the null section.
    pub sections: Vec<Section<'d>>,
    /// The length of the file.
    pub length: usize,
    /// Added to a `Pc`, it gives the address in the debug information.
    pub base: u64,
    /// The first address of code, as a `Pc`.
    pub first_pc: u32,
    /// The symbol table, `.symtab`; empty in a stripped object.
    pub symbols: &'d [Sym64<Endianness>],
    symbol_names: &'d [u8],
    /// The dynamic symbols (`.dynsym`), which stripping keeps.
    dynamic: (&'d [Sym64<Endianness>], &'d [u8]),
    /// The mapped parts of the file.
    pub segments: Vec<Segment>,
    /// The first section of relocations for each section.
    relocated_by: Vec<Option<u32>>,
}

/// A part of the file that is mapped at run time (`PT_LOAD`).
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// `p_vaddr`.
    pub address: u64,
    /// `p_offset`.
    pub offset: u64,
    /// `p_filesz`.
    pub size: u64,
}

impl<'d> Elf<'d> {
    /// Reads the headers and the symbol table.
    pub fn parse(data: &'d [u8]) -> Result<Self> {
        let damaged = |e: object::read::Error| Error::new(ErrorKind::Damaged, e.to_string().to_lowercase());
        match data {
            [0x7f, b'E', b'L', b'F', 2, 1 | 2, ..] => {}
            [0x7f, b'E', b'L', b'F', 1, ..] => return Err(widen::unread()),
            [] => return Err(Error::new(ErrorKind::NotElf, "the file is empty")),
            _ => return Err(Error::new(ErrorKind::NotElf, "not an ELF object").offset(0)),
        }
        let header = elf::FileHeader64::<Endianness>::parse(data).map_err(damaged)?;
        let order = header.endian().map_err(damaged)?;
        let table = header.sections(order, data).map_err(damaged)?;
        let mut object = Self {
            machine: header.e_machine(order).0,
            address_size: address_size(header.e_machine(order).0),
            order,
            is_relocatable: header.e_type(order) == elf::ET_REL,
            sections: Vec::with_capacity(table.len()),
            length: data.len(),
            base: 0,
            first_pc: FIRST_PC,
            symbols: &[],
            symbol_names: &[],
            dynamic: (&[], &[]),
            segments: vec![],
            relocated_by: vec![],
        };
        for segment in header.program_headers(order, data).map_err(damaged)? {
            if segment.p_type(order) == elf::PT_LOAD {
                let (address, offset) = (segment.p_vaddr(order), segment.p_offset(order));
                object.segments.push(Segment { address, offset, size: segment.p_filesz(order) });
            }
        }
        let mut relocated_by = vec![None; table.len()];
        let (mut bytes_of_all, mut bytes_of_names) = (0usize, 0);
        for (index, header) in table.iter().enumerate() {
            let name = table.section_name(order, header).unwrap_or_default();
            bytes_of_names += name.len();
            if bytes_of_names > most_of_names(data.len()) {
                return Err(overlap("the names of its sections are 32 times as long as the file"));
            }
            let name = std::str::from_utf8(name).unwrap_or_default();
            let bytes = header.data(order, data).map_err(|e| {
                damaged(e)
                    .section(if name.is_empty() { format!("{index}") } else { name.to_owned() })
                    .offset(header.sh_offset(order))
            })?;
            bytes_of_all = bytes_of_all.saturating_add(bytes.len());
            // No linker overlaps sections; reading many overlapping ones could take far longer than the file is
            // large.
            if bytes_of_all / 2 > data.len() {
                return Err(overlap("its sections have more than twice the bytes of the file"));
            }
            object.sections.push(Section { name, header, order, data: bytes, pc: None });
            let kind = header.sh_type(order);
            if matches!(kind, elf::SHT_RELA | elf::SHT_REL)
                && let Some(by) = relocated_by.get_mut(header.sh_info(order) as usize)
            {
                by.get_or_insert(index as u32);
            }
            if matches!(kind, elf::SHT_SYMTAB | elf::SHT_DYNSYM) {
                let in_table = |e| damaged(e).section(name);
                let symbols = header.data_as_array(order, data).map_err(in_table)?;
                let strings = table.section(SectionIndex(header.sh_link(order) as usize)).map_err(damaged)?;
                let names = strings.data(order, data).map_err(in_table)?;
                if !are_apart(symbols, order, names) {
                    let what = "the names of symbols are more than 32 times as long as their tables";
                    return Err(overlap(what).section(name));
                }
                if kind == elf::SHT_SYMTAB {
                    (object.symbols, object.symbol_names) = (symbols, names);
                } else {
                    object.dynamic = (symbols, names);
                }
            }
        }
        object.relocated_by = relocated_by;
        object.lay_out()?;
        Ok(object)
    }

    /// Assigns an address to every allocated section.
    fn lay_out(&mut self) -> Result<()> {
        let too_large = || Error::new(ErrorKind::Unsupported, "its sections span more than 4 GiB");
        let allocated = self.sections.iter().filter(|s| s.is_allocated()).count();
        if allocated > MOST_ALLOCATED {
            let what = format!(
                "{allocated} of its sections are loaded; of no more than {MOST_ALLOCATED} symbols can tell"
            );
            return Err(Error::new(ErrorKind::Unsupported, what).hint("link it: linkers join sections"));
        }
        let mut next = u64::from(FIRST_PC);
        if !self.is_relocatable {
            let code = |s: &&Section<'_>| s.is_allocated() && s.is_executable();
            let first = self.sections.iter().filter(code).map(|s| s.address()).min().unwrap_or(0);
            self.base = first.saturating_sub(FIRST_PC.into());
            self.first_pc = (first - self.base) as u32;
            for section in self.sections.iter_mut().filter(|s| s.is_allocated() && !s.is_tbss()) {
                let from_base = section.address().wrapping_sub(self.base);
                if let Some(end) = from_base.checked_add(section.size()).filter(|e| *e < u64::from(u32::MAX))
                {
                    section.pc = Some(from_base as u32);
                    next = next.max(end);
                }
            }
        }
        // The per-cpu data of vmlinux is linked at address 0: it goes behind all other sections.
        let is_left = |s: &&mut Section<'_>| s.is_allocated() && !s.is_tbss() && s.pc.is_none();
        for section in self.sections.iter_mut().filter(is_left) {
            let align = section.header.sh_addralign(section.order).max(1);
            next = next.checked_next_multiple_of(align).ok_or_else(too_large)?;
            section.pc = Some(u32::try_from(next).map_err(|_| too_large())?);
            next = next
                .checked_add(section.size())
                .filter(|n| *n < u64::from(u32::MAX))
                .ok_or_else(too_large)?;
        }
        Ok(())
    }

    /// The object with its dynamic symbols, if it is stripped.
    pub fn with_dynamic_symbols(mut self) -> Self {
        if self.symbols.is_empty() {
            (self.symbols, self.symbol_names) = self.dynamic;
        }
        self
    }
    /// The object with the given symbols.
    pub fn with_symbols(mut self, table: &'d SymbolTable) -> Self {
        (self.symbols, self.symbol_names) = (&table.records, &table.names);
        self
    }
    /// Whether the file has the bytes of all executable sections: `objcopy --only-keep-debug` drops them.
    pub fn has_code(&self) -> bool {
        let is_code = |s: &&Section<'_>| s.is_allocated() && s.is_executable();
        self.sections.iter().filter(is_code).all(|s| s.data.len() as u64 == s.size())
    }
    /// Whether there are executable sections, and the file has the bytes of all of them.
    pub fn has_some_code(&self) -> bool {
        self.has_code() && self.sections.iter().any(Section::is_executable)
    }
    /// The section of this name.
    pub fn section(&self, name: &str) -> Option<&Section<'d>> {
        self.sections.iter().find(|s| s.name == name)
    }
    /// Reads a number of the size of an address at the start of `bytes`.
    pub fn word(&self, bytes: &[u8]) -> Option<u64> {
        word(self.order, self.address_size, bytes)
    }
    /// The name of a symbol.
    pub fn symbol_name(&self, symbol: &Sym64<Endianness>) -> &'d [u8] {
        let rest = self.symbol_names.get(symbol.st_name.get(self.order) as usize..).unwrap_or_default();
        &rest[..memchr::memchr(0, rest).unwrap_or(rest.len())]
    }
    /// The GNU build id.
    pub fn build_id(&self) -> Option<&'d [u8]> {
        let notes = self.sections.iter().filter(|s| s.header.sh_type(self.order) == elf::SHT_NOTE);
        // Limited because sections may overlap: a kernel has three.
        notes
            .take(64)
            .flat_map(|s| notes_in(s.raw(), self.order))
            .find(|(kind, name, _)| *kind == 3 && *name == b"GNU\0")
            .map(|n| n.2)
    }
    /// The name by which other objects load a shared library (`DT_SONAME`).
    pub fn soname(&self) -> Option<&'d str> {
        const DT_SONAME: u64 = 14;
        let dynamic = self.sections.iter().find(|s| s.header.sh_type(self.order) == elf::SHT_DYNAMIC)?;
        let word = |entry: &[u8]| entry.first_chunk().map(|w| self.order.read_u64(*w));
        let named = |entry: &&[u8]| word(entry) == Some(DT_SONAME);
        let at = word(&dynamic.raw().chunks_exact(16).find(named)?[8..])?;
        let strings = self.sections.get(dynamic.header.sh_link(self.order) as usize)?.raw();
        let rest = strings.get(usize::try_from(at).ok()?..)?;
        std::str::from_utf8(&rest[..memchr::memchr(0, rest)?]).ok().filter(|name| !name.is_empty())
    }
    /// The name of the debug file and the CRC-32 of its content (`.gnu_debuglink`, gdb's manual, "Separate Debug Files").
    pub fn debug_link(&self) -> Option<(&'d str, u32)> {
        let data = self.section(".gnu_debuglink")?.raw();
        let end = memchr::memchr(0, data)?;
        let checksum = data.get((end + 1).next_multiple_of(4)..)?.first_chunk()?;
        Some((std::str::from_utf8(&data[..end]).ok()?, self.order.read_u32(*checksum)))
    }
    /// The relocations of the section at this index.
    pub fn relocations(&self, index: usize) -> Result<Option<&'d [Rela64<Endianness>]>> {
        let Some(by) = self.relocated_by.get(index).copied().flatten() else { return Ok(None) };
        let section = &self.sections[by as usize];
        if section.header.sh_type(self.order) == elf::SHT_REL {
            return Err(
                Error::new(ErrorKind::Unsupported, "relocations without addend").section(section.name)
            );
        }
        let whole = object::pod::slice_from_all_bytes(section.raw());
        let end = section.raw().len() / size_of::<Rela64<Endianness>>() * size_of::<Rela64<Endianness>>();
        let cut = |()| {
            let what = "the relocations end within one";
            Error::new(ErrorKind::Damaged, what).section(section.name).offset(end as u64)
        };
        whole.map(Some).map_err(cut)
    }
    /// The value of a dynamic symbol.
    pub(crate) fn dynamic_value(&self, index: usize) -> Option<u64> {
        Some(self.dynamic.0.get(index)?.st_value.get(self.order))
    }
    /// The address of a symbol, as in relocated debug information.
    pub fn symbol_address(&self, symbol: &Sym64<Endianness>) -> u64 {
        self.symbol_address_in(self.order, symbol)
    }
    /// Like [`Self::symbol_address`], with the object's byte order known to the compiler.
    #[inline(always)]
    pub(super) fn symbol_address_in(&self, order: Endianness, symbol: &Sym64<Endianness>) -> u64 {
        let section = self.sections.get(usize::from(symbol.st_shndx.get(order).0)).and_then(|s| s.pc);
        u64::from(section.unwrap_or(0)).wrapping_add(symbol.st_value.get(order))
    }
}

/// Reads a number of the size of an address at the start of `bytes`.
pub fn word(order: Endianness, address_size: u8, bytes: &[u8]) -> Option<u64> {
    match address_size {
        4 => bytes.first_chunk().map(|word| order.read_u32(*word).into()),
        _ => bytes.first_chunk().map(|word| order.read_u64(*word)),
    }
}

fn overlap(what: &str) -> Error {
    let hint = "build it again, or leave it out: no linker writes such a file";
    Error::new(ErrorKind::Damaged, format!("{what}: they overlap")).hint(hint)
}

/// The most bytes that all names in a table of this size may have together.
fn most_of_names(table: usize) -> usize {
    table.saturating_mul(MOST_NAMINGS).saturating_add(ALWAYS)
}

/// Whether the names of symbols do not share their bytes excessively. Their total length may exceed the limit for the
/// table by the size of the symbols, because RISC-V's assembler emits millions of labels with one name. Cost: one
/// look at each name.
fn are_apart(symbols: &[Sym64<Endianness>], order: Endianness, names: &[u8]) -> bool {
    let mut left = most_of_names(names.len()).saturating_add(size_of_val(symbols));
    symbols.iter().all(|symbol| {
        let rest = names.get(symbol.st_name.get(order) as usize..).unwrap_or_default();
        let length = memchr::memchr(0, rest).unwrap_or(rest.len());
        left = left.saturating_sub(length);
        left > 0
    })
}

/// The notes of a section: type, name with its NUL, descriptor.
fn notes_in(mut data: &[u8], order: Endianness) -> impl Iterator<Item = (u32, &[u8], &[u8])> {
    std::iter::from_fn(move || {
        let word = |at: usize| Some(order.read_u32(*data.get(at..)?.first_chunk()?));
        let (name, desc, kind) = (word(0)? as usize, word(4)? as usize, word(8)?);
        let desc_at = name.checked_add(12)?.checked_next_multiple_of(4)?;
        let end = desc_at.checked_add(desc)?;
        let note = (kind, data.get(12..12 + name)?, data.get(desc_at..end)?);
        data = data.get(end.next_multiple_of(4)..).unwrap_or_default();
        Some(note)
    })
}
