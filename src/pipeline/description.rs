//! What describes the functions of an object: DWARF, else BTF, else only its symbols.
use crate::btf::named::Named;
use crate::btf::{self, Base, Object};
use crate::code::{self, marks};
use crate::dwarf::facts::Batch;
use crate::dwarf::{Fault, ObjectSource};
use crate::error::{Error, ErrorKind, Result};
use crate::link::btf::Prototypes;
use crate::load::config::KernelConfig;
use crate::load::elf::Elf;
use crate::load::live;
use crate::load::symbol_table::{self, SymbolTable};
use crate::load::symbols;
use crate::merge::intern::Interner;
use crate::shapes::Shapes;
use probeidx_format::record::ObjectRecord;
use std::path::Path;

/// The best description that an object has.
#[derive(Clone, Copy)]
pub enum Description<'d> {
    Dwarf(&'d ObjectSource<'d>),
    /// The bytes of its `.BTF`.
    Btf(&'d [u8]),
    /// Only symbols: the names and addresses of functions.
    Symbols,
}

impl<'d> Description<'d> {
    /// The description of an object without DWARF; `None` if it has no BTF either.
    pub fn without_dwarf(object: &Elf<'d>) -> Option<Self> {
        let btf = object.section(".BTF").map(|s| s.raw()).filter(|data| !data.is_empty());
        btf.map(Self::Btf)
    }
}

/// The symbol table of a stripped kernel: its embedded kallsyms, or the `System.map` for `path`. Sizes come from the
/// machine code. Errors are appended to `faults`.
pub fn recovered_symbols(object: &Elf<'_>, path: &Path, faults: &mut Vec<Error>) -> Option<SymbolTable> {
    if object.is_relocatable || !object.symbols.is_empty() || !object.has_some_code() {
        return None;
    }
    if let Some(listed) = object.section(live::LISTED) {
        let mut table = SymbolTable::new(object, symbol_table::lines(listed.raw()));
        code::measure(object, &mut table);
        return Some(table);
    }
    let mut or_fault = |table: Result<Option<SymbolTable>>| {
        table.unwrap_or_else(|error| {
            faults.push(error);
            None
        })
    };
    let own = or_fault(SymbolTable::embedded(object));
    let mut table = or_fault(SymbolTable::of_system_map(object, path, own.as_ref())).or(own)?;
    code::measure(object, &mut table);
    Some(table)
}

/// Rules of the kernel that cannot be detected without DWARF: only always-inlined functions reveal them. They are
/// assumed to apply, because nothing the kernel refuses may be called ok. All kernels since 6.6 refuse prefixes, and
/// older ones have none. `may_check`: nothing proves that the kernel does not refuse notrace functions (no configuration, and so maybe
/// no CONFIG_KPROBE_EVENTS_ON_NOTRACE).
pub fn undetectable_rules(object: &Elf<'_>, may_check: bool) -> u32 {
    let names = if object.section(live::NAMES_ONLY).is_some() { ObjectRecord::NAMES_ONLY } else { 0 };
    let notrace = if may_check { ObjectRecord::REFUSES_NOTRACE } else { 0 };
    ObjectRecord::REFUSES_PREFIXES | notrace | names
}

/// Replaces `faults` by one error, for a kernel without readable code: none of its tables can be read. Of the running kernel it says
/// why its memory does not show them.
pub fn without_image(object: &Elf<'_>, faults: &mut Vec<Error>) {
    let why = object.section(live::NO_CODE).map(|s| format!(" ({})", String::from_utf8_lossy(s.raw())));
    let why = why.unwrap_or_default();
    let what =
        format!("the kernel's code cannot be read{why}: whether its places can be probed is undecided");
    *faults = vec![
        Error::new(ErrorKind::MissingPart, what)
            .hint("give its boot image, or build as root where only root may read that"),
    ];
}

/// The error for a kernel whose code is from memory: its tracepoints are not read there.
pub fn without_tracepoints() -> Error {
    let what = "the code is from the memory of the running kernel, and tracepoints are not read there";
    Error::new(ErrorKind::MissingPart, what).hint("give its boot image, or the vmlinux of its debug package")
}

/// Reads the BTF of the kernel: a batch, and the base that its modules refer to.
pub fn kernel(data: &[u8], object: &Elf<'_>) -> (Batch, Option<Base>) {
    let symbols = symbols::functions(object);
    match btf::kernel(data, Object { number: 0, name: "", machine: object.machine, symbols: &symbols }) {
        Ok((batch, base)) => (batch, Some(base)),
        Err(fault) => (Batch { faults: vec![(0, fault)], ..Batch::default() }, None),
    }
}

/// Reads the BTF of a module into a batch.
pub fn module(base: &Base, batch: &mut Batch, data: &[u8], object: &Elf<'_>, number: u32, name: &str) {
    let symbols = symbols::functions(object);
    let excerpt = object.section(btf::excerpt::SECTION).map(|s| s.raw());
    let of = Object { number, name, machine: object.machine, symbols: &symbols };
    if let Err(fault) = base.module(batch, data, excerpt, of) {
        batch.faults.push((number, fault));
    }
}

/// The BTF of a kernel that also has DWARF, from the debug file or the file with the code.
pub fn of_prototypes(objects: &[&Elf<'_>], faults: &mut Vec<Error>) -> Option<Base> {
    let base = Base::of_prototypes(section(objects, ".BTF")?);
    base.map_err(|fault| faults.push(in_section(&fault))).ok()
}

/// The structs of the kernel's tables from its BTF, in the debug file or the file with the code. Errors are dropped
/// here: [`of_prototypes`] reads the same section and reports them.
pub fn shapes(objects: &[&Elf<'_>]) -> Shapes {
    section(objects, ".BTF").and_then(|data| btf::shapes(data).ok()).unwrap_or_default()
}

/// What the BTF of a module says.
pub struct OfModule {
    pub prototypes: Prototypes,
    pub named: Vec<Named>,
    /// See [`marks`].
    pub marks: Vec<(Vec<u8>, u16)>,
}

/// Reads the BTF of a module; `None` if it has none, or it is damaged.
pub fn of_module(
    base: &Base,
    object: &Elf<'_>,
    code: &Elf<'_>,
    interner: &Interner,
    faults: &mut Vec<Error>,
) -> Option<OfModule> {
    let objects = [object, code];
    let (data, excerpt) = (section(&objects, ".BTF")?, section(&objects, btf::excerpt::SECTION));
    let read = base.of_module(data, excerpt, |prototypes, named, name_of| OfModule {
        prototypes: Prototypes::of(prototypes, interner),
        named,
        marks: marks::read(object, code, true, name_of),
    });
    read.map_err(|fault| faults.push(in_section(&fault))).ok()
}

/// What is known of the BTF of an object, from the debug file and the file with the code: that it was read, that there
/// is none, or neither. The linker allocates that of vmlinux, so that even a debug file has the section, without bytes
/// (`BTF`, include/asm-generic/vmlinux.lds.h); that of a module is in the file that is loaded.
pub fn btf_flags(objects: &[&Elf<'_>], is_read: bool, is_linked: bool, config: Option<&KernelConfig>) -> u32 {
    let has_section = objects.iter().any(|object| object.section(".BTF").is_some());
    let is_complete = is_linked || objects.iter().any(|object| object.has_some_code());
    match (is_read, has_section) {
        (true, _) => ObjectRecord::BTF,
        (false, true) => 0,
        (false, false) if is_complete || config.is_some_and(|c| !c.has("DEBUG_INFO_BTF")) => {
            ObjectRecord::NO_BTF
        }
        (false, false) => 0,
    }
}

fn section<'d>(objects: &[&Elf<'d>], name: &str) -> Option<&'d [u8]> {
    let sections = objects.iter().filter_map(|object| object.section(name));
    sections.map(|s| s.raw()).find(|bytes| !bytes.is_empty())
}

fn in_section(fault: &Fault) -> Error {
    let what = format!("prototypes are not compared: {}", fault.what);
    Error::new(fault.kind, what).section(fault.section).offset(fault.offset as u64)
}
