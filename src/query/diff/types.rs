//! Compares structs, unions, classes and enums by name: sizes, members (including those of unnamed members),
//! enumerators.
use super::matching::{Pair, pairs};
use super::struct_members::{self, Item};
use super::{Asked, Change, Difference, Home, Side, State, Subject, What};
use crate::query::types::c_declaration::keyword;
use crate::query::types::lookup;
use probeidx_format::View;
use probeidx_format::id::TypeId;
use probeidx_format::types::TypeKind;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;

/// The limits on unnamed structs: the depth of nesting and the total number of members. Only damaged indexes exceed them.
const DEEPEST: u32 = 32;
const MOST_MEMBERS: usize = 1 << 16;

/// Compares the named types with members or enumerators, by name: all, or those of some names. Types that are only declared are ignored.
pub fn compare<'a, E>(
    before: &Side<'a, '_>,
    after: &Side<'a, '_>,
    only: Option<&[&'a [u8]]>,
    asked: &Asked,
    tell: &mut impl FnMut(Difference<'a>) -> Result<(), E>,
) -> Result<(), E> {
    let mut names: BTreeMap<_, [Vec<TypeId>; 2]> = BTreeMap::new();
    for (number, side) in [before, after].into_iter().enumerate() {
        let types: Box<dyn Iterator<Item = TypeId>> = match only {
            None => Box::new(all(side.view)),
            Some(names) => Box::new(names.iter().flat_map(|name| lookup::named(side.view, name, None))),
        };
        for (name, type_id) in requested(side, types, asked) {
            names.entry(name).or_default()[number].push(type_id);
        }
    }
    for ((name, keyword), [one, other]) in names {
        // Each type is kept with its side, because a pair may lack either.
        let one = one.into_iter().map(|id| (before, id)).collect();
        let other = other.into_iter().map(|id| (after, id)).collect();
        for Pair { before, after } in pairs(one, other, |(side, id)| home(side, *id).file) {
            let mut changes = vec![];
            if let (Some((one, old)), Some((other, new))) = (before, after) {
                differences([one, other], [old, new], &mut changes);
                // Several of a name are paired by file.
                let [before, after] = [home(one, old).file, home(other, new).file];
                if one.is_strict && before != after {
                    changes.push(Change { what: What::File, name: String::new(), before: None, after: None });
                }
            }
            tell(Difference {
                subject: Subject::Type(keyword),
                name: String::from_utf8_lossy(name).into_owned(),
                before: before.map(|(side, id)| home(side, id)),
                after: after.map(|(side, id)| home(side, id)),
                changes,
            })?;
        }
    }
    Ok(())
}

/// All named types.
fn all(view: &View<'_>) -> impl Iterator<Item = TypeId> + use<> {
    lookup::all_named(view).map(|at| TypeId::new(at as u32))
}

/// How many types of a kernel are compared.
pub fn count(side: &Side<'_, '_>, asked: &Asked) -> usize {
    requested(side, all(side.view), asked).count()
}

/// The name, keyword and number of those of some types that are requested.
fn requested<'a>(
    side: &Side<'a, '_>,
    types: impl Iterator<Item = TypeId>,
    asked: &Asked,
) -> impl Iterator<Item = ((&'a [u8], &'static str), TypeId)> {
    let view = side.view;
    types.filter_map(move |id| {
        let record = view.types.at(id.index());
        let keyword = keyword(TypeKind::from_u8(record.kind))?;
        let name = view.string(record.name);
        let is_asked = !lookup::is_declared(view, id)
            && asked.keyword.as_ref().is_none_or(|k| k == keyword)
            && asked.names(name)
            && asked.files(view.string(record.file));
        is_asked.then_some(((name, keyword), id))
    })
}

fn home<'a>(side: &Side<'a, '_>, id: TypeId) -> Home<'a> {
    let record = side.view.types.at(id.index());
    Home { module: None, file: side.view.string(record.file), line: record.line.get() }
}

fn differences(sides: [&Side<'_, '_>; 2], ids: [TypeId; 2], changes: &mut Vec<Change>) {
    let at = |number: usize| (sides[number], ids[number]);
    let [one, other] = [at(0), at(1)].map(|(side, id)| lookup::size_of(side.view, id));
    if one != other {
        let state = |size: Option<u64>| size.map(|size| State::Number(size as i64));
        changes.push(Change {
            what: What::Size,
            name: String::new(),
            before: state(one),
            after: state(other),
        });
    }
    if sides[0].view.types.at(ids[0].index()).kind == TypeKind::Enum as u8 {
        enumerators(sides, ids, changes);
        return;
    }
    let [before, after] = [at(0), at(1)].map(|(side, id)| {
        let mut found = vec![];
        flat(side, id, 0, 0, &mut found);
        found
    });
    struct_members::compare(What::Member, sides, &before, &after, changes);
}

/// The members that can be accessed by name; those of an unnamed member count as the struct's own.
fn flat<'a>(side: &Side<'a, '_>, id: TypeId, base: u64, depth: u32, found: &mut Vec<Item<'a>>) {
    for record in side.view.members(id) {
        if found.len() >= MOST_MEMBERS {
            return;
        }
        let value = record.value.get() as u64;
        let at = base.wrapping_add(value & 0xffff_ffff_ffff);
        let bits = Some((value >> 48) as u8).filter(|width| *width > 0);
        let name = side.view.string(record.name);
        let type_id = record.target.some();
        let inner = type_id.filter(|t| {
            name.is_empty()
                && depth < DEEPEST
                && lookup::kind(side.view, *t).is_some_and(TypeKind::is_aggregate)
        });
        match inner {
            Some(inner) => flat(side, inner, at, depth + 1, found),
            None => found.push(Item { name, at, bits, of: side.spelling(type_id) }),
        }
    }
}

fn enumerators(sides: [&Side<'_, '_>; 2], ids: [TypeId; 2], changes: &mut Vec<Change>) {
    let of = |number: usize| {
        let view = sides[number].view;
        view.members(ids[number]).iter().map(move |m| (view.string(m.name), m.value.get()))
    };
    let text = |name: &[u8]| String::from_utf8_lossy(name).into_owned();
    let mut change = |name: &[u8], before: Option<i64>, after: Option<i64>| {
        let [before, after] = [before, after].map(|value| value.map(State::Number));
        changes.push(Change { what: What::Enumerator, name: text(name), before, after });
    };
    let theirs: FxHashMap<&[u8], i64> = of(1).collect();
    let own: FxHashMap<&[u8], i64> = of(0).collect();
    for (name, value) in of(0) {
        let after = theirs.get(name).copied();
        if after != Some(value) {
            change(name, Some(value), after);
        }
    }
    for (name, value) in of(1).filter(|(name, _)| !own.contains_key(name)) {
        change(name, None, Some(value));
    }
}
