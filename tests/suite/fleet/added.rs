//! `fleet add` of what is no index yet: packages, folders of them, lists.
use super::KERNELS;
use crate::support::packed::{GZIP, XZ, deb, packed, tar};
use crate::support::program::{Run, run_in};
use std::path::{Path, PathBuf};

/// Two packages of a kernel, in a folder: the debug information, and the configuration.
fn packages(folder: &Path, at: usize, release: &str) -> [PathBuf; 2] {
    let vmlinux = std::fs::read(KERNELS[at].tree.vmlinux()).unwrap();
    let debug = vec![
        (format!("usr/lib/debug/boot/System.map-{release}"), vec![b'x'; 100_000]),
        (format!("usr/lib/debug/boot/vmlinux-{release}"), vmlinux),
    ];
    // Debian has it in a package with the modules' lists from 7.0 on.
    let config =
        if at == 2 { format!("usr/lib/modules/{release}/config") } else { format!("boot/config-{release}") };
    let shipped = vec![(config, b"CONFIG_KPROBES=y\nCONFIG_CC_VERSION_TEXT=\"gcc 12.2.0\"\n".to_vec())];
    // By their names, packages of several kernels are mixed.
    let write = |name: String, bytes: &[u8]| {
        let path = folder.join(name);
        std::fs::write(&path, bytes).unwrap();
        path
    };
    [
        write(format!("debug-{at}.deb"), &deb(".xz", &packed(XZ, &tar(&debug)))),
        write(format!("image-{at}.deb"), &deb(".gz", &packed(GZIP, &tar(&shipped)))),
    ]
}

fn add(db: &Path, arguments: &[&Path]) -> Run {
    let start = ["fleet", "add"].map(Path::new);
    run_in(db, start.iter().chain(arguments))
}

fn kernels(db: &Path) -> Vec<String> {
    let listed = run_in(db, ["fleet", "list"]).found();
    listed.lines().map(|line| line.split_whitespace().next().unwrap().to_owned()).collect()
}

const NOTHING: &str = "probeidx: error: nothing to add; give indexes, packages, folders or releases";

const RELEASES: [&str; 3] = ["6.1.0-1-a", "6.1.0-2-a", "6.1.0-3-a"];

fn mirror() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    (0..).zip(RELEASES).for_each(|(at, release)| drop(packages(folder.path(), at, release)));
    // One that has nothing of a kernel is no kernel that is left out.
    let other = vec![("usr/share/doc/linux-base/copyright".to_owned(), b"text".to_vec())];
    std::fs::write(folder.path().join("base.deb"), deb(".gz", &packed(GZIP, &tar(&other)))).unwrap();
    folder
}

/// Debian's 7.3 without linux-base, which has the configuration.
#[test]
fn without_its_configuration_the_debug_information_names_the_compiler() {
    let (folder, store) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let [debug, _] = packages(folder.path(), 0, RELEASES[0]);
    add(store.path(), &[&debug]).found();
    let listed = run_in(store.path(), ["fleet", "list", "--json"]).found();
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let compiler = listed["compiler"].as_str().unwrap();
    let is_named = compiler.starts_with("GNU C") || compiler.contains("clang version");
    assert!(is_named && !compiler.contains(" -"), "{compiler}");
    assert_eq!((&listed["flavour"], &listed["distribution"]), (&"a".into(), &"unknown".into()));
    let line = run_in(store.path(), ["fleet", "list"]).found();
    assert!(line.contains("  unknown  2021-01-14  ") && line.trim_end().ends_with(compiler), "{line}");
}

#[test]
fn packages_of_several_kernels_are_added_one_kernel_after_the_other() {
    let (mirror, store, indexes) = (mirror(), tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let said = add(store.path(), &[mirror.path()]).found();
    assert_eq!(said.lines().count(), 3, "{said}");
    assert_eq!(kernels(store.path()), RELEASES);
    let listed = run_in(store.path(), ["fleet", "list"]).found();
    assert!(listed.lines().all(|line| line.ends_with("gcc 12.2.0")), "{listed}");
    // What is answered is what an index made of the packages answers, and the configuration is the kernel's own.
    let of = |at: usize, what: &str| mirror.path().join(format!("{what}-{at}.deb"));
    for (at, release) in [1, 2].map(|at| (at, RELEASES[at])) {
        let parts = ["debug", "image"].map(|what| of(at, what));
        run_in(indexes.path(), ["build".as_ref(), parts[0].as_os_str(), parts[1].as_os_str()]).found();
        for question in [&["resolve", "clamp_value", "--json"][..], &["find", "*"], &["tapset", "--json"]] {
            let asked = [question, &["--kernel", release]].concat();
            let [stored, own] = [&store, &indexes].map(|db| run_in(db.path(), &asked));
            assert_eq!((stored.out, stored.code), (own.out, own.code), "{release}: {question:?}");
        }
    }
    // What all say is said once.
    let missing = run_in(store.path(), ["find", "clamp_valeu", "--kernel", "*"]);
    let said = missing.err.lines().filter(|line| line.contains("did you mean clamp_value"));
    assert_eq!((missing.code, said.count()), (1, 1), "{}", missing.err);
    // Nothing but the store is left.
    let mut left: Vec<_> = std::fs::read_dir(store.path())
        .unwrap()
        .map(|e| e.unwrap().file_name().into_string().unwrap())
        .collect();
    left.sort_unstable();
    assert_eq!(left, ["manifest", "segments.0"]);
    assert!(
        add(store.path(), &[mirror.path()]).found().lines().all(|line| line.ends_with("is there already"))
    );
}

#[test]
fn what_cannot_be_read_does_not_keep_the_rest_out() {
    let (mirror, store) = (mirror(), tempfile::tempdir().unwrap());
    let whole = std::fs::read(mirror.path().join("debug-1.deb")).unwrap();
    std::fs::write(mirror.path().join("debug-1.deb"), &whole[..whole.len() / 2]).unwrap();
    let list = mirror.path().join("list");
    let lines = ["# kernels", "debug-0.deb", "", "debug-1.deb", "missing.deb", "  debug-2.deb"].map(|line| {
        let is_name = line.trim().ends_with(".deb");
        if is_name { mirror.path().join(line.trim()).display().to_string() } else { line.to_owned() }
    });
    std::fs::write(&list, lines.join("\n")).unwrap();
    let run = add(store.path(), &["--from".as_ref(), &list]);
    assert_eq!(run.code, 4, "{}", run.err);
    assert_eq!(kernels(store.path()), [RELEASES[0], RELEASES[2]]);
    for name in ["debug-1.deb", "missing.deb"] {
        let lines = run.err.lines().filter(|line| line.contains(name)).count();
        assert_eq!(lines, 1, "{name}: {}", run.err);
    }
    // Alone, it is the error of the command.
    let alone = add(store.path(), &[&mirror.path().join("debug-1.deb")]);
    assert_eq!(alone.code, 3);
    assert_eq!(alone.err.lines().count(), 1, "{}", alone.err);
}

#[test]
fn nothing_and_lists_that_cannot_be_read_are_refused() {
    let (folder, store) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let empty = folder.path().join("empty");
    std::fs::write(&empty, "# nothing\n\n").unwrap();
    add(store.path(), &["--from".as_ref(), &empty]).refused(2, NOTHING);
    std::fs::write(&empty, b"\xff\xfe\n").unwrap();
    for list in [&empty, &folder.path().join("none")] {
        let run = add(store.path(), &["--from".as_ref(), list]);
        assert_eq!((run.code, run.err.lines().count()), (3, 1), "{run:?}");
        assert!(
            run.err.contains("cannot read the list") && run.err.contains(list.to_str().unwrap()),
            "{run:?}"
        );
    }
    #[cfg(not(feature = "debuginfod"))]
    {
        let run = add(store.path(), &["https://example.org/k.deb".as_ref()]);
        assert!(run.code == 3 && run.err.contains("does not fetch: https://example.org/k.deb"), "{run:?}");
    }
}
