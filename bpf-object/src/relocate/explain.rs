//! Why nothing of the kernel fits: for people, so it may take its time.
use crate::btf::Btf;
use crate::object::CoreRelocation;
use crate::relocate::compatible::Budget;
use crate::relocate::spec::{Accessor, Spec};
use crate::relocate::{Candidate, Kernel, Scope, candidates, matches, member};
use crate::types::{Kind, TypeId, Types, essential};

/// What is missing, in the candidate that comes nearest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reason {
    /// The type of the kernel that was compared, if there is one of the name.
    pub nearest: Option<Candidate>,
    /// How far the access goes there, as C writes it: `mm.owner`. Empty if it fails at once.
    pub reached: String,
    /// What is wrong with the next step.
    pub mismatch: Mismatch,
}

/// What is wrong with a step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Mismatch {
    /// No type of the name and kind. The kinds under which the name exists.
    NoType {
        /// What is wanted.
        wanted: Kind,
        /// What there is.
        others: Vec<Kind>,
    },
    /// The type has no such member.
    NoMember {
        /// Its name.
        member: Vec<u8>,
    },
    /// The member is of another kind.
    Kind {
        /// Its name.
        member: Vec<u8>,
        /// In the object.
        wanted: Kind,
        /// In the kernel.
        found: Kind,
    },
    /// The array has fewer elements, or what is indexed is no array: `found` is then 0.
    OutOfBounds {
        /// The index.
        index: u32,
        /// How many there are.
        found: u32,
    },
    /// The enum has no such enumerator.
    NoEnumerator {
        /// Its name.
        name: Vec<u8>,
    },
    /// The type as a whole differs from what the object has.
    Type,
}

pub(super) fn explain<K: Kernel>(
    btf: &Btf<'_>,
    kernel: &K,
    relocation: &CoreRelocation<'_>,
) -> Option<Reason> {
    let kind = relocation.kind.ok()?;
    let wanted = Spec::parse(btf, relocation.type_id, relocation.access, kind).ok()?;
    let root = btf.get(relocation.type_id).filter(|root| !root.name.is_empty())?;
    let name = essential(root.name);
    let mut nearest: Option<(usize, Reason)> = None;
    for candidate in candidates::find(kernel, name, root.kind) {
        let types = kernel.types(candidate.object)?;
        if let Ok(Some(_)) = matches::find(btf, &wanted, types, candidate.id, &mut Budget::new()) {
            return None;
        }
        let (steps, reason) = compare(btf, &wanted, types, candidate);
        if nearest.as_ref().is_none_or(|(before, _)| steps > *before) {
            nearest = Some((steps, reason));
        }
    }
    Some(nearest.map_or_else(|| no_type(kernel, name, root.kind), |(_, reason)| reason))
}

fn no_type<K: Kernel>(kernel: &K, name: &[u8], wanted: Kind) -> Reason {
    let mut found = Vec::new();
    kernel.named(Scope::Vmlinux, name, wanted, &mut found);
    kernel.named(Scope::Modules, name, wanted, &mut found);
    let of = |c: &Candidate| kernel.types(c.object).and_then(|types| Some(types.get(c.id)?.kind));
    let mut others: Vec<_> = found.iter().filter_map(of).collect();
    others.sort_by_key(|&kind| kind as u8);
    others.dedup();
    Reason { nearest: None, reached: String::new(), mismatch: Mismatch::NoType { wanted, others } }
}

/// How many steps of an access a candidate has, and what is wrong with the next.
fn compare<T: Types>(btf: &Btf<'_>, wanted: &Spec<'_>, types: &T, candidate: Candidate) -> (usize, Reason) {
    let mut reached = String::new();
    let reason = |reached, mismatch| Reason { nearest: Some(candidate), reached, mismatch };
    if wanted.kind.is_type() {
        return (0, reason(reached, Mismatch::Type));
    }
    if wanted.kind.is_enumerator() {
        let name = wanted.accessors[0].name.unwrap_or_default().to_vec();
        return (0, reason(reached, Mismatch::NoEnumerator { name }));
    }
    let mut found = Spec::at(candidate.id, wanted.kind);
    let mut id = candidate.id;
    let mut budget = Budget::new();
    budget.next();
    for (steps, accessor) in wanted.accessors.iter().enumerate() {
        if let Some(name) = accessor.name {
            if let Ok(Some(next)) = member::find(btf, accessor, types, id, &mut found, &mut budget) {
                id = next;
                let dot = if reached.is_empty() { "" } else { "." };
                reached.push_str(&format!("{dot}{}", crate::error::shown(name)));
                continue;
            }
            let mismatch = incompatible(btf, accessor, types, id)
                .unwrap_or_else(|| Mismatch::NoMember { member: name.to_vec() });
            return (steps, reason(reached, mismatch));
        }
        let Some((resolved, container)) = types.resolve(id) else { break };
        id = resolved;
        if steps > 0 {
            let is_array = container.kind == Kind::Array;
            let count = if is_array { container.count } else { 0 };
            if !is_array || accessor.index >= count && !found.is_flexible(types, &container) {
                let mismatch = Mismatch::OutOfBounds { index: accessor.index, found: count };
                return (steps, reason(reached, mismatch));
            }
            reached.push_str(&format!("[{}]", accessor.index));
            id = container.target;
        }
        found.accessors.push(Accessor { type_id: id, index: accessor.index, name: None });
    }
    (wanted.accessors.len(), reason(reached, Mismatch::Type))
}

/// How the member of the wanted name differs, if there is one.
fn incompatible<T: Types>(btf: &Btf<'_>, accessor: &Accessor<'_>, types: &T, id: TypeId) -> Option<Mismatch> {
    let wanted = btf.member(accessor.type_id, accessor.index)?;
    let mut budget = Budget::new();
    budget.next();
    let found = named(types, id, wanted.name, 0, &mut budget)?;
    let (wanted_kind, found) = (btf.resolve(wanted.type_id)?.1.kind, types.resolve(found)?.1.kind);
    Some(Mismatch::Kind { member: wanted.name.to_vec(), wanted: wanted_kind, found })
}

/// The type of the member of a name, also in anonymous members.
fn named<T: Types>(types: &T, id: TypeId, name: &[u8], depth: u32, budget: &mut Budget) -> Option<TypeId> {
    let (id, container) = types.resolve(id).filter(|(_, found)| found.kind.is_composite() && depth < 8)?;
    for member in (0..container.count).filter_map(|index| types.member(id, index)) {
        budget.step().ok()?;
        let found = match member.name.is_empty() {
            true => named(types, member.type_id, name, depth + 1, budget),
            false => (member.name == name).then_some(member.type_id),
        };
        if found.is_some() {
            return found;
        }
    }
    None
}
