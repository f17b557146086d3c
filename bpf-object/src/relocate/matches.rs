//! Finding an access of the object in a type of the kernel.
use crate::btf::RelocationKind;
use crate::relocate::Failure;
use crate::relocate::compatible::{self, Budget, MAX_NESTING};
use crate::relocate::member;
use crate::relocate::spec::{Accessor, MAX_DEPTH, Spec};
use crate::types::{Kind, Type, TypeId, Types, essential};

/// The access in a type of the kernel, `None` if it is not there (`bpf_core_spec_match`).
pub(super) fn find<'t, L: Types, T: Types>(
    local: &L,
    wanted: &Spec<'_>,
    target: &'t T,
    root: TypeId,
    budget: &mut Budget,
) -> Result<Option<Spec<'t>>, Failure> {
    let mut found = Spec::at(root, wanted.kind);
    budget.next();
    if wanted.kind.is_type() {
        let level = MAX_NESTING;
        let is_match = match wanted.kind {
            RelocationKind::TypeMatches => {
                Matching { local, target, budget }.types(wanted.root, root, false, level)?
            }
            _ => compatible::types(local, wanted.root, target, root, level, budget)?,
        };
        return Ok(is_match.then_some(found));
    }
    if wanted.kind.is_enumerator() {
        let (id, enumeration) = target.resolve(root).ok_or(Failure::BadTarget)?;
        let name = wanted.accessors[0].name.unwrap_or_default();
        if !enumeration.kind.is_enum() {
            return Ok(None);
        }
        let mut all = (0..enumeration.count).filter_map(|index| Some((index, target.enumerator(id, index)?)));
        let same = all.find(|(_, enumerator)| essential(enumerator.name) == essential(name));
        return Ok(same.map(|(index, enumerator)| {
            found.accessors.push(Accessor { type_id: id, index, name: Some(enumerator.name) });
            found.depth = 1;
            found
        }));
    }
    let mut id = root;
    for (position, accessor) in wanted.accessors.iter().enumerate() {
        if accessor.name.is_some() {
            match member::find(local, accessor, target, id, &mut found, budget)? {
                Some(next) => id = next,
                None => return Ok(None),
            }
            continue;
        }
        let (resolved, container) = target.resolve(id).ok_or(Failure::BadTarget)?;
        id = resolved;
        if position > 0 {
            if container.kind != Kind::Array {
                return Ok(None);
            }
            if accessor.index >= container.count && !found.is_flexible(target, &container) {
                return Ok(None);
            }
            id = target.resolve(container.target).ok_or(Failure::BadTarget)?.0;
        }
        if found.depth == MAX_DEPTH {
            return Err(Failure::BadTarget);
        }
        found.accessors.push(Accessor { type_id: id, index: accessor.index, name: None });
        found.depth += 1;
        found.advance(target, id, accessor.index).ok_or(Failure::BadTarget)?;
    }
    Ok(Some(found))
}

/// Whether a type of the kernel has all that the object's has: `__bpf_core_types_match` and its helpers.
struct Matching<'m, L, T> {
    local: &'m L,
    target: &'m T,
    budget: &'m mut Budget,
}

impl<L: Types, T: Types> Matching<'_, L, T> {
    fn types(
        &mut self,
        mut local_id: TypeId,
        mut target_id: TypeId,
        mut behind_pointer: bool,
        level: u32,
    ) -> Result<bool, Failure> {
        if level == 0 {
            return Err(Failure::BadTarget);
        }
        for _ in 0..MAX_NESTING {
            self.budget.step()?;
            let (local, target) = (self.local, self.target);
            let (l_id, l) = local.resolve(local_id).ok_or(Failure::BadTarget)?;
            let (t_id, t) = target.resolve(target_id).ok_or(Failure::BadTarget)?;
            if !are_same_names(l.name, t.name) {
                return Ok(false);
            }
            match l.kind {
                Kind::Void => return Ok(t.kind == Kind::Void),
                Kind::Forward if l.kind == t.kind => return Ok(l.flag == t.flag),
                // The flag of a forward declaration says that it is of a union.
                Kind::Forward if behind_pointer => {
                    return Ok(t.kind == if l.flag { Kind::Union } else { Kind::Struct });
                }
                Kind::Forward => return Ok(false),
                Kind::Enum | Kind::Enum64 => {
                    return if t.kind.is_enum() { self.enumerators((l_id, l), (t_id, t)) } else { Ok(false) };
                }
                Kind::Struct | Kind::Union if behind_pointer => {
                    let is_forward = t.kind == Kind::Forward && (l.kind == Kind::Union) == t.flag;
                    return Ok(l.kind == t.kind || is_forward);
                }
                kind if kind != t.kind => return Ok(false),
                Kind::Struct | Kind::Union => {
                    return self.members((l_id, l), (t_id, t), behind_pointer, level);
                }
                Kind::Int => return Ok(l.size == t.size && l.is_signed() == t.is_signed()),
                Kind::Pointer => behind_pointer = true,
                Kind::Array if l.count != t.count => return Ok(false),
                Kind::Array => {}
                Kind::Prototype => {
                    if l.count != t.count {
                        return Ok(false);
                    }
                    for index in 0..l.count {
                        let l = local.parameter(l_id, index).ok_or(Failure::BadTarget)?;
                        let t = target.parameter(t_id, index).ok_or(Failure::BadTarget)?;
                        if !self.types(l.type_id, t.type_id, behind_pointer, level - 1)? {
                            return Ok(false);
                        }
                    }
                }
                _ => return Ok(false),
            }
            (local_id, target_id) = (l.target, t.target);
        }
        Err(Failure::BadTarget)
    }

    fn members(
        &mut self,
        (l_id, l): (TypeId, Type<'_>),
        (t_id, t): (TypeId, Type<'_>),
        behind_pointer: bool,
        level: u32,
    ) -> Result<bool, Failure> {
        if l.count > t.count {
            return Ok(false);
        }
        let (local, target) = (self.local, self.target);
        for wanted in (0..l.count).filter_map(|index| local.member(l_id, index)) {
            let mut is_found = false;
            for candidate in (0..t.count).filter_map(|index| target.member(t_id, index)) {
                self.budget.step()?;
                if are_same_names(wanted.name, candidate.name)
                    && self.types(wanted.type_id, candidate.type_id, behind_pointer, level - 1)?
                {
                    is_found = true;
                    break;
                }
            }
            if !is_found {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn enumerators(
        &mut self,
        (l_id, l): (TypeId, Type<'_>),
        (t_id, t): (TypeId, Type<'_>),
    ) -> Result<bool, Failure> {
        if l.size != t.size || l.count > t.count {
            return Ok(false);
        }
        let (local, target) = (self.local, self.target);
        for wanted in (0..l.count).filter_map(|index| local.enumerator(l_id, index)) {
            let mut is_found = false;
            for candidate in (0..t.count).filter_map(|index| target.enumerator(t_id, index)) {
                self.budget.step()?;
                if are_same_names(wanted.name, candidate.name) {
                    is_found = true;
                    break;
                }
            }
            if !is_found {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// `bpf_core_names_match`: equal without flavours; anonymous only with anonymous.
fn are_same_names(local: &[u8], target: &[u8]) -> bool {
    essential(local) == essential(target)
}
