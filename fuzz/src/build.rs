//! Builds of a small kernel with one object that a stranger made.
use crate::ask::{self, Asked};
use crate::file::folder;
use probeidx::cli::args::Command;
use probeidx::error::ErrorKind;
use probeidx::pipeline::{self, Options};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// The kernel beside which the strange object is indexed, and the module that must not suffer.
const VMLINUX: &[u8] = include_bytes!("../seeds/elf/vmlinux");
const MODULE: &[u8] = include_bytes!("../seeds/elf/beta.ko");
const RELEASE: &str = "6.1.0-test";

/// What is asked of the objects that are whole: all functions, each place of each, with what can be read there.
static LISTING: LazyLock<[Command; 2]> = LazyLock::new(|| {
    ["kernel.function(\"*\")", "module(\"beta\").function(\"*\")"]
        .map(|point| ask::command(&["find", "--each", "--args", "--locals", point]))
});

/// What an index without the strange object says of them.
static WHOLE: LazyLock<BTreeSet<Vec<u8>>> = LazyLock::new(|| {
    let folder = folder();
    let indexes = build(folder.path(), &[]);
    listing(&indexes[0])
});

/// Indexes a module among a kernel's, and asserts that the others are indexed as without it. `look` gets the index.
pub fn beside(strange: &[u8], look: impl FnOnce(&Path)) {
    files_beside(&[("strange.ko", strange)], look);
}

/// The same of a module with other files in its folder.
pub fn files_beside(strange: &[(&str, &[u8])], look: impl FnOnce(&Path)) {
    LazyLock::force(&WHOLE);
    let folder = folder();
    let indexes = build(folder.path(), strange);
    // An object that says that it is another kernel's vmlinux has an index of its own.
    let own = indexes.iter().find(|path| path.file_stem().is_some_and(|s| s == RELEASE));
    let own = own.expect("the kernel is indexed");
    let found = listing(own);
    if let Some(lost) = WHOLE.difference(&found).next() {
        panic!("lost: {}", String::from_utf8_lossy(lost));
    }
    look(own);
}

/// Indexes a kernel with a file of tapsets.
pub fn with_tapset(text: &[u8], look: impl FnOnce(&Path)) {
    let folder = folder();
    let tapsets = folder.path().join("tapsets");
    write(tapsets.join("macros.stpm"), b"@define twice(a) %( @a + @a %)");
    write(tapsets.join("strange.stp"), text);
    let vmlinux = folder.path().join(format!("vmlinux-{RELEASE}"));
    write(vmlinux.clone(), VMLINUX);
    let options = Options { tapsets: vec![tapsets], ..options(folder.path()) };
    let report = pipeline::build(&[vmlinux], &options, &()).expect("a report");
    look(&report.built[0].index);
}

/// Indexes a file as the one that boots, or its BTF. `look` gets the index, if there is one.
pub fn bare(strange: &[u8], look: impl Fn(&Path)) {
    let folder = folder();
    let path = folder.path().join("boot").join(format!("vmlinuz-{RELEASE}"));
    write(path.clone(), strange);
    match pipeline::build(&[path], &options(folder.path()), &()) {
        Ok(report) => report.built.iter().take(1).for_each(|built| look(&built.index)),
        // A package, of which nothing else was asked.
        Err(error) => assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}"),
    }
}

/// Indexes a file as a program or library.
pub fn user(strange: &[u8]) {
    let folder = folder();
    let path = folder.path().join("strange");
    std::fs::write(&path, strange).expect("room in memory");
    let report = pipeline::build_user(&[path], &[], &options(folder.path()), &()).expect("a report");
    assert_eq!(report.built.len() + usize::from(report.skipped.iter().any(|s| s.whole_object)), 1);
}

fn build(folder: &Path, strange: &[(&str, &[u8])]) -> Vec<PathBuf> {
    let objects = folder.join("objects");
    let modules = objects.join("lib/modules").join(RELEASE).join("kernel");
    write(objects.join(format!("vmlinux-{RELEASE}")), VMLINUX);
    write(modules.join("beta.ko"), MODULE);
    for (name, bytes) in strange {
        write(modules.join(name), bytes);
    }
    let report = pipeline::build(&[objects], &options(folder), &()).expect("a report");
    report.built.into_iter().map(|b| b.index).collect()
}

fn write(path: PathBuf, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().expect("a folder")).expect("room in memory");
    std::fs::write(path, bytes).expect("room in memory");
}

fn options(folder: &Path) -> Options {
    Options { db: folder.join("db"), modules: true, tapsets: vec![], force: true, jobs: 1 }
}

fn listing(index: &Path) -> BTreeSet<Vec<u8>> {
    let lines = |command| ask::ask(index, command, Asked::default()).out;
    let all: Vec<Vec<u8>> = LISTING.iter().map(lines).collect();
    all.iter().flat_map(|out| out.split(|b| *b == b'\n')).map(<[u8]>::to_vec).collect()
}
