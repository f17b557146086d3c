//! The debug sections of an object, relocated where it is a module.
//!
//! A vmlinux linked with `--emit-relocs` carries `.rela.debug_*` too, but they are applied already: only those of
//! relocatable objects are.
use super::elf::{Elf, LE, Section};
use crate::dwarf::{Sections, Supplement};
use crate::error::{Error, ErrorKind, Result};
use object::LittleEndian;
use object::elf::{self, Rela64};
use std::borrow::Cow;

/// The bytes of the debug sections, each as it stands in the file or as a copy of its own.
#[derive(Default)]
pub struct DebugSections<'d> {
    sections: [Cow<'d, [u8]>; NAMES.len()],
    eh_frame: Cow<'d, [u8]>,
    eh_frame_address: u64,
    supplement: Option<Supplement>,
}

const NAMES: [&str; 12] = [
    "info",
    "abbrev",
    "line",
    "str",
    "line_str",
    "str_offsets",
    "addr",
    "rnglists",
    "ranges",
    "loclists",
    "loc",
    "frame",
];
const FRAME: usize = NAMES.len() - 1;

impl<'d> DebugSections<'d> {
    /// Finds, inflates and relocates them. Relocations that cannot be applied are counted and named in `faults`.
    pub fn load(object: &Elf<'d>, faults: &mut Vec<Error>) -> Result<Self> {
        let mut loaded = Self::default();
        let has_frame = [".debug_frame", ".zdebug_frame"].iter().any(|n| object.section(n).is_some());
        let (mut found, mut has_eh_frame) = ([false; NAMES.len()], false);
        for (index, section) in object.sections.iter().enumerate() {
            // The first of a name counts that has bytes: there may be as many as the file has room for headers.
            if section.name == ".eh_frame" && !has_frame && !has_eh_frame && !section.raw().is_empty() {
                has_eh_frame = true;
                loaded.eh_frame = Self::read(object, index, faults)?;
                loaded.eh_frame_address = address(object, section);
                continue;
            }
            let Some(name) =
                section.name.strip_prefix(".debug_").or_else(|| section.name.strip_prefix(".zdebug_"))
            else {
                continue;
            };
            // A member of a section group is one of many sections of the same name: type units, and what is theirs.
            let Some(at) = NAMES.iter().position(|n| *n == name).filter(|_| !section.is_in_group()) else {
                continue;
            };
            if !found[at] && !section.raw().is_empty() {
                found[at] = true;
                loaded.sections[at] = Self::read(object, index, faults)?;
            }
        }
        Ok(loaded)
    }

    /// The same with the frame rules of the object that runs: a debug file has not the bytes of `.eh_frame`, and user
    /// objects have most of theirs there.
    pub fn with_frames_of(mut self, object: &Elf<'d>, faults: &mut Vec<Error>) -> Result<Self> {
        if let Some(index) = object.sections.iter().position(|s| s.name == ".eh_frame" && !s.raw().is_empty())
        {
            self.eh_frame = Self::read(object, index, faults)?;
            self.eh_frame_address = address(object, &object.sections[index]);
            self.sections[FRAME] = Cow::Borrowed(&[]);
        }
        Ok(self)
    }

    /// Puts the sections of a supplementary file behind these.
    pub(super) fn append(&mut self, other: &DebugSections<'_>) -> Result<()> {
        let start = self.sections.each_ref().map(|section| section.len());
        let [info, abbrev, line, str, line_str, ..] = start;
        // Offsets of entries are kept in 32 bits.
        if info + other.sections[0].len() > u32::MAX as usize {
            let what = "more than 4 GiB of debug information with that of its supplementary file";
            return Err(Error::new(ErrorKind::Unsupported, what));
        }
        // Without code there are no addresses, and no lists or frame rules.
        for (own, other) in self.sections.iter_mut().zip(&other.sections).take(5) {
            own.to_mut().extend_from_slice(other);
        }
        self.supplement = Some(Supplement { info, abbrev, line, str, line_str });
        Ok(())
    }

    /// The section at this index. Cost: of a module, a copy and its relocations; all modules have 3 MB of `.debug_frame`.
    fn read(object: &Elf<'d>, index: usize, faults: &mut Vec<Error>) -> Result<Cow<'d, [u8]>> {
        let section = &object.sections[index];
        let mut data = section.data()?;
        if object.is_relocatable
            && let Some(relocations) = object.relocations(index)?
        {
            relocate(object, section, data.to_mut(), relocations, faults)?;
        }
        Ok(data)
    }
    /// The sections as the extractor takes them.
    pub fn sections(&self) -> Sections<'_> {
        let [info, abbrev, line, str, line_str, str_offsets, addr, rnglists, ranges, loclists, loc, frame] =
            &self.sections;
        Sections {
            info,
            abbrev,
            line,
            str,
            line_str,
            str_offsets,
            addr,
            rnglists,
            ranges,
            loclists,
            loc,
            frame,
            eh_frame: &self.eh_frame,
            eh_frame_address: self.eh_frame_address,
            supplement: self.supplement,
        }
    }
}

/// The address that an allocated section has for its relocations.
fn address(object: &Elf<'_>, section: &Section<'_>) -> u64 {
    if object.is_relocatable { section.pc.unwrap_or(0).into() } else { section.address() }
}

/// How many bytes a relocation of this type fills with symbol plus addend; 0 for none, `None` for all others.
fn width(machine: u16, kind: u32) -> Option<usize> {
    Some(match (elf::Machine(machine), kind) {
        (_, 0) => 0,
        (elf::EM_X86_64, 1) | (elf::EM_AARCH64, 257) | (elf::EM_RISCV, 2) | (elf::EM_PPC64, 38) => 8,
        (elf::EM_X86_64, 10 | 11) | (elf::EM_AARCH64, 258) | (elf::EM_RISCV, 1) | (elf::EM_PPC64, 1) => 4,
        (machine, kind) if is_relative(machine, kind) => 4,
        _ => return None,
    })
}

/// Whether the place itself is subtracted, as in `.eh_frame` (`R_X86_64_PC32`, `R_AARCH64_PREL32`, `R_RISCV_32_PCREL`).
fn is_relative(machine: elf::Machine, kind: u32) -> bool {
    matches!((machine, kind), (elf::EM_X86_64, 2) | (elf::EM_AARCH64, 261) | (elf::EM_RISCV, 57))
}

/// RISC-V computes differences by adding and subtracting in place: the width, whether it is subtracted, and whether
/// it overwrites what is there (RISC-V ELF psABI, relocations 33 to 56).
fn in_place(machine: u16, kind: u32) -> Option<(usize, bool, bool)> {
    if elf::Machine(machine) != elf::EM_RISCV {
        return None;
    }
    Some(match kind {
        33 => (1, false, false),
        34 => (2, false, false),
        35 => (4, false, false),
        36 => (8, false, false),
        37 => (1, true, false),
        38 => (2, true, false),
        39 => (4, true, false),
        40 => (8, true, false),
        54 => (1, false, true),
        55 => (2, false, true),
        56 => (4, false, true),
        _ => return None,
    })
}

fn relocate(
    object: &Elf<'_>,
    section: &Section<'_>,
    data: &mut [u8],
    relocations: &[Rela64<LittleEndian>],
    faults: &mut Vec<Error>,
) -> Result<()> {
    let mut unknown = None;
    for relocation in relocations {
        let offset = relocation.r_offset.get(LE) as usize;
        let info = relocation.r_info.get(LE);
        let kind = info as u32;
        let addend = relocation.r_addend.get(LE);
        let value = || {
            let symbol = object.symbols.get((info >> 32) as usize)?;
            let value = object.symbol_address(symbol).wrapping_add(addend as u64);
            let is_relative = is_relative(elf::Machine(object.machine), kind);
            let place = || address(object, section).wrapping_add(offset as u64);
            Some(if is_relative { value.wrapping_sub(place()) } else { value })
        };
        let outside = || {
            let what = format!("relocation of type {kind} outside of the section or its symbols");
            Error::new(ErrorKind::Damaged, what).section(section.name).offset(offset as u64)
        };
        match width(object.machine, kind) {
            Some(0) => {}
            Some(8) => {
                let place =
                    data.get_mut(offset..).and_then(|d| d.first_chunk_mut::<8>()).ok_or_else(outside)?;
                *place = value().ok_or_else(outside)?.to_le_bytes();
            }
            Some(_) => {
                let place =
                    data.get_mut(offset..).and_then(|d| d.first_chunk_mut::<4>()).ok_or_else(outside)?;
                *place = (value().ok_or_else(outside)? as u32).to_le_bytes();
            }
            None => match in_place(object.machine, kind) {
                Some((width, subtract, overwrite)) => {
                    let value = value().ok_or_else(outside)?;
                    let place =
                        data.get_mut(offset..).and_then(|d| d.get_mut(..width)).ok_or_else(outside)?;
                    let mut old = [0; 8];
                    old[..width].copy_from_slice(place);
                    let old = if overwrite { 0 } else { u64::from_le_bytes(old) };
                    let new = if subtract { old.wrapping_sub(value) } else { old.wrapping_add(value) };
                    place.copy_from_slice(&new.to_le_bytes()[..width]);
                }
                None => {
                    let first = unknown.get_or_insert((kind, offset, 0u64));
                    first.2 += 1;
                }
            },
        }
    }
    if let Some((kind, offset, count)) = unknown {
        let what = format!("{count} relocations of types such as {kind} are not known and were left out");
        faults.push(Error::new(ErrorKind::Unsupported, what).section(section.name).offset(offset as u64));
    }
    Ok(())
}
