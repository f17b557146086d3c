//! The tables that the linker collects for the kernel: between two symbols in vmlinux, or in a section of a module.
use super::assumptions::EMPTY;
use crate::error::{Error, ErrorKind, Result};
use crate::load::elf::{Elf, word};
use crate::load::in_place::InPlace;
use crate::load::relocate;
use crate::load::symbols::Symbol;
use object::elf::{EM_386, EM_X86_64};
use object::{Endian, Endianness};
use rustc_hash::FxHashMap;
use std::cell::OnceCell;
use std::ops::Range;
use std::rc::Rc;

/// Finds tables by name.
pub struct Tables<'o, 'd> {
    object: &'o Elf<'d>,
    /// Address and size of the symbols of vmlinux that bound tables and areas, and of functions.
    bounds: Option<FxHashMap<&'d [u8], (u32, u32)>>,
    /// For an image relocated at boot: see [`moved`].
    moved: OnceCell<Moved>,
}

/// Pairs of place and value, as link addresses; sorted.
type Moved = Rc<Vec<(u64, u64)>>;

/// The names that identify a table and show whether it must exist.
pub struct TableName {
    /// Its section in a module, also used in messages.
    pub section: &'static str,
    pub start: &'static str,
    pub stop: &'static str,
    /// A function of vmlinux that reads the table: if it exists, so does the table.
    pub reader: &'static str,
}

const FTRACE: TableName = TableName {
    section: "__mcount_loc",
    start: "__start_mcount_loc",
    stop: "__stop_mcount_loc",
    reader: "ftrace_location",
};

const PATCHABLE: &str = "__patchable_function_entries";

impl<'o, 'd> Tables<'o, 'd> {
    /// Whether [`Self::ftrace`] needs a symbol.
    pub fn bounds_ftrace(name: &[u8]) -> bool {
        [FTRACE.start, FTRACE.stop].iter().any(|bound| bound.as_bytes() == name)
    }
    /// Collects the bounds. Cost: one look at each symbol.
    pub fn new(object: &'o Elf<'d>, symbols: &[Symbol<'d>], is_module: bool) -> Self {
        // All names looked up start with an underscore or belong to functions.
        let may_be_asked = |s: &&Symbol<'_>| s.name.starts_with(b"_") || s.is_function();
        let bounds = || symbols.iter().filter(may_be_asked).map(|s| (s.name, (s.pc, s.size))).collect();
        Self { object, bounds: (!is_module).then(bounds), moved: OnceCell::new() }
    }
    /// The address of a symbol of vmlinux.
    pub fn bound(&self, name: &str) -> Option<u32> {
        Some(self.bounds.as_ref()?.get(name.as_bytes())?.0)
    }
    /// Whether vmlinux has a non-empty function of this name. Kernels without a table may have an empty reader
    /// (`apply_retpolines` of 6.1 without CONFIG_RETPOLINE).
    fn is_read_by(&self, reader: &str) -> bool {
        let found = self.bounds.as_ref().and_then(|bounds| bounds.get(reader.as_bytes()));
        found.is_some_and(|(_, size)| *size == 0 || *size > EMPTY)
    }
    /// The addresses between two symbols of vmlinux, or of a section of a module.
    pub fn area(&self, start: &str, stop: &str, section: &str) -> Option<Range<u32>> {
        match &self.bounds {
            Some(_) => Some(self.bound(start)?..self.bound(stop)?).filter(|area| area.start < area.end),
            None => {
                let section = self.object.section(section)?;
                let start = section.pc?;
                Some(start..start.checked_add(section.size() as u32)?).filter(|area| !area.is_empty())
            }
        }
    }
    /// A table; `None` if the object has none.
    ///
    /// # Errors
    /// [`ErrorKind::Damaged`] if the kernel reads the table but it cannot be found.
    pub fn table(&self, name: &TableName) -> Result<Option<Table<'d>>> {
        let lost = || Error::new(ErrorKind::Damaged, "the table is not in the file").section(name.section);
        let (index, from, length) = match &self.bounds {
            Some(_) => match (self.bound(name.start), self.bound(name.stop)) {
                (Some(start), Some(stop)) if start == stop => return Ok(None),
                (Some(start), Some(stop)) if start < stop => {
                    let holds = |s: &&crate::load::elf::Section<'_>| {
                        s.pc.is_some_and(|pc| pc <= start && u64::from(stop) <= u64::from(pc) + s.size())
                    };
                    let index = self.object.sections.iter().position(|s| holds(&s)).ok_or_else(lost)?;
                    let from = start - self.object.sections[index].pc.unwrap_or(0);
                    (index, from as usize, (stop - start) as usize)
                }
                _ if self.is_read_by(name.reader) => return Err(lost()),
                _ => return Ok(None),
            },
            None => match self.object.sections.iter().position(|s| s.name == name.section) {
                Some(index) => (index, 0, self.object.sections[index].size() as usize),
                None => return Ok(None),
            },
        };
        let section = &self.object.sections[index];
        let bytes = section.raw().get(from..from + length).ok_or_else(lost)?;
        let references = if self.object.is_relocatable {
            References::Relocated(relocated(self.object, index)?, foreign(self.object, index)?)
        } else {
            let moved = self.moved.get_or_init(|| Rc::new(moved(self.object))).clone();
            let Elf { base, order, .. } = *self.object;
            References::InPlace { table: section.address() + from as u64, base, order, moved }
        };
        let start = section.pc.and_then(|pc| pc.checked_add(from as u32));
        let is_whole = from == 0 && length as u64 == section.size();
        let entry_size = section.entry_size().filter(|_| is_whole);
        let address_size = self.object.address_size;
        Ok(Some(Table {
            name: name.section,
            start,
            entry_size,
            bytes,
            address_size,
            order: self.object.order,
            references,
        }))
    }

    /// The addresses in the table of ftrace sites, ascending. On arm64 [`arm64`](super::arm64) computes the sites
    /// from them. Zeros, left by functions that were replaced at link time, are left out.
    pub fn ftrace(&self) -> Result<Vec<u32>> {
        let is_x86 = [EM_X86_64.0, EM_386.0].contains(&self.object.machine);
        let table = match self.table(&FTRACE)? {
            // In modules it has the compiler's name (FTRACE_CALLSITE_SECTION, include/linux/ftrace.h). On x86 that
            // section lists the padding before functions, which ftrace does not read (CONFIG_CALL_PADDING, seen on
            // 6.12).
            None if self.bounds.is_none() && !is_x86 => {
                self.table(&TableName { section: PATCHABLE, ..FTRACE })?
            }
            table => table,
        };
        let Some(table) = table else { return Ok(vec![]) };
        let mut sites: Vec<u32> = table.addresses()?.collect();
        sites.sort_unstable();
        match sites.is_empty() && table.bytes.iter().any(|b| *b != 0) {
            true => Err(table.damaged(0)),
            false => Ok(sites),
        }
    }
}

/// The bytes of a table, and the targets of its references.
pub struct Table<'d> {
    name: &'static str,
    start: Option<u32>,
    entry_size: Option<u32>,
    bytes: &'d [u8],
    address_size: u8,
    order: Endianness,
    references: References<'d>,
}

enum References<'d> {
    /// The values are in the table, which has this link address.
    InPlace { table: u64, base: u64, order: Endianness, moved: Moved },
    /// By relocation: offsets in the table with addresses, and with names of symbols in other objects; sorted.
    Relocated(Vec<(u32, u32)>, Vec<(u32, &'d [u8])>),
}

impl<'d> Table<'d> {
    /// The offsets of entries of this size; the last one needs only `least` bytes.
    pub fn entries(&self, size: usize, least: usize) -> Result<impl Iterator<Item = usize> + use<>> {
        let length = self.bytes.len();
        match length % size.max(1) {
            0 => {}
            rest if rest >= least => {}
            rest => return Err(self.damaged(length - rest)),
        }
        Ok((0..length).step_by(size.max(1)))
    }
    /// The name used in messages.
    pub fn name(&self) -> &'static str {
        self.name
    }
    /// The size of an entry (`sh_entsize`), if the table is a section of its own.
    pub fn entry_size(&self) -> Option<u32> {
        self.entry_size
    }
    /// The byte at an offset; 0 past the end.
    pub fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }
    /// The 16-bit number at an offset; 0 past the end.
    pub fn half(&self, at: usize) -> u16 {
        let bytes = self.bytes.get(at..).and_then(|bytes| bytes.first_chunk());
        bytes.map_or(0, |bytes| self.order.read_u16(*bytes))
    }
    /// The 32-bit number at an offset; 0 past the end.
    pub fn word(&self, at: usize) -> u32 {
        let bytes = self.bytes.get(at..).and_then(|bytes| bytes.first_chunk());
        bytes.map_or(0, |bytes| self.order.read_u32(*bytes))
    }
    /// The size of an address in bytes.
    pub fn address_size(&self) -> u8 {
        self.address_size
    }
    /// Its address.
    pub fn start(&self) -> Option<u32> {
        self.start
    }
    /// Its length in bytes.
    pub fn length(&self) -> usize {
        self.bytes.len()
    }
    /// Whether its references are in relocations.
    pub fn is_relocated(&self) -> bool {
        matches!(self.references, References::Relocated(..))
    }
    /// The target of a 32-bit reference relative to its own location.
    pub fn relative(&self, at: usize) -> Option<u32> {
        match &self.references {
            References::InPlace { table, base, order, .. } => {
                let distance = order.read_i32(*self.bytes.get(at..)?.first_chunk()?);
                let target = table.wrapping_add(at as u64).wrapping_add_signed(distance.into());
                u32::try_from(target.wrapping_sub(*base)).ok()
            }
            References::Relocated(known, _) => target(known, at),
        }
    }
    /// The target of a 64-bit reference relative to another offset of the table, up to its own.
    pub fn distant(&self, at: usize, from: usize) -> Option<u32> {
        match &self.references {
            References::InPlace { table, base, order, .. } => {
                let distance = order.read_i64(*self.bytes.get(at..)?.first_chunk()?);
                let target = table.wrapping_add(from as u64).wrapping_add_signed(distance);
                u32::try_from(target.wrapping_sub(*base)).ok()
            }
            References::Relocated(known, _) => target(known, at)?.checked_sub((at - from) as u32),
        }
    }
    /// The targets of a table of addresses.
    pub fn addresses(&self) -> Result<impl Iterator<Item = u32>> {
        let size = self.address_size.into();
        Ok(self.entries(size, size)?.filter_map(|at| self.address(at)))
    }
    /// The target of an address; `None` for zero and addresses outside of the object.
    pub fn address(&self, at: usize) -> Option<u32> {
        match &self.references {
            References::InPlace { table, base, order, moved } => {
                let link = table.wrapping_add(at as u64);
                let address = match moved.binary_search_by_key(&link, |m| m.0) {
                    Ok(found) => moved[found].1,
                    Err(_) => word(*order, self.address_size, self.bytes.get(at..)?)?,
                };
                u32::try_from(address.wrapping_sub(*base)).ok()
            }
            References::Relocated(known, _) => target(known, at),
        }
    }
    /// The symbol of another object that a reference names.
    pub fn foreign(&self, at: usize) -> Option<&'d [u8]> {
        let References::Relocated(_, foreign) = &self.references else { return None };
        let found = foreign.binary_search_by_key(&(at as u32), |k| k.0).ok()?;
        Some(foreign[found].1)
    }
    /// The error for an invalid entry at this offset.
    pub fn damaged(&self, at: usize) -> Error {
        let what = "the table is damaged: whether places can be probed is undecided";
        Error::new(ErrorKind::Damaged, what).section(self.name).offset(at as u64)
    }
}

fn target(known: &[(u32, u32)], at: usize) -> Option<u32> {
    let found = known.binary_search_by_key(&(at as u32), |k| k.0).ok()?;
    Some(known[found].1)
}

/// The targets of a section's relocations: offset and address, sorted. The location itself is not subtracted, because
/// tables with relative entries add it again. RISC-V has a separate relocation for the subtraction, which is skipped.
pub(super) fn relocated(object: &Elf<'_>, index: usize) -> Result<Vec<(u32, u32)>> {
    let relocations = object.relocations(index)?.unwrap_or_default();
    let mut known: Vec<(u32, u32)> = relocations
        .iter()
        .filter_map(|r| {
            let (symbol, kind) = relocate::parts(object, r.r_info.get(object.order));
            if InPlace::of(object.machine, kind).is_some_and(InPlace::subtracts) {
                return None;
            }
            let symbol = object.symbols.get(symbol as usize)?;
            let section = object.sections.get(usize::from(symbol.st_shndx.get(object.order).0))?;
            section.pc?;
            let address = object.symbol_address(symbol).wrapping_add_signed(r.r_addend.get(object.order));
            Some((u32::try_from(r.r_offset.get(object.order)).ok()?, u32::try_from(address).ok()?))
        })
        .collect();
    known.sort_unstable();
    Ok(known)
}

/// The relocations of a section against symbols of other objects: offset and name, sorted.
fn foreign<'d>(object: &Elf<'d>, index: usize) -> Result<Vec<(u32, &'d [u8])>> {
    let relocations = object.relocations(index)?.unwrap_or_default();
    let mut found: Vec<_> = relocations
        .iter()
        .filter_map(|r| {
            let (symbol, _) = relocate::parts(object, r.r_info.get(object.order));
            let symbol = object.symbols.get(symbol as usize)?;
            let is_foreign = symbol.st_shndx.get(object.order).0 == 0;
            Some((u32::try_from(r.r_offset.get(object.order)).ok()?, object.symbol_name(symbol)))
                .filter(|_| is_foreign)
        })
        .collect();
    found.sort_unstable();
    Ok(found)
}

/// The values stored when an image is relocated at boot. `RELATIVE` has no symbol on any machine, and those of
/// `.relr.dyn` are in place. Kernels linked with `-shared`, such as those of s390, use symbols too.
pub(super) fn moved(object: &Elf<'_>) -> Vec<(u64, u64)> {
    let entries = object.section(".rela.dyn").map(|s| s.raw()).unwrap_or_default().chunks_exact(24);
    let word =
        |entry: &[u8], at: usize| object.order.read_u64(entry[at..at + 8].try_into().expect("eight bytes"));
    let long = relocate::long(object.machine);
    let value = |entry: &[u8]| {
        let (info, addend) = (word(entry, 8), word(entry, 16));
        match relocate::parts(object, info) {
            (0, _) => Some(addend),
            (symbol, kind) if Some(kind) == long => {
                Some(object.dynamic_value(symbol as usize)?.wrapping_add(addend))
            }
            _ => None,
        }
    };
    let mut moved: Vec<_> = entries.filter_map(|e| Some((word(e, 0), value(e)?))).collect();
    moved.sort_unstable();
    moved
}
