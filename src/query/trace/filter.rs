//! `--if`: a condition in C's spelling, and the filter of the kernel that says the same of the fields of an event
//! (Documentation/trace/events.rst, section 5; kernel/trace/trace_events_filter.c, 5.10 to 6.12).
//!
//! The kernel compares a field with a constant, and joins comparisons by `&&`, `||`, `!` and parentheses. What is more
//! than that is refused when the condition is parsed, with the reason.
mod parse;

use super::well_known;
use crate::error::{Error, ErrorKind, Result};
use crate::query::spec::argument::Argument;
use probeidx_format::View;
use probeidx_format::id::TypeId;
use probeidx_format::record::TypeRecord;
use probeidx_format::types::TypeKind;

/// A condition.
#[derive(Clone, Debug, PartialEq)]
pub enum Condition {
    /// Any of these holds.
    Any(Vec<Self>),
    /// All of these hold.
    All(Vec<Self>),
    /// It does not hold.
    Not(Box<Self>),
    /// A comparison.
    Test(Test),
}

/// A comparison of a value with a constant.
#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// What is compared.
    pub operand: Operand,
    /// How.
    pub comparison: Comparison,
    /// With what.
    pub constant: Constant,
}

/// What can be compared.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// A value that the event fetches.
    Argument(Argument),
    /// A field that the kernel has of every event: `comm`, `common_pid`, `CPU`.
    Common(&'static str),
}

/// How a value is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `&`: some of the bits are set.
    SomeBits,
    /// `~`: the text matches a pattern with `*`, `?` and `[..]`.
    Matches,
}

/// A constant of a condition.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    /// A number.
    Number(i128),
    /// An enumerator or a macro.
    Name(String),
    /// Text.
    Text(String),
    /// Numbers joined by an operator of C.
    Joined(Box<Self>, char, Box<Self>),
}

/// The field that has the value of an operand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its name in the record.
    pub name: String,
    /// What it holds.
    pub holds: Holds,
}

/// What a field holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Holds {
    /// A number of so many bits.
    Number {
        /// 8, 16, 32 or 64.
        bits: u32,
        /// Whether it may be negative.
        is_signed: bool,
    },
    /// Text.
    Text,
    /// Several values.
    Array,
}

impl Holds {
    /// What the field of a fetch argument holds: of `count=%dx:u64`, or of its type alone.
    pub fn of_fetch(fetch: &str) -> Self {
        let kind = fetch.rsplit_once(':').map_or("x64", |(_, kind)| kind);
        if kind.ends_with(']') {
            return Self::Array;
        }
        match kind {
            "string" | "ustring" | "symstr" | "%pd" | "%pD" => return Self::Text,
            "char" => return Self::Number { bits: 8, is_signed: true },
            _ => {}
        }
        let bits = match kind.strip_prefix('b').and_then(|field| field.rsplit_once('/')) {
            Some((_, container)) => container.parse(),
            None => kind.get(1..).unwrap_or_default().parse(),
        };
        Self::Number { bits: bits.unwrap_or(64), is_signed: kind.starts_with('s') && kind != "symbol" }
    }
}

impl Condition {
    /// Parses a condition: `count > 4096 && file->f_flags & O_DIRECT`.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`], with the column and what was expected there; and for what the kernel's filter cannot say.
    pub fn parse(text: &str) -> Result<Self> {
        parse::parse(text)
    }

    /// That the thread has this name.
    pub fn of_comm(name: &str) -> Self {
        let (operand, constant) = (Operand::Common("comm"), Constant::Text(name.to_owned()));
        Self::Test(Test { operand, comparison: Comparison::Equal, constant })
    }

    /// The values that it compares, each once.
    pub fn arguments(&self) -> Vec<&Argument> {
        let mut found = vec![];
        self.each(&mut |test| {
            if let Operand::Argument(argument) = &test.operand
                && !found.contains(&argument)
            {
                found.push(argument);
            }
        });
        found
    }

    /// The kernel's filter, given the field of each argument.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for what the kernel's filter cannot say, and [`ErrorKind::NoMatch`] for a name that is no
    /// constant.
    pub fn filter(&self, view: &View<'_>, field: &dyn Fn(&Argument) -> Option<Field>) -> Result<String> {
        self.text(view, field, false)
    }

    fn each<'a>(&'a self, f: &mut dyn FnMut(&'a Test)) {
        match self {
            Self::Any(parts) | Self::All(parts) => parts.iter().for_each(|part| part.each(f)),
            Self::Not(part) => part.each(f),
            Self::Test(test) => f(test),
        }
    }

    fn text(
        &self,
        view: &View<'_>,
        field: &dyn Fn(&Argument) -> Option<Field>,
        is_within: bool,
    ) -> Result<String> {
        let joined = |parts: &[Self], by: &str| {
            let parts = parts.iter().map(|part| part.text(view, field, true)).collect::<Result<Vec<_>>>()?;
            let whole = parts.join(by);
            Ok(if is_within { format!("({whole})") } else { whole })
        };
        match self {
            Self::Any(parts) => joined(parts, " || "),
            Self::All(parts) => joined(parts, " && "),
            Self::Not(part) => Ok(format!("!({})", part.text(view, field, false)?)),
            Self::Test(test) => test.text(view, field),
        }
    }
}

impl Test {
    fn text(&self, view: &View<'_>, field: &dyn Fn(&Argument) -> Option<Field>) -> Result<String> {
        let cannot =
            |what: String| Error::new(ErrorKind::Usage, format!("the kernel's filter cannot say it: {what}"));
        let (written, field) = match &self.operand {
            Operand::Common("comm") => ("$comm", Field { name: "comm".to_owned(), holds: Holds::Text }),
            Operand::Common(name) => (
                *name,
                Field { name: (*name).to_owned(), holds: Holds::Number { bits: 32, is_signed: true } },
            ),
            Operand::Argument(argument) => {
                let text = argument.text.as_str();
                let known = field(argument).ok_or_else(|| cannot(format!("no field has {text}")))?;
                (text, known)
            }
        };
        let sign = self.comparison.sign();
        let name = &field.name;
        match (field.holds, &self.constant) {
            (Holds::Array, _) => Err(cannot(format!("{written} has several values"))),
            (Holds::Text, Constant::Text(text)) => {
                let quote = ['"', '\''].into_iter().find(|q| !text.contains(*q));
                let quote = quote.ok_or_else(|| cannot("text with both kinds of quotes".to_owned()))?;
                match self.comparison {
                    Comparison::Equal | Comparison::NotEqual | Comparison::Matches => {
                        Ok(format!("{name} {sign} {quote}{text}{quote}"))
                    }
                    _ => Err(cannot(format!("{written} is text, which is compared by ==, != and ~"))),
                }
            }
            (Holds::Text, _) => Err(cannot(format!("{written} is text; write the other side in quotes"))),
            (Holds::Number { .. }, Constant::Text(_)) => {
                Err(cannot(format!("{written} is a number; to compare text write {written}:string")))
            }
            (Holds::Number { .. }, _) if self.comparison == Comparison::Matches => {
                Err(cannot(format!("{written} is a number, and ~ is for text")))
            }
            (Holds::Number { bits, is_signed }, constant) => {
                let value = constant.value(view)?;
                Ok(format!("{name} {sign} {}", fitting(value, bits, is_signed, written)?))
            }
        }
    }
}

/// A number as the kernel reads it for a field: without a sign where the field has none.
fn fitting(value: i128, bits: u32, is_signed: bool, written: &str) -> Result<i128> {
    let (least, most) = (-(1i128 << (bits - 1)), (1i128 << bits) - 1);
    if !(least..=most).contains(&value) {
        let what = format!("{value} is out of the range of {written}, which has {bits} bits");
        return Err(Error::new(ErrorKind::Usage, what));
    }
    let highest = 1i128 << (bits - 1);
    Ok(match is_signed {
        true if value >= highest => value - (1i128 << bits),
        false if value < 0 => value + (1i128 << bits),
        _ => value,
    })
}

impl Comparison {
    /// As it is written.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::SomeBits => "&",
            Self::Matches => "~",
        }
    }

    /// With its sides exchanged.
    fn flipped(self) -> Self {
        match self {
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
            same => same,
        }
    }
}

impl Constant {
    /// Its number. Cost: for a name, a walk over all enumerators.
    fn value(&self, view: &View<'_>) -> Result<i128> {
        match self {
            Self::Number(number) => Ok(*number),
            Self::Name(name) => named(view, name),
            Self::Text(_) => Err(Error::new(ErrorKind::Usage, "text within a number")),
            Self::Joined(left, by, right) => {
                let (left, right) = (left.value(view)?, right.value(view)?);
                let joined = match by {
                    '|' => Some(left | right),
                    '&' => Some(left & right),
                    '+' => left.checked_add(right),
                    '-' => left.checked_sub(right),
                    '*' => left.checked_mul(right),
                    _ => u32::try_from(right).ok().filter(|by| *by < 64).map(|by| left << by),
                };
                joined.ok_or_else(|| Error::new(ErrorKind::Usage, "a constant that is too large"))
            }
        }
    }
}

/// An enumerator of the kernel, else a macro that programs know too.
fn named(view: &View<'_>, name: &str) -> Result<i128> {
    let mut values: Vec<i64> = vec![];
    if let Some(string) = view.find_string(name.as_bytes()) {
        for at in view.types.owners().positions(TypeRecord::KIND, TypeKind::Enum as u64) {
            let constants = view.members(TypeId::new(at as u32));
            values.extend(constants.iter().filter(|c| c.name == string).map(|c| c.value.get()));
        }
    }
    values.sort_unstable();
    values.dedup();
    match (&values[..], well_known::value(name, view.machine())) {
        ([only], _) => Ok((*only).into()),
        ([], Some(value)) => Ok(value.into()),
        ([], None) => {
            let what = format!("{name} is no enumerator of the kernel and no known macro");
            Err(Error::new(ErrorKind::NoMatch, what).hint("write its number"))
        }
        (several, _) => {
            let several: Vec<String> = several.iter().map(i64::to_string).collect();
            let what = format!("there are several enumerators {name}: {}", several.join(", "));
            Err(Error::new(ErrorKind::NoMatch, what).hint("write the number"))
        }
    }
}

#[cfg(test)]
mod tests;
