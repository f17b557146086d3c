//! Explains why a type was not found.
use super::Missing;
use crate::nearest;
use crate::query::types::c_declaration::keyword;
use crate::query::types::lookup;
use probeidx_format::View;
use probeidx_format::types::TypeKind;

/// Explains an unknown type name: another kind has it, or there are similar names.
pub fn missing(view: &View<'_>, name: &str) -> Missing {
    if !lookup::has_types(view) {
        let what = format!("no type {name}: neither debug information nor BTF has the kernel's types");
        return Missing::unknown(what, vec![]);
    }
    let (kind, plain) = lookup::split(name);
    let others = lookup::named(view, plain.as_bytes(), None);
    let spelled = |kind: TypeKind, name: &str| match keyword(kind) {
        Some(word) => format!("{word} {name}"),
        None => name.to_owned(),
    };
    let mut near: Vec<String> =
        others.iter().filter_map(|t| Some(spelled(lookup::kind(view, *t)?, plain))).collect();
    near.dedup();
    if near.is_empty() {
        near = nearest::nearest(plain, lookup::names(view, kind), 5);
        let of_kind = |name: &String| {
            let first = lookup::named(view, name.as_bytes(), kind).into_iter().next();
            first.and_then(|t| lookup::kind(view, t)).map(|kind| spelled(kind, name))
        };
        near = near.iter().filter_map(of_kind).collect();
    }
    Missing { is_known: !others.is_empty(), ..Missing::unknown(format!("no type {name}"), near) }
}
