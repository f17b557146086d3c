//! Functions, and what their instructions refer to.
use crate::btf::Ext;
use crate::elf::{self, Elf};
use crate::error::{Error, Result, shown};
use crate::instruction::Instruction;
use crate::object::{Reference, in_section};
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
        let function = Function {
            name: symbol.name,
            section: name.unwrap_or(section.name),
            full_section: section.name,
            autoload: name.is_none(),
            is_subprogram,
            is_global: is_global && !symbol.is_hidden(),
            section_index: index,
            start: u32::try_from(symbol.value / 8).unwrap_or(u32::MAX),
            code: Vec::new(),
            references: Vec::new(),
            type_id: None,
        };
        found.push((function, code));
    }
    found.sort_by_key(|(function, _)| (function.section_index, function.start));
    // Of two names for one place libbpf takes any.
    found.dedup_by_key(|(function, _)| (function.section_index, function.start));
    for w in found.windows(2) {
        let ((first, code), (second, _)) = (&w[0], &w[1]);
        let end = u64::from(first.start) + (code.len() / 8) as u64;
        if first.section_index == second.section_index && end > second.start.into() {
            let place = format!("function {}", shown(second.name));
            return Err(Error::damaged(place, format!("it starts within {}", shown(first.name))));
        }
    }
    let decoded = found.into_iter().map(|(mut function, code)| {
        let (instructions, _) = code.as_chunks::<8>();
        function.code = instructions.iter().map(|&bytes| Instruction::decode(bytes, elf.order)).collect();
        function
    });
    Ok(decoded.collect())
}

/// The function that holds an instruction of a section (`find_prog_by_sec_insn`).
pub(super) fn at(functions: &[Function<'_>], section: usize, slot: u64) -> Option<FunctionId> {
    let after = functions.partition_point(|f| (f.section_index, u64::from(f.start)) <= (section, slot));
    let index = after.checked_sub(1)?;
    functions[index].contains(section, slot).then_some(FunctionId(index as u32))
}

/// Sets the types of functions from `.BTF.ext`.
pub(super) fn set_types(elf: &Elf<'_>, ext: &Ext<'_>, functions: &mut [Function<'_>]) {
    for (index, section) in elf.sections.iter().enumerate() {
        if section.flags & elf::SHF_EXECINSTR == 0 {
            continue;
        }
        // Of several sections with one name, the records are the first one's.
        if elf.section(section.name) != Some(index) {
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
