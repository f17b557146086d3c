//! The files from which fuzzing starts, made of the fixtures: `scripts/fuzz-seeds` runs this.
//!
//! Texts (specs, scripts, logs) are written by hand and are not made here.
use crate::answers::tracepoints;
use crate::support::fixture::{RELEASE, Recipe, Tree, USUAL, run_all};
use crate::support::program::run_in;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where trees are copied to before they are indexed: an index names the files that it was made of.
const PLACE: &str = "/tmp/probeidx-seeds";

#[test]
#[ignore = "writes into the sources; run by scripts/fuzz-seeds"]
fn are_written() {
    let fuzz = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz");
    let aliases = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/aliases");
    let tree = Tree::compile(&USUAL);
    let seed = |target: &str, name: &str| fuzz.join("seeds").join(target).join(name);
    for (from, to) in [
        (tree.vmlinux(), "vmlinux"),
        (tree.module("alpha-mod"), "alpha.ko"),
        (tree.module("beta"), "beta.ko"),
    ] {
        fs::copy(from, seed("elf", to)).unwrap();
    }
    with_btf_alone("", &tree.vmlinux(), &seed("btf", "vmlinux"), &seed("btf", "section"));
    let big_endian = Tree::compile(&Recipe::new("s390x-linux-gnu-gcc", &["-O2", "-gdwarf-5"]));
    fs::copy(big_endian.module("alpha-mod"), seed("elf", "big-endian.ko")).unwrap();
    let section = seed("btf", "big-endian");
    let (tools, object) = ("s390x-linux-gnu-", big_endian.path().join("with-btf"));
    with_btf_alone(tools, &big_endian.vmlinux(), &object, &section);
    sections(&tree.module("alpha-mod"), &fuzz.join("sections"));
    split(&fuzz.join("objects"), &fuzz.join("seeds/split"));
    index(&tree, &["--tapset".as_ref(), aliases.as_os_str()], &seed("index_open_and_ask", "kernel.pidx"));
    index(&tracepoints::kernel(), &[], &seed("index_open_and_ask", "tracepoints.pidx"));
}

#[test]
fn are_of_this_version() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds/index_open_and_ask");
    let mut count = 0;
    for seed in fs::read_dir(folder).unwrap() {
        let path = seed.unwrap().path();
        let opened = probeidx::query::Index::open(&path).map(drop);
        assert!(opened.is_ok(), "{opened:?}: run scripts/fuzz-seeds");
        count += 1;
    }
    assert!(count >= 2);
}

/// A kernel with BTF in the place of its debug information, and that section alone.
fn with_btf_alone(tools: &str, vmlinux: &Path, object: &Path, section: &Path) {
    fs::copy(vmlinux, object).unwrap();
    let command = |name: &str, arguments: &[&OsStr]| {
        let mut c = Command::new(name);
        c.args(arguments);
        run_all([c]);
    };
    command("pahole", &["-J".as_ref(), object.as_ref()]);
    let objcopy = format!("{tools}objcopy");
    command(&objcopy, &["--strip-debug".as_ref(), object.as_ref()]);
    let dump = ["-O", "binary", "--only-section=.BTF", "--set-section-flags", ".BTF=alloc"].map(OsStr::new);
    command(&objcopy, &[&dump[..], &[object.as_ref(), section.as_ref()]].concat());
}

/// A module whose units have their entries in other files; and those, each behind the byte by which the target knows it.
fn split(objects: &Path, seeds: &Path) {
    // llvm-dwp 14 never ends with those of gcc in DWARF 5.
    const RECIPES: [Recipe; 2] = [
        Recipe::new("clang", &["-O2", "-gdwarf-5", "-gsplit-dwarf"]),
        Recipe::new("gcc", &["-O2", "-gdwarf-4", "-gsplit-dwarf"]),
    ];
    for (form, version, dwp) in [(0, "5", "llvm-dwp"), (1, "4", "dwp")] {
        let tree = Tree::compile(&RECIPES[form as usize]);
        fs::copy(tree.module("alpha-mod"), objects.join(format!("split-{version}.ko"))).unwrap();
        let [main, help, package] = ["alpha_main.dwo", "alpha_help.dwo", "alpha.dwp"]
            .map(|name| tree.path().join("objects").join(name));
        let mut pack = Command::new(dwp);
        pack.arg("-o").args([&package, &main, &help]);
        run_all([pack]);
        for (file, name, form) in [(&package, "package", form), (&main, "file", form | 2)] {
            let bytes = [&[form], &fs::read(file).unwrap()[..]].concat();
            fs::write(seeds.join(format!("{name}-{version}")), bytes).unwrap();
        }
    }
}

/// Indexes a tree from a place that is always the same, its files as old as can be.
fn index(tree: &Tree, options: &[&OsStr], to: &Path) {
    let place = PathBuf::from(PLACE);
    let _ = fs::remove_dir_all(&place);
    fs::create_dir_all(&place).unwrap();
    let mut copy = Command::new("cp");
    copy.arg("-r").arg(tree.path().join(".")).arg(&place);
    run_all([copy]);
    let mut touch = Command::new("find");
    touch.arg(&place).args(["-exec", "touch", "-d", "@0", "{}", ";"]);
    run_all([touch]);
    let db = tempfile::tempdir().unwrap();
    let built = run_in(db.path(), [OsStr::new("build"), place.as_ref()].iter().chain(options));
    assert_eq!((built.code, built.err.as_str()), (0, ""), "{built:?}");
    fs::copy(db.path().join(format!("{RELEASE}.pidx")), to).unwrap();
    fs::remove_dir_all(&place).unwrap();
}

/// The debug sections of a module, relocated as a linker would.
fn sections(module: &Path, to: &Path) {
    let folder = tempfile::tempdir().unwrap();
    let linked = folder.path().join("linked");
    let mut ld = Command::new("ld");
    ld.args(["-Ttext=0x1000", "--unresolved-symbols=ignore-all", "-e", "0", "--no-warn-rwx-segments", "-o"]);
    run_all([{
        ld.arg(&linked).arg(module);
        ld
    }]);
    for name in ["info", "abbrev", "line", "str", "line_str", "loclists", "rnglists", "frame"] {
        let section = format!(".debug_{name}");
        let mut objcopy = Command::new("objcopy");
        objcopy.args(["-O", "binary", "--only-section", &section, "--set-section-flags"]);
        objcopy.arg(format!("{section}=alloc")).arg(&linked).arg(to.join(name));
        run_all([objcopy]);
    }
}
