//! What an object wants of the kernel by name: options, variables, kfuncs.
use crate::btf::Btf;
use crate::elf::{self, Elf};
use crate::error::{Error, shown};
use crate::types::{Kind, TypeId, Types, essential};
use rustc_hash::FxHashMap;

/// A declaration without a definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extern<'a> {
    /// Its name.
    pub name: &'a [u8],
    /// What is looked for in the kernel: the name without a flavour (`bpf_kfunc___v2`).
    pub essential: &'a [u8],
    /// Whether the object loads without it.
    pub is_weak: bool,
    /// What it is.
    pub kind: ExternKind,
    /// The number of its symbol.
    pub(crate) symbol: u32,
}

/// What an extern is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExternKind {
    /// An option of the kernel's configuration (`CONFIG_…`), or one of the values that libbpf makes: `LINUX_…`.
    Kconfig(KconfigType),
    /// A variable of the kernel with a type (behind modifiers): looked for in BTF.
    Variable(TypeId),
    /// A variable of the kernel of type `void`: looked for in `/proc/kallsyms`.
    Symbol,
    /// A kfunc, with its prototype.
    Kfunc(TypeId),
}

/// Which values of an option fit into its variable (`find_kcfg_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KconfigType {
    /// `y` and `n`; `m` does not fit.
    Bool,
    /// `y`, `n`, `m` and small numbers.
    Char,
    /// `enum libbpf_tristate`.
    Tristate,
    /// A number of this many bytes.
    Integer {
        /// In bytes.
        size: u32,
        /// Whether it may be negative.
        is_signed: bool,
    },
    /// A string of at most this many bytes, with its zero.
    Text(u32),
}

/// All externs, in the order of symbols (`bpf_object__collect_externs`).
pub(super) fn externs<'a>(elf: &Elf<'a>, btf: Option<&Btf<'a>>, refused: &mut Vec<Error>) -> Vec<Extern<'a>> {
    let mut found = Vec::new();
    let declared = btf.map(Declared::new);
    for (number, symbol) in elf.symbols().enumerate() {
        let is_extern = symbol.section == 0
            && matches!(symbol.binding(), elf::STB_GLOBAL | elf::STB_WEAK)
            && symbol.kind() == elf::STT_NOTYPE
            && !symbol.name.is_empty();
        if !is_extern {
            continue;
        }
        match declared.as_ref().ok_or("there is no BTF").and_then(|declared| declared.kind(symbol.name)) {
            Ok(kind) => found.push(Extern {
                name: symbol.name,
                essential: essential(symbol.name),
                is_weak: symbol.binding() == elf::STB_WEAK,
                kind,
                symbol: number as u32,
            }),
            Err(what) => refused.push(Error::refused(
                format!("extern {}", shown(symbol.name)),
                what,
                "declare it with __kconfig or __ksym, and compile with -g",
            )),
        }
    }
    found
}

/// The variables and functions of BTF.
struct Declared<'b, 'a> {
    btf: &'b Btf<'a>,
    /// The first of each name (`find_extern_btf_id`).
    names: FxHashMap<&'a [u8], TypeId>,
    /// In which data section each stands first.
    sections: FxHashMap<TypeId, &'a [u8]>,
}

impl<'b, 'a> Declared<'b, 'a> {
    fn new(btf: &'b Btf<'a>) -> Self {
        let (mut names, mut sections) = (FxHashMap::default(), FxHashMap::default());
        for id in btf.ids() {
            match btf.get(id) {
                Some(found) if matches!(found.kind, Kind::Variable | Kind::Function) => {
                    names.entry(btf.string_of(id)).or_insert(id);
                }
                Some(found) if found.kind == Kind::DataSection => {
                    for variable in (0..found.count).filter_map(|index| btf.variable(id, index)) {
                        sections.entry(variable.type_id).or_insert(btf.string_of(id));
                    }
                }
                _ => {}
            }
        }
        Self { btf, names, sections }
    }

    /// What the extern of a name is.
    fn kind(&self, name: &[u8]) -> Result<ExternKind, &'static str> {
        let btf = self.btf;
        let id = *self.names.get(name).ok_or("BTF does not have it")?;
        let found = btf.get(id).ok_or("BTF does not have it")?;
        // BTF_VAR_GLOBAL_EXTERN and BTF_FUNC_EXTERN are both 2.
        if found.detail != 2 {
            return Err("BTF says that it is no extern");
        }
        let section = *self.sections.get(&id).ok_or("it is in no section of BTF")?;
        let (resolved, target) = btf.resolve(found.target).ok_or("its type is damaged")?;
        match section {
            b".kconfig" if found.kind == Kind::Variable => kconfig_type(btf, found.target)
                .map(ExternKind::Kconfig)
                .ok_or("its type is none of an option"),
            b".ksyms" if found.kind == Kind::Function => Ok(ExternKind::Kfunc(found.target)),
            b".ksyms" if target.kind == Kind::Void => Ok(ExternKind::Symbol),
            b".ksyms" => Ok(ExternKind::Variable(resolved)),
            _ => Err("it is in another section than .kconfig and .ksyms"),
        }
    }
}

fn kconfig_type(btf: &Btf<'_>, id: TypeId) -> Option<KconfigType> {
    let (_, found) = btf.resolve(id)?;
    match found.kind {
        Kind::Int if found.encoding() & 4 != 0 => (found.size == 1).then_some(KconfigType::Bool),
        Kind::Int if found.size == 1 => Some(KconfigType::Char),
        Kind::Int if matches!(found.size, 2 | 4 | 8) => {
            Some(KconfigType::Integer { size: found.size, is_signed: found.is_signed() })
        }
        Kind::Enum if found.size == 4 && found.name == b"libbpf_tristate" => Some(KconfigType::Tristate),
        Kind::Enum64 if found.name == b"libbpf_tristate" => Some(KconfigType::Tristate),
        Kind::Array if found.count > 0 => {
            let is_char = btf.resolve(found.target).is_some_and(|(_, element)| {
                element.kind == Kind::Int && element.size == 1 && element.encoding() & 4 == 0
            });
            is_char.then_some(KconfigType::Text(found.count))
        }
        _ => None,
    }
}
