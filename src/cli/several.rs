//! One question to several kernels: what each answers stands below its name, and those that have nothing are named.
use super::config::Config;
use super::exit::Outcome;
use super::note;
use super::output::failed;
use super::processes;
use crate::error::Result;
use crate::render::printable;
use probeidx_format::View;
use std::io::{self, Write};

/// How many kernels that have nothing are named.
const NAMED: usize = 4;

/// The kernels of one question.
pub struct Several<'c> {
    config: &'c Config,
    /// Whether each answer stands below a name.
    is_headed: bool,
    /// Why some have nothing, and which.
    without: Vec<(Option<String>, Vec<String>)>,
}

impl<'c> Several<'c> {
    /// So many kernels. A line of JSON names its kernel itself.
    pub fn new(config: &'c Config, count: usize) -> Self {
        Self { config, is_headed: count > 1 && !config.json, without: vec![] }
    }

    /// Without names above the answers, unless they are text for people.
    pub fn headed_if(self, is_text: bool) -> Self {
        Self { is_headed: self.is_headed && is_text, ..self }
    }

    /// A writer for what one of them answers.
    pub fn below<'o>(&self, view: &View<'_>, out: &'o mut dyn Write) -> Below<'o> {
        Below { out, name: self.is_headed.then(|| processes::name(view)) }
    }

    /// One of them has nothing, for this reason if it is known.
    pub fn lacks(&mut self, view: &View<'_>, why: Option<&str>) {
        let name = processes::name(view);
        match self.without.iter_mut().find(|(known, _)| known.as_deref() == why) {
            Some((_, names)) => names.push(name),
            None => self.without.push((why.map(str::to_owned), vec![name])),
        }
    }

    /// Names those that have nothing, where others have something.
    ///
    /// # Errors
    /// That what was answered cannot be written.
    pub fn end(self, outcome: Outcome, out: &mut dyn Write) -> Result<Outcome> {
        if outcome == Outcome::Done && !self.config.json && !self.without.is_empty() {
            // It follows the answers, on a terminal too.
            out.flush().map_err(failed)?;
            self.without.iter().for_each(|(why, names)| note(self.config, &said(why.as_deref(), names)));
        }
        Ok(outcome)
    }
}

fn said(why: Option<&str>, names: &[String]) -> String {
    let named = names[..names.len().min(NAMED)].join(", ");
    let named = match names.len().saturating_sub(NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    };
    why.map_or_else(|| format!("nothing in {named}"), |why| format!("{named}: {why}"))
}

/// A writer that writes a name above the first line, if there is any.
pub struct Below<'o> {
    out: &'o mut dyn Write,
    name: Option<String>,
}

impl Below<'_> {
    #[cold]
    fn head(&mut self) -> io::Result<()> {
        self.name.take().map_or(Ok(()), |name| writeln!(self.out, "{}", printable(&name)))
    }
}

impl Write for Below<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.name.is_some() && !bytes.is_empty() {
            self.head()?;
        }
        self.out.write(bytes)
    }

    fn write_all(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.name.is_some() && !bytes.is_empty() {
            self.head()?;
        }
        self.out.write_all(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_have_nothing_are_named() {
        let names: Vec<String> = (1..=6).map(|minor| format!("kernel 6.{minor}")).collect();
        assert_eq!(said(None, &names[..1]), "nothing in kernel 6.1");
        let named = "kernel 6.1, kernel 6.2, kernel 6.3, kernel 6.4 and 2 more: no type x";
        assert_eq!(said(Some("no type x"), &names), named);
    }

    #[test]
    fn a_name_stands_above_the_first_line_alone() {
        let mut out = vec![];
        let mut below = Below { out: &mut out, name: Some("kernel 6.1".to_owned()) };
        below.write_all(b"").unwrap();
        below.write_all(b"one\n").unwrap();
        below.write_all(b"two\n").unwrap();
        assert_eq!(out, b"kernel 6.1\none\ntwo\n");
    }
}
