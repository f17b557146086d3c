//! Prototypes of the kernel's functions as types, to compare those of kfuncs with what an object declares.
use super::types::KernelTypes;
use crate::query::index::functions;
use probeidx_bpf::btf::Btf;
use probeidx_bpf::relocate::are_compatible;
use probeidx_bpf::types::{Enumerator, Member, Parameter};
use probeidx_bpf::{Kind, Type, TypeId, Types};
use probeidx_format::View;
use probeidx_format::record::{FunctionRecord, InBtf};

/// Whether an object declares a kfunc as the kernel has it (`bpf_object__resolve_ksym_func_btf_id`, libbpf 1.7). `None` where BTF
/// has another prototype than the debug information, or there is none.
pub fn is_kfunc(
    view: &View<'_>,
    types: &KernelTypes<'_>,
    btf: &Btf<'_>,
    declared: TypeId,
    name: &[u8],
) -> Option<bool> {
    let listed = functions::of_name(view, name).filter(|function| function.has(FunctionRecord::KFUNC));
    let mut all = listed.map(|function| {
        let whole = Prototype::new(view, types, function)?;
        let matches = |prototype: &Prototype<'_, '_>| are_compatible(btf, declared, prototype, WHOLE);
        match function.in_btf() {
            InBtf::Same => matches(&whole),
            // BTF leaves out what the verifier passes by itself (`KF_IMPLICIT_ARGS`, 7.0): then it has the rest.
            _ if whole.passes_program() => matches(&whole.without_last()).filter(|is_same| *is_same),
            _ => None,
        }
    });
    let first = all.next()??;
    all.all(|other| other == Some(first)).then_some(first)
}

/// The number of the prototype itself; all others are the kernel's types.
const WHOLE: TypeId = TypeId(u32::MAX);

struct Prototype<'t, 'v> {
    types: &'t KernelTypes<'v>,
    parameters: Vec<TypeId>,
    returned: TypeId,
}

impl<'t, 'v> Prototype<'t, 'v> {
    fn new(view: &View<'_>, types: &'t KernelTypes<'v>, function: FunctionRecord) -> Option<Self> {
        if !function.has(FunctionRecord::PROTOTYPED) || function.has(FunctionRecord::VARIADIC) {
            return None;
        }
        let variables = view.variables(function);
        let returned = types.number(variables.return_type);
        let parameters = variables.parameters().map(|v| types.number(v.type_id)).collect();
        Some(Self { types, parameters, returned })
    }

    fn passes_program(&self) -> bool {
        let last = self.parameters.last().and_then(|last| self.resolve(*last));
        let target = last
            .filter(|(_, found)| found.kind == Kind::Pointer)
            .and_then(|(_, found)| self.resolve(found.target));
        target.is_some_and(|(_, found)| found.name == b"bpf_prog_aux")
    }

    fn without_last(&self) -> Self {
        let parameters = self.parameters[..self.parameters.len().saturating_sub(1)].to_vec();
        Self { types: self.types, parameters, returned: self.returned }
    }
}

impl Types for Prototype<'_, '_> {
    fn get(&self, id: TypeId) -> Option<Type<'_>> {
        if id != WHOLE {
            return self.types.get(id);
        }
        let count = self.parameters.len() as u32;
        Some(Type { kind: Kind::Prototype, count, target: self.returned, ..Type::VOID })
    }

    fn member(&self, id: TypeId, index: u32) -> Option<Member<'_>> {
        self.types.member(id, index)
    }

    fn enumerator(&self, id: TypeId, index: u32) -> Option<Enumerator<'_>> {
        self.types.enumerator(id, index)
    }

    fn parameter(&self, id: TypeId, index: u32) -> Option<Parameter<'_>> {
        if id != WHOLE {
            return self.types.parameter(id, index);
        }
        Some(Parameter { name: b"", type_id: *self.parameters.get(index as usize)? })
    }

    fn pointer_size(&self) -> u32 {
        self.types.pointer_size()
    }
}
