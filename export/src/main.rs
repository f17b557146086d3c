//! `probeidx-export`: run by `probeidx export`, or by itself.
use std::process::ExitCode;

fn main() -> ExitCode {
    probeidx::cli::standard_streams();
    probeidx_export::run(std::env::args_os()).into()
}
