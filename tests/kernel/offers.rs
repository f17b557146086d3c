//! What a kernel offers to BPF programs, against its symbols and the tags of its BTF.
use crate::installed::{self, Kernel, say};
use object::{Object, ObjectSection, ObjectSymbol};
use probeidx::pattern::Pattern;
use probeidx::query::Index;
use probeidx::query::offers::{Kind, Offer, offers};
use probeidx_bpf::btf::Btf;
use probeidx_bpf::{Kind as BtfKind, Types};
use std::collections::BTreeSet;

#[test]
fn offers_are_what_symbols_and_tags_say() {
    installed::on_each(compare);
}

fn compare(kernel: &Kernel) {
    if kernel.is_own_build() {
        return say(&format!("skipped: {}: it has no BTF", kernel.release));
    }
    let bytes = std::fs::read(&kernel.vmlinux).unwrap();
    let file = object::File::parse(&*bytes).unwrap();
    let index = Index::open(&installed::index(kernel)).unwrap();
    let view = index.view().unwrap();
    let all = Pattern::new("*").unwrap();
    let of_vmlinux = |kind: Kind| -> BTreeSet<String> {
        let found = offers(&view, kind, &all).into_iter();
        found.filter(|offer: &Offer| offer.module.is_none()).map(|offer| offer.name).collect()
    };
    let symbols = |start: &str| -> BTreeSet<String> {
        let names = file.symbols().filter(|s| s.kind() == object::SymbolKind::Text);
        let names = names.filter_map(|s| s.name().ok()?.strip_prefix(start).map(str::to_owned));
        names.filter(|name| !name.contains('.')).collect()
    };
    // What is not listed is of the programs' own (bpf_lsm_verify_prog).
    let (hooks, named) = (of_vmlinux(Kind::Lsm), symbols("bpf_lsm_"));
    let others: Vec<&String> = named.difference(&hooks).collect();
    assert!(hooks.is_subset(&named) && others.len() < 20, "{}: {others:?}", kernel.release);
    assert!(hooks.is_empty() || hooks.contains("file_open") && !hooks.contains("verify_prog"), "{hooks:?}");
    let iterators = of_vmlinux(Kind::Iterator);
    assert!(iterators.is_subset(&symbols("bpf_iter_")) && iterators.contains("task"), "{iterators:?}");
    let helpers = offers(&view, Kind::Helper, &all);
    assert!(helpers.iter().any(|h| (h.name.as_str(), h.number) == ("bpf_probe_read_kernel", Some(113))));
    // pahole tags the functions of the kernel's sets since 1.27 or so.
    let kfuncs = of_vmlinux(Kind::Kfunc);
    let Some(section) = file.section_by_name(".BTF") else { return };
    let btf = Btf::parse(section.data().unwrap(), None, ".BTF").unwrap();
    let tagged: BTreeSet<String> = btf
        .ids()
        .filter_map(|id| btf.get(id))
        .filter(|tag| tag.kind == BtfKind::DeclTag && tag.name == b"bpf_kfunc")
        .filter_map(|tag| btf.get(tag.target).map(|f| String::from_utf8_lossy(f.name).into_owned()))
        .collect();
    if !tagged.is_empty() {
        assert_eq!(kfuncs, tagged, "{}", kernel.release);
    }
    say(&format!(
        "{}: {} LSM hooks, {} iterators, {} kfuncs, {} of them tagged",
        kernel.release,
        hooks.len(),
        iterators.len(),
        kfuncs.len(),
        tagged.len()
    ));
}
