//! Hands over to another program: `export` to the one that has the tables, for Arrow and Parquet are heavier than all the
//! rest; `web` to the one that has the pages; `mcp` and `lsp` to those that speak these protocols. Few who install this need them.
use crate::error::{Error, ErrorKind};
use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// The program of a command, whose source is in the folder of that name.
pub fn name(command: &str) -> String {
    format!("probeidx-{command}")
}

/// Goes on as the program of a command, with the same command line. Returns only if there is none.
pub fn run(command: &str) -> Error {
    let name = name(command);
    let beside = std::env::current_exe().ok().map(|own| own.with_file_name(&name));
    let program = beside.filter(|path| path.is_file());
    let program = program.as_ref().map_or(OsStr::new(&name), |path| path.as_os_str());
    let mut words = std::env::args_os();
    let own_name = words.next().unwrap_or_default();
    let failed = Command::new(program).arg0(own_name).args(words).exec();
    match failed.kind() {
        std::io::ErrorKind::NotFound => {
            let what = format!("{name} is neither beside this program nor in PATH");
            Error::new(ErrorKind::Io, what)
                .hint(format!("install the package {name}, or from a clone: cargo install --path {command}"))
        }
        _ => Error::io(program.as_ref(), "run it", failed),
    }
}
