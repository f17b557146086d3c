//! The questions of export/sql: DuckDB over an export of real kernels gives the rows that `probeidx` gives. The kernels are
//! those of `PROBEIDX_KERNELS`, else the installed one and those that scripts/kernels unpacked; or those of the folder or
//! store in `PROBEIDX_QUESTIONS`. What is missing makes it say `skipped: …`.
//!
//! The name of this program makes scripts/test compile it to be quick.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may fail where it stands, and say what it lacks"
)]
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
#[ignore = "takes a minute, and wants kernels with debuginfo: PROBEIDX_QUESTIONS=FOLDER cargo test -p probeidx-export --profile quick --test kernel -- --ignored"]
fn duckdb_answers_as_the_program_does() {
    let exporter = Path::new(env!("CARGO_BIN_EXE_probeidx-export"));
    let program = exporter.with_file_name("probeidx");
    let Some(python) = python() else { return eprintln!("skipped: no Python with DuckDB") };
    if !program.is_file() {
        return eprintln!("skipped: no probeidx beside {}", exporter.display());
    }
    let folder = target().join("export");
    let given = std::env::var_os("PROBEIDX_QUESTIONS").map(PathBuf::from);
    let db = given.clone().unwrap_or_else(|| folder.join("db"));
    if given.is_none() {
        let roots = roots();
        if roots.is_empty() {
            return eprintln!("skipped: no kernel with debuginfo");
        }
        for root in &roots {
            let words = ["build", "--no-tapset", "--progress", "never", "-q", "--sysroot"].map(OsStr::new);
            run(Command::new(&program).arg("--db").arg(&db).args(words).arg(root));
        }
    }
    let tables = folder.join("tables");
    let export = ["--parquet".as_ref(), tables.as_os_str(), "--kernel=*".as_ref()];
    run(Command::new(&program).arg("--db").arg(&db).arg("export").args(export));
    let verify = ["export".as_ref(), "--verify".as_ref(), tables.as_os_str()];
    run(Command::new(&program).args(verify));
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let questions = here.join("tests/kernel/questions.py");
    let words = [questions.as_os_str(), program.as_os_str(), db.as_os_str(), tables.as_os_str()];
    run(Command::new(python).args(words).arg(here.join("sql")));
}

/// The folders that kernels with debuginfo lie below.
fn roots() -> Vec<PathBuf> {
    let given = std::env::var_os("PROBEIDX_KERNELS");
    let roots: Vec<PathBuf> = match &given {
        Some(paths) => std::env::split_paths(paths).collect(),
        None => {
            // One architecture is enough for what is asked here, and takes half of the time.
            let other = if cfg!(target_arch = "aarch64") { "amd64" } else { "arm64" };
            let unpacked = std::fs::read_dir(target().join("kernels")).into_iter().flatten().flatten();
            let unpacked = unpacked.map(|entry| entry.path());
            let unpacked = unpacked.filter(|path| !path.to_string_lossy().ends_with(other));
            std::iter::once("/".into()).chain(unpacked).collect()
        }
    };
    let has_debuginfo = |root: &PathBuf| {
        ["usr/lib/debug/boot", "usr/lib/debug/lib/modules"].iter().any(|below| {
            std::fs::read_dir(root.join(below)).is_ok_and(|mut entries| entries.next().is_some())
        })
    };
    roots.into_iter().filter(has_debuginfo).collect()
}

/// Where tests keep what is costly to make.
fn target() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}

/// A Python that has DuckDB: the system's, or one of its own below the target folder.
fn python() -> Option<PathBuf> {
    let has_duckdb = |python: &Path| {
        Command::new(python).args(["-c", "import duckdb"]).output().is_ok_and(|ran| ran.status.success())
    };
    let system = PathBuf::from("python3");
    if has_duckdb(&system) {
        return Some(system);
    }
    let environment = target().join("python");
    let own = environment.join("bin/python");
    if !has_duckdb(&own) {
        let _ = Command::new(system).args(["-m", "venv"]).arg(&environment).output();
        let _ = Command::new(&own).args(["-m", "pip", "install", "--quiet", "duckdb"]).output();
    }
    Some(own).filter(|own| has_duckdb(own))
}

/// Runs a program, which has to succeed, and shows what it prints.
fn run(command: &mut Command) {
    let ran = command.output().unwrap();
    let said = [ran.stdout, ran.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    eprint!("{said}");
    assert!(ran.status.success(), "{command:?}: {said}");
}
