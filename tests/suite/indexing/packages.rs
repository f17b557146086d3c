//! Packages are read as they are: the index of a package is that of its unpacked tree, and what is wrong with one is told.
use super::distributions::{MODULES, Machine, Part, QUESTIONS};
use crate::support::fixture::RELEASE;
use crate::support::packed::*;
use crate::support::program::{Run, run_in};
use std::path::{Path, PathBuf};

type Files = Vec<(String, Vec<u8>)>;

const LONG: &str = "a-folder-with-a-name-that-is-long-enough-to-need-a-member-of-its-own/one-more";

/// A kernel with its debug information, and the same without as it boots.
fn kernel() -> (Machine, [Files; 2]) {
    let m = Machine::new("ID=debian\n");
    m.vmlinux("usr/lib/debug/boot/vmlinux-R", Part::Whole)
        .modules(&format!("usr/lib/debug/lib/modules/R/kernel/{LONG}"), "", Part::Debug)
        .modules(&format!("lib/modules/R/kernel/{LONG}"), ".xz", Part::Stripped);
    std::fs::create_dir_all(m.path("boot")).unwrap();
    std::fs::write(m.path("boot/config-R"), "CONFIG_KPROBES=y\nCONFIG_TEST=y\n").unwrap();
    let read = |path: &str| {
        let path = path.replace('R', RELEASE);
        let content = std::fs::read(m.path(&path)).unwrap();
        (path, content)
    };
    let modules = |folder: &str, suffix: &str| {
        let read = |name: &&str| read(&format!("{folder}/lib/modules/R/kernel/{LONG}/{name}.ko{suffix}"));
        MODULES.iter().map(read).collect::<Files>()
    };
    let mut debug =
        vec![("usr/share/doc/copyright".to_owned(), vec![b'x'; 3000]), read("usr/lib/debug/boot/vmlinux-R")];
    debug.extend(modules("usr/lib/debug", ""));
    let mut shipped = vec![read("boot/config-R")];
    shipped.extend(modules(".", ".xz").into_iter().map(|(name, content)| (name.replace("./", ""), content)));
    (m, [debug, shipped])
}

/// The index of these packages, in a folder of its own, answers as that of the tree.
#[track_caller]
fn answers_as_tree(m: &Machine, packages: &[PathBuf]) {
    let db = tempfile::tempdir().unwrap();
    let built = build(db.path(), packages).found();
    assert!(built.starts_with(&format!("{RELEASE}: 4 objects, ")), "{built}");
    let tree = build(m.db.path(), &[m.root.path().join("usr"), m.root.path().join("lib")]).found();
    let counts = |built: &str| built.split([' ', '\n']).take(7).map(str::to_owned).collect::<Vec<_>>();
    assert_eq!(counts(&built), counts(&tree));
    for asked in QUESTIONS {
        let [own, expected] = [db.path(), m.db.path()].map(|db| run_in(db, asked).found());
        assert_eq!(own, expected, "{asked:?} of {packages:?}");
    }
    let again = build(db.path(), packages).found();
    assert!(again.contains("(nothing had changed)"), "{again}");
    let left: Vec<_> = std::fs::read_dir(db.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(
        left.iter().all(|name| name.to_string_lossy().starts_with(RELEASE)
            || name == ".lock"
            || name == "build.lock"),
        "{left:?}"
    );
}

fn build(db: &Path, paths: &[PathBuf]) -> Run {
    run_in(db, std::iter::once("build".as_ref()).chain(paths.iter().map(|path| path.as_os_str())))
}

fn left_out(run: &Run) -> Vec<&str> {
    run.err.lines().filter(|line| line.starts_with("probeidx: left out: ")).collect()
}

fn write(m: &Machine, name: &str, bytes: &[u8]) -> PathBuf {
    m.root.file(name, bytes)
}

#[test]
fn a_debian_package_answers_as_its_tree() {
    let (m, [debug, shipped]) = kernel();
    for packer in [XZ_IN_BLOCKS, XZ, ZSTD, GZIP, NONE] {
        let pack = |name: &str, files: &Files| write(&m, name, &deb(packer.0, &packed(packer, &tar(files))));
        let packages = [pack("k-dbg.deb", &debug), pack("k.deb", &shipped)];
        answers_as_tree(&m, &packages);
        answers_as_tree(&m, &[packages[1].clone(), packages[0].clone()]);
        let [debug, shipped] = [("k-dbg.deb", &debug), ("k.deb", &shipped)]
            .map(|(name, files)| write(&m, name, &listed(files, packer)));
        answers_as_tree(&m, &[shipped.clone(), debug.clone()]);
        answers_as_tree(&m, &[debug, shipped]);
    }
}

/// A folder in which they were fetched is as good as their names; files of kernels beside them are what is meant.
#[test]
fn packages_in_a_folder_are_read() {
    let (m, [debug, shipped]) = kernel();
    for (name, files) in [("fetched/k-dbg.deb", &debug), ("fetched/below/k.deb", &shipped)] {
        write(&m, name, &listed(files, XZ));
    }
    answers_as_tree(&m, &[m.root.path().join("fetched")]);
    let vmlinux = m.root.file(&format!("fetched/vmlinux-{RELEASE}"), &debug[1].1);
    let db = tempfile::tempdir().unwrap();
    let built = build(db.path(), &[vmlinux.parent().unwrap().to_owned()]).found();
    assert!(built.starts_with(&format!("{RELEASE}: 1 objects, ")), "{built}");
}

/// Beside a folder, too, what lies in a package is as it was if the package is.
#[test]
fn a_package_beside_a_folder_is_read_once() {
    let (m, [debug, _]) = kernel();
    let package = write(&m, "k-dbg.deb", &listed(&debug, XZ));
    let once = || build(m.db.path(), &[package.clone(), m.root.path().join("lib")]).found();
    let built = once();
    assert!(
        built.starts_with(&format!("{RELEASE}: 4 objects, ")) && !built.contains("nothing had changed"),
        "{built}"
    );
    assert!(once().contains("(nothing had changed)"));
    std::fs::write(&package, listed(&debug[..4].to_vec(), GZIP)).unwrap();
    assert!(
        !build(m.db.path(), &[package.clone(), m.root.path().join("lib")])
            .out
            .contains("nothing had changed")
    );
}

/// Debian's packages from 7.0 on have vmlinux behind the modules.
#[test]
fn a_kernel_that_comes_last_answers_as_its_tree() {
    let (m, [mut debug, shipped]) = kernel();
    let (_, vmlinux) = debug.remove(1);
    debug.push((format!("usr/lib/debug/lib/modules/{RELEASE}/vmlinux"), vmlinux));
    for packer in [XZ_IN_BLOCKS, XZ] {
        let [own, other] = [("k-dbg.deb", &debug), ("k.deb", &shipped)]
            .map(|(name, files)| write(&m, name, &listed(files, packer)));
        answers_as_tree(&m, &[own, other]);
    }
    // The first block is damaged, with which the modules begin: vmlinux was read before it.
    debug[0].1 = (0..200_000u32).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    let names = || debug.iter().map(|(name, _)| name.as_str());
    let mut data = packed(XZ_IN_BLOCKS, &tar(&debug));
    data[200..264].fill(7);
    let path = write(&m, "k.deb", &deb_with_list(names(), ".xz", &data));
    let run = build(m.db.path(), &[path]);
    assert_eq!((run.code, run.err.matches("its data cannot be unpacked").count()), (4, 1), "{run:?}");
    assert!(run.out.starts_with(&format!("{RELEASE}: ")), "{run:?}");
}

/// A package with a list of its files.
fn listed(files: &Files, packer: Packer) -> Vec<u8> {
    deb_with_list(files.iter().map(|(name, _)| name.as_str()), packer.0, &packed(packer, &tar(files)))
}

/// What is not where the list of a package says is told in a line; so is what the list lacks, and what comes in another order is found.
#[test]
fn the_list_of_a_package_may_be_wrong() {
    let (m, [debug, shipped]) = kernel();
    let other = write(&m, "k.deb", &listed(&shipped, XZ));
    let said = |names: &[&str], files: &Files| {
        let names = names.iter().copied().chain(files[1..].iter().map(|(name, _)| name.as_str()));
        let package = deb_with_list(names, ".xz", &packed(XZ, &tar(files)));
        let package = write(&m, "k-dbg.deb", &package);
        let run = build(m.db.path(), &[package, other.clone()]);
        (run.code, run.out.split(',').next().unwrap_or_default().to_owned(), run.err)
    };
    let (copyright, vmlinux) = (&debug[0].0, &debug[1].0);
    let more = [
        copyright.as_str(),
        "usr/lib/debug/lib/modules/6.1.0-test/kernel/a.ko",
        "lib/modules/6.1.0-test/kernel/b.ko",
    ];
    let (code, built, err) = said(&more, &debug);
    assert_eq!((code, &*built), (4, "6.1.0-test: 4 objects"), "{err}");
    assert!(err.contains("k-dbg.deb/lib/modules/6.1.0-test/kernel/b.ko: the package's list names it, and the package does not have it; so with another one; fetch the package from"), "{err}");
    // The last of the files is not in the list.
    let mut unlisted = debug.clone();
    unlisted.rotate_right(1);
    let (code, built, err) = said(&[copyright], &unlisted);
    assert_eq!((code, &*built), (4, "6.1.0-test: 3 objects"), "{err}");
    assert!(
        err.contains("gamma-mod.ko: the package's list does not name it: it is passed over; fetch"),
        "{err}"
    );
    // vmlinux comes last.
    let mut late = debug.clone();
    late[1..].rotate_left(1);
    let (code, built, err) = said(&[copyright], &late);
    assert_eq!((code, &*built), (0, "6.1.0-test: 4 objects"), "{err}");
    // There is no vmlinux.
    let mut without = debug.clone();
    without.remove(1);
    let (code, _, err) = said(&[copyright, vmlinux], &without);
    assert_eq!((code, err.lines().count()), (3, 1), "{err}");
    assert!(
        err.contains(
            "vmlinux-6.1.0-test: the package's list names it, and the package does not have it; fetch"
        ),
        "{err}"
    );
}

/// Damage is told as of a package that is read at once.
#[test]
fn a_package_that_is_damaged_while_it_is_read() {
    let (m, [debug, _]) = kernel();
    let names = || debug.iter().map(|(name, _)| name.as_str());
    let all = tar(&debug);
    for (length, code, objects) in [(all.len() - 5000, 4, "6.1.0-test: 3 objects"), (5000, 3, "")] {
        let path = write(&m, "k.deb", &deb_with_list(names(), ".gz", &packed(GZIP, &all[..length])));
        for _ in 0..2 {
            let run = build(m.db.path(), std::slice::from_ref(&path));
            assert_eq!((run.code, run.err.matches("the package is cut off").count()), (code, 1), "{run:?}");
            assert!(run.out.starts_with(objects), "{run:?}");
        }
    }
}

#[test]
fn an_rpm_package_answers_as_its_tree() {
    let (m, [debug, shipped]) = kernel();
    for (packer, large) in [(XZ_IN_BLOCKS, false), (ZSTD, false), (GZIP, true), (ZSTD, true)] {
        let pack = |name: &str, files: &Files| write(&m, name, &rpm(files, packer, large));
        answers_as_tree(&m, &[pack("k-debuginfo.rpm", &debug), pack("k-core.rpm", &shipped)]);
    }
}

/// A changed package is read again.
#[test]
fn a_package_that_changed_is_read_again() {
    let (m, [debug, shipped]) = kernel();
    let package = write(&m, "k-dbg.deb", &deb(".xz", &packed(XZ, &tar(&debug))));
    let other = write(&m, "k.deb", &deb(".xz", &packed(XZ, &tar(&shipped))));
    let once = || build(m.db.path(), &[package.clone(), other.clone()]).found();
    assert!(!once().contains("nothing had changed"));
    assert!(once().contains("nothing had changed"));
    std::fs::write(&package, deb(".gz", &packed(GZIP, &tar(&debug[..4])))).unwrap();
    assert!(!build(m.db.path(), &[package.clone(), other.clone()]).out.contains("nothing had changed"));
}

/// Each is one line with the package, and the member where one is concerned.
#[test]
fn bad_packages_are_told() {
    let (m, [debug, _]) = kernel();
    let tar_of = |members: &[Vec<u8>]| [members.concat(), vec![0; 1024]].concat();
    let whole = deb(".xz", &packed(XZ, &tar(&debug)));
    let vmlinux = &debug[1];
    let name = &vmlinux.0;
    let as_rpm = rpm(&debug, ZSTD, false);
    let endless = [tar_header(name, "77777777777\0", b'0'), vec![0x7f; 4096]].concat();
    let bomb = tar_of(&[tar_member(name, &vec![0; 200 << 20])]);
    let mut wrong_sum = tar(&debug);
    wrong_sum[150] ^= 1;
    for (what, bytes, said) in [
        (
            "cut",
            whole[..whole.len() / 2].to_vec(),
            "k.deb at 0x88: the package is cut off: data.tar.xz ends at ",
        ),
        (
            "cut tar",
            deb("", &tar(&debug)[..5000]),
            "vmlinux-6.1.0-test: the package is cut off; fetch the package again",
        ),
        ("wrong", [&b"!<arch>\ndebian-binary"[..], &[b'x'; 99]].concat(), "not the header of an ar member"),
        (
            "bzip2",
            deb(".bz2", b"BZh91AY"),
            "data.tar.bz2 is not compressed by gzip, xz or zstd; unpack it with dpkg -x",
        ),
        (
            "none",
            b"!<arch>\ndebian-binary   0           0     0     100644  4         `\n2.0\n".to_vec(),
            "without data.tar",
        ),
        ("endless", deb(".xz", &packed(XZ, &endless)), "vmlinux-6.1.0-test: the package is cut off"),
        ("bomb", deb(".xz", &packed(XZ, &bomb)), "it inflates to far more than its length allows"),
        ("damaged", deb(".xz", &[b"\xfd7zXZ\0", &[7; 99][..]].concat()), "its data cannot be unpacked: "),
        ("sum", deb("", &wrong_sum), "not the header of a tar member"),
        ("cut rpm", as_rpm[..as_rpm.len() / 2].to_vec(), "its data cannot be unpacked: "),
        ("rpm", b"\xed\xab\xee\xdb\x03\0".to_vec(), "the package is cut off"),
    ] {
        let path = write(&m, "k.deb", &bytes);
        let run = build(m.db.path(), std::slice::from_ref(&path));
        assert_eq!((run.code, run.err.lines().count()), (3, 1), "{what}: {run:?}");
        assert!(run.err.contains("k.deb") && run.err.contains(said), "{what}: {run:?}");
    }
}

/// What could be read is there, and the rest is named.
#[test]
fn a_cut_package_has_what_comes_before_the_cut() {
    let (m, [debug, _]) = kernel();
    let all = tar(&debug);
    let path = write(&m, "k.deb", &deb(".gz", &packed(GZIP, &all[..all.len() - 5000])));
    for _ in 0..2 {
        let run = build(m.db.path(), std::slice::from_ref(&path));
        assert_eq!((run.code, left_out(&run).len()), (4, 1), "{run:?}");
        assert!(run.out.starts_with(&format!("{RELEASE}: 3 objects")), "{run:?}");
        assert!(run.err.contains("gamma-mod.ko: the package is cut off; fetch the package again"), "{run:?}");
    }
}

/// Names that lead out of a package are no paths: such a member is passed over and named.
#[test]
fn names_do_not_lead_out_of_a_package() {
    let (m, [mut debug, _]) = kernel();
    let module = debug[2].1.clone();
    debug.push((format!("../../../lib/modules/{RELEASE}/kernel/evil.ko"), module.clone()));
    let mut all = tar_member(&format!("/lib/modules/{RELEASE}/kernel/worse.ko"), &module);
    all.extend(tar(&debug));
    let path = write(&m, "k.deb", &deb("", &all));
    let run = build(m.db.path(), &[path]);
    assert_eq!((run.code, left_out(&run).len()), (4, 2), "{run:?}");
    assert!(left_out(&run).iter().all(|line| line.contains("leads out of the package")), "{run:?}");
    assert!(run.out.starts_with(&format!("{RELEASE}: 4 objects")), "{run:?}");
}

/// Of two kernels of one release the larger is taken, and the other named with its package.
#[test]
fn two_builds_of_one_release() {
    let (m, [debug, _]) = kernel();
    let mut other = debug.clone();
    other[1].1.extend([0; 64]);
    // In the note of the build id, wherever that is.
    let id = super::distributions::build_id(&m.path("usr/lib/debug/boot/vmlinux-R"));
    let id: Vec<u8> = (0..20).map(|at| u8::from_str_radix(&id[2 * at..2 * at + 2], 16).unwrap()).collect();
    let at = other[1].1.windows(20).position(|bytes| bytes == id).unwrap();
    other[1].1[at] ^= 1;
    let packages = [("a.deb", &debug[..2]), ("b.deb", &other[..2])]
        .map(|(name, files)| write(&m, name, &deb("", &tar(files))));
    let run = build(m.db.path(), &packages);
    assert_eq!((run.code, left_out(&run).len()), (4, 1), "{run:?}");
    assert!(run.err.contains("a.deb/usr/lib/debug/boot/vmlinux-6.1.0-test: a further vmlinux of"), "{run:?}");
}
