//! The number that a relocation asks for, of the object's types and of the kernel's.
use crate::btf::RelocationKind;
use crate::bytes::ByteOrder;
use crate::relocate::Failure;
use crate::relocate::spec::Spec;
use crate::types::{Kind, TypeId, Types};

/// The value of one side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub(super) struct Value {
    pub(super) value: u64,
    /// Of a field's offset: how many bytes a load of it moves; else 0.
    pub(super) width: u32,
    /// The type of the field where `width` is not 0.
    type_id: TypeId,
}

impl Value {
    pub(super) fn of(value: u64) -> Self {
        Self { value, width: 0, type_id: TypeId::VOID }
    }
}

/// `struct bpf_core_relo_res`: what is to be done with the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    pub(super) original: Value,
    pub(super) new: Value,
    pub(super) poison: bool,
    /// Whether the instruction has to hold the original value.
    pub(super) validate: bool,
    /// Whether a load or store of it would read something else.
    pub(super) bad_width: bool,
}

impl Outcome {
    /// One where the instruction may hold anything.
    pub(super) fn unchecked() -> Self {
        Self {
            original: Value::default(),
            new: Value::default(),
            poison: false,
            validate: false,
            bad_width: false,
        }
    }
}

/// What of one side could be calculated.
enum Calculated {
    Value(Value),
    /// There is nothing on this side, and the instruction is to be poisoned.
    Missing,
}

/// `bpf_core_calc_relo`.
pub(super) fn outcome<L: Types, T: Types>(
    kind: RelocationKind,
    local: &L,
    wanted: &Spec<'_>,
    target: &T,
    found: Option<&Spec<'_>>,
    order: ByteOrder,
) -> Result<Outcome, Failure> {
    let mut result = Outcome { validate: true, ..Outcome::unchecked() };
    let mut ignored = true;
    let (original, new) = if kind.is_field() {
        let original = field(kind, local, Some(wanted), order, &mut result.validate)?;
        (original, field(kind, target, found, order, &mut ignored)?)
    } else if kind.is_type() {
        // Type ids change when objects are linked.
        result.validate = kind != RelocationKind::TypeIdTarget;
        (whole_type(kind, local, Some(wanted))?, whole_type(kind, target, found)?)
    } else {
        (enumerator(kind, local, Some(wanted))?, enumerator(kind, target, found)?)
    };
    match (original, new) {
        (Calculated::Value(original), Calculated::Value(new)) => {
            (result.original, result.new) = (original, new)
        }
        _ => {
            result.poison = true;
            return Ok(result);
        }
    }
    let (original, new) = (result.original, result.new);
    if original.width != new.width {
        let (l, t) = (local.get(original.type_id), target.get(new.type_id));
        let (l, t) = l.zip(t).ok_or(Failure::BadTarget)?;
        let both = |kind| l.kind == kind && t.kind == kind;
        // Exactly 1 is signed for libbpf: a signed char (3) is taken for unsigned.
        let is_unsigned = both(Kind::Int) && l.encoding() != 1 && t.encoding() != 1;
        result.bad_width = !both(Kind::Pointer) && !is_unsigned;
    }
    Ok(result)
}

/// `bpf_core_calc_field_relo`.
fn field<T: Types>(
    kind: RelocationKind,
    types: &T,
    spec: Option<&Spec<'_>>,
    order: ByteOrder,
    validate: &mut bool,
) -> Result<Calculated, Failure> {
    if kind == RelocationKind::FieldExists {
        return Ok(Calculated::Value(Value::of(spec.is_some().into())));
    }
    let Some(spec) = spec else { return Ok(Calculated::Missing) };
    let last = spec.accessors.last().ok_or(Failure::BadRecord)?;
    let size = |id| types.size_of(id).ok_or(Failure::BadTarget);
    if last.name.is_none() {
        *validate = true;
        return match kind {
            RelocationKind::FieldOffset => {
                let value = u64::from(spec.bit_offset / 8);
                let width = size(element(types, last.type_id)?)?;
                Ok(Calculated::Value(Value { value, width, type_id: last.type_id }))
            }
            RelocationKind::FieldSize => Ok(Calculated::Value(Value::of(size(last.type_id)?.into()))),
            _ => Err(Failure::NotApplicable),
        };
    }
    let member = types.member(last.type_id, last.index).ok_or(Failure::BadTarget)?;
    let (type_id, found) = types.resolve(member.type_id).ok_or(Failure::BadTarget)?;
    let bit_offset = spec.bit_offset;
    let is_bit_field = member.bit_size > 0;
    let (byte_size, byte_offset, bit_size) = if is_bit_field {
        let (size, offset) = containing(found.size, bit_offset, member.bit_size)?;
        (size, offset, member.bit_size)
    } else {
        let size = size(type_id)?;
        (size, bit_offset / 8, size.wrapping_mul(8))
    };
    // What a compiler makes of a bit-field is its own matter.
    *validate =
        !is_bit_field || matches!(kind, RelocationKind::FieldSigned | RelocationKind::FieldShiftRight);
    let inside = bit_offset.wrapping_sub(byte_offset.wrapping_mul(8));
    let value = match kind {
        RelocationKind::FieldOffset if !is_bit_field => {
            let width = size(element(types, type_id)?)?;
            return Ok(Calculated::Value(Value { value: byte_offset.into(), width, type_id }));
        }
        RelocationKind::FieldOffset => byte_offset,
        RelocationKind::FieldSize => byte_size,
        RelocationKind::FieldSigned => {
            let is_signed =
                found.kind.is_enum() && found.flag || found.kind == Kind::Int && found.is_signed();
            is_signed.into()
        }
        RelocationKind::FieldShiftLeft => match order {
            ByteOrder::Little => 64u32.wrapping_sub(inside.wrapping_add(bit_size)),
            ByteOrder::Big => 8u32.wrapping_sub(byte_size).wrapping_mul(8).wrapping_add(inside),
        },
        RelocationKind::FieldShiftRight => 64u32.wrapping_sub(bit_size),
        _ => return Err(Failure::BadRecord),
    };
    Ok(Calculated::Value(Value::of(value.into())))
}

/// The smallest aligned number that holds a bit-field: its size and offset in bytes.
fn containing(mut size: u32, bit_offset: u32, bit_size: u32) -> Result<(u32, u32), Failure> {
    if size == 0 {
        return Err(Failure::BadTarget);
    }
    loop {
        let offset = bit_offset / 8 / size * size;
        if bit_offset.wrapping_add(bit_size).wrapping_sub(offset.wrapping_mul(8)) <= size.wrapping_mul(8) {
            return Ok((size, offset));
        }
        if size >= 8 {
            return Err(Failure::NotApplicable);
        }
        size *= 2;
    }
}

/// What is loaded of an array: one element.
fn element<T: Types>(types: &T, id: TypeId) -> Result<TypeId, Failure> {
    let (mut id, mut found) = types.resolve(id).ok_or(Failure::BadTarget)?;
    for _ in 0..64 {
        if found.kind != Kind::Array {
            return Ok(id);
        }
        (id, found) = types.resolve(found.target).ok_or(Failure::BadTarget)?;
    }
    Err(Failure::BadTarget)
}

/// `bpf_core_calc_type_relo`. A type that is not there gives 0, also for its size and id.
fn whole_type<T: Types>(
    kind: RelocationKind,
    types: &T,
    spec: Option<&Spec<'_>>,
) -> Result<Calculated, Failure> {
    let Some(spec) = spec else { return Ok(Calculated::Value(Value::of(0))) };
    let value = match kind {
        RelocationKind::TypeIdTarget => spec.root.0,
        RelocationKind::TypeSize => types.size_of(spec.root).ok_or(Failure::BadTarget)?,
        _ => 1,
    };
    Ok(Calculated::Value(Value::of(value.into())))
}

/// `bpf_core_calc_enumval_relo`.
fn enumerator<T: Types>(
    kind: RelocationKind,
    types: &T,
    spec: Option<&Spec<'_>>,
) -> Result<Calculated, Failure> {
    if kind == RelocationKind::EnumeratorExists {
        return Ok(Calculated::Value(Value::of(spec.is_some().into())));
    }
    let Some(spec) = spec else { return Ok(Calculated::Missing) };
    let accessor = spec.accessors.first().ok_or(Failure::BadRecord)?;
    let found = types.enumerator(accessor.type_id, accessor.index).ok_or(Failure::BadTarget)?;
    Ok(Calculated::Value(Value::of(found.value)))
}
