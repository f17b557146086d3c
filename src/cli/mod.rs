//! The command line: turns arguments into questions, writes answers to stdout, and failures into exit codes.
pub mod args;
pub mod config;
pub mod exit;
pub mod memory;
pub mod output;
pub mod progress;
pub mod session;
mod several;

pub mod addr;
mod aliases;
pub mod blacklist;
pub mod bpf;
pub mod build;
pub mod callers;
pub mod capture;
pub mod check;
mod chunked_stdin;
pub mod complete;
mod decode;
mod diff;
mod escaped;
pub mod find;
mod fleet;
pub mod history;
mod index;
mod lines;
mod man;
mod other_program;
mod processes;
pub mod project;
mod report;
pub mod resolve;
#[cfg(feature = "schema")]
pub mod schema;
pub mod serve;
pub mod source;
mod streams;
pub mod tapset;
mod trace;
mod types;
pub mod why_not;

use crate::error::{Error, ErrorKind, Result};
use args::{Args, Command, Request};
use config::Config;
use escaped::{Escaped, Passing};
use exit::Outcome;
use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::mem::ManuallyDrop;
pub use streams::standard_streams;

/// Runs a command line, starting with the name of the program, and returns the exit code.
pub fn run(argv: impl IntoIterator<Item = OsString>) -> u8 {
    run_by(argv, dispatch)
}

/// Like [`run`], for the program of one command, `probeidx-NAME`, which calls `command` with what was parsed. `probeidx` hands over
/// its own command line; started by its own name, the program takes that of the command.
pub fn run_as(
    name: &str,
    argv: impl IntoIterator<Item = OsString>,
    command: impl FnOnce(&Args) -> Result<Outcome>,
) -> u8 {
    let mut argv: Vec<OsString> = argv.into_iter().collect();
    let started = argv.first().and_then(|first| std::path::Path::new(first).file_name());
    if started.is_some_and(|started| *started == *other_program::name(name)) {
        argv.insert(1, name.into());
    }
    run_by(argv, command)
}

fn run_by(argv: impl IntoIterator<Item = OsString>, command: impl FnOnce(&Args) -> Result<Outcome>) -> u8 {
    let argv: Vec<OsString> = argv.into_iter().collect();
    let (result, json) = match args::parse(argv.iter().cloned()) {
        Ok(Request::Run(args)) => {
            let json = args.global.json;
            memory::tell_as_json(json);
            crate::faults::watch(match json {
                true => |error| exit::last_words(error, true),
                false => |error| exit::last_words(error, false),
            });
            (command(&args), json)
        }
        Ok(Request::Show(text)) => {
            let shown = output::to_stdout(Passing::Everything, |out| show(out, &text.to_string()));
            (shown, false)
        }
        Err(error) => (Err(error), args::json_asked(argv)),
    };
    let code = exit::code(&result);
    if let Err(error) = &result
        && error.kind() == ErrorKind::Exhausted
    {
        // Threads that were started before may find no memory at the same moment: one of them all says so.
        crate::faults::end_with(&exit::last_words(error, json), code.into());
    }
    exit::report(&result, json, &mut Escaped::new(std::io::stderr().lock(), Passing::Text));
    code
}

fn show(out: &mut dyn Write, text: &str) -> Result<Outcome> {
    out.write_all(text.as_bytes()).map_err(output::failed)?;
    Ok(Outcome::Done)
}

fn dispatch(args: &Args) -> Result<Outcome> {
    match &args.command {
        Command::Build(build) => build::run(build, &Config::new(&args.global)?),
        Command::Serve(_) => serve::run(&Config::new(&args.global)?),
        Command::Completions(completions) => {
            output::to_stdout(Passing::Everything, |out| complete::script(completions.shell, out))
        }
        Command::Capture(asked) => {
            let config = Config::new(&args.global)?;
            output::to_stdout(Passing::Text, |out| capture::run(asked, &config, out))
        }
        Command::Fleet(asked) => {
            let config = Config::new(&args.global)?;
            output::to_stdout(Passing::Text, |out| fleet::run(asked, &config, out))
        }
        Command::Trace(asked) => {
            let config = Config::new(&args.global)?;
            output::to_stdout(Passing::Text, |out| trace::run(asked, &config, out))
        }
        Command::Export(_) => Err(other_program::run("export")),
        Command::Web(_) => Err(other_program::run("web")),
        Command::Mcp(_) => Err(other_program::run("mcp")),
        Command::Lsp(_) => Err(other_program::run("lsp")),
        Command::Man(man) => output::to_stdout(Passing::Text, |out| man::run(man, out)),
        question => {
            // The process ends with the answer: what is open for it is not closed.
            let config = ManuallyDrop::new(Config::new(&args.global)?);
            let passing = match question {
                // The text between frames stays unchanged, unless a terminal could interpret it.
                Command::Decode(_) if !config.json && !std::io::stdout().is_terminal() => Passing::Everything,
                _ if config.color => Passing::ColouredText,
                _ => Passing::Text,
            };
            output::to_stdout(passing, |out| answer(question, &config, out))
        }
    }
}

/// Answers a question about the index. Notes go to the session of `config`.
///
/// # Errors
/// Those of the command; [`ErrorKind::Usage`] for a command that is not a question.
pub fn answer(question: &Command, config: &Config, out: &mut dyn Write) -> Result<Outcome> {
    match question {
        Command::Find(find) => find::run(find, config, out),
        Command::Resolve(resolve) => resolve::run(resolve, config, out),
        Command::Lines(lines) => lines::run(lines, config, out),
        Command::Callers(callers) => callers::run(callers, config, out),
        Command::Addr(addr) => addr::run(addr, config, out),
        Command::Decode(decode) => decode::run(decode, config, out),
        Command::Type(asked) => types::run(asked, config, out),
        Command::Tapset(tapset) => tapset::run(tapset, config, out),
        Command::Check(asked) => check::run(asked, config, out),
        Command::Blacklist(blacklist) => blacklist::run(blacklist, config, out),
        Command::Bpf(asked) => bpf::run(asked, config, out),
        Command::Diff(asked) => diff::run(asked, config, out),
        Command::History(asked) => history::run(asked, config, out),
        Command::Kernels => index::kernels(config, out),
        Command::Stats(args) => index::stats(args, config, out),
        Command::Verify => index::verify(config, out),
        Command::Complete(complete) => complete::run(complete, config, out),
        Command::Build(_)
        | Command::Fleet(_)
        | Command::Capture(_)
        | Command::Serve(_)
        | Command::Trace(_)
        | Command::Export(_)
        | Command::Web(_)
        | Command::Mcp(_)
        | Command::Lsp(_)
        | Command::Completions(_)
        | Command::Man(_) => Err(Error::new(ErrorKind::Usage, "this command asks nothing of the index")),
    }
}

/// Writes a suggestion or warning, unless it is to be quiet.
fn note(config: &Config, text: &str) {
    if !config.quiet {
        config.session.note(text);
    }
}
