//! Statements.
use super::super::Result;
use super::super::ast::{Expression, ExpressionKind, For, Foreach, Literal, Order, Statement, StatementKind};
use super::super::lexer::Kind;
use super::super::macros::fault;
use super::Parser;

/// The statistics that `foreach` can sort by.
const SORTS: [&str; 6] = ["@avg", "@min", "@max", "@count", "@sum", "@variance"];

impl<'a> Parser<'a> {
    pub(super) fn block(&mut self) -> Result<Statement> {
        self.deeper()?;
        let place = self.expect("{")?.place;
        let mut statements = vec![];
        while !self.takes_operator("}")? {
            statements.push(self.statement()?);
        }
        self.depth -= 1;
        Ok(Statement { place, kind: StatementKind::Block(statements) })
    }

    fn statement(&mut self) -> Result<Statement> {
        let Some(token) = self.peek()? else { return self.unexpected("a statement") };
        let (kind, place) = (token.kind, token.place);
        let word = token.text.clone();
        self.deeper()?;
        let statement = match (kind, &*word) {
            (Kind::Operator, ";") => {
                self.expect(";")?;
                self.depth -= 1;
                return Ok(Statement { place, kind: StatementKind::Empty });
            }
            (Kind::Operator, "{") => self.block()?.kind,
            (Kind::Keyword, "try") => self.attempt()?,
            (Kind::Keyword, "if") => self.branch()?,
            (Kind::Keyword, "for") => self.for_loop()?,
            (Kind::Keyword, "while") => self.while_loop()?,
            (Kind::Keyword, "foreach") => self.foreach()?,
            (Kind::Keyword, simple @ ("return" | "delete" | "break" | "continue" | "next")) => {
                self.simple(simple)?
            }
            (Kind::Keyword | Kind::Junk, _) => return self.unexpected("a statement"),
            _ => StatementKind::Expression(*self.expression()?),
        };
        self.depth -= 1;
        let ended = matches!(
            statement,
            StatementKind::Block(_)
                | StatementKind::Try { .. }
                | StatementKind::If { .. }
                | StatementKind::For(_)
                | StatementKind::Foreach(_)
        );
        if !ended {
            self.takes_operator(";")?;
        }
        Ok(Statement { place, kind: statement })
    }

    fn simple(&mut self, keyword: &str) -> Result<StatementKind> {
        let token = self.expect_keyword(keyword)?;
        Ok(match keyword {
            "return" if !self.in_function => return Err(fault(&token, "`return` stands in functions alone")),
            "return" if self.at_operator(";")? || self.at_operator("}")? => StatementKind::Return(None),
            "return" => StatementKind::Return(Some(*self.expression()?)),
            "delete" => StatementKind::Delete(*self.expression()?),
            "break" => StatementKind::Break,
            "continue" => StatementKind::Continue,
            _ => StatementKind::Next,
        })
    }

    fn attempt(&mut self) -> Result<StatementKind> {
        self.expect_keyword("try")?;
        let body = Box::new(self.block()?);
        self.expect_keyword("catch")?;
        let error = match self.takes_operator("(")? {
            true => {
                let name = self.identifier("the name of a variable")?.text.into_owned();
                self.expect(")")?;
                Some(name)
            }
            false => None,
        };
        Ok(StatementKind::Try { body, error, handler: Box::new(self.block()?) })
    }

    fn branch(&mut self) -> Result<StatementKind> {
        self.expect_keyword("if")?;
        self.expect("(")?;
        let condition = *self.expression()?;
        self.expect(")")?;
        let then = Box::new(self.statement()?);
        let otherwise = match self.takes(Kind::Keyword, "else")? {
            true => Some(Box::new(self.statement()?)),
            false => None,
        };
        Ok(StatementKind::If { condition, then, otherwise })
    }

    fn for_loop(&mut self) -> Result<StatementKind> {
        self.expect_keyword("for")?;
        self.expect("(")?;
        let before = if self.at_operator(";")? { None } else { Some(*self.expression()?) };
        let place = self.expect(";")?.place;
        let condition = match self.at_operator(";")? {
            true => Expression { place, kind: ExpressionKind::Literal(Literal::Number(1)) },
            false => *self.expression()?,
        };
        self.expect(";")?;
        let after = if self.at_operator(")")? { None } else { Some(*self.expression()?) };
        self.expect(")")?;
        let body = self.statement()?;
        Ok(StatementKind::For(Box::new(For { before, condition, after, body })))
    }

    fn while_loop(&mut self) -> Result<StatementKind> {
        self.expect_keyword("while")?;
        self.expect("(")?;
        let condition = *self.expression()?;
        self.expect(")")?;
        let body = self.statement()?;
        Ok(StatementKind::For(Box::new(For { before: None, condition, after: None, body })))
    }

    /// `+` or `-` after a name; returns whether it is `-`.
    fn direction(&mut self) -> Result<Option<bool>> {
        Ok(match (self.takes_operator("+")?, self.takes_operator("-")?) {
            (true, false) => Some(false),
            (false, true) => Some(true),
            (false, false) => None,
            (true, true) => return self.unexpected("one direction"),
        })
    }

    fn foreach(&mut self) -> Result<StatementKind> {
        self.expect_keyword("foreach")?;
        self.expect("(")?;
        let (mut value, mut indexes, mut order) = (None, vec![], None);
        let sorted = |column, descending| Order { column, descending, statistic: None };
        if self.at_kind(Kind::Identifier)? {
            let name = self.identifier("the name of a variable")?.text.into_owned();
            let direction = self.direction()?;
            if self.takes_operator("=")? {
                value = Some(name);
                order = direction.map(|descending| sorted(0, descending));
            } else {
                indexes.push(name);
                order = direction.map(|descending| sorted(1, descending));
            }
        }
        if indexes.is_empty() {
            let listed = self.takes_operator("[")?;
            loop {
                indexes.push(self.identifier("the name of a variable")?.text.into_owned());
                if let Some(descending) = self.direction()? {
                    if order.is_some() {
                        return self.unexpected("one direction to sort in");
                    }
                    order = Some(sorted(indexes.len(), descending));
                }
                if !listed || !self.more("]")? {
                    break;
                }
            }
        }
        self.expect_keyword("in")?;
        let array = self.indexed()?;
        let slice = if self.takes_operator("[")? { self.indexes()? } else { vec![] };
        let sort = self.peek()?.filter(|t| t.kind == Kind::Operator).map(|t| t.text.clone());
        let statistic = sort.and_then(|sort| SORTS.into_iter().find(|s| *s == sort));
        if let Some(statistic) = statistic {
            self.takes_operator(statistic)?;
        }
        match self.direction()? {
            Some(_) if order.is_some() => return self.unexpected("one direction to sort in"),
            Some(descending) => order = Some(Order { column: 0, descending, statistic }),
            None if statistic.is_some() => return self.unexpected("`+` or `-`"),
            None => {}
        }
        let limit = if self.takes(Kind::Keyword, "limit")? { Some(*self.expression()?) } else { None };
        self.expect(")")?;
        let body = self.statement()?;
        Ok(StatementKind::Foreach(Box::new(Foreach { value, indexes, array, slice, order, limit, body })))
    }
}
