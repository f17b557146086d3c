//! `.BTF.base`: the excerpt of the kernel's BTF that a module refers to if it was not built with the kernel, where
//! records have other numbers by now (pahole 1.28 and kernels since 6.11).
//!
//! It has integers, floats and enumerations; structs and unions only have their size, or are declared if nothing
//! depends on it. The kernel's types are found by kind, name and size, as `btf_relocate` does
//! (tools/lib/bpf/btf_relocate.c, 6.12).
use super::record::{Btf, Id, Record};
use super::types::{Keys, SALT, kind};
use crate::dwarf::strings::{Key, content_hash};
use probeidx_format::types::TypeKind;
use rustc_hash::FxHashMap;

/// The name of the section.
pub const SECTION: &str = ".BTF.base";

/// The kernel's keys for the types in an excerpt; `None` if the kernel has no such type, or several. Cost: a look at
/// each record of the kernel.
pub fn keys(excerpt: &Btf<'_>, kernel: &Btf<'_>, of_kernel: &Keys) -> Keys {
    let wanted: Vec<Option<Wanted<'_>>> = excerpt.own().map(|id| Wanted::of(&excerpt.record(id)?)).collect();
    let mut found: FxHashMap<Wanted<'_>, Option<Id>> =
        wanted.iter().flatten().map(|wanted| (*wanted, None)).collect();
    for id in kernel.own() {
        let Some(record) = kernel.record(id) else { continue };
        let Some(whole) = Wanted::of(&record) else { continue };
        for like in [whole, Wanted { size: None, ..whole }] {
            if let Some(at) = found.get_mut(&like) {
                // 0 is void: it marks several matches.
                *at = Some(if at.is_none() { id } else { Id::VOID });
            }
        }
    }
    let key = |wanted: Option<Wanted<'_>>| {
        let id = found.get(&wanted?).copied().flatten()?;
        *of_kernel.get(kernel.own_number(id)?)?
    };
    wanted.into_iter().map(key).collect()
}

/// The key of a type in an excerpt that the kernel lacks.
pub(super) fn key_of_unknown(record: &Record<'_>) -> Option<Key> {
    let Wanted { kind, name, size } = Wanted::of(record)?;
    Some(Key::new(kind as u64).with(SALT).with(content_hash(name)).with(size.map_or(u64::MAX, u64::from)))
}

/// The criteria of a match.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Wanted<'d> {
    kind: TypeKind,
    name: &'d [u8],
    /// `None` for a declaration.
    size: Option<u32>,
}

impl<'d> Wanted<'d> {
    fn of(record: &Record<'d>) -> Option<Self> {
        let kind = kind(record)?;
        let has_size = !record.is_forward();
        let is_described =
            matches!(kind, TypeKind::Base | TypeKind::Struct | TypeKind::Union | TypeKind::Enum);
        let wanted = Self { kind, name: record.name, size: has_size.then_some(record.word) };
        (is_described && !record.name.is_empty()).then_some(wanted)
    }
}
