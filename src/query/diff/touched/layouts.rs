//! Types by their members.
//!
//! A type keeps its number although its members change. So what is compared is what two kernels have under one number, in
//! shared numbers: equal rows have equal names and offsets.
use super::declarations::one_sided;
use super::{Both, Names};
use crate::query::types::c_declaration::{declare, keyword};
use crate::query::types::lookup;
use probeidx_format::id::TypeId;
use probeidx_format::record::{MemberRecord, TypeRecord};
use probeidx_format::store::common::{Common, Which};
use probeidx_format::store::kernel::END;
use probeidx_format::store::runs::Hint;
use probeidx_format::store::{Part, Space};
use probeidx_format::types::TypeKind;
use rustc_hash::FxHashSet;
use std::ops::Range;

/// What differences of types touch.
pub struct Layouts<'a> {
    /// Structs, unions, classes and enums that only one kernel has, or whose members may differ.
    pub types: Names<'a>,
    /// Functions that pass one of another size by value, which trampolines mind.
    pub functions: Names<'a>,
}

/// What types touch; `None` if one is spelled in another way, so that anything may differ that has one of this type. Cost:
/// linear in what only one kernel has.
pub fn touched<'a>(both: &Both<'a>) -> Option<Layouts<'a>> {
    let (ids, rows) = (both.common(Space::TypeIds), both.common(Space::Types));
    let members = both.common(Space::Members);
    let mut pairs = ids.changed(&rows);
    for which in Which::BOTH {
        let own: Vec<u32> = owners(both, &ids, &members, which, &pairs);
        let theirs = own.iter().filter_map(|at| Some((*at, ids.other(which, *at)?)));
        match which {
            Which::New => pairs.extend(theirs),
            Which::Old => pairs.extend(theirs.map(|(old, new)| (new, old))),
        }
    }
    // Where a type's members end is said by the next one.
    let before = |(new, old): &(u32, u32)| {
        let new_one = new.checked_sub(1).and_then(|new| Some((new, ids.other(Which::New, new)?)));
        let old_one = old.checked_sub(1).and_then(|old| Some((ids.other(Which::Old, old)?, old)));
        [new_one, old_one]
    };
    let neighbours: Vec<(u32, u32)> = pairs.iter().flat_map(before).flatten().collect();
    pairs.extend(neighbours);
    pairs.sort_unstable();
    pairs.dedup();

    let (mut names, mut functions) = (Names::default(), Names::default());
    let mut aggregates = FxHashSet::default();
    let mut hint = Hint::default();
    for (new, old) in pairs {
        match compared(both, [old, new])? {
            Compared::Same => {}
            Compared::Other(record) => {
                names.push(both.text(record.name));
                passing(both, [old, new], &mut functions);
                if TypeKind::from_u8(record.kind).is_aggregate() {
                    aggregates.extend(both.pair.new.levels().there(Space::TypeIds, new, &mut hint));
                }
            }
        }
    }
    let name = |t: TypeRecord| t.name;
    one_sided(both, &ids, name, |name| names.push(both.text(name)));
    containing(both, aggregates, &mut names);
    Some(Layouts { types: names, functions })
}

/// The functions of both kernels that take or return a type by value.
fn passing<'a>(both: &Both<'a>, at: [u32; 2], functions: &mut Names<'a>) {
    for (which, at) in Which::BOTH.into_iter().zip(at) {
        let view = both.view(which);
        for one in view.users(TypeId::new(at)).filter(|one| one.depth == 0) {
            let function = view.functions.get(one.function.index());
            functions.push(function.map_or(&[][..], |function| view.string(function.name)));
        }
    }
}

enum Compared {
    Same,
    /// The members differ, of this type.
    Other(TypeRecord),
}

/// What two kernels have under one number; `None` if it is spelled in another way.
fn compared(both: &Both<'_>, at: [u32; 2]) -> Option<Compared> {
    let both_records = Which::BOTH.map(|which| {
        let at = at[which as usize];
        both.row::<TypeRecord>(which, at, &mut Hint::default())
    });
    let [Some(one), Some(other)] = both_records else { return None };
    let said = |t: &TypeRecord| (t.name, t.kind, t.flags, t.file, t.size, t.encoding);
    let [mine, theirs] = Which::BOTH.map(|which| {
        let mut hint = Hint::default();
        let range = members_of(both, which, at[which as usize], both_records[which as usize]);
        range
            .map_while(move |at| both.row::<MemberRecord>(which, at, &mut hint))
            .map(|m| (m.name, m.target, m.value))
    });
    let members = mine.eq(theirs);
    if (one.name, one.kind) != (other.name, other.kind) {
        return None;
    }
    let kind = TypeKind::from_u8(one.kind);
    let is_spelled_by_name =
        keyword(kind).is_some() || matches!(kind, TypeKind::Base | TypeKind::Typedef | TypeKind::Unspecified);
    match is_spelled_by_name {
        true if members && said(&one) == said(&other) => Some(Compared::Same),
        true => Some(Compared::Other(other)),
        false if members && one.target == other.target => Some(Compared::Same),
        // It may lead to another type that is spelled alike. The name shows where it would stand.
        false => {
            let spelled = |which: Which| {
                let id = TypeId::new(at[which as usize]);
                declare(both.view(which), Some(id), "name")
            };
            (spelled(Which::Old) == spelled(Which::New)).then_some(Compared::Same)
        }
    }
}

/// The positions of a type's members.
fn members_of(both: &Both<'_>, which: Which, at: u32, record: Option<TypeRecord>) -> Range<u32> {
    let next = || both.row::<TypeRecord>(which, at + 1, &mut Hint::default());
    let first = record.and_then(|record| first_member(both, which, record));
    let end = next().and_then(|next| first_member(both, which, next));
    first.zip(end).map_or(0..0, |(first, end)| first..end)
}

fn first_member(both: &Both<'_>, which: Which, record: TypeRecord) -> Option<u32> {
    let kernel = both.kernel(which);
    match record.first_member.get() {
        END => Some(kernel.length(Space::Members)),
        first => kernel.levels().back(Space::Members, first),
    }
}

/// The types of one kernel with members that do not follow one another as in the other kernel, but for those known to differ
/// (pairs of positions, the newer kernel's first), and for where a type itself follows another one.
fn owners(both: &Both<'_>, ids: &Common, members: &Common, which: Which, known: &[(u32, u32)]) -> Vec<u32> {
    let mut explained: Vec<Range<u32>> = vec![];
    let mut hint = Hint::default();
    let mut explain = |at: u32, is_whole: bool| {
        let record: Option<TypeRecord> = both.row(which, at, &mut hint);
        let range = members_of(both, which, at, record);
        explained.push(if is_whole { range.start..range.end + 1 } else { range.start..range.start + 1 });
    };
    for (new, old) in known {
        explain(if which == Which::New { *new } else { *old }, true);
    }
    ids.only(which).flatten().for_each(|at| explain(at, true));
    ids.breaks(which).for_each(|at| explain(at, false));
    explained.sort_unstable_by_key(|range| range.start);
    let view = both.view(which);
    let mut found = vec![];
    let (mut next, mut end) = (0, 0);
    for at in members.breaks(which) {
        while let Some(range) = explained.get(next).filter(|range| range.start <= at) {
            end = end.max(range.end);
            next += 1;
        }
        if at >= end {
            found.extend(view.type_of_member(at).map(TypeId::get));
            found.extend(at.checked_sub(1).and_then(|at| view.type_of_member(at)).map(TypeId::get));
        }
    }
    found
}

/// The types that have a changed one as an unnamed member, whose members count as their own. Cost: a walk over all unnamed
/// members for each level at which one is in another.
fn containing<'a>(both: &Both<'a>, mut changed: FxHashSet<u32>, names: &mut Names<'a>) {
    let mut last = changed.clone();
    while !last.is_empty() {
        let mut next = FxHashSet::default();
        for segment in both.pair.new.chain() {
            let rows = segment.rows::<MemberRecord>(Part::Members);
            let first = segment.entry(Part::Members).first.get();
            for at in rows.positions(MemberRecord::NAME, 0) {
                if last.contains(&rows.at(at).target.get()) {
                    for which in Which::BOTH {
                        next.extend(aggregate_with(both, which, first + at as u32, names));
                    }
                }
            }
        }
        next.retain(|id| changed.insert(*id));
        last = next;
    }
}

/// The struct, union or class that has a member, given by its row.
fn aggregate_with<'a>(both: &Both<'a>, which: Which, row: u32, names: &mut Names<'a>) -> Option<u32> {
    let (view, levels) = (both.view(which), both.kernel(which).levels());
    let own = levels.back(Space::Members, row)?;
    let owner = view.type_of_member(own)?;
    lookup::kind(view, owner).filter(|kind| kind.is_aggregate())?;
    names.push(view.string(view.types.at(owner.index()).name));
    levels.there(Space::TypeIds, owner.get(), &mut Hint::default())
}
