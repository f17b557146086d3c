//! A store of the kernels of this machine: every record comes out as it went in, and so does every answer.
use crate::installed::{self, needed};
use probeidx::Index;
use probeidx::fleet::{add, same, verify};
use probeidx::store::Store;
use probeidx_format::View;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A store, and the indexes of its kernels.
fn fleet() -> Result<(tempfile::TempDir, Vec<PathBuf>), String> {
    let kernels = installed::kernels()?;
    let folder = tempfile::tempdir().map_err(|e| e.to_string())?;
    let mut indexes = vec![];
    for kernel in kernels.iter().filter(|kernel| !kernel.is_own_build()) {
        let path = installed::index(kernel);
        let index = Index::open(&path).map_err(|e| e.to_string())?;
        let added = add(folder.path(), &index, &()).map_err(|e| e.to_string())?;
        println!("{}: {} bytes, after {:?}", added.release, added.bytes, added.after);
        indexes.push(path);
    }
    Ok((folder, indexes))
}

fn answer(db: &Path, kernel: &str, question: &[&str]) -> (String, String) {
    let mut command = Command::new(installed::program());
    let out = command.arg("--db").arg(db).args(["--kernel", kernel]).args(question).output().unwrap();
    let text = |bytes| String::from_utf8_lossy(bytes).replace(&db.display().to_string(), "DB");
    (text(&out.stdout), text(&out.stderr))
}

#[test]
fn kernels_come_out_as_they_went_in() {
    let Some((folder, indexes)) = needed(fleet()) else { return };
    assert_eq!(verify(folder.path()).unwrap(), indexes.len());
    let store = Store::open(folder.path()).unwrap();
    let manifest = store.manifest();
    for path in indexes {
        let index = Index::open(&path).unwrap();
        let view = index.view().unwrap();
        let release = String::from_utf8_lossy(view.release()).into_owned();
        let entry = manifest.kernel(view.release()).unwrap();
        let kernel = store.kernel(entry).unwrap();
        assert_eq!(same::difference(&view, &View::of_store(&kernel)), None, "{release}");
        let questions: &[&[&str]] = &[
            &["find", "kernel.function(\"*\")", "--args"],
            &["find", "module(\"*\").function(\"*_init*\")", "--each", "--json"],
            &["find", "vm.*", "--args"],
            &["find", "*rea*d", "--args"],
            &["resolve", "vfs_*", "--locals", "--json"],
            &["resolve", "sched:sched_switch", "--json"],
            &["resolve", "fs/read_write.c:*"],
            &["lines", "vfs_read"],
            &["type", "task_struct", "--users"],
            &["addr", "vfs_read+0x9c"],
            &["blacklist"],
            &["resolve", "nothing_of_this_name"],
        ];
        for question in questions {
            let own = answer(path.parent().unwrap(), &release, question);
            let stored = answer(folder.path(), &release, question);
            assert!(own == stored, "{release}: {question:?}");
        }
    }
}
