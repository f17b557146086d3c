//! A store of kernels: what goes in comes out, in any order, and damage is named.
mod added;
mod asked;
mod judged;
mod lines;
mod told;
mod walked;

#[cfg(target_arch = "x86_64")]
use crate::answers::tracepoints;
use crate::support::fixture::{Recipe, Tree, USUAL};
use crate::support::program::{Indexed, run_in};
use crate::support::tables::index;
use probeidx::fleet::{add, merge, remove, same, verify};
use probeidx::store::Store;
use probeidx::{ErrorKind, Index};
use probeidx_format::View;
use probeidx_format::record::NameRecord;
use probeidx_format::store::manifest::{KernelEntry, Manifest};
use probeidx_format::store::{Part, Segment};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// Three kernels of one release, which differ by their debug information, or by their code.
static KERNELS: LazyLock<Vec<Indexed>> = LazyLock::new(|| {
    let recipes =
        [USUAL, Recipe::new("gcc", &["-O2", "-gdwarf-4"]), Recipe::new("gcc", &["-O1", "-gdwarf-5"])];
    recipes.iter().map(|recipe| index(Tree::compile(recipe))).collect()
});

fn file(indexed: &Indexed) -> PathBuf {
    let files = std::fs::read_dir(indexed.db.path()).unwrap().map(|entry| entry.unwrap().path());
    files.into_iter().find(|path| path.extension().is_some_and(|e| e == "pidx")).unwrap()
}

fn open(at: usize) -> Index {
    Index::open(&file(&KERNELS[at])).unwrap()
}

/// A store with these kernels, added in this order.
fn store(kernels: &[usize]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for at in kernels {
        let added = add(folder.path(), &open(*at), &()).unwrap();
        assert!(added.bytes > 0);
    }
    folder
}

/// The first difference between a kernel of a store and its index.
fn difference(folder: &Path, at: usize) -> Option<String> {
    let (index, store) = (open(at), Store::open(folder).unwrap());
    let kernel = store.kernel(entry(&store.manifest(), &index)).unwrap();
    same::difference(&index.view().unwrap(), &View::of_store(&kernel))
}

/// A kernel of a store, given its index.
fn entry<'m>(manifest: &Manifest<'m>, index: &Index) -> &'m KernelEntry {
    let build_id = index.view().unwrap().objects[0].build_id;
    let is_it = |k: &&KernelEntry| manifest.segments[k.segment.get() as usize].id.build_id == build_id;
    manifest.kernels.iter().find(is_it).expect("the kernel is there")
}

#[test]
fn every_record_comes_out_as_it_went_in() {
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
        let folder = store(&order);
        for at in order {
            assert_eq!(difference(folder.path(), at), None, "kernel {at} of {order:?}");
        }
        assert_eq!(verify(folder.path()).unwrap(), 3);
    }
}

/// Where the functions of a name would start, if it had any, is no row of its own.
#[test]
fn names_without_functions_and_symbols_keep_their_rows() {
    let folder = store(&[0, 2]);
    let store = Store::open(folder.path()).unwrap();
    let kernels: Vec<_> = store.manifest().kernels.iter().map(|k| store.kernel(k).unwrap()).collect();
    let new = kernels.iter().find(|kernel| kernel.chain().len() == 2).unwrap();
    let old = kernels.iter().find(|kernel| kernel.chain().len() == 1).unwrap();
    let [old, view] = [old, new].map(View::of_store);
    let rows = new.own().rows::<NameRecord>(Part::Names);
    let is_empty = |view: &View<'_>, text: &[u8]| {
        let name = view.name(text)?;
        Some([view.functions_named(name).is_empty(), view.symbols_named(name).is_empty()])
    };
    let (mut kept, all) = (0, view.names.owners());
    for text in all.iter().map(|name| view.string(name.name)) {
        let is_new = rows.iter().any(|row| view.string(row.name) == text);
        let empty = [is_empty(&old, text), is_empty(&view, text)].map(Option::unwrap_or_default);
        assert!(!is_new || empty != [[true, true]; 2], "{}", String::from_utf8_lossy(text));
        kept += usize::from(!is_new && empty.concat().contains(&true));
    }
    assert!(kept > 10 && !rows.is_empty(), "{kept} of {}, {} new", all.len(), rows.len());
}

#[test]
fn a_kernel_of_another_store_is_refused() {
    let (one, other) = (store(&[0, 1]), store(&[0]));
    let added = |from: &Path| run_in(other.path(), [Path::new("fleet"), Path::new("add"), from]);
    assert!(added(other.path()).found().ends_with("is there already\n"));
    let run = added(one.path());
    assert_eq!(run.code, 4, "{run:?}");
    let end = "a kernel of a store cannot be added to another store; join the stores with: probeidx fleet merge; \
               or add its index, or its packages\n";
    assert!(run.err.starts_with("probeidx: left out: ") && run.err.ends_with(end), "{run:?}");
    assert_eq!(verify(other.path()).unwrap(), 1);
}

#[test]
fn a_kernel_that_is_there_costs_nothing() {
    let folder = store(&[0, 1]);
    let before = std::fs::read(folder.path().join("manifest")).unwrap();
    assert_eq!(add(folder.path(), &open(0), &()).unwrap().bytes, 0);
    assert_eq!(std::fs::read(folder.path().join("manifest")).unwrap(), before);
}

#[test]
fn answers_are_those_of_the_index() {
    let folder = store(&[0, 1, 2]);
    let names = probeidx::store::names(folder.path()).unwrap();
    assert_eq!(names.len(), 3);
    for kernel in names {
        let questions: [&[&str]; 5] = [
            &["find", "*", "--args"],
            &["find", "*", "--each", "--json"],
            &["resolve", "*", "--json"],
            &["type", "*"],
            &["blacklist"],
        ];
        let digits = kernel.rsplit('~').next().unwrap();
        let own = KERNELS.iter().find(|indexed| {
            let index = Index::open(&file(indexed)).unwrap();
            let id: String =
                index.view().unwrap().objects[0].build_id.iter().map(|b| format!("{b:02x}")).collect();
            id.starts_with(digits)
        });
        for question in questions {
            let stored = run_in(folder.path(), [question, &["--kernel", &kernel]].concat());
            let own = run_in(own.unwrap().db.path(), question.to_vec());
            assert_eq!(stored.out, own.out, "{kernel}: {question:?}");
        }
    }
}

/// Three kernels, of which the second adds, removes and changes functions, structs and tracepoints, and the third takes that
/// back and has another module that changes.
static CHANGING: LazyLock<[Indexed; 3]> = LazyLock::new(|| {
    // The flags are in the debug information, so that each has a build id of its own.
    let kernel =
        |own: &'static [&'static str], flags: &'static [&'static str], more: &'static [&'static str]| {
            let tree = Tree::compile(&Recipe::new("gcc", own));
            tree.add_module(&Recipe::new("gcc", flags), "diff-mod", &["diff", "diff_two"]);
            tree.add_module(&Recipe::new("gcc", more), "delta-mod", &["delta"]);
            index(tree)
        };
    const AS_BEFORE: &[&str] = &["-O2", "-gdwarf-5"];
    [
        kernel(AS_BEFORE, AS_BEFORE, AS_BEFORE),
        kernel(&["-O2", "-gdwarf-5", "-fno-ipa-ra"], &["-O2", "-gdwarf-5", "-DNEWER"], AS_BEFORE),
        kernel(&["-O2", "-gdwarf-5", "-fno-ipa-icf"], AS_BEFORE, &["-O2", "-gdwarf-5", "-DNEWER_EVENTS"]),
    ]
});

#[test]
fn differences_are_those_of_the_indexes() {
    let files = CHANGING.each_ref().map(file);
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
        let in_order = order.map(|at| files[at].clone());
        let folder = store_of(&in_order);
        for (one, other) in [(0, 1), (1, 0), (1, 2), (2, 1), (0, 2), (2, 0)] {
            let told = same_differences(folder.path(), [&files[one], &files[other]]);
            assert!(told.contains("function signature") || told.contains("traceprobe"), "{told}");
        }
        let itself = same_differences(folder.path(), [&files[1], &files[1]]);
        assert!(itself.starts_with("0 added, 0 removed, 0 changed"), "{itself}");
    }
}

#[test]
fn a_segment_lists_what_differs_from_the_kernel_before() {
    let files = CHANGING.each_ref().map(file);
    let folder = store_of(&files);
    for after in 1..files.len() {
        let (build_id, listed) = listed(folder.path(), &files[after]);
        // Those of one release are equally near.
        let is_it =
            |file: &&PathBuf| Index::open(file).unwrap().view().unwrap().objects[0].build_id == build_id;
        let before = files.iter().find(is_it).expect("it is one of them");
        let told = same_differences(folder.path(), [before, &files[after]]);
        let mut told = told.lines().filter_map(|line| line.get(2..)).filter(|line| !line.starts_with(' '));
        let of = |subject: &str, line: &str| {
            let name = line.strip_prefix(subject)?.split(' ').next()?;
            Some(name.to_owned())
        };
        let mut of_subject: [Vec<String>; 2] = [vec![], vec![]];
        told.by_ref().for_each(|line| {
            of_subject[0].extend(of("function ", line));
            of_subject[1].extend(["struct ", "union ", "enum "].iter().find_map(|kind| of(kind, line)));
        });
        of_subject.iter_mut().for_each(|names| {
            names.sort();
            names.dedup();
        });
        assert!(!of_subject[0].is_empty(), "{listed:?}");
        assert_eq!(listed, of_subject, "{} and {}", before.display(), files[after].display());
    }
    let first = Store::open(folder.path()).unwrap();
    let segment = Segment::open(first.segment(&first.manifest().segments[0])).unwrap();
    assert_eq!(segment.changed(), None, "there is no kernel before");
}

/// The build id of the kernel before, and the functions and types that the segment of a kernel lists, given its index.
fn listed(folder: &Path, file: &Path) -> ([u8; 20], [Vec<String>; 2]) {
    let name = stored_name(folder, file);
    let store = Store::open(folder).unwrap();
    let manifest = store.manifest();
    let kernel = store.kernel(manifest.kernel(name.as_bytes()).unwrap()).unwrap();
    let changed =
        kernel.own().changed().unwrap_or_else(|| panic!("{name} is much the same as the kernel before"));
    let listed = [changed.functions, changed.types].map(|ids| {
        let mut names: Vec<_> =
            ids.iter().map(|id| String::from_utf8_lossy(kernel.text(*id)).into_owned()).collect();
        names.sort();
        names
    });
    (kernel.own().header.before.build_id, listed)
}

#[test]
#[cfg(target_arch = "x86_64")]
fn tracepoints_differ_as_those_of_the_indexes() {
    let kernels = [tracepoints::kernel(), tracepoints::newer_kernel()].map(index);
    let files = kernels.each_ref().map(file);
    let folder = store_of(&files);
    for two in [[&files[0], &files[1]], [&files[1], &files[0]]] {
        let told = same_differences(folder.path(), two);
        for name in ["sched:task_free", "sched:task_new", "alpha:alpha_io", "alpha:alpha_bare_tp"] {
            assert!(told.contains(&format!("tracepoint {name}")), "{name}: {told}");
        }
    }
}

fn store_of(files: &[PathBuf]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for file in files {
        add(folder.path(), &Index::open(file).unwrap(), &()).unwrap();
    }
    folder
}

/// The differences between two kernels of a store, which are compared with those between their indexes.
fn same_differences(folder: &Path, files: [&PathBuf; 2]) -> String {
    let names = files.map(|file| stored_name(folder, file));
    let mut told = String::new();
    for question in [&["vfs_*"][..], &["--json"], &[]] {
        let [before, after] = files.map(|file| file.to_str().unwrap());
        let own = run_in(folder, [&["diff", before, after], question].concat());
        let stored = run_in(folder, [&["diff", &names[0], &names[1]], question].concat());
        assert_eq!(stored.out, own.out, "{names:?} {question:?}");
        told = stored.out;
    }
    told
}

/// The name of a kernel in a store, given its index.
fn stored_name(folder: &Path, file: &Path) -> String {
    let (index, store) = (Index::open(file).unwrap(), Store::open(folder).unwrap());
    let manifest = store.manifest();
    String::from_utf8_lossy(manifest.string(entry(&manifest, &index).name)).into_owned()
}

#[test]
fn joined_stores_have_the_same_bytes_in_any_order() {
    let [a, b, c] = [store(&[0]), store(&[1]), store(&[2])];
    let joined = |from: &[&Path]| {
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("joined");
        merge(&to, from, &()).unwrap();
        (folder, to)
    };
    let bytes = |to: &Path| ["manifest", "segments.0"].map(|name| std::fs::read(to.join(name)).unwrap());
    let all = joined(&[a.path(), b.path(), c.path()]);
    for at in 0..3 {
        assert_eq!(difference(&all.1, at), None);
    }
    let other = joined(&[c.path(), a.path(), b.path(), a.path()]);
    let two = joined(&[b.path(), c.path()]);
    let nested = joined(&[&two.1, a.path()]);
    assert_eq!(bytes(&all.1), bytes(&other.1));
    assert_eq!(bytes(&all.1), bytes(&nested.1));
}

#[test]
fn what_is_removed_is_gone_and_what_others_share_is_not() {
    let folder = store(&[0, 1, 2]);
    let store = Store::open(folder.path()).unwrap();
    let manifest = store.manifest();
    // The one that the others were compared with.
    let first = manifest.kernels.iter().find(|k| k.segment.get() == 0).unwrap();
    let name = String::from_utf8_lossy(manifest.string(first.name)).into_owned();
    remove(folder.path(), std::slice::from_ref(&name), &()).unwrap();
    assert_eq!(verify(folder.path()).unwrap(), 2);
    for at in [1, 2] {
        assert_eq!(difference(folder.path(), at), None);
    }
    let again = remove(folder.path(), &[name], &()).unwrap_err();
    assert_eq!(again.kind(), ErrorKind::NoIndex);
}

#[test]
fn a_store_of_another_version_is_named() {
    let folder = store(&[0]);
    let manifest = folder.path().join("manifest");
    let bytes = std::fs::read(&manifest).unwrap();
    let version = u32::from_le_bytes(bytes[8..12].try_into().unwrap());
    for other in [version - 1, version + 1] {
        let mut changed = bytes.clone();
        changed[8..12].copy_from_slice(&other.to_le_bytes());
        std::fs::write(&manifest, changed).unwrap();
        for question in [&["fleet", "list"][..], &["resolve", "vfs_read"], &["history", "vfs_read"]] {
            let run = run_in(folder.path(), question);
            let said = format!("store format {other}, this program reads {version}; ");
            assert!(run.code == 3 && run.err.contains(&said), "{question:?}: {run:?}");
        }
    }
}

#[test]
fn damage_is_named_and_never_ends_the_program() {
    let folder = store(&[0, 1]);
    for name in ["manifest", "segments.0"] {
        let path = folder.path().join(name);
        let whole = std::fs::read(&path).unwrap();
        for at in (0..whole.len()).step_by(whole.len() / 97 + 1) {
            let mut damaged = whole.clone();
            damaged[at] ^= 0x41;
            std::fs::write(&path, &damaged).unwrap();
            // Between segments there are bytes of none.
            let result = verify(folder.path());
            assert!(result.is_err() || whole[at] == 0, "{name}: byte {at}");
            if result.is_ok() {
                continue;
            }
            for question in [&["find", "*", "--args"][..], &["resolve", "sub*"], &["type", "*"]] {
                let run = run_in(folder.path(), [question, &["--kernel", "*"]].concat());
                assert!(run.code < 5, "{name}: byte {at}: {}", run.err);
            }
        }
        std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
        assert_eq!(verify(folder.path()).unwrap_err().kind(), ErrorKind::IndexDamaged);
        std::fs::write(&path, &whole).unwrap();
    }
    assert_eq!(verify(folder.path()).unwrap(), 2);
}
