//! Types whose layout is another one because of what they contain: a member, what a typedef names, what an array consists of.
use super::super::Both;
use super::Marked;
use probeidx_format::id::TypeId;
use probeidx_format::record::{MemberRecord, TypeRecord};
use probeidx_format::store::Space;
use probeidx_format::store::common::Which;
use probeidx_format::types::TypeKind;
use rustc_hash::FxHashSet;

/// Types of which a row or a member is not the same, all that contain one of these, and the functions that pass one by value. Cost:
/// linear in all types and members.
pub fn changed(both: &Both<'_>, types: &mut Marked, functions: &mut Marked) {
    let (ids, rows) = (both.common(Space::TypeIds), both.common(Space::Types));
    let members = both.common(Space::Members);
    // What only the older kernel has is in types that are others now, or that contain another one.
    for which in Which::BOTH {
        let view = both.view(which);
        let mut found: FxHashSet<u32> = ids.only(which).flatten().collect();
        found.extend(ids.changed(&rows).into_iter().map(|(new, old)| match which {
            Which::Old => old,
            Which::New => new,
        }));
        let owner = |at: u32| view.type_of_member(at).map(TypeId::get);
        for range in members.only(which) {
            // Several types without members may end where one starts.
            let first = owner(range.start).unwrap_or(0);
            let last = owner(range.end - 1).unwrap_or(0);
            found.extend(first..=last);
        }
        let broken = members.breaks(which).flat_map(|at| [at.checked_sub(1), Some(at)]).flatten();
        found.extend(broken.filter_map(owner));
        if which == Which::New {
            found = containing(both, found);
        }
        for id in found.into_iter().map(TypeId::new) {
            let Some(record) = view.types.get(id.index()) else { continue };
            types.insert(record.name);
            let kind = TypeKind::from_u8(record.kind);
            if which == Which::New && (kind.is_aggregate() || kind == TypeKind::Enum) {
                let passing = view.users(id).filter(|one| one.depth == 0);
                passing.for_each(|one| functions.function(view, one.function));
            }
        }
    }
}

/// These types of the newer kernel, and all that contain one of them.
fn containing(both: &Both<'_>, mut found: FxHashSet<u32>) -> FxHashSet<u32> {
    use TypeKind::{Array, Atomic, Const, Typedef, Volatile};
    if found.is_empty() {
        return found;
    }
    let kernel = both.kernel(Which::New);
    let (all, members) = (kernel.table::<TypeRecord>(), kernel.table::<MemberRecord>());
    let mut within: Vec<(u32, u32)> = vec![];
    for (at, (record, next)) in (0..).zip(all.iter().zip(all.from(1).iter())) {
        match TypeKind::from_u8(record.kind) {
            kind if kind.is_aggregate() => {
                let own = members.part(record.first_member.get() as usize..next.first_member.get() as usize);
                within.extend(own.iter().filter_map(|m| m.target.some()).map(|target| (target.get(), at)));
            }
            Typedef | Array | Const | Volatile | Atomic => {
                within.extend(record.target.some().map(|target| (target.get(), at)));
            }
            _ => {}
        }
    }
    within.sort_unstable();
    let mut left: Vec<u32> = found.iter().copied().collect();
    while let Some(target) = left.pop() {
        let first = within.partition_point(|(to, _)| *to < target);
        for (_, owner) in within[first..].iter().take_while(|(to, _)| *to == target) {
            if found.insert(*owner) {
                left.push(*owner);
            }
        }
    }
    found
}
