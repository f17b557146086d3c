//! Several kernels in one build: one is read while the one before it is written, and nobody can tell.
use crate::support::fixture::{Tree, USUAL};
use crate::support::index::{build, options};
use probeidx::observer::Observer;
use probeidx::pipeline::{self, Report};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex};

/// What the tree holds, in the order in which it is built. The first has modules.
const RELEASES: [&str; 4] = ["6.1.0-test", "6.2.0-second", "6.3.0-third", "6.4.0-fourth"];

static TREE: LazyLock<Tree> = LazyLock::new(|| {
    let tree = Tree::compile(&USUAL);
    for release in &RELEASES[1..] {
        fs::copy(tree.vmlinux(), vmlinux(&tree, release)).unwrap();
    }
    tree
});

fn vmlinux(tree: &Tree, release: &str) -> PathBuf {
    tree.path().join(format!("vmlinux-{release}"))
}

fn index(db: &Path, release: &str) -> PathBuf {
    db.join(format!("{release}.pidx"))
}

/// The index of a kernel that is built alone.
fn alone(tree: &Tree, release: &str) -> Vec<u8> {
    let mut paths = vec![vmlinux(tree, release)];
    paths.extend((release == RELEASES[0]).then(|| tree.path().join("lib")));
    build(&paths, 2).bytes
}

/// Exactly these kernels were built, in this order, and each index is as if its kernel had been built alone.
#[track_caller]
fn assert_each_as_alone(tree: &Tree, report: &Report, releases: &[&str]) {
    assert_eq!(report.built.iter().map(|built| &*built.release).collect::<Vec<_>>(), releases);
    for built in &report.built {
        assert!(fs::read(&built.index).unwrap() == alone(tree, &built.release), "{}", built.release);
    }
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<_> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Keeps what a build reports; does something once the files are found.
struct Watch<F> {
    first: F,
    stages: Mutex<Vec<&'static str>>,
    objects: Mutex<Vec<PathBuf>>,
}

impl<F: Fn() + Sync> Watch<F> {
    fn new(first: F) -> Self {
        Self { first, stages: Mutex::default(), objects: Mutex::default() }
    }
}

impl<F: Fn() + Sync> Observer for Watch<F> {
    fn started(&self, _objects: usize, _bytes: u64) {
        (self.first)();
    }
    fn object_done(&self, path: &Path, _bytes: u64) {
        self.objects.lock().unwrap().push(path.to_owned());
    }
    fn stage(&self, name: &'static str, _seconds: f64) {
        self.stages.lock().unwrap().push(name);
    }
    fn finished(&self) {}
}

#[test]
fn each_index_is_as_if_its_kernel_had_been_built_alone() {
    for jobs in [1, 2, 8] {
        let db = tempfile::tempdir().unwrap();
        let report = pipeline::build(&[TREE.path()], &options(db.path(), jobs), &()).unwrap();
        assert!(report.skipped.is_empty(), "{:?}", report.skipped);
        assert_each_as_alone(&TREE, &report, &RELEASES);
        assert_eq!(names(db.path()), RELEASES.map(|release| format!("{release}.pidx")));
    }
}

#[test]
fn stages_are_reported_kernel_after_kernel_and_each_object_once() {
    let db = tempfile::tempdir().unwrap();
    let watch = Watch::new(|| ());
    pipeline::build(&[TREE.path()], &options(db.path(), 4), &watch).unwrap();
    let of_one = ["vmlinux", "modules", "merge", "link", "write"];
    assert_eq!(*watch.stages.lock().unwrap(), RELEASES.map(|_| of_one).concat());
    let mut objects = watch.objects.into_inner().unwrap();
    objects.sort();
    let mut expected = TREE.objects();
    expected.extend(RELEASES[1..].iter().map(|release| vmlinux(&TREE, release)));
    expected.sort();
    assert_eq!(objects, expected);
}

#[test]
fn only_the_kernels_that_changed_are_built_again() {
    let (tree, db) = (TREE.copy(), tempfile::tempdir().unwrap());
    let options = pipeline::Options { force: false, ..options(db.path(), 2) };
    pipeline::build(&[tree.path()], &options, &()).unwrap();
    for release in [RELEASES[1], RELEASES[2]] {
        fs::remove_file(index(db.path(), release)).unwrap();
    }
    let report = pipeline::build(&[tree.path()], &options, &()).unwrap();
    assert_each_as_alone(&tree, &report, &RELEASES);
    assert_eq!(report.built.iter().map(|b| b.unchanged).collect::<Vec<_>>(), [true, false, false, true]);
}

#[test]
fn a_kernel_that_vanishes_takes_no_other_with_it() {
    for (at, gone) in RELEASES.iter().enumerate().skip(1) {
        let (tree, db) = (TREE.copy(), tempfile::tempdir().unwrap());
        let watch = Watch::new(|| fs::remove_file(vmlinux(&tree, gone)).unwrap());
        let report = pipeline::build(&[tree.path()], &options(db.path(), 2), &watch).unwrap();
        let [skipped] = &report.skipped[..] else { panic!("{:?}", report.skipped) };
        assert!(skipped.whole_object);
        assert_eq!(skipped.error.path(), Some(&*vmlinux(&tree, gone)));
        let mut others = RELEASES.to_vec();
        others.remove(at);
        assert_each_as_alone(&tree, &report, &others);
    }
}

#[test]
fn an_index_that_cannot_be_written_ends_the_build_after_the_kernels_before_it() {
    for at in 0..RELEASES.len() {
        let db = tempfile::tempdir().unwrap();
        let taken = index(db.path(), RELEASES[at]);
        fs::create_dir_all(taken.join("not empty")).unwrap();
        let error = pipeline::build(&[TREE.path()], &options(db.path(), 2), &()).unwrap_err();
        assert_eq!(error.path(), Some(&*taken));
        assert!(error.message().starts_with("cannot write the index: "), "{error}");
        let there: Vec<String> = RELEASES[..=at].iter().map(|release| format!("{release}.pidx")).collect();
        assert_eq!(names(db.path()), there, "the next one was being read, and is not written");
        for release in &RELEASES[..at] {
            assert!(fs::read(index(db.path(), release)).unwrap() == alone(&TREE, release), "{release}");
        }
    }
}
