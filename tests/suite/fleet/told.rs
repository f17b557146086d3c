//! What a segment says of the names of which a history may tell something else than of the kernel before.
use super::{CHANGING, KERNELS, file, store_of};
use crate::support::fixture::{Recipe, Tree};
use crate::support::program::{Indexed, run_in};
use crate::support::tables::index;
use probeidx::query::history::{Asked, Chains, Subject, facts};
use probeidx::store::Store;
use probeidx_format::View;
use probeidx_format::store::Kernel;
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::LazyLock;

/// Two kernels whose module differs in what a comparison does not mind.
static TELLING: LazyLock<[Indexed; 2]> = LazyLock::new(|| {
    // Other flags are in the debug information, so that each has a build id of its own.
    let [older, newer] = [&["-O2", "-gdwarf-5", "-fno-ipa-sra"], &["-O2", "-gdwarf-5", "-fno-ipa-bit-cp"]];
    [(older, &["-O2", "-gdwarf-5"][..]), (newer, &["-O2", "-gdwarf-5", "-DNEWER"])].map(|(kernel, module)| {
        let tree = Tree::compile(&Recipe::new("gcc", kernel));
        tree.add_module(&Recipe::new("gcc", module), "told-mod", &["told"]);
        index(tree)
    })
});

/// All names of a kernel.
fn names(view: &View<'_>) -> BTreeSet<String> {
    let all = view.names.owners().iter().map(|name| name.name);
    let types = view.types.owners().iter().map(|of| of.name);
    let text = |name| String::from_utf8_lossy(view.string(name)).into_owned();
    let plain =
        |name: &String| !name.is_empty() && name.bytes().all(|b| b == b'_' || b.is_ascii_alphanumeric());
    all.chain(types).map(text).filter(plain).collect()
}

/// The subjects of which the segments of a store say that nothing differs from the kernel before, which is held against what the
/// two kernels have; and how many others there are.
pub fn same(folder: &Path) -> (BTreeSet<String>, usize) {
    let store = Store::open(folder).unwrap();
    let (mut same, mut others) = (BTreeSet::new(), 0);
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
        for name in views.iter().flat_map(names).collect::<BTreeSet<_>>() {
            let plain = Asked::parse(&name).unwrap().subjects;
            let of_type = Asked::parse(&format!("struct {name}")).unwrap().subjects;
            for subject in plain.iter().chain(&of_type) {
                if chains.asked(subject)[1] == 1 {
                    others += 1;
                    continue;
                }
                let [one, other] = views.each_ref().map(|view| facts(view, subject).unwrap());
                assert_eq!(one, other, "{subject:?}");
                if !one.is_empty() {
                    same.insert(match subject {
                        Subject::Member(_) => format!("struct {name}"),
                        _ => name.clone(),
                    });
                }
            }
        }
    }
    (same, others)
}

#[test]
fn what_no_segment_names_is_the_same() {
    let files = CHANGING.each_ref().map(file);
    for order in [[0, 1, 2], [2, 1, 0], [1, 0, 2]] {
        let folder = store_of(&order.map(|at| files[at].clone()));
        let (same, others) = same(folder.path());
        assert!(!same.is_empty() && others > 0, "{order:?}: {} and {others}", same.len());
    }
    // Of other compilers' flags all may differ.
    let folder = store_of(&KERNELS.iter().map(file).collect::<Vec<_>>());
    same(folder.path());
}

#[test]
fn what_a_comparison_does_not_mind_is_named() {
    let files = TELLING.each_ref().map(file);
    for order in [[0, 1], [1, 0]] {
        let folder = store_of(&order.map(|at| files[at].clone()));
        let (same, _) = same(folder.path());
        for name in ["alpha_helper", "struct alpha"] {
            assert!(same.contains(name), "{name}: {same:?}");
        }
        let changed = ["called", "copied", "copies", "told_moves", "struct told_moves_too"];
        for name in changed.iter().chain(&["struct told_inner", "struct told_outer"]) {
            assert!(!same.contains(*name), "{name}");
        }
    }
}

/// Of a store, not every kernel is read; the answer is that of the indexes.
#[test]
fn histories_are_those_of_the_indexes() {
    let files = CHANGING.iter().chain(&*TELLING).map(file).collect::<Vec<_>>();
    let (stored, own) = (store_of(&files), tempfile::tempdir().unwrap());
    for (at, file) in files.iter().enumerate() {
        std::fs::copy(file, own.path().join(format!("{at}.pidx"))).unwrap();
    }
    let names = ["alpha_helper", "called", "copied", "told_moves", "vfs_read", "no_such_name"];
    let types = ["struct told_outer", "struct told_moves_too.only", "struct alpha"];
    for name in names.iter().chain(&types) {
        for format in [&[][..], &["--json"]] {
            let ask = |db: &Path| run_in(db, [&["history", name], format].concat());
            let (stored, own) = (ask(stored.path()), ask(own.path()));
            assert_eq!((stored.code, stored.out), (own.code, own.out), "{name} {format:?}");
        }
    }
}
