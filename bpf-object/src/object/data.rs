//! Global variables and their initial values.
use crate::btf::Btf;
use crate::elf::{self, Elf};
use crate::types::{Kind, TypeId, Types};
use rustc_hash::FxHashMap;

/// A section of global variables.
#[derive(Clone, Debug)]
pub struct Image<'a> {
    /// The name of the section: `.rodata`, `.data.x`, …
    pub name: &'a [u8],
    /// What it is for the kernel.
    pub kind: ImageKind,
    /// The number of its section.
    pub(crate) section: usize,
    /// The initial bytes; none for `.bss`.
    pub bytes: &'a [u8],
    /// In bytes.
    pub size: u64,
    /// The variables, by offset.
    pub variables: Vec<ImageVariable<'a>>,
}

/// Who may change a section of global variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageKind {
    /// Programs cannot write it, and the verifier takes its values for constants. The loader may set it before.
    ReadOnly,
    /// Programs may write it.
    Writable,
    /// Programs may write it, and it starts as zeros.
    Zeroed,
}

/// A variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageVariable<'a> {
    /// The name of its symbol.
    pub name: &'a [u8],
    /// In the section, in bytes.
    pub offset: u64,
    /// In bytes.
    pub size: u64,
    /// Its type in the object's BTF.
    pub type_id: Option<TypeId>,
    /// Whether it is declared volatile, or may be: in `.rodata` that says that the loader sets it before loading.
    pub is_volatile: bool,
}

impl<'a> Image<'a> {
    /// The variable at an offset.
    pub fn variable(&self, offset: u64) -> Option<&ImageVariable<'a>> {
        let after = self.variables.partition_point(|variable| variable.offset <= offset);
        let variable = &self.variables[after.checked_sub(1)?];
        (offset - variable.offset < variable.size).then_some(variable)
    }
}

/// The images of all sections that libbpf makes maps of (`bpf_object__elf_collect`).
pub(super) fn images<'a>(elf: &Elf<'a>, btf: Option<&Btf<'a>>) -> Vec<Image<'a>> {
    let is = |name: &[u8], base: &[u8]| {
        name.strip_prefix(base).is_some_and(|rest| rest.is_empty() || rest[0] == b'.')
    };
    let mut found = Vec::new();
    // The image of a section, by the section's number.
    let mut numbers = vec![None; elf.sections.len()];
    for (index, section) in elf.sections.iter().enumerate() {
        let kind = match section.kind {
            elf::SHT_PROGBITS if section.flags & elf::SHF_EXECINSTR != 0 || section.data.is_empty() => {
                continue;
            }
            elf::SHT_PROGBITS if is(section.name, b".rodata") => ImageKind::ReadOnly,
            elf::SHT_PROGBITS if is(section.name, b".data") => ImageKind::Writable,
            elf::SHT_NOBITS if is(section.name, b".bss") => ImageKind::Zeroed,
            _ => continue,
        };
        numbers[index] = Some(found.len());
        let (name, bytes, size) = (section.name, section.data, section.size);
        found.push(Image { name, kind, section: index, bytes, size, variables: Vec::new() });
    }
    let types = btf.map(variable_types).unwrap_or_default();
    for symbol in elf.symbols().filter(|symbol| symbol.kind() == elf::STT_OBJECT && symbol.size > 0) {
        let Some(number) = numbers.get(usize::from(symbol.section)).copied().flatten() else { continue };
        let image: &mut Image<'_> = &mut found[number];
        let type_id = types.get(&(image.name, symbol.name)).copied();
        image.variables.push(ImageVariable {
            name: symbol.name,
            offset: symbol.value,
            size: symbol.size,
            type_id,
            // Tables and texts that the compiler makes have no type. Without BTF nothing tells.
            is_volatile: btf.is_none_or(|btf| type_id.is_some_and(|id| is_volatile(btf, id))),
        });
    }
    found.iter_mut().for_each(|image| image.variables.sort_by_key(|variable| variable.offset));
    found
}

/// The types of variables, by data section and name.
fn variable_types<'a>(btf: &Btf<'a>) -> FxHashMap<(&'a [u8], &'a [u8]), TypeId> {
    let mut types = FxHashMap::default();
    for section in btf.ids() {
        let Some(list) = btf.get(section).filter(|found| found.kind == Kind::DataSection) else { continue };
        for index in 0..list.count {
            let variable = btf.variable(section, index).map(|variable| variable.type_id);
            if let Some((id, variable)) = variable.and_then(|id| Some((id, btf.get(id)?))) {
                types.entry((btf.string_of(section), btf.string_of(id))).or_insert(variable.target);
            }
        }
    }
    types
}

/// Whether a variable of this type is volatile; of arrays the element says it.
fn is_volatile(btf: &Btf<'_>, mut id: TypeId) -> bool {
    for _ in 0..64 {
        match btf.get(id) {
            Some(found) if found.kind == Kind::Volatile => return true,
            Some(found) if found.kind.is_alias() || found.kind == Kind::Array => id = found.target,
            _ => return false,
        }
    }
    false
}
