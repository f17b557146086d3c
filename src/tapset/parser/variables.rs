//! Kernel variables: `$file->f_path`, `@cast(…)`, `@var(…)`.
use super::super::Result;
use super::super::ast::{Expression, ExpressionKind, Literal, Root, Step, Variable};
use super::super::lexer::{Kind, Token};
use super::super::macros::fault;
use super::{Parser, expressions, unexpected};

impl Parser<'_> {
    /// A value, or a kernel variable with its members.
    pub(super) fn operand(&mut self) -> Result<Box<Expression>> {
        let ampersand = if self.at_operator("&")? { Some(self.expect("&")?) } else { None };
        let (mut place, mut called) = self.spot()?;
        let address_of = ampersand.is_some();
        let root = match self.root()? {
            Some(root) => root,
            None => {
                let mut value = self.value()?;
                if let (Some(token), ExpressionKind::Variable(variable)) = (&ampersand, &mut value.kind) {
                    if variable.address_of {
                        return Err(fault(token, "the address of an address cannot be taken"));
                    }
                    variable.address_of = true;
                    self.steps(variable)?;
                    return Ok(value);
                }
                if !address_of && !self.at_step()? {
                    return Ok(value);
                }
                (place, called) = match &ampersand {
                    Some(token) => (token.place, token.called),
                    None => self.spot()?,
                };
                Root::Value(value)
            }
        };
        let mut variable = Box::new(Variable { root, path: vec![], address_of, place, called });
        self.steps(&mut variable)?;
        Ok(expressions::boxed(place, ExpressionKind::Variable(variable)))
    }

    /// `$name`, `@cast(…)` or `@var(…)`.
    fn root(&mut self) -> Result<Option<Root>> {
        let Some(token) = self.peek()? else { return Ok(None) };
        Ok(Some(match (token.kind, &*token.text) {
            (Kind::Identifier, name) if name.starts_with('$') => {
                Root::Context(self.next("a variable")?.text.into_owned())
            }
            (Kind::Operator, "@cast") => self.cast()?,
            (Kind::Operator, "@var") => self.global()?,
            _ => return Ok(None),
        }))
    }

    fn at_step(&mut self) -> Result<bool> {
        Ok(self.at_operator("->")? || self.at_operator("[")? || self.peek()?.is_some_and(is_dollars))
    }

    /// `->member`, `[index]`, and `$` or `$$` at the end, which may be attached to the last name.
    fn steps(&mut self, variable: &mut Variable) -> Result<()> {
        let mut pretty = None;
        if let Root::Context(name) = &mut variable.root {
            let length = name.trim_end_matches('$').len();
            if length > 0 && length < name.len() {
                pretty = Some(name.split_off(length));
            }
        }
        while pretty.is_none() {
            if self.takes_operator("->")? {
                let member = self.next("the name of a member")?;
                if !matches!(member.kind, Kind::Identifier | Kind::Keyword) {
                    return Err(unexpected(&member, "the name of a member"));
                }
                let mut member = member.text.into_owned();
                let length = member.trim_end_matches('$').len();
                if length < member.len() {
                    pretty = Some(member.split_off(length));
                }
                if !member.is_empty() {
                    variable.path.push(Step::Member(member));
                }
            } else if self.takes_operator("[")? {
                let index = self.expression()?;
                variable.path.push(match index.kind {
                    ExpressionKind::Literal(Literal::Number(number)) => Step::Index(number),
                    _ => Step::At(index),
                });
                self.expect("]")?;
            } else {
                break;
            }
        }
        if pretty.is_none() && self.peek()?.is_some_and(is_dollars) {
            pretty = Some(self.next("`$`")?.text.into_owned());
        }
        if let Some(pretty) = pretty {
            variable.path.push(Step::Pretty(pretty));
            if self.at_operator("->")? || self.at_operator("[")? {
                return self.unexpected("nothing: `$` at the end prints all of it");
            }
        }
        Ok(())
    }

    fn cast(&mut self) -> Result<Root> {
        self.expect("@cast")?;
        self.expect("(")?;
        let value = self.expression()?;
        self.expect(",")?;
        let of = self.filled_string()?;
        let module = self.module()?;
        Ok(Root::Cast { value, of, module })
    }

    fn global(&mut self) -> Result<Root> {
        self.expect("@var")?;
        self.expect("(")?;
        let name = self.string()?;
        let module = self.module()?;
        Ok(Root::Global { name, module })
    }

    /// `, "module")` or `)`.
    fn module(&mut self) -> Result<Option<String>> {
        let module = if self.takes_operator(",")? { Some(self.string()?) } else { None };
        self.expect(")")?;
        Ok(module)
    }
}

fn is_dollars(token: &Token<'_>) -> bool {
    token.kind == Kind::Identifier && token.text.bytes().all(|b| b == b'$')
}
