//! What a kernel offers to BPF programs: kfuncs, LSM hooks, iterators, struct_ops, functions whose result can be modified,
//! helpers, and types of programs, attachments and maps.
//!
//! Kfuncs, hooks and functions that may fail are those that the kernel's own lists name
//! ([`FunctionRecord::KFUNC`]); for which types of programs a kfunc is registered is decided by code, and not in the index:
//! [`kfuncs`] has it as measured.
//! An iterator has a function in BTF (`bpf_iter_task`), a struct_ops has a struct
//! (`bpf_struct_ops_tcp_congestion_ops`), and what has numbers is in the enumerations of include/uapi/linux/bpf.h.
pub mod kfuncs;
mod measured;

use crate::pattern::Pattern;
use crate::query::index::functions;
use crate::query::types::c_declaration::declare;
use crate::query::types::lookup;
use probeidx_format::View;
use probeidx_format::id::FunctionId;
use probeidx_format::record::FunctionRecord;
use probeidx_format::types::TypeKind;

/// A kind of offer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A function that programs may call.
    Kfunc,
    /// A function that programs may call by its number.
    Helper,
    /// A hook of the security modules.
    Lsm,
    /// What an iterator walks over.
    Iterator,
    /// A table of functions that programs can implement.
    StructOps,
    /// A function whose result a program can modify (fmod_ret).
    FmodRet,
    /// A type of programs.
    Program,
    /// A type of attachments.
    Attach,
    /// A type of maps.
    Map,
}

impl Kind {
    /// All kinds, in the order of their listing.
    pub const ALL: [Self; 9] = [
        Self::Kfunc,
        Self::Helper,
        Self::Lsm,
        Self::Iterator,
        Self::StructOps,
        Self::FmodRet,
        Self::Program,
        Self::Attach,
        Self::Map,
    ];

    /// The name on the command line, in text and JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Kfunc => "kfunc",
            Self::Helper => "helper",
            Self::Lsm => "lsm",
            Self::Iterator => "iter",
            Self::StructOps => "struct_ops",
            Self::FmodRet => "fmod_ret",
            Self::Program => "program",
            Self::Attach => "attach",
            Self::Map => "map",
        }
    }

    /// The enumeration and the start of the names of what has numbers.
    fn numbered(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Helper => Some(("bpf_func_id", "BPF_FUNC_")),
            Self::Program => Some(("bpf_prog_type", "BPF_PROG_TYPE_")),
            Self::Attach => Some(("bpf_attach_type", "BPF_")),
            Self::Map => Some(("bpf_map_type", "BPF_MAP_TYPE_")),
            _ => None,
        }
    }
}

/// Something that programs can use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Offer {
    /// Its kind.
    pub kind: Kind,
    /// As programs name it: `bpf_task_acquire`, `file_open`, `task`, `tcp_congestion_ops`, `ringbuf`.
    pub name: String,
    /// The module that has it; `None` for vmlinux.
    pub module: Option<String>,
    /// The prototype of a function, in C; empty for what is none.
    pub declaration: String,
    /// The number in the kernel's interface.
    pub number: Option<i64>,
    /// Which programs may call it, of a kfunc.
    pub programs: Option<kfuncs::Programs>,
    /// Whether no program can be attached to it (`bpf_lsm_disabled_hooks`).
    pub is_disabled: bool,
}

/// The offers of a kind whose names match, sorted by name. Cost: a walk over all functions, for kinds that are functions.
pub fn offers(view: &View<'_>, kind: Kind, pattern: &Pattern) -> Vec<Offer> {
    let mut found = match kind {
        Kind::Kfunc => functions_with(view, kind, |f, _| f.has(FunctionRecord::KFUNC)),
        Kind::FmodRet => functions_with(view, kind, |f, name| {
            f.has(FunctionRecord::MAY_FAIL)
                || name.starts_with(b"security_") && f.has(FunctionRecord::EXTERNAL)
        }),
        Kind::Lsm => functions_with(view, kind, |f, _| f.has(FunctionRecord::LSM_HOOK)),
        Kind::Iterator => functions_with(view, kind, |_, name| name.starts_with(ITERATOR)),
        Kind::StructOps => struct_ops(view),
        Kind::Helper | Kind::Program | Kind::Attach | Kind::Map => numbered(view, kind),
    };
    found.retain(|offer| pattern.matches(offer.name.as_bytes()));
    found.sort_by(|a, b| (&a.name, &a.module).cmp(&(&b.name, &b.module)));
    found.dedup_by(|b, a| (&a.name, &a.module) == (&b.name, &b.module));
    found
}

const LSM: &[u8] = b"bpf_lsm_";
const ITERATOR: &[u8] = b"bpf_iter_";
const STRUCT_OPS: &[u8] = b"bpf_struct_ops_";

fn functions_with(view: &View<'_>, kind: Kind, wanted: impl Fn(FunctionRecord, &[u8]) -> bool) -> Vec<Offer> {
    let start: &[u8] = match kind {
        Kind::Lsm => LSM,
        Kind::Iterator => ITERATOR,
        _ => b"",
    };
    let all = functions::names_starting(view, start);
    let mut found = vec![];
    for at in all {
        let Some(name) = view.names.get(at) else { continue };
        let text = view.string(name.name);
        for function in view.functions_named(probeidx_format::id::NameId::new(at as u32)) {
            let Some(record) = view.functions.get(function).filter(|record| wanted(*record, text)) else {
                continue;
            };
            // Structs of iterators have functions of their own, which are no targets.
            let Some(module) = home(view, FunctionId::new(function as u32)) else { continue };
            if kind == Kind::Iterator && !is_iterator(view, record) {
                continue;
            }
            found.push(Offer {
                kind,
                name: String::from_utf8_lossy(&text[start.len()..]).into_owned(),
                module,
                declaration: prototype(view, record, text),
                programs: (kind == Kind::Kfunc).then(|| kfuncs::Programs::of(view, text)),
                number: None,
                is_disabled: record.has(FunctionRecord::DISABLED_HOOK),
            });
        }
    }
    found
}

/// The module of a function with an entry of its own; an empty answer for vmlinux.
fn home(view: &View<'_>, function: FunctionId) -> Option<Option<String>> {
    let place = view.places_of_function(function).find(|id| {
        view.places
            .get(id.index())
            .is_some_and(|place| place.entry.get() != 0 && view.outer(*id, place).is_none())
    })?;
    let object = view.object_of_place(place);
    let name = view.string(view.objects.get(object.index())?.name);
    Some((!name.is_empty()).then(|| String::from_utf8_lossy(name).into_owned()))
}

/// Whether a function is declared as a target is: it returns a number, and the first parameter is `struct bpf_iter_meta *`
/// (`DEFINE_BPF_ITER_FUNC`, include/linux/bpf.h).
fn is_iterator(view: &View<'_>, record: FunctionRecord) -> bool {
    let returned = view.variables(record).return_type.and_then(|id| lookup::kind(view, id));
    if returned != Some(TypeKind::Base) {
        return false;
    }
    let first = view.variables(record).find(|v| v.parameter).and_then(|v| v.type_id);
    let target =
        first.and_then(|id| lookup::stripped(view, id)).and_then(|(_, pointer)| pointer.target.some());
    let pointee = target.and_then(|id| lookup::stripped(view, id));
    pointee.is_some_and(|(_, record)| view.string(record.name) == b"bpf_iter_meta")
}

/// A function as C declares it.
fn prototype(view: &View<'_>, record: FunctionRecord, name: &[u8]) -> String {
    let variables = view.variables(record);
    let returned = variables.return_type;
    let mut parameters: Vec<String> = variables
        .parameters()
        .map(|v| declare(view, v.type_id, &String::from_utf8_lossy(view.string(v.name))))
        .collect();
    if record.has(FunctionRecord::VARIADIC) {
        parameters.push("...".to_owned());
    }
    if parameters.is_empty() {
        parameters.push("void".to_owned());
    }
    let name = format!("{}({})", String::from_utf8_lossy(name), parameters.join(", "));
    declare(view, returned, &name)
}

/// The structs that the kernel makes for each table (`register_bpf_struct_ops`, since 6.9; before, one per table by a macro).
fn struct_ops(view: &View<'_>) -> Vec<Offer> {
    let is_struct = |kind: u8| TypeKind::from_u8(kind) == TypeKind::Struct;
    let tables = lookup::starting(view, STRUCT_OPS)
        .filter(|(_, record)| is_struct(record.kind))
        .map(|(_, record)| &view.string(record.name)[STRUCT_OPS.len()..]);
    // Some are no tables: the head that all have in common.
    let is_table = |name: &&[u8]| !lookup::named(view, name, Some(TypeKind::Struct)).is_empty();
    let offer = |name: &[u8]| Offer {
        kind: Kind::StructOps,
        name: String::from_utf8_lossy(name).into_owned(),
        module: None,
        declaration: format!("struct {}", String::from_utf8_lossy(name)),
        programs: None,
        number: None,
        is_disabled: false,
    };
    tables.filter(is_table).map(offer).collect()
}

fn numbered(view: &View<'_>, kind: Kind) -> Vec<Offer> {
    let Some((of, start)) = kind.numbered() else { return vec![] };
    let Some(found) = lookup::named(view, of.as_bytes(), Some(TypeKind::Enum)).into_iter().next() else {
        return vec![];
    };
    let offer = |name: &[u8], value: i64| {
        let text = String::from_utf8_lossy(name.strip_prefix(start.as_bytes())?).into_owned();
        let helper = (kind == Kind::Helper).then(|| format!("bpf_{text}"));
        Some(Offer {
            kind,
            name: helper.unwrap_or_else(|| text.to_lowercase()),
            module: None,
            declaration: String::new(),
            programs: None,
            number: Some(value),
            is_disabled: false,
        })
    };
    let members = view.members(found);
    members.iter().filter_map(|member| offer(view.string(member.name), member.value.get())).collect()
}
