//! The types of the kernel among which is chosen.
use crate::btf::Btf;
use crate::types::{Kind, TypeId, Types, essential};
use rustc_hash::FxHashMap;

/// Which BTF of the kernel: 0 is vmlinux, the others are modules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct KernelObject(pub u32);

impl KernelObject {
    /// The kernel itself.
    pub const VMLINUX: Self = Self(0);
}

/// A type of the kernel whose name is the wanted one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Candidate {
    /// Whose BTF.
    pub object: KernelObject,
    /// Its id there.
    pub id: TypeId,
}

/// Where to look for candidates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// vmlinux.
    Vmlinux,
    /// All modules, without the types of vmlinux below them. Asked only if vmlinux has no type of the name and kind.
    Modules,
}

/// The types of a kernel and its modules.
pub trait Kernel {
    /// The types of one of them.
    type Types: Types;

    /// The types of an object. `None` if there is no such object.
    fn types(&self, object: KernelObject) -> Option<&Self::Types>;

    /// Adds all types whose [`essential`] name is this one, ascending by object and id. Types of other kinds than
    /// `kind` ([`Kind::is_compatible`]) may be among them: they are left out afterwards.
    fn named(&self, scope: Scope, essential: &[u8], kind: Kind, found: &mut Vec<Candidate>);
}

/// The candidates for a name and kind (`bpf_core_find_cands` of libbpf 1.7).
pub(super) fn find<K: Kernel>(kernel: &K, name: &[u8], kind: Kind) -> Vec<Candidate> {
    let mut found = Vec::new();
    for scope in [Scope::Vmlinux, Scope::Modules] {
        kernel.named(scope, name, kind, &mut found);
        found.retain(|candidate| {
            let types = kernel.types(candidate.object);
            types
                .and_then(|types| types.get(candidate.id))
                .is_some_and(|found| found.kind.is_compatible(kind))
        });
        if !found.is_empty() {
            break;
        }
    }
    found
}

/// A kernel by its raw BTF.
#[derive(Debug)]
pub struct KernelBtf<'a> {
    objects: Vec<Btf<'a>>,
    /// Types by essential name, vmlinux first.
    names: FxHashMap<Vec<u8>, Vec<Candidate>>,
}

impl<'a> KernelBtf<'a> {
    /// Indexes vmlinux and modules (split BTF on it) by name. One step per type.
    pub fn new(vmlinux: Btf<'a>, modules: Vec<Btf<'a>>) -> Self {
        let mut names: FxHashMap<Vec<u8>, Vec<Candidate>> = FxHashMap::default();
        let objects: Vec<_> = std::iter::once(vmlinux).chain(modules).collect();
        for (number, btf) in objects.iter().enumerate() {
            for id in btf.ids() {
                let Some(found) = btf.get(id).filter(|found| !found.name.is_empty()) else { continue };
                let candidate = Candidate { object: KernelObject(number as u32), id };
                match names.get_mut(essential(found.name)) {
                    Some(list) => list.push(candidate),
                    None => {
                        names.insert(essential(found.name).to_vec(), vec![candidate]);
                    }
                }
            }
        }
        Self { objects, names }
    }
}

impl<'a> Kernel for KernelBtf<'a> {
    type Types = Btf<'a>;

    fn types(&self, object: KernelObject) -> Option<&Btf<'a>> {
        self.objects.get(object.0 as usize)
    }

    fn named(&self, scope: Scope, essential: &[u8], _kind: Kind, found: &mut Vec<Candidate>) {
        let all = self.names.get(essential).map_or(&[][..], Vec::as_slice);
        let is_vmlinux = |candidate: &&Candidate| candidate.object == KernelObject::VMLINUX;
        found.extend(all.iter().filter(|candidate| is_vmlinux(candidate) == (scope == Scope::Vmlinux)));
    }
}
