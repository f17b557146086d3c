//! Parse, run, exit code.
#[global_allocator]
static MEMORY: probeidx::cli::memory::Memory = probeidx::cli::memory::Memory;

fn main() -> std::process::ExitCode {
    probeidx::cli::run(std::env::args_os()).into()
}
