//! The print functions, whose arguments differ from those of a call.
use super::super::ast::{ExpressionKind, Print};
use super::super::{Fault, Result};
use super::{Parser, expressions};

impl Parser<'_> {
    /// The part after the name of a print function.
    pub(super) fn print(&mut self, name: &str) -> Result<Box<Print>> {
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
        // A delimiter needs at least two values; without `ln` or a format at least one value is required.
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

    /// A whole histogram; or one of its values, with others after it.
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
        print.arguments.push(*expressions::boxed(token.place, ExpressionKind::Index { of, indexes }));
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

/// `print`, `printf`, `printd`; all but `printf` also with `ln`; all also with a leading `s`; and `print_char`.
pub(super) fn is_print(name: &str) -> bool {
    let kinds = ["print", "printf", "printd", "println", "printdln"];
    name == "print_char" || kinds.contains(&name.strip_prefix('s').unwrap_or(name))
}

/// Whether every `%` in a format starts a conversion or is doubled.
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
