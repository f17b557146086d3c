//! Parses conditions.
use super::{Comparison, Condition, Constant, Operand, Test};
use crate::error::{Error, ErrorKind, Result};
use crate::query::spec::argument::{self, Cast};

/// How deep parentheses and `!` may be nested; the kernel's own limit is higher.
const DEEPEST: usize = 16;

pub(super) fn parse(text: &str) -> Result<Condition> {
    let mut parser = Parser { text, at: 0, depth: 0 };
    let condition = parser.any()?;
    parser.skip();
    match parser.rest() {
        "" => Ok(condition),
        rest if rest.starts_with(')') => Err(parser.expected("nothing to be closed here")),
        _ => Err(parser.expected("&&, || or the end")),
    }
}

struct Parser<'t> {
    text: &'t str,
    /// The offset of what is next.
    at: usize,
    depth: usize,
}

/// The comparisons, longer ones first.
const SIGNS: [(&str, Comparison); 8] = [
    ("==", Comparison::Equal),
    ("!=", Comparison::NotEqual),
    ("<=", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
    ("&", Comparison::SomeBits),
    ("~", Comparison::Matches),
];

impl<'t> Parser<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn skip(&mut self) {
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    fn take(&mut self, what: &str) -> bool {
        self.skip();
        let found = self.rest().starts_with(what);
        self.at += if found { what.len() } else { 0 };
        found
    }

    fn expected(&self, what: &str) -> Error {
        let column = self.text[..self.at].chars().count() + 1;
        Error::new(ErrorKind::Usage, format!("--if '{}', column {column}: expected {what}", self.text))
    }

    fn cannot(&self, what: &str) -> Error {
        let column = self.text[..self.at].chars().count() + 1;
        let what =
            format!("--if '{}', column {column}: the kernel's filter cannot say it: {what}", self.text);
        Error::new(ErrorKind::Usage, what)
    }

    fn any(&mut self) -> Result<Condition> {
        let mut parts = vec![self.all()?];
        while self.take("||") {
            parts.push(self.all()?);
        }
        Ok(if parts.len() == 1 { parts.swap_remove(0) } else { Condition::Any(parts) })
    }

    fn all(&mut self) -> Result<Condition> {
        let mut parts = vec![self.one()?];
        while self.take("&&") {
            parts.push(self.one()?);
        }
        Ok(if parts.len() == 1 { parts.swap_remove(0) } else { Condition::All(parts) })
    }

    fn deeper<T>(&mut self, parse: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth == DEEPEST {
            return Err(self.cannot("it is too deeply nested"));
        }
        self.depth += 1;
        let parsed = parse(self);
        self.depth -= 1;
        parsed
    }

    fn one(&mut self) -> Result<Condition> {
        self.skip();
        if !self.rest().starts_with("!=") && self.take("!") {
            return Ok(Condition::Not(Box::new(self.deeper(Self::one)?)));
        }
        if self.rest().starts_with('(') && !self.is_cast() {
            let before = self.at;
            self.at += 1;
            let inner = self.deeper(Self::any)?;
            if !self.take(")") {
                return Err(self.expected("&&, || or )"));
            }
            if self.comparison().is_some() {
                self.at = before;
                return Err(self.cannot("it compares a field with a constant, not what is in parentheses"));
            }
            return Ok(inner);
        }
        self.test()
    }

    /// Whether the parenthesis starts a cast, which has a star before a parenthesis ends.
    fn is_cast(&self) -> bool {
        let inner = self.rest().trim_start_matches(['(', ' ']);
        let ends = inner.find([')', '&', '|', '=', '<', '>', '"']).unwrap_or(inner.len());
        inner[ends..].starts_with(')') && inner[..ends].trim_end().ends_with('*')
    }

    /// The comparison that is next, and its length; not taken.
    fn comparison(&mut self) -> Option<(Comparison, usize)> {
        self.skip();
        if self.rest().starts_with("&&") {
            return None;
        }
        SIGNS.iter().find(|(sign, _)| self.rest().starts_with(sign)).map(|(sign, found)| (*found, sign.len()))
    }

    fn test(&mut self) -> Result<Condition> {
        self.skip();
        if self.rest().starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '"' || c == '\'') {
            return self.turned();
        }
        let start = self.at;
        let operand = self.operand()?;
        let Some((comparison, length)) = self.comparison() else {
            // As in C: a number that is not 0.
            return Ok(Condition::Test(Test {
                operand: self.read(operand, start, false)?,
                comparison: Comparison::NotEqual,
                constant: Constant::Number(0),
            }));
        };
        self.at += length;
        self.skip();
        let constant = self.constant()?;
        if self.comparison().is_some() {
            return Err(self.cannot("a field is compared once; for bits write `field & BITS`"));
        }
        let is_text = matches!(constant, Constant::Text(_));
        Ok(Condition::Test(Test { operand: self.read(operand, start, is_text)?, comparison, constant }))
    }

    /// `4096 < count`
    fn turned(&mut self) -> Result<Condition> {
        let constant = self.constant()?;
        let Some((comparison, length)) = self.comparison() else {
            return Err(self.expected("a comparison"));
        };
        if comparison == Comparison::Matches {
            return Err(self.cannot("the pattern stands behind ~"));
        }
        self.at += length;
        self.skip();
        let start = self.at;
        let operand = self.operand()?;
        let is_text = matches!(constant, Constant::Text(_));
        let operand = self.read(operand, start, is_text)?;
        Ok(Condition::Test(Test { operand, comparison: comparison.flipped(), constant }))
    }

    /// The text of an operand: up to an operator or a parenthesis that closes more than it opened.
    fn operand(&mut self) -> Result<&'t str> {
        let rest = self.rest();
        let (mut open, mut end) = (0usize, rest.len());
        let mut before = ' ';
        for (at, c) in rest.char_indices() {
            let follows = |what: &str| rest[at..].starts_with(what);
            match c {
                '(' | '[' => open += 1,
                ')' | ']' if open > 0 => open -= 1,
                ')' | ']' => {
                    end = at;
                    break;
                }
                _ if open > 0 => {}
                // The address of something is no comparison.
                '&' if at == 0 && !follows("&&") => {}
                '>' if before == '-' => {}
                '=' | '!' | '<' | '>' | '&' | '|' | '~' => {
                    end = at;
                    break;
                }
                _ => {}
            }
            before = c;
        }
        let operand = rest[..end].trim_end();
        self.at += operand.len();
        if operand.is_empty() {
            return Err(self.expected("a value, as resolve takes it"));
        }
        Ok(operand)
    }

    /// What the text of an operand means. Text is compared with text: a pointer is followed.
    fn read(&self, operand: &str, start: usize, is_text: bool) -> Result<Operand> {
        match operand {
            "$comm" | "$COMM" => return Ok(Operand::Common("comm")),
            "$pid" => return Ok(Operand::Common("common_pid")),
            "$cpu" => return Ok(Operand::Common("CPU")),
            _ => {}
        }
        let at = Parser { at: start, ..*self };
        if operand.contains([' ', '+', '*', '/', '%', '^']) && !operand.starts_with(['(', '%', '+', '-', '@'])
        {
            return Err(at.cannot("it compares a field with a constant, and computes nothing"));
        }
        let mut argument = argument::parse(operand)?;
        if is_text && argument.cast.is_none() {
            argument.cast = Some(Cast::Text("string".to_owned()));
            argument.text += ":string";
        }
        Ok(Operand::Argument(argument))
    }

    /// A number, a name, a text, or numbers joined by operators in parentheses.
    fn constant(&mut self) -> Result<Constant> {
        self.skip();
        let rest = self.rest();
        if let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) {
            let inner = &rest[1..];
            let end = inner.find(quote).ok_or_else(|| self.expected("a closing quote somewhere behind"))?;
            self.at += end + 2;
            let text = &inner[..end];
            // A character of C.
            let mut characters = text.chars();
            return Ok(match (quote, characters.next(), characters.next()) {
                ('\'', Some(only), None) => Constant::Number((only as u32).into()),
                _ => Constant::Text(text.to_owned()),
            });
        }
        if self.take("(") {
            let inner = self.deeper(Self::joined)?;
            return match self.take(")") {
                true => Ok(inner),
                false => Err(self.expected("an operator or )")),
            };
        }
        if self.take("-") {
            let inner = self.deeper(Self::constant)?;
            return Ok(Constant::Joined(Box::new(Constant::Number(0)), '-', Box::new(inner)));
        }
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let word = &rest[..end];
        let is_field = |after: &str| after.starts_with("->") || after.starts_with(['.', '[']);
        if is_field(&rest[end..]) || rest.starts_with('$') {
            return Err(self.cannot("it compares a field with a constant, not with another field"));
        }
        let constant = match word.chars().next() {
            None => return Err(self.expected("a number, a name or a text in quotes")),
            Some(digit) if digit.is_ascii_digit() => {
                Constant::Number(number(word).ok_or_else(|| self.expected("a number"))?)
            }
            Some(_) => Constant::Name(word.to_owned()),
        };
        self.at += end;
        Ok(constant)
    }

    /// Within parentheses, from left to right: `O_DIRECT | O_SYNC`, `1 << 12`. Mixed operators need parentheses.
    fn joined(&mut self) -> Result<Constant> {
        let mut whole = self.constant()?;
        let mut first = None;
        loop {
            let signs = [("<<", '<'), ("|", '|'), ("&", '&'), ("+", '+'), ("-", '-'), ("*", '*')];
            let Some((_, by)) = signs.into_iter().find(|(sign, _)| self.take(sign)) else { return Ok(whole) };
            if *first.get_or_insert(by) != by {
                return Err(self.expected("parentheses around one of two different operators"));
            }
            whole = Constant::Joined(Box::new(whole), by, Box::new(self.constant()?));
        }
    }
}

/// A number of C.
fn number(word: &str) -> Option<i128> {
    let digits = word.trim_end_matches(['u', 'U', 'l', 'L']);
    let (digits, radix) = match digits.get(..2) {
        Some("0x" | "0X") => (&digits[2..], 16),
        Some("0b" | "0B") => (&digits[2..], 2),
        _ if digits.len() > 1 && digits.starts_with('0') => (&digits[1..], 8),
        _ => (digits, 10),
    };
    i128::from_str_radix(digits, radix).ok().filter(|n| *n <= u64::MAX.into())
}
