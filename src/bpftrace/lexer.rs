//! Tokens of handlers, and the words of attach points.
use super::Place;
use crate::error::{Error, ErrorKind, Result};

/// A token of a handler.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Token<'t> {
    /// A name or keyword.
    Word(&'t str),
    /// `$x`, without the `$`.
    Variable(&'t str),
    /// `@x`, without the `@`; `@` alone is a map without a name.
    Map(&'t str),
    /// A number, with its unit.
    Number(&'t str),
    /// The text between quotes, with its escapes.
    Text(&'t str),
    /// An operator or bracket.
    Sign(&'static str),
    /// A character that has no meaning.
    Stray,
    /// The end of the script.
    End,
}

/// Those that others begin with come later.
const SIGNS: [&str; 52] = [
    "<<=", ">>=", "->", "=>", "..", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=",
    "*=", "/=", "%=", "&=", "|=", "^=", "::", "+", "-", "*", "/", "%", "&", "|", "^", "~", "!", "<", ">",
    "=", "?", ":", ";", ",", ".", "(", ")", "[", "]", "{", "}", "#", "\\", "`", "'",
];

#[derive(Clone, Debug)]
pub(super) struct Lexer<'t> {
    pub text: &'t str,
    /// The position of the next byte.
    pub at: usize,
    /// A position with its line and the start of that, so that lines are counted once.
    known: (usize, u32, usize),
}

impl<'t> Lexer<'t> {
    pub fn new(text: &'t str) -> Self {
        Self { text, at: 0, known: (0, 1, 0) }
    }

    pub fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// The place of the next byte.
    pub fn place(&mut self) -> Place {
        let (from, line, start) = if self.known.0 <= self.at { self.known } else { (0, 1, 0) };
        let new = &self.text.as_bytes()[from..self.at];
        let lines = u32::try_from(memchr::memchr_iter(b'\n', new).count()).unwrap_or(u32::MAX);
        let start = memchr::memrchr(b'\n', new).map_or(start, |at| from + at + 1);
        self.known = (self.at, line.saturating_add(lines), start);
        let column = u32::try_from(self.at - start + 1).unwrap_or(u32::MAX);
        Place { line: self.known.1, column }
    }

    pub fn error(&mut self, message: impl Into<String>) -> Error {
        let Place { line, column } = self.place();
        Error::new(ErrorKind::Syntax, message).line(line, column)
    }

    /// Skips blanks, comments, and lines of the preprocessor where a line may have one.
    pub fn blanks(&mut self) -> Result<()> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if trimmed.starts_with("//") {
                self.at += memchr::memchr(b'\n', trimmed.as_bytes()).unwrap_or(trimmed.len());
            } else if trimmed.starts_with("/*") {
                let Some(end) = trimmed.find("*/") else { return Err(self.error("a comment has no end")) };
                self.at += end + 2;
            } else {
                return Ok(());
            }
        }
    }

    /// The next token, behind blanks.
    pub fn next(&mut self) -> Result<Token<'t>> {
        self.blanks()?;
        let rest = self.rest();
        let Some(first) = rest.bytes().next() else { return Ok(Token::End) };
        let word = |from: usize| {
            let is_of_word = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
            from + rest.bytes().skip(from).take_while(is_of_word).count()
        };
        let (token, length) = match first {
            b'$' => {
                let end = if rest.as_bytes().get(1) == Some(&b'#') { 2 } else { word(1) };
                (Token::Variable(&rest[1..end]), end)
            }
            b'@' => (Token::Map(&rest[1..word(1)]), word(1)),
            b'"' => {
                let Some(length) = quoted(rest) else { return Err(self.error("a text has no end")) };
                (Token::Text(&rest[1..length - 1]), length)
            }
            b'0'..=b'9' => (Token::Number(&rest[..word(0)]), word(0)),
            b if b.is_ascii_alphabetic() || b == b'_' => (Token::Word(&rest[..word(0)]), word(0)),
            _ => match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                Some(sign) => (Token::Sign(sign), sign.len()),
                None => (Token::Stray, rest.chars().next().map_or(1, char::len_utf8)),
            },
        };
        self.at += length;
        Ok(token)
    }

    /// The next token, which stays the next.
    pub fn peek(&mut self) -> Result<Token<'t>> {
        self.blanks()?;
        let at = self.at;
        let token = self.next();
        self.at = at;
        token
    }

    /// Takes the next token if it is this sign.
    pub fn take(&mut self, sign: &str) -> Result<bool> {
        let is_next = matches!(self.peek()?, Token::Sign(next) if next == sign);
        if is_next {
            self.next()?;
        }
        Ok(is_next)
    }

    /// Takes the next token, which has to be this sign.
    pub fn expect(&mut self, sign: &str) -> Result<()> {
        match self.take(sign)? {
            true => Ok(()),
            false => Err(self.error(format!("expected {sign}"))),
        }
    }

    /// The word of an attach point: up to a blank, `,` or `{`, and up to `/` unless it may be a path. Quotes protect.
    pub fn attach_point(&mut self) -> Result<&'t str> {
        self.blanks()?;
        let rest = self.rest();
        // The probe may have a name of its own before the kind: `name=uprobe`.
        let is_of_head = |b: &u8| b.is_ascii_alphanumeric() || b"_=".contains(b);
        let kind_end = rest.bytes().take_while(is_of_head).count();
        let may_be_path = matches!(
            rest[..kind_end].rsplit('=').next().unwrap_or_default().to_ascii_lowercase().as_str(),
            "uprobe" | "u" | "uretprobe" | "ur" | "usdt" | "watchpoint" | "w" | "asyncwatchpoint" | "aw"
        );
        let mut at = 0;
        while let Some(c) = rest[at..].chars().next() {
            match c {
                '"' => match quoted(&rest[at..]) {
                    Some(length) => at += length,
                    None => return Err(self.error("a text has no end")),
                },
                '/' if !may_be_path || at < kind_end => break,
                ',' | '{' | '}' | ';' => break,
                c if c.is_whitespace() => break,
                c => at += c.len_utf8(),
            }
        }
        self.at += at;
        Ok(&rest[..at])
    }

    /// Skips a line that continues behind a `\` at its end.
    pub fn skip_line(&mut self) {
        let mut continues = true;
        while continues && self.at < self.text.len() {
            let rest = self.rest();
            let end = memchr::memchr(b'\n', rest.as_bytes()).map_or(rest.len(), |at| at + 1);
            continues = rest[..end].trim_end_matches(['\n', '\r']).ends_with('\\');
            self.at += end;
        }
    }

    /// Skips what stands in brackets, of which the first was taken.
    pub fn skip_brackets(&mut self) -> Result<()> {
        let start = self.at;
        let mut open = 1_u32;
        while open > 0 {
            match self.next()? {
                Token::Sign("(" | "[" | "{") => open += 1,
                Token::Sign(")" | "]" | "}") => open -= 1,
                Token::End => {
                    self.at = start;
                    return Err(self.error("a bracket before this has no end"));
                }
                _ => {}
            }
        }
        Ok(())
    }
}

/// The length of a text with its quotes.
fn quoted(text: &str) -> Option<usize> {
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}
