//! Index files as they come: of every version of the format, from other hosts, and damaged. `v1`, `v2` … hold a golden file
//! of each version, which is never made again; `golden` is what the last one was made from.
mod damage;
mod golden;
mod hosts;
#[path = "../kernel/sample.rs"]
#[allow(dead_code, reason = "samples of the tests of real kernels too")]
mod sample;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder of this one.
fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/compat").join(name)
}

/// The program for this host.
const PROGRAM: &str = env!("CARGO_BIN_EXE_probeidx");

/// Runs a program, which may be started by another that comes before it, with nothing of the environment that it could mind.
fn run(program: &[&str], arguments: &[&str]) -> Output {
    let mut command = Command::new(program[0]);
    command.args(&program[1..]).args(arguments).env("SYSTEMTAP_TAPSET", "");
    for variable in ["PROBEIDX_DB", "XDG_CACHE_HOME", "HOME", "NO_COLOR"] {
        command.env_remove(variable);
    }
    command.output().unwrap_or_else(|e| panic!("{program:?}: {e}"))
}
