//! What an object tells of its functions: debug information, else BTF, else symbols alone.
use crate::btf::{self, Base, Object};
use crate::code;
use crate::dwarf::facts::Batch;
use crate::dwarf::{Fault, ObjectSource};
use crate::error::{Error, ErrorKind, Result};
use crate::link::btf::Prototypes;
use crate::load::elf::Elf;
use crate::load::live;
use crate::load::symbol_table::SymbolTable;
use crate::load::symbols;
use crate::merge::intern::Interner;
use crate::shapes::Shapes;
use probeidx_format::record::ObjectRecord;
use std::path::Path;

/// The best that an object has.
#[derive(Clone, Copy)]
pub enum Told<'d> {
    Dwarf(&'d ObjectSource<'d>),
    /// Its `.BTF`.
    Btf(&'d [u8]),
    /// Nothing else: which functions there are, and where.
    Symbols,
}

impl<'d> Told<'d> {
    /// What an object without debug information has; `None` where that is nothing but a table of symbols.
    pub fn without_dwarf(object: &Elf<'d>) -> Option<Self> {
        let btf = object.section(".BTF").map(|s| s.raw()).filter(|data| !data.is_empty());
        btf.map(Self::Btf)
    }
}

/// The symbols of a stripped kernel at a path, which it carries for itself or `System.map` has, with the sizes that its code
/// shows. What is wrong with them is told in `faults`.
pub fn carried(object: &Elf<'_>, path: &Path, faults: &mut Vec<Error>) -> Option<SymbolTable> {
    if object.is_relocatable || !object.symbols.is_empty() || !object.has_some_code() {
        return None;
    }
    let mut told = |table: Result<Option<SymbolTable>>| {
        table.unwrap_or_else(|error| {
            faults.push(error);
            None
        })
    };
    let own = told(SymbolTable::embedded(object));
    let mut table = told(SymbolTable::of_system_map(object, path, own.as_ref())).or(own)?;
    code::measure(object, &mut table);
    Some(table)
}

/// The rules of the kernel that only functions betray which are always inlined: no symbol or BTF has them. They are taken to
/// be there, as nothing that the kernel refuses is to be called ok: all kernels from 6.6 on refuse prefixes, and others have
/// none; and only who asked for CONFIG_KPROBE_EVENTS_ON_NOTRACE, which a configuration at hand tells, has not the other.
pub fn rules_unseen(object: &Elf<'_>, is_configured: bool) -> u32 {
    let names = if object.section(live::NAMES_ONLY).is_some() { ObjectRecord::NAMES_ONLY } else { 0 };
    let notrace = if is_configured { 0 } else { ObjectRecord::REFUSES_NOTRACE };
    ObjectRecord::REFUSES_PREFIXES | notrace | names
}

/// What to say, once for all tables, of a kernel of which nothing but BTF and symbols can be read.
pub fn without_image(faults: &mut Vec<Error>) {
    let what = "the kernel's code cannot be read: whether its places can be probed is undecided";
    *faults = vec![
        Error::new(ErrorKind::MissingPart, what)
            .hint("give its boot image, or build as root where only root may read that"),
    ];
}

/// The BTF of the kernel: a batch, and what its modules refer to.
pub fn kernel(data: &[u8], object: &Elf<'_>) -> (Batch, Option<Base>) {
    let symbols = symbols::functions(object);
    match btf::kernel(data, Object { number: 0, name: "", machine: object.machine, symbols: &symbols }) {
        Ok((batch, base)) => (batch, Some(base)),
        Err(fault) => (Batch { faults: vec![(0, fault)], ..Batch::default() }, None),
    }
}

/// The BTF of a module, into a batch.
pub fn module(base: &Base, batch: &mut Batch, data: &[u8], object: &Elf<'_>, number: u32, name: &str) {
    let symbols = symbols::functions(object);
    let excerpt = object.section(btf::excerpt::SECTION).map(|s| s.raw());
    let of = Object { number, name, machine: object.machine, symbols: &symbols };
    let told = base.module(batch, data, excerpt, of);
    if let Err(fault) = told {
        batch.faults.push((number, fault));
    }
}

/// The BTF of a kernel that has debug information too: that of the debug file, or of the one with the code.
pub fn of_prototypes(objects: &[&Elf<'_>], faults: &mut Vec<Error>) -> Option<Base> {
    let base = Base::of_prototypes(section(objects, ".BTF")?);
    base.map_err(|fault| faults.push(in_section(&fault))).ok()
}

/// The structs of the kernel's tables by its BTF: that of the debug file, or of the one with the code. None of it is told
/// wrong here: prototypes are read of the same.
pub fn shapes(objects: &[&Elf<'_>]) -> Shapes {
    section(objects, ".BTF").and_then(|data| btf::shapes(data).ok()).unwrap_or_default()
}

/// The prototypes of a module's BTF.
pub fn prototypes(
    base: &Base,
    objects: &[&Elf<'_>],
    interner: &Interner,
    faults: &mut Vec<Error>,
) -> Option<Prototypes> {
    let (data, excerpt) = (section(objects, ".BTF")?, section(objects, btf::excerpt::SECTION));
    let told = base.prototypes_of(data, excerpt, |told| Prototypes::of(told, interner));
    told.map_err(|fault| faults.push(in_section(&fault))).ok()
}

fn section<'d>(objects: &[&Elf<'d>], name: &str) -> Option<&'d [u8]> {
    let sections = objects.iter().filter_map(|object| object.section(name));
    sections.map(|s| s.raw()).find(|bytes| !bytes.is_empty())
}

fn in_section(fault: &Fault) -> Error {
    let what = format!("prototypes are not compared: {}", fault.what);
    Error::new(fault.kind, what).section(fault.section).offset(fault.offset as u64)
}
