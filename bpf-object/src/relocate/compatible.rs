//! When two types may stand for each other, and how many steps it takes to say so.
use crate::relocate::Failure;
use crate::types::{Kind, TypeId, Types, essential};

/// How many more steps comparisons may take. Real types take some thousands at most; types that are made to branch at
/// each level would take 2^64.
#[derive(Debug)]
pub(super) struct Budget {
    /// For the comparison at hand.
    one: u32,
    /// For all of an object.
    all: u32,
}

impl Budget {
    pub(super) fn new() -> Self {
        Self { one: 0, all: 1 << 28 }
    }

    /// Starts the next comparison.
    pub(super) fn next(&mut self) {
        self.one = 1 << 20;
    }

    pub(super) fn step(&mut self) -> Result<(), Failure> {
        self.one = self.one.checked_sub(1).ok_or(Failure::TooComplex)?;
        self.all = self.all.checked_sub(1).ok_or(Failure::TooComplex)?;
        Ok(())
    }
}

/// How deep types nest (libbpf 1.7: 32 in all functions of `relo_core.c`).
pub(super) const MAX_NESTING: u32 = 32;

/// Whether a field may be read as the other: `bpf_core_fields_are_compat`.
pub(super) fn fields<L: Types, T: Types>(
    local: &L,
    mut local_id: TypeId,
    target: &T,
    mut target_id: TypeId,
) -> Result<bool, Failure> {
    // libbpf has no bound here: arrays end.
    for _ in 0..64 {
        let (_, l) = local.resolve(local_id).ok_or(Failure::BadTarget)?;
        let (_, t) = target.resolve(target_id).ok_or(Failure::BadTarget)?;
        if l.kind.is_composite() && t.kind.is_composite() {
            return Ok(true);
        }
        if !l.kind.is_compatible(t.kind) {
            return Ok(false);
        }
        return Ok(match l.kind {
            Kind::Pointer | Kind::Float => true,
            Kind::Forward | Kind::Enum | Kind::Enum64 => {
                let (l, t) = (essential(l.name), essential(t.name));
                l.is_empty() || t.is_empty() || l == t
            }
            Kind::Int => l.int_offset() == 0 && t.int_offset() == 0,
            Kind::Array => {
                (local_id, target_id) = (l.target, t.target);
                continue;
            }
            _ => false,
        });
    }
    Err(Failure::TooComplex)
}

/// Whether a type of the kernel is what the object means: `__bpf_core_types_are_compat`, names aside.
pub(super) fn types<L: Types, T: Types>(
    local: &L,
    mut local_id: TypeId,
    target: &T,
    mut target_id: TypeId,
    level: u32,
    budget: &mut Budget,
) -> Result<bool, Failure> {
    let l = local.get(local_id).ok_or(Failure::BadTarget)?;
    let t = target.get(target_id).ok_or(Failure::BadTarget)?;
    if !l.kind.is_compatible(t.kind) {
        return Ok(false);
    }
    for _ in 0..MAX_NESTING {
        budget.step()?;
        let (l_id, l) = local.resolve(local_id).ok_or(Failure::BadTarget)?;
        let (t_id, t) = target.resolve(target_id).ok_or(Failure::BadTarget)?;
        if !l.kind.is_compatible(t.kind) {
            return Ok(false);
        }
        match l.kind {
            Kind::Void | Kind::Struct | Kind::Union | Kind::Enum | Kind::Forward | Kind::Enum64 => {
                return Ok(true);
            }
            Kind::Int => return Ok(l.int_offset() == 0 && t.int_offset() == 0),
            Kind::Pointer | Kind::Array => (local_id, target_id) = (l.target, t.target),
            Kind::Prototype => {
                if l.count != t.count {
                    return Ok(false);
                }
                for index in 0..l.count {
                    if level == 0 {
                        return Err(Failure::BadTarget);
                    }
                    let parameter = |id: Option<TypeId>| id.ok_or(Failure::BadTarget);
                    let l = parameter(
                        local.parameter(l_id, index).and_then(|p| Some(local.resolve(p.type_id)?.0)),
                    )?;
                    let t = parameter(
                        target.parameter(t_id, index).and_then(|p| Some(target.resolve(p.type_id)?.0)),
                    )?;
                    if !types(local, l, target, t, level - 1, budget)? {
                        return Ok(false);
                    }
                }
                (local_id, target_id) = (l.target, t.target);
            }
            _ => return Ok(false),
        }
    }
    Err(Failure::BadTarget)
}
