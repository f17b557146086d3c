//! Names of types in casts, and types that a script defines.
use super::Parser;
use crate::bpftrace::Place;
use crate::bpftrace::ast::{Expression, Members, OwnType, TypeName};
use crate::bpftrace::lexer::Token;
use crate::error::Result;

impl Parser<'_> {
    /// Reads a cast, behind its `(`; takes nothing if it is none.
    pub(super) fn cast(&mut self) -> Result<Option<(Place, TypeName)>> {
        let before = self.lexer.clone();
        self.lexer.blanks()?;
        let place = self.lexer.place();
        if let Some(to) = self.type_name()?
            && self.lexer.take(")")?
        {
            // `(pid)` is none, and `(foo_t *)x` is one.
            let is_type = to.pointers > 0 || to.is_array || to.is_own() || to.name.contains(' ');
            let has_operand = !matches!(
                self.lexer.peek()?,
                Token::Sign(")" | "]" | "}" | ";" | "," | "." | "->" | "[") | Token::End
            );
            if is_type && has_operand {
                return Ok(Some((place, to)));
            }
        }
        self.lexer = before;
        Ok(None)
    }

    /// Reads the name of a type, as far as it looks like one.
    fn type_name(&mut self) -> Result<Option<TypeName>> {
        let Token::Word(first) = self.lexer.peek()? else { return Ok(None) };
        self.lexer.next()?;
        let mut name = first.to_owned();
        while let Token::Word(next) = self.lexer.peek()? {
            self.lexer.next()?;
            name.push(' ');
            name.push_str(next);
        }
        // Qualifiers change nothing.
        let words = name.split(' ').filter(|word| !matches!(*word, "const" | "volatile"));
        let name = words.collect::<Vec<_>>().join(" ");
        let mut named = TypeName { name, pointers: 0, is_array: false };
        while self.lexer.take("*")? {
            named.pointers = named.pointers.saturating_add(1);
        }
        if self.lexer.take("[")? {
            self.lexer.skip_brackets()?;
            named.is_array = true;
        }
        Ok(Some(named))
    }

    /// Reads `sizeof(..)` and `offsetof(.., ..)` behind their `(`.
    pub(super) fn of_type(&mut self, has_members: bool) -> Result<Expression> {
        let before = self.lexer.clone();
        self.lexer.blanks()?;
        let place = self.lexer.place();
        let mut members = vec![];
        if let Some(named) = self.type_name()?
            && (named.name.contains(' ') || named.is_own())
        {
            if has_members && self.lexer.take(",")? {
                loop {
                    self.lexer.blanks()?;
                    let place = self.lexer.place();
                    let Token::Word(member) = self.lexer.next()? else { break };
                    members.push((place, member.to_owned()));
                    if !self.lexer.take(".")? {
                        break;
                    }
                }
            }
            if self.lexer.take(")")? {
                return Ok(Expression::OfType(place, named, members));
            }
        }
        self.lexer = before;
        self.lexer.skip_brackets()?;
        Ok(Expression::Other)
    }

    /// Reads a definition behind its first word.
    pub(super) fn type_definition(&mut self, word: &str, types: &mut Vec<OwnType>) -> Result<()> {
        let name = match self.lexer.peek()? {
            Token::Word(name) => {
                self.lexer.next()?;
                format!("{word} {name}")
            }
            _ => String::new(),
        };
        if word == "typedef" || !self.lexer.take("{")? {
            return self.skip_definition();
        }
        let members = match word {
            "enum" => {
                self.lexer.skip_brackets()?;
                None
            }
            _ => self.members()?,
        };
        if !name.is_empty() {
            types.push(OwnType { name, branch: self.branch(), members });
        }
        // Attributes may follow.
        while let Token::Word(word) = self.lexer.peek()?
            && word.starts_with("__")
        {
            self.lexer.next()?;
            if self.lexer.take("(")? {
                self.lexer.skip_brackets()?;
            }
        }
        Ok(())
    }

    /// Reads members up to a `}`; `None` if some are not understood: those of anonymous structs, functions.
    fn members(&mut self) -> Result<Option<Members>> {
        let mut members = vec![];
        let mut is_understood = true;
        loop {
            if self.lexer.take("}")? {
                return Ok(is_understood.then_some(members));
            }
            let mut words: Vec<&str> = vec![];
            let (mut pointers, mut is_array) = (0, false);
            loop {
                let before = self.lexer.clone();
                match self.lexer.next()? {
                    Token::Word(word) => words.push(word),
                    Token::Sign("*") => pointers += 1,
                    Token::Sign("[") => {
                        self.lexer.skip_brackets()?;
                        is_array = true;
                    }
                    // The width of a bit-field.
                    Token::Sign(":") | Token::Number(_) => {}
                    Token::Sign(";") => break,
                    // The last one may go without a `;`.
                    Token::Sign("}") => {
                        self.lexer = before;
                        break;
                    }
                    Token::Sign("{" | "(") => {
                        self.lexer.skip_brackets()?;
                        is_understood = false;
                    }
                    Token::Sign(",") => is_understood = false,
                    Token::End => return Err(self.lexer.error("a { before this has no }")),
                    Token::Sign("#") => self.lexer.skip_line(),
                    _ => is_understood = false,
                }
            }
            words.retain(|word| !matches!(*word, "const" | "volatile"));
            if let Some(name) = words.pop() {
                let named = TypeName { name: words.join(" "), pointers, is_array };
                members.push((name.to_owned(), (!words.is_empty()).then_some(named)));
            }
        }
    }
}
