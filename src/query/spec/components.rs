//! The grammar of SystemTap's spelling: dotted components, some with an argument, and alternatives in braces.
//!
//! ```text
//! list   = point { "," point }                 point     = part { "." part } [ "?" | "!" ]
//! part   = component | "{" list "}"            component = IDENTIFIER [ "(" STRING | NUMBER ")" ]
//! ```
//! Blanks are allowed between tokens. Braces are expanded here, before the components are interpreted:
//! `{kernel,module("ext4")}.function("f").{call,return}` is four points.
use std::borrow::Cow;

use super::{Presence, Source};
use crate::error::{Error, Result};

/// The points of a list, in the order written; each has at least one component.
pub(super) fn read<'a>(source: Source<'a>, text: &'a str) -> Result<Vec<Chain<'a>>> {
    let mut reader = Reader { source, text, at: 0 };
    let chains = reader.list(0)?;
    if reader.at < text.len() {
        return Err(reader.expected("`.`, `?`, `!` or the end"));
    }
    Ok(chains)
}

/// A point that is not interpreted yet.
#[derive(Clone)]
pub(super) struct Chain<'a> {
    pub(super) components: Vec<Component<'a>>,
    pub(super) presence: Presence,
}

#[derive(Clone)]
pub(super) struct Component<'a> {
    pub(super) name: &'a str,
    pub(super) at: usize,
    pub(super) end: usize,
    pub(super) argument: Option<Argument<'a>>,
}

/// A literal in parentheses; for a string, with the position of its first character.
#[derive(Clone)]
pub(super) enum Argument<'a> {
    Text(Cow<'a, str>, usize),
    Number(u64),
}

/// The largest number of points that the braces of one spec may expand to.
const MOST_POINTS: usize = 1024;
/// The deepest nesting of braces.
const DEEPEST: usize = 16;

/// Reads tokens; `at` is always on a character boundary.
struct Reader<'a> {
    source: Source<'a>,
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn list(&mut self, depth: usize) -> Result<Vec<Chain<'a>>> {
        let mut chains = Vec::new();
        loop {
            chains.extend(self.point(depth)?);
            if chains.len() > MOST_POINTS {
                return Err(self.too_many());
            }
            if !self.eat(b',') {
                return Ok(chains);
            }
        }
    }

    fn point(&mut self, depth: usize) -> Result<Vec<Chain<'a>>> {
        let mut chains = self.part(depth)?;
        while self.eat(b'.') {
            if chains.iter().any(|chain| chain.presence != Presence::Required) {
                self.at -= 1;
                return Err(self.expected("the end of the point after the `?` or `!` in braces"));
            }
            if self.peek() != Some(b'{') {
                let component = self.component()?;
                chains.iter_mut().for_each(|chain| chain.components.push(component.clone()));
                continue;
            }
            let tails = self.part(depth)?;
            if chains.len() * tails.len() > MOST_POINTS {
                return Err(self.too_many());
            }
            let join = |head: &Chain<'a>, tail: &Chain<'a>| Chain {
                components: [head.components.as_slice(), &tail.components].concat(),
                presence: tail.presence,
            };
            chains = chains.iter().flat_map(|head| tails.iter().map(move |tail| join(head, tail))).collect();
        }
        let presence = match self.peek() {
            Some(b'?') => Presence::Optional,
            Some(b'!') => Presence::Sufficient,
            _ => return Ok(chains),
        };
        self.at += 1;
        for chain in &mut chains {
            chain.presence = presence;
        }
        Ok(chains)
    }

    fn part(&mut self, depth: usize) -> Result<Vec<Chain<'a>>> {
        if !self.eat(b'{') {
            let component = self.component()?;
            return Ok(vec![Chain { components: vec![component], presence: Presence::Required }]);
        }
        if depth == DEEPEST {
            return Err(self.expected("fewer braces within braces"));
        }
        let chains = self.list(depth + 1)?;
        if !self.eat(b'}') {
            return Err(self.expected("`,` or `}`"));
        }
        Ok(chains)
    }

    fn component(&mut self) -> Result<Component<'a>> {
        self.peek();
        let at = self.at;
        let part_of = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'*' | b'$');
        let len = self.text.as_bytes()[at..].iter().take_while(|b| part_of(b)).count();
        if len == 0 || self.text.as_bytes()[at].is_ascii_digit() {
            return Err(self.expected("a component such as function(\"…\")"));
        }
        let name = &self.text[at..at + len];
        self.at += len;
        let end = self.at;
        let argument = if self.eat(b'(') { Some(self.argument()?) } else { None };
        Ok(Component { name, at, end, argument })
    }

    /// Reads an argument, from after the opening parenthesis to after the closing one.
    fn argument(&mut self) -> Result<Argument<'a>> {
        let argument = match self.peek() {
            Some(b'"') => self.string()?,
            Some(b'0'..=b'9') => self.number()?,
            _ => {
                let hint = "keep the shell off the quotes: 'kernel.function(\"vfs_read\")'";
                return Err(self.expected("a string in double quotes, or a number").hint(hint));
            }
        };
        if !self.eat(b')') {
            return Err(self.expected("`)`"));
        }
        Ok(argument)
    }

    /// Reads a string. Of the escapes, only `\"` is undone: the others belong to the pattern.
    fn string(&mut self) -> Result<Argument<'a>> {
        let start = self.at + 1;
        let bytes = self.text.as_bytes();
        let mut end = start;
        while bytes.get(end).is_some_and(|&b| b != b'"') {
            end += if bytes[end] == b'\\' { 2 } else { 1 };
        }
        if end >= bytes.len() {
            self.at = bytes.len();
            return Err(self.expected("a closing quote"));
        }
        self.at = end + 1;
        let raw = &self.text[start..end];
        let text =
            if raw.contains("\\\"") { Cow::Owned(raw.replace("\\\"", "\"")) } else { Cow::Borrowed(raw) };
        Ok(Argument::Text(text, start))
    }

    fn number(&mut self) -> Result<Argument<'a>> {
        let rest = &self.text[self.at..];
        let (start, radix) = if rest.starts_with("0x") || rest.starts_with("0X") { (2, 16) } else { (0, 10) };
        let digits = rest.as_bytes()[start..].iter().take_while(|b| b.is_ascii_alphanumeric()).count();
        let Ok(number) = u64::from_str_radix(&rest[start..start + digits], radix) else {
            return Err(self.expected("a decimal number, or 0x and a hexadecimal one, of at most 64 bits"));
        };
        self.at += start + digits;
        Ok(Argument::Number(number))
    }

    /// Skips blanks and returns the next byte.
    fn peek(&mut self) -> Option<u8> {
        let bytes = self.text.as_bytes();
        while bytes.get(self.at).is_some_and(u8::is_ascii_whitespace) {
            self.at += 1;
        }
        bytes.get(self.at).copied()
    }

    fn eat(&mut self, wanted: u8) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn expected(&self, what: &str) -> Error {
        self.source.expected(self.at, what)
    }

    fn too_many(&self) -> Error {
        self.source.expected(self.at, format_args!("braces that make at most {MOST_POINTS} points"))
    }
}
