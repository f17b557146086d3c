//! The types that BPF programs are relocated to: those of the kernel's `.BTF`, read by another reader, are those that an index
//! of its debug information gives.
use crate::installed::{self, Kernel, needed, say, wanted};
use object::{Object, ObjectSection};
use probeidx::query::Index;
use probeidx::query::check::bpf::types::KernelTypes;
use probeidx_bpf::btf::Btf;
use probeidx_bpf::relocate::{Kernel as _, KernelBtf, Scope};
use probeidx_bpf::{Kind, TypeId, Types};
use std::collections::BTreeMap;

#[test]
fn types_of_the_installed_kernel_are_those_of_its_btf() {
    let Some(kernel) = needed(installed::kernel()) else { return };
    compare(&kernel);
}

#[test]
fn types_of_newer_kernels_are_those_of_their_btf() {
    let Some(kernel) = wanted(installed::newer()) else { return };
    compare(&kernel);
}

#[test]
fn types_of_arm64_kernels_are_those_of_their_btf() {
    let Some(kernels) = wanted(installed::arm64()) else { return };
    kernels.iter().for_each(compare);
}

fn compare(kernel: &Kernel) {
    let bytes = std::fs::read(&kernel.vmlinux).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let section = file.section_by_name(".BTF").expect("a kernel with BTF");
    let raw = KernelBtf::new(Btf::parse(section.data().unwrap(), None, ".BTF").unwrap(), vec![]);
    let index = Index::open(&installed::index(kernel)).unwrap();
    let view = index.view().unwrap();
    let ours = KernelTypes::new(&view);
    let btf = raw.types(probeidx_bpf::relocate::KernelObject::VMLINUX).unwrap();
    let mut names: BTreeMap<(Vec<u8>, u8), Kind> = BTreeMap::new();
    for id in btf.ids() {
        let found = btf.get(id).unwrap();
        let is_asked = matches!(
            found.kind,
            Kind::Struct | Kind::Union | Kind::Enum | Kind::Enum64 | Kind::Typedef | Kind::Int | Kind::Float
        );
        if is_asked && !found.name.is_empty() {
            let name = probeidx_bpf::types::essential(found.name).to_vec();
            names.insert((name, found.kind as u8), found.kind);
        }
    }
    let (mut same, mut open, mut wrong) = (0, vec![], vec![]);
    for ((name, _), kind) in &names {
        let theirs = all(&raw, btf, name, *kind);
        let mine = all(&ours, &ours, name, *kind);
        match (theirs == mine, ours.take_other()) {
            (true, _) => same += 1,
            (false, true) => open.push(String::from_utf8_lossy(name).into_owned()),
            (false, false) => wrong.push((String::from_utf8_lossy(name).into_owned(), theirs, mine)),
        }
    }
    say(&format!(
        "{}: {same} names of types have the same in BTF and the index; told to differ: {}",
        kernel.release,
        open.join(", ")
    ));
    assert!(same > 8000, "{same}");
    assert!(open.len() * 1000 <= same, "{open:?}");
    assert!(wrong.is_empty(), "{} others: {:#?}", wrong.len(), &wrong[..wrong.len().min(5)]);
}

/// The types of vmlinux of a name and kind, each with what relocations can depend on; sorted.
fn all<K: probeidx_bpf::relocate::Kernel, T: Types>(
    kernel: &K,
    types: &T,
    name: &[u8],
    kind: Kind,
) -> Vec<String> {
    let mut found = vec![];
    kernel.named(Scope::Vmlinux, name, kind, &mut found);
    let ids = found.iter().map(|candidate| candidate.id);
    // BTF of pahole before 1.22 has no floats: they are integers there.
    let is_number = |kind: Kind| matches!(kind, Kind::Int | Kind::Float);
    let is_kind = |id: &TypeId| {
        let found = types.get(*id).map_or(Kind::Void, |found| found.kind);
        found.is_compatible(kind) || is_number(found) && is_number(kind)
    };
    // An alias of what is only declared has no member, so that no relocation chooses it.
    let is_declared = |id: &TypeId| types.resolve(*id).is_some_and(|(_, found)| found.kind == Kind::Forward);
    let mut all: Vec<String> =
        ids.filter(is_kind).filter(|id| !is_declared(id)).map(|id| told(types, id, 2)).collect();
    all.sort();
    // Types that differ only in what is deeper are not told apart.
    all.dedup();
    all
}

/// What a type is, down to a depth; by name where it is deeper.
fn told<T: Types>(types: &T, id: TypeId, depth: u32) -> String {
    let Some((id, found)) = types.get(id).map(|found| (id, found)) else { return "?".to_owned() };
    let name = String::from_utf8_lossy(found.name);
    let deeper = |id| told(types, id, depth - 1);
    if depth == 0 && !name.is_empty() && !found.kind.is_alias() {
        // A declaration may stand for the definition.
        let kind = if found.kind == Kind::Forward {
            if found.flag { Kind::Union } else { Kind::Struct }
        } else {
            found.kind
        };
        return format!("{} {name}", kind.name());
    }
    match found.kind {
        kind if kind.is_alias() => {
            types.resolve(id).map_or("?".to_owned(), |(id, _)| told(types, id, depth.max(1) - 1))
        }
        Kind::Pointer => "*".to_owned(),
        Kind::Array if depth > 0 => format!("[{}]{}", found.count, deeper(found.target)),
        Kind::Struct | Kind::Union if depth > 0 => {
            let members = (0..found.count).filter_map(|at| types.member(id, at)).map(|member| {
                let name = String::from_utf8_lossy(member.name);
                format!("{name}@{}:{} {}", member.bit_offset, member.bit_size, deeper(member.type_id))
            });
            format!(
                "{} {name} {} {{{}}}",
                found.kind.name(),
                found.size,
                members.collect::<Vec<_>>().join("; ")
            )
        }
        Kind::Enum | Kind::Enum64 if depth > 0 => {
            let values = (0..found.count).filter_map(|at| types.enumerator(id, at));
            let values: Vec<String> =
                values.map(|one| format!("{}={}", String::from_utf8_lossy(one.name), one.value)).collect();
            format!("{} {name} {} {{{}}}", found.kind.name(), found.size, values.join(", "))
        }
        Kind::Int | Kind::Float => format!("number {name} {}", found.size),
        kind => format!("{} {name} {}", kind.name(), found.size),
    }
}
