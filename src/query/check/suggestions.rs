//! Suggests replacements for what a kernel no longer has.
use probeidx_format::View;
use probeidx_format::id::{NameId, TypeId};
use probeidx_format::types::TypeKind;

use crate::error::ErrorKind;
use crate::nearest;
use crate::query::systemtap::derive::Failed;
use crate::query::types::lookup;
use crate::tapset::ast::{Component, Literal};

/// The largest number of suggestions.
const MOST: usize = 3;

/// The structs that have the member at which a path fails: `$page->slab_cache` may have moved to another struct. Cost:
/// linear in the members of all structs.
pub(super) fn of_member(view: &View<'_>, path: &str) -> Vec<String> {
    let Some((_, member)) = path.rsplit_once("->") else { return vec![] };
    let count = view.types.len().saturating_sub(1);
    let ids = (0..count).map(|id| TypeId::new(id as u32));
    let has = |id: &TypeId| {
        let aggregate = matches!(lookup::kind(view, *id), Some(TypeKind::Struct | TypeKind::Union));
        aggregate && view.members(*id).iter().any(|m| view.string(m.name) == member.as_bytes())
    };
    let mut names: Vec<String> = ids
        .filter(has)
        .filter_map(|id| {
            let name = String::from_utf8_lossy(view.string(view.types.get(id.index())?.name)).into_owned();
            (!name.is_empty()).then(|| format!("struct {name} has a member {member}"))
        })
        .collect();
    names.sort_unstable();
    names.dedup();
    // A member of many structs is no hint.
    if names.len() > MOST { vec![] } else { names }
}

/// Why a point fails, and replacements to suggest.
pub(super) fn of_failed(view: &View<'_>, failed: &Failed<'_>) -> (String, Vec<String>) {
    if let Some(name) = unknown_function(view, failed.components) {
        return (format!("no function {name}"), close_to(view, name));
    }
    let why = failed.why();
    let mut instead: Vec<_> = why.remedy().map(str::to_owned).into_iter().collect();
    if why.kind() != ErrorKind::Usage {
        instead.extend(of_function(view, failed.components));
    }
    (why.message().to_owned(), instead)
}

/// The function that a point requests of vmlinux, if nothing in the index has its name.
fn unknown_function<'c>(view: &View<'_>, components: &'c [Component]) -> Option<&'c str> {
    let [Component { name: head, .. }, Component { name: of, argument: Some(Literal::String(text)), .. }, ..] =
        components
    else {
        return None;
    };
    let name = text.split('@').next().unwrap_or(text);
    let is_plain = name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'.');
    (head == "kernel" && of == "function" && is_plain && view.name(name.as_bytes()).is_none()).then_some(name)
}

/// Names similar to that of a point's function.
fn of_function(view: &View<'_>, components: &[Component]) -> Vec<String> {
    let function = components.iter().find(|c| c.name == "function");
    let Some(Literal::String(text)) = function.and_then(|c| c.argument.as_ref()) else { return vec![] };
    close_to(view, text.split('@').next().unwrap_or(text))
}

/// Functions with similar names.
pub(super) fn close_to(view: &View<'_>, name: &str) -> Vec<String> {
    if name.contains(['*', '?', '[']) {
        return vec![];
    }
    let names = (0..view.names.len().saturating_sub(1))
        .filter(|id| !view.functions_named(NameId::new(*id as u32)).is_empty());
    nearest::nearest(name, names.map(|id| view.string(view.names.at(id).name)), MOST)
}
