//! Merges types: one record each, named ones first; references to declarations lead to the definition.
use super::{FirstSeen, Resolved, blank};
use crate::dwarf::facts::NO_TYPE;
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
fn definition(all: &[Sorted], at: usize) -> Option<TypeId> {
    let declared = &all[at];
    if !declared.declared {
        return None;
    }
    let same = |s: &&Sorted| s.name == declared.name && s.kind == declared.kind;
    let before = |at: usize| all[..at].iter().rev().take_while(same);
    let first = at - before(at).count();
    let definitions = all[first..at].iter().filter(|s| !s.declared).count();
    (definitions == 1).then(|| TypeId::new(first as u32))
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
    let mut by_key: FxHashMap<Key, TypeId> =
        FxHashMap::with_capacity_and_hasher(all.len(), Default::default());
    for (at, sorted) in all.iter().enumerate() {
        by_key.insert(sorted.key, definition(&all, at).unwrap_or(TypeId::new(at as u32)));
    }
    let local_ids: Vec<Vec<TypeId>> = batches
        .par_iter()
        .map(|b| b.batch.types.iter().map(|t| by_key.get(&t.key).copied().unwrap_or(TypeId::NONE)).collect())
        .collect();
    let mut types = Types { records: Vec::with_capacity(all.len() + 1), members: vec![], ids: local_ids };
    for sorted in &all {
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
