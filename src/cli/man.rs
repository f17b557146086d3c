//! `probeidx man`: writes a manual page for each command, from the definition of the command line, in man(7).
use super::args::{Args, Man};
use super::exit::Outcome;
use super::output::failed;
use crate::error::{Error, Result};
use clap::builder::StyledStr;
use clap::{Arg, ArgAction, Command, CommandFactory};
use std::fmt::Write as _;
use std::io::Write;

/// When the contents of the pages last changed.
const DATE: &str = "2026-11-26";

/// The width of text lines.
const WIDTH: usize = 76;

const ENVIRONMENT: [(&str, &str); 4] = [
    ("PROBEIDX_DB", "The index, where --db names none: one file, or a folder of RELEASE.pidx files."),
    ("XDG_CACHE_HOME", "The index lies in the folder probeidx in it, where nothing else is said."),
    ("HOME", "The index lies in .cache/probeidx in it, where nothing else is said."),
    ("NO_COLOR", "Nothing is coloured where this is set to anything, unless --color asks for it."),
];

const FILES: [(&str, &str); 3] = [
    ("~/.cache/probeidx/RELEASE.pidx", "The index of a kernel and its modules."),
    ("~/.cache/probeidx/user/NAME-BUILDID.pidx", "The index of a program or shared library."),
    ("/usr/lib/debug", "Where build looks for debug files."),
];

/// Writes the pages into a folder, and lists them.
pub fn run(args: &Man, out: &mut dyn Write) -> Result<Outcome> {
    let folder = &args.folder;
    std::fs::create_dir_all(folder).map_err(|e| Error::io(folder, "make the folder", e))?;
    let mut root = Args::command();
    root.build();
    let shown = root.get_subcommands().filter(|c| !c.is_hide_set());
    for command in std::iter::once(&root).chain(shown) {
        let path = folder.join(format!("{}.1", title(command)));
        std::fs::write(&path, page(&root, command)).map_err(|e| Error::io(&path, "write the page", e))?;
        writeln!(out, "{}", path.display()).map_err(failed)?;
    }
    Ok(Outcome::Done)
}

/// `probeidx-resolve`
fn title(command: &Command) -> String {
    match command.get_name() {
        "probeidx" => "probeidx".to_owned(),
        name => format!("probeidx-{name}"),
    }
}

fn page(root: &Command, command: &Command) -> String {
    let is_root = command.get_name() == root.get_name();
    let title = title(command);
    let mut page = Page(String::new());
    let version = root.get_version().unwrap_or_default();
    page.line(&format!(
        ".TH {} 1 {DATE} \"probeidx {version}\" \"User Commands\"",
        escaped(&title.to_uppercase())
    ));
    // No hyphenation and no justification, because the text may be code.
    page.line(".nh\n.ad l");
    page.section("NAME");
    page.line(&format!("{} \\- {}", escaped(&title), escaped(&text(command.get_about()))));
    page.section("SYNOPSIS");
    page.line(&synopsis(command, is_root));
    page.section("DESCRIPTION");
    page.text(&(text(command.get_about()) + "."));
    let notes = Notes::of(&text(command.get_after_help()));
    notes.description.iter().for_each(|block| page.block(block));
    if is_root {
        page.section("COMMANDS");
        for command in root.get_subcommands().filter(|c| !c.is_hide_set()) {
            page.entry(&format!("\\fB{}\\fR(1)", escaped(&self::title(command))), &text(command.get_about()));
        }
    }
    page.arguments("ARGUMENTS", command.get_positionals());
    let is_global = |arg: &&Arg| arg.get_help_heading() == Some("Global options");
    let options = || command.get_arguments().filter(|arg| !arg.is_positional() && !arg.is_hide_set());
    page.arguments("OPTIONS", options().filter(|arg| !is_global(arg)));
    page.arguments("GLOBAL OPTIONS", options().filter(is_global));
    if !notes.examples.is_empty() {
        page.section("EXAMPLES");
        page.literal(&notes.examples);
    }
    page.section("EXIT STATUS");
    for (code, meaning) in Notes::of(&text(root.get_after_help())).codes {
        page.entry(&format!("\\fB{code}\\fR"), &meaning);
    }
    page.section("ENVIRONMENT");
    ENVIRONMENT.iter().for_each(|(name, about)| page.entry(&format!("\\fB{name}\\fR"), about));
    page.section("FILES");
    FILES.iter().for_each(|(name, about)| page.entry(&format!("\\fI{}\\fR", escaped(name)), about));
    page.section("SEE ALSO");
    let others = root.get_subcommands().filter(|c| !c.is_hide_set() && c.get_name() != command.get_name());
    let first = (!is_root).then_some(root);
    let others: Vec<String> = first
        .into_iter()
        .chain(others)
        .map(|c| format!(".BR {} (1)", escaped(&self::title(c))))
        .chain([".BR stap (1)".to_owned(), ".BR perf\\-probe (1)".to_owned()])
        .collect();
    page.line(&others.join(",\n"));
    page.0
}

fn text(styled: Option<&StyledStr>) -> String {
    styled.map(ToString::to_string).unwrap_or_default()
}

fn synopsis(command: &Command, is_root: bool) -> String {
    let mut line = match is_root {
        true => "\\fBprobeidx\\fR [\\fIOPTION\\fR]... \\fICOMMAND\\fR [\\fIARGUMENT\\fR]...".to_owned(),
        false => format!("\\fBprobeidx {}\\fR [\\fIOPTION\\fR]...", escaped(command.get_name())),
    };
    for arg in command.get_positionals() {
        let name = format!("\\fI{}\\fR", escaped(&value_name(arg)));
        let name = if arg.is_required_set() { name } else { format!("[{name}]") };
        let dots = if arg.get_num_args().is_some_and(|n| n.max_values() > 1) { "..." } else { "" };
        let _ = write!(line, " {name}{dots}");
    }
    line
}

fn value_name(arg: &Arg) -> String {
    let named = arg.get_value_names().and_then(|names| names.first());
    named.map_or_else(|| arg.get_id().as_str().to_uppercase(), ToString::to_string)
}

/// The text after the help of a command: paragraphs, examples, exit codes.
#[derive(Default)]
struct Notes {
    description: Vec<Vec<String>>,
    examples: Vec<String>,
    codes: Vec<(String, String)>,
}

impl Notes {
    fn of(text: &str) -> Self {
        let mut notes = Self::default();
        for block in text.split("\n\n") {
            let lines: Vec<String> = block.lines().map(str::to_owned).collect();
            match lines.first().map(String::as_str) {
                Some("Example:" | "Examples:") => {
                    notes.examples.extend(lines[1..].iter().map(|line| line.trim().to_owned()));
                }
                Some("Exit codes:") => {
                    let code = |line: &String| {
                        line.trim().split_once("  ").map(|(c, m)| (c.to_owned(), m.to_owned()))
                    };
                    notes.codes.extend(lines[1..].iter().filter_map(code));
                }
                Some(first) if !first.is_empty() => notes.description.push(lines),
                _ => {}
            }
        }
        notes
    }
}

/// A page under construction.
struct Page(String);

impl Page {
    fn line(&mut self, line: &str) {
        self.0.push_str(line);
        self.0.push('\n');
    }

    fn section(&mut self, name: &str) {
        self.line(&format!(".SH {name}"));
    }

    /// Words, as many on a line as fit.
    fn text(&mut self, text: &str) {
        let mut line = String::new();
        for word in text.split_whitespace().map(escaped) {
            if !line.is_empty() && line.len() + 1 + word.len() > WIDTH {
                self.line(&line);
                line.clear();
            }
            if line.is_empty() {
                line = at_start(&word);
            } else {
                line = line + " " + &word;
            }
        }
        if !line.is_empty() {
            self.line(&line);
        }
    }

    /// A paragraph; indented lines are kept as they are.
    fn block(&mut self, lines: &[String]) {
        self.line(".PP");
        for part in lines.chunk_by(|a, b| a.starts_with(' ') == b.starts_with(' ')) {
            match part[0].starts_with(' ') {
                true => self.literal(part),
                false => self.text(&part.join(" ")),
            }
        }
    }

    fn literal(&mut self, lines: &[String]) {
        self.line(".RS 4\n.nf");
        for line in lines {
            self.line(&at_start(&escaped(line)));
        }
        self.line(".fi\n.RE");
    }

    fn entry(&mut self, head: &str, about: &str) {
        self.line(".TP");
        self.line(head);
        self.text(about);
    }

    fn arguments<'a>(&mut self, section: &str, arguments: impl Iterator<Item = &'a Arg>) {
        let mut arguments = arguments.peekable();
        if arguments.peek().is_some() {
            self.section(section);
        }
        for arg in arguments {
            let takes_value = matches!(arg.get_action(), ArgAction::Set | ArgAction::Append);
            let short = arg.get_short().map(|short| format!("\\fB\\-{short}\\fR"));
            let long = arg.get_long().map(|long| format!("\\fB\\-\\-{}\\fR", escaped(long)));
            let names: Vec<String> = short.into_iter().chain(long).collect();
            let value = format!("\\fI{}\\fR", escaped(&value_name(arg)));
            let head = match (names.is_empty(), takes_value) {
                (true, _) => value,
                (false, true) => format!("{} {value}", names.join(", ")),
                (false, false) => names.join(", "),
            };
            let mut about = text(arg.get_help());
            let values = arg.get_possible_values();
            let default = arg.get_default_values().first().map(|d| d.to_string_lossy().into_owned());
            if let Some(default) = default.filter(|_| takes_value) {
                let _ = write!(about, " [default: {default}]");
            }
            self.entry(&head, &about);
            if takes_value && !values.is_empty() {
                self.line(".RS");
                for value in &values {
                    let about = text(value.get_help());
                    self.entry(&format!("\\fB{}\\fR", escaped(value.get_name())), &about);
                }
                self.line(".RE");
            }
        }
    }
}

/// Escapes text so that roff prints it unchanged.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\\' => escaped.push_str("\\e"),
            '-' => escaped.push_str("\\-"),
            '\'' => escaped.push_str("\\(aq"),
            '`' => escaped.push_str("\\(ga"),
            '^' => escaped.push_str("\\(ha"),
            '~' => escaped.push_str("\\(ti"),
            c => escaped.push(c),
        }
    }
    escaped
}

/// At the start of a line, a dot would be a request.
fn at_start(line: &str) -> String {
    if line.starts_with('.') { format!("\\&{line}") } else { line.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_roff_minds_is_escaped() {
        assert_eq!(escaped(r"a-b\c 'd' ~/x"), r"a\-b\ec \(aqd\(aq \(ti/x");
        let mut page = Page(String::new());
        page.text(".f_path");
        assert_eq!(page.0, "\\&.f_path\n");
    }
}
