//! A store of the kernels of this machine: every record comes out as it went in, and so does every answer.
use crate::installed::{self, needed};
use crate::sample::{Random, seed, some};
use probeidx::Index;
use probeidx::fleet::{add, same, verify};
use probeidx::query::history::{Asked, Chains, facts};
use probeidx::store::Store;
use probeidx_format::View;
use probeidx_format::store::Kernel;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// A store, made once, and the indexes of its kernels.
fn fleet() -> Result<(&'static Path, Vec<PathBuf>), String> {
    static MADE: LazyLock<Result<(PathBuf, Vec<PathBuf>), String>> = LazyLock::new(|| {
        let folder = installed::scratch("fleet");
        let _ = std::fs::remove_dir_all(&folder);
        let mut indexes = vec![];
        for kernel in installed::kernels()?.iter().filter(|kernel| !kernel.is_own_build()) {
            let path = installed::index(kernel);
            let index = Index::open(&path).map_err(|e| e.to_string())?;
            let added = add(&folder, &index, &()).map_err(|e| e.to_string())?;
            println!("{}: {} bytes, after {:?}", added.release, added.bytes, added.after);
            indexes.push(path);
        }
        Ok((folder, indexes))
    });
    MADE.as_ref().map(|(folder, indexes)| (folder.as_path(), indexes.clone())).map_err(String::clone)
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
    assert_eq!(verify(folder).unwrap(), indexes.len());
    let store = Store::open(folder).unwrap();
    let manifest = store.manifest();
    // Every record of all of them, and the answers of one, another one in each run.
    let asked = some(indexes.clone(), 1, seed());
    for path in indexes {
        let index = Index::open(&path).unwrap();
        let view = index.view().unwrap();
        let release = String::from_utf8_lossy(view.release()).into_owned();
        let entry = manifest.kernel(view.release()).unwrap();
        let kernel = store.kernel(entry).unwrap();
        assert_eq!(same::difference(&view, &View::of_store(&kernel)), None, "{release}");
        if !asked.contains(&path) {
            continue;
        }
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
            let stored = answer(folder, &release, question);
            assert!(own == stored, "{release}: {question:?}");
        }
    }
}

/// Of a sample of names. `PROBEIDX_STORE` is a store with updates of kernels, if those of this machine are none of one another.
#[test]
fn what_no_segment_names_is_the_same() {
    let given = std::env::var_os("PROBEIDX_STORE").map(PathBuf::from);
    let folder = match &given {
        Some(folder) => folder.as_path(),
        None => match needed(fleet()) {
            Some((folder, _)) => folder,
            None => return,
        },
    };
    let store = Store::open(folder).unwrap();
    let mut random = Random(seed());
    let mut pairs = 0;
    for entry in store.manifest().kernels {
        let kernel = store.kernel(entry).unwrap();
        let Some((_, lower)) = kernel.chain().split_last().filter(|(_, lower)| !lower.is_empty()) else {
            continue;
        };
        let before = Kernel::open(lower.iter().map(|segment| segment.bytes)).unwrap();
        let views = [View::of_store(&before), View::of_store(&kernel)];
        let own = entry.segment.get();
        let segments = [store.manifest().segments[own as usize].before.get(), own];
        let chains = Chains::of(Some(&store), &segments.map(Some)).unwrap();
        let names = views[1].names.owners();
        let (mut same, mut others) = (0, 0);
        for at in random.choose((0..names.len()).collect(), 3000) {
            let name = String::from_utf8_lossy(views[1].string(names.at(at).name)).into_owned();
            for subject in Asked::parse(&name).map(|asked| asked.subjects).unwrap_or_default() {
                if chains.asked(&subject)[1] == 1 {
                    others += 1;
                    continue;
                }
                let [one, other] = views.each_ref().map(|view| facts(view, &subject).unwrap());
                assert_eq!(one, other, "{name}");
                same += usize::from(!one.is_empty());
            }
        }
        let release = String::from_utf8_lossy(views[1].release()).into_owned();
        println!("{release}: {same} facts of the kernel before, {others} to be read");
        pairs += 1;
    }
    if pairs == 0 {
        println!("skipped: no kernel of this store is an update of another one");
    }
}

/// Of two kernels, others in each run.
#[test]
fn differences_are_those_of_the_indexes() {
    let Some((folder, indexes)) = needed(fleet()) else { return };
    let released = |path: PathBuf| {
        let index = Index::open(&path).unwrap();
        (String::from_utf8_lossy(index.view().unwrap().release()).into_owned(), path)
    };
    let kernels: Vec<_> = some(indexes, 2, seed()).into_iter().map(released).collect();
    let diff = |db: &Path, question: &[&str]| {
        let out = Command::new(installed::program()).arg("--db").arg(db).args(question).output().unwrap();
        String::from_utf8_lossy(&out.stdout).into_owned()
    };
    // From each to the next, from the last back to the first, and one with itself: as text and JSON, in turn.
    let next =
        kernels.iter().zip(kernels.iter().cycle().skip(1)).chain(kernels.iter().map(|k| (k, k)).take(1));
    let formats = [&[][..], &["--json"]].into_iter().cycle();
    for (((before, one), (after, other)), format) in next.zip(formats) {
        let [one, other] = [one, other].map(|path| path.to_str().unwrap());
        let own = diff(folder, &[&["diff", one, other], format].concat());
        let stored = diff(folder, &[&["diff", before.as_str(), after], format].concat());
        assert!(own == stored && !own.is_empty(), "{before} and {after} {format:?}");
    }
}
