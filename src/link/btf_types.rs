//! Finds the named types of BTF among the types of the index: see [`named`](crate::btf::named).
use super::ObjectFacts;
use crate::btf::named::{self, DEEPEST, Named};
use crate::btf::prototypes::{self, VOID};
use crate::dwarf::strings::{Key, content_hash};
use crate::merge::Model;
use probeidx_format::id::{ObjectId, TypeId};
use probeidx_format::record::{BtfTypeRecord, BtfTypeState, MemberRecord, TypeRecord};
use probeidx_format::types::TypeKind;
use rayon::prelude::*;
use rustc_hash::FxHashMap;

/// The table `btf_types`. Cost: a look at each named type and its members, and at each type of BTF.
pub fn link(model: &Model, facts: &[ObjectFacts]) -> Vec<BtfTypeRecord> {
    if facts.iter().all(|object| object.btf_types.is_empty()) {
        return vec![];
    }
    let known = Known::new(model);
    let of_object = |(object, facts): (usize, &ObjectFacts)| {
        let mut met: FxHashMap<Key, usize> = FxHashMap::default();
        let object = ObjectId::new(object as u32);
        let records = facts.btf_types.iter().filter_map(|named| {
            // Several types of BTF may be the same by this comparison, as those of the debug information are.
            let number = named.whole.map_or(0, |whole| {
                let count = met.entry(whole).or_default();
                *count += 1;
                *count - 1
            });
            let (type_id, state) = known.find(named, number)?;
            Some(BtfTypeRecord { type_id, object, state: state as u8 })
        });
        records.collect::<Vec<_>>()
    };
    let mut all: Vec<BtfTypeRecord> =
        facts.par_iter().enumerate().map(|(object, facts)| of_object((object, facts))).flatten().collect();
    // A type hides a declaration of it; and what differs hides what is the same, as it is not known which one is meant.
    let rank = |record: &BtfTypeRecord| match record.state() {
        BtfTypeState::Declared => 0,
        BtfTypeState::Same => 1,
        BtfTypeState::Other => 2,
    };
    all.par_sort_unstable_by_key(|record| (record.type_id, record.object, rank(record)));
    all.reverse();
    all.dedup_by_key(|record| (record.type_id, record.object));
    all.reverse();
    all
}

/// The named types of the index.
struct Known {
    /// By content, in the order of the index.
    whole: FxHashMap<Key, Vec<TypeId>>,
    /// The first one of a kind and name: a declaration if there is one, and any.
    declared: FxHashMap<Key, TypeId>,
    named: FxHashMap<Key, TypeId>,
}

impl Known {
    fn new(model: &Model) -> Self {
        const CHUNK: usize = 1 << 12;
        let records = &model.types.records;
        let count = records.partition_point(|record| record.name.get() != 0).min(records.len() - 1);
        let new = || (Contents { model, known: FxHashMap::default() }, vec![]);
        let contents: Vec<(Key, Option<Key>)> = (0..count)
            .into_par_iter()
            .with_min_len(CHUNK)
            .fold(new, |(mut contents, mut found), at| {
                found.push(contents.named(TypeId::new(at as u32)));
                (contents, found)
            })
            .flat_map_iter(|(_, found)| found)
            .collect();
        let mut known =
            Self { whole: FxHashMap::default(), declared: FxHashMap::default(), named: FxHashMap::default() };
        for (id, (name, whole)) in (0..).map(TypeId::new).zip(contents) {
            known.named.entry(name).or_insert(id);
            match whole {
                Some(whole) => known.whole.entry(whole).or_default().push(id),
                None => drop(known.declared.entry(name).or_insert(id)),
            }
        }
        // BTF has the types of C alone. Those that Rust made of them have the same names, and no line (`bindings`, seen on
        // 7.3 for arm64).
        let has_no_line = |id: &TypeId| records[id.index()].line.get() == 0;
        known.whole.values_mut().filter(|same| same.len() > 1).for_each(|same| same.sort_by_key(has_no_line));
        known
    }

    /// The type of the index that a type of BTF is; `number` counts those of the same content.
    fn find(&self, named: &Named, number: usize) -> Option<(TypeId, BtfTypeState)> {
        let any = self.named.get(&named.name).copied();
        match named.whole {
            None => Some((self.declared.get(&named.name).copied().or(any)?, BtfTypeState::Declared)),
            Some(whole) => match self.whole.get(&whole) {
                Some(same) => Some((*same.get(number).or(same.last())?, BtfTypeState::Same)),
                None => Some((any?, BtfTypeState::Other)),
            },
        }
    }
}

/// Assigns types of the index the same keys as those of BTF.
struct Contents<'m> {
    model: &'m Model,
    known: FxHashMap<TypeId, Key>,
}

impl<'m> Contents<'m> {
    /// The key of kind and name, and that of the content, unless it is only declared.
    fn named(&mut self, id: TypeId) -> (Key, Option<Key>) {
        let record = self.model.types.records[id.index()];
        let is_declared = record.flags.get() & TypeRecord::DECLARED != 0;
        (self.of(id, 0), (!is_declared).then(|| self.whole(id, record, 0)))
    }

    fn whole(&mut self, id: TypeId, record: TypeRecord, depth: u32) -> Key {
        let kind = TypeKind::from_u8(record.kind);
        let name = self.model.strings.get(record.name);
        match kind {
            TypeKind::Typedef => {
                let target = record.target.some().map_or(VOID, |target| self.of(target, depth + 1));
                named::whole(kind, name, 0, std::iter::once((0, 0, target)))
            }
            _ => {
                let members = self.members(id);
                let parts = members.iter().map(|member| {
                    let part = member.target.some().map_or(VOID, |target| self.of(target, depth + 1));
                    (content_hash(self.model.strings.get(member.name)), member.value.get(), part)
                });
                named::whole(kind, name, record.size.get(), parts)
            }
        }
    }

    /// The key of a type as part of another.
    fn of(&mut self, id: TypeId, depth: u32) -> Key {
        let Some(&record) = self.model.types.records.get(id.index()).filter(|_| depth < DEEPEST) else {
            return VOID;
        };
        let (kind, name) = (TypeKind::from_u8(record.kind), self.model.strings.get(record.name));
        if !name.is_empty() {
            return prototypes::shape(kind, name, None, std::iter::empty());
        }
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let target =
            |contents: &mut Self| record.target.some().map_or(VOID, |target| contents.of(target, depth + 1));
        let key = match kind {
            TypeKind::Array => {
                let count =
                    |product: i64, member: &MemberRecord| product.saturating_mul(member.value.get().max(0));
                named::array(target(self), self.members(id).iter().fold(1, count))
            }
            TypeKind::Function => {
                let returned = target(self);
                let parts: Vec<_> = self
                    .members(id)
                    .iter()
                    .map(|member| {
                        (0, Some(member.target.some().map_or(VOID, |target| self.of(target, depth + 1))))
                    })
                    .collect();
                prototypes::shape(kind, b"", Some(returned), parts.into_iter())
            }
            TypeKind::Struct | TypeKind::Union | TypeKind::Enum => self.whole(id, record, depth),
            _ => {
                let target = target(self);
                prototypes::shape(kind, b"", Some(target), std::iter::empty())
            }
        };
        self.known.insert(id, key);
        key
    }

    fn members(&self, id: TypeId) -> &'m [MemberRecord] {
        let types = &self.model.types;
        let first = |at: usize| types.records[at].first_member.get() as usize;
        &types.members[first(id.index())..first(id.index() + 1)]
    }
}
