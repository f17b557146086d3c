//! The command line: arguments to questions, answers to stdout, failures to exit codes.
pub mod args;
pub mod config;
pub mod exit;
pub mod output;
pub mod progress;

mod addr;
mod aliases;
mod blacklist;
mod build;
mod check;
mod decode;
mod feed;
mod find;
mod index;
mod lines;
mod processes;
mod resolve;
mod source;
mod tapset;
mod types;
mod why_not;

use crate::error::Result;
use args::{Args, Command, Request};
use config::Config;
use exit::Outcome;
use std::ffi::OsString;
use std::io::Write;

/// Runs a command line, the name of the program first, and gives the exit code.
pub fn run(argv: impl IntoIterator<Item = OsString>) -> u8 {
    let argv: Vec<OsString> = argv.into_iter().collect();
    let (result, json) = match args::parse(argv.iter().cloned()) {
        Ok(Request::Run(args)) => (dispatch(&args), args.global.json),
        Ok(Request::Show(text)) => (output::to_stdout(|out| show(out, &text.to_string())), false),
        Err(error) => (Err(error), args::json_asked(argv)),
    };
    exit::report(&result, json, &mut std::io::stderr().lock());
    exit::code(&result)
}

fn show(out: &mut dyn Write, text: &str) -> Result<Outcome> {
    out.write_all(text.as_bytes()).map_err(output::failed)?;
    Ok(Outcome::Done)
}

fn dispatch(args: &Args) -> Result<Outcome> {
    if let Command::Completions(completions) = &args.command {
        return output::to_stdout(|out| index::completions(completions.shell, out));
    }
    let config = Config::new(&args.global)?;
    match &args.command {
        Command::Build(build) => build::run(build, &config),
        Command::Find(find) => output::to_stdout(|out| find::run(find, &config, out)),
        Command::Resolve(resolve) => output::to_stdout(|out| resolve::run(resolve, &config, out)),
        Command::Lines(lines) => output::to_stdout(|out| lines::run(lines, &config, out)),
        Command::Addr(addr) => output::to_stdout(|out| addr::run(addr, &config, out)),
        Command::Decode(decode) => output::to_stdout(|out| decode::run(decode, &config, out)),
        Command::Type(asked) => output::to_stdout(|out| types::run(asked, &config, out)),
        Command::Tapset(tapset) => output::to_stdout(|out| tapset::run(tapset, &config, out)),
        Command::Blacklist(blacklist) => output::to_stdout(|out| blacklist::run(blacklist, &config, out)),
        Command::Check(asked) => output::to_stdout(|out| check::run(asked, &config, out)),
        Command::Stats => output::to_stdout(|out| index::stats(&config, out)),
        Command::Verify => output::to_stdout(|out| index::verify(&config, out)),
        Command::Completions(_) => unreachable!("handled above"),
    }
}

/// Whatever a stream of suggestions and warnings is to say, unless it is to be quiet.
fn note(config: &Config, text: &str) {
    if !config.quiet {
        let _ = writeln!(std::io::stderr().lock(), "probeidx: {}", crate::render::printable(text));
    }
}
