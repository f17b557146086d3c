//! Blocks of consoles in Markdown: what was typed, and what was printed.
//!
//! A block begins with `` ```console ``. A line that begins with `$ ` is a command, which goes on behind a `\` at its end, and what
//! follows up to the next one is its output.
//! `…` stands for any text of a line, alone on a line for any number of lines. What depends on the machine (times, sizes, the folder
//! of indexes) may be anything of its kind: see [`matches()`]. A block that no test can run begins with `` ```console,not-run ``, and the
//! line above it says why, in a comment of HTML.

/// A block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The line of its fence, from 1.
    pub line: usize,
    /// Why no test runs it.
    pub not_run: Option<String>,
    /// Its commands.
    pub commands: Vec<Command>,
}

/// A command, and what it prints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// As it is typed.
    pub typed: String,
    /// The lines of its output, without empty ones at the end.
    pub output: Vec<String>,
}

/// The blocks of a page.
///
/// # Errors
/// What is wrong with one of them, with its line.
pub fn blocks(page: &str) -> Result<Vec<Block>, String> {
    let mut found = vec![];
    let mut before = "";
    let mut lines = page.lines().enumerate();
    while let Some((at, line)) = lines.next() {
        let fence = line.trim_start();
        if let Some(info) = fence.strip_prefix("```").filter(|info| !info.is_empty()) {
            let inside: Vec<&str> =
                lines.by_ref().map(|(_, line)| line).take_while(|line| line.trim() != "```").collect();
            let not_run = match info {
                "console" => None,
                "console,not-run" => {
                    let reason = before.trim().strip_prefix("<!--").and_then(|rest| rest.strip_suffix("-->"));
                    Some(
                        reason
                            .ok_or_else(|| format!("{}: no reason above a block that is not run", at + 1))?
                            .trim(),
                    )
                }
                _ => continue,
            };
            let commands = commands(&inside);
            if commands.is_empty() && not_run.is_none() {
                return Err(format!("{}: a console without a command", at + 1));
            }
            found.push(Block { line: at + 1, not_run: not_run.map(str::to_owned), commands });
        }
        before = line;
    }
    Ok(found)
}

fn commands(lines: &[&str]) -> Vec<Command> {
    let mut commands: Vec<Command> = vec![];
    for line in lines {
        match (line.strip_prefix("$ "), commands.last_mut()) {
            (Some(typed), _) => commands.push(Command { typed: typed.to_owned(), output: vec![] }),
            (None, Some(last)) if last.typed.ends_with('\\') && last.output.is_empty() => {
                last.typed = format!("{}\n{line}", last.typed);
            }
            (None, Some(last)) => last.output.push((*line).to_owned()),
            (None, None) => {}
        }
    }
    for command in &mut commands {
        while command.output.last().is_some_and(|line| line.is_empty()) {
            command.output.pop();
        }
    }
    commands
}

/// Whether what was printed is what is written.
pub fn matches(written: &[String], printed: &[String]) -> bool {
    let Some((first, rest)) = written.split_first() else { return printed.is_empty() };
    if first.trim() == "…" {
        return (0..=printed.len()).any(|from| matches(rest, &printed[from..]));
    }
    printed.split_first().is_some_and(|(line, others)| is_line(first, line) && matches(rest, others))
}

/// Whether a line is the one that is written, where `…` is any text, and each number before a unit any number.
pub fn is_line(written: &str, printed: &str) -> bool {
    let [written, printed] = [written, printed].map(measured);
    let mut parts = written.split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = printed.strip_prefix(first) else { return false };
    let mut parts = parts.peekable();
    if parts.peek().is_none() {
        return rest.is_empty();
    }
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return rest.ends_with(part);
        }
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    true
}

/// The units of what another machine measures otherwise.
const UNITS: [&str; 8] = ["s", "ms", "µs", "ns", "kB", "MB", "GB", "MiB"];

/// The line with `N` in place of each number that has such a unit behind it.
fn measured(line: &str) -> String {
    let words: Vec<&str> = line.split(' ').collect();
    let is_number = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_ascii_digit() || c == '.') && !word.starts_with('.')
    };
    let shown = |(at, word): (usize, &&str)| {
        let unit = words.get(at + 1).map(|unit| unit.trim_end_matches([',', ';', '.', ':']));
        let has_unit = unit.is_some_and(|unit| UNITS.contains(&unit));
        if is_number(word) && has_unit { "N".to_owned() } else { (*word).to_owned() }
    };
    words.iter().enumerate().map(shown).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_owned).collect()
    }

    #[test]
    fn commands_and_their_outputs_are_told_apart() {
        let page = "# x\n```console\n$ a b\nout\n\n$ c\n```\n<!-- as root -->\n```console,not-run\n# d\n```\n```c\n$ no\n```\n";
        let found = blocks(page).unwrap();
        assert_eq!(found.len(), 2);
        let typed: Vec<_> = found[0].commands.iter().map(|c| (&*c.typed, c.output.len())).collect();
        assert_eq!((found[0].line, typed), (2, vec![("a b", 1), ("c", 0)]));
        assert_eq!(found[1].not_run.as_deref(), Some("as root"));
        let long = &blocks("```console\n$ a \\\n  | b\nout\n```\n").unwrap()[0].commands[0];
        assert_eq!((&*long.typed, &long.output[..]), ("a \\\n  | b", &["out".to_owned()][..]));
        assert!(blocks("x\n```console,not-run\n$ a\n```\n").is_err());
        assert!(blocks("```console\nno command\n```\n").is_err());
    }

    #[test]
    fn what_is_left_out_and_what_is_measured_may_be_anything_and_nothing_else() {
        let printed = lines("a 59.1 MB\nb\nc\nd 7");
        for written in ["a 1.5 MB\nb\nc\nd 7", "a 2 MB\n…\nd 7", "…", "…\nd …", "a … MB\nb\n…"] {
            assert!(matches(&lines(written), &printed), "{written}");
        }
        for written in ["a 59.1 MB\nb\nc\nd 8", "a 59.1 kB\n…", "a 59.1 MB\n…\nd", "b\n…", "…\nc", ""]
        {
            assert!(!matches(&lines(written), &printed), "{written}");
        }
    }
}
