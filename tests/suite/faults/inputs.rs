//! Files that change, are cut off or vanish while a build reads them.
use super::{TREE, assert_clean_after_a_build, assert_whole, times};
use crate::support::fixture::{RELEASE, Tree};
use crate::support::program::{Run, command};
use probeidx::observer::Observer;
use probeidx::pipeline::{self, Options};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};

/// Does something to a file again and again while the tree is built; gives how the builds ended.
fn built_while(tree: &Tree, db: &Path, disturb: impl Fn() + Sync) -> Vec<Run> {
    let ended = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                disturb();
            }
        });
        let build = || {
            let mut c = command(db);
            c.args(["build", "--force"]).arg(tree.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
            Run::of(c.output().unwrap())
        };
        let runs = (0..times(12))
            .map(|_| {
                let run = build();
                assert_whole(db);
                run
            })
            .collect();
        ended.store(true, Ordering::Relaxed);
        runs
    })
}

/// Writes into the file that is there.
fn overwrite(path: &Path, content: &[u8]) {
    let mut file = OpenOptions::new().write(true).truncate(true).open(path).unwrap();
    file.write_all(content).unwrap();
}

/// A tree, its index, and a file of it.
fn disturbed(file: impl Fn(&Tree) -> std::path::PathBuf) -> (Tree, tempfile::TempDir, std::path::PathBuf) {
    let tree = TREE.copy();
    let db = tempfile::tempdir().unwrap();
    assert!(command(db.path()).arg("build").arg(tree.path()).output().unwrap().status.success());
    let file = file(&tree);
    (tree, db, file)
}

#[test]
fn a_module_is_cut_off_and_written_again_all_the_time() {
    let (tree, db, module) = disturbed(|tree| tree.module("alpha-mod"));
    let whole = fs::read(&module).unwrap();
    let runs = built_while(&tree, db.path(), || {
        overwrite(&module, &whole[..whole.len() / 3]);
        overwrite(&module, &whole);
    });
    for run in &runs {
        assert!(matches!(run.code, 0 | 4), "{run:?}");
        assert!(run.err.lines().all(|line| line.contains("alpha-mod.ko")), "it alone: {run:?}");
        assert_eq!(run.code == 4, run.err.contains("left out: "), "{run:?}");
    }
    overwrite(&module, &whole);
    assert_clean_after_a_build(db.path());
}

#[test]
fn vmlinux_is_cut_off_and_written_again_all_the_time() {
    let (tree, db, vmlinux) = disturbed(Tree::vmlinux);
    let whole = fs::read(&vmlinux).unwrap();
    let runs = built_while(&tree, db.path(), || {
        overwrite(&vmlinux, &whole[..whole.len() / 3]);
        overwrite(&vmlinux, &whole);
    });
    for run in &runs {
        assert!(matches!(run.code, 0 | 3 | 4), "{run:?}");
        assert_eq!(run.code == 0, run.err.is_empty(), "{run:?}");
    }
    overwrite(&vmlinux, &whole);
    assert_clean_after_a_build(db.path());
}

#[test]
fn a_module_vanishes_and_is_there_again_all_the_time() {
    let (tree, db, module) = disturbed(|tree| tree.module("beta"));
    let away = tree.path().join("away");
    let runs = built_while(&tree, db.path(), || {
        fs::rename(&module, &away).unwrap();
        fs::rename(&away, &module).unwrap();
    });
    for run in &runs {
        assert!(matches!(run.code, 0 | 4), "{run:?}");
        assert!(run.err.lines().all(|line| line.contains("beta.ko")), "{run:?}");
    }
}

/// Does something when the files are found and not read yet.
struct Meanwhile<F>(F);

impl<F: Fn() + Sync> Observer for Meanwhile<F> {
    fn started(&self, _objects: usize, _bytes: u64) {
        (self.0)();
    }
    fn object_done(&self, _path: &Path, _bytes: u64) {}
    fn finished(&self) {}
}

#[test]
fn files_that_vanish_once_they_were_found() {
    let (tree, db, vmlinux) = disturbed(Tree::vmlinux);
    let index = db.path().join(format!("{RELEASE}.pidx"));
    let options = Options { force: true, ..crate::support::index::options(db.path(), 2) };
    let build = |file: &Path| {
        let content = fs::read(file).unwrap();
        let gone = Meanwhile(|| fs::remove_file(file).unwrap());
        let report = pipeline::build(&[tree.path()], &options, &gone).unwrap();
        fs::write(file, content).unwrap();
        let [skipped] = &report.skipped[..] else { panic!("{:?}", report.skipped) };
        assert!(skipped.whole_object);
        assert_eq!(skipped.error.path(), Some(file));
        assert_eq!(skipped.error.message(), "cannot read: No such file or directory (os error 2)");
        report.built.len()
    };
    assert_eq!(build(&tree.module("beta")), 1, "the rest is indexed");
    let before = fs::read(&index).unwrap();
    assert_eq!(build(&vmlinux), 0, "an index of the modules alone takes no whole one's place");
    assert!(fs::read(&index).unwrap() == before);
}
