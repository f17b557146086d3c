//! Kernels where distributions put them: each is found by its release and below another root, and answers as if its files
//! had been given one by one.
use crate::support::fixture::{RELEASE, Tree, run_all};
use crate::support::program::{KERNEL, Run, run_in};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

pub const MODULES: [&str; 3] = ["alpha-mod", "beta", "gamma-mod"];

/// What a file has of its object.
#[derive(Clone, Copy, PartialEq)]
pub enum Part {
    Whole,
    /// As packages ship it.
    Stripped,
    /// As debug packages have it: without code.
    Debug,
}
use Part::{Debug, Stripped, Whole};

/// The root of a machine with the kernel of the fixture.
pub struct Machine {
    pub root: Tree,
    pub db: tempfile::TempDir,
}

impl Machine {
    pub fn new(os_release: &str) -> Self {
        let root = Tree::empty();
        root.file("etc/os-release", os_release.as_bytes());
        Self { root, db: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, path: &str) -> PathBuf {
        let path = self.root.path().join(path.replace('R', RELEASE));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        path
    }

    /// A part of a file, compressed as the name says.
    fn put(&self, path: &str, object: &Path, part: Part) -> PathBuf {
        let path = self.path(path);
        let packed = [("xz", "xz"), ("zst", "zstd"), ("gz", "gzip")];
        let tool = packed.iter().find(|(suffix, _)| path.extension().is_some_and(|e| e == *suffix));
        let plain = if tool.is_some() { path.with_extension("") } else { path.clone() };
        let how: &[&str] = match part {
            Whole => &[],
            Stripped => &["--strip-debug"],
            Debug => &["--only-keep-debug"],
        };
        let mut c = Command::new("objcopy");
        c.args(how).arg(object).arg(&plain);
        run_all([c]);
        if let Some((_, tool)) = tool {
            let mut c = Command::new(tool);
            c.args(["-q", "-f"]).arg(&plain);
            run_all([c]);
            let _ = std::fs::remove_file(&plain);
        }
        path
    }

    pub fn vmlinux(&self, path: &str, part: Part) -> &Self {
        self.put(path, &KERNEL.tree.vmlinux(), part);
        self
    }

    /// Each module as `FOLDER/NAME` and what follows it.
    pub fn modules(&self, folder: &str, suffix: &str, part: Part) -> &Self {
        for name in MODULES {
            self.put(&format!("{folder}/{name}.ko{suffix}"), &KERNEL.tree.module(name), part);
        }
        self
    }

    fn dependencies(&self, folder: &str, suffix: &str) -> &Self {
        let lines: String = MODULES.iter().map(|name| format!("kernel/{name}.ko{suffix}:\n")).collect();
        std::fs::write(self.path(&format!("{folder}/modules.dep")), lines).unwrap();
        self
    }

    fn link(&self, path: &str, target: &str) -> &Self {
        symlink(target.replace('R', RELEASE), self.path(path)).unwrap();
        self
    }

    /// The link by build id that debug packages have.
    fn by_id(&self, path: &str, object: &Path) -> &Self {
        let id = build_id(object);
        let link = self.path(&format!("usr/lib/debug/.build-id/{}/{}.debug", &id[..2], &id[2..]));
        symlink(format!("/{}", path.replace('R', RELEASE)), link).unwrap();
        self
    }

    fn build(&self, arguments: &[&str]) -> Run {
        let root = self.root.path();
        let mut line = vec!["build", "--force", "--sysroot", root.to_str().unwrap()];
        line.extend(arguments);
        run_in(self.db.path(), line)
    }

    /// It is found by all that is there and by its release, with nothing to be said, and answers as the files do.
    #[track_caller]
    fn is_found(&self) {
        for arguments in [&[][..], &[RELEASE]] {
            let built = self.build(arguments).found();
            assert!(built.starts_with(&format!("{RELEASE}: 4 objects, ")), "{built}");
            for asked in QUESTIONS {
                let [own, expected] = [self.db.path(), KERNEL.db.path()].map(|db| run_in(db, asked).found());
                assert_eq!(own, expected, "{asked:?} of {arguments:?}");
            }
        }
    }
}

pub const QUESTIONS: [&[&str]; 3] = [
    &["find", "module(\"*\").function(\"*\")", "--args"],
    &["resolve", "alpha_mod:do_open", "--locals", "--json"],
    &["find", "kernel.function(\"*\")", "--each"],
];

pub fn build_id(object: &Path) -> String {
    let out = Command::new("readelf").arg("-n").arg(object).stdout(Stdio::piped()).output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    text.lines().find_map(|line| line.trim().strip_prefix("Build ID: ")).unwrap().to_owned()
}

#[test]
fn debian() {
    let m = Machine::new("ID=debian\n");
    m.vmlinux("usr/lib/debug/boot/vmlinux-R", Whole)
        .link("usr/lib/debug/vmlinux-R", "boot/vmlinux-R")
        .link("usr/lib/debug/lib/modules/R/vmlinux", "../../../boot/vmlinux-R")
        .modules("usr/lib/debug/lib/modules/R/kernel", "", Debug)
        .modules("usr/lib/modules/R/kernel", ".xz", Stripped)
        .dependencies("usr/lib/modules/R", ".xz")
        .link("lib", "usr/lib")
        .is_found();
}

/// A ddeb has whole modules.
#[test]
fn ubuntu() {
    let m = Machine::new("ID=ubuntu\nID_LIKE=debian\n");
    m.vmlinux("usr/lib/debug/boot/vmlinux-R", Whole)
        .modules("usr/lib/debug/lib/modules/R/kernel", "", Whole)
        .modules("lib/modules/R/kernel", ".zst", Stripped)
        .dependencies("lib/modules/R", ".zst")
        .is_found();
}

#[test]
fn fedora_and_rhel() {
    let m = Machine::new("ID=fedora\n");
    m.vmlinux("usr/lib/debug/usr/lib/modules/R/vmlinux", Whole)
        .modules("usr/lib/debug/usr/lib/modules/R/kernel", ".debug", Debug)
        .link("usr/lib/debug/lib", "usr/lib")
        .by_id("usr/lib/debug/usr/lib/modules/R/vmlinux", &KERNEL.tree.vmlinux())
        .modules("usr/lib/modules/R/kernel", ".xz", Stripped)
        .dependencies("usr/lib/modules/R", ".xz")
        .link("lib", "usr/lib")
        .is_found();
    let m = Machine::new("ID=rhel\n");
    m.vmlinux("usr/lib/debug/lib/modules/R/vmlinux", Whole)
        .modules("usr/lib/debug/lib/modules/R/kernel", ".debug", Debug)
        .modules("lib/modules/R/kernel", ".xz", Stripped)
        .dependencies("lib/modules/R", ".xz")
        .is_found();
}

/// Tumbleweed, and Leap with the kernel in /boot.
#[test]
fn suse() {
    let m = Machine::new("ID=opensuse-tumbleweed\n");
    m.vmlinux("usr/lib/debug/usr/lib/modules/R/vmlinux.debug", Whole)
        .modules("usr/lib/debug/usr/lib/modules/R/kernel", ".debug", Debug)
        .vmlinux("usr/lib/modules/R/vmlinux.xz", Stripped)
        .modules("usr/lib/modules/R/kernel", ".zst", Stripped)
        .dependencies("usr/lib/modules/R", ".zst")
        .link("lib", "usr/lib")
        .is_found();
    let m = Machine::new("ID=opensuse-leap\n");
    m.vmlinux("usr/lib/debug/boot/vmlinux-R.debug", Whole)
        .modules("usr/lib/debug/lib/modules/R/kernel", ".debug", Debug)
        .vmlinux("boot/vmlinux-R.gz", Stripped)
        .modules("lib/modules/R/kernel", ".zst", Stripped)
        .is_found();
}

/// What `make pacman-pkg` installs: a whole vmlinux in the headers, and debug information in the modules themselves.
#[test]
fn arch() {
    let m = Machine::new("ID=arch\n");
    m.vmlinux("usr/lib/modules/R/build/vmlinux", Whole)
        .modules("usr/lib/modules/R/kernel", ".zst", Whole)
        .dependencies("usr/lib/modules/R", ".zst")
        .link("lib", "usr/lib")
        .is_found();
}

/// The name of the image is that of the flavour; who built it put its debug information into it.
#[test]
fn alpine() {
    let m = Machine::new("ID=alpine\n");
    let mut image = super::btf::bzimage(&std::fs::read(KERNEL.tree.vmlinux()).unwrap());
    // The offset of the text that names the release (Documentation/arch/x86/boot.rst, kernel_version).
    image[0x20e..0x210].copy_from_slice(&0x100_u16.to_le_bytes());
    let text = format!("{RELEASE} (me@here) #1 SMP\0");
    image[0x300..0x300 + text.len()].copy_from_slice(text.as_bytes());
    m.root.file("boot/vmlinuz-lts", &image);
    m.modules("lib/modules/R/kernel", ".gz", Whole).dependencies("lib/modules/R", ".gz").is_found();
}

/// `make O=`: the links are absolute, and those of the other root.
#[test]
fn build_tree() {
    let m = Machine::new("");
    m.vmlinux("home/me/obj/vmlinux", Whole)
        .modules("home/me/obj/drivers", "", Whole)
        .link("home/me/obj/source", "/home/me/linux")
        .link("lib/modules/R/build", "/home/me/obj")
        .link("lib/modules/R/source", "/home/me/linux")
        .is_found();
}

/// Debug files that are there by build id alone, or by the name that the object tells.
#[test]
fn debug_files_of_stripped_objects() {
    let m = Machine::new("");
    m.vmlinux("boot/vmlinux-R", Stripped).modules("lib/modules/R/kernel", ".xz", Stripped);
    for (number, object) in KERNEL.tree.objects().iter().chain([&KERNEL.tree.module("gamma-mod")]).enumerate()
    {
        let part = if number == 0 { Whole } else { Debug };
        let file = format!("usr/lib/debug/elsewhere/{number}");
        m.put(&file, object, part);
        m.by_id(&file, object);
    }
    m.is_found();

    let m = Machine::new("");
    m.vmlinux("usr/lib/debug/boot/vmlinux-R", Whole).modules("opt/debug", ".dbg", Debug);
    m.modules("lib/modules/R/kernel", "", Stripped);
    for name in MODULES {
        let debug = m.path(&format!("opt/debug/{name}.ko.dbg"));
        let mut c = Command::new("objcopy");
        c.arg(format!("--add-gnu-debuglink={}", debug.display()));
        c.arg(m.path(&format!("lib/modules/R/kernel/{name}.ko")));
        run_all([c]);
        std::fs::rename(&debug, m.path(&format!("usr/lib/debug/lib/modules/R/kernel/{name}.ko.dbg")))
            .unwrap();
    }
    m.is_found();
}

/// A boot image tells its build id when it is unpacked, which is done where a debug file may be its own.
#[test]
fn debug_file_of_a_boot_image() {
    let m = Machine::new("");
    let vmlinux = KERNEL.tree.vmlinux();
    let stripped = m.put("stripped", &vmlinux, Stripped);
    let image = super::btf::bzimage(&std::fs::read(&stripped).unwrap());
    std::fs::remove_file(stripped).unwrap();
    m.root.file(&format!("boot/vmlinuz-{RELEASE}"), &image);
    m.put("usr/lib/debug/elsewhere/kernel", &vmlinux, Debug);
    m.modules("lib/modules/R/kernel", "", Whole).by_id("usr/lib/debug/elsewhere/kernel", &vmlinux).is_found();
}

#[test]
fn a_debug_file_of_another_build_is_named_and_not_taken() {
    let m = Machine::new("");
    let whole =
        m.vmlinux("usr/lib/debug/boot/vmlinux-R", Whole).modules("lib/modules/R/kernel", "", Stripped);
    let (alpha, beta) = (KERNEL.tree.module("alpha-mod"), KERNEL.tree.module("beta"));
    whole.put("usr/lib/debug/lib/modules/R/kernel/alpha-mod.ko", &beta, Debug);
    whole.put("usr/lib/debug/lib/modules/R/kernel/beta.ko", &beta, Debug);
    whole.put("usr/lib/debug/lib/modules/R/kernel/gamma-mod.ko", &KERNEL.tree.module("gamma-mod"), Debug);
    let built = m.build(&[RELEASE]);
    assert_eq!(built.code, 4, "{built:?}");
    let [line] = &built.err.lines().collect::<Vec<_>>()[..] else { panic!("{built:?}") };
    assert!(line.contains("alpha-mod.ko: a debug file of another build than "), "{line}");
    for id in [&alpha, &beta].map(|object| build_id(object)) {
        assert!(line.contains(&id), "{line}");
    }
}

#[test]
fn modules_that_are_listed_and_not_there_are_one_line() {
    let m = Machine::new("");
    m.vmlinux("usr/lib/debug/boot/vmlinux-R", Whole).modules("lib/modules/R/kernel", "", Whole);
    m.dependencies("lib/modules/R", "");
    for name in ["beta", "gamma-mod"] {
        std::fs::remove_file(m.path(&format!("lib/modules/R/kernel/{name}.ko"))).unwrap();
    }
    let built = m.build(&[]);
    assert_eq!((built.code, built.err.lines().count()), (4, 1), "{built:?}");
    assert!(
        built.err.contains("2 of the 3 modules that are listed are not there: beta, gamma_mod"),
        "{built:?}"
    );
}

/// A hundred stripped modules are a line that names them, not a hundred.
#[test]
fn modules_without_debug_information_share_a_line() {
    let m = Machine::new("");
    m.vmlinux("usr/lib/debug/boot/vmlinux-R", Whole);
    for number in 0..5 {
        m.put(&format!("lib/modules/R/kernel/m{number}.ko"), &KERNEL.tree.module("beta"), Stripped);
    }
    let built = m.build(&[]);
    assert_eq!((built.code, built.err.lines().count()), (4, 1), "{built:?}");
    assert!(built.err.contains("left out: 5 objects (all of them with -v), the first: "), "{built:?}");
    assert!(built.err.contains("/m0.ko: no debug information"), "{built:?}");
    let all = m.build(&["-v"]);
    assert!((0..5).all(|n| all.err.contains(&format!("/m{n}.ko: no debug information"))), "{all:?}");
}

#[test]
fn where_nothing_is_every_place_is_named_and_the_command() {
    for (os_release, command) in [
        ("ID=debian\n", format!("sudo apt install linux-image-{RELEASE}-dbg")),
        ("ID=ubuntu\n", format!("sudo apt install linux-image-{RELEASE}-dbgsym")),
        ("ID=fedora\n", format!("sudo dnf debuginfo-install kernel-{RELEASE}")),
        ("ID=\"almalinux\"\n", format!("install kernel-debuginfo-{RELEASE}")),
        ("ID=sles\n", "sudo zypper --plus-content debug install".to_owned()),
        ("ID=arch\n", "Arch has no debuginfo of its kernels".to_owned()),
        ("ID=alpine\n", "Alpine has no debuginfo of its kernels".to_owned()),
    ] {
        let m = Machine::new(os_release);
        let run = m.build(&[RELEASE]);
        assert_eq!((run.code, run.out.as_str()), (3, ""), "{run:?}");
        let places = run.err.lines().filter(|line| line.starts_with("probeidx: tried "));
        assert!(places.clone().all(|line| line.ends_with(": nothing there")), "{run:?}");
        assert!(places.count() > 15, "{run:?}");
        let last = run.err.lines().last().unwrap();
        let said = format!("probeidx: error: no debug information of kernel {RELEASE}; ");
        assert!(last.starts_with(&said) && last.contains(&command), "{last}");
    }
    let m = Machine::new("");
    let said = format!("probeidx: error: no kernel below {}; ", m.root.path().display());
    let run = m.build(&[]);
    assert!(run.code == 3 && run.err.starts_with(&said), "{run:?}");
    let hidden = m.vmlinux("usr/lib/debug/boot/vmlinux-R", Whole).path("usr/lib/debug/boot/vmlinux-R");
    std::fs::set_permissions(&hidden, std::fs::Permissions::from_mode(0o000)).unwrap();
    if std::fs::File::open(&hidden).is_err() {
        let run = m.build(&[]);
        assert!(
            run.code == 3 && run.err.contains("vmlinux-6.1.0-test: not readable by this user"),
            "{run:?}"
        );
    }
}

#[test]
fn packages_of_other_kinds_are_to_be_unpacked() {
    let m = Machine::new("");
    let path = m.root.file("linux-6.1-1-x86_64.pkg.tar.zst", b"\x28\xb5\x2f\xfd");
    let run = run_in(m.db.path(), ["build".as_ref(), path.as_os_str()]);
    assert_eq!((run.code, run.err.lines().count()), (3, 1), "{run:?}");
    assert!(run.err.contains("tar -xf ") && run.err.contains("probeidx build DIR"), "{run:?}");
}

/// Debug information of another build than what runs is refused where the running kernel is asked for, and told of where
/// its path was given.
#[test]
fn another_build_than_the_running_one() {
    use probeidx::discover::{Options, Running, discover};
    let tree = &KERNEL.tree;
    let found = |build_id: &[u8], is_wanted| {
        let running = Running { release: RELEASE.to_owned(), build_id: build_id.to_owned(), is_wanted };
        discover(&[tree.path()], &Options { running: Some(running), ..Options::default() }).unwrap()
    };
    let refused = found(&[7; 20], true);
    assert!(refused.kernels[0].vmlinux.is_none());
    let told = refused.skipped.iter().map(ToString::to_string).find(|e| e.contains("another build")).unwrap();
    assert!(told.contains(&build_id(&tree.vmlinux())) && told.contains(&"07".repeat(20)), "{told}");
    let taken = found(&[7; 20], false);
    assert!(taken.kernels[0].vmlinux.is_some() && taken.skipped.is_empty());
    assert_eq!(taken.of_another_build.len(), 1);
    let id = build_id(&tree.vmlinux());
    let id: Vec<u8> = (0..20).map(|n| u8::from_str_radix(&id[2 * n..][..2], 16).unwrap()).collect();
    let same = found(&id, true);
    assert!(same.kernels[0].vmlinux.is_some() && same.skipped.is_empty() && same.of_another_build.is_empty());
}
