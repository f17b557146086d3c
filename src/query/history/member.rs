//! Facts of types and members.
use super::fact::{About, Value, What};
use super::text;
use crate::query::spec::member_path::Path;
use crate::query::types::c_declaration::declare;
use crate::query::types::layout::{Aggregate, Body, layout};
use crate::query::types::lookup;
use crate::query::types::member::walk_path;
use probeidx_format::View;
use probeidx_format::id::TypeId;

/// A member of a type, or a type with the types of its members. Types of one name are told apart by their file. Cost:
/// linear in the members.
pub(super) fn facts(view: &View<'_>, path: &Path) -> Vec<About> {
    let mut abouts = vec![];
    let mut found = lookup::find(view, &path.root);
    found.retain(|type_id| !lookup::is_declared(view, *type_id));
    // What a generator copied from C for Rust has the name, but no place in the source.
    if found.iter().any(|type_id| !file_of(view, *type_id).is_empty()) {
        found.retain(|type_id| !file_of(view, *type_id).is_empty());
    }
    for type_id in found {
        match path.steps.is_empty() {
            true => whole(view, path, type_id, &mut abouts),
            false => abouts.extend(member(view, path, type_id)),
        }
    }
    joined(abouts)
}

fn file_of(view: &View<'_>, type_id: TypeId) -> String {
    view.types.get(type_id.index()).map_or_else(String::new, |record| text(view.string(record.file)))
}

fn size(view: &View<'_>, type_id: Option<TypeId>) -> Value {
    type_id.and_then(|t| lookup::size_of(view, t)).map_or(Value::None, Value::Number)
}

fn member(view: &View<'_>, path: &Path, type_id: TypeId) -> Option<About> {
    let walked = walk_path(view, type_id, path).ok()?;
    let place = walked.place();
    let bits = place.bits.map_or(Value::None, |(first, width)| Value::Bits { first, width });
    let facts = vec![
        (What::Offset, Value::Number(place.offset)),
        (What::Bits, bits),
        (What::Type, Value::Word(declare(view, place.type_id, ""))),
        (What::Size, size(view, place.type_id)),
        (What::StructSize, size(view, Some(type_id))),
    ];
    Some(About::in_file(&path.to_string(), &file_of(view, type_id), facts))
}

/// The size of a type, and its members: only their types, because one that is added moves all that follow.
fn whole(view: &View<'_>, path: &Path, type_id: TypeId, abouts: &mut Vec<About>) {
    let Some(laid_out) = layout(view, type_id) else { return };
    let file = file_of(view, type_id);
    let declared = Value::Place { file: file.clone(), line: laid_out.named.line };
    let mut facts = vec![(What::Declared, declared), (What::Size, size(view, Some(type_id)))];
    match &laid_out.body {
        Body::Members(members) => flat(&path.root, &file, members, abouts),
        Body::Enumerators(enumerators) => {
            for (name, value) in enumerators {
                let name = format!("{}.{}", path.root, text(name));
                let facts = vec![(What::Type, Value::Word(format!("= {value}")))];
                abouts.push(About::in_file(&name, &file, facts));
            }
        }
        Body::Plain | Body::Declared => {
            facts.push((What::Type, Value::Word(laid_out.named.spelled.clone())));
        }
    }
    abouts.push(About::in_file(&path.root, &file, facts));
}

/// The members that can be accessed by name; those of an unnamed member count as the type's own.
fn flat(root: &str, file: &str, of: &Aggregate<'_>, abouts: &mut Vec<About>) {
    for member in &of.members {
        match &member.within {
            Some(inner) if member.name.is_empty() => flat(root, file, inner, abouts),
            _ if member.name.is_empty() => {}
            _ => {
                let width = member.bits.map(|(_, width)| format!(":{width}")).unwrap_or_default();
                let facts = vec![(What::Type, Value::Word(format!("{}{width}", member.spelled)))];
                abouts.push(About::in_file(&format!("{root}.{}", text(member.name)), file, facts));
            }
        }
    }
}

/// Joins what one file declares more than once.
fn joined(abouts: Vec<About>) -> Vec<About> {
    let mut joined: Vec<About> = vec![];
    let mut known = rustc_hash::FxHashMap::default();
    for about in abouts {
        let key = (about.name.clone(), about.part.clone());
        let Some(at) = known.get(&key).copied() else {
            known.insert(key, joined.len());
            joined.push(about);
            continue;
        };
        let same: &mut About = &mut joined[at];
        for (what, value) in about.facts {
            match same.facts.iter_mut().find(|(known, _)| *known == what) {
                Some((_, before)) => {
                    let mut all = match std::mem::replace(before, Value::None) {
                        Value::Several(values) => values,
                        one => vec![one],
                    };
                    all.push(value);
                    *before = Value::of_several(all);
                }
                None => same.facts.push((what, value)),
            }
        }
    }
    joined
}
