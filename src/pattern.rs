//! Names and paths with wildcards, as in fnmatch(3) without `FNM_PATHNAME`: `*` matches slashes.
//!
//! Matching is by bytes, without a locale: `?` is one byte. SystemTap matches function names, modules and files in
//! this way.
use std::fmt;

use crate::error::{Error, ErrorKind, Result};

/// A name, or a name with wildcards.
#[derive(Clone, Debug, PartialEq)]
pub enum Pattern {
    /// Exactly this text.
    Literal(String),
    /// `*`, `?` or `[..]` somewhere.
    Glob(Box<Glob>),
}

/// A compiled pattern with wildcards.
#[derive(Clone, PartialEq)]
pub struct Glob {
    written: String,
    prefix: String,
    tokens: Vec<Token>,
}

#[derive(Clone, PartialEq)]
enum Token {
    Byte(u8),
    Any,
    Star,
    Set(Box<Set>),
}

/// A set of bytes.
#[derive(Clone, Default, PartialEq)]
struct Set([u64; 4]);

impl Pattern {
    /// Parses a pattern: `*`, `?`, `[a-z]`, `[!a]`, `[^a]`, `[[:alpha:]]`; a backslash quotes the next character. An
    /// unclosed bracket is an ordinary character.
    ///
    /// ```
    /// let reads = probeidx::Pattern::new("*_read[v]")?;
    /// assert!(reads.matches(b"vfs_readv") && !reads.matches(b"vfs_read"));
    /// # Ok::<(), probeidx::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for an unknown class, and for a backslash at the end.
    pub fn new(written: &str) -> Result<Self> {
        if !written.bytes().any(|b| matches!(b, b'*' | b'?' | b'[' | b'\\')) {
            return Ok(Self::Literal(written.to_owned()));
        }
        let bytes = written.as_bytes();
        let mut tokens = Vec::with_capacity(bytes.len());
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            at += 1;
            let token = match byte {
                b'*' if tokens.last() == Some(&Token::Star) => continue,
                b'*' => Token::Star,
                b'?' => Token::Any,
                b'[' => match bracket_end(bytes, at - 1) {
                    Some(end) => {
                        let set = Set::read(&bytes[at..end - 1])?;
                        at = end;
                        Token::Set(Box::new(set))
                    }
                    None => Token::Byte(byte),
                },
                b'\\' => {
                    let wrong = || Error::new(ErrorKind::Usage, "a backslash at the end escapes nothing");
                    at += 1;
                    Token::Byte(*bytes.get(at - 1).ok_or_else(wrong)?)
                }
                _ => Token::Byte(byte),
            };
            tokens.push(token);
        }
        let exact: Vec<u8> = tokens.iter().map_while(Token::byte).collect();
        let whole = exact.len() == tokens.len();
        let prefix = String::from_utf8(exact).expect("a wildcard is a whole character");
        if whole {
            return Ok(Self::Literal(prefix));
        }
        Ok(Self::Glob(Box::new(Glob { written: written.to_owned(), prefix, tokens })))
    }

    /// A pattern that matches exactly this text, wildcards included.
    pub fn literal(text: &str) -> Self {
        Self::Literal(text.to_owned())
    }

    /// Whether it matches the whole of `text`. Takes at most the product of both lengths in steps.
    pub fn matches(&self, text: &[u8]) -> bool {
        match self {
            Self::Literal(literal) => literal.as_bytes() == text,
            Self::Glob(glob) => glob.matches(text),
        }
    }

    /// Matches files by SystemTap's rule: the pattern, or `*/` followed by it, must match the full path. It therefore
    /// matches whole components at the end of the path.
    pub fn matches_path(&self, path: &[u8]) -> bool {
        if let Self::Literal(literal) = self {
            let head = path.strip_suffix(literal.as_bytes());
            return head.is_some_and(|head| head.is_empty() || head.ends_with(b"/"));
        }
        self.matches(path)
            || path.iter().enumerate().any(|(at, &b)| b == b'/' && self.matches(&path[at + 1..]))
    }

    /// Whether it has no wildcard, and so equals its [`literal_prefix`](Self::literal_prefix).
    pub fn is_literal(&self) -> bool {
        matches!(self, Self::Literal(_))
    }

    /// Whether it is `*`.
    pub fn matches_all(&self) -> bool {
        matches!(self, Self::Glob(glob) if glob.tokens == [Token::Star])
    }

    /// The prefix of every match: the text before the first wildcard, with escapes resolved.
    pub fn literal_prefix(&self) -> &str {
        match self {
            Self::Literal(literal) => literal,
            Self::Glob(glob) => &glob.prefix,
        }
    }

    /// The longest text contained in every match, with escapes resolved.
    pub fn longest_literal(&self) -> Vec<u8> {
        let tokens = match self {
            Self::Literal(literal) => return literal.clone().into_bytes(),
            Self::Glob(glob) => &glob.tokens,
        };
        let runs = tokens.split(|t| !matches!(t, Token::Byte(_)));
        let longest = runs.max_by_key(|run| run.len()).unwrap_or_default();
        longest.iter().filter_map(|t| if let Token::Byte(b) = t { Some(*b) } else { None }).collect()
    }

    /// A regular expression over bytes that is equivalent to [`matches`](Self::matches), anchored at both ends. Its
    /// syntax must allow invalid UTF-8 (`syntax::Config::utf8(false)`).
    pub fn to_regex(&self) -> String {
        let mut regex = String::from(r"(?s-u)\A");
        match self {
            Self::Literal(literal) => literal.bytes().for_each(|b| push_byte(&mut regex, b)),
            Self::Glob(glob) => {
                for token in &glob.tokens {
                    match token {
                        Token::Byte(byte) => push_byte(&mut regex, *byte),
                        Token::Any => regex.push('.'),
                        Token::Star => regex.push_str(".*"),
                        Token::Set(set) => set.push(&mut regex),
                    }
                }
            }
        }
        regex + r"\z"
    }
}

/// As written, except for the escapes of a literal.
impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Literal(literal) => literal,
            Self::Glob(glob) => &glob.written,
        })
    }
}

impl fmt::Debug for Glob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.written)
    }
}

impl Glob {
    /// Backtracks only to the last star: any text that an earlier one could take in addition, the last one can take.
    fn matches(&self, text: &[u8]) -> bool {
        let (mut token, mut at) = (0, 0);
        let mut retry = None;
        loop {
            match self.tokens.get(token) {
                Some(Token::Star) if token + 1 == self.tokens.len() => return true,
                Some(Token::Star) => {
                    token += 1;
                    retry = Some((token, at));
                    continue;
                }
                Some(other) if text.get(at).is_some_and(|&b| other.takes(b)) => {
                    token += 1;
                    at += 1;
                    continue;
                }
                None if at == text.len() => return true,
                _ => {}
            }
            let Some((after_star, taken)) = &mut retry else { return false };
            if *taken == text.len() {
                return false;
            }
            *taken += 1;
            (token, at) = (*after_star, *taken);
        }
    }
}

impl Token {
    fn byte(&self) -> Option<u8> {
        match self {
            Self::Byte(byte) => Some(*byte),
            _ => None,
        }
    }

    fn takes(&self, byte: u8) -> bool {
        match self {
            Self::Byte(own) => *own == byte,
            Self::Any => true,
            Self::Set(set) => set.has(byte),
            Self::Star => false,
        }
    }
}

impl Set {
    /// Parses the text between the brackets.
    fn read(inner: &[u8]) -> Result<Self> {
        let (negated, inner) = match inner {
            [b'!' | b'^', rest @ ..] => (true, rest),
            _ => (false, inner),
        };
        let mut set = Self::default();
        let mut at = 0;
        while at < inner.len() {
            if let Some(name) = class_name(&inner[at..]) {
                let has = class(name).ok_or_else(|| {
                    let name = String::from_utf8_lossy(name);
                    Error::new(ErrorKind::Usage, format!("there is no character class [:{name}:]"))
                })?;
                (0..=u8::MAX).filter(has).for_each(|b| set.add(b));
                at += name.len() + 4;
                continue;
            }
            let first = one(inner, &mut at);
            let last = if inner.get(at) == Some(&b'-') && at + 1 < inner.len() {
                at += 1;
                one(inner, &mut at)
            } else {
                first
            };
            (first..=last).for_each(|b| set.add(b));
        }
        if negated {
            set.0 = set.0.map(|word| !word);
        }
        Ok(set)
    }

    fn add(&mut self, byte: u8) {
        self.0[usize::from(byte / 64)] |= 1 << (byte % 64);
    }

    fn has(&self, byte: u8) -> bool {
        self.0[usize::from(byte / 64)] >> (byte % 64) & 1 == 1
    }

    fn push(&self, regex: &mut String) {
        regex.push('[');
        (0..=u8::MAX).filter(|&b| self.has(b)).for_each(|b| push_byte(regex, b));
        regex.push_str(if self.0 == [0; 4] { "a&&b]" } else { "]" });
    }
}

/// The first byte from `from` on that satisfies `wanted` and is neither within brackets nor quoted by a backslash.
pub(super) fn find_outside(text: &str, from: usize, wanted: impl Fn(u8) -> bool) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = from;
    while let Some(&byte) = bytes.get(at) {
        at = match byte {
            b'\\' => at + 2,
            b'[' => bracket_end(bytes, at).unwrap_or(at + 1),
            _ if wanted(byte) => return Some(at),
            _ => at + 1,
        };
    }
    None
}

/// The place of the first bracket that is never closed: it matches itself.
pub fn unclosed(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at = match byte {
            b'\\' => at + 2,
            b'[' => match bracket_end(bytes, at) {
                Some(end) => end,
                None => return Some(at),
            },
            _ => at + 1,
        };
    }
    None
}

/// The position after the bracket that closes the one at `at`. A `]` in first position does not close it.
fn bracket_end(text: &[u8], at: usize) -> Option<usize> {
    let mut end = at + 1;
    end += usize::from(matches!(text.get(end), Some(b'!' | b'^')));
    let first = end;
    loop {
        end += match text.get(end)? {
            b']' if end > first => return Some(end + 1),
            b'\\' => 2,
            b'[' => class_name(&text[end..]).map_or(1, |name| name.len() + 4),
            _ => 1,
        };
    }
}

/// The name in `[:name:]`, if the text starts so.
fn class_name(text: &[u8]) -> Option<&[u8]> {
    let rest = text.strip_prefix(b"[:")?;
    let len = rest.iter().take_while(|b| b.is_ascii_lowercase()).count();
    rest[len..].starts_with(b":]").then_some(&rest[..len])
}

/// The classes of the C locale.
fn class(name: &[u8]) -> Option<fn(&u8) -> bool> {
    Some(match name {
        b"alnum" => u8::is_ascii_alphanumeric,
        b"alpha" => u8::is_ascii_alphabetic,
        b"blank" => |b| matches!(b, b' ' | b'\t'),
        b"cntrl" => u8::is_ascii_control,
        b"digit" => u8::is_ascii_digit,
        b"graph" => u8::is_ascii_graphic,
        b"lower" => u8::is_ascii_lowercase,
        b"print" => |b| matches!(b, b' '..=b'~'),
        b"punct" => u8::is_ascii_punctuation,
        b"space" => |b| matches!(b, b' ' | b'\t'..=b'\r'),
        b"upper" => u8::is_ascii_uppercase,
        b"xdigit" => u8::is_ascii_hexdigit,
        _ => return None,
    })
}

/// One byte of a set; a backslash quotes the next one.
fn one(inner: &[u8], at: &mut usize) -> u8 {
    if inner[*at] == b'\\' && *at + 1 < inner.len() {
        *at += 1;
    }
    *at += 1;
    inner[*at - 1]
}

fn push_byte(regex: &mut String, byte: u8) {
    if byte.is_ascii_alphanumeric() || byte == b'_' {
        regex.push(char::from(byte));
    } else {
        regex.push_str(&format!("\\x{byte:02x}"));
    }
}

#[cfg(test)]
mod tests;
