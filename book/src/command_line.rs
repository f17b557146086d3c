//! The reference of the command line, from clap's definition of it.
use super::cell;
use clap::{Arg, ArgAction, Command, CommandFactory};
use std::fmt::Write;

const HEAD: &str = "# Command line

Every command with its arguments, options and exit codes, as `probeidx COMMAND --help` prints them. This page is made from the
program: `UPDATE=1 cargo test -p probeidx-book --test suite` writes it anew. `--debuginfod` of `build` is not in it, which only programs
with that feature have: [Debug information](../debuginfo.md).
";

/// Arguments that not every build of the program has: the page is to be the same for all.
const OF_FEATURES: [&str; 1] = ["debuginfod"];

/// The page.
pub fn reference() -> String {
    // Not as wide as the terminal of who writes the page.
    let mut root = probeidx::cli::args::Args::command().term_width(100);
    root.build();
    let mut page = HEAD.to_owned();
    page.push_str("\n## Options of every command\n\n");
    let globals: Vec<&Arg> = root.get_arguments().filter(|arg| arg.is_global_set()).collect();
    arguments(&globals, &mut page);
    for command in root.get_subcommands().filter(|command| !command.is_hide_set()) {
        put(command, "probeidx", 2, &mut page);
    }
    page.push_str("\n## Exit codes\n\n");
    notes(&root, &mut page);
    page
}

fn put(command: &Command, before: &str, depth: usize, page: &mut String) {
    let name = format!("{before} {}", command.get_name());
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let _ = write!(page, "\n{} {name}\n\n{}.\n\n", "#".repeat(depth), cell(&about));
    let usage = command.clone().render_usage().to_string();
    let _ = write!(page, "```text\n{}\n```\n", usage.trim_start_matches("Usage: "));
    let own: Vec<&Arg> = command
        .get_arguments()
        .filter(|arg| !arg.is_global_set() && !arg.is_hide_set() && !is_help(arg))
        .filter(|arg| !OF_FEATURES.contains(&arg.get_id().as_str()))
        .collect();
    if !own.is_empty() {
        page.push('\n');
        arguments(&own, page);
    }
    if command.get_after_help().is_some() {
        page.push('\n');
        notes(command, page);
    }
    for inner in command.get_subcommands().filter(|inner| !inner.is_hide_set()) {
        put(inner, &name, depth + 1, page);
    }
}

fn notes(command: &Command, page: &mut String) {
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let _ = write!(page, "```text\n{}\n```\n", text.trim_end());
}

fn is_help(arg: &Arg) -> bool {
    matches!(
        arg.get_action(),
        ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
    )
}

fn arguments(all: &[&Arg], page: &mut String) {
    page.push_str("| argument | meaning |\n| --- | --- |\n");
    for arg in all {
        let mut about = cell(&arg.get_help().map(ToString::to_string).unwrap_or_default());
        let takes_value = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
        let values: Vec<String> = match takes_value {
            true => arg.get_possible_values().iter().map(|value| format!("`{}`", value.get_name())).collect(),
            false => vec![],
        };
        if !values.is_empty() {
            let _ = write!(about, ": {}", values.join(", "));
        }
        let default = arg.get_default_values().first().filter(|_| takes_value);
        if let Some(default) = default {
            let _ = write!(about, " (default `{}`)", default.to_string_lossy());
        }
        let _ = writeln!(page, "| {} | {about} |", names(arg, takes_value));
    }
}

/// `` `-j`, `--jobs N` ``
fn names(arg: &Arg, takes_value: bool) -> String {
    let value = arg.get_value_names().and_then(|names| names.first()).map(ToString::to_string);
    let value = value.unwrap_or_else(|| arg.get_id().as_str().to_uppercase()).replace('|', "\\|");
    let long = arg.get_long().map(|long| match takes_value {
        true => format!("`--{long} {value}`"),
        false => format!("`--{long}`"),
    });
    let names: Vec<String> =
        arg.get_short().map(|short| format!("`-{short}`")).into_iter().chain(long).collect();
    let dots = if arg.get_num_args().is_some_and(|n| n.max_values() > 1) { "..." } else { "" };
    if names.is_empty() { format!("`{value}`{dots}") } else { names.join(", ") }
}
