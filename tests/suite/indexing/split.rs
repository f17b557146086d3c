//! Split DWARF: entries of units in `.dwo` files, in packages of them, or in the objects of which a program was linked. The
//! index is that of the object compiled in one piece.
use crate::support::facts::{Facts, assert_equal};
use crate::support::fixture::{Recipe, Tree, possible, run_all, skipped};
use crate::support::index::{self, build, options};
use probeidx::pipeline;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Flags of a compiler, and what splits: the same but for that is the object in one piece.
macro_rules! split {
    ($compiler:literal, $split:literal $(, $flag:literal)*) => {
        (Recipe::new($compiler, &[$($flag),*]), Recipe::new($compiler, &[$($flag,)* $split]))
    };
}

const GCC_5: (Recipe, Recipe) = split!("gcc", "-gsplit-dwarf", "-O2", "-gdwarf-5");
const GCC_4: (Recipe, Recipe) = split!("gcc", "-gsplit-dwarf", "-O2", "-gdwarf-4");
const BIG_ENDIAN_5: (Recipe, Recipe) = split!("s390x-linux-gnu-gcc", "-gsplit-dwarf", "-O2", "-gdwarf-5");
const BIG_ENDIAN_4: (Recipe, Recipe) = split!("s390x-linux-gnu-gcc", "-gsplit-dwarf", "-O2", "-gdwarf-4");
const CLANG_5: (Recipe, Recipe) = split!("clang", "-gsplit-dwarf", "-O2", "-gdwarf-5");
const CLANG_4: (Recipe, Recipe) = split!("clang", "-gsplit-dwarf", "-O2", "-gdwarf-4");
const GCC_5_TYPES: (Recipe, Recipe) =
    (GCC_5.0, Recipe::new("gcc", &["-O2", "-gdwarf-5", "-fdebug-types-section", "-gsplit-dwarf"]));
const GCC_4_TYPES: (Recipe, Recipe) =
    (GCC_4.0, Recipe::new("gcc", &["-O2", "-gdwarf-4", "-fdebug-types-section", "-gsplit-dwarf"]));

fn facts(tree: &Tree) -> Facts {
    comparable_facts(index::facts(tree))
}

/// Facts, but for what compilers write in another way where they split.
fn comparable_facts(facts: Facts) -> Facts {
    let mut facts = index::without_references(facts);
    for object in facts.objects.values_mut() {
        object.functions.iter_mut().for_each(|text| *text = comparable(text));
    }
    let types = facts.types.iter().filter(|text| !text.starts_with("base DW_ATE_"));
    facts.types = types.map(|text| comparable(text)).collect();
    let declared = std::mem::take(&mut facts.declared).into_iter();
    facts.declared = declared
        .map(|mut function| {
            function.variables.iter_mut().for_each(|text| *text = comparable(text));
            function
        })
        .collect();
    facts
}

fn comparable(text: &str) -> String {
    // Clang 14 converts by types of the unit only where it does not split.
    let text = text.replace("Convert { base_type: ) }; ", "");
    // A signature is of the content alone: of two types that are the same the linker keeps one.
    text.replace("alpha_help.c:3>", "alpha_main.c:6>")
}

/// Leaves out location lists. GCC 12 writes the lengths of some ranges two too short in split DWARF 4, so that others of
/// them vanish: `.long .LVL6-.LVL6-1` for the distance from `.LVL6-1`. Clang and rustc do not.
fn without_lists(mut facts: Facts) -> Facts {
    let plain = |text: &String| {
        let line = |line: &str| {
            let is_list = line.contains(" nowhere") || line.contains("EntryValue") || line.contains(" [0x");
            if is_list { line.split(" [0x").next().unwrap().replace(" nowhere", "") } else { line.to_owned() }
        };
        text.lines().map(line).collect::<Vec<_>>().join("\n")
    };
    for object in facts.objects.values_mut() {
        object.functions = object.functions.iter().map(plain).collect();
    }
    facts
}

/// The tree in one piece and the split one, where the compiler can make them.
fn compiled((plain, split): &(Recipe, Recipe)) -> Option<(Tree, Tree)> {
    (possible(plain) && possible(split)).then(|| (Tree::compile(plain), Tree::compile(split)))
}

/// Compares the facts of two trees that were compiled by these recipes.
fn assert_same(recipes: &(Recipe, Recipe), found: Facts, expected: Facts, what: &str) {
    let is_short = recipes.1.compiler.ends_with("gcc") && recipes.1.flags.contains(&"-gdwarf-4");
    let whole = |facts| if is_short { without_lists(facts) } else { facts };
    assert_equal(&whole(found), &whole(expected), &format!("{what} {:?}", recipes.1));
}

fn agree(recipes: &(Recipe, Recipe)) {
    if let Some((plain, split)) = compiled(recipes) {
        assert_same(recipes, facts(&split), facts(&plain), "");
    }
}

macro_rules! agree {
    ($($name:ident: $recipes:expr,)*) => {$(
        #[test]
        fn $name() {
            agree(&$recipes);
        }
    )*};
}

agree! {
    gcc_5: GCC_5,
    gcc_4: GCC_4,
    gcc_5_unoptimized: split!("gcc", "-gsplit-dwarf", "-O0", "-gdwarf-5"),
    gcc_5_function_sections: split!("gcc", "-gsplit-dwarf", "-O3", "-gdwarf-5", "-ffunction-sections"),
    gcc_5_64_bit: split!("gcc", "-gsplit-dwarf", "-O2", "-gdwarf-5", "-gdwarf64"),
    gcc_5_types: GCC_5_TYPES,
    gcc_4_types: GCC_4_TYPES,
    gcc_5_zlib: split!("gcc", "-gsplit-dwarf", "-O2", "-gdwarf-5", "-gz=zlib"),
    gcc_4_zlib_of_old_tools: split!("gcc", "-gsplit-dwarf", "-O2", "-gdwarf-4", "-gz=zlib-gnu"),
    big_endian_5: BIG_ENDIAN_5,
    big_endian_4: BIG_ENDIAN_4,
    clang_5: CLANG_5,
    clang_4: CLANG_4,
    clang_5_unoptimized: split!("clang", "-gsplit-dwarf", "-O0", "-gdwarf-5"),
    clang_5_zlib: split!("clang", "-gsplit-dwarf", "-O2", "-gdwarf-5", "-gz=zlib"),
    clang_5_zstd: split!("clang", "-gsplit-dwarf", "-O2", "-gdwarf-5", "-gz=zstd"),
    clang_5_in_the_objects: split!("clang", "-gsplit-dwarf=single", "-O2", "-gdwarf-5"),
    clang_4_in_the_objects: split!("clang", "-gsplit-dwarf=single", "-O2", "-gdwarf-4"),
    types_in_units_of_the_object: (GCC_5.0, Recipe::new("gcc", &["-O2", "-gdwarf-5", "-fdebug-types-section"])),
    types_in_units_of_the_object_4:
        (GCC_4.0, Recipe::new("gcc", &["-O2", "-gdwarf-4", "-fdebug-types-section"])),
}

/// The files with the entries, by the names of the sources.
fn files(tree: &Tree) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(tree.path().join("objects")).unwrap().map(|e| e.unwrap().path());
    let mut files: Vec<PathBuf> = entries.filter(|p| p.extension().is_some_and(|e| e == "dwo")).collect();
    files.sort();
    files
}

/// The units of which each object was made.
const UNITS: [&[&str]; 3] = [&["core", "fs", "net"], &["alpha_main", "alpha_help"], &["beta"]];

/// Puts the entries of objects into packages beside them, and takes their files away; gives how many objects it was.
fn pack(tree: &Tree, tool: &str) -> usize {
    let mut packed = 0;
    for (object, units) in tree.objects().iter().zip(UNITS) {
        let mut package = object.clone().into_os_string();
        package.push(".dwp");
        let files = units.iter().map(|unit| tree.path().join(format!("objects/{unit}.dwo")));
        // llvm-dwp 14 never ends with some files of gcc in DWARF 5.
        let mut c = Command::new("timeout");
        c.args(["2", tool, "-o"]).arg(&package).args(files.clone());
        let out = c.output().unwrap();
        if out.status.success() {
            files.for_each(|file| std::fs::remove_file(file).unwrap());
            packed += 1;
        } else {
            let _ = std::fs::remove_file(package);
            skipped(&format!("{tool}: {} {}", out.status, String::from_utf8_lossy(&out.stderr).trim_end()));
        }
    }
    packed
}

/// Binutils' dwp 2.40 knows DWARF 4 alone.
#[test]
fn packages() {
    for (recipes, tools) in [
        (GCC_5, &["llvm-dwp"][..]),
        (GCC_4, &["llvm-dwp", "dwp"]),
        (CLANG_5, &["llvm-dwp"]),
        (CLANG_4, &["llvm-dwp", "dwp"]),
        (GCC_5_TYPES, &["llvm-dwp"]),
        (GCC_4_TYPES, &["llvm-dwp", "dwp"]),
        (BIG_ENDIAN_4, &["s390x-linux-gnu-dwp"]),
    ] {
        let Some((plain, split)) = compiled(&recipes) else { continue };
        for tool in tools {
            let tree = split.copy();
            if pack(&tree, tool) == 0 {
                continue;
            }
            // The units name the files of the tree that was compiled.
            let hidden = split.path().join("hidden");
            std::fs::rename(split.path().join("objects"), &hidden).unwrap();
            assert_same(&recipes, facts(&tree), facts(&plain), tool);
            std::fs::rename(hidden, split.path().join("objects")).unwrap();
        }
    }
}

/// Compressed after the compiler: what the one at hand cannot do itself.
#[test]
fn zstd() {
    let Some((plain, split)) = compiled(&GCC_5) else { return };
    let compress = |path: &Path| {
        let mut c = Command::new("objcopy");
        c.arg("--compress-debug-sections=zstd").arg(path);
        c
    };
    if !compress(&split.vmlinux()).output().unwrap().status.success() {
        skipped("objcopy --compress-debug-sections=zstd");
        return;
    }
    run_all(files(&split).iter().map(|path| compress(path)));
    assert_equal(&facts(&split), &facts(&plain), "zstd");
}

/// A tree that was moved has its files where the objects are, or below a folder above them.
#[test]
fn files_are_found_beside_the_object_and_in_a_tree_that_was_moved() {
    let Some((plain, split)) = compiled(&GCC_5) else { return };
    let expected = facts(&plain);
    let beside = split.copy();
    std::fs::remove_dir_all(split.path()).unwrap();
    for file in files(&beside) {
        let name = file.file_name().unwrap();
        for folder in [beside.path(), beside.modules()] {
            std::fs::copy(&file, folder.join(name)).unwrap();
        }
    }
    std::fs::remove_dir_all(beside.path().join("objects")).unwrap();
    assert_equal(&facts(&beside), &expected, "beside");
}

#[test]
fn files_that_are_missing_or_of_another_build() {
    for recipes in [GCC_5, GCC_4] {
        let Some((plain, split)) = compiled(&recipes) else { continue };
        let expected = facts(&plain);
        let [core, fs] = ["core", "fs"].map(|name| split.path().join(format!("objects/{name}.dwo")));
        let content = std::fs::read(&core).unwrap();
        std::fs::remove_file(&core).unwrap();
        let index = build(&[split.path()], 2);
        let lines = index.skipped(&split.path());
        assert_eq!(lines.len(), 1, "{lines:#?}");
        let said = "part of vmlinux-6.1.0-test: section .debug_info: split DWARF: no functions and types of 1 of 3 units: 1 \
                    .dwo file is not there, the first is objects/core.dwo; give the .dwo files their place again, or the \
                    package (.dwp) beside the object";
        assert_eq!(lines[0], said);
        let found = comparable_facts(index.facts());
        assert_eq!(found.objects["beta"].functions.len(), expected.objects["beta"].functions.len());
        assert_eq!(found.objects[""].symbols, expected.objects[""].symbols);
        let rest = |name: &str| expected.objects[""].functions.iter().filter(|f| f.contains(name)).count();
        let others = rest("/fs.c:") + rest("/net.c:");
        assert!(found.objects[""].functions.len() < expected.objects[""].functions.len());
        assert!(found.objects[""].functions.len() >= others.min(2), "{others}");

        // Another unit's file in its place.
        std::fs::copy(&fs, &core).unwrap();
        let lines = build(&[split.path()], 2).skipped(&split.path());
        assert_eq!(
            lines,
            [
                "part of objects/core.dwo: a .dwo file of another build: its units are not those of the object; build the object \
              and its .dwo files together"
            ]
        );

        // An index that lacks something is made again when it is there, and when it is another one.
        let db = tempfile::tempdir().unwrap();
        let options = pipeline::Options { force: false, ..options(db.path(), 2) };
        let build = || pipeline::build(&[split.path()], &options, &()).unwrap();
        assert!(!build().skipped.is_empty());
        assert!(build().built[0].unchanged);
        std::fs::write(&core, &content).unwrap();
        let again = build();
        assert!(again.skipped.is_empty() && !again.built[0].unchanged, "{:#?}", again.skipped);
        assert!(build().built[0].unchanged);
        std::fs::remove_file(&core).unwrap();
        assert!(!build().built[0].unchanged, "a file was taken away");
    }
}

#[test]
fn a_package_of_another_build_hides_nothing() {
    let Some((plain, split)) = compiled(&GCC_4) else { return };
    let tree = split.copy();
    if pack(&tree, "dwp") != UNITS.len() {
        return;
    }
    let beta = tree.modules().join("beta.ko.dwp");
    std::fs::copy(beta, split.path().join("vmlinux-6.1.0-test.dwp")).unwrap();
    let index = build(&[split.path()], 2);
    assert_eq!(
        index.skipped(&split.path()),
        [
            "part of vmlinux-6.1.0-test.dwp: a package (.dwp) without any unit of the object: it belongs to another build; \
          replace it by the package of this build, or take it away"
        ]
    );
    assert_same(&GCC_4, comparable_facts(index.facts()), facts(&plain), "the .dwo files are there");
}

/// Whatever is wrong in a file is said of that file, and nothing else suffers.
#[test]
fn files_that_are_damaged() {
    for (recipes, packed) in
        [(GCC_5, None), (GCC_4_TYPES, None), (GCC_4_TYPES, Some("dwp")), (CLANG_5, Some("llvm-dwp"))]
    {
        let Some((plain, split)) = compiled(&recipes) else { continue };
        if packed.is_some_and(|tool| pack(&split, tool) != UNITS.len()) {
            continue;
        }
        let expected = facts(&plain);
        let name = if packed.is_some() { "vmlinux-6.1.0-test.dwp" } else { "objects/core.dwo" };
        let file = split.path().join(name);
        let content = std::fs::read(&file).unwrap();
        let mut said = 0;
        let step = content.len() / 24;
        for at in (0..content.len()).step_by(step) {
            let mut damaged = content.clone();
            damaged[at] ^= 0x7f;
            let cut = &content[..at];
            for bytes in [&damaged, cut] {
                std::fs::write(&file, bytes).unwrap();
                let index = build(&[split.path()], 1);
                let lines = index.skipped(&split.path());
                assert!(lines.iter().all(|l| l.contains(name) || l.contains(" of 3 units: ")), "{lines:#?}");
                said += usize::from(!lines.is_empty());
                let beta = &comparable_facts(index.facts()).objects["beta"];
                assert_eq!(beta.symbols, expected.objects["beta"].symbols, "{name} at {at}");
                assert_eq!(beta.functions.len(), expected.objects["beta"].functions.len(), "{name} at {at}");
            }
        }
        assert!(said > 15, "{said} {name}");
    }
}
