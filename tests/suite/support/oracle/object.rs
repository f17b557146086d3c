//! An object file taken apart by the `object` crate: sections placed and relocated as the index's format says.
use ::object::elf::{ET_REL, FileHeader64, SHF_ALLOC, SHF_EXECINSTR};
use ::object::read::elf::{ElfFile, ElfSection, FileHeader, SectionHeader, Sym};
use ::object::{Endian, Endianness, Object, ObjectSection, ObjectSymbol, RelocationKind, RelocationTarget};
use gimli::RunTimeEndian;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

type File<'d> = ElfFile<'d, FileHeader64<Endianness>>;

/// An object's debug sections, relocated, and its tables as lines of text.
pub struct Loaded {
    debug: BTreeMap<String, Vec<u8>>,
    pub order: RunTimeEndian,
    pub base: u64,
    pub eh_frame_address: u64,
    pub symbols: Vec<String>,
    pub sections: Vec<String>,
}

impl Loaded {
    pub fn read(path: &Path) -> Self {
        // binutils inflate compressed sections, so that no decompressor is shared with the indexer.
        let folder = tempfile::tempdir().unwrap();
        let plain = folder.path().join("plain");
        let is_big_endian = std::fs::read(path).unwrap()[5] == 2;
        let mut objcopy = Command::new(if is_big_endian { "s390x-linux-gnu-objcopy" } else { "objcopy" });
        let status = objcopy.arg("--decompress-debug-sections").arg(path).arg(&plain).status();
        assert!(status.unwrap().success(), "objcopy {}", path.display());
        let data = std::fs::read(plain).unwrap();
        let file = File::parse(&*data).unwrap();
        let order = file.endian();
        let relocatable = file.elf_header().e_type(order) == ET_REL;
        let flags =
            |s: &ElfSection<'_, '_, FileHeader64<Endianness>>| s.elf_section_header().sh_flags(order).0;
        let all: Vec<_> = file.sections().collect();
        let code = all.iter().filter(|s| flags(s) & SHF_EXECINSTR.0 != 0).map(|s| s.address()).min();
        let base = if relocatable { 0 } else { code.unwrap() - 4096 };
        let mut next = 4096u64;
        let mut placed = BTreeMap::new();
        for section in all.iter().filter(|s| flags(s) & SHF_ALLOC.0 != 0) {
            let pc = if relocatable {
                next.next_multiple_of(section.align().max(1))
            } else {
                section.address() - base
            };
            next = pc + section.size();
            placed.insert(section.index().0, pc);
        }
        let place = |index: usize| placed.get(&index).copied();

        let mut debug = BTreeMap::new();
        let mut eh_frame_address = 0;
        let is_read = |name: &str| name.starts_with(".debug_") || name == ".eh_frame";
        for section in all.iter().filter(|s| is_read(s.name().unwrap())) {
            let own = place(section.index().0).unwrap_or(0);
            if section.name().unwrap() == ".eh_frame" {
                eh_frame_address = if relocatable { own } else { section.address() };
            }
            let mut bytes = section.data().unwrap().to_vec();
            for (offset, relocation) in section.relocations().filter(|_| relocatable) {
                let RelocationTarget::Symbol(symbol) = relocation.target() else { panic!("{relocation:?}") };
                let symbol = file.symbol_by_index(symbol).unwrap();
                let target = symbol.section_index().and_then(|s| place(s.0)).unwrap_or(0) + symbol.address();
                let from = match relocation.kind() {
                    RelocationKind::Absolute => 0,
                    RelocationKind::Relative => own + offset,
                    _ => panic!("{relocation:?}"),
                };
                let value = target.wrapping_add_signed(relocation.addend()).wrapping_sub(from);
                let (offset, size) = (offset as usize, usize::from(relocation.size() / 8));
                let place = &mut bytes[offset..offset + size];
                match size {
                    4 => place.copy_from_slice(&order.write_u32(value as u32)),
                    8 => place.copy_from_slice(&order.write_u64(value)),
                    _ => panic!("{relocation:?}"),
                }
            }
            debug.insert(section.name().unwrap().to_owned(), bytes);
        }

        let sections = all.iter().filter_map(|s| {
            Some(format!("{} {:#x} {:#x}", s.name().unwrap(), place(s.index().0)?, s.size()))
        });
        let names: BTreeSet<&str> = file.symbols().map(|s| s.name().unwrap()).collect();
        let symbols = file.symbols().filter_map(|symbol| {
            let name = symbol.name().unwrap();
            let raw = symbol.elf_symbol();
            let kind = raw.st_type();
            let (section, pc) = match (symbol.section_index(), raw.st_shndx(order).0) {
                (Some(index), _) => {
                    let section = file.section_by_index(index).unwrap();
                    let within = symbol.address() - if relocatable { 0 } else { section.address() };
                    (section.name().unwrap().to_owned(), place(index.0)? + within)
                }
                (None, 0xfff1) => ("*ABS*".to_owned(), symbol.address()),
                _ => return None,
            };
            if name.is_empty() || matches!(kind.0, 3 | 4) {
                return None;
            }
            let for_the_loader = ["__ksymtab_", "__kstrtab_", "__kstrtabns_", "__crc_"];
            if relocatable
                && (for_the_loader.iter().any(|p| name.starts_with(p))
                    || matches!(&*section, ".modinfo" | "__versions"))
            {
                return None;
            }
            let exported = if names.contains(&*format!("__ksymtab_{name}")) { " exported" } else { "" };
            let (kind, binding) = (kind.0, raw.st_bind().0);
            Some(format!(
                "{name} {pc:#x} size {} {section} type {kind} binding {binding}{exported}",
                symbol.size()
            ))
        });
        let order = if order.is_big_endian() { RunTimeEndian::Big } else { RunTimeEndian::Little };
        Self {
            order,
            base,
            sections: sections.collect(),
            symbols: symbols.collect(),
            debug,
            eh_frame_address,
        }
    }

    pub fn section(&self, name: &str) -> &[u8] {
        self.debug.get(name).map(Vec::as_slice).unwrap_or_default()
    }
}
