//! Parses scripts.
mod expressions;
mod points;
mod types;

pub use points::kind;

use super::ast::{Branch, Expression, Missing, Probe, Script};
use super::lexer::{Lexer, Token};
use crate::error::Result;

/// The deepest nesting of brackets, blocks and operators, and the most members in a chain.
const DEEPEST: u32 = 128;

/// Parses a script.
///
/// # Errors
/// [`ErrorKind::Syntax`](crate::ErrorKind::Syntax), with line and column: a text, comment or bracket without an end, what is
/// no probe, and nesting that is too deep.
pub fn parse(text: &str) -> Result<Script> {
    let mut parser = Parser { lexer: Lexer::new(text), depth: 0, branches: vec![] };
    let mut script = Script::default();
    while parser.definition(&mut script)? {}
    Ok(script)
}

struct Parser<'t> {
    lexer: Lexer<'t>,
    depth: u32,
    /// The conditions of the preprocessor that are open, the innermost last.
    branches: Vec<Branch>,
}

impl<'t> Parser<'t> {
    /// Reads what stands outside of handlers; `false` at the end.
    fn definition(&mut self, script: &mut Script) -> Result<bool> {
        self.lexer.blanks()?;
        let rest = self.lexer.rest();
        if let Some(directive) = rest.strip_prefix('#') {
            let directive = directive.trim_start();
            if directive.starts_with("include") {
                script.includes.push(self.branch());
            }
            self.condition(directive);
            self.lexer.skip_line();
            return Ok(true);
        }
        let before = self.lexer.clone();
        match self.lexer.next()? {
            Token::End => return Ok(false),
            Token::Sign(";") => {}
            Token::Word(word @ ("struct" | "union" | "enum" | "typedef")) => {
                self.type_definition(word, &mut script.types)?;
            }
            Token::Word("config") => {
                let start = self.lexer.at;
                self.skip_definition()?;
                let text = self.lexer.text.get(start..self.lexer.at).unwrap_or_default();
                script.missing = missing(text).or(script.missing);
            }
            Token::Word("import" | "let" | "macro" | "fn" | "subprog") => self.skip_definition()?,
            _ => {
                self.lexer = before;
                script.probes.push(self.probe()?);
            }
        }
        Ok(true)
    }

    /// On which kernels what stands here is read.
    fn branch(&self) -> Branch {
        let tells = |branch: &&Branch| **branch != Branch::Always;
        self.branches.iter().rev().find(tells).copied().unwrap_or_default()
    }

    /// Takes notice of a directive that opens, turns or ends a condition.
    fn condition(&mut self, directive: &str) {
        let mut words = directive.split_ascii_whitespace();
        match (words.next(), words.next()) {
            (Some("ifndef"), Some("BPFTRACE_HAVE_BTF")) => self.branches.push(Branch::WithoutBtf),
            (Some("ifdef"), Some("BPFTRACE_HAVE_BTF")) => self.branches.push(Branch::WithBtf),
            (Some(word), _) if word.starts_with("if") => self.branches.push(Branch::Always),
            (Some(word), _) if word.starts_with("el") => {
                if let Some(branch) = self.branches.last_mut() {
                    *branch = match *branch {
                        Branch::WithBtf => Branch::WithoutBtf,
                        Branch::WithoutBtf => Branch::WithBtf,
                        Branch::Always => Branch::Always,
                    };
                }
            }
            (Some(word), _) if word.starts_with("endif") => drop(self.branches.pop()),
            _ => {}
        }
    }

    /// Skips up to a `;` or behind a block.
    fn skip_definition(&mut self) -> Result<()> {
        loop {
            match self.lexer.next()? {
                Token::Sign(";") | Token::End => return Ok(()),
                Token::Sign("{") => {
                    self.lexer.skip_brackets()?;
                    return Ok(());
                }
                Token::Sign("(" | "[") => self.lexer.skip_brackets()?,
                _ => {}
            }
        }
    }

    fn probe(&mut self) -> Result<Probe> {
        let mut points = vec![self.point()?];
        while self.lexer.take(",")? {
            // A comma may stand behind the last point.
            if matches!(self.lexer.peek()?, Token::Sign("{" | "/")) {
                break;
            }
            points.push(self.point()?);
        }
        let mut body = vec![];
        if self.lexer.take("/")? {
            body.push(self.expression()?);
            self.lexer.expect("/")?;
        }
        self.lexer.expect("{")?;
        let start = self.lexer.at;
        self.block(&mut body)?;
        let text = self.lexer.text.get(start..self.lexer.at).unwrap_or_default();
        Ok(Probe { points, body, asks_for_itself: asks_for_itself(text) })
    }

    /// Reads statements up to a `}`, behind a `{`.
    fn block(&mut self, body: &mut Vec<Expression>) -> Result<()> {
        self.deeper()?;
        loop {
            match self.lexer.peek()? {
                Token::Sign("}") => {
                    self.lexer.next()?;
                    self.depth -= 1;
                    return Ok(());
                }
                Token::End => return Err(self.lexer.error("a { before this has no }")),
                _ => self.statement(body)?,
            }
        }
    }

    fn statement(&mut self, body: &mut Vec<Expression>) -> Result<()> {
        let before = self.lexer.clone();
        match self.lexer.next()? {
            Token::Sign("{") => return self.block(body),
            Token::Sign("#") => {
                self.lexer.skip_line();
                return Ok(());
            }
            Token::Sign(";" | ")" | "]" | "," | ":")
            | Token::Word("else" | "return" | "break" | "continue" | "let")
            | Token::Stray => return Ok(()),
            Token::Word("for") => {
                // `for ($kv : @map)`, `for $i : 0..10`
                let in_brackets = self.lexer.take("(")?;
                if matches!(self.lexer.peek()?, Token::Variable(_)) {
                    self.lexer.next()?;
                    self.lexer.take(":")?;
                }
                body.push(self.expression()?);
                if in_brackets {
                    self.lexer.take(")")?;
                }
                return Ok(());
            }
            Token::Word("if" | "while" | "unroll") => {
                body.push(self.expression()?);
                return Ok(());
            }
            _ => self.lexer = before,
        }
        let start = self.lexer.at;
        body.push(self.expression()?);
        // `let $x: uint64 = ..`
        if self.lexer.take(":")? {
            while let Token::Word(_) | Token::Sign("*" | "[" | "]") | Token::Number(_) = self.lexer.peek()? {
                self.lexer.next()?;
            }
            if self.lexer.take("=")? {
                body.push(self.expression()?);
            }
        }
        if self.lexer.at == start {
            self.lexer.next()?;
        }
        Ok(())
    }

    fn deeper(&mut self) -> Result<()> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err(self.lexer.error(format!("nested more than {DEEPEST} deep")));
        }
        Ok(())
    }
}

/// Whether a handler reads `probe`.
fn asks_for_itself(text: &str) -> bool {
    let mut lexer = Lexer::new(text);
    let mut is_member = false;
    std::iter::from_fn(|| lexer.next().ok().filter(|token| *token != Token::End)).any(|token| {
        let follows = std::mem::replace(&mut is_member, matches!(token, Token::Sign("." | "->")));
        !follows && matches!(token, Token::Word("probe"))
    })
}

/// The value of `missing_probes` in a configuration, with or without quotes.
fn missing(text: &str) -> Option<Missing> {
    let (_, value) = text.split_once("missing_probes")?;
    let value = value.trim_start_matches([' ', '\t', '=', '"']);
    [("warn", Missing::GoesOn), ("ignore", Missing::GoesOn), ("error", Missing::Ends)]
        .into_iter()
        .find_map(|(name, missing)| value.starts_with(name).then_some(missing))
}

#[cfg(test)]
mod tests;
