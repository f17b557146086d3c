//! Formats scripts and tapsets like SystemTap: `stap --dump-probe-aliases`, `--dump-functions`, and the parse tree of
//! `stap -p1 -v`.
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::{self, Display, Formatter, Write};

use crate::tapset::MARKS;
use crate::tapset::ast::*;

/// The lines of `--dump-probe-aliases`: sorted, without duplicates or hidden aliases.
pub fn aliases<'a>(aliases: impl IntoIterator<Item = &'a Alias>) -> BTreeSet<String> {
    aliases.into_iter().filter(|alias| !alias.hidden()).map(Alias::to_string).collect()
}

/// The lines of `--dump-functions` in its order, which follows SystemTap's internal names.
pub fn functions<'a>(functions: impl IntoIterator<Item = &'a Function>) -> Vec<String> {
    let mut met: HashMap<&str, u32> = HashMap::new();
    let mut lines = BTreeMap::new();
    for function in functions {
        let count = met.entry(&function.name).or_default();
        if !function.private && !function.name.starts_with('_') {
            lines.insert(format!("{}__overload_{count}", function.name), function.to_string());
        }
        *count += 1;
    }
    lines.into_values().collect()
}

/// A file in the form of `stap -p1 -v`, without the line that names it.
pub fn script(script: &Script) -> String {
    let mut out = String::new();
    // Writing to a string does not fail.
    let _ = tree(script, &mut out);
    out
}

impl Display for Alias {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        separated(f, &self.names, " = ")?;
        f.write_str(if self.body.prologue.is_some() { " = " } else { " += " })?;
        separated(f, &self.points, ", ")
    }
}

impl Display for Point {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        separated(f, &self.components, ".")?;
        f.write_str(match (self.sufficient, self.optional) {
            (true, _) => "!",
            (false, true) => "?",
            (false, false) => "",
        })?;
        self.condition.iter().try_for_each(|condition| write!(f, " if ({condition})"))
    }
}

impl Display for Component {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        self.argument.iter().try_for_each(|argument| write!(f, "({argument})"))
    }
}

impl Display for Literal {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(number) => write!(f, "{number}"),
            Self::String(text) => write!(f, "\"{}\"", text.replace('"', "\\\"")),
        }
    }
}

impl Display for Type {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Long => "long",
            Self::String => "string",
            Self::Unknown => "unknown",
        })
    }
}

/// The signature, with the marks that the dump prints.
impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{} (", self.name, self.result)?;
        for (i, parameter) in self.parameters.iter().enumerate() {
            write!(f, "{}{}:{}", if i > 0 { ", " } else { "" }, parameter.name, parameter.declared)?;
        }
        f.write_str(")")?;
        let printed = self.marks().into_iter().filter(|mark| MARKS[..4].contains(mark));
        printed.into_iter().try_for_each(|mark| write!(f, " /* {mark} */"))
    }
}

impl Display for Global {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        f.write_str(if self.wraps { "%" } else { "" })?;
        self.size.iter().try_for_each(|size| write!(f, "[{size}]"))?;
        self.value.iter().try_for_each(|value| write!(f, " = {value}"))
    }
}

impl Display for Statement {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match &self.kind {
            StatementKind::Block(statements) => {
                f.write_str("{\n")?;
                statements.iter().try_for_each(|statement| writeln!(f, "{statement};"))?;
                f.write_str("}")
            }
            StatementKind::Try { body, error, handler } => {
                write!(f, "try {{\n{body}\n}} catch ")?;
                error.iter().try_for_each(|name| write!(f, "({name}) "))?;
                writeln!(f, "{{\n{handler}\n}}")
            }
            StatementKind::If { condition, then, otherwise } => {
                writeln!(f, "if ({condition}) {then}")?;
                otherwise.iter().try_for_each(|otherwise| writeln!(f, "else {otherwise}"))
            }
            StatementKind::For(parts) => {
                let For { before, condition, after, body } = &**parts;
                f.write_str("for (")?;
                before.iter().try_for_each(|e| write!(f, "{e}"))?;
                write!(f, "; {condition}; ")?;
                after.iter().try_for_each(|e| write!(f, "{e}"))?;
                write!(f, ") {body}")
            }
            StatementKind::Foreach(foreach) => write!(f, "{foreach}"),
            StatementKind::Expression(expression) => write!(f, "{expression}"),
            StatementKind::Return(None) => f.write_str("return"),
            StatementKind::Return(Some(value)) => write!(f, "return {value}"),
            StatementKind::Delete(expression) => write!(f, "delete {expression}"),
            StatementKind::Next => f.write_str("next"),
            StatementKind::Break => f.write_str("break"),
            StatementKind::Continue => f.write_str("continue"),
            StatementKind::Empty => f.write_str(";"),
        }
    }
}

impl Display for Foreach {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("foreach (")?;
        self.value.iter().try_for_each(|value| write!(f, "{value} = "))?;
        f.write_str("[")?;
        let sign = |order: &Order| if order.descending { "-" } else { "+" };
        for (i, index) in self.indexes.iter().enumerate() {
            write!(f, "{}{index}", if i > 0 { ", " } else { "" })?;
            f.write_str(self.order.as_ref().filter(|order| order.column == i + 1).map_or("", sign))?;
        }
        write!(f, "] in {}", self.array)?;
        if !self.slice.is_empty() {
            Indexes(&self.slice).fmt(f)?;
        }
        if let Some(order) = self.order.as_ref().filter(|order| order.column == 0) {
            let statistic = order.statistic.map_or(String::new(), |statistic| format!(" {statistic}"));
            write!(f, "{statistic}{}", sign(order))?;
        }
        self.limit.iter().try_for_each(|limit| write!(f, " limit {limit}"))?;
        write!(f, ") {}", self.body)
    }
}

impl Display for Expression {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        use ExpressionKind::*;
        match &self.kind {
            Literal(literal) => write!(f, "{literal}"),
            Symbol(name) => f.write_str(name),
            Index { of, indexes } => write!(f, "{of}{}", Indexes(indexes)),
            In { indexes, array } => write!(f, "{} in {array}", Indexes(indexes)),
            Call { function, arguments } => {
                write!(f, "{function}(")?;
                separated(f, arguments, ", ")?;
                f.write_str(")")
            }
            Print(print) => write!(f, "{print}"),
            Unary { operator, operand } => write!(f, "{operator}({operand})"),
            Postfix { operator, operand } => write!(f, "({operand}){operator}"),
            Binary { operator, left, right } => write!(f, "({left}) {operator} ({right})"),
            Match { operator, text, regex } => {
                write!(f, "({text}) {operator} {}", self::Literal::String(regex.clone()))
            }
            Ternary { condition, then, otherwise } => write!(f, "({condition})?({then}):({otherwise})"),
            Variable(variable) => write!(f, "{variable}"),
            Defined(of) => write!(f, "@defined({of})"),
            Entry(of) => write!(f, "@entry({of})"),
            Probewrite(name) => write!(f, "@probewrite({name})"),
            Perf(name) => write!(f, "@perf({})", self::Literal::String(name.clone())),
            Enumerator(name) => write!(f, "@enum({})", self::Literal::String(name.clone())),
            EnumeratorName { of, named } => {
                write!(f, "@enumname({of}")?;
                let texts = named.iter().flat_map(|(name, module)| [Some(name), module.as_ref()]).flatten();
                texts.into_iter().try_for_each(|t| write!(f, ", {}", self::Literal::String(t.clone())))?;
                f.write_str(")")
            }
            Embedded(code) => write!(f, "%{{ {code} %}}"),
            // SystemTap turns it into C immediately.
            Constant(name) => write!(f, "%{{ /* pure */ /* unprivileged */ /* stable */ {name} %}}"),
            Register { user, number } => write!(f, "@{}register({number})", space(*user)),
            Memory { user, size, address } => write!(f, "@{}deref({size}, {address})", space(*user)),
            Statistic { operator, of, shift } => {
                write!(f, "{operator}({of}")?;
                shift.iter().try_for_each(|number| write!(f, ", {number}"))?;
                f.write_str(")")
            }
        }
    }
}

impl Display for Variable {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(if self.address_of { "&" } else { "" })?;
        let in_module = |f: &mut Formatter<'_>, module: &Option<String>| {
            module
                .iter()
                .filter(|m| !m.is_empty())
                .try_for_each(|module| write!(f, ", {}", Quoted(module)))?;
            f.write_str(")")
        };
        match &self.root {
            Root::Context(name) => f.write_str(name)?,
            Root::Cast { value, of, module } => {
                write!(f, "@cast({value}, {}", Quoted(of))?;
                in_module(f, module)?;
            }
            Root::Global { name, module } => {
                write!(f, "@var(\"{name}\"")?;
                in_module(f, module)?;
            }
            Root::Value(value) => write!(f, "({value})")?,
        }
        self.path.iter().try_for_each(|step| match step {
            Step::Member(name) | Step::Pretty(name) => write!(f, "->{name}"),
            Step::Index(number) => write!(f, "[{number}]"),
            Step::At(index) => write!(f, "[{index}]"),
        })
    }
}

impl Display for Print {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}(", self.function)?;
        self.text.iter().try_for_each(|text| write!(f, "{}", Quoted(text)))?;
        self.histogram.iter().try_for_each(|histogram| write!(f, "{histogram}"))?;
        f.write_str(if self.text.is_some() && !self.arguments.is_empty() { ", " } else { "" })?;
        separated(f, &self.arguments, ", ")?;
        f.write_str(")")
    }
}

impl Display for Indexed {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Array(name) => f.write_str(name),
            Self::Histogram { of, bounds: None } => write!(f, "@hist_log({of})"),
            Self::Histogram { of, bounds: Some([low, high, width]) } => {
                write!(f, "@hist_linear({of}, {low}, {high}, {width})")
            }
        }
    }
}

/// `[a, *]`.
struct Indexes<'a>(&'a [Option<Expression>]);

impl Display for Indexes<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("[")?;
        for (i, index) in self.0.iter().enumerate() {
            f.write_str(if i > 0 { ", " } else { "" })?;
            match index {
                Some(index) => write!(f, "{index}")?,
                None => f.write_str("*")?,
            }
        }
        f.write_str("]")
    }
}

/// A string literal in C.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("\"")?;
        for byte in self.0.bytes() {
            match byte {
                b'"' | b'\\' => write!(f, "\\{}", byte as char)?,
                b' '..=b'~' => f.write_char(byte as char)?,
                _ => write!(f, "\\{byte:03o}")?,
            }
        }
        f.write_str("\"")
    }
}

fn space(user: bool) -> char {
    if user { 'u' } else { 'k' }
}

fn separated<T: Display>(f: &mut Formatter<'_>, items: &[T], between: &str) -> fmt::Result {
    for (i, item) in items.iter().enumerate() {
        write!(f, "{}{item}", if i > 0 { between } else { "" })?;
    }
    Ok(())
}

fn tree(script: &Script, out: &mut String) -> fmt::Result {
    let Script { aliases, probes, functions, globals, embedded, .. } = script;
    embedded.iter().try_for_each(|e| write!(out, "%{{{}%}}", e.code))?;
    globals.iter().try_for_each(|global| writeln!(out, "global {global}"))?;
    for alias in aliases {
        let body = alias.body.prologue.as_ref().or(alias.body.epilogue.as_ref());
        write!(out, "probe {alias}")?;
        body.iter().try_for_each(|body| writeln!(out, "{body}"))?;
    }
    for probe in probes {
        let points: Vec<String> = probe.points.iter().map(Point::to_string).collect();
        writeln!(out, "probe {}{}", points.join(","), probe.body)?;
    }
    for function in functions {
        let names: Vec<&str> = function.parameters.iter().map(|p| p.name.as_str()).collect();
        writeln!(out, "function {} ({})", function.name, names.join(", "))?;
        match &function.body {
            FunctionBody::Statement(body) => writeln!(out, "{body}")?,
            FunctionBody::Embedded(body) => writeln!(out, "%{{{}%}}", body.code)?,
        }
    }
    Ok(())
}
