//! The questions of export/sql: DuckDB and Spark over an export of real kernels give the rows that `probeidx` gives; and what
//! the notebook shows is what it answers. The kernels are those of `PROBEIDX_KERNELS`, else the newest that is installed and one that
//! scripts/kernels unpacked; or those of the folder or store in `PROBEIDX_QUESTIONS`. Without the engines it says `skipped: …`. And the job of spark/.
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

use real_kernels::{some_kernels, target};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

#[test]
fn engines_answer_as_the_program_does() {
    let Some(python) = environment("python", &["duckdb"], &["duckdb"]) else {
        return skip("no Python with DuckDB");
    };
    let Some(Exported { program, db, tables }) = exported() else { return };
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let questions = here.join("tests/kernel/questions.py");
    let answers = target().join("export/answers");
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

#[test]
fn the_notebook_shows_what_the_program_answers() {
    let modules = ["duckdb", "nbclient", "ipykernel", "matplotlib"];
    let Some(python) = environment("notebook", &modules, &modules) else {
        return skip("no Python with nbclient, ipykernel and matplotlib");
    };
    let Some(Exported { program, db, tables }) = exported() else { return };
    if !tables.join("functions_since").is_dir() {
        return skip("one kernel, and the notebook compares several");
    }
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let words = [here.join("tests/kernel/notebook.py"), program.clone(), db.clone(), tables.clone()];
    run(Command::new(python).args(words).arg(here.join("notebook/fleet.ipynb")));
}

#[test]
fn streams_are_read_while_they_are_written() {
    let modules = ["duckdb", "pyarrow", "polars"];
    let Some(python) = environment("arrow", &modules, &modules) else {
        return skip("no Python with pyarrow and Polars");
    };
    let Some(Exported { program, db, tables }) = exported() else { return };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernel/streams.py");
    run(Command::new(python).args([&script, program, db, tables]));
}

/// The tables of some kernels.
struct Exported {
    program: PathBuf,
    db: PathBuf,
    tables: PathBuf,
}

/// The tables of the kernels that are there, made once; `None` if that cannot be, which is said.
fn exported() -> Option<&'static Exported> {
    static MADE: OnceLock<Option<Exported>> = OnceLock::new();
    MADE.get_or_init(|| {
        let exporter = Path::new(env!("CARGO_BIN_EXE_probeidx-export"));
        let program = exporter.with_file_name("probeidx");
        if !program.is_file() {
            skip(&format!("no probeidx beside {}", exporter.display()));
            return None;
        }
        let folder = target().join("export");
        let given = std::env::var_os("PROBEIDX_QUESTIONS").map(PathBuf::from);
        let db = given.clone().unwrap_or_else(|| folder.join("db"));
        if given.is_none() {
            let kernels = some_kernels();
            if kernels.is_empty() {
                let is_complete = std::env::var("CI").is_ok_and(|ci| ci == "true");
                assert!(!is_complete, "no kernel with debuginfo: run scripts/kernels");
                skip("no kernel with debuginfo");
                return None;
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
        Some(Exported { program, db, tables })
    })
    .as_ref()
}

/// Said aloud: what `eprintln!` prints is held back if a test passes.
fn skip(why: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

/// A Python that has some modules: the system's, or one of its own below the target folder, into which they are installed.
fn environment(name: &str, modules: &[&str], packages: &[&str]) -> Option<PathBuf> {
    let has_modules = |python: &Path| {
        let import = format!("import {}", modules.join(", "));
        Command::new(python).args(["-c", &import]).output().is_ok_and(|ran| ran.status.success())
    };
    let system = PathBuf::from("python3");
    if has_modules(&system) {
        return Some(system);
    }
    let environment = target().join(name);
    let own = environment.join("bin/python");
    if !has_modules(&own) {
        let _ = Command::new(system).args(["-m", "venv"]).arg(&environment).output();
        let _ = Command::new(&own).args(["-m", "pip", "install", "--quiet"]).args(packages).output();
    }
    Some(own).filter(|own| has_modules(own))
}

/// A Python that has PySpark, where there is Java.
fn pyspark() -> Result<PathBuf, &'static str> {
    if !Command::new("java").arg("-version").output().is_ok_and(|ran| ran.status.success()) {
        return Err("no Java");
    }
    environment("spark", &["pyspark"], &["pyspark>=4,<5"]).ok_or("no Python with PySpark")
}

/// Runs a program, which has to succeed, and shows what it prints.
fn run(command: &mut Command) {
    let ran = command.output().unwrap();
    let said = [ran.stdout, ran.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).concat();
    eprint!("{said}");
    assert!(ran.status.success(), "{command:?}: {said}");
}
