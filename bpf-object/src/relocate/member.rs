//! Finding a member by name, also in anonymous structs and unions.
use crate::relocate::Failure;
use crate::relocate::compatible::{self, Budget};
use crate::relocate::spec::{Accessor, MAX_DEPTH, Spec};
use crate::types::{TypeId, Types};

/// Goes from a type of the kernel to its member of the accessor's name, if its type is compatible; gives that type
/// (`bpf_core_match_member`).
pub(super) fn find<'t, L: Types, T: Types>(
    local: &L,
    accessor: &Accessor<'_>,
    target: &'t T,
    target_id: TypeId,
    found: &mut Spec<'t>,
    budget: &mut Budget,
) -> Result<Option<TypeId>, Failure> {
    let (id, container) = target.resolve(target_id).ok_or(Failure::BadTarget)?;
    if !container.kind.is_composite() {
        return Ok(None);
    }
    let wanted = local.member(accessor.type_id, accessor.index).ok_or(Failure::BadRecord)?;
    for index in 0..container.count {
        budget.step()?;
        let member = target.member(id, index).ok_or(Failure::BadTarget)?;
        if found.depth == MAX_DEPTH {
            return Err(Failure::BadTarget);
        }
        if member.name.is_empty() {
            let before = (found.bit_offset, found.depth);
            found.bit_offset = found.bit_offset.wrapping_add(member.bit_offset);
            found.depth += 1;
            if let Some(next) = find(local, accessor, target, member.type_id, found, budget)? {
                return Ok(Some(next));
            }
            (found.bit_offset, found.depth) = before;
        } else if member.name == wanted.name {
            if !compatible::fields(local, wanted.type_id, target, member.type_id)? {
                return Ok(None);
            }
            found.bit_offset = found.bit_offset.wrapping_add(member.bit_offset);
            found.depth += 1;
            found.accessors.push(Accessor { type_id: id, index, name: Some(member.name) });
            return Ok(Some(member.type_id));
        }
    }
    Ok(None)
}
