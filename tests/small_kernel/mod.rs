//! A small kernel, compiled from tests/fixtures: for the tests of the programs beside `probeidx`, which take this file by its path.
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The release that the fixtures name.
const RELEASE: &str = "6.1.0-test";

/// Compiles a kernel of a release in a folder, at a level of optimization, with further units of C by their names; and gives
/// vmlinux.
pub fn compile(folder: &Path, release: &str, level: &str, more: &[(&str, &str)]) -> PathBuf {
    // The package of each program lies in a folder of its own beside this one.
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/fixtures");
    let run = |program: &str, arguments: &[&OsStr]| {
        let mut command = Command::new(program);
        let ran = command.current_dir(folder).args(arguments).output().unwrap();
        assert!(ran.status.success(), "{program}: {}", String::from_utf8_lossy(&ran.stderr));
    };
    let mut units = vec!["core.c", "fs.c", "net.c", "entry.S", "bare.S"];
    for name in units.iter().chain(&["shared.h", "module.h", "vmlinux.lds"]) {
        let text = fs::read_to_string(sources.join(name)).unwrap();
        fs::write(folder.join(name), text.replace(RELEASE, release)).unwrap();
    }
    for (name, text) in more {
        fs::write(folder.join(name), text).unwrap();
        units.push(name);
    }
    let mut flags = vec![
        "-g",
        level,
        "-ffreestanding",
        "-fno-pic",
        "-fno-pie",
        "-fno-stack-protector",
        "-fno-asynchronous-unwind-tables",
    ];
    if cfg!(target_arch = "x86_64") {
        flags.extend(["-mcmodel=kernel", "-fcf-protection=none"]);
    }
    // Kernels of several folders have the same paths, so that they have facts in common.
    let map = format!("-ffile-prefix-map={}=.", folder.display());
    let mut objects: Vec<String> = vec![];
    for unit in units {
        let object = format!("{unit}.o");
        let words = flags.iter().copied().chain([&*map, "-c", unit, "-o", &object]);
        run("gcc", &words.map(OsStr::new).collect::<Vec<_>>());
        objects.push(object);
    }
    let vmlinux = format!("vmlinux-{release}");
    let words = ["-T", "vmlinux.lds", "--build-id=sha1", "--no-warn-rwx-segments", "-o", &vmlinux];
    let words = words.into_iter().chain(objects.iter().map(String::as_str));
    run("ld", &words.map(OsStr::new).collect::<Vec<_>>());
    folder.join(vmlinux)
}

/// Puts the index of a kernel into a folder.
#[allow(dead_code, reason = "not all that take this file index a kernel alone")]
pub fn index(vmlinux: PathBuf, db: &Path) {
    index_with(vmlinux, db, vec![]);
}

/// Like [`index`], with the tapsets in these folders.
pub fn index_with(vmlinux: PathBuf, db: &Path, tapsets: Vec<PathBuf>) {
    let options =
        probeidx::pipeline::Options { db: db.to_owned(), modules: false, tapsets, force: true, jobs: 1 };
    probeidx::pipeline::build(&[vmlinux], &options, &()).unwrap();
}
