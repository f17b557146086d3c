//! Expressions, by precedence.
use super::super::Result;
use super::super::ast::{Expression, ExpressionKind, Indexed, Literal, Print, Root, Step, Variable};
use super::super::lexer::{Kind, Token};
use super::super::macros::{fault, shown};
use super::super::{Fault, Place};
use super::{LONGEST, Parser, unexpected};

const ASSIGNMENTS: [&str; 13] =
    ["=", "<<<", "+=", "-=", "*=", "/=", "%=", "<<=", ">>=", "&=", "^=", "|=", ".="];
const PREFIXES: [&str; 4] = ["+", "-", "!", "~"];
const STATISTICS: [&str; 6] = ["@avg", "@variance", "@count", "@sum", "@min", "@max"];

/// Operators between two operands, the loosest first.
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
    /// An expression, also an assignment.
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

    /// Takes the next token if it is one of these.
    fn operator_of(&mut self, operators: &[&'static str]) -> Result<Option<(Place, &'static str)>> {
        let Some(token) = self.peek()?.filter(|t| t.kind == Kind::Operator) else { return Ok(None) };
        let Some(&operator) = operators.iter().find(|o| **o == token.text) else { return Ok(None) };
        Ok(Some((self.take_operator()?, operator)))
    }

    /// Takes the next token, which is an operator, and counts it.
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

    /// Operands joined by operators of the level `lowest` and all that bind closer.
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

    /// The level of the next token, if it is an operator between operands.
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

    /// `a, *, b] in array` behind its bracket; one expression alone may stand in brackets too.
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

    /// Behind `in`.
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

    /// A value, or something of the kernel with its members.
    fn operand(&mut self) -> Result<Box<Expression>> {
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
        Ok(boxed(place, ExpressionKind::Variable(variable)))
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

    /// `->member`, `[index]`, and `$` or `$$` at the end, which also may cling to the last name.
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

    fn value(&mut self) -> Result<Box<Expression>> {
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

    /// What begins with a name or a word with `@`.
    fn symbol(&mut self) -> Result<Box<Expression>> {
        let token = self.next("a name")?;
        let kind = match &*token.text {
            "@hist_linear" | "@hist_log" => self.bucket(&token)?,
            name if name.starts_with('@') => self.at_word(&token)?,
            name if is_print(name) => ExpressionKind::Print(self.print(name)?),
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

    /// A histogram with an index; alone it has no value.
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
        if statistic.is_none() && !known && !machine {
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
            "@kregister" | "@uregister" => ExpressionKind::Register { user, number: self.number()? },
            "@kderef" | "@uderef" => {
                let size = self.number()?;
                self.expect(",")?;
                ExpressionKind::Memory { user, size, address: self.expression()? }
            }
            _ => {
                let of = self.expression()?;
                let mut parameters = vec![];
                while parameters.is_empty() && word == "@variance" && self.takes_operator(",")? {
                    parameters.push(self.number()?);
                }
                ExpressionKind::Statistic { operator: statistic.unwrap_or_default(), of, parameters }
            }
        };
        self.expect(")")?;
        Ok(kind)
    }

    /// Behind the name of a histogram.
    fn histogram(&mut self, name: &str) -> Result<Indexed> {
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

    /// Indexes behind their bracket.
    pub(super) fn indexes(&mut self) -> Result<Vec<Option<Expression>>> {
        let mut indexes = vec![];
        loop {
            indexes.push(if self.takes_operator("*")? { None } else { Some(*self.expression()?) });
            if !self.more("]")? {
                return Ok(indexes);
            }
        }
    }

    /// One argument or more, and their bracket.
    fn arguments(&mut self) -> Result<Vec<Expression>> {
        let mut arguments = vec![];
        loop {
            arguments.push(*self.expression()?);
            if !self.more(")")? {
                return Ok(arguments);
            }
        }
    }

    /// Behind the name of a function of the print family.
    fn print(&mut self, name: &str) -> Result<Box<Print>> {
        self.expect("(")?;
        let mut print = Box::new(Print { function: name.to_owned(), ..Print::default() });
        let plain = matches!(name, "print" | "println" | "sprint" | "sprintln");
        if plain && (self.at_operator("@hist_linear")? || self.at_operator("@hist_log")?) {
            self.print_histogram(&mut print)?;
            return Ok(print);
        }
        let delimited = name.contains("printd");
        if delimited {
            print.text = Some(self.string()?);
        } else if name.contains("printf") {
            print.text = Some(self.format()?);
        }
        // A delimiter stands between two values at least, and without `ln` or a format there is one.
        let may_be_empty = !delimited && (print.text.is_some() || name.ends_with("ln"));
        if may_be_empty && self.takes_operator(")")? {
            return Ok(print);
        }
        if print.text.is_some() {
            self.expect(",")?;
        }
        print.arguments = self.arguments()?;
        match delimited && print.arguments.len() < 2 {
            true => self.unexpected("two values to print with a delimiter between"),
            false => Ok(print),
        }
    }

    /// A whole histogram; or one value of it, and others behind.
    fn print_histogram(&mut self, print: &mut Print) -> Result<()> {
        let token = self.next("a histogram")?;
        let of = Box::new(self.histogram(&token.text)?);
        if !self.takes_operator("[")? {
            self.expect(")")?;
            print.histogram = Some(of);
            return Ok(());
        }
        let indexes = vec![Some(*self.expression()?)];
        self.expect("]")?;
        print.arguments.push(*boxed(token.place, ExpressionKind::Index { of, indexes }));
        if self.more(")")? {
            print.arguments.extend(self.arguments()?);
        }
        Ok(())
    }

    fn format(&mut self) -> Result<String> {
        let spot = self.spot()?;
        let format = self.string()?;
        match is_format(&format) {
            true => Ok(format),
            false => Err(Fault::new(spot, "this format has a `%` without a conversion that `printf` knows")),
        }
    }
}

fn boxed(place: Place, kind: ExpressionKind) -> Box<Expression> {
    Box::new(Expression { place, kind })
}

fn is_dollars(token: &Token<'_>) -> bool {
    token.kind == Kind::Identifier && token.text.bytes().all(|b| b == b'$')
}

/// `print`, `printf`, `printd`, each with `ln` but `printf`, each with `s` before; and `print_char`.
fn is_print(name: &str) -> bool {
    let kinds = ["print", "printf", "printd", "println", "printdln"];
    name == "print_char" || kinds.contains(&name.strip_prefix('s').unwrap_or(name))
}

/// Whether every `%` of a format begins a conversion or is doubled.
fn is_format(format: &str) -> bool {
    let mut rest = format.as_bytes();
    while let Some(percent) = memchr::memchr(b'%', rest) {
        rest = &rest[percent + 1..];
        if let Some(after) = rest.strip_prefix(b"%") {
            rest = after;
            continue;
        }
        let skip = |rest: &mut &[u8], fits: &dyn Fn(u8) -> bool| {
            if let Some((first, after)) = rest.split_first()
                && fits(*first)
            {
                *rest = after;
                return true;
            }
            false
        };
        let digits = |rest: &mut &[u8]| {
            if !skip(rest, &|b| b == b'*') {
                while skip(rest, &|b| b.is_ascii_digit()) {}
            }
        };
        skip(&mut rest, &|b| b"0+- #".contains(&b));
        digits(&mut rest);
        if skip(&mut rest, &|b| b == b'.') {
            digits(&mut rest);
        }
        skip(&mut rest, &|b| b == b'l');
        if !skip(&mut rest, &|b| b"bcsmMdiuoxXp".contains(&b)) {
            return false;
        }
    }
    true
}
