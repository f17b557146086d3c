//! Programs in Python, with the module of the library.
use crate::library::{Installed, capi, run};
use std::ffi::OsStr;
use std::process::Command;

/// What one prints.
#[track_caller]
pub fn python(installed: &Installed, arguments: &[&OsStr]) -> String {
    let mut python = Command::new("python3");
    python.args(arguments).env("PROBEIDX_LIBRARY", installed.file("lib/libprobeidx.so"));
    run(python.env("PYTHONPATH", capi().join("consumers")).env("PYTHONDONTWRITEBYTECODE", "1"))
}
