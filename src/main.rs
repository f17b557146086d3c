//! Parse, run, exit code.
fn main() -> std::process::ExitCode {
    probeidx::cli::run(std::env::args_os()).into()
}
