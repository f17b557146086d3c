//! Functions, and what their instructions refer to.
use crate::btf::Ext;
use crate::elf::{self, Elf, Symbol};
use crate::error::{Error, Result, shown};
use crate::instruction::Instruction;
use crate::object::{Extern, Image, Map, MapOrigin, in_section};
use crate::types::TypeId;

/// The number of a function in [`Object::functions`](crate::object::Object::functions).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FunctionId(pub u32);

/// A program or subprogram.
#[derive(Clone, Debug)]
pub struct Function<'a> {
    /// The name of its symbol.
    pub name: &'a [u8],
    /// The name of its section without a `?` at its start: what [`section::read`](crate::section::read) reads.
    pub section: &'a [u8],
    /// The name of its section as it is in the file.
    pub(crate) full_section: &'a [u8],
    /// Whether libbpf loads it by default: `SEC("?…")` says no.
    pub autoload: bool,
    /// Whether it stands in `.text`: then it is loaded with the programs that call it.
    pub is_subprogram: bool,
    /// Whether it is global and not hidden: the verifier then checks it by itself, for any arguments of its types.
    pub is_global: bool,
    /// The number of its section.
    pub(crate) section_index: usize,
    /// Its first instruction in the section, in slots of 8 bytes.
    pub start: u32,
    /// Its instructions. A load of a 64-bit constant takes two.
    pub code: Vec<Instruction>,
    /// What instructions refer to, by instruction, ascending.
    pub references: Vec<(u32, Reference)>,
    /// Its type, of kind [`Function`](crate::types::Kind::Function).
    pub type_id: Option<TypeId>,
}

/// What an instruction refers to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reference {
    /// A map, by its number in [`Object::maps`](crate::object::Object::maps).
    Map(u32),
    /// A place in a global variable: the number in [`Object::images`](crate::object::Object::images), and the offset.
    Data(u32, u32),
    /// An extern, by its number in [`Object::externs`](crate::object::Object::externs). Of a call: a kfunc.
    Extern(u32),
    /// A subprogram is called.
    Call(FunctionId),
    /// A subprogram's address is taken, for helpers that call it.
    FunctionAddress(FunctionId),
    /// A table for an indirect jump, by its offset in `.jumptables`.
    JumpTable(u32),
    /// A variable in a map of type arena.
    Arena,
}

impl Function<'_> {
    /// What an instruction refers to.
    pub fn reference(&self, instruction: u32) -> Option<Reference> {
        let index = self.references.binary_search_by_key(&instruction, |&(at, _)| at).ok()?;
        Some(self.references[index].1)
    }

    fn contains(&self, section: usize, slot: u64) -> bool {
        let start = u64::from(self.start);
        self.section_index == section && (start..start + self.code.len() as u64).contains(&slot)
    }
}

/// The functions of all sections with code (`bpf_object__add_programs`).
pub(super) fn functions<'a>(elf: &Elf<'a>, refused: &mut Vec<Error>) -> Result<Vec<Function<'a>>> {
    let mut found = Vec::new();
    for symbol in elf.symbols() {
        let index = usize::from(symbol.section);
        let Some(section) = elf.sections.get(index) else { continue };
        let is_code = section.kind == elf::SHT_PROGBITS && section.flags & elf::SHF_EXECINSTR != 0;
        if !is_code || symbol.kind() != elf::STT_FUNC || section.data.is_empty() {
            continue;
        }
        let place = || format!("function {} in {}", shown(symbol.name), in_section(section));
        let code = symbol.value.checked_add(symbol.size).and_then(|end| {
            section.data.get(usize::try_from(symbol.value).ok()?..usize::try_from(end).ok()?)
        });
        let code = code.ok_or_else(|| Error::truncated(place(), "it reaches past the end of the section"))?;
        if code.is_empty() || code.len() % 8 != 0 || symbol.value % 8 != 0 {
            return Err(Error::damaged(place(), "its code is not made of instructions of 8 bytes"));
        }
        let is_subprogram = section.name == b".text";
        let is_global = symbol.binding() != elf::STB_LOCAL;
        if !is_subprogram && !is_global {
            refused.push(Error::refused(
                place(),
                "libbpf does not take static programs",
                "make the function global",
            ));
        }
        let name = section.name.strip_prefix(b"?");
        let (instructions, _) = code.as_chunks::<8>();
        found.push(Function {
            name: symbol.name,
            section: name.unwrap_or(section.name),
            full_section: section.name,
            autoload: name.is_none(),
            is_subprogram,
            is_global: is_global && !symbol.is_hidden(),
            section_index: index,
            start: u32::try_from(symbol.value / 8).unwrap_or(u32::MAX),
            code: instructions.iter().map(|&bytes| Instruction::decode(bytes, elf.order)).collect(),
            references: Vec::new(),
            type_id: None,
        });
    }
    found.sort_by_key(|function| (function.section_index, function.start));
    if found.windows(2).any(|w| w[0].section_index == w[1].section_index && w[0].start == w[1].start) {
        // Aliases: libbpf takes that for impossible, and one of them at will.
        found.dedup_by(|b, a| a.section_index == b.section_index && a.start == b.start);
    }
    Ok(found)
}

/// The function that holds an instruction of a section (`find_prog_by_sec_insn`).
pub(super) fn at(functions: &[Function<'_>], section: usize, slot: u64) -> Option<FunctionId> {
    let after = functions.partition_point(|f| (f.section_index, u64::from(f.start)) <= (section, slot));
    let index = after.checked_sub(1)?;
    functions[index].contains(section, slot).then_some(FunctionId(index as u32))
}

/// Notes what instructions refer to: by relocations, and calls within a section, which have none.
pub(super) fn refer(
    elf: &Elf<'_>,
    functions: &mut [Function<'_>],
    maps: &[Map<'_>],
    externs: &[Extern<'_>],
    images: &[Image<'_>],
    refused: &mut Vec<Error>,
) -> Result<()> {
    let text = elf.section(b".text");
    for section in elf.sections.iter().filter(|section| section.kind == elf::SHT_REL) {
        let target = section.info as usize;
        let Some(code) = elf.sections.get(target) else {
            return Err(Error::damaged(in_section(section), "it relocates a section that is not there"));
        };
        if code.flags & elf::SHF_EXECINSTR == 0 {
            continue;
        }
        for rel in elf.rels(section) {
            let broken = |what| Error::damaged(in_section(section), what);
            let symbol = elf.symbol(rel.symbol).ok_or_else(|| broken("a relocation against no symbol"))?;
            if rel.offset % 8 != 0 || rel.offset >= code.size {
                return Err(broken("a relocation outside of the section it relocates"));
            }
            // Code of weak functions that another object replaced has no symbol: libbpf skips it too.
            let Some(id) = at(functions, target, rel.offset / 8) else { continue };
            let function = &functions[id.0 as usize];
            let slot = (rel.offset / 8) as u32 - function.start;
            let instruction = function.code[slot as usize];
            let reference =
                reference(elf, functions, maps, externs, images, text, instruction, rel.symbol, symbol);
            let function = &mut functions[id.0 as usize];
            match reference {
                Ok(reference) => function.references.push((slot, reference)),
                Err(what) => refused.push(Error::refused(
                    format!("program {}, instruction {slot}", shown(function.name)),
                    format!("{what}: {}", shown(symbol.name)),
                    "declare it as a map, a global variable, a function of .text, or __ksym or __kconfig",
                )),
            }
        }
    }
    for index in 0..functions.len() {
        functions[index].references.sort_by_key(|&(slot, _)| slot);
        functions[index].references.dedup_by_key(|&mut (slot, _)| slot);
        let calls = local_calls(functions, index, text, refused);
        functions[index].references.extend(calls);
        functions[index].references.sort_by_key(|&(slot, _)| slot);
    }
    Ok(())
}

/// What a relocation refers to (`bpf_program__record_reloc`).
#[allow(clippy::too_many_arguments)]
fn reference(
    elf: &Elf<'_>,
    functions: &[Function<'_>],
    maps: &[Map<'_>],
    externs: &[Extern<'_>],
    images: &[Image<'_>],
    text: Option<usize>,
    instruction: Instruction,
    number: u32,
    symbol: Symbol<'_>,
) -> std::result::Result<Reference, &'static str> {
    let is_call = instruction.code == Instruction::CALL;
    if !is_call && !instruction.is_wide() {
        return Err("a relocation of an instruction that is neither a call nor a 64-bit load");
    }
    if let Some(index) = externs.iter().position(|external| external.symbol == number) {
        return Ok(Reference::Extern(index as u32));
    }
    let section = usize::from(symbol.section);
    let imm = i64::from(instruction.imm);
    let function = |byte: i64| {
        let slot = u64::try_from(byte).ok()? / 8;
        at(functions, text?, slot)
    };
    if is_call {
        let target = if Some(section) == text { function(symbol.value as i64 + (imm + 1) * 8) } else { None };
        return target.map(Reference::Call).ok_or("a call of what is not in .text");
    }
    let Some(target) = elf.sections.get(section).filter(|_| section != 0) else {
        return Err("a reference to what is not defined");
    };
    let is_function = matches!(symbol.kind(), elf::STT_FUNC | elf::STT_SECTION);
    if Some(section) == text && is_function {
        return function(symbol.value as i64 + imm)
            .map(Reference::FunctionAddress)
            .ok_or("the address of what is not a function");
    }
    let offset = |value: u64| u32::try_from(value.wrapping_add_signed(imm)).unwrap_or(u32::MAX);
    if let Some(image) = images.iter().position(|image| image.section == section) {
        return Ok(Reference::Data(image as u32, offset(symbol.value)));
    }
    match target.name {
        b".jumptables" => return Ok(Reference::JumpTable(symbol.value as u32)),
        b".addr_space.1" => return Ok(Reference::Arena),
        _ => {}
    }
    let is_map = |map: &Map<'_>| match map.origin {
        MapOrigin::Btf { section: at, offset } | MapOrigin::Legacy { section: at, offset } => {
            at as usize == section && u64::from(offset) == symbol.value
        }
    };
    maps.iter().position(is_map).map(|map| Reference::Map(map as u32)).ok_or("a reference to what is no map")
}

/// The calls of a function that have no relocation: within its section (`bpf_object__reloc_code`).
fn local_calls(
    functions: &[Function<'_>],
    index: usize,
    text: Option<usize>,
    refused: &mut Vec<Error>,
) -> Vec<(u32, Reference)> {
    let function = &functions[index];
    let mut calls = Vec::new();
    for (slot, instruction) in function.code.iter().enumerate() {
        let is_call = instruction.code == Instruction::CALL && instruction.src == Instruction::PSEUDO_CALL;
        if !is_call || function.reference(slot as u32).is_some() {
            continue;
        }
        let target = i64::from(function.start) + slot as i64 + i64::from(instruction.imm) + 1;
        let callee = u64::try_from(target).ok().and_then(|target| at(functions, text?, target));
        match callee {
            Some(callee) => calls.push((slot as u32, Reference::Call(callee))),
            None => refused.push(Error::refused(
                format!("program {}, instruction {slot}", shown(function.name)),
                "a call of what is not in .text",
                "leave subprograms without SEC()",
            )),
        }
    }
    calls
}

/// Sets the types of functions from `.BTF.ext`.
pub(super) fn set_types(elf: &Elf<'_>, ext: &Ext<'_>, functions: &mut [Function<'_>]) {
    for (index, section) in elf.sections.iter().enumerate() {
        if section.flags & elf::SHF_EXECINSTR == 0 {
            continue;
        }
        for record in ext.functions(section.name) {
            let slot = u64::from(record.offset / 8);
            if let Some(id) = at(functions, index, slot) {
                let function = &mut functions[id.0 as usize];
                if u64::from(function.start) == slot {
                    function.type_id = Some(record.type_id);
                }
            }
        }
    }
}
