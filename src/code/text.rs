//! The bytes of code by address.
use crate::error::{Error, ErrorKind};
use crate::load::elf::{Elf, Section};
use object::elf::SHF_EXECINSTR;
use std::ops::Range;

/// The executable sections of an object, by address.
pub struct Text<'d> {
    sections: Vec<CodeSection<'d>>,
    /// The bits of an address, by which x86 is decoded.
    pub bits: u32,
}

/// An executable section.
pub struct CodeSection<'d> {
    pub name: &'d str,
    /// Position among the object's sections.
    pub index: usize,
    /// Its addresses.
    pub pcs: Range<u32>,
    /// Its bytes; empty if the file lacks them.
    pub bytes: &'d [u8],
}

impl CodeSection<'_> {
    /// Whether the file has all of its bytes.
    pub fn is_whole(&self) -> bool {
        self.bytes.len() >= self.pcs.len()
    }
    /// Whether it is discarded once the kernel has booted or the module is loaded. The exit code of built-in drivers
    /// never runs.
    pub fn is_discarded(&self, is_module: bool) -> bool {
        self.name.starts_with(".init") || (!is_module && self.name.starts_with(".exit"))
    }
}

impl<'d> Text<'d> {
    /// Finds the executable sections.
    pub fn new(object: &Elf<'d>) -> Self {
        let executable = |s: &Section<'_>| s.flags() & SHF_EXECINSTR.0 as u32 != 0 && s.size() > 0;
        let mut sections: Vec<_> = (0..)
            .zip(&object.sections)
            .filter(|(_, s)| executable(s))
            .filter_map(|(index, s)| {
                let start = s.pc?;
                let pcs = start..start.checked_add(s.size() as u32)?;
                Some(CodeSection { name: s.name, index, pcs, bytes: s.raw() })
            })
            .collect();
        sections.sort_by_key(|s| s.pcs.start);
        Self { sections, bits: u32::from(object.address_size) * 8 }
    }
    /// The sections by address.
    pub fn sections(&self) -> &[CodeSection<'d>] {
        &self.sections
    }
    /// The section that holds an address.
    pub fn section(&self, pc: u32) -> Option<&CodeSection<'d>> {
        let after = self.sections.partition_point(|s| s.pcs.start <= pc);
        self.sections[..after].last().filter(|s| s.pcs.contains(&pc))
    }
    /// The code from an address to the end of its section; `None` if the file lacks it.
    pub fn at(&self, pc: u32) -> Option<&'d [u8]> {
        let section = self.section(pc)?;
        section.bytes.get((pc - section.pcs.start) as usize..)
    }
    /// Whether an address lies in a code section, with or without bytes.
    pub fn contains(&self, pc: u32) -> bool {
        self.section(pc).is_some()
    }
    /// The first section whose bytes the file lacks.
    pub fn without_bytes(&self) -> Option<&CodeSection<'d>> {
        self.sections.iter().find(|s| !s.is_whole())
    }
}

/// The error for a section without its bytes: `objcopy --only-keep-debug` makes such files.
pub fn no_bytes(section: &CodeSection<'_>) -> Error {
    Error::new(
        ErrorKind::MissingPart,
        "the file has no machine code: whether its places can be probed is undecided",
    )
    .section(section.name)
    .hint("index the unstripped object, or put the shipped one beside it")
}
