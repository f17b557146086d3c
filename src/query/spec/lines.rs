//! `NAME@FILE:LINES`, the text between the quotes of `function("…")` and `statement("…")`.
use std::ops::RangeInclusive;

use super::Source;
use crate::error::Result;
use crate::pattern::{Pattern, find_outside};

/// Functions by the name, file and line of their declaration.
#[derive(Clone, Debug, PartialEq)]
pub struct Declared {
    /// The name in the debug information.
    pub name: Pattern,
    /// The file: full path or whole trailing components ([`Pattern::matches_path`]).
    pub file: Option<Pattern>,
    /// The lines, present only with a file.
    pub lines: Option<Lines>,
}

/// The lines of a spec. Ranges are sorted by their first line and are not empty; they may overlap.
#[derive(Clone, Debug, PartialEq)]
pub enum Lines {
    /// Line numbers of the file: `N`, `N-M`, `N,M,O-P`.
    Absolute(Vec<RangeInclusive<u32>>),
    /// Lines relative to the line of the function's declaration, which is 0: `+N`, bare `NAME:N`.
    Relative(Vec<RangeInclusive<u32>>),
    /// `*`: every line that has code.
    All,
}

impl Lines {
    /// Whether they are relative to the declaration.
    pub fn is_relative(&self) -> bool {
        matches!(self, Self::Relative(_))
    }
    /// Whether they include a line of the file, for a function declared at `declaration`.
    pub fn contains(&self, line: u32, declaration: u32) -> bool {
        let among = |ranges: &[RangeInclusive<u32>], line| ranges.iter().any(|r| r.contains(&line));
        match self {
            Self::Absolute(ranges) => among(ranges, line),
            Self::Relative(ranges) => line.checked_sub(declaration).is_some_and(|line| among(ranges, line)),
            Self::All => true,
        }
    }
}

/// SystemTap's `NAME[@FILE[:LINES|+N]]`. The file ends at the first `:` or `+` outside of brackets.
pub(super) fn declared(source: Source<'_>, text: &str) -> Result<Declared> {
    let at = find_outside(text, 0, |b| b == b'@').unwrap_or(text.len());
    if at == 0 {
        let wrong = source.expected(0, "a function name");
        return Err(if text.is_empty() { wrong } else { wrong.hint("for any function write `*@FILE`") });
    }
    let name = source.pattern(&text[..at])?;
    if at == text.len() {
        return Ok(Declared { name, file: None, lines: None });
    }
    let end = find_outside(text, at + 1, |b| b == b':' || b == b'+').unwrap_or(text.len());
    let file = Some(self::file(source.from(at + 1), &text[at + 1..end])?);
    let lines = match text.as_bytes().get(end) {
        Some(b':') => Some(lines(source.from(end + 1), &text[end + 1..], Lines::Absolute)?),
        Some(_) => Some(lines(source.from(end), &text[end..], Lines::Absolute)?),
        None => None,
    };
    Ok(Declared { name, file, lines })
}

pub(super) fn file(source: Source<'_>, text: &str) -> Result<Pattern> {
    if text.is_empty() {
        return Err(source.expected(0, "a file name"));
    }
    source.pattern(text)
}

/// `*`, `+N`, or a comma-separated list of `N` and `N-M`, which `counted` makes absolute or relative.
pub(super) fn lines(
    source: Source<'_>,
    text: &str,
    counted: fn(Vec<RangeInclusive<u32>>) -> Lines,
) -> Result<Lines> {
    if text == "*" {
        return Ok(Lines::All);
    }
    if let Some(rest) = text.strip_prefix('+') {
        let line = line(source.from(1), rest)?;
        return Ok(Lines::Relative(vec![line..=line]));
    }
    let mut ranges = Vec::new();
    let mut start = 0;
    for item in text.split(',') {
        let here = source.from(start);
        let range = match item.split_once('-') {
            Some((first, last)) => {
                let first_line = line(here, first)?;
                let last_line = line(here.from(first.len() + 1), last)?;
                if last_line < first_line {
                    return Err(here.from(first.len() + 1).expected(0, format_args!("{first_line} or more")));
                }
                first_line..=last_line
            }
            None => {
                let line = line(here, item)?;
                line..=line
            }
        };
        ranges.push(range);
        start += item.len() + 1;
    }
    ranges.sort_unstable_by_key(|r| (*r.start(), *r.end()));
    Ok(counted(ranges))
}

fn line(source: Source<'_>, text: &str) -> Result<u32> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    if digits == 0 || digits < text.len() {
        return Err(source.expected(digits, if digits == 0 { "a line number" } else { "a digit" }));
    }
    text.parse().map_err(|_| source.expected(0, "a line number below 4294967296"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Declared> {
        declared(Source { whole: text, base: 0 }, text)
    }

    #[test]
    fn lines_in_every_form() {
        let lines = |text: &str| read(&format!("f@fs/x.c{text}")).unwrap().lines;
        assert_eq!(lines(""), None);
        assert_eq!(lines(":12"), Some(Lines::Absolute(vec![12..=12])));
        assert_eq!(lines(":30,1-3,9"), Some(Lines::Absolute(vec![1..=3, 9..=9, 30..=30])));
        assert_eq!(lines(":+4"), Some(Lines::Relative(vec![4..=4])));
        assert_eq!(lines("+4"), Some(Lines::Relative(vec![4..=4])));
        assert_eq!(lines(":*"), Some(Lines::All));
    }

    #[test]
    fn relative_lines_count_from_the_declaration() {
        let relative = Lines::Relative(vec![0..=0, 4..=5]);
        let met: Vec<u32> = (0..120).filter(|&line| relative.contains(line, 100)).collect();
        assert_eq!(met, [100, 104, 105]);
        let absolute = Lines::Absolute(vec![4..=5]);
        assert!(absolute.contains(5, 100) && !absolute.contains(104, 100));
    }

    #[test]
    fn marks_in_brackets_belong_to_the_pattern() {
        let at = read("f[@:]o@x[:+].c:7").unwrap();
        assert!(at.name.matches(b"f:o") && at.name.matches(b"f@o"));
        assert!(at.file.unwrap().matches(b"x+.c"));
        assert_eq!(at.lines, Some(Lines::Absolute(vec![7..=7])));
    }

    #[test]
    fn what_is_wrong_is_said_where_it_is() {
        for (text, message) in [
            ("", "column 1: expected a function name"),
            ("@x.c:1", "column 1: expected a function name"),
            ("f@:1", "column 3: expected a file name"),
            ("f@x.c:", "column 7: expected a line number"),
            ("f@x.c:1,", "column 9: expected a line number"),
            ("f@x.c:12a", "column 9: expected a digit"),
            ("f@x.c:9-3", "column 9: expected 9 or more"),
            ("f@x.c:1-2-3", "column 10: expected a digit"),
            ("f@x.c:99999999999", "column 7: expected a line number below 4294967296"),
            ("f[[:nope:]]", "column 1: there is no character class [:nope:]"),
        ] {
            assert_eq!(read(text).unwrap_err().message(), message, "{text}");
        }
    }
}
