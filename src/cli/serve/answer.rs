//! Sends answers: complete lines, interleaved between requests.
use super::request::{Id, Request};
use crate::cli::exit::{self, Outcome};
use crate::error::Result;
use serde_json::{Value, json};
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The size of an answer's buffer.
const BUFFER: usize = 64 << 10;

/// The output that all answers share.
pub struct Outlet {
    target: Mutex<Box<dyn Write + Send>>,
    is_closed: AtomicBool,
    failed: Mutex<Option<io::Error>>,
}

impl Outlet {
    pub fn new(target: Box<dyn Write + Send>) -> Self {
        Self { target: Mutex::new(target), is_closed: AtomicBool::new(false), failed: Mutex::default() }
    }

    /// Sends whole lines.
    pub fn send(&self, lines: &[u8]) {
        let mut target = self.target.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_closed() {
            return;
        }
        if let Err(error) = target.write_all(lines).and_then(|()| target.flush()) {
            self.is_closed.store(true, Ordering::Release);
            // A reader who closes the pipe has what it wants.
            if error.kind() != io::ErrorKind::BrokenPipe {
                *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
            }
        }
    }

    /// Whether nothing can be sent any more.
    pub fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// The error that closed it, other than the reader being gone.
    pub fn failed(&self) -> Option<io::Error> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// How an answer ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Complete,
    Truncated,
    Cancelled,
}

impl End {
    fn name(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Truncated => "truncated",
            Self::Cancelled => "cancelled",
        }
    }
}

/// The answer to a request: the lines written to it become items. A write fails if the request is cancelled or has all
/// its items, which ends the command.
pub struct Answer<'a> {
    outlet: &'a Outlet,
    id: &'a Id,
    /// Lines are text, and are sent as strings.
    pub is_text: bool,
    skip: u64,
    limit: u64,
    is_cancelled: &'a AtomicBool,
    /// An incomplete line.
    begun: Vec<u8>,
    /// Lines that are not sent yet.
    ready: Vec<u8>,
    lines: u64,
    end: End,
}

impl<'a> Answer<'a> {
    pub fn new(outlet: &'a Outlet, request: &'a Request) -> Self {
        Self {
            outlet,
            id: &request.id,
            is_text: false,
            skip: request.skip,
            limit: request.limit,
            is_cancelled: &request.is_cancelled,
            begun: vec![],
            ready: vec![],
            lines: 0,
            end: End::Complete,
        }
    }

    /// Whether to end early.
    pub fn is_cancelled(&mut self) -> bool {
        if self.end == End::Complete && self.is_cancelled.load(Ordering::Relaxed) {
            self.end = End::Cancelled;
        }
        self.end == End::Cancelled
    }

    /// Sends the end of the answer, with the notes.
    pub fn end(mut self, result: &Result<Outcome>, notes: &[String]) {
        if !self.begun.is_empty() {
            let last = std::mem::take(&mut self.begun);
            let _ = self.line(&last);
        }
        for note in notes {
            self.put("note", json!(note).to_string().as_bytes());
        }
        match result {
            Err(error) if self.end == End::Complete => self.put("error", exit::object(error).as_bytes()),
            result => {
                // An answer that was ended early has no error of its own.
                let code = if self.end == End::Complete { exit::code(result) } else { 0 };
                let items = self.lines.saturating_sub(self.skip).min(self.limit);
                let done = json!({"code": code, "items": items, "end": self.end.name()});
                self.put("done", done.to_string().as_bytes());
            }
        }
        self.outlet.send(&self.ready);
    }

    fn line(&mut self, line: &[u8]) -> io::Result<()> {
        let at = self.lines;
        if at < self.skip {
            self.lines += 1;
            return Ok(());
        }
        if at - self.skip >= self.limit {
            self.end = End::Truncated;
            return Err(io::Error::other("there are more items than were asked for"));
        }
        self.lines += 1;
        match self.is_text {
            true => self.put("item", Value::from(String::from_utf8_lossy(line)).to_string().as_bytes()),
            false => self.put("item", line),
        }
        if self.ready.len() >= BUFFER {
            self.flush()?;
        }
        Ok(())
    }

    fn put(&mut self, field: &str, value: &[u8]) {
        // Writing to memory does not fail.
        let _ = write!(self.ready, "{{\"id\":{},\"{field}\":", self.id);
        self.ready.extend_from_slice(value);
        self.ready.extend_from_slice(b"}\n");
    }
}

impl Write for Answer<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.is_cancelled() || self.end != End::Complete {
            return Err(io::Error::other("the answer has ended"));
        }
        let mut rest = bytes;
        while let Some(end) = memchr::memchr(b'\n', rest) {
            if self.begun.is_empty() {
                self.line(&rest[..end])?;
            } else {
                self.begun.extend_from_slice(&rest[..end]);
                let line = std::mem::take(&mut self.begun);
                self.line(&line)?;
                self.begun = line;
                self.begun.clear();
            }
            rest = &rest[end + 1..];
        }
        self.begun.extend_from_slice(rest);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.outlet.send(&self.ready);
        self.ready.clear();
        match self.outlet.is_closed() {
            true => Err(io::ErrorKind::BrokenPipe.into()),
            false => Ok(()),
        }
    }
}
