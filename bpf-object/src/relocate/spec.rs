//! An access through types: which members and elements, and where they are.
use crate::btf::RelocationKind;
use crate::relocate::Failure;
use crate::types::{Type, TypeId, Types};

/// As `BPF_CORE_SPEC_MAX_LEN` of libbpf 1.7.
pub(super) const MAX_DEPTH: usize = 64;

/// A named member, an element of an array, or an enumerator.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accessor<'t> {
    /// The struct with the member; of an element, its own type.
    pub(super) type_id: TypeId,
    /// The position of the member, or the index of the element.
    pub(super) index: u32,
    /// Of members and enumerators.
    pub(super) name: Option<&'t [u8]>,
}

/// `struct bpf_core_spec`: the access with anonymous members left out, and the bit offset of it all.
#[derive(Clone, Debug)]
pub(super) struct Spec<'t> {
    pub(super) root: TypeId,
    pub(super) kind: RelocationKind,
    pub(super) accessors: Vec<Accessor<'t>>,
    /// How many steps the access takes with anonymous members.
    pub(super) depth: usize,
    /// Modulo 2^32, as in libbpf.
    pub(super) bit_offset: u32,
}

impl<'t> Spec<'t> {
    /// An access that goes nowhere yet.
    pub(super) fn at(root: TypeId, kind: RelocationKind) -> Self {
        Self { root, kind, accessors: Vec::new(), depth: 0, bit_offset: 0 }
    }

    /// The access that a relocation of an object says (`bpf_core_parse_spec`).
    pub(super) fn parse<T: Types>(
        types: &'t T,
        root: TypeId,
        access: &[u8],
        kind: RelocationKind,
    ) -> Result<Self, Failure> {
        let mut spec = Self::at(root, kind);
        if kind.is_type() {
            return if access == b"0" { Ok(spec) } else { Err(Failure::BadRecord) };
        }
        let steps = parse_steps(access).ok_or(Failure::BadRecord)?;
        spec.depth = steps.len();
        let (mut id, found) = types.resolve(root).ok_or(Failure::BadRecord)?;
        let first = steps[0];
        spec.accessors.push(Accessor { type_id: id, index: first, name: None });
        if kind.is_enumerator() {
            let is_one = found.kind.is_enum() && steps.len() == 1;
            let enumerator = if is_one { types.enumerator(id, first) } else { None };
            spec.accessors[0].name = Some(enumerator.ok_or(Failure::BadRecord)?.name);
            return Ok(spec);
        }
        spec.advance(types, id, first).ok_or(Failure::BadRecord)?;
        for &step in &steps[1..] {
            let (resolved, found) = types.resolve(id).ok_or(Failure::BadRecord)?;
            id = spec.enter(types, resolved, found, step).ok_or(Failure::BadRecord)?;
        }
        Ok(spec)
    }

    /// Adds `index` times the size of a type to the offset.
    pub(super) fn advance<T: Types>(&mut self, types: &T, id: TypeId, index: u32) -> Option<()> {
        let bits = index.wrapping_mul(types.size_of(id)?).wrapping_mul(8);
        self.bit_offset = self.bit_offset.wrapping_add(bits);
        Some(())
    }

    /// Goes to a member or element; gives its type.
    fn enter<T: Types>(&mut self, types: &'t T, id: TypeId, found: Type<'t>, step: u32) -> Option<TypeId> {
        if found.kind.is_composite() {
            let member = types.member(id, step)?;
            self.bit_offset = self.bit_offset.wrapping_add(member.bit_offset);
            if !member.name.is_empty() {
                self.accessors.push(Accessor { type_id: id, index: step, name: Some(member.name) });
            }
            return Some(member.type_id);
        }
        if found.kind != crate::types::Kind::Array {
            return None;
        }
        let (element, _) = types.resolve(found.target)?;
        if step >= found.count && !self.is_flexible(types, &found) {
            return None;
        }
        self.accessors.push(Accessor { type_id: element, index: step, name: None });
        self.advance(types, element, step)?;
        Some(element)
    }

    /// Whether an array without elements is the last member of its struct (`is_flex_arr`): any index is then allowed.
    pub(super) fn is_flexible<T: Types>(&self, types: &T, array: &Type<'_>) -> bool {
        let Some(last) = self.accessors.last() else { return false };
        let count = types.get(last.type_id).map_or(0, |found| found.count);
        last.name.is_some() && array.count == 0 && count.checked_sub(1) == Some(last.index)
    }
}

/// The numbers between the colons. A negative one can only be the first (`p[-1]`), and is taken modulo 2^32.
fn parse_steps(access: &[u8]) -> Option<Vec<u32>> {
    let text = std::str::from_utf8(access).ok()?;
    let steps: Option<Vec<_>> = text.split(':').map(|step| step.parse::<i32>().ok()).collect();
    let steps = steps.filter(|steps| steps.len() <= MAX_DEPTH && steps[1..].iter().all(|&step| step >= 0))?;
    Some(steps.into_iter().map(i32::cast_unsigned).collect())
}
