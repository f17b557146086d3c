//! The program itself, run on an index that it built of the fixture and of a module in which nothing is left to the
//! compiler.
use super::fixture::{Tree, USUAL};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;
use tempfile::TempDir;

/// The kernel and the folder of its index.
pub struct Indexed {
    pub tree: Tree,
    pub db: TempDir,
}

pub static KERNEL: LazyLock<Indexed> = LazyLock::new(|| {
    let tree = Tree::compile(&USUAL);
    tree.add_gamma(&USUAL);
    let db = tempfile::tempdir().unwrap();
    let built = run_in(db.path(), [OsStr::new("build"), tree.path().as_ref()]);
    assert_eq!((built.code, built.err.as_str()), (0, ""), "{built:?}");
    Indexed { tree, db }
});

/// How the program ended, and what it said.
#[derive(Debug)]
pub struct Run {
    pub code: i32,
    pub out: String,
    pub err: String,
}

impl Run {
    pub fn of(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).unwrap();
        let Some(code) = output.status.code() else { panic!("an exit, no signal: {output:?}") };
        Self { code, out: text(output.stdout), err: text(output.stderr) }
    }
    /// It found something and had nothing else to say.
    #[track_caller]
    pub fn found(self) -> String {
        assert_eq!((self.code, self.err.as_str()), (0, ""), "{self:?}");
        assert!(!self.out.is_empty());
        self.out
    }
    /// It ended so, with this one line on stderr and nothing on stdout.
    #[track_caller]
    pub fn refused(&self, code: i32, said: &str) {
        assert_eq!((self.code, self.err.trim_end(), self.out.as_str()), (code, said, ""), "{self:?}");
        assert!(self.err.ends_with('\n') && self.err.lines().count() == 1, "{self:?}");
    }
}

/// The program with this index and nothing of the environment that it could mind.
pub fn command(db: &Path) -> Command {
    let mut c = Command::new(env!("CARGO_BIN_EXE_probeidx"));
    for variable in ["PROBEIDX_DB", "XDG_CACHE_HOME", "HOME", "NO_COLOR", "DEBUGINFOD_URLS"] {
        c.env_remove(variable);
    }
    // No tapsets but those that a test names.
    c.env("SYSTEMTAP_TAPSET", "");
    c.arg("--db").arg(db);
    c
}

pub fn run_in(db: &Path, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Run {
    Run::of(command(db).args(arguments).output().unwrap())
}

/// Runs a command line on the index of [`KERNEL`].
pub fn probeidx(arguments: &[&str]) -> Run {
    run_in(KERNEL.db.path(), arguments)
}

/// The lines of a `find` that finds something.
#[track_caller]
pub fn find(arguments: &[&str]) -> Vec<String> {
    let mut line = vec!["--quiet", "find"];
    line.extend(arguments);
    probeidx(&line).found().lines().map(str::to_owned).collect()
}

/// The objects that a command prints with `--json`.
#[track_caller]
pub fn json(arguments: &[&str]) -> Vec<Value> {
    let mut line = vec!["--json"];
    line.extend(arguments);
    let out = probeidx(&line).found();
    out.lines().map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{l}: {e}"))).collect()
}

/// The file of a fixture as the debug information has it.
pub fn source(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(file)
}

/// `NAME@FILE:LINE` of the function that the fixture's file defines.
#[track_caller]
pub fn declared(name: &str, file: &str) -> String {
    let text = std::fs::read_to_string(source(file)).unwrap();
    let defines = |line: &str| {
        line.contains(&format!(" {name}(")) && !line.starts_with(['\t', ' ']) && !line.ends_with(';')
    };
    let line = 1 + text.lines().position(defines).unwrap_or_else(|| panic!("{name} is not in {file}"));
    format!("{name}@{}:{line}", source(file).display())
}

/// The probe point of a function of vmlinux.
#[track_caller]
pub fn kernel(name: &str, file: &str) -> String {
    format!("kernel.function(\"{}\")", declared(name, file))
}

/// The probe point of a function of a module.
#[track_caller]
pub fn module(module: &str, name: &str, file: &str) -> String {
    format!("module(\"{module}\").function(\"{}\")", declared(name, file))
}
