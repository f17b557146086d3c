//! The package as pip installs it, and a Python that has what the tests need.
#[path = "../../../tests/small_kernel/mod.rs"]
#[allow(dead_code, reason = "the module itself builds the indexes")]
pub mod small_kernel;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What tests/python imports.
const NEEDED: [&str; 5] = ["pytest", "mypy", "pyarrow", "polars", "pandas"];

/// The folder of this package's sources.
pub fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Puts the package together in a folder: the files of Python, and the module that cargo has just built. Gives the folder to
/// import from.
pub fn package(folder: &Path) -> PathBuf {
    let site = folder.join("site");
    let package = site.join("probeidx");
    std::fs::create_dir_all(&package).unwrap();
    for entry in std::fs::read_dir(here().join("python/probeidx")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            std::fs::copy(&path, package.join(path.file_name().unwrap())).unwrap();
        }
    }
    let tests = std::env::current_exe().unwrap();
    let module = tests.with_file_name("lib_probeidx.so");
    std::os::unix::fs::symlink(module, package.join("_probeidx.abi3.so")).unwrap();
    site
}

/// A Python with what the tests import: the system's, or one of its own below the target folder, which keeps it.
pub fn environment() -> Option<PathBuf> {
    let has = |python: &Path| {
        let import = format!("import {}", NEEDED.join(","));
        Command::new(python).args(["-c", &import]).output().is_ok_and(|ran| ran.status.success())
    };
    let system = PathBuf::from("python3");
    if has(&system) {
        return Some(system);
    }
    let environment = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("python-tests");
    let own = environment.join("bin/python");
    if !has(&own) {
        let _ = Command::new(system).args(["-m", "venv"]).arg(&environment).output();
        let _ = Command::new(&own).args(["-m", "pip", "install", "--quiet"]).args(NEEDED).output();
    }
    if has(&own) {
        return Some(own);
    }
    let why = format!("no Python with {}", NEEDED.join(", "));
    assert!(!std::env::var("CI").is_ok_and(|ci| ci == "true"), "{why}");
    skip(&why);
    None
}

/// Runs tests of Python with the package and nothing of the environment that it could mind.
pub fn pytest(python: &Path, package: &Path, tests: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(python);
    command.args(["-m", "pytest", "-ra", "--tb=short"]).arg(tests.as_ref()).current_dir(here());
    for variable in ["PROBEIDX_DB", "XDG_CACHE_HOME", "NO_COLOR", "DEBUGINFOD_URLS"] {
        command.env_remove(variable);
    }
    command.env("PYTHONPATH", package).env("PYTHONDONTWRITEBYTECODE", "1").env("SYSTEMTAP_TAPSET", "");
    command.env("PROBEIDX_PYTHON", here());
    command
}

/// Runs a program, which has to succeed; what it skips is said aloud.
pub fn run(command: &mut Command) -> String {
    let ran = command.output().unwrap();
    let said = [ran.stdout, ran.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    assert!(ran.status.success(), "{command:?}: {said}");
    said.lines().filter(|line| line.starts_with("SKIPPED")).for_each(skip);
    said
}

/// To be seen although the test passes: only what `eprintln!` prints is held back.
pub fn skip(why: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}
