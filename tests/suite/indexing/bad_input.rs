//! Files that cannot be indexed: each is named with the reason, and everything else is indexed all the same.
use crate::support::facts::{Facts, assert_equal};
use crate::support::fixture::{Tree, USUAL, run_all, skipped};
use crate::support::index::{Index, build, build_whole, options};
use probeidx::pipeline::{self, Options};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

static WHOLE: LazyLock<Tree> = LazyLock::new(|| Tree::compile(&USUAL));

/// The index has all that it has without the bad files.
fn assert_whole(index: &Index, what: &str) {
    let mut found = index.facts();
    let whole = build(&[WHOLE.path()], 1).facts();
    found.objects.retain(|name, _| whole.objects.contains_key(name));
    assert_equal(
        &found,
        &Facts { types: found.types.clone(), declared: found.declared.clone(), ..whole },
        what,
    );
}

/// Indexes the whole tree with this file beside its modules; gives what was skipped.
fn beside(name: &str, content: &[u8]) -> Vec<String> {
    let tree = WHOLE.copy();
    tree.file(&format!("lib/modules/6.1.0-test/kernel/{name}"), content);
    let index = build(&[tree.path()], 2);
    assert_whole(&index, name);
    index.skipped(&tree.modules())
}

#[test]
fn files_that_are_no_modules() {
    let beta = fs::read(WHOLE.module("beta")).unwrap();
    let changed = |at: usize, byte: u8| {
        let mut copy = beta.clone();
        copy[at] = byte;
        copy
    };
    let narrow = "part of a 32-bit kernel or program, of a machine of which only 64-bit ones are read; \
                  index a 64-bit kernel, or a 32-bit one of i386 or ARM";
    let again = "install its package again or remove the file";
    let cases: [(Vec<u8>, String); 5] = [
        (vec![], format!("bad.ko at 0x0: the file is empty; {again}")),
        (
            b"hello, world".to_vec(),
            "bad.ko at 0x0: not an ELF object and not compressed by gzip, xz or zstd: it begins with 68 65 6c 6c; \
             give the vmlinux or .ko that the kernel's build made"
                .to_owned(),
        ),
        (changed(4, 1), format!("bad.ko: {narrow}")),
        (changed(5, 3), format!("bad.ko at 0x5: an ELF object that is neither little- nor big-endian; {again}")),
        (beta[..40].to_vec(), format!("bad.ko at 0x28: the ELF header is cut off: 40 of 64 bytes are there; {again}")),
    ];
    for (content, line) in cases {
        assert_eq!(beside("bad.ko", &content), [line]);
    }
}

#[test]
fn stripped_modules() {
    let folder = tempfile::tempdir().unwrap();
    let stripped = folder.path().join("stripped");
    let mut c = Command::new("objcopy");
    c.arg("--strip-debug").arg(WHOLE.module("beta")).arg(&stripped);
    run_all([c]);
    let line = "bad.ko: no debug information (stripped, or built without it); \
                index the file of the debug package instead";
    assert_eq!(beside("bad.ko", &fs::read(stripped).unwrap()), [line]);
}

/// A tree with many damaged copies of one module, made by `damage` from a number.
fn many(count: usize, extension: &str, damage: impl Fn(usize) -> Vec<u8>) -> (Tree, Index) {
    let tree = WHOLE.copy();
    for number in 0..count {
        tree.file(&format!("lib/modules/6.1.0-test/kernel/z{number:04}.{extension}"), &damage(number));
    }
    let index = build(&[tree.path()], 2);
    (tree, index)
}

#[test]
fn modules_cut_at_every_64th_byte() {
    let module = fs::read(WHOLE.module("alpha-mod")).unwrap();
    let count = module.len() / 64;
    let (tree, index) = many(count, "ko", |number| module[..number * 64].to_vec());
    assert_whole(&index, "cut");
    let skipped = index.skipped(&tree.modules());
    assert_eq!(skipped.len(), count, "one line for each");
    for (number, line) in skipped.iter().enumerate().skip(1) {
        assert!(line.starts_with(&format!("z{number:04}.ko at 0x")), "{line}");
        assert!(
            line.contains(&format!("the file is cut off: its section headers end at {:#x}", module.len())),
            "{line}"
        );
    }
}

#[test]
fn modules_cut_before_they_were_compressed() {
    use std::io::Write;
    let module = fs::read(WHOLE.module("alpha-mod")).unwrap();
    let count = module.len() / 64;
    let (tree, index) = many(count, "ko.gz", |number| {
        let mut out = flate2::write::GzEncoder::new(vec![], flate2::Compression::fast());
        out.write_all(&module[..number * 64]).unwrap();
        out.finish().unwrap()
    });
    assert_whole(&index, "cut and compressed");
    let skipped = index.skipped(&tree.modules());
    assert_eq!(skipped.len(), count, "one line for each");
    for (number, line) in skipped.iter().enumerate() {
        assert!(line.starts_with(&format!("z{number:04}.ko.gz")), "{line}");
    }
}

#[test]
fn compressed_files_that_are_cut_or_no_such_files() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("m.ko");
    fs::copy(WHOLE.module("beta"), &plain).unwrap();
    for (tool, extension) in [("gzip", "gz"), ("xz", "xz"), ("zstd", "zst")] {
        let mut c = Command::new(tool);
        c.args(["-q", "-k"]).arg(&plain);
        run_all([c]);
        let packed = fs::read(folder.path().join(format!("m.ko.{extension}"))).unwrap();
        for length in [7, packed.len() / 2, packed.len() - 1] {
            let lines = beside(&format!("bad.ko.{extension}"), &packed[..length]);
            let [line] = &lines[..] else { panic!("{tool} {length}: {lines:?}") };
            assert!(
                line.starts_with(&format!("bad.ko.{extension}: the {tool} stream is damaged or cut off")),
                "{line}"
            );
        }
    }
}

/// Bytes of the debug sections are changed at random; no panic, an end, and all the rest is whole.
#[test]
fn bytes_flipped_in_debug_sections() {
    let module = fs::read(WHOLE.module("alpha-mod")).unwrap();
    let debug = debug_bytes(&module);
    assert!(debug.len() > 4096, "{}", debug.len());
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let flips: Vec<Vec<(usize, u8)>> = (0..400)
        .map(|number| {
            let flip = |_| {
                state ^= state << 13;
                state ^= state >> 7;
                state ^= state << 17;
                (debug[state as usize % debug.len()], (state >> 40) as u8 | 1)
            };
            (0..1 + number % 8).map(flip).collect()
        })
        .collect();
    let (tree, index) = many(flips.len(), "ko", |number| {
        let mut copy = module.clone();
        flips[number].iter().for_each(|(at, mask)| copy[*at] ^= mask);
        copy
    });
    assert_whole(&index, "flipped");
    let skipped = index.skipped(&tree.modules());
    assert!(skipped.len() > 100, "damage is seen: {}", skipped.len());
    for line in &skipped {
        assert!(line.contains(".ko: section .debug_") && line.contains(" at 0x"), "{line}");
    }
}

/// The file offsets of all bytes of `.debug_*` sections.
fn debug_bytes(module: &[u8]) -> Vec<usize> {
    use object::{Object, ObjectSection};
    let file = object::read::elf::ElfFile64::<object::LittleEndian>::parse(module).unwrap();
    let debug = file.sections().filter(|s| s.name().unwrap().starts_with(".debug_"));
    debug
        .filter_map(|s| s.file_range())
        .flat_map(|(start, size)| start as usize..(start + size) as usize)
        .collect()
}

#[test]
fn links_that_lead_nowhere() {
    let tree = WHOLE.copy();
    symlink("loop-b.ko", tree.modules().join("loop-a.ko")).unwrap();
    symlink("loop-a.ko", tree.modules().join("loop-b.ko")).unwrap();
    symlink("gone", tree.modules().join("dangling.ko")).unwrap();
    symlink("..", tree.modules().join("up")).unwrap();
    let index = build(&[tree.path()], 2);
    assert_whole(&index, "links");
    let skipped = index.skipped(&tree.modules());
    let [dangling, circle] = &skipped[..] else { panic!("{skipped:?}") };
    let remedy = "remove the link, or install what it points to";
    assert_eq!(*dangling, format!("dangling.ko: a symbolic link to gone, which does not exist; {remedy}"));
    assert!(
        circle.starts_with("loop-a.ko: a symbolic link to loop-b.ko that cannot be followed: "),
        "{circle}"
    );
}

#[test]
fn files_that_cannot_be_read() {
    let tree = WHOLE.copy();
    let path = tree.file("lib/modules/6.1.0-test/kernel/closed.ko", b"whatever");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::File::open(&path).is_ok() {
        skipped("an unreadable file: this user reads everything");
        return;
    }
    let index = build(&[tree.path()], 2);
    assert_whole(&index, "unreadable");
    let lines = index.skipped(&tree.modules());
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].starts_with("closed.ko: cannot open it: Permission denied"), "{lines:?}");
}

#[test]
fn modules_without_their_kernel() {
    let tree = WHOLE.copy();
    fs::remove_file(tree.vmlinux()).unwrap();
    let index = build(&[tree.path()], 2);
    let lines = index.skipped(&tree.path());
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(
        lines[0]
            .starts_with("lib/modules/6.1.0-test: modules without their vmlinux: 2 of release 6.1.0-test; ")
    );
    let (found, whole) = (index.facts(), build_whole(&WHOLE).facts());
    assert_eq!(found.objects.keys().collect::<Vec<_>>(), ["alpha_mod", "beta"]);
    for (name, object) in &found.objects {
        assert_eq!(object.symbols, whole.objects[name].symbols);
        assert_eq!(object.functions.len(), whole.objects[name].functions.len());
    }
}

#[test]
fn two_kernels_under_one_path_are_two_indexes() {
    let tree = WHOLE.copy();
    fs::copy(tree.vmlinux(), tree.path().join("vmlinux-6.2.0-other")).unwrap();
    let db = tempfile::tempdir().unwrap();
    let report = pipeline::build(&[tree.path()], &options(db.path(), 2), &()).unwrap();
    let built: Vec<_> = report.built.iter().map(|b| (b.release.as_str(), b.objects)).collect();
    assert_eq!(built, [("6.1.0-test", 3), ("6.2.0-other", 1)]);
    assert!(report.skipped.is_empty(), "{:?}", report.skipped);
    for built in &report.built {
        assert_eq!(built.index, db.path().join(format!("{}.pidx", built.release)));
        let bytes = fs::read(&built.index).unwrap();
        assert_eq!(
            probeidx_format::View::open(&bytes, &probeidx_format::strings::Decoded::new())
                .unwrap()
                .meta()
                .unwrap()
                .release,
            built.release
        );
    }
}

#[test]
fn modules_of_another_kernel_are_refused() {
    let tree = WHOLE.copy();
    let modules = tree.path().join("lib/modules");
    fs::rename(modules.join("6.1.0-test"), modules.join("6.2.0-other")).unwrap();
    fs::copy(tree.vmlinux(), tree.path().join("vmlinux-6.2.0-other")).unwrap();
    fs::remove_file(tree.vmlinux()).unwrap();
    let index = build(&[tree.path()], 2);
    let lines = index.skipped(&modules.join("6.2.0-other/kernel"));
    assert_eq!(lines.len(), 2, "{lines:?}");
    for (line, file) in lines.iter().zip(["alpha-mod.ko", "beta.ko"]) {
        let what = "a module of kernel 6.1.0-test among those of 6.2.0-other";
        assert_eq!(*line, format!("{file}: section .modinfo: {what}"));
    }
    assert_eq!(index.facts().objects.len(), 1);
}

fn files_of(db: &Path) -> Vec<String> {
    let names = fs::read_dir(db).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

#[test]
fn a_build_that_cannot_write_is_an_error_and_leaves_nothing() {
    let db = tempfile::tempdir().unwrap();
    let taken = db.path().join("6.1.0-test.pidx");
    fs::create_dir_all(taken.join("not empty")).unwrap();
    let error = pipeline::build(&[WHOLE.path()], &options(db.path(), 2), &()).unwrap_err();
    assert_eq!(error.path(), Some(&*taken));
    assert!(error.message().starts_with("cannot write the index: "), "{error}");
    assert_eq!(files_of(db.path()), ["6.1.0-test.pidx"], "no temporary file stays");
    let error = pipeline::build(&[WHOLE.path()], &options(&WHOLE.vmlinux(), 2), &()).unwrap_err();
    assert_eq!(error.message(), "a file stands where the folder of indexes is to be");
}

/// The system kills the build while it writes, as it may at any time.
#[test]
fn a_build_that_is_killed_leaves_the_old_index_in_place() {
    let db = tempfile::tempdir().unwrap();
    let index = db.path().join("6.1.0-test.pidx");
    pipeline::build(&[WHOLE.path()], &options(db.path(), 2), &()).unwrap();
    let before = fs::read(&index).unwrap();
    assert!(before.len() > 8 << 10, "{}", before.len());
    let mut c = Command::new("sh");
    let itself = std::env::current_exe().unwrap();
    c.args(["-c", "ulimit -f 8; exec \"$0\" \"$@\""]).arg(itself);
    c.args(["--ignored", "--exact", "indexing::bad_input::the_build_that_is_killed"]);
    c.env("PROBEIDX_TEST_DB", db.path()).env("PROBEIDX_TEST_TREE", WHOLE.path());
    let out = c.output().unwrap();
    use std::os::unix::process::ExitStatusExt;
    assert_eq!(out.status.signal(), Some(25), "SIGXFSZ: {out:?}");
    assert_eq!(files_of(db.path()).len(), 3, "it was writing, in its turn: {:?}", files_of(db.path()));
    assert!(fs::read(&index).unwrap() == before);
    pipeline::build(&[WHOLE.path()], &options(db.path(), 2), &()).unwrap();
    assert!(fs::read(&index).unwrap() == before, "and the next build does not mind the rest");
    pipeline::build(&[WHOLE.path()], &Options { force: true, ..options(db.path(), 2) }, &()).unwrap();
    assert_eq!(files_of(db.path()), ["6.1.0-test.pidx"], "and one that writes removes it");
}

#[test]
#[ignore = "run by the test above, under a limit of the size of files"]
fn the_build_that_is_killed() {
    let [db, tree] = ["DB", "TREE"].map(|v| std::env::var_os(format!("PROBEIDX_TEST_{v}")).unwrap());
    pipeline::build(&[tree.into()], &options(Path::new(&db), 2), &()).unwrap();
}
