//! Parses the tokens of a file, by recursive descent.
mod declarations;
mod expressions;
mod points;
mod print;
mod statements;
mod variables;

use std::borrow::Cow;

use super::ast::{Literal, Script};
use super::condition::magnitude;
use super::lexer::{Kind, Lexer, Token};
use super::macros::{Expander, Macros, fault, shown};
use super::preprocess::Preprocessor;
use super::{Fault, Place, Result, Spot, Target, Version};

/// The maximum nesting of statements, expressions and braces. SystemTap overflows its stack instead.
pub const DEEPEST: usize = 128;
/// The maximum number of chained operators in one expression: each makes the tree deeper.
pub const LONGEST: usize = 400;
/// The maximum number of points that the braces of one probe may expand to.
pub const MOST_POINTS: usize = 10_000;
/// The maximum number of components in a point.
pub const MOST_COMPONENTS: usize = 32;

/// The origin of a file, which determines what it may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A tapset: the whole language.
    Tapset,
    /// A script: embedded C and C constants only in guru mode.
    Script,
}

/// Parses a script or tapset. `macros` are those of the library.
pub(crate) fn script<'a>(
    bytes: &'a [u8],
    file: u32,
    origin: Origin,
    macros: &'a Macros<'a>,
    target: &'a Target<'a>,
) -> Result<Script> {
    let mut parser = Parser::new(bytes, file, origin, macros, target)?;
    let mut script = parser.declarations()?;
    script.file = file;
    let (own, comments) = parser.tokens.into_parts();
    script.macros = own.into_keys().map(Cow::into_owned).collect();
    script.macros.sort_unstable();
    declarations::document(&mut script, comments);
    Ok(script)
}

/// Parses a file of macros, which contains nothing else.
pub(crate) fn macros<'a>(
    bytes: &'a [u8],
    file: u32,
    known: &'a Macros<'a>,
    target: &'a Target<'a>,
) -> Result<Macros<'a>> {
    let mut parser = Parser::new(bytes, file, Origin::Tapset, known, target)?;
    if let Some(token) = parser.peek()? {
        return Err(fault(
            token,
            format!("a file of macros holds definitions alone, found {}", shown(token)),
        ));
    }
    Ok(parser.tokens.into_parts().0)
}

struct Parser<'a> {
    tokens: Preprocessor<'a>,
    ahead: Option<Token<'a>>,
    /// Whether embedded C and C constants are allowed.
    privileged: bool,
    version: Version,
    in_function: bool,
    depth: usize,
    /// The number of enclosing expressions, and of operators in all of them.
    expressions: usize,
    operators: usize,
}

impl<'a> Parser<'a> {
    fn new(
        bytes: &'a [u8],
        file: u32,
        origin: Origin,
        macros: &'a Macros<'a>,
        target: &'a Target<'a>,
    ) -> Result<Self> {
        if let Some(zero) = memchr::memchr(0, bytes) {
            let line_start = memchr::memrchr(b'\n', &bytes[..zero]).map_or(0, |newline| newline + 1);
            let line = memchr::memchr_iter(b'\n', &bytes[..zero]).count() + 1;
            let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
            let place = Place { file, line: number(line), column: number(zero - line_start + 1) };
            return Err(Fault::new((place, None), "this is not text: it has a zero byte"));
        }
        let arguments = if origin == Origin::Script { target.arguments } else { &[] };
        let lexer = Lexer::new(bytes, file).with_arguments(arguments);
        let tokens = Preprocessor::new(Expander::new(lexer, macros), target);
        let privileged = origin == Origin::Tapset || target.guru;
        Ok(Self {
            tokens,
            ahead: None,
            privileged,
            version: Version::parse(target.systemtap).unwrap_or(Version::OLDEST),
            in_function: false,
            depth: 0,
            expressions: 0,
            operators: 0,
        })
    }

    fn peek(&mut self) -> Result<Option<&Token<'a>>> {
        if self.ahead.is_none() {
            self.ahead = self.tokens.next()?;
        }
        Ok(self.ahead.as_ref())
    }

    /// The place of the next token.
    fn spot(&mut self) -> Result<Spot> {
        let next = self.peek()?.map(|token| (token.place, token.called));
        Ok(next.unwrap_or_else(|| (self.tokens.place(), None)))
    }

    /// The next token; `what` describes it in errors.
    fn next(&mut self, what: &str) -> Result<Token<'a>> {
        self.peek()?;
        match self.ahead.take() {
            Some(token) => Ok(token),
            None => {
                let why = format!("expected {what}, found the end of the file");
                Err(Fault::new((self.tokens.place(), None), why))
            }
        }
    }

    /// Fails because the next token is not `what`.
    fn unexpected<T>(&mut self, what: &str) -> Result<T> {
        let token = self.next(what)?;
        Err(unexpected(&token, what))
    }

    /// Whether the next token is this one.
    fn at(&mut self, kind: Kind, text: &str) -> Result<bool> {
        Ok(self.peek()?.is_some_and(|token| token.is(kind, text)))
    }
    fn at_operator(&mut self, text: &str) -> Result<bool> {
        self.at(Kind::Operator, text)
    }
    fn at_kind(&mut self, kind: Kind) -> Result<bool> {
        Ok(self.peek()?.is_some_and(|token| token.kind == kind))
    }

    /// Consumes the next token if it is this one.
    fn takes(&mut self, kind: Kind, text: &str) -> Result<bool> {
        let is = self.at(kind, text)?;
        if is {
            self.ahead = None;
        }
        Ok(is)
    }
    fn takes_operator(&mut self, text: &str) -> Result<bool> {
        self.takes(Kind::Operator, text)
    }

    fn expect(&mut self, operator: &str) -> Result<Token<'a>> {
        match self.at_operator(operator)? {
            true => self.next(operator),
            false => self.unexpected(&format!("`{operator}`")),
        }
    }
    fn expect_keyword(&mut self, keyword: &str) -> Result<Token<'a>> {
        match self.at(Kind::Keyword, keyword)? {
            true => self.next(keyword),
            false => self.unexpected(&format!("`{keyword}`")),
        }
    }
    fn identifier(&mut self, what: &str) -> Result<Token<'a>> {
        let token = self.next(what)?;
        if token.kind == Kind::Identifier { Ok(token) } else { Err(unexpected(&token, what)) }
    }

    /// Consumes `,` and returns true, or consumes the end of the list.
    fn more(&mut self, close: &str) -> Result<bool> {
        if self.takes_operator(",")? {
            return Ok(true);
        }
        if self.takes_operator(close)? {
            return Ok(false);
        }
        self.unexpected(&format!("`,` or `{close}`"))
    }

    /// Consecutive string literals are one.
    fn string(&mut self) -> Result<String> {
        let first = self.next("a string")?;
        if first.kind != Kind::String {
            return Err(unexpected(&first, "a string"));
        }
        let mut string = first.text.into_owned();
        while self.at_kind(Kind::String)? {
            string += &self.next("a string")?.text;
        }
        Ok(string)
    }
    fn filled_string(&mut self) -> Result<String> {
        let spot = self.spot()?;
        let string = self.string()?;
        match string.is_empty() {
            true => Err(Fault::new(spot, "this string must not be empty")),
            false => Ok(string),
        }
    }

    fn number(&mut self) -> Result<i64> {
        let negative = self.takes_operator("-")?;
        let token = self.next("a number")?;
        if token.kind != Kind::Number {
            return Err(unexpected(&token, "a number"));
        }
        // Up to the largest unsigned 64-bit number, which becomes -1; with a minus sign, down to the smallest signed
        // one.
        let magnitude = magnitude(&token.text).filter(|&m| !negative || m <= 1 << 63);
        let Some(magnitude) = magnitude else {
            return Err(fault(&token, format!("{} is not a number of 64 bits", shown(&token))));
        };
        let value = magnitude.cast_signed();
        Ok(if negative { value.wrapping_neg() } else { value })
    }

    fn literal(&mut self) -> Result<Literal> {
        if self.at_kind(Kind::String)? {
            return Ok(Literal::String(self.string()?));
        }
        if self.at_kind(Kind::Number)? || self.at_operator("-")? {
            return Ok(Literal::Number(self.number()?));
        }
        self.unexpected("a string or a number")
    }

    /// Descends one level. The caller decrements `depth` afterwards; an error ends parsing anyway.
    fn deeper(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth <= DEEPEST {
            return Ok(());
        }
        Err(Fault::new(self.spot()?, format!("this is nested more than {DEEPEST} deep")))
    }
}

/// The error for an unexpected token; for an invalid token, the reason.
fn unexpected(token: &Token<'_>, what: &str) -> Box<Fault> {
    match token.kind {
        Kind::Junk => fault(token, &*token.text),
        _ => fault(token, format!("expected {what}, found {}", shown(token))),
    }
}
