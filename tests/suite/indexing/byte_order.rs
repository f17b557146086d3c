//! Objects that say the wrong byte order, all of them or in part: an error or counted damages, and the rest is whole.
use crate::support::facts::assert_equal;
use crate::support::fixture::{Recipe, Tree, USUAL, possible, run_all};
use crate::support::index::{Index, build, build_whole};
use std::path::{Path, PathBuf};
use std::process::Command;

const BIG_ENDIAN: Recipe = Recipe::new("s390x-linux-gnu-gcc", &["-O2", "-gdwarf-5"]);

/// A tree of each byte order, with the prefix of its binutils.
fn both() -> Option<[(Tree, &'static str); 2]> {
    possible(&BIG_ENDIAN)
        .then(|| [(Tree::compile(&USUAL), ""), (Tree::compile(&BIG_ENDIAN), "s390x-linux-gnu-")])
}

/// The index of a copy of the tree with a module more.
fn beside(tree: &Tree, content: &[u8]) -> (Tree, Index) {
    let tree = tree.copy();
    tree.file("lib/modules/6.1.0-test/kernel/zz.ko", content);
    let index = build(&[tree.path()], 2);
    (tree, index)
}

fn assert_rest_is_whole(tree: &Tree, index: &Index, what: &str) {
    let (mut found, whole) = (index.facts(), build_whole(tree).facts());
    found.objects.remove("zz");
    found.types.clone_from(&whole.types);
    found.declared.clone_from(&whole.declared);
    assert_equal(&found, &whole, what);
}

#[test]
fn a_header_that_says_the_other_order() {
    let Some(both) = both() else { return };
    for (tree, prefix) in &both {
        let mut module = std::fs::read(tree.module("beta")).unwrap();
        module[5] = 3 - module[5];
        let (copy, index) = beside(tree, &module);
        assert_rest_is_whole(tree, &index, prefix);
        let lines = index.skipped(&copy.modules());
        let [line] = &lines[..] else { panic!("{lines:#?}") };
        assert!(line.starts_with("zz.ko at 0x") && line.contains("its section headers end at"), "{line}");
    }
}

/// A copy of the first kernel that has a debug section of the second, whose machine has the other order.
fn mixed(folder: &Path, [own, other]: [&(Tree, &str); 2], section: &str) -> PathBuf {
    let (bytes, mixed) = (folder.join("bytes"), folder.join("mixed"));
    let dump = format!("{section}={}", bytes.display());
    let mut take = Command::new(format!("{}objcopy", other.1));
    take.arg("--dump-section").arg(&dump).arg(other.0.vmlinux()).arg(folder.join("unused"));
    run_all([take]);
    let mut put = Command::new(format!("{}objcopy", own.1));
    put.arg("--update-section").arg(&dump).arg(own.0.vmlinux()).arg(&mixed);
    run_all([put]);
    mixed
}

#[test]
fn debug_sections_in_the_other_order() {
    let Some(both) = both() else { return };
    let names = ["abbrev", "addr", "frame", "info", "line", "line_str", "loclists", "rnglists", "str"];
    for (own, other) in [(&both[0], &both[1]), (&both[1], &both[0])] {
        for name in names {
            let section = format!(".debug_{name}");
            let has = |tree: &Tree| {
                let bytes = std::fs::read(tree.vmlinux()).unwrap();
                memchr::memmem::find(&bytes, section.as_bytes()).is_some()
            };
            if !has(&own.0) || !has(&other.0) {
                continue;
            }
            let folder = tempfile::tempdir().unwrap();
            let content = std::fs::read(mixed(folder.path(), [own, other], &section)).unwrap();
            let (copy, index) = beside(&own.0, &content);
            assert_rest_is_whole(&own.0, &index, &section);
            for line in index.skipped(&copy.modules()) {
                assert!(line.contains("zz.ko: "), "{line}");
            }
            if name == "info" {
                let lines = index.skipped(&copy.modules());
                assert!(lines.iter().any(|line| line.contains("section .debug_info")), "{lines:#?}");
            }
        }
    }
}

/// Bytes anywhere in a big-endian module are changed at random; no panic, an end, and all the rest is whole.
#[test]
fn bytes_flipped_in_a_big_endian_module() {
    if !possible(&BIG_ENDIAN) {
        return;
    }
    let whole = Tree::compile(&BIG_ENDIAN);
    let module = std::fs::read(whole.module("alpha-mod")).unwrap();
    let tree = whole.copy();
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    for number in 0..300 {
        let mut copy = module.clone();
        for _ in 0..1 + number % 8 {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            copy[state as usize % module.len()] ^= (state >> 40) as u8 | 1;
        }
        tree.file(&format!("lib/modules/6.1.0-test/kernel/z{number:03}.ko"), &copy);
    }
    let index = build(&[tree.path()], 2);
    let (mut found, expected) = (index.facts(), build_whole(&whole).facts());
    found.objects.retain(|name, _| expected.objects.contains_key(name));
    found.types.clone_from(&expected.types);
    found.declared.clone_from(&expected.declared);
    assert_equal(&found, &expected, "flipped");
    let lines = index.skipped(&tree.modules());
    assert!(lines.len() > 100, "damage is seen: {}", lines.len());
    assert!(lines.iter().all(|line| line.contains(".ko")), "{lines:#?}");
}
