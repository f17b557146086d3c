//! The command line, as clap parses it. `config` and the commands interpret it.
//!
//! A new command needs a struct in one of the files below, a variant of [`Command`] and an arm in `main`.
mod addresses;
mod agents;
mod export;
mod fleet;
mod indexes;
mod places;
mod scripts;
mod shell;
mod trace;
mod web;

use std::ffi::OsString;
use std::mem::ManuallyDrop;
use std::path::PathBuf;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind as Clap};
use clap::{ArgAction, Args as _, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::error::{Error, ErrorKind, Result};
use crate::nearest;
use crate::query::spec;
pub use addresses::{Addr, Decode, Loaded};
pub use agents::{Lsp, Mcp};
pub use export::{Codec, Export, Table};
pub use fleet::{Action, Fleet};
#[cfg(feature = "debuginfod")]
pub use indexes::Fetch;
pub use indexes::{Build, Capture, Diff, History, Stats};
pub use places::{Blacklist, Bpf, Callers, Find, Format, Lines, Offered, Resolve, Type};
pub use scripts::{Check, Runs, Tapset};
pub use shell::{Complete, Completions, Man, Serve, Shell};
pub use trace::Trace;
pub use web::Web;

/// Where exactly can I probe this kernel, and what can I read there?
#[derive(Clone, Debug, Parser)]
#[command(name = "probeidx", version, after_help = EXAMPLES, disable_help_subcommand = true)]
pub struct Args {
    /// What holds for every command.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Options that stand before or after the command.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// The index: one file, or a folder of RELEASE.pidx files [default: $PROBEIDX_DB, else
    /// $XDG_CACHE_HOME/probeidx, else ~/.cache/probeidx]
    #[arg(long, global = true, value_name = "PATH")]
    pub db: Option<PathBuf>,
    /// The kernels to ask: a release, a build id, '*', A..B, or DISTRIBUTION/LINE/FLAVOUR with wildcards [default: the
    /// running one if it is indexed, else the only one there]
    #[arg(long, global = true, value_name = "RELEASE")]
    pub kernel: Option<String>,
    /// Print JSON Lines; errors are one JSON object on stderr
    #[arg(long, global = true)]
    pub json: bool,
    /// When to colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: When,
    /// No suggestions, no warnings, no progress
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Verbose output (-vv for more)
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
}

/// Something that depends on whether a person watches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal.
    #[default]
    Auto,
    /// In any case.
    Always,
    /// In no case.
    Never,
}

/// The commands there are. Only the one that is named is defined in full.
#[derive(Clone, Debug, Subcommand)]
#[command(defer = true)]
pub enum Command {
    /// Index kernels and modules
    Build(Build),
    /// List probe points
    Find(Find),
    /// Show every placement of a probe point: its address, verdicts and variables
    Resolve(Resolve),
    /// Show which lines of a function or a file can be probed
    Lines(Lines),
    /// Show who calls a function directly, and where it is inlined instead
    Callers(Callers),
    /// Show the symbol, function, inlined calls and line of addresses
    Addr(Addr),
    /// Add functions and lines to the frames of a log
    Decode(Decode),
    /// Show the layout of a type, or the functions that take or return it
    Type(Type),
    /// Check SystemTap scripts, or lists of probe points, against a kernel
    Check(Check),
    /// Show the aliases, functions and macros of SystemTap's tapsets
    Tapset(Tapset),
    /// Trace functions, inlined copies, lines, tracepoints and aliases on the running kernel, and leave nothing there
    Trace(Trace),
    /// List where the kernel refuses kprobes, and why
    Blacklist(Blacklist),
    /// List what the kernel offers to BPF programs: kfuncs, helpers, LSM hooks, iterators, struct_ops, maps
    Bpf(Bpf),
    /// Show the differences between two kernels
    Diff(Diff),
    /// Keep many kernels in one store: add, merge, remove, list, verify, report
    Fleet(Fleet),
    /// Write tables for DuckDB, Spark, pandas and Polars: Parquet, or Arrow on stdout
    Export(Export),
    /// Show what changed of a function, member, tracepoint, alias or line over many kernels
    History(History),
    /// Capture the state of the running kernel, to apply to its index elsewhere
    Capture(Capture),
    /// List the kernels that are indexed
    Kernels,
    /// Show what is in the index
    Stats(Stats),
    /// Check the integrity of the index
    Verify,
    /// Answer requests on stdin, one line of JSON each
    Serve(Serve),
    /// Show the indexes in a browser: search, functions, types, differences, logs and scripts
    Web(Web),
    /// Answer an AI agent: the questions as tools of the Model Context Protocol, on stdin and stdout
    Mcp(Mcp),
    /// Answer an editor: findings, completions and explanations in SystemTap and bpftrace scripts, on stdin and stdout
    Lsp(Lsp),
    /// Print a shell completion script
    Completions(Completions),
    /// Write the manual pages
    Man(Man),
    /// Complete the last of some words
    #[command(hide = true)]
    Complete(Complete),
}

/// The result of parsing a command line.
#[derive(Clone, Debug)]
pub enum Request {
    /// A command.
    Run(Box<Args>),
    /// A help text or the version, for stdout.
    Show(StyledStr),
}

const EXAMPLES: &str = "Examples:
  probeidx build                          index the running kernel
  probeidx find 'vfs_*'                   list functions
  probeidx resolve do_open nd             every place do_open runs at, and where nd is readable
  probeidx type 'struct file'             how a struct is laid out
  probeidx addr vfs_read+0x9c             the function and line of an address
  dmesg | probeidx decode                 an oops with functions and lines
  probeidx trace do_open --duration 10s   the calls, the inlined ones too, as they happen

Exit codes:
  0  found or done
  1  nothing matched, or a check failed
  2  the command line or a pattern is wrong
  3  the index or an input cannot be read
  4  a build left objects out";

type Augment = fn(clap::Command) -> clap::Command;

/// The commands that may be called many times a second, with what adds their arguments.
const QUESTIONS: [(&str, Augment); 9] = [
    ("find", Find::augment_args),
    ("resolve", Resolve::augment_args),
    ("lines", Lines::augment_args),
    ("callers", Callers::augment_args),
    ("addr", Addr::augment_args),
    ("type", Type::augment_args),
    ("tapset", Tapset::augment_args),
    ("check", Check::augment_args),
    ("complete", Complete::augment_args),
];

/// The command line up to the command.
#[derive(Parser)]
#[command(
    name = "probeidx",
    subcommand_required = true,
    disable_help_flag = true,
    disable_help_subcommand = true
)]
struct Root {
    #[command(flatten)]
    _global: Global,
}

/// Parses a command line, starting with the name of the program.
///
/// # Errors
/// [`ErrorKind::Usage`], with the first line of clap's explanation and its suggestion as the hint.
pub fn parse(argv: impl IntoIterator<Item = impl Into<OsString>>) -> Result<Request> {
    let argv: Vec<OsString> = argv.into_iter().map(Into::into).collect();
    match parse_quickly(&argv) {
        Some(args) => Ok(Request::Run(Box::new(args))),
        None => parse_with(&mut Args::command(), argv),
    }
}

/// Parses a command line with the definition of the one command that it seems to name: a fraction of the cost. `None`
/// for whatever this does not read: other commands, help, and mistakes.
fn parse_quickly(argv: &[OsString]) -> Option<Args> {
    let (name, augment) =
        argv.iter().skip(1).find_map(|word| QUESTIONS.iter().find(|(name, _)| word == name))?;
    let named = augment(clap::Command::new(*name));
    // A process parses once, and need not free it.
    let mut command = ManuallyDrop::new(Root::command().subcommand(named));
    let matches = command.try_get_matches_from_mut(argv).ok()?;
    Args::from_arg_matches(&matches).ok()
}

/// Like [`parse`], with a command that is already built, which costs much less.
///
/// # Errors
/// Those of [`parse`].
pub fn parse_with(
    command: &mut clap::Command,
    argv: impl IntoIterator<Item = impl Into<OsString> + Clone>,
) -> Result<Request> {
    let read = command.try_get_matches_from_mut(argv).and_then(|matches| Args::from_arg_matches(&matches));
    match read {
        Ok(args) => Ok(Request::Run(Box::new(args))),
        Err(said) if matches!(said.kind(), Clap::DisplayHelp | Clap::DisplayVersion) => {
            Ok(Request::Show(said.render()))
        }
        Err(wrong) => {
            // Arguments can only be displayed after this.
            command.build();
            Err(usage(&wrong, command))
        }
    }
}

/// Whether to print errors as JSON, for a command line that cannot be parsed.
pub fn json_asked(argv: impl IntoIterator<Item = OsString>) -> bool {
    argv.into_iter().take_while(|arg| arg != "--").any(|arg| arg == "--json")
}

fn usage(wrong: &clap::Error, command: &clap::Command) -> Error {
    if wrong.kind() == Clap::DisplayHelpOnMissingArgumentOrSubcommand {
        return Error::new(ErrorKind::Usage, "there is no command").hint("see: probeidx --help");
    }
    let text = wrong.render().to_string();
    let mut paragraph = text.lines().take_while(|line| !line.trim().is_empty()).map(str::trim);
    let first = paragraph.next().unwrap_or_default();
    let mut message = first.strip_prefix("error: ").unwrap_or(first).to_owned();
    for more in paragraph {
        message = format!("{message} {more}");
    }
    let hint = match wrong.kind() {
        Clap::InvalidSubcommand => instead_of_command(wrong, command),
        Clap::MissingRequiredArgument => listed_values(wrong, command),
        _ => [ContextKind::SuggestedArg, ContextKind::SuggestedValue]
            .into_iter()
            .find_map(|kind| first_of(wrong, kind))
            .map(|close| format!("did you mean {close}?")),
    };
    Error::new(ErrorKind::Usage, message).hint(hint.unwrap_or_else(|| "see: probeidx --help".to_owned()))
}

/// The first text of this kind in clap's error.
fn first_of(wrong: &clap::Error, kind: ContextKind) -> Option<String> {
    match wrong.get(kind)? {
        ContextValue::String(one) => Some(one.clone()),
        ContextValue::Strings(several) => several.first().cloned(),
        _ => None,
    }
}

/// A suggestion for an unknown command: the closest command, else a function or pattern of that name.
fn instead_of_command(wrong: &clap::Error, command: &clap::Command) -> Option<String> {
    let word = first_of(wrong, ContextKind::InvalidSubcommand)?;
    let names = command.get_subcommands().filter(|c| !c.is_hide_set()).map(clap::Command::get_name);
    if let Some(close) = nearest::nearest(&word, names, 1).first() {
        return Some(format!("did you mean {close}?"));
    }
    if matches!(word.as_str(), "help" | "version") || spec::parse(&word).is_err() {
        return None;
    }
    let is_plain = word.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-.:/@%+=,".contains(&b));
    let quoted = if is_plain { word.clone() } else { format!("'{}'", word.replace('\'', r"'\''")) };
    Some(match word.contains(['*', '?', '[']) {
        true => format!("to list what a pattern matches: probeidx find {quoted}"),
        false => format!("to look up a function: probeidx resolve {quoted}"),
    })
}

/// The possible values of a missing argument: `SHELL is one of bash, zsh, fish`.
fn listed_values(wrong: &clap::Error, command: &clap::Command) -> Option<String> {
    let missing = first_of(wrong, ContextKind::InvalidArg)?;
    let arguments = command.get_subcommands().flat_map(clap::Command::get_arguments);
    let values = arguments
        .filter(|arg| arg.is_required_set() && arg.to_string() == missing)
        .find_map(|arg| Some(arg.get_possible_values()).filter(|values| !values.is_empty()))?;
    let names: Vec<&str> = values.iter().map(clap::builder::PossibleValue::get_name).collect();
    Some(format!("{} is one of {}", missing.trim_matches(['<', '>']), names.join(", ")))
}

#[cfg(test)]
mod tests;
