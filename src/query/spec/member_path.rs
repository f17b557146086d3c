//! Parses member paths.
use crate::error::{Error, ErrorKind, Result};
use std::fmt;

/// Parses `a->b.c[2].d` or `struct file.f_path.dentry`. Blanks may surround each step.
///
/// # Errors
/// [`ErrorKind::Usage`], with the column and what was expected there.
pub fn parse(text: &str) -> Result<Path> {
    let end = [".", "->", "["].iter().filter_map(|start| text.find(start)).min().unwrap_or(text.len());
    let mut parser = Parser { text, at: end };
    let root = text[..end].split_whitespace().collect::<Vec<_>>().join(" ");
    if root.is_empty() {
        return Err(Parser { text, at: 0 }.expected("a name"));
    }
    let mut steps = vec![];
    while !parser.rest().is_empty() {
        steps.push(parser.step()?);
        parser.spaces();
    }
    Ok(Path { root, steps })
}

/// A name, and the steps that follow it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path {
    /// A variable or a type: the text before the first step.
    pub root: String,
    /// The steps, from left to right.
    pub steps: Vec<Step>,
}

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// `.name`
    Member(String),
    /// `->name`
    Arrow(String),
    /// `[n]`
    Index(i64),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Member(name) => write!(f, ".{name}"),
            Self::Arrow(name) => write!(f, "->{name}"),
            Self::Index(n) => write!(f, "[{n}]"),
        }
    }
}

impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.root)?;
        self.steps.iter().try_for_each(|step| write!(f, "{step}"))
    }
}

/// A text, and the position reached in it.
pub(in crate::query) struct Parser<'t> {
    pub text: &'t str,
    pub at: usize,
}

impl<'t> Parser<'t> {
    pub fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    pub fn step(&mut self) -> Result<Step> {
        if self.take("->") {
            return Ok(Step::Arrow(self.name()?));
        }
        if self.take(".") {
            return Ok(Step::Member(self.name()?));
        }
        if !self.take("[") {
            return Err(self.expected("'.', '->' or '['"));
        }
        let number = self.number()?;
        if !self.take("]") {
            return Err(self.expected("']'"));
        }
        Ok(Step::Index(number))
    }

    fn name(&mut self) -> Result<String> {
        self.word("a member's name")
    }

    pub fn word(&mut self, what: &str) -> Result<String> {
        self.spaces();
        let rest = self.rest();
        let is_name = |c: char| c.is_alphanumeric() || c == '_';
        let name = &rest[..rest.find(|c| !is_name(c)).unwrap_or(rest.len())];
        if name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
            return Err(self.expected(what));
        }
        self.at += name.len();
        Ok(name.to_owned())
    }

    fn number(&mut self) -> Result<i64> {
        self.spaces();
        let start = self.at;
        let is_negative = self.take("-");
        let radix = if self.rest().starts_with("0x") { 16 } else { 10 };
        self.at += if radix == 16 { 2 } else { 0 };
        let rest = self.rest();
        let digits = &rest[..rest.find(|c: char| !c.is_digit(radix)).unwrap_or(rest.len())];
        let signed = format!("{}{digits}", if is_negative { "-" } else { "" });
        let number = i64::from_str_radix(&signed, radix);
        let number = number.map_err(|_| Self { text: self.text, at: start }.expected("a number"))?;
        self.at += digits.len();
        Ok(number)
    }

    /// Skips this text and any spaces before it, if it comes next.
    pub fn take(&mut self, text: &str) -> bool {
        let start = self.at;
        self.spaces();
        let is_there = self.rest().starts_with(text);
        self.at = if is_there { self.at + text.len() } else { start };
        is_there
    }

    pub fn spaces(&mut self) {
        if self.rest().starts_with(|next: char| next.is_ascii_graphic()) {
            return;
        }
        self.at = self.text.len() - self.rest().trim_start().len();
    }

    pub fn expected(&self, what: &str) -> Error {
        let column = self.text[..self.at].chars().count() + 1;
        Error::new(ErrorKind::Usage, format!("column {column}: expected {what}"))
    }
}
