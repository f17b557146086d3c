//! `probeidx-lsp`: run by `probeidx lsp`, or by itself.
use std::process::ExitCode;

fn main() -> ExitCode {
    probeidx::cli::standard_streams();
    probeidx_lsp::run(std::env::args_os()).into()
}
