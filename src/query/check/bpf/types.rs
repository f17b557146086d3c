//! The types of a kernel as BTF has them, from the tables of its index.
//!
//! Which types are in BTF is in `btf_types`; what they consist of is in `types` and `members`, as of the debug information.
//! A kernel whose index does not say is taken to have all named types of the index in BTF.
use super::environment;
use crate::query::types::lookup;
use probeidx_bpf::reach::Pointer;
use probeidx_bpf::relocate::{Candidate, Kernel, KernelObject, Scope};
use probeidx_bpf::types::{Enumerator, Member, Parameter};
use probeidx_bpf::{Kind, Type, TypeId, Types};
use probeidx_format::View;
use probeidx_format::id::TypeId as IndexId;
use probeidx_format::record::{BtfTypeRecord, BtfTypeState, MemberRecord, ObjectRecord, TypeRecord};
use probeidx_format::types::TypeKind;
use std::cell::Cell;

/// The types of a kernel.
pub struct KernelTypes<'a> {
    view: &'a View<'a>,
    /// Whether the index says which types are in BTF.
    is_known: bool,
    /// Whether a type was asked for of which BTF has another definition than the index.
    met_other: Cell<bool>,
    /// The last module whose type was a candidate.
    module: Cell<Option<u32>>,
}

/// What is known of the BTF of vmlinux.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelBtf {
    /// It is there.
    There,
    /// There is none.
    Missing,
    /// The index does not say.
    Unknown,
}

impl<'a> KernelTypes<'a> {
    /// The types of a kernel. Cost: none to speak of.
    pub fn new(view: &'a View<'a>) -> Self {
        let is_known = !view.btf_types().is_empty();
        Self { view, is_known, met_other: Cell::new(false), module: Cell::new(None) }
    }

    /// Whether the kernel has BTF.
    pub fn btf(&self) -> KernelBtf {
        let kernel = self.view.objects.first();
        match kernel {
            Some(kernel) if kernel.has(ObjectRecord::BTF) => KernelBtf::There,
            Some(kernel) if kernel.has(ObjectRecord::NO_BTF) => KernelBtf::Missing,
            _ => KernelBtf::Unknown,
        }
    }

    /// Whether the index says which types are in BTF.
    pub fn is_known(&self) -> bool {
        self.is_known
    }

    /// Whether a type was asked for, since the last call, of which BTF has another definition than the index.
    pub fn take_other(&self) -> bool {
        self.met_other.take()
    }

    /// The object of the last candidate that is no type of vmlinux, since the last call.
    pub fn take_module(&self) -> Option<u32> {
        self.module.take()
    }

    /// The enumerators of the kernel's enum of this name.
    pub fn enumerators(&self, name: &[u8]) -> Option<impl Iterator<Item = (&'a [u8], i64)> + use<'a>> {
        let view = self.view;
        let named = self.ids(name);
        let (id, _) =
            named.into_iter().find(|(_, record)| TypeKind::from_u8(record.kind) == TypeKind::Enum)?;
        Some(view.members(id).iter().map(move |member| (view.string(member.name), member.value.get())))
    }

    /// Whether there is a type of this name.
    pub fn has_type(&self, name: &[u8]) -> bool {
        !self.ids(name).is_empty()
    }

    /// Whether a struct of this name has a member.
    pub fn has_member(&self, name: &[u8], member: &[u8]) -> bool {
        let view = self.view;
        let has = |id| view.members(id).iter().any(|one| view.string(one.name) == member);
        self.ids(name).into_iter().any(|(id, _)| has(id))
    }

    /// What an argument of a type is for the verifier (`btf_ctx_access`, kernel/bpf/btf.c).
    pub fn argument(&self, id: Option<IndexId>) -> Pointer {
        match self.resolve(self.number(id)) {
            Some((_, found)) if found.kind == Kind::Pointer => environment::pointer_to(self, found.target),
            Some((_, found)) if matches!(found.kind, Kind::Int | Kind::Enum | Kind::Enum64) => {
                Pointer::Number
            }
            _ => Pointer::Unknown,
        }
    }

    /// The struct of this name.
    pub fn structure(&self, name: &[u8]) -> Option<TypeId> {
        let is_whole = |record: &TypeRecord| {
            TypeKind::from_u8(record.kind) == TypeKind::Struct
                && record.flags.get() & TypeRecord::DECLARED == 0
        };
        self.ids(name).into_iter().find(|(_, record)| is_whole(record)).map(|(id, _)| self.number(Some(id)))
    }

    /// The types of exactly this name.
    fn ids(&self, name: &[u8]) -> Vec<(IndexId, TypeRecord)> {
        let found = lookup::named(self.view, name, None).into_iter();
        found.filter_map(|id| Some((id, self.view.types.get(id.index())?))).collect()
    }

    /// The types whose name is this one with a flavour (`name___x`), or without.
    fn flavours(&self, name: &[u8]) -> Vec<(IndexId, TypeRecord)> {
        let view = self.view;
        let is_flavour =
            |record: &TypeRecord| probeidx_bpf::types::essential(view.string(record.name)) == name;
        let mut all = self.ids(name);
        let flavoured = [name, b"___"].concat();
        all.extend(lookup::starting(view, &flavoured).filter(|(_, record)| is_flavour(record)));
        all
    }

    fn record(&self, id: TypeId) -> Option<TypeRecord> {
        self.view.types.owners().get(index(id)?.index())
    }
    fn part(&self, id: TypeId, number: u32) -> Option<MemberRecord> {
        self.view.members(index(id)?).get(number as usize)
    }
    /// The id of a type of the index; none is `void`.
    pub(super) fn number(&self, id: Option<IndexId>) -> TypeId {
        id.map_or(TypeId::VOID, |id| TypeId(id.get().saturating_add(1)))
    }
}

/// Ids of an index start at 0, which is `void` for BTF.
fn index(id: TypeId) -> Option<IndexId> {
    id.0.checked_sub(1).map(IndexId::new)
}

/// A number of DWARF 5, section 7.8, for BTF: signed, and bool.
fn encoding(record: &TypeRecord) -> u32 {
    const BOOLEAN: u8 = 2;
    const SIGNED: u8 = 5;
    const SIGNED_CHAR: u8 = 6;
    match record.encoding {
        BOOLEAN => 4,
        SIGNED | SIGNED_CHAR => 1,
        _ => 0,
    }
}

impl Types for KernelTypes<'_> {
    fn get(&self, id: TypeId) -> Option<Type<'_>> {
        const FLOAT: u8 = 4;
        if id == TypeId::VOID {
            return Some(Type::VOID);
        }
        let record = self.record(id)?;
        let members = self.view.members(index(id)?);
        let kind = TypeKind::from_u8(record.kind);
        let is_declared = record.flags.get() & TypeRecord::DECLARED != 0;
        let size = record.size.get();
        let mut found = Type {
            name: self.view.string(record.name),
            count: members.len() as u32,
            size,
            target: self.number(record.target.some()),
            ..Type::VOID
        };
        found.kind = match kind {
            TypeKind::Struct | TypeKind::Class if is_declared => Kind::Forward,
            TypeKind::Union if is_declared => {
                found.flag = true;
                Kind::Forward
            }
            TypeKind::Struct | TypeKind::Class => Kind::Struct,
            TypeKind::Union => Kind::Union,
            TypeKind::Enum => {
                found.flag = members.iter().any(|member| member.value.get() < 0);
                if size > 4 { Kind::Enum64 } else { Kind::Enum }
            }
            TypeKind::Base if record.encoding == FLOAT => Kind::Float,
            TypeKind::Base => {
                found.detail = encoding(&record) << 24 | size.saturating_mul(8) & 0xff;
                Kind::Int
            }
            TypeKind::Typedef => Kind::Typedef,
            TypeKind::Pointer | TypeKind::Reference | TypeKind::RvalueReference => Kind::Pointer,
            TypeKind::Const => Kind::Const,
            TypeKind::Volatile => Kind::Volatile,
            TypeKind::Restrict => Kind::Restrict,
            TypeKind::Atomic => Kind::Const,
            TypeKind::Function => Kind::Prototype,
            TypeKind::Array => {
                // pahole makes one dimension of all (`array_type__nelems`, dwarves 1.17 to 1.31).
                let counts =
                    members.iter().map(|dimension| dimension.value.get().clamp(0, i64::from(u32::MAX)));
                found.count = counts.fold(1u32, |all, count| all.saturating_mul(count as u32));
                Kind::Array
            }
            TypeKind::Unspecified => Kind::Void,
        };
        if !matches!(
            found.kind,
            Kind::Int | Kind::Float | Kind::Struct | Kind::Union | Kind::Enum | Kind::Enum64
        ) {
            found.size = 0;
        }
        Some(found)
    }

    fn member(&self, id: TypeId, number: u32) -> Option<Member<'_>> {
        let part = self.part(id, number)?;
        let value = part.value.get() as u64;
        Some(Member {
            name: self.view.string(part.name),
            type_id: self.number(part.target.some()),
            bit_offset: (value & 0xffff_ffff_ffff).min(u32::MAX.into()) as u32,
            bit_size: (value >> 48) as u32,
        })
    }

    fn enumerator(&self, id: TypeId, number: u32) -> Option<Enumerator<'_>> {
        let part = self.part(id, number)?;
        let value = part.value.get();
        let is_short = self.record(id)?.size.get() <= 4;
        let value = if is_short { i64::from(value as i32) } else { value };
        Some(Enumerator { name: self.view.string(part.name), value: value as u64 })
    }

    fn parameter(&self, id: TypeId, number: u32) -> Option<Parameter<'_>> {
        let part = self.part(id, number)?;
        Some(Parameter { name: self.view.string(part.name), type_id: self.number(part.target.some()) })
    }

    fn pointer_size(&self) -> u32 {
        self.view.address_size().into()
    }
}

impl Kernel for KernelTypes<'_> {
    type Types = Self;

    fn types(&self, _: KernelObject) -> Option<&Self> {
        Some(self)
    }

    fn named(&self, scope: Scope, essential: &[u8], kind: Kind, found: &mut Vec<Candidate>) {
        let in_btf = self.view.btf_types();
        for (id, record) in self.flavours(essential) {
            let is_declared = record.flags.get() & TypeRecord::DECLARED != 0;
            let candidate =
                |object: u32| Candidate { object: KernelObject(object), id: self.number(Some(id)) };
            if !self.is_known {
                if scope == Scope::Vmlinux && (!is_declared || kind == Kind::Forward) {
                    found.push(candidate(0));
                }
                continue;
            }
            let first = in_btf.partition_point(|row: BtfTypeRecord| row.type_id < id);
            for row in in_btf.from(first).iter().take_while(|row| row.type_id == id) {
                let object = row.object.get();
                if (object == 0) != (scope == Scope::Vmlinux) {
                    continue;
                }
                match row.state() {
                    BtfTypeState::Same => {}
                    BtfTypeState::Declared if is_declared && kind == Kind::Forward => {}
                    BtfTypeState::Declared => continue,
                    BtfTypeState::Other => self.met_other.set(true),
                }
                if object != 0 {
                    self.module.set(Some(object));
                }
                found.push(candidate(object));
                // The others are the same.
                break;
            }
        }
    }
}
