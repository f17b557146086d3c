//! The first kernel of a line follows the line before it, and what is in it comes out all the same.
use super::{file, same_differences, told};
use crate::support::program::Indexed;
use crate::support::tables::{Kernel, OLD};
use probeidx::Index;
use probeidx::fleet::{add, same, verify};
use probeidx::store::Store;
use probeidx_format::View;

#[test]
fn the_first_of_a_line_follows_the_line_before() {
    let kernel = |release| Kernel { release, has_prototypes: release != OLD.release, ..OLD }.index();
    let kernels: Vec<Indexed> =
        [OLD.release, "6.2.0-next", "6.2.1-next", "6.12.0-far"].into_iter().map(kernel).collect();
    let files: Vec<_> = kernels.iter().map(file).collect();
    let folder = tempfile::tempdir().unwrap();
    let followed =
        files.iter().map(|file| add(folder.path(), &Index::open(file).unwrap(), &()).unwrap().after);
    let followed: Vec<_> = followed.collect();
    assert_eq!(
        followed.iter().map(Option::as_deref).collect::<Vec<_>>(),
        [None, Some(OLD.release), Some("6.2.0-next"), None]
    );

    let store = Store::open(folder.path()).unwrap();
    let depths: Vec<u32> = store
        .manifest()
        .kernels
        .iter()
        .map(|entry| store.kernel(entry).unwrap().own().header.depth.get())
        .collect();
    assert_eq!(depths, [0, 0, 1, 0], "a line starts anew");
    assert_eq!(verify(folder.path()).unwrap(), files.len());
    for file in &files {
        let index = Index::open(file).unwrap();
        let view = index.view().unwrap();
        let manifest = store.manifest();
        let entry = manifest.kernel(view.release()).unwrap();
        assert_eq!(same::difference(&view, &View::of_store(&store.kernel(entry).unwrap())), None);
    }
    for [one, other] in [[0, 1], [1, 0], [1, 2], [0, 2], [2, 3]] {
        same_differences(folder.path(), [&files[one], &files[other]]);
    }
    let (same, others) = told::same(folder.path());
    assert!(!same.is_empty(), "{others}");
}
