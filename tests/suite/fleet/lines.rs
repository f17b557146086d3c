//! The first kernel of a line follows the line before it, and each eighth one leads to the first; what is in them comes out all the
//! same.
use super::{file, same_differences, told};
use crate::support::program::Indexed;
use crate::support::tables::{Kernel, OLD};
use probeidx::Index;
use probeidx::fleet::{add, same, verify};
use probeidx::store::Store;
use probeidx_format::View;
use probeidx_format::store::runs::LEVELS;
use std::path::{Path, PathBuf};

/// A store of kernels of these releases, each of which differs from the one before it; and what each follows.
fn added(releases: &[&'static str]) -> (tempfile::TempDir, Vec<Indexed>, Vec<Option<String>>) {
    let kernel = |(at, release): (usize, &&'static str)| {
        Kernel { release, has_prototypes: at % 2 == 1, emulates: at % 3 > 0, ..OLD }.index()
    };
    let kernels: Vec<Indexed> = releases.iter().enumerate().map(kernel).collect();
    let folder = tempfile::tempdir().unwrap();
    let followed = kernels.iter().map(|kernel| {
        let index = Index::open(&file(kernel)).unwrap();
        add(folder.path(), &index, &()).unwrap().after
    });
    let followed = followed.collect();
    (folder, kernels, followed)
}

/// Compares each kernel of the store with its index, and some with each other; returns their depths.
fn depths(folder: &Path, kernels: &[Indexed], pairs: &[[usize; 2]]) -> Vec<u32> {
    let files: Vec<PathBuf> = kernels.iter().map(file).collect();
    let store = Store::open(folder).unwrap();
    let manifest = store.manifest();
    assert_eq!(verify(folder).unwrap(), files.len());
    let depth = |path: &PathBuf| {
        let index = Index::open(path).unwrap();
        let view = index.view().unwrap();
        let entry = manifest.kernel(view.release()).unwrap();
        let kernel = store.kernel(entry).unwrap();
        assert_eq!(same::difference(&view, &View::of_store(&kernel)), None, "{}", path.display());
        kernel.own().header.depth.get()
    };
    let depths = files.iter().map(depth).collect();
    for [one, other] in pairs {
        same_differences(folder, [&files[*one], &files[*other]]);
        same_differences(folder, [&files[*other], &files[*one]]);
    }
    let (same, others) = told::same(folder);
    assert!(!same.is_empty(), "{others}");
    depths
}

#[test]
fn the_first_of_a_line_follows_the_line_before() {
    let releases = ["6.1.0-old", "6.2.0-next", "6.2.1-next", "6.12.0-far"];
    let (folder, kernels, followed) = added(&releases);
    let expected = [None, Some(releases[0]), Some(releases[1]), None];
    assert_eq!(followed.iter().map(Option::as_deref).collect::<Vec<_>>(), expected);
    let pairs = [[0, 1], [1, 2], [0, 2], [2, 3]];
    assert_eq!(depths(folder.path(), &kernels, &pairs), [0, 0, 1, 0]);
}

#[test]
fn each_eighth_of_a_line_leads_to_its_first() {
    let releases = [
        "6.1.0-old",
        "6.2.0-x",
        "6.2.1-x",
        "6.2.2-x",
        "6.2.3-x",
        "6.2.4-x",
        "6.2.5-x",
        "6.2.6-x",
        "6.2.7-x",
        "6.2.8-x",
        "6.2.9-x",
    ];
    let (folder, kernels, _) = added(&releases);
    let pairs = [[8, 9], [9, 10], [1, 9], [5, 10], [0, 10]];
    let depths = depths(folder.path(), &kernels, &pairs);
    assert_eq!(depths[1..], (0..=LEVELS + 1).collect::<Vec<_>>());
}
