//! Expressions, by precedence.
use super::super::ast::{Expression, ExpressionKind, Indexed};
use super::super::lexer::{Kind, Token};
use super::super::macros::{fault, shown};
use super::super::{Place, Result, Version};
use super::{LONGEST, Parser, print, unexpected};

const ASSIGNMENTS: [&str; 13] =
    ["=", "<<<", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "^=", "|=", ".="];
const PREFIXES: [&str; 4] = ["+", "-", "!", "~"];
const STATISTICS: [&str; 6] = ["@avg", "@variance", "@count", "@sum", "@min", "@max"];

/// Binary operators by precedence, the loosest first.
const LEVELS: [&[&str]; 11] = [
    &["||"],
    &["&&"],
    &["|"],
    &["^"],
    &["&"],
    &["in"],
    &["<", ">", "==", "!=", "<=", ">=", "=~", "!~"],
    &["<<", ">>", ">>>"],
    &["."],
    &["+", "-"],
    &["*", "/", "%"],
];
const IN: usize = 5;
const COMPARISONS: usize = 6;

impl<'a> Parser<'a> {
    /// An expression, or an assignment.
    pub(super) fn expression(&mut self) -> Result<Box<Expression>> {
        if self.expressions == 0 {
            self.operators = 0;
        }
        self.expressions += 1;
        self.deeper()?;
        let mut expression = self.ternary()?;
        if let Some((place, operator)) = self.operator_of(&ASSIGNMENTS)? {
            let right = self.expression()?;
            expression = boxed(place, ExpressionKind::Binary { operator, left: expression, right });
        }
        self.depth -= 1;
        self.expressions -= 1;
        Ok(expression)
    }

    /// Consumes the next token if it is one of these operators.
    fn operator_of(&mut self, operators: &[&'static str]) -> Result<Option<(Place, &'static str)>> {
        let Some(token) = self.peek()?.filter(|t| t.kind == Kind::Operator) else { return Ok(None) };
        let Some(&operator) = operators.iter().find(|o| **o == token.text) else { return Ok(None) };
        Ok(Some((self.take_operator()?, operator)))
    }

    /// Consumes the next token, which is an operator, and counts it.
    fn take_operator(&mut self) -> Result<Place> {
        let token = self.next("an operator")?;
        self.operators += 1;
        match self.operators > LONGEST {
            true => Err(fault(&token, format!("this expression has more than {LONGEST} operators"))),
            false => Ok(token.place),
        }
    }

    fn ternary(&mut self) -> Result<Box<Expression>> {
        let condition = self.binary(0)?;
        let Some((place, _)) = self.operator_of(&["?"])? else { return Ok(condition) };
        let then = self.expression()?;
        self.expect(":")?;
        self.deeper()?;
        let otherwise = self.ternary()?;
        self.depth -= 1;
        Ok(boxed(place, ExpressionKind::Ternary { condition, then, otherwise }))
    }

    /// Operands joined by operators of level `lowest` or tighter.
    fn binary(&mut self, lowest: usize) -> Result<Box<Expression>> {
        let mut highest = LEVELS.len();
        let mut compared = false;
        let mut left = if lowest <= IN && self.takes_operator("[")? {
            highest = IN - 1;
            self.listed()?
        } else {
            self.unary()?
        };
        loop {
            let Some((level, operator)) = self.level()? else { return Ok(left) };
            if level < lowest || level > highest || compared && matches!(operator, "=~" | "!~") {
                return Ok(left);
            }
            let place = self.take_operator()?;
            highest = level;
            left = match operator {
                "in" => {
                    highest = IN - 1;
                    self.membership(place, vec![Some(*left)])?
                }
                "=~" | "!~" => {
                    highest = IN;
                    boxed(place, ExpressionKind::Match { operator, text: left, regex: self.string()? })
                }
                _ => {
                    compared |= level == COMPARISONS;
                    self.deeper()?;
                    let right = self.binary(level + 1)?;
                    self.depth -= 1;
                    boxed(place, ExpressionKind::Binary { operator, left, right })
                }
            };
        }
    }

    /// The level of the next token, if it is a binary operator.
    fn level(&mut self) -> Result<Option<(usize, &'static str)>> {
        let Some(token) = self.peek()? else { return Ok(None) };
        let kind = if token.text == "in" { Kind::Keyword } else { Kind::Operator };
        if token.kind != kind {
            return Ok(None);
        }
        let found = LEVELS.iter().enumerate();
        let mut found =
            found.filter_map(|(level, of)| Some((level, *of.iter().find(|o| **o == token.text)?)));
        Ok(found.next())
    }

    /// `a, *, b] in array` after the opening bracket; a single expression may be in brackets too.
    fn listed(&mut self) -> Result<Box<Expression>> {
        let mut indexes = vec![];
        loop {
            let any = self.takes_operator("*")?;
            indexes.push(if any { None } else { Some(*self.binary(COMPARISONS)?) });
            if !self.more("]")? {
                break;
            }
        }
        if self.at(Kind::Keyword, "in")? {
            let place = self.take_operator()?;
            return self.membership(place, indexes);
        }
        match (indexes.pop(), indexes.is_empty()) {
            (Some(Some(only)), true) => Ok(Box::new(only)),
            _ => self.unexpected("`in` behind a list of indexes"),
        }
    }

    /// The part after `in`.
    fn membership(&mut self, place: Place, indexes: Vec<Option<Expression>>) -> Result<Box<Expression>> {
        let array = Box::new(self.indexed()?);
        Ok(boxed(place, ExpressionKind::In { indexes, array }))
    }

    fn unary(&mut self) -> Result<Box<Expression>> {
        if let Some((place, operator)) = self.operator_of(&PREFIXES)? {
            self.deeper()?;
            let operand = self.unary()?;
            self.depth -= 1;
            return Ok(boxed(place, ExpressionKind::Unary { operator, operand }));
        }
        if let Some((place, operator)) = self.operator_of(&["++", "--"])? {
            let operand = self.operand()?;
            return Ok(boxed(place, ExpressionKind::Unary { operator, operand }));
        }
        let operand = self.operand()?;
        Ok(match self.operator_of(&["++", "--"])? {
            Some((place, operator)) => boxed(place, ExpressionKind::Postfix { operator, operand }),
            None => operand,
        })
    }

    pub(super) fn value(&mut self) -> Result<Box<Expression>> {
        let Some(token) = self.peek()? else { return self.unexpected("a value") };
        let (place, kind) = (token.place, token.kind);
        let is_symbol = kind == Kind::Identifier || kind == Kind::Operator && token.text.starts_with('@');
        if is_symbol {
            return self.symbol();
        }
        if kind == Kind::Embedded {
            let kind = ExpressionKind::Embedded(self.embedded()?.code);
            return Ok(boxed(place, kind));
        }
        if self.takes_operator("(")? {
            let expression = self.expression()?;
            self.expect(")")?;
            return Ok(expression);
        }
        match kind {
            Kind::String | Kind::Number => Ok(boxed(place, ExpressionKind::Literal(self.literal()?))),
            _ => self.unexpected("a value"),
        }
    }

    /// An expression that starts with a name or an `@` word.
    fn symbol(&mut self) -> Result<Box<Expression>> {
        let token = self.next("a name")?;
        let kind = match &*token.text {
            "@hist_linear" | "@hist_log" => self.bucket(&token)?,
            name if name.starts_with('@') => self.at_word(&token)?,
            name if print::is_print(name) => ExpressionKind::Print(self.print(name)?),
            name => self.named(name)?,
        };
        Ok(boxed(token.place, kind))
    }

    /// A call, an element of an array, or a variable.
    fn named(&mut self, name: &str) -> Result<ExpressionKind> {
        if self.takes_operator("(")? {
            let arguments = if self.takes_operator(")")? { vec![] } else { self.arguments()? };
            return Ok(ExpressionKind::Call { function: name.to_owned(), arguments });
        }
        if self.takes_operator("[")? {
            let of = Box::new(Indexed::Array(name.to_owned()));
            return Ok(ExpressionKind::Index { of, indexes: self.indexes()? });
        }
        Ok(ExpressionKind::Symbol(name.to_owned()))
    }

    /// A histogram with an index; without one it has no value.
    fn bucket(&mut self, token: &Token<'a>) -> Result<ExpressionKind> {
        let of = Box::new(self.histogram(&token.text)?);
        match self.takes_operator("[")? {
            true => Ok(ExpressionKind::Index { of, indexes: self.indexes()? }),
            false => Err(fault(token, format!("{} has no value of its own", shown(token)))),
        }
    }

    fn at_word(&mut self, token: &Token<'a>) -> Result<ExpressionKind> {
        let word = &*token.text;
        let user = word.starts_with("@u");
        let statistic = STATISTICS.into_iter().find(|s| *s == word);
        let known = ["@defined", "@entry", "@probewrite", "@const", "@perf"].contains(&word);
        let machine = ["@kregister", "@uregister", "@kderef", "@uderef"].contains(&word);
        let later = [("@enum", Version::ENUM), ("@enumname", Version::ENUM_NAME)];
        let later = later.into_iter().find(|(name, _)| *name == word);
        if let Some((_, first)) = later.filter(|(_, first)| self.version < *first) {
            return Err(fault(token, format!("SystemTap has {} from {first} on", shown(token))));
        }
        if statistic.is_none() && !known && !machine && later.is_none() {
            return Err(fault(token, format!("{} is neither a macro nor an operator", shown(token))));
        }
        if word == "@const" || machine && !user {
            self.require_privilege(token, &shown(token))?;
        }
        self.expect("(")?;
        let kind = match word {
            "@defined" => ExpressionKind::Defined(self.expression()?),
            "@entry" => ExpressionKind::Entry(self.expression()?),
            "@probewrite" => ExpressionKind::Probewrite(self.identifier("a variable")?.text.into_owned()),
            "@const" => ExpressionKind::Constant(self.filled_string()?),
            "@perf" => ExpressionKind::Perf(self.filled_string()?),
            "@enum" => ExpressionKind::Enumerator(self.filled_string()?),
            "@enumname" => {
                let of = self.expression()?;
                let named = if self.takes_operator(",")? { Some(self.filled_string()?) } else { None };
                let is_more = named.is_some() && self.takes_operator(",")?;
                let module = if is_more { Some(self.string()?) } else { None };
                ExpressionKind::EnumeratorName { of, named: named.map(|name| (name, module)) }
            }
            "@kregister" | "@uregister" => ExpressionKind::Register { user, number: self.number()? },
            "@kderef" | "@uderef" => {
                let size = self.number()?;
                self.expect(",")?;
                ExpressionKind::Memory { user, size, address: self.expression()? }
            }
            _ => {
                let of = self.expression()?;
                let shifts = word == "@variance" && self.takes_operator(",")?;
                let shift = if shifts { Some(self.number()?) } else { None };
                ExpressionKind::Statistic { operator: statistic.unwrap_or_default(), of, shift }
            }
        };
        self.expect(")")?;
        Ok(kind)
    }

    /// The part after the name of a histogram.
    pub(super) fn histogram(&mut self, name: &str) -> Result<Indexed> {
        self.expect("(")?;
        let of = self.expression()?;
        let mut bounds = None;
        if name == "@hist_linear" {
            let mut numbers = [0; 3];
            for number in &mut numbers {
                self.expect(",")?;
                *number = self.number()?;
            }
            bounds = Some(numbers);
        }
        self.expect(")")?;
        Ok(Indexed::Histogram { of, bounds })
    }

    /// An array by its name, or a histogram.
    pub(super) fn indexed(&mut self) -> Result<Indexed> {
        let what = "an array or a histogram";
        let token = self.next(what)?;
        match (token.kind, &*token.text) {
            (Kind::Operator, name @ ("@hist_linear" | "@hist_log")) => self.histogram(name),
            (Kind::Identifier, name) => Ok(Indexed::Array(name.to_owned())),
            _ => Err(unexpected(&token, what)),
        }
    }

    /// Indexes after their opening bracket.
    pub(super) fn indexes(&mut self) -> Result<Vec<Option<Expression>>> {
        let mut indexes = vec![];
        loop {
            indexes.push(if self.takes_operator("*")? { None } else { Some(*self.expression()?) });
            if !self.more("]")? {
                return Ok(indexes);
            }
        }
    }

    /// One or more arguments, and the closing bracket.
    pub(super) fn arguments(&mut self) -> Result<Vec<Expression>> {
        let mut arguments = vec![];
        loop {
            arguments.push(*self.expression()?);
            if !self.more(")")? {
                return Ok(arguments);
            }
        }
    }
}

pub(super) fn boxed(place: Place, kind: ExpressionKind) -> Box<Expression> {
    Box::new(Expression { place, kind })
}
