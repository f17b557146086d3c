//! Merges types: one record each, named ones first; references to declarations lead to the definition.
use super::{FirstSeen, Resolved, blank};
use crate::dwarf::facts::{NO_TYPE, TypeFacts};
use crate::dwarf::strings::Key;
use probeidx_format::id::{StrId, TypeId};
use probeidx_format::record::{MemberRecord, TypeRecord};
use probeidx_format::types::TypeKind;
use probeidx_format::zerocopy::byteorder::little_endian::{I64, U16, U32};
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// The tables `types` and `members`.
pub struct Types {
    pub records: Vec<TypeRecord>,
    pub members: Vec<MemberRecord>,
    /// For each batch, the final ids of its types.
    ids: Vec<Vec<TypeId>>,
}

impl Types {
    /// The final id of a type of a batch.
    #[inline]
    pub fn id(&self, batch: usize, local: u32) -> TypeId {
        if local == NO_TYPE { TypeId::NONE } else { self.ids[batch][local as usize] }
    }
}

struct Sorted {
    name: StrId,
    kind: TypeKind,
    declared: bool,
    file: StrId,
    line: u32,
    key: Key,
    batch: u32,
    local: u32,
}

/// The definition of a type that is only declared, if there is exactly one of its name. With several, the declaration
/// stays.
fn definition(all: &[Sorted], at: usize) -> Option<u32> {
    let declared = &all[at];
    if !declared.declared {
        return None;
    }
    let same = |s: &&Sorted| s.name == declared.name && s.kind == declared.kind;
    let before = |at: usize| all[..at].iter().rev().take_while(same);
    let first = at - before(at).count();
    let definitions = all[first..at].iter().filter(|s| !s.declared).count();
    (definitions == 1).then_some(first as u32)
}

/// Which types are one: a declaration and its definition; and what has no name, if it consists of the same when all that are
/// one are taken for one: the pointers of a unit that knows a struct, and of one that knows its name only.
struct Same<'b> {
    batches: &'b [Resolved<'b>],
    all: &'b [Sorted],
    positions: FxHashMap<Key, u32>,
    /// By position: the one that stands for it, or [`NOT_YET`].
    stands: Vec<u32>,
    /// What has no name, by what it consists of.
    known: FxHashMap<Key, u32>,
}

const NOT_YET: u32 = u32::MAX;
/// In place of a position: what the type consists of is looked for.
const OPEN: u32 = NOT_YET - 1;

impl<'b> Same<'b> {
    /// For each type, the one that stands for it. Cost: linear in types and members.
    fn of(batches: &'b [Resolved<'b>], all: &'b [Sorted]) -> (Vec<u32>, FxHashMap<Key, u32>) {
        let named = |at: usize| definition(all, at).or((all[at].name.get() != 0).then_some(at as u32));
        let mut same = Same {
            batches,
            all,
            positions: (0..).zip(all).map(|(at, sorted)| (sorted.key, at)).collect(),
            stands: (0..all.len()).map(|at| named(at).unwrap_or(NOT_YET)).collect(),
            known: FxHashMap::default(),
        };
        let mut open = vec![];
        for at in 0..all.len() as u32 {
            same.find(at, &mut open);
        }
        (same.stands, same.positions)
    }
    /// Finds what stands for a type, and first for all that it consists of. Without recursion: debug information may have
    /// any number of pointers to pointers.
    fn find(&mut self, at: u32, open: &mut Vec<u32>) {
        open.push(at);
        while let Some(&at) = open.last() {
            if self.stands[at as usize] < OPEN {
                open.pop();
                continue;
            }
            self.stands[at as usize] = OPEN;
            let known = open.len();
            let is_unknown = |to: &u32| self.stands[*to as usize] == NOT_YET;
            open.extend(self.parts(at).filter_map(|(_, to, _)| to).filter(is_unknown));
            if open.len() > known {
                continue;
            }
            let (facts, sorted) = (self.facts(at), &self.all[at as usize]);
            let own = u64::from(facts.size) << 32 | u64::from(facts.encoding) << 8 | facts.kind as u64;
            let own = Key::new(own).with(u64::from(sorted.file.get()) << 32 | u64::from(sorted.line));
            let key = self.parts(at).fold(own, |key, (name, to, value)| {
                // One that is open consists of itself, without a name: damaged.
                let to = to.map_or(0, |to| u64::from(self.stands[to as usize]) + 1);
                key.with(u64::from(name.get()) << 32 | to).with(value as u64)
            });
            self.stands[at as usize] = *self.known.entry(key).or_insert(at);
        }
    }
    fn facts(&self, at: u32) -> &'b TypeFacts {
        let sorted = &self.all[at as usize];
        &self.batches[sorted.batch as usize].batch.types[sorted.local as usize]
    }
    /// The target of a type, and its members: a name, a type and a value each.
    fn parts(&self, at: u32) -> impl Iterator<Item = (StrId, Option<u32>, i64)> {
        let facts = self.facts(at);
        let of = &self.batches[self.all[at as usize].batch as usize];
        let position = |local: u32| match local {
            NO_TYPE => None,
            local => self.positions.get(&of.batch.types[local as usize].key).copied(),
        };
        let members = &of.batch.members[facts.first_member as usize..][..facts.members as usize];
        let members = members.iter().map(move |m| (of.string(m.name), position(m.target), m.value));
        std::iter::once((StrId::new(0), position(facts.target), 0)).chain(members)
    }
}

pub(super) fn merge(batches: &[Resolved<'_>], first_seen: FirstSeen) -> Types {
    let mut all: Vec<Sorted> = first_seen
        .into_all()
        .into_par_iter()
        .map(|(key, batch, local)| {
            let extracted = &batches[batch as usize];
            let facts = &extracted.batch.types[local as usize];
            Sorted {
                name: extracted.string(facts.name),
                kind: facts.kind,
                declared: facts.declared,
                file: extracted.string(facts.file),
                line: facts.line,
                key,
                batch,
                local,
            }
        })
        .collect();
    let unnamed = |name: StrId| name.get() == 0;
    all.par_sort_unstable_by_key(|t| (unnamed(t.name), t.name, t.kind, t.declared, t.file, t.line, t.key));
    let (stands, positions) = Same::of(batches, &all);
    let mut ids: Vec<TypeId> = vec![TypeId::NONE; all.len()];
    let is_one = |at: &usize| stands[*at] == *at as u32;
    let mut next = 0;
    for at in (0..all.len()).filter(is_one) {
        ids[at] = TypeId::new(next);
        next += 1;
    }
    let id = |key: &Key| positions.get(key).map_or(TypeId::NONE, |at| ids[stands[*at as usize] as usize]);
    let local_ids: Vec<Vec<TypeId>> =
        batches.par_iter().map(|b| b.batch.types.iter().map(|t| id(&t.key)).collect()).collect();
    let mut types = Types { records: Vec::with_capacity(next as usize + 1), members: vec![], ids: local_ids };
    for sorted in (0..all.len()).filter(is_one).map(|at| &all[at]) {
        let batch = sorted.batch as usize;
        let extracted = &batches[batch];
        let facts = &extracted.batch.types[sorted.local as usize];
        types.records.push(TypeRecord {
            name: sorted.name,
            file: sorted.file,
            line: U32::new(sorted.line),
            size: U32::new(facts.size),
            target: types.id(batch, facts.target),
            first_member: U32::new(types.members.len() as u32),
            kind: facts.kind as u8,
            encoding: facts.encoding,
            flags: U16::new(if facts.declared { TypeRecord::DECLARED } else { 0 }),
        });
        let first = facts.first_member as usize;
        for member in &extracted.batch.members[first..first + facts.members as usize] {
            let record = MemberRecord {
                name: extracted.string(member.name),
                target: types.id(batch, member.target),
                value: I64::new(member.value),
            };
            types.members.push(record);
        }
    }
    let end =
        TypeRecord { first_member: U32::new(types.members.len() as u32), target: TypeId::NONE, ..blank() };
    types.records.push(end);
    types
}
