//! Types by name, and types without typedefs and qualifiers.
use probeidx_format::id::TypeId;
use probeidx_format::record::TypeRecord;
use probeidx_format::types::TypeKind;
use probeidx_format::{SectionName, View};
use std::ops::Range;

/// The deepest chain of types; only damaged files have longer ones, which are cut.
pub(in crate::query) const DEEPEST: u32 = 64;

/// All definitions of `struct kmem_cache`, `union x`, `enum y`, or of `kmem_cache` of any kind, ordered by kind, file
/// and line; if there is none, the declarations. Base types may be spelled as in C (`unsigned long`). Cost: a binary
/// search.
pub fn find(view: &View<'_>, name: &str) -> Vec<TypeId> {
    let (kind, plain) = split(name);
    let mut found = named(view, plain.as_bytes(), kind);
    if found.is_empty() && kind.is_none() {
        found = named(view, base_type(plain).as_bytes(), Some(TypeKind::Base));
    }
    if found.iter().any(|t| !is_declared(view, *t)) {
        found.retain(|t| !is_declared(view, *t));
    }
    found
}

/// All types of this name and kind, including those that are only declared.
pub fn named(view: &View<'_>, name: &[u8], kind: Option<TypeKind>) -> Vec<TypeId> {
    let types = view.types.owners();
    let first = types.partition_point_of_key(is_before(view, name));
    let same = types.from(first).iter().take_while(|t| view.string(t.name) == name);
    let ids = (first as u32..).map(TypeId::new).zip(same);
    let asked = |t: TypeRecord| kind.is_none_or(|kind| TypeKind::from_u8(t.kind) == kind);
    // If the definitions of a name have more members than the index, they share members: the index is forged.
    let mut members = view.left(SectionName::Members);
    ids.filter(|(_, t)| !name.is_empty() && asked(*t))
        .map(|(id, _)| id)
        .take_while(|id| members.take(view.members(*id).len()))
        .collect()
}

/// Whether a type is sorted before a name: all with names are before those without.
fn is_before(view: &View<'_>, name: &[u8]) -> impl Fn(TypeRecord) -> bool {
    move |t| t.name.get() != 0 && view.string(t.name) < name
}

/// The types whose name starts with this, sorted by name. Cost: a binary search, and a look at each.
pub fn starting<'a>(view: &'a View<'a>, start: &[u8]) -> impl Iterator<Item = (TypeId, TypeRecord)> {
    let types = view.types.owners();
    let first = types.partition_point_of_key(is_before(view, start));
    let named = types.from(first).iter().take_while(|t| t.name.get() != 0);
    let same = named.take_while(move |t| view.string(t.name).starts_with(start));
    (first as u32..).map(TypeId::new).zip(same)
}

/// The sorted names of all types, or of all types of a kind, to find similar ones.
pub fn names<'a>(view: &View<'a>, kind: Option<TypeKind>) -> impl Iterator<Item = &'a str> {
    let asked = view
        .types
        .part(all_named(view))
        .iter()
        .filter(move |t| kind.is_none_or(|kind| TypeKind::from_u8(t.kind) == kind));
    asked.filter_map(move |t| std::str::from_utf8(view.string(t.name)).ok())
}

/// Splits `struct file` into a kind and a name.
pub fn split(name: &str) -> (Option<TypeKind>, &str) {
    const KINDS: [(&str, TypeKind); 5] = [
        ("struct", TypeKind::Struct),
        ("union", TypeKind::Union),
        ("enum", TypeKind::Enum),
        ("class", TypeKind::Class),
        ("typedef", TypeKind::Typedef),
    ];
    let name = name.trim();
    let of_kind = |(word, kind)| Some((Some(kind), name.strip_prefix(word)?.strip_prefix(' ')?.trim_start()));
    KINDS.into_iter().find_map(of_kind).unwrap_or((None, name))
}

/// The type without typedefs and qualifiers; `None` for void.
pub fn strip(view: &View<'_>, type_id: TypeId) -> Option<TypeId> {
    let types = view.types.owners();
    let mut at = type_id;
    for _ in 0..DEEPEST {
        let record = types.get(at.index())?;
        match TypeKind::from_u8(record.kind) {
            TypeKind::Typedef
            | TypeKind::Const
            | TypeKind::Volatile
            | TypeKind::Restrict
            | TypeKind::Atomic => at = record.target.some()?,
            _ => return Some(at),
        }
    }
    None
}

/// Like [`strip`], with the type's record.
#[inline]
pub(crate) fn stripped(view: &View<'_>, type_id: TypeId) -> Option<(TypeId, TypeRecord)> {
    let stripped = strip(view, type_id)?;
    Some((stripped, view.types.get(stripped.index())?))
}

/// The size in bytes; `None` for void, functions and types that are only declared. 0 for an array of unknown length.
pub fn size_of(view: &View<'_>, type_id: TypeId) -> Option<u64> {
    size_of_stripped(view, stripped(view, type_id)?)
}

/// Like [`size_of`], of what [`stripped`] gives.
pub(crate) fn size_of_stripped(view: &View<'_>, of: (TypeId, TypeRecord)) -> Option<u64> {
    size_at(view, of, 0)
}

fn size_at(view: &View<'_>, (type_id, record): (TypeId, TypeRecord), depth: u32) -> Option<u64> {
    let size = u64::from(record.size.get());
    match TypeKind::from_u8(record.kind) {
        _ if depth >= DEEPEST => None,
        TypeKind::Function | TypeKind::Unspecified => None,
        _ if has_no_definition(&record) || record.size.get() == u32::MAX => None,
        TypeKind::Array if size == 0 => {
            let element = size_at(view, stripped(view, record.target.some()?)?, depth + 1)?;
            let mut counts = view.members(type_id).iter().map(|m| m.value.get().max(0) as u64);
            counts.try_fold(element, u64::checked_mul)
        }
        // Compilers may omit the size of a pointer, which is that of an address.
        TypeKind::Pointer | TypeKind::Reference | TypeKind::RvalueReference if size == 0 => {
            Some(view.address_size().into())
        }
        _ => Some(size),
    }
}

/// The kind of a type; `None` if there is no such type.
pub fn kind(view: &View<'_>, type_id: TypeId) -> Option<TypeKind> {
    let types = view.types.owners();
    types.get(type_id.index()).map(|t| TypeKind::from_u8(t.kind))
}

/// Whether the index lacks the definition, or has several that cannot be distinguished.
pub fn is_declared(view: &View<'_>, type_id: TypeId) -> bool {
    view.types.get(type_id.index()).is_some_and(|t| has_no_definition(&t))
}

/// The same, given its record.
pub(crate) fn has_no_definition(record: &TypeRecord) -> bool {
    record.flags.get() & TypeRecord::DECLARED != 0
}

/// Whether the index has any type: it has none without debug information and BTF.
pub fn has_types(view: &View<'_>) -> bool {
    !all_named(view).is_empty()
}

/// The positions of the named types, sorted by name.
pub fn all_named(view: &View<'_>) -> Range<usize> {
    let types = view.types.owners();
    0..types.partition_point_of_key(|t| t.name.get() != 0)
}

/// The debug information's name of a base type as C spells it: `long unsigned int` for `unsigned long`.
fn base_type(spelled: &str) -> String {
    let (mut longs, mut short, mut sign, mut rest) = (0, false, None, vec![]);
    for word in spelled.split_whitespace() {
        match word {
            "long" => longs += 1,
            "short" => short = true,
            "signed" | "unsigned" => sign = Some(word),
            "int" => {}
            other => rest.push(other),
        }
    }
    let mut words = vec!["long"; longs];
    words.extend(short.then_some("short"));
    match rest[..] {
        [] => words.extend(sign.filter(|s| *s == "unsigned")),
        _ => words.extend(sign),
    }
    words.extend(if rest.is_empty() { vec!["int"] } else { rest });
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_and_a_name() {
        assert_eq!(split("struct  file "), (Some(TypeKind::Struct), "file"));
        assert_eq!(split("union x"), (Some(TypeKind::Union), "x"));
        assert_eq!(split("structure"), (None, "structure"));
        assert_eq!(split("unsigned long"), (None, "unsigned long"));
    }

    #[test]
    fn base_types_as_debug_information_names_them() {
        for (spelled, named) in [
            ("unsigned long", "long unsigned int"),
            ("unsigned", "unsigned int"),
            ("long long", "long long int"),
            ("unsigned long long int", "long long unsigned int"),
            ("short", "short int"),
            ("signed char", "signed char"),
            ("unsigned char", "unsigned char"),
            ("signed int", "int"),
            ("long double", "long double"),
        ] {
            assert_eq!(base_type(spelled), named);
        }
    }
}
