//! Turns the parameters of a request into a command line. The parameters are the arguments and options of the command,
//! taken from clap.
use super::request::{shown, wrong};
use crate::cli::args::{self, Args};
use crate::error::Result;
use crate::render::SCHEMA;
use clap::{Arg, ArgAction, CommandFactory};
use serde_json::{Map, Value, json};
use std::io::Write;

/// Commands that are not questions about the index.
const NO_QUESTIONS: [&str; 11] =
    ["build", "capture", "completions", "export", "fleet", "lsp", "man", "mcp", "serve", "trace", "web"];

/// The largest number of values of a parameter.
const MOST: usize = 10_000;

/// The commands that can be requested.
pub struct Methods {
    command: clap::Command,
}

impl Methods {
    /// All of them.
    pub fn new() -> Self {
        let mut command = Args::command();
        command.build();
        Self { command }
    }

    /// The arguments of a command. Answers are JSON unless `json` is false.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage), with the invalid parameter.
    pub fn parse(&mut self, method: &str, params: &Map<String, Value>) -> Result<Args> {
        let known = self.questions().find(|c| c.get_name() == method);
        let Some(command) = known else {
            let names: Vec<&str> = self.questions().map(clap::Command::get_name).collect();
            return Err(wrong(format!("there is no method {}", shown(method)))
                .hint(format!("there are {}, methods and cancel", names.join(", "))));
        };
        let line = line(command, params)?;
        match args::parse_with(&mut self.command, line)? {
            args::Request::Run(args) => Ok(*args),
            args::Request::Show(_) => Err(wrong("help is no answer")),
        }
    }

    /// Writes the methods, one on each line.
    pub fn list(&self, out: &mut dyn Write) -> std::io::Result<()> {
        for command in self.questions() {
            let parameters: Vec<Value> = parameters(command).map(described).collect();
            let about = command.get_about().map(ToString::to_string);
            let method = json!({"method": command.get_name(), "about": about, "params": parameters, "protocol": super::PROTOCOL, "schema": SCHEMA});
            writeln!(out, "{method}")?;
        }
        Ok(())
    }

    fn questions(&self) -> impl Iterator<Item = &clap::Command> {
        self.command.get_subcommands().filter(|c| !NO_QUESTIONS.contains(&c.get_name()))
    }
}

fn parameters(command: &clap::Command) -> impl Iterator<Item = &Arg> {
    let is_answer = |arg: &&Arg| {
        matches!(
            arg.get_action(),
            ArgAction::Help | ArgAction::HelpShort | ArgAction::HelpLong | ArgAction::Version
        )
    };
    command.get_arguments().filter(move |arg| !is_answer(arg))
}

fn described(arg: &Arg) -> Value {
    let takes = match arg.get_action() {
        ArgAction::SetTrue => "bool",
        ArgAction::Count => "count",
        _ if is_several(arg) => "strings",
        _ => "string",
    };
    let values: Vec<String> = match takes {
        "string" | "strings" => {
            arg.get_possible_values().iter().map(|value| value.get_name().to_owned()).collect()
        }
        _ => vec![],
    };
    let about = arg.get_help().map(ToString::to_string);
    let mut described = json!({"name": arg.get_id().as_str(), "takes": takes, "required": arg.is_required_set(), "about": about});
    if !values.is_empty() {
        described["values"] = json!(values);
    }
    described
}

fn is_several(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Append) || arg.get_num_args().is_some_and(|n| n.max_values() > 1)
}

/// The words of the command line, starting with the name of the program.
fn line(command: &clap::Command, params: &Map<String, Value>) -> Result<Vec<String>> {
    let mut words = vec!["probeidx".to_owned(), command.get_name().to_owned()];
    if params.get("json").is_none_or(Value::is_null) {
        words.push("--json".to_owned());
    }
    for (name, value) in params {
        let arg = parameters(command).find(|arg| arg.get_id() == name.as_str()).ok_or_else(|| {
            let known: Vec<&str> = parameters(command).map(|arg| arg.get_id().as_str()).collect();
            wrong(format!("params: {} has no parameter {}", command.get_name(), shown(name)))
                .hint(format!("it has {}", known.join(", ")))
        })?;
        let Some(long) = arg.get_long() else { continue };
        let expected = |what: &str| wrong(format!("params.{name}: expected {what}"));
        match (arg.get_action(), value) {
            (_, Value::Null) => {}
            (ArgAction::SetTrue, Value::Bool(is_set)) => words.extend(is_set.then(|| format!("--{long}"))),
            (ArgAction::SetTrue, _) => return Err(expected("true or false")),
            (ArgAction::Count, value) => {
                let count =
                    value.as_u64().filter(|n| *n <= 3).ok_or_else(|| expected("a number from 0 to 3"))?;
                words.extend((0..count).map(|_| format!("--{long}")));
            }
            (_, value) => {
                words.extend(values(arg, value)?.into_iter().map(|value| format!("--{long}={value}")));
            }
        }
    }
    words.push("--".to_owned());
    let mut absent = None;
    for arg in command.get_positionals() {
        let name = arg.get_id().as_str();
        let values = params.get(name).map_or(Ok(vec![]), |value| values(arg, value))?;
        if values.is_empty() {
            absent = absent.or(Some(name));
            if arg.is_required_set() {
                return Err(wrong(format!("params: {} needs {name}", command.get_name())));
            }
        } else if let Some(absent) = absent {
            return Err(wrong(format!("params: {name} needs {absent} too")));
        }
        words.extend(values);
    }
    Ok(words)
}

/// The values of a parameter: one, or several if it accepts a list.
fn values(arg: &Arg, value: &Value) -> Result<Vec<String>> {
    let name = arg.get_id();
    let text = |value: &Value| match value {
        Value::String(text) => Ok(text.clone()),
        Value::Number(number) if number.is_i64() || number.is_u64() => Ok(number.to_string()),
        _ => Err(wrong(format!("params.{name}: expected a string"))),
    };
    match value {
        Value::Null => Ok(vec![]),
        Value::Array(values) if values.len() > MOST => {
            Err(wrong(format!("params.{name}: more than {MOST} values")))
        }
        Value::Array(values) if is_several(arg) => values.iter().map(text).collect(),
        value => text(value).map(|text| vec![text]),
    }
}
