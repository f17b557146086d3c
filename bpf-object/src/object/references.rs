//! What instructions refer to.
use crate::elf::{self, Elf, Symbol};
use crate::error::{Error, Result, shown};
use crate::instruction::Instruction;
use crate::object::code::{self, Function, FunctionId};
use crate::object::{Extern, Image, Map, MapOrigin, in_section};
use rustc_hash::FxHashMap;

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

/// All that can be referred to.
pub(super) struct Targets<'t, 'a> {
    elf: &'t Elf<'a>,
    text: Option<usize>,
    /// By the number of the symbol.
    externs: FxHashMap<u32, u32>,
    /// By section and offset.
    maps: FxHashMap<(usize, u64), u32>,
    /// By section.
    images: FxHashMap<usize, u32>,
}

impl<'t, 'a> Targets<'t, 'a> {
    pub(super) fn new(
        elf: &'t Elf<'a>,
        maps: &[Map<'_>],
        externs: &[Extern<'_>],
        images: &[Image<'_>],
    ) -> Self {
        let numbers = || 0u32..;
        let place = |map: &Map<'_>| match map.origin {
            MapOrigin::Btf { section, offset } | MapOrigin::Legacy { section, offset } => {
                (section as usize, u64::from(offset))
            }
        };
        Self {
            elf,
            text: elf.section(b".text"),
            externs: externs.iter().map(|external| external.symbol).zip(numbers()).collect(),
            maps: maps.iter().map(place).zip(numbers()).collect(),
            images: images.iter().map(|image| image.section).zip(numbers()).collect(),
        }
    }

    /// Notes what instructions refer to: by relocations, and calls within a section, which have none.
    pub(super) fn refer(&self, functions: &mut [Function<'_>], refused: &mut Vec<Error>) -> Result<()> {
        let elf = self.elf;
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
                let symbol =
                    elf.symbol(rel.symbol).ok_or_else(|| broken("a relocation against no symbol"))?;
                if rel.offset % 8 != 0 || rel.offset >= code.size {
                    return Err(broken("a relocation outside of the section it relocates"));
                }
                // Code of weak functions that another object replaced has no symbol: libbpf skips it too.
                let Some(id) = code::at(functions, target, rel.offset / 8) else { continue };
                let function = &functions[id.0 as usize];
                let slot = (rel.offset / 8) as u32 - function.start;
                let instruction = function.code[slot as usize];
                let reference = self.reference(functions, instruction, rel.symbol, symbol);
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
            let calls = local_calls(functions, index, self.text, refused);
            functions[index].references.extend(calls);
            functions[index].references.sort_by_key(|&(slot, _)| slot);
        }
        Ok(())
    }

    /// What a relocation refers to (`bpf_program__record_reloc`).
    fn reference(
        &self,
        functions: &[Function<'_>],
        instruction: Instruction,
        number: u32,
        symbol: Symbol<'_>,
    ) -> std::result::Result<Reference, &'static str> {
        let is_call = instruction.code == Instruction::CALL;
        if !is_call && !instruction.is_wide() {
            return Err("a relocation of an instruction that is neither a call nor a 64-bit load");
        }
        if let Some(&external) = self.externs.get(&number) {
            return Ok(Reference::Extern(external));
        }
        let section = usize::from(symbol.section);
        let imm = i64::from(instruction.imm);
        let function = |distance: i64| {
            let slot = symbol.value.checked_add_signed(distance)? / 8;
            code::at(functions, self.text?, slot)
        };
        if is_call {
            let target = if Some(section) == self.text { function((imm + 1) * 8) } else { None };
            return target.map(Reference::Call).ok_or("a call of what is not in .text");
        }
        let Some(target) = self.elf.sections.get(section).filter(|_| section != 0) else {
            return Err("a reference to what is not defined");
        };
        let is_function = matches!(symbol.kind(), elf::STT_FUNC | elf::STT_SECTION);
        if Some(section) == self.text && is_function {
            return function(imm)
                .map(Reference::FunctionAddress)
                .ok_or("the address of what is not a function");
        }
        if let Some(&image) = self.images.get(&section) {
            let offset = u32::try_from(symbol.value.wrapping_add_signed(imm)).unwrap_or(u32::MAX);
            return Ok(Reference::Data(image, offset));
        }
        match target.name {
            b".jumptables" => return Ok(Reference::JumpTable(symbol.value as u32)),
            b".addr_space.1" => return Ok(Reference::Arena),
            _ => {}
        }
        let map = self.maps.get(&(section, symbol.value));
        map.map(|&map| Reference::Map(map)).ok_or("a reference to what is no map")
    }
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
        let callee = u64::try_from(target).ok().and_then(|target| code::at(functions, text?, target));
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
