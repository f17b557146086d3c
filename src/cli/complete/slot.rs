//! Determines which argument of which command the cursor is in, from clap's definition of the command line.
use super::Candidate;
use crate::cli::args::Args;
use clap::{Arg, ArgAction, CommandFactory, ValueHint};

/// The last word of a command line, and its purpose.
pub struct Slot<'w> {
    pub wanted: Wanted,
    /// The text before the value in the word: `--kernel=`.
    pub head: &'w str,
    /// The part of the value typed so far.
    pub typed: &'w str,
    options: Vec<(String, &'w str)>,
    positionals: Vec<&'w str>,
}

/// What the last word can be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    Nothing,
    /// One of these: command names, options, listed values.
    Choice(Vec<Candidate>),
    /// A file, which the shell completes.
    File,
    /// Something from an index.
    Value(Source),
}

/// What to complete from an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    Kernel,
    /// A probe point: function, statement, module.
    Point,
    /// A function or a file.
    Lines,
    /// A symbol.
    Address,
    Module,
    Type,
    /// A tapset definition.
    Alias,
    /// A value that can be read at the placements of the first argument.
    Argument,
}

impl Source {
    /// The kind of value is determined by the argument's name in the help text and, if that is ambiguous, by the
    /// command.
    fn of(command: &str, arg: &Arg) -> Option<Self> {
        let name = arg.get_value_names()?.first()?.as_str();
        match (command, name) {
            (_, "RELEASE") => Some(Self::Kernel),
            ("lines", "SPEC") => Some(Self::Lines),
            ("tapset", "PATTERN") => Some(Self::Alias),
            ("find", "PATTERN") | ("history", "NAME") | (_, "SPEC") => Some(Self::Point),
            (_, "ADDR") => Some(Self::Address),
            (_, "MODULE") => Some(Self::Module),
            ("type", "NAME") => Some(Self::Type),
            (_, "ARG") => Some(Self::Argument),
            _ => None,
        }
    }
}

/// The definition of the command line.
pub fn command() -> clap::Command {
    let mut command = Args::command();
    command.build();
    command
}

impl<'w> Slot<'w> {
    /// Interprets the words after the name of the program; the cursor is in the last one.
    pub fn find(root: &clap::Command, words: &'w [String]) -> Self {
        let (last, before) =
            words.split_last().map_or(("", &[][..]), |(last, before)| (last.as_str(), before));
        let mut command = root;
        let mut slot =
            Self { wanted: Wanted::Nothing, head: "", typed: last, options: vec![], positionals: vec![] };
        let mut are_options_over = false;
        // The option whose value is the next word.
        let mut open: Option<&Arg> = None;
        for word in before {
            if let Some(arg) = open.take() {
                slot.options.push((arg.get_id().to_string(), word));
            } else if are_options_over || !word.starts_with('-') || word == "-" {
                match command.find_subcommand(word).filter(|_| !are_options_over) {
                    Some(found) if command.has_subcommands() => command = found,
                    _ => slot.positionals.push(word),
                }
            } else if word == "--" {
                are_options_over = true;
            } else if let Some((name, value)) = word.split_once('=') {
                let id = option(command, name).map(|arg| arg.get_id().to_string());
                slot.options.extend(id.map(|id| (id, value)));
            } else {
                let found = option(command, word);
                open = found.filter(|arg| takes_value(arg));
                let flag = found.filter(|arg| !takes_value(arg));
                slot.options.extend(flag.map(|arg| (arg.get_id().to_string(), "")));
            }
        }
        let name = command.get_name();
        if let Some(arg) = open {
            slot.wanted = value(name, arg);
        } else if last.starts_with('-') && !are_options_over {
            match last.split_once('=') {
                Some((long, typed)) => {
                    (slot.head, slot.typed) = (&last[..long.len() + 1], typed);
                    slot.wanted = option(command, long).map_or(Wanted::Nothing, |arg| value(name, arg));
                }
                None => slot.wanted = Wanted::Choice(options(command)),
            }
        } else if command.has_subcommands() {
            slot.wanted = Wanted::Choice(commands(command));
        } else {
            let positionals: Vec<&Arg> = command.get_positionals().collect();
            let several =
                positionals.last().filter(|arg| arg.get_num_args().is_some_and(|n| n.max_values() > 1));
            let arg = positionals.get(slot.positionals.len()).or(several);
            slot.wanted = arg.map_or(Wanted::Nothing, |arg| value(name, arg));
        }
        if let Wanted::Choice(choices) = &mut slot.wanted {
            choices.retain(|choice| choice.text.starts_with(slot.typed));
        }
        slot
    }

    /// The value of a preceding option; empty for one without a value.
    pub fn option(&self, id: &str) -> Option<&'w str> {
        self.options.iter().rfind(|(known, _)| known == id).map(|(_, value)| *value)
    }

    /// The first argument of the command.
    pub fn first(&self) -> Option<&'w str> {
        self.positionals.first().copied()
    }
}

/// What the value of an argument can be.
fn value(command: &str, arg: &Arg) -> Wanted {
    let listed = arg.get_possible_values();
    if !listed.is_empty() {
        let candidate = |value: &clap::builder::PossibleValue| {
            Candidate::new(value.get_name(), value.get_help().map(ToString::to_string).unwrap_or_default())
        };
        return Wanted::Choice(listed.iter().map(candidate).collect());
    }
    match (Source::of(command, arg), arg.get_value_hint()) {
        (Some(source), _) => Wanted::Value(source),
        (None, ValueHint::AnyPath | ValueHint::FilePath | ValueHint::DirPath) => Wanted::File,
        (None, _) => Wanted::Nothing,
    }
}

fn takes_value(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Set | ArgAction::Append)
}

/// The option with this spelling; for several letters after one dash, the last of them.
fn option<'c>(command: &'c clap::Command, spelled: &str) -> Option<&'c Arg> {
    let is_meant = |arg: &&Arg| match spelled.strip_prefix("--") {
        Some(long) => arg.get_long() == Some(long),
        None => arg.get_short().is_some_and(|short| spelled.ends_with(short)),
    };
    command.get_arguments().filter(|arg| !arg.is_positional()).find(is_meant)
}

fn options(command: &clap::Command) -> Vec<Candidate> {
    let described = |arg: &Arg| {
        let about = arg.get_help().map(ToString::to_string).unwrap_or_default();
        arg.get_long().map(|long| Candidate::new(format!("--{long}"), about))
    };
    command.get_arguments().filter(|arg| !arg.is_hide_set()).filter_map(described).collect()
}

fn commands(command: &clap::Command) -> Vec<Candidate> {
    let shown = command.get_subcommands().filter(|c| !c.is_hide_set());
    shown
        .map(|c| Candidate::new(c.get_name(), c.get_about().map(ToString::to_string).unwrap_or_default()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(line: &str) -> (Wanted, String) {
        let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        let command = command();
        let slot = Slot::find(&command, &words);
        (slot.wanted, format!("{}|{}", slot.head, slot.typed))
    }

    fn choices(line: &str) -> Vec<String> {
        match wanted(line).0 {
            Wanted::Choice(choices) => choices.into_iter().map(|c| c.text).collect(),
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn what_the_word_is_for() {
        for (line, source) in [
            ("find vf", Source::Point),
            ("find --args --kernel x a b vf", Source::Point),
            ("--kernel ", Source::Kernel),
            ("find --kernel=6.", Source::Kernel),
            ("resolve ", Source::Point),
            ("resolve vfs_read ", Source::Argument),
            ("resolve --format json vfs_read a b", Source::Argument),
            ("resolve vfs_read --defined ", Source::Argument),
            ("lines ", Source::Lines),
            ("type ", Source::Type),
            ("type struct ", Source::Type),
            ("-vq addr ", Source::Address),
            ("blacklist ", Source::Module),
            ("tapset vm.", Source::Alias),
        ] {
            assert_eq!(wanted(line).0, Wanted::Value(source), "{line}");
        }
        for line in ["build /us", "--db ", "lines --source=", "build -j 3 "] {
            assert_eq!(wanted(line).0, Wanted::File, "{line}");
        }
        for line in ["build -j ", "stats ", "lines a "] {
            assert_eq!(wanted(line).0, Wanted::Nothing, "{line}");
        }
        assert_eq!(wanted("find --kernel=6.").1, "--kernel=|6.");
        assert_eq!(wanted("find -- --kernel").0, Wanted::Value(Source::Point));
    }

    #[test]
    fn commands_options_and_listed_values() {
        assert_eq!(choices("bl"), ["blacklist"]);
        assert!(!choices("").contains(&"complete".to_owned()), "it is for scripts");
        assert_eq!(choices("resolve --fo"), ["--format"]);
        assert_eq!(choices("resolve --format k"), ["kprobe-events"]);
        assert_eq!(choices("completions "), ["bash", "zsh", "fish"]);
        assert!(choices("find --").contains(&"--kernel".to_owned()), "global options stand everywhere");
    }
}
