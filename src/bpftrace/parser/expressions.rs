//! Expressions. The order of operators does not matter: an operand is judged by itself, and the type of a whole operation
//! only where something is added to a pointer.
use super::{DEEPEST, Parser};
use crate::bpftrace::ast::Expression;
use crate::bpftrace::lexer::Token;
use crate::error::Result;

const OPERATORS: [&str; 20] = [
    "+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>", "<", ">", "<=", ">=", "==", "!=", "&&", "||", "?",
    "..",
];
const ASSIGNMENTS: [&str; 11] = ["=", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "<<=", ">>="];

impl Parser<'_> {
    /// Reads an expression. What is none is [`Expression::Other`], and is not taken.
    pub(super) fn expression(&mut self) -> Result<Expression> {
        self.deeper()?;
        let mut operands = vec![self.operand()?];
        let mut operators = vec![];
        let mut choices = 0_u32;
        loop {
            let before = self.lexer.clone();
            let Token::Sign(sign) = self.lexer.next()? else {
                self.lexer = before;
                break;
            };
            if ASSIGNMENTS.contains(&sign) {
                let value = self.expression()?;
                let to = operands.pop().unwrap_or(Expression::Other);
                operands.push(Expression::Assign(Box::new(to), Box::new(value)));
                break;
            }
            let is_operator = match sign {
                // The end of a predicate (`ENDPRED`, src/lexer.l of bpftrace 0.23).
                "/" => !self.lexer.rest().trim_start().starts_with('{'),
                "?" => {
                    choices += 1;
                    true
                }
                ":" if choices > 0 => {
                    choices -= 1;
                    true
                }
                sign => OPERATORS.contains(&sign),
            };
            if !is_operator {
                self.lexer = before;
                break;
            }
            operators.push(sign);
            operands.push(self.operand()?);
        }
        self.depth -= 1;
        Ok(match operands.pop() {
            Some(only) if operands.is_empty() => only,
            Some(last) => {
                operands.push(last);
                Expression::Operation(operands, operators)
            }
            None => Expression::Other,
        })
    }

    /// Reads an operand with the operators before and behind it.
    fn operand(&mut self) -> Result<Expression> {
        self.deeper()?;
        let before = self.lexer.clone();
        let operand = match self.lexer.next()? {
            Token::Sign("*") => Expression::Dereference(Box::new(self.operand()?)),
            Token::Sign("&") => Expression::Address(Box::new(self.operand()?)),
            Token::Sign("-" | "+" | "!" | "~" | "++" | "--" | "&&") => {
                Expression::Operation(vec![self.operand()?, Expression::Other], vec!["-"])
            }
            Token::Sign("(") => match self.cast()? {
                Some((place, to)) => {
                    let of = self.operand()?;
                    Expression::Cast(place, to, Box::new(of))
                }
                None => {
                    let inner = self.list(")")?;
                    self.behind(inner)?
                }
            },
            _ => {
                self.lexer = before;
                let primary = self.primary()?;
                self.behind(primary)?
            }
        };
        self.depth -= 1;
        Ok(operand)
    }

    fn primary(&mut self) -> Result<Expression> {
        self.lexer.blanks()?;
        let (before, place) = (self.lexer.clone(), self.lexer.place());
        Ok(match self.lexer.next()? {
            Token::Word(name @ ("sizeof" | "offsetof")) if self.lexer.take("(")? => {
                self.of_type(name == "offsetof")?
            }
            Token::Word(name) if self.lexer.take("(")? => {
                let arguments = match self.list(")")? {
                    Expression::Operation(arguments, operators) if operators.is_empty() => arguments,
                    one => vec![one],
                };
                Expression::Call(place, name.to_owned(), arguments)
            }
            Token::Word(name) => Expression::Name(place, name.to_owned()),
            Token::Variable(name) => Expression::Variable(name.to_owned()),
            Token::Map(name) => {
                let keys = if self.lexer.take("[")? { vec![self.list("]")?] } else { vec![] };
                Expression::Map(name.to_owned(), keys)
            }
            Token::Text(text) => Expression::Text(text.to_owned()),
            Token::Number(_) | Token::Stray => Expression::Other,
            _ => {
                self.lexer = before;
                Expression::Other
            }
        })
    }

    /// Reads what stands behind a primary: members and indexes.
    fn behind(&mut self, mut of: Expression) -> Result<Expression> {
        let mut length = 0;
        loop {
            let before = self.lexer.clone();
            match self.lexer.next()? {
                Token::Sign("." | "->") => {
                    self.lexer.blanks()?;
                    let place = self.lexer.place();
                    of = match self.lexer.next()? {
                        Token::Word(name) => Expression::Member(Box::new(of), place, name.to_owned()),
                        // An element of a tuple.
                        _ => Expression::Operation(vec![of, Expression::Other], vec!["."]),
                    };
                }
                Token::Sign("[") => {
                    let index = self.list("]")?;
                    of = Expression::Index(Box::new(of), Box::new(index));
                }
                Token::Sign("++" | "--") => {}
                _ => {
                    self.lexer = before;
                    return Ok(of);
                }
            }
            length += 1;
            if length > DEEPEST {
                return Err(self.lexer.error(format!("more than {DEEPEST} members and indexes in a chain")));
            }
        }
    }

    /// Reads expressions between commas, up to a bracket. One is itself, several are an operation without operators.
    fn list(&mut self, end: &'static str) -> Result<Expression> {
        let mut all = vec![];
        loop {
            let start = self.lexer.at;
            if self.lexer.take(end)? {
                break;
            }
            if self.lexer.peek()? == Token::End {
                return Err(self.lexer.error(format!("expected {end}")));
            }
            if !self.lexer.take(",")? {
                all.push(self.expression()?);
            }
            // Whatever is not understood is skipped.
            if self.lexer.at == start
                && let Token::Sign("(" | "[" | "{") = self.lexer.next()?
            {
                self.lexer.skip_brackets()?;
            }
        }
        Ok(match all.pop() {
            Some(only) if all.is_empty() => only,
            Some(last) => {
                all.push(last);
                Expression::Operation(all, vec![])
            }
            None => Expression::Operation(vec![], vec![]),
        })
    }
}
