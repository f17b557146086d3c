//! What an object tells of its functions: debug information, else BTF, else symbols alone.
use crate::btf::{self, Base, Object};
use crate::code;
use crate::dwarf::ObjectSource;
use crate::dwarf::facts::Batch;
use crate::error::{Error, ErrorKind};
use crate::link;
use crate::load::elf::Elf;
use crate::load::live;
use crate::load::symbol_table::SymbolTable;
use probeidx_format::record::ObjectRecord;

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

/// The symbols that a stripped kernel carries for itself, with the sizes that its code shows. What is wrong with them is told
/// in `faults`.
pub fn carried(object: &Elf<'_>, faults: &mut Vec<Error>) -> Option<SymbolTable> {
    if object.is_relocatable || !object.symbols.is_empty() || !object.has_some_code() {
        return None;
    }
    let mut table = SymbolTable::embedded(object).unwrap_or_else(|e| {
        faults.push(e);
        None
    })?;
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
    *faults =
        vec![Error::new(ErrorKind::MissingPart, what).hint("build as root, who may read the boot image")];
}

/// The BTF of the kernel: a batch, and what its modules refer to.
pub fn kernel(data: &[u8], object: &Elf<'_>) -> (Batch, Option<Base>) {
    let symbols = link::functions(object);
    match btf::kernel(data, Object { number: 0, name: "", machine: object.machine, symbols: &symbols }) {
        Ok((batch, base)) => (batch, Some(base)),
        Err(fault) => (Batch { faults: vec![(0, fault)], ..Batch::default() }, None),
    }
}

/// The BTF of a module, into a batch.
pub fn module(base: &Base, batch: &mut Batch, data: &[u8], object: &Elf<'_>, number: u32, name: &str) {
    let symbols = link::functions(object);
    let told = base.module(batch, data, Object { number, name, machine: object.machine, symbols: &symbols });
    if let Err(fault) = told {
        batch.faults.push((number, fault));
    }
}
