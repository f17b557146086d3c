//! `probeidx-mcp`: run by `probeidx mcp`, or by itself.
use std::process::ExitCode;

fn main() -> ExitCode {
    probeidx::cli::standard_streams();
    probeidx_mcp::run(std::env::args_os()).into()
}
