//! Which kernels of a store are asked, and what they are before they are opened.
use super::{file, store_of};
use crate::support::fixture::{RELEASE, Tree, replace};
use crate::support::program::{Indexed, KERNEL, run_in};
use probeidx::kernels::{OpenStores, Source};
use probeidx::query::index::kernel_description::KernelDescription;
use probeidx::store::{names, path_of};
use probeidx::{Error, Index};
use std::path::{Path, PathBuf};

/// An index of the fixture as a kernel of another release, which has as many letters, and another build id.
fn indexed(release: &str, files: &[&str], config: &str, tapset: Option<&str>) -> Indexed {
    let (tree, db) = (Tree::empty(), tempfile::tempdir().unwrap());
    let build_id = {
        let index = Index::open(&file(&KERNEL)).unwrap();
        index.view().unwrap().objects[0].build_id
    };
    let own_id = release.bytes().fold(build_id, |id, byte| id.map(|b| b.wrapping_mul(3) ^ byte));
    let places = [
        ("vmlinux", KERNEL.tree.vmlinux(), format!("vmlinux-{release}")),
        ("module", KERNEL.tree.module("beta"), format!("lib/modules/{release}/kernel/beta.ko")),
    ];
    for (_, from, to) in places.iter().filter(|(name, ..)| files.contains(name)) {
        let mut bytes = std::fs::read(from).unwrap();
        replace(&mut bytes, RELEASE.as_bytes(), release.as_bytes());
        replace(&mut bytes, &build_id, &own_id);
        tree.file(to, &bytes);
    }
    tree.file(&format!("config-{release}"), config.as_bytes());
    let mut line = vec!["build".to_owned(), "-q".to_owned(), tree.path().display().to_string()];
    if let Some(tapset) = tapset {
        let file = tree.file("tapset/own.stp", tapset.as_bytes());
        line.extend(["--tapset".to_owned(), file.parent().unwrap().display().to_string()]);
    }
    let built = run_in(db.path(), line);
    // Modules alone are not all of a kernel.
    assert_eq!(built.code, if files.contains(&"vmlinux") { 0 } else { 4 }, "{built:?}");
    Indexed { tree, db }
}

/// What is said of a kernel without opening it is what its index says: also where only its configuration tells who built it, and
/// where the first build id is that of a module.
#[test]
fn kernels_are_described_without_being_opened() {
    let signed = "CONFIG_CC_VERSION_TEXT=\"gcc 12.2.0\"\nCONFIG_VERSION_SIGNATURE=\"Ubuntu 6.1.0-9.9\"\n";
    let compiled = "CONFIG_CC_VERSION_TEXT=\"gcc (Debian 12.2.0-14) 12.2.0\"\n";
    let all = [
        indexed("6.1.0-9-up", &["vmlinux", "module"], signed, None),
        indexed("6.1.0-8-up", &["vmlinux"], compiled, None),
        indexed("6.1.0-7-rt", &["module"], "", None),
    ];
    let own = all.each_ref().map(|indexed| {
        let index = Index::open(&file(indexed)).unwrap();
        KernelDescription::of(&index.view().unwrap())
    });
    assert_eq!(own.each_ref().map(|kernel| kernel.distribution), ["ubuntu", "debian", "unknown"]);
    assert!(own[0].id.build_id.is_some() && own[2].id.build_id.is_none());
    let folder = store_of(&all.each_ref().map(file));
    let paths: Vec<PathBuf> =
        names(folder.path()).unwrap().iter().map(|name| path_of(folder.path(), name.as_bytes())).collect();
    let never = |path: &Path| Err(Error::new(probeidx::ErrorKind::Io, "it is opened").at(path));
    let described = Source::describe(&paths, &OpenStores::default(), &never).unwrap();
    let mut found: Vec<_> = described.into_iter().map(|kernel| kernel.unwrap().0).collect();
    found.reverse();
    assert_eq!(found, own);
}

/// One tapset may be that of several kernels, which need not be asked for an alias that it lacks.
#[test]
fn aliases_are_those_of_each_kernel() {
    let (old, new) = (
        "probe own.plain = kernel.function(\"plain\") { name = \"plain\" }",
        "probe own.plain = kernel.function(\"plain\") { name = \"plain\" }\nprobe own.later = begin { }",
    );
    let kernels = [("6.1.0-1-up", old), ("6.1.0-2-up", old), ("6.1.0-3-up", new), ("6.1.0-4-up", new)];
    let all = kernels.map(|(release, tapset)| indexed(release, &["vmlinux"], "", Some(tapset)));
    let (stored, own) = (store_of(&all.each_ref().map(file)), tempfile::tempdir().unwrap());
    for indexed in &all {
        let from = file(indexed);
        std::fs::copy(&from, own.path().join(from.file_name().unwrap())).unwrap();
    }
    let ask_of = |kernels: &str, name: &str| {
        let line = ["--json", "history", name, "--kernel", kernels];
        let [stored, own] = [stored.path(), own.path()].map(|db| run_in(db, line));
        assert_eq!((stored.code, &stored.out, &stored.err), (own.code, &own.out, &own.err), "{name}");
        stored.out
    };
    let ask = |name: &str| ask_of("*", name);
    assert!(ask("own.plain").contains("6.1.0-4-up"));
    assert!(ask("own.later").contains("[\"6.1.0-3-up\",\"6.1.0-4-up\"]"));
    assert_eq!(ask("own.none"), "");
    // Kernels between those that are asked, and before them, are not.
    for kernels in ["6.1.0-2..6.1.0-3", "6.1.0-[14]*", "6.1.0-4-up", "..6.1.0-1"] {
        for name in ["own.plain", "submit", "struct sample"] {
            ask_of(kernels, name);
        }
    }
    assert!(ask_of("6.1.0-[14]*", "submit").contains("[\"6.1.0-1-up\",\"6.1.0-4-up\"]"));
}
