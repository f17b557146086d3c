//! Debug information that dwz made smaller: what units have in common is in partial units, in the object or in a
//! supplementary file. The index is that of the object as the compiler left it.
use crate::support::facts::assert_equal;
use crate::support::fixture::{Recipe, Tree, USUAL, possible, run_all, skipped};
use crate::support::index::{build, facts, options};
use probeidx::pipeline;
use std::path::{Path, PathBuf};
use std::process::Command;

const RECIPES: [Recipe; 4] = [
    USUAL,
    Recipe::new("gcc", &["-O2", "-gdwarf-4"]),
    Recipe::new("gcc", &["-O0", "-gdwarf-5"]),
    Recipe::new("s390x-linux-gnu-gcc", &["-O2", "-gdwarf-5"]),
];

/// Whether the machine has dwz; says so where it has not.
fn has_dwz() -> bool {
    Command::new("dwz").arg("--version").output().is_ok() || skipped("dwz is not installed")
}

fn dwz(arguments: &[&str], files: &[&Path]) {
    let mut c = Command::new("dwz");
    c.args(arguments).args(files);
    run_all([c]);
}

fn has_section(path: &Path, name: &str) -> bool {
    let bytes = std::fs::read(path).unwrap();
    memchr::memmem::find(&bytes, format!("\0{name}\0").as_bytes()).is_some()
}

/// A copy of the tree whose kernel shares a supplementary file of this name with another object; gives both.
fn shared(whole: &Tree, name: &str) -> (Tree, PathBuf) {
    shared_as(whole, name, &[], ".gnu_debugaltlink")
}

/// The same with options of dwz, of which the kernel has the section that leads to the file.
fn shared_as(whole: &Tree, name: &str, options: &[&str], section: &str) -> (Tree, PathBuf) {
    let tree = whole.copy();
    let other = tree.path().join("other");
    std::fs::copy(tree.vmlinux(), &other).unwrap();
    let file = tree.path().join(name);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    let arguments = [options, &["-m", file.to_str().unwrap(), "-M", name]].concat();
    dwz(&arguments, &[&tree.vmlinux(), &other]);
    assert!(has_section(&tree.vmlinux(), section));
    std::fs::remove_file(other).unwrap();
    (tree, file)
}

#[test]
fn partial_units_of_one_file() {
    if !has_dwz() {
        return;
    }
    for recipe in RECIPES.iter().filter(|recipe| possible(recipe)) {
        let whole = Tree::compile(recipe);
        let tree = whole.copy();
        dwz(&[], &[&tree.vmlinux()]);
        let sizes = [&whole, &tree].map(|tree| std::fs::metadata(tree.vmlinux()).unwrap().len());
        assert!(sizes[1] < sizes[0], "dwz has found something: {sizes:?}");
        assert_equal(&facts(&tree), &facts(&whole), &format!("{recipe:?}"));
    }
}

#[test]
fn supplementary_files() {
    if !has_dwz() {
        return;
    }
    for recipe in RECIPES.iter().filter(|recipe| possible(recipe)) {
        let whole = Tree::compile(recipe);
        let expected = facts(&whole);
        for name in ["common.debug", ".dwz/x86_64-linux-gnu/common.debug"] {
            let (tree, _) = shared(&whole, name);
            assert_equal(&facts(&tree), &expected, &format!("{name} {recipe:?}"));
        }
    }
}

/// As DWARF 5 has them: `.debug_sup`, and forms of its own.
#[test]
fn supplementary_files_of_the_standard() {
    if !has_dwz() {
        return;
    }
    for recipe in [USUAL, Recipe::new("gcc", &["-O0", "-gdwarf-5"])] {
        let whole = Tree::compile(&recipe);
        let (tree, _) = shared_as(&whole, "common.debug", &["-5"], ".debug_sup");
        assert_equal(&facts(&tree), &facts(&whole), &format!("{recipe:?}"));
    }
}

#[test]
fn supplementary_files_are_found_by_build_id() {
    if !has_dwz() {
        return;
    }
    let whole = Tree::compile(&USUAL);
    let (tree, file) = shared(&whole, "somewhere/common.debug");
    let link = std::fs::read(tree.vmlinux()).unwrap();
    let at =
        memchr::memmem::find(&link, b"somewhere/common.debug\0").unwrap() + "somewhere/common.debug\0".len();
    let id: String = link[at..at + 20].iter().map(|b| format!("{b:02x}")).collect();
    let by_id = tree.path().join(format!(".build-id/{}/{}.debug", &id[..2], &id[2..]));
    std::fs::create_dir_all(by_id.parent().unwrap()).unwrap();
    std::fs::rename(file, by_id).unwrap();
    assert_equal(&facts(&tree), &facts(&whole), "by build id");
}

#[test]
fn supplementary_files_that_are_missing_or_of_another_build() {
    if !has_dwz() {
        return;
    }
    let whole = Tree::compile(&USUAL);
    let expected = facts(&whole);
    let (tree, file) = shared(&whole, "common.debug");
    let content = std::fs::read(&file).unwrap();
    std::fs::remove_file(&file).unwrap();
    let index = build(&[tree.path()], 2);
    let lines = index.skipped(&tree.path());
    let missing = "part of vmlinux-6.1.0-test: section .gnu_debugaltlink: names and types are in a supplementary file \
                   (dwz) that is not there: common.debug; install the debug package that has it";
    assert!(lines.iter().any(|l| l == missing), "{lines:#?}");
    assert_eq!(index.facts().objects[""].symbols, expected.objects[""].symbols);

    // The build id is that of another file.
    let mut stranger = content.clone();
    let id = memchr::memmem::find(&stranger, b"GNU\0").unwrap() + 4;
    stranger[id] ^= 1;
    std::fs::write(&file, &stranger).unwrap();
    let lines = build(&[tree.path()], 2).skipped(&tree.path());
    assert!(
        lines.iter().any(|l| l.contains("common.debug: a supplementary file (dwz) of another build")),
        "{lines:#?}"
    );

    // An index that lacks something is made again when it is there.
    let db = tempfile::tempdir().unwrap();
    std::fs::remove_file(&file).unwrap();
    let options = pipeline::Options { force: false, ..options(db.path(), 2) };
    let build = || pipeline::build(&[tree.path()], &options, &()).unwrap();
    assert!(!build().skipped.is_empty());
    std::fs::write(&file, &content).unwrap();
    let again = build();
    assert!(again.skipped.is_empty() && !again.built[0].unchanged, "{:#?}", again.skipped);
    assert!(build().built[0].unchanged);
}

/// Whatever is wrong in the supplementary file is said of that file.
#[test]
fn supplementary_files_that_are_damaged() {
    if !has_dwz() {
        return;
    }
    use object::{Object, ObjectSection};
    let (tree, file) = shared(&Tree::compile(&USUAL), "common.debug");
    let content = std::fs::read(&file).unwrap();
    let parsed = object::read::elf::ElfFile64::<object::LittleEndian>::parse(&*content).unwrap();
    let (start, size) = parsed.section_by_name(".debug_info").unwrap().file_range().unwrap();
    let mut said = 0;
    for at in (start..start + size).step_by(61) {
        let mut damaged = content.clone();
        damaged[at as usize] ^= 0x7f;
        std::fs::write(&file, &damaged).unwrap();
        let lines = build(&[tree.path()], 1).skipped(&tree.path());
        said += usize::from(lines.iter().any(|l| l.contains("common.debug: section .debug_")));
    }
    assert!(said > 10, "{said}");
}
