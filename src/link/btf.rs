//! Compares the prototypes in BTF with those in the debug information: the kernel itself (BPF, arguments by name in
//! `kprobe_events`) uses only BTF.
use super::{Linked, ObjectFacts, symbol_name};
use crate::btf::prototypes::{self, Prototype};
use crate::dwarf::strings::{Key, content_hash};
use crate::merge::Model;
use crate::merge::intern::{GlobalStr, Interner, StringIds};
use probeidx_format::id::{FunctionId, StrId, TypeId};
use probeidx_format::record::{FunctionRecord, InBtf, ObjectRecord};
use probeidx_format::types::TypeKind;
use probeidx_format::variables::Variables;
use probeidx_format::zerocopy::byteorder::little_endian::{U16, U32};
use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

/// The prototypes in the BTF of an object, by name.
pub struct Prototypes(Vec<(GlobalStr, Named)>);

/// What BTF has of a name.
#[derive(Clone, Copy)]
struct Named {
    /// `None` for several different prototypes.
    key: Option<Key>,
    /// Whether all of them are plain.
    is_plain: bool,
}

impl Prototypes {
    /// Collects them by name.
    pub fn of(named: &[(&[u8], Prototype)], interner: &Interner) -> Self {
        let mut prototypes: FxHashMap<GlobalStr, Named> = FxHashMap::default();
        for (name, prototype) in named {
            let first = Named { key: Some(prototype.key), is_plain: true };
            let known = prototypes.entry(interner.intern(name)).or_insert(first);
            known.key = known.key.filter(|known| *known == prototype.key);
            known.is_plain &= prototype.is_plain;
        }
        Self(prototypes.into_iter().collect())
    }

    /// The names whose prototypes are plain: whichever of several the kernel is given, a trampoline passes its arguments on.
    pub(super) fn plain(&self) -> FxHashSet<GlobalStr> {
        self.0.iter().filter(|(_, named)| named.is_plain).map(|(name, _)| *name).collect()
    }
}

/// Sets the flags of functions that the kernel lists for BPF, and the BTF status of functions with a symbol of exactly their name in an object with BTF: BTF has no clones. For
/// a function in several objects, the worst status counts. Cost: one look at each placement, and at the types in
/// prototypes.
pub fn mark(model: &mut Model, linked: &Linked, facts: &[ObjectFacts], ids: &StringIds) {
    let of_object = |(object, bounds): (&ObjectFacts, &[ObjectRecord])| match &object.prototypes {
        Some(prototypes) => statuses(model, linked, prototypes, bounds, ids),
        None => vec![],
    };
    let all: Vec<(FunctionId, InBtf)> =
        facts.par_iter().zip(linked.objects.par_windows(2)).flat_map(of_object).collect();
    let mut found: FxHashMap<FunctionId, InBtf> = FxHashMap::default();
    for (function, status) in all {
        let worst = found.entry(function).or_insert(status);
        *worst = status.max(*worst);
    }
    let marked = facts.iter().flat_map(|object| &object.marks);
    let marked: FxHashMap<StrId, u16> = marked.fold(FxHashMap::default(), |mut marked, (name, flag)| {
        *marked.entry(ids.get(*name)).or_default() |= flag;
        marked
    });
    if !marked.is_empty() {
        for record in &mut model.functions.records {
            if let Some(flags) = marked.get(&record.name) {
                record.flags = U16::new(record.flags.get() | flags);
            }
        }
    }
    for (function, status) in found {
        let flags = &mut model.functions.records[function.index()].flags;
        *flags = U16::new(flags.get() | (status as u16) << FunctionRecord::IN_BTF_SHIFT);
    }
}

/// Number of placements that a thread takes at a time: it computes the keys of their types itself.
const CHUNK: usize = 1 << 17;

/// The BTF status of the function of each placement with a symbol, in one object.
fn statuses(
    model: &Model,
    linked: &Linked,
    prototypes: &Prototypes,
    bounds: &[ObjectRecord],
    ids: &StringIds,
) -> Vec<(FunctionId, InBtf)> {
    let keys: FxHashMap<StrId, Option<Key>> =
        prototypes.0.iter().map(|(name, known)| (ids.get(*name), known.key)).collect();
    let part = |of: fn(&ObjectRecord) -> U32| of(&bounds[0]).get() as usize..of(&bounds[1]).get() as usize;
    let functions = linked.symbols[part(|o| o.first_symbol)].iter().filter(|s| s.is_function());
    let symbols: FxHashSet<_> = functions.map(|s| (s.pc, s.name)).collect();
    let status = |shapes: &mut Shapes<'_>, at: usize| {
        let place = &model.places.places[at];
        let name = symbol_name(&model.functions, place.function);
        // Functions from assembly debug information have no prototype.
        let has_prototype = model.functions.records[place.function.index()].has(FunctionRecord::PROTOTYPED);
        if !model.places.out_of_line[at] || !has_prototype || !symbols.contains(&(place.entry, name)) {
            return None;
        }
        let status = match keys.get(&name) {
            None => InBtf::Missing,
            Some(None) => InBtf::Ambiguous,
            Some(Some(key)) if *key == shapes.prototype(place.function) => InBtf::Same,
            Some(Some(_)) => InBtf::Changed,
        };
        Some((place.function, status))
    };
    let new = || (Shapes { model, known: FxHashMap::default() }, vec![]);
    part(|o| o.first_place)
        .into_par_iter()
        .with_min_len(CHUNK)
        .fold(new, |(mut shapes, mut found), at| {
            found.extend(status(&mut shapes, at));
            (shapes, found)
        })
        .flat_map_iter(|(_, found)| found)
        .collect()
}

/// Assigns types of the debug information the same keys as those of BTF.
struct Shapes<'m> {
    model: &'m Model,
    known: FxHashMap<TypeId, Key>,
}

/// The depth at which [`prototypes`] stops.
const DEEPEST: u32 = 32;

impl Shapes<'_> {
    fn prototype(&mut self, function: FunctionId) -> Key {
        let functions = &self.model.functions;
        let record = &functions.records[function.index()];
        let details = functions.details.get(record.details.get() as usize..).unwrap_or_default();
        let variables =
            Variables::read(&functions.variables[..], details, record.variables.get(), record.line.get());
        let returned = self.of(variables.return_type, 0);
        let parameters: Vec<_> = variables
            .parameters()
            .map(|v| (content_hash(self.model.strings.get(v.name)), self.of(v.type_id, 0)))
            .collect();
        prototypes::prototype(returned, parameters.into_iter())
    }

    fn of(&mut self, id: Option<TypeId>, depth: u32) -> Key {
        let Some(id) = id.filter(|_| depth < DEEPEST) else { return prototypes::VOID };
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let types = &self.model.types;
        let (Some(record), Some(next)) = (types.records.get(id.index()), types.records.get(id.index() + 1))
        else {
            return prototypes::VOID;
        };
        let kind = TypeKind::from_u8(record.kind);
        let name = self.model.strings.get(record.name);
        let is_named = !name.is_empty();
        let target = (!is_named).then(|| self.of(record.target.some(), depth + 1));
        let members = match kind {
            TypeKind::Array | TypeKind::Function if !is_named => {
                &types.members[record.first_member.get() as usize..next.first_member.get() as usize]
            }
            _ => &[],
        };
        let part = |m: &probeidx_format::record::MemberRecord| match kind {
            // BTF has 0 for an unknown number of elements.
            TypeKind::Array => (m.value.get().max(0), None),
            _ => (0, Some(self.of(m.target.some(), depth + 1))),
        };
        let parts: Vec<_> = members.iter().map(part).collect();
        let key = prototypes::shape(kind, name, target, parts.into_iter());
        self.known.insert(id, key);
        key
    }
}
