//! Types whose layout is another one because of what they contain: a member, what a typedef names, what an array consists of.
use super::super::{Both, Names};
use probeidx_format::id::TypeId;
use probeidx_format::record::TypeRecord;
use probeidx_format::store::Space;
use probeidx_format::store::common::Which;
use probeidx_format::types::TypeKind;
use rustc_hash::FxHashSet;

/// Types of which a row or a member is not the same, all that contain one of these, and the functions that pass one by value. Cost:
/// linear in all types and members.
pub fn changed<'a>(both: &Both<'a>, types: &mut Names<'a>, functions: &mut Names<'a>) {
    let (ids, rows) = (both.common(Space::TypeIds), both.common(Space::Types));
    let members = both.common(Space::Members);
    for which in Which::BOTH {
        let view = both.view(which);
        let mut found: FxHashSet<u32> = ids.only(which).flatten().collect();
        found.extend(ids.changed(&rows).into_iter().map(|(new, old)| match which {
            Which::Old => old,
            Which::New => new,
        }));
        let owner = |at: u32| view.types.partition_point(|t| t.first_member.get() <= at).checked_sub(1);
        for range in members.only(which) {
            // Several types without members may end where one starts.
            let first = owner(range.start).unwrap_or(0);
            let last = owner(range.end - 1).unwrap_or(0);
            found.extend((first..=last).map(|at| at as u32));
        }
        let broken = members.breaks(which).flat_map(|at| [at.checked_sub(1), Some(at)]).flatten();
        found.extend(broken.filter_map(owner).map(|at| at as u32));
        for at in containing(both, which, found) {
            let id = TypeId::new(at);
            types.push(view.types.get(id.index()).map_or(&[][..], |record| view.string(record.name)));
            for one in view.users(id).filter(|one| one.depth == 0) {
                let function = view.functions.get(one.function.index());
                functions.push(function.map_or(&[][..], |function| view.string(function.name)));
            }
        }
    }
}

/// These types, and all that contain one of them.
fn containing(both: &Both<'_>, which: Which, mut found: FxHashSet<u32>) -> FxHashSet<u32> {
    if found.is_empty() {
        return found;
    }
    let view = both.view(which);
    let mut within: Vec<(u32, u32)> = vec![];
    for (at, record) in (0..).zip(view.types.owners().iter()) {
        let record: TypeRecord = record;
        use TypeKind::{Array, Atomic, Const, Typedef, Volatile};
        match TypeKind::from_u8(record.kind) {
            kind if kind.is_aggregate() => {
                let members = view.members(TypeId::new(at)).iter();
                within.extend(members.filter_map(|m| m.target.some()).map(|target| (target.get(), at)));
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
