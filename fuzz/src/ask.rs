//! Questions to an index, as the command line asks them.
use probeidx::Result;
use probeidx::cli::args::{self, Command, Format, Lines, Request, Resolve, Type};
use probeidx::cli::config::Config;
use probeidx::cli::exit::Outcome;
use probeidx::cli::session::{self, Session};
use std::path::Path;
use std::sync::Arc;

/// What a question is asked with.
#[derive(Clone, Copy, Default)]
pub struct Asked<'a> {
    /// What the command reads in place of stdin.
    pub input: &'a [u8],
    /// Whether it answers in JSON.
    pub json: bool,
}

/// A command as it would be typed, for those that stay the same from input to input.
pub fn command(words: &[&str]) -> Command {
    match args::parse(["probeidx"].iter().chain(words)) {
        Ok(Request::Run(args)) => args.command,
        _ => panic!("no command: {words:?}"),
    }
}

/// `resolve` with the local variables too; by `form` in one of its forms.
pub fn resolve(spec: String, args: Vec<String>, form: usize) -> Command {
    let forms = [Format::Text, Format::KprobeEvents, Format::Stap];
    Command::Resolve(Resolve {
        spec,
        args,
        format: forms[form % forms.len()],
        locals: form.is_multiple_of(2),
        defined: None,
        live: None,
    })
}

/// `lines`, which looks for source texts where there are none.
pub fn lines(spec: String) -> Command {
    Command::Lines(Lines { spec, source: Some("/proc/self/fdinfo".into()) })
}

/// `type`, or `type --users`.
pub fn type_of(name: String, users: bool) -> Command {
    Command::Type(Type { name: vec![name], users })
}

/// What came of a question.
pub struct Answer {
    /// What it printed.
    pub out: Vec<u8>,
    /// How it ended.
    pub result: Result<Outcome>,
}

/// Asks an index. What holds of every answer is asserted: JSON is JSON, each line of it.
pub fn ask(index: &Path, command: &Command, asked: Asked<'_>) -> Answer {
    let request = session::Request { input: asked.input.into(), ..session::Request::default() };
    let config = Config {
        db: index.to_owned(),
        is_default_db: false,
        kernel: None,
        running: None,
        json: asked.json,
        color: false,
        terminal: false,
        is_dumb: true,
        quiet: false,
        verbose: 1,
        session: Session::Request(Arc::new(request)),
    };
    let mut out = vec![];
    let result = probeidx::cli::answer(command, &config, &mut out);
    if let Err(error) = &result {
        assert!(!error.to_string().is_empty());
    }
    if asked.json {
        for line in out.split(|b| *b == b'\n').filter(|line| !line.is_empty()) {
            if let Err(error) = serde_json::from_slice::<serde::de::IgnoredAny>(line) {
                panic!("{error}: {}", String::from_utf8_lossy(line));
            }
        }
    }
    Answer { out, result }
}
