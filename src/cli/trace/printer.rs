//! Prints records as they come: lines, JSON, or a file for viewers.
use super::records::Happened;
use crate::cli::output::failed;
use crate::error::Result;
use crate::query::trace::Plan;
use crate::query::trace::calls;
use crate::query::trace::names::Namer;
use crate::render::trace::viewer::Viewer;
use crate::render::trace::{json, text};
use std::io::Write;

/// How records are printed.
pub enum Form {
    /// A line for people.
    Text,
    /// A JSON object on each line.
    Json,
    /// A file for viewers.
    Viewer(Box<Viewer>),
}

/// Prints records.
pub struct Printer<'n, 'w> {
    form: Form,
    names: &'n mut dyn Namer,
    to: &'w mut dyn Write,
    /// What is not written yet.
    buffer: Vec<u8>,
    is_finished: bool,
}

/// What is written at a time.
const ENOUGH: usize = 64 << 10;

impl Form {
    /// A file for viewers of a plan's events.
    pub fn viewer(plan: &Plan) -> Self {
        Self::Viewer(Box::new(Viewer::new(calls::functions(&plan.events))))
    }
}

impl<'n, 'w> Printer<'n, 'w> {
    /// Prints to `to`, with these names of addresses.
    pub fn new(form: Form, names: &'n mut dyn Namer, to: &'w mut dyn Write) -> Self {
        Self { form, names, to, buffer: vec![], is_finished: false }
    }

    /// Prints what happened; not all of it at once: see [`flush`](Self::flush).
    ///
    /// # Errors
    /// That of writing.
    pub fn print(&mut self, happened: &Happened<'_>) -> Result<()> {
        let (names, out) = (&mut *self.names, &mut self.buffer);
        match (&mut self.form, happened) {
            (Form::Text, Happened::Record(_, record)) => text::line(record, names, out),
            (Form::Text, Happened::Notice(notice)) => text::notice(notice, out),
            (Form::Json, Happened::Record(_, record)) => json::line(record, names, out),
            (Form::Json, Happened::Notice(notice)) => json::notice(notice, out),
            (Form::Viewer(viewer), Happened::Record(at, record)) => viewer.event(*at, record, names, out),
            (Form::Viewer(viewer), Happened::Notice(notice)) => viewer.notice(notice, out),
        }
        if self.buffer.len() > ENOUGH { self.write() } else { Ok(()) }
    }

    /// Writes what was printed. After each reading.
    ///
    /// # Errors
    /// That of writing.
    pub fn flush(&mut self) -> Result<()> {
        self.write()?;
        self.to.flush().map_err(failed)
    }

    /// Ends the file. On every exit: dropping it does the same, without telling what fails.
    ///
    /// # Errors
    /// That of writing.
    pub fn finish(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.is_finished, true) {
            return Ok(());
        }
        if let Form::Viewer(viewer) = &mut self.form {
            viewer.finish(&mut self.buffer);
        }
        self.flush()
    }

    fn write(&mut self) -> Result<()> {
        let written = self.to.write_all(&self.buffer).map_err(failed);
        self.buffer.clear();
        written
    }
}

impl Drop for Printer<'_, '_> {
    fn drop(&mut self) {
        let _ = self.end();
    }
}
