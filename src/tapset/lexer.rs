//! Converts bytes to tokens, and collects documentation comments.
use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::Place;

/// The kind of a token. The text of a string is without quotes, that of embedded C without brackets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// A name, also `$name`, `$` and `$$`.
    Identifier,
    Keyword,
    /// Including every word that begins with `@`.
    Operator,
    String,
    /// Begins with a digit; it is parsed only when its value is needed.
    Number,
    Embedded,
    /// Not part of the language; the text is the reason.
    Junk,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Token<'a> {
    pub kind: Kind,
    /// Whether blanks or comments precede it.
    pub spaced: bool,
    pub text: Cow<'a, str>,
    pub place: Place,
    /// Where the outermost macro call that produced it is.
    pub called: Option<Place>,
}

impl Token<'_> {
    pub fn is(&self, kind: Kind, text: &str) -> bool {
        self.kind == kind && self.text == text
    }
    pub fn is_operator(&self, text: &str) -> bool {
        self.is(Kind::Operator, text)
    }
}

/// A comment `/** … */` whose first line is `probe NAME - …`, `sfunction NAME - …` or the like.
#[derive(Clone, Debug)]
pub struct Comment {
    pub name: String,
    pub line: u32,
    /// The lines without leading stars.
    pub text: String,
}

pub struct Lexer<'a> {
    bytes: &'a [u8],
    at: usize,
    file: u32,
    line: u32,
    /// The start of the line.
    line_start: usize,
    comments: Vec<Comment>,
    /// The arguments of the script on the command line of stap.
    arguments: &'a [String],
    /// The argument being read in place of its `$1`, and the place of that.
    argument: Option<(Box<Lexer<'a>>, Place)>,
}

const KEYWORDS: [&str; 20] = [
    "probe", "global", "private", "function", "if", "else", "for", "foreach", "in", "limit", "return",
    "delete", "while", "break", "continue", "next", "string", "long", "try", "catch",
];

const OPERATORS: [&str; 30] = [
    "<<<", ">>>", "<<=", ">>=", "==", "!=", "<=", ">=", "=~", "!~", "+=", "-=", "*=", "/=", "%=", "&=", "^=",
    "|=", ".=", "&&", "||", "++", "--", "->", "<<", ">>", "%(", "%?", "%:", "%)",
];

impl<'a> Lexer<'a> {
    pub fn new(bytes: &'a [u8], file: u32) -> Self {
        let arguments = &[];
        Self { bytes, at: 0, file, line: 1, line_start: 0, comments: vec![], arguments, argument: None }
    }

    /// Sets the arguments `$1`, `@2` and so on.
    pub fn with_arguments(self, arguments: &'a [String]) -> Self {
        Self { arguments, ..self }
    }

    /// The documentation comments met so far, in order.
    pub fn into_comments(self) -> Vec<Comment> {
        self.comments
    }

    pub fn place(&self) -> Place {
        let column = u32::try_from(self.at - self.line_start + 1).unwrap_or(u32::MAX);
        Place { file: self.file, line: self.line, column }
    }

    fn peek(&self, ahead: usize) -> u8 {
        self.bytes.get(self.at + ahead).copied().unwrap_or(0)
    }

    /// Moves to `end`, counting lines.
    fn pass(&mut self, end: usize) -> &'a [u8] {
        let passed = &self.bytes[self.at..end];
        for newline in memchr::memchr_iter(b'\n', passed) {
            self.line = self.line.saturating_add(1);
            self.line_start = self.at + newline + 1;
        }
        self.at = end;
        passed
    }

    fn pass_while(&mut self, more: impl Fn(u8) -> bool) -> &'a [u8] {
        let rest = &self.bytes[self.at..];
        self.pass(self.at + rest.iter().position(|&b| !more(b)).unwrap_or(rest.len()))
    }

    /// Skips blanks and comments. Returns whether there were any, or the start of an unterminated comment.
    fn pass_blanks(&mut self) -> Result<bool, Place> {
        let start = self.at;
        loop {
            self.pass_while(is_blank);
            match (self.peek(0), self.peek(1)) {
                (b'#', _) | (b'/', b'/') => _ = self.pass_while(|b| b != b'\n'),
                (b'/', b'*') => {
                    let (place, inside) = (self.place(), self.at + 2);
                    let end = memchr::memmem::find(&self.bytes[inside..], b"*/");
                    let Some(end) = end.map(|length| inside + length) else {
                        self.pass(self.bytes.len());
                        return Err(place);
                    };
                    self.comments.extend(documentation(&self.bytes[inside..end], place.line));
                    self.pass(end + 2);
                }
                _ => return Ok(self.at > start),
            }
        }
    }

    fn junk(&mut self, place: Place, why: impl Into<Cow<'a, str>>) -> Token<'a> {
        Token { kind: Kind::Junk, spaced: false, text: why.into(), place, called: None }
    }

    /// The next token, `None` at the end.
    pub fn next(&mut self) -> Option<Token<'a>> {
        if let Some((inner, place)) = &mut self.argument {
            if let Some(token) = inner.next() {
                return Some(Token { place: *place, ..token });
            }
            self.argument = None;
        }
        let spaced = match self.pass_blanks() {
            Ok(spaced) => spaced,
            Err(place) => return Some(self.junk(place, "this comment is never closed by `*/`")),
        };
        if self.at == self.bytes.len() {
            return None;
        }
        let place = self.place();
        let token = |kind, text| Some(Token { kind, spaced, text, place, called: None });
        let (first, second) = (self.peek(0), self.peek(1));
        match first {
            b'$' | b'@' if second == b'#' => {
                self.pass(self.at + 2);
                let count = Cow::Owned(self.arguments.len().to_string());
                token(if first == b'$' { Kind::Number } else { Kind::String }, count)
            }
            b'$' | b'@' if second.is_ascii_digit() => {
                self.pass(self.at + 1);
                let digits = text(self.pass_while(|b| b.is_ascii_digit()));
                let arguments = self.arguments;
                let number = digits.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                match number.and_then(|number| arguments.get(number)) {
                    Some(argument) if first == b'@' => token(Kind::String, Cow::Borrowed(argument)),
                    // Read as if its text were here; arguments within it are not replaced.
                    Some(argument) => {
                        let inner = Lexer::new(argument.as_bytes(), self.file);
                        self.argument = Some((Box::new(inner), place));
                        self.next()
                    }
                    None => {
                        let there = match arguments.len() {
                            0 => "there are none".to_owned(),
                            count => format!("there are {count}"),
                        };
                        let sign = first as char;
                        let why = format!("`{sign}{digits}` is an argument of the command line, and {there}");
                        Some(self.junk(place, why))
                    }
                }
            }
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | b'@' => {
                let start = self.at;
                self.at += 1;
                self.pass_while(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'$');
                let word = text(&self.bytes[start..self.at]);
                let kind = match first {
                    b'@' => Kind::Operator,
                    _ if KEYWORDS.contains(&&*word) => Kind::Keyword,
                    _ => Kind::Identifier,
                };
                token(kind, word)
            }
            b'0'..=b'9' => {
                let digits = self.pass_while(|b| b.is_ascii_alphanumeric());
                token(Kind::Number, text(digits))
            }
            b'"' => match self.string() {
                Some(text) => token(Kind::String, text),
                None => Some(self.junk(place, "this string is not closed on its line")),
            },
            b'%' if second == b'{' => {
                let inside = self.at + 2;
                let Some(length) = memchr::memmem::find(&self.bytes[inside..], b"%}") else {
                    self.pass(self.bytes.len());
                    return Some(self.junk(place, "this embedded C is never closed by `%}`"));
                };
                self.pass(inside + length + 2);
                token(Kind::Embedded, text(&self.bytes[inside..inside + length]))
            }
            _ if first.is_ascii_punctuation() => {
                let rest = &self.bytes[self.at..];
                let known = OPERATORS.iter().find(|o| rest.starts_with(o.as_bytes()));
                let length = known.map_or(1, |o| o.len());
                token(Kind::Operator, text(self.pass(self.at + length)))
            }
            _ => {
                self.pass(self.at + 1);
                Some(self.junk(place, format!("the byte {first:#04x} is not part of the language")))
            }
        }
    }

    /// A string starting at its quote; `None` if its line ends first.
    fn string(&mut self) -> Option<Cow<'a, str>> {
        let start = self.at + 1;
        let mut end = start;
        let mut changed: Option<Vec<u8>> = None;
        loop {
            let mut byte = *self.bytes.get(end)?;
            end += 1;
            match byte {
                b'\n' => {
                    self.pass(end - 1);
                    return None;
                }
                b'"' => break,
                b'\\' => {
                    byte = *self.bytes.get(end)?;
                    end += 1;
                    // C's escapes are kept as written; other backslashes are dropped.
                    if matches!(
                        byte,
                        b'x' | b'a' | b'b' | b't' | b'n' | b'v' | b'f' | b'r' | b'0'..=b'7' | b'\\'
                    ) {
                        changed.iter_mut().for_each(|c| c.push(b'\\'));
                    } else {
                        changed.get_or_insert_with(|| self.bytes[start..end - 2].to_vec());
                    }
                }
                _ => {}
            }
            changed.iter_mut().for_each(|c| c.push(byte));
        }
        let whole = &self.bytes[start..end - 1];
        self.pass(end);
        Some(match changed {
            Some(bytes) => Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()),
            None => text(whole),
        })
    }
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t'..=b'\r')
}

/// Strings and embedded C may contain bytes that are not UTF-8.
fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

/// The comment, without its first star, if it documents something by name.
fn documentation(comment: &[u8], line: u32) -> Option<Comment> {
    let lines = text(comment.strip_prefix(b"*")?);
    let lines = lines.lines().map(|l| l.trim().strip_prefix('*').unwrap_or(l.trim()).trim());
    let lines: Vec<&str> = lines.skip_while(|l| l.is_empty()).collect();
    let mut words = lines.first()?.split_ascii_whitespace();
    let kind = words.next()?;
    let name = words.next()?;
    if !matches!(kind, "probe" | "sfunction" | "function" | "macro") {
        return None;
    }
    Some(Comment { name: name.to_owned(), line, text: lines.join("\n").trim_end().to_owned() })
}
