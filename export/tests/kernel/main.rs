//! The questions of export/sql: DuckDB and Spark over an export of real kernels give the rows that `probeidx` gives. The kernels are
//! those of `PROBEIDX_KERNELS`, else the newest that is installed and those that scripts/kernels unpacked; or those of the
//! folder or store in `PROBEIDX_QUESTIONS`. Without the engines it says `skipped: …`. And the job of spark/.
//!
//! The name of this program makes scripts/test compile it to be quick.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test may fail where it stands, and say what it lacks"
)]
#[path = "../../../tests/real_kernels/mod.rs"]
mod real_kernels;
mod spark;
#[path = "../suite/support.rs"]
#[allow(dead_code, reason = "the other tests need more of it")]
mod support;

use real_kernels::{kernels, target};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
fn engines_answer_as_the_program_does() {
    let exporter = Path::new(env!("CARGO_BIN_EXE_probeidx-export"));
    let program = exporter.with_file_name("probeidx");
    let Some(python) = environment("python", "duckdb", "duckdb") else {
        return skip("no Python with DuckDB");
    };
    if !program.is_file() {
        return skip(&format!("no probeidx beside {}", exporter.display()));
    }
    let folder = target().join("export");
    let given = std::env::var_os("PROBEIDX_QUESTIONS").map(PathBuf::from);
    let db = given.clone().unwrap_or_else(|| folder.join("db"));
    if given.is_none() {
        let kernels = kernels();
        if kernels.is_empty() {
            let is_complete = std::env::var("CI").is_ok_and(|ci| ci == "true");
            assert!(!is_complete, "no kernel with debuginfo: run scripts/kernels");
            return skip("no kernel with debuginfo");
        }
        // What an earlier run had is not asked for.
        let _ = std::fs::remove_dir_all(&db);
        for (root, release) in &kernels {
            let words = ["build", "--no-tapset", "--progress", "never", "-q"].map(OsStr::new);
            let mut build = Command::new(&program);
            build.arg("--db").arg(&db).args(words).arg("--sysroot").arg(root).arg(release);
            run(&mut build);
        }
    }
    let tables = folder.join("tables");
    let export = ["--parquet".as_ref(), tables.as_os_str(), "--kernel=*".as_ref()];
    run(Command::new(&program).arg("--db").arg(&db).arg("export").args(export));
    let verify = ["export".as_ref(), "--verify".as_ref(), tables.as_os_str()];
    run(Command::new(&program).args(verify));
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let questions = here.join("tests/kernel/questions.py");
    let answers = folder.join("answers");
    let _ = std::fs::remove_file(&answers);
    let ask = |python: &Path, engine: &str| {
        let words = [questions.as_os_str(), program.as_os_str(), db.as_os_str(), tables.as_os_str()];
        let mut ask = Command::new(python);
        run(ask.args(words).arg(here.join("sql")).arg(engine).arg(&answers).env("PYSPARK_PYTHON", python));
    };
    ask(&python, "duckdb");
    match pyspark() {
        Ok(python) => ask(&python, "spark"),
        Err(why) => skip(why),
    }
}

/// Said aloud: what `eprintln!` prints is held back if a test passes.
fn skip(why: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

/// A Python that has a module: the system's, or one of its own below the target folder, into which it is installed.
fn environment(name: &str, module: &str, package: &str) -> Option<PathBuf> {
    let has_module = |python: &Path| {
        let import = format!("import {module}");
        Command::new(python).args(["-c", &import]).output().is_ok_and(|ran| ran.status.success())
    };
    let system = PathBuf::from("python3");
    if has_module(&system) {
        return Some(system);
    }
    let environment = target().join(name);
    let own = environment.join("bin/python");
    if !has_module(&own) {
        let _ = Command::new(system).args(["-m", "venv"]).arg(&environment).output();
        let _ = Command::new(&own).args(["-m", "pip", "install", "--quiet", package]).output();
    }
    Some(own).filter(|own| has_module(own))
}

/// A Python that has PySpark, where there is Java.
fn pyspark() -> Result<PathBuf, &'static str> {
    if !Command::new("java").arg("-version").output().is_ok_and(|ran| ran.status.success()) {
        return Err("no Java");
    }
    environment("spark", "pyspark", "pyspark>=4,<5").ok_or("no Python with PySpark")
}

/// Runs a program, which has to succeed, and shows what it prints.
fn run(command: &mut Command) {
    let ran = command.output().unwrap();
    let said = [ran.stdout, ran.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    eprint!("{said}");
    assert!(ran.status.success(), "{command:?}: {said}");
}
