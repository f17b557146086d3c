//! `probeidx-web`: run by `probeidx web`, or by itself.
use std::process::ExitCode;

fn main() -> ExitCode {
    probeidx::cli::standard_streams();
    probeidx_web::run(std::env::args_os()).into()
}
