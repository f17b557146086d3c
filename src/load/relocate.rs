//! Relocation of the sections of a module or object file.
//!
//! A vmlinux linked with `--emit-relocs` carries `.rela.debug_*` too, but these are already applied: only relocatable
//! objects are relocated.
use super::elf::{Elf, Section};
use super::in_place::InPlace;
use crate::error::{Error, ErrorKind, Result};
use object::elf::{self, Rela64};
use object::{Endian, Endianness};

/// The address of an allocated section for its relocations.
pub(crate) fn address(object: &Elf<'_>, section: &Section<'_>) -> u64 {
    if object.is_relocatable { section.pc.unwrap_or(0).into() } else { section.address() }
}

/// The relocation types that store symbol plus addend. 0 is not among them: it stores nothing.
struct Kinds {
    /// Eight bytes.
    long: u32,
    /// Four bytes, unsigned and signed.
    short: [u32; 2],
    /// Four bytes relative to the place, as in `.eh_frame`.
    relative: u32,
}

impl Kinds {
    /// `R_X86_64_64`, `_32`, `_32S`, `_PC32` and their equivalents on other machines; `None` for a machine whose types are not
    /// known.
    fn of(machine: u16) -> Option<Self> {
        let (long, short, relative) = match elf::Machine(machine) {
            elf::EM_X86_64 => (1, [10, 11], 2),
            elf::EM_AARCH64 => (257, [258; 2], 261),
            elf::EM_RISCV => (2, [1; 2], 57),
            elf::EM_PPC64 => (38, [1; 2], 26),
            elf::EM_S390 => (22, [4; 2], 5),
            elf::EM_MIPS => (18, [2; 2], 248),
            elf::EM_LOONGARCH => (2, [1; 2], 99),
            // R_386_32, R_386_PC32; R_ARM_ABS32, R_ARM_REL32.
            elf::EM_386 => (u32::MAX, [1; 2], 2),
            elf::EM_ARM => (u32::MAX, [2; 2], 3),
            _ => return None,
        };
        Some(Self { long, short, relative })
    }
}

/// The relocation type of a machine that stores symbol plus addend in eight bytes, if it has one that is known.
pub(crate) fn long(machine: u16) -> Option<u32> {
    Kinds::of(machine).map(|kinds| kinds.long)
}

/// The symbol that the `r_info` of a relocation refers to, by its number, and the type (`ELF64_R_SYM`, `ELF64_R_TYPE`).
///
/// Little-endian objects of MIPS have the two in the order of the big-endian ones, so that as one number they change places,
/// and the bytes of the type their order (64-bit ELF Object File Specification of MIPS, 2.9).
#[inline(always)]
pub(crate) fn parts(object: &Elf<'_>, info: u64) -> (u32, u32) {
    let (high, low) = ((info >> 32) as u32, info as u32);
    let is_swapped = object.machine == elf::EM_MIPS.0 && object.order == Endianness::Little;
    if is_swapped { (low, high.swap_bytes()) } else { (high, low) }
}

/// Applies the relocations of a section to a copy of its bytes. Relocations that cannot be applied are reported in
/// `faults`.
pub(crate) fn relocate(
    object: &Elf<'_>,
    section: &Section<'_>,
    data: &mut [u8],
    relocations: &[Rela64<Endianness>],
    faults: &mut Vec<Error>,
) -> Result<()> {
    // Modules have millions of relocations: each byte order has its own code.
    match object.order {
        Endianness::Little => apply(object, Endianness::Little, section, data, relocations, faults),
        Endianness::Big => apply(object, Endianness::Big, section, data, relocations, faults),
    }
}

#[inline(always)]
fn apply(
    object: &Elf<'_>,
    order: Endianness,
    section: &Section<'_>,
    data: &mut [u8],
    relocations: &[Rela64<Endianness>],
    faults: &mut Vec<Error>,
) -> Result<()> {
    let Some(kinds) = Kinds::of(object.machine) else {
        // Where nothing is stored, everything leads to the start of its section.
        let what =
            format!("relocations of a machine (e_machine {}) whose types are not known", object.machine);
        return Err(Error::new(ErrorKind::Unsupported, what).section(section.name));
    };
    let mut unknown = None;
    // Neighbours refer to the same few symbols, those of the debug sections.
    let mut recent = [(u64::MAX, 0); 8];
    for relocation in relocations {
        let offset = relocation.r_offset.get(order) as usize;
        let (number, kind) = parts(object, relocation.r_info.get(order));
        let addend = relocation.r_addend.get(order);
        let mut value = || {
            let number = u64::from(number);
            let (known, symbol) = &mut recent[number as usize % 8];
            if *known != number {
                *symbol = object.symbol_address_in(order, object.symbols.get(number as usize)?);
                *known = number;
            }
            let value = symbol.wrapping_add(addend as u64);
            let place = || address(object, section).wrapping_add(offset as u64);
            Some(if kind == kinds.relative { value.wrapping_sub(place()) } else { value })
        };
        let outside = || {
            let what = format!("relocation of type {kind} outside of the section or its symbols");
            Error::new(ErrorKind::Damaged, what).section(section.name).offset(offset as u64)
        };
        match kind {
            0 => {}
            kind if kind == kinds.long => {
                let place =
                    data.get_mut(offset..).and_then(|d| d.first_chunk_mut::<8>()).ok_or_else(outside)?;
                *place = order.write_u64(value().ok_or_else(outside)?);
            }
            kind if kinds.short.contains(&kind) || kind == kinds.relative => {
                let place =
                    data.get_mut(offset..).and_then(|d| d.first_chunk_mut::<4>()).ok_or_else(outside)?;
                *place = order.write_u32(value().ok_or_else(outside)? as u32);
            }
            _ => match InPlace::of(object.machine, kind) {
                Some(change) => {
                    let value = value().ok_or_else(outside)?;
                    let place = data.get_mut(offset..).ok_or_else(outside)?;
                    change.apply(place, value).ok_or_else(outside)?;
                }
                None => drop(unknown.get_or_insert((kind, offset))),
            },
        }
    }
    if let Some((kind, offset)) = unknown {
        // The message omits the count, so that it is the same for many modules.
        let what = format!("relocations of types such as {kind} are not known and were left out");
        faults.push(Error::new(ErrorKind::Unsupported, what).section(section.name).offset(offset as u64));
    }
    Ok(())
}
