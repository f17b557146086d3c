//! Converts a 32-bit ELF object to 64 bits, so that readers need only one size of records.
//!
//! Headers, symbols and relocations become 64-bit records; the contents of sections stay unchanged. `REL` relocations
//! get the addend stored in place (System V ABI, i386 supplement, table 4-10; ELF for the Arm Architecture, 5.7.4).
use super::decompress::{SectionCompression, inflate_section};
use crate::error::{Error, ErrorKind, Result};
use object::elf::{self, FileHeader32, Machine, SectionHeader32};
use object::read::elf::{FileHeader, ProgramHeader, Rel, Rela, SectionHeader, Sym};
use object::{Endian, Endianness};
use probeidx_format::machine::address_size;
use std::borrow::Cow;

/// The size of an ELF64 file header, by which everything behind it moves.
const HEAD: usize = 64;
const SECTION_HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;

/// Whether these are the first bytes of a 32-bit object.
pub fn is_narrow(head: &[u8]) -> bool {
    matches!(head, [0x7f, b'E', b'L', b'F', 1, ..])
}

/// Whether 32-bit objects of a machine (`e_machine`) are supported: only those of machines without 64-bit objects.
pub fn is_read(machine: u16) -> bool {
    address_size(machine) == 4
}

/// The error for a 32-bit object of an unsupported machine.
pub fn unread() -> Error {
    let what = "part of a 32-bit kernel or program, of a machine of which only 64-bit ones are read";
    Error::new(ErrorKind::Unsupported, what).hint("index a 64-bit kernel, or a 32-bit one of i386 or ARM")
}

/// The object with 64-bit records. Cost: one copy.
///
/// # Errors
/// [`ErrorKind::Unsupported`] for a machine whose 32-bit objects are not supported, [`ErrorKind::Damaged`] for
/// headers that point outside of the file.
pub fn widen(bytes: &[u8]) -> Result<Vec<u8>> {
    let damaged = |e: object::read::Error| Error::new(ErrorKind::Damaged, e.to_string().to_lowercase());
    let header = FileHeader32::<Endianness>::parse(bytes).map_err(damaged)?;
    let order = header.endian().map_err(damaged)?;
    let machine = header.e_machine(order).0;
    if !is_read(machine) {
        return Err(unread());
    }
    let is_relocatable = header.e_type(order) == elf::ET_REL;
    let mut out = Vec::with_capacity(HEAD + bytes.len() + bytes.len() / 8);
    out.resize(HEAD, 0);
    out.extend_from_slice(bytes);
    let sections = header.section_headers(order, bytes).map_err(damaged)?;
    let (mut headers, mut left) = (Vec::with_capacity(sections.len() * SECTION_HEADER), bytes.len());
    for section in sections {
        let kind = section.sh_type(order);
        let is_relocation = matches!(kind, elf::SHT_REL | elf::SHT_RELA) && is_relocatable;
        let mut moved = Moved::of(section, order);
        if is_relocation || matches!(kind, elf::SHT_SYMTAB | elf::SHT_DYNSYM) || moved.is_compressed() {
            let data = section.data(order, bytes).map_err(damaged)?;
            // No linker overlaps sections; the bytes of many overlapping ones could far exceed the file.
            left = left.checked_sub(data.len()).ok_or_else(|| {
                Error::new(ErrorKind::Damaged, "its tables have more bytes than the file: they overlap")
            })?;
            let from = out.len().next_multiple_of(8);
            out.resize(from, 0);
            if moved.is_compressed() {
                out.extend_from_slice(&inflated(data, order)?);
                moved.flags &= !elf::SHF_COMPRESSED.0;
            } else if is_relocation {
                let target = sections.get(section.sh_info(order) as usize);
                if !relocations(&mut out, section, target, machine, order, bytes).map_err(damaged)? {
                    headers.extend(moved.header(order));
                    continue;
                }
                (moved.kind, moved.entry) = (elf::SHT_RELA.0, 24);
            } else {
                symbols(&mut out, section, machine, order, bytes).map_err(damaged)?;
                moved.entry = 24;
            }
            (moved.offset, moved.size) = (from as u64, (out.len() - from) as u64);
        }
        headers.extend(moved.header(order));
    }
    let section_headers = if headers.is_empty() { 0 } else { append(&mut out, &headers) };
    let segments = header.program_headers(order, bytes).map_err(damaged)?;
    let mut headers = Record::new(order);
    for segment in segments {
        headers.words([segment.p_type(order).0, segment.p_flags(order).0]);
        headers.longs([u64::from(segment.p_offset(order)) + HEAD as u64]);
        let [start, physical] = [segment.p_vaddr(order), segment.p_paddr(order)];
        let [size, in_memory] = [segment.p_filesz(order), segment.p_memsz(order)];
        headers.longs([start, physical, size, in_memory, segment.p_align(order)].map(u64::from));
    }
    let headers = headers.bytes;
    let program_headers = if headers.is_empty() { 0 } else { append(&mut out, &headers) };
    let head = file_header(bytes, header, order, program_headers, section_headers);
    out[..HEAD].copy_from_slice(&head);
    Ok(out)
}

fn append(out: &mut Vec<u8>, table: &[u8]) -> u64 {
    out.resize(out.len().next_multiple_of(8), 0);
    let at = out.len() as u64;
    out.extend_from_slice(table);
    at
}

fn file_header(
    bytes: &[u8],
    header: &FileHeader32<Endianness>,
    order: Endianness,
    program_headers: u64,
    section_headers: u64,
) -> Vec<u8> {
    let mut out = Record::new(order);
    out.bytes.extend(&bytes[..16]);
    out.bytes[4] = elf::ELFCLASS64.0;
    out.halves([header.e_type(order).0, header.e_machine(order).0]);
    out.words([header.e_version(order)]);
    out.longs([header.e_entry(order).into(), program_headers, section_headers]);
    out.words([header.e_flags(order).0]);
    out.halves([HEAD as u16, PROGRAM_HEADER as u16, header.e_phnum(order)]);
    out.halves([SECTION_HEADER as u16, header.e_shnum(order), header.e_shstrndx(order).0]);
    out.bytes
}

/// A record in the making: numbers appended one by one.
struct Record {
    bytes: Vec<u8>,
    order: Endianness,
}

impl Record {
    fn new(order: Endianness) -> Self {
        Self { bytes: vec![], order }
    }
    fn halves<const N: usize>(&mut self, numbers: [u16; N]) {
        numbers.iter().for_each(|n| self.bytes.extend(self.order.write_u16(*n)));
    }
    fn words<const N: usize>(&mut self, numbers: [u32; N]) {
        numbers.iter().for_each(|n| self.bytes.extend(self.order.write_u32(*n)));
    }
    fn longs<const N: usize>(&mut self, numbers: [u64; N]) {
        numbers.iter().for_each(|n| self.bytes.extend(self.order.write_u64(*n)));
    }
}

/// A section header with the new place of its bytes.
struct Moved {
    name: u32,
    kind: u32,
    flags: u64,
    address: u64,
    offset: u64,
    size: u64,
    link: u32,
    info: u32,
    align: u64,
    entry: u64,
}

impl Moved {
    fn of(section: &SectionHeader32<Endianness>, order: Endianness) -> Self {
        Self {
            name: section.sh_name(order),
            kind: section.sh_type(order).0,
            flags: section.sh_flags(order).0,
            address: section.sh_addr(order).into(),
            offset: u64::from(section.sh_offset(order)) + HEAD as u64,
            size: section.sh_size(order).into(),
            link: section.sh_link(order),
            info: section.sh_info(order),
            align: section.sh_addralign(order).into(),
            entry: section.sh_entsize(order).into(),
        }
    }
    fn is_compressed(&self) -> bool {
        self.flags & elf::SHF_COMPRESSED.0 != 0
    }
    fn header(&self, order: Endianness) -> Vec<u8> {
        let mut out = Record::new(order);
        out.words([self.name, self.kind]);
        out.longs([self.flags, self.address, self.offset, self.size]);
        out.words([self.link, self.info]);
        out.longs([self.align, self.entry]);
        out.bytes
    }
}

/// The content of a section with an `Elf32_Chdr`.
fn inflated(data: &[u8], order: Endianness) -> Result<Vec<u8>> {
    let short = || Error::new(ErrorKind::Damaged, "the compression header is cut off");
    let word = |at: usize| data.get(at..).and_then(|d| d.first_chunk::<4>()).map(|w| order.read_u32(*w));
    let (kind, size) = word(0).zip(word(4)).ok_or_else(short)?;
    let data = data.get(12..).ok_or_else(short)?;
    let kind = SectionCompression::from_ch_type(kind)
        .ok_or_else(|| Error::new(ErrorKind::Unsupported, "unknown compression"))?;
    inflate_section(kind, data, size.into())
}

fn symbols(
    out: &mut Vec<u8>,
    table: &SectionHeader32<Endianness>,
    machine: u16,
    order: Endianness,
    bytes: &[u8],
) -> object::read::Result<()> {
    for symbol in table.data_as_array::<elf::Sym32<Endianness>, _>(order, bytes)? {
        // The lowest bit marks Thumb code and is not part of the address (ELF for the Arm Architecture, 5.5.3).
        let is_thumb = Machine(machine) == elf::EM_ARM && symbol.st_type() == elf::STT_FUNC;
        let value = symbol.st_value(order) & if is_thumb { !1 } else { !0 };
        out.extend(order.write_u32(symbol.st_name(order)));
        out.extend([symbol.st_info().0, symbol.st_other().0]);
        out.extend(order.write_u16(symbol.st_shndx(order).0));
        out.extend(order.write_u64(value.into()));
        out.extend(order.write_u64(symbol.st_size(order).into()));
    }
    Ok(())
}

/// Writes relocations with their addends. Returns whether the addends were readable: they are not in a `.zdebug_*`
/// section.
fn relocations(
    out: &mut Vec<u8>,
    table: &SectionHeader32<Endianness>,
    target: Option<&SectionHeader32<Endianness>>,
    machine: u16,
    order: Endianness,
    bytes: &[u8],
) -> object::read::Result<bool> {
    let mut add = |offset: u32, symbol: u32, kind: u32, addend: i64| {
        out.extend(order.write_u64(offset.into()));
        out.extend(order.write_u64(u64::from(symbol) << 32 | u64::from(kind)));
        out.extend(order.write_i64(addend));
    };
    if table.sh_type(order) == elf::SHT_RELA {
        for r in table.data_as_array::<elf::Rela32<Endianness>, _>(order, bytes)? {
            let addend = r.r_addend(order).into();
            add(r.r_offset(order), r.r_sym(order), r.r_type(order).0, addend);
        }
        return Ok(true);
    }
    let Some(target) = target else { return Ok(false) };
    let mut places = Cow::Borrowed(target.data(order, bytes)?);
    if target.sh_flags(order).0 & elf::SHF_COMPRESSED.0 != 0 {
        let Ok(inflated) = inflated(&places, order) else { return Ok(false) };
        places = Cow::Owned(inflated);
    }
    if places.starts_with(b"ZLIB") {
        return Ok(false);
    }
    for r in table.data_as_array::<elf::Rel32<Endianness>, _>(order, bytes)? {
        let (offset, kind) = (r.r_offset(order), r.r_type(order).0);
        let place = places.get(offset as usize..).and_then(|p| p.first_chunk::<4>());
        let addend = place.map_or(0, |place| addend(machine, kind, order.read_i32(*place)));
        add(offset, r.r_sym(order), kind, addend.into());
    }
    Ok(true)
}

/// The addend of a relocation, from the four bytes in place; 0 for types that are never applied.
fn addend(machine: u16, kind: u32, place: i32) -> i32 {
    match (Machine(machine), kind) {
        // R_386_32, R_386_PC32, R_386_PLT32, R_ARM_ABS32, R_ARM_REL32
        (elf::EM_386, 1 | 2 | 4) | (elf::EM_ARM, 2 | 3) => place,
        // R_ARM_PREL31
        (elf::EM_ARM, 42) => place << 1 >> 1,
        // R_ARM_CALL, R_ARM_JUMP24: never applied, read for where a jump leads
        (elf::EM_ARM, 28 | 29) => place << 8 >> 6,
        _ => 0,
    }
}

#[cfg(test)]
mod tests;
