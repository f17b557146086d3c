//! `probeidx serve --stdio`: requests and answers, each a line of JSON; see `docs/protocol.md`.
//!
//! One thread reads lines and puts requests into a queue. Workers take them, run the command that the
//! request names, and write the answer through the single [`Outlet`]. The reader never writes, so that it can cancel an
//! answer that is blocked on its reader; it stops reading while too much is queued.
mod answer;
mod answers;
mod lines;
mod parameters;
mod queue;
mod request;

pub use answer::Outlet;
pub use answers::{Answers, item};
pub use request::Request;

use std::io::{Read, Write};
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use serde_json::json;

use super::config::Config;
use super::escaped::{Escaped, Passing};
use super::exit::Outcome;
use super::output;
use crate::error::{Error, ErrorKind, Result};
use lines::Line;
use queue::Queue;
use request::{Id, Method};

/// The version of the protocol; increased if older programs would misunderstand it.
const PROTOCOL: u32 = 1;

/// Answers the requests on stdin.
pub fn run(config: &Config) -> Result<Outcome> {
    // Workers do not wait for memory or disk: more of them than processors gain nothing, and with fewer than two a long
    // answer would block a short one.
    let workers = thread::available_parallelism().map_or(2, NonZeroUsize::get).clamp(2, 8);
    connect(std::io::stdin(), Escaped::new(std::io::stdout(), Passing::Text), config, workers)
}

/// Answers requests until the input ends and all are answered, or the reader of the answers is gone.
///
/// # Errors
/// [`ErrorKind::Io`] if answers cannot be written, or requests cannot be read.
fn connect(
    input: impl Read + Send + 'static,
    output: impl Write + Send + 'static,
    config: &Config,
    workers: usize,
) -> Result<Outcome> {
    let shared = Arc::new(Shared {
        outlet: Outlet::new(Box::new(output)),
        queue: Queue::default(),
        answers: Answers::new(config),
        failed: Mutex::default(),
    });
    let theirs = Arc::clone(&shared);
    // Never joined: it may be blocked in a read forever.
    thread::spawn(move || theirs.read(input));
    thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| shared.work());
        }
    });
    let failed = shared.failed.lock().unwrap_or_else(PoisonError::into_inner).take();
    match failed.map_or_else(|| shared.outlet.failed().map(output::failed), Some) {
        Some(error) => Err(error),
        None => Ok(Outcome::Done),
    }
}

/// The state shared by the reader and the workers.
struct Shared {
    outlet: Outlet,
    queue: Queue,
    answers: Answers,
    /// Why the requests could not be read to the end.
    failed: Mutex<Option<Error>>,
}

impl Shared {
    fn read(&self, input: impl Read) {
        let read = lines::each(input, |line| {
            match line {
                Line::Whole(line) => self.take(line),
                Line::TooLong => {
                    let what = format!("a line is longer than {} bytes", lines::LONGEST);
                    self.queue.put(Request::wrong(Id::none(), &Error::new(ErrorKind::Usage, what)));
                }
            }
            !self.queue.is_closed()
        });
        if let Err(error) = read {
            let error = Error::new(ErrorKind::Io, format!("cannot read the requests: {error}"));
            *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        }
        self.queue.end();
    }

    fn take(&self, line: &[u8]) {
        if line.trim_ascii().is_empty() {
            return;
        }
        let mut request = Request::parse(line).unwrap_or_else(|(id, error)| Request::wrong(id, &error));
        if let Method::Cancel(id) = &request.method {
            let code = u8::from(self.queue.cancel(id) == 0);
            let done = json!({"code": code, "items": 0, "end": "complete"}).to_string();
            request.method = Method::Answered { field: "done", value: done };
        }
        self.queue.put(request);
    }

    fn work(&self) {
        while let Some(request) = self.queue.next() {
            self.answers.answer(&request, &self.outlet);
            self.queue.done(&request);
            if self.outlet.is_closed() {
                self.queue.close();
            }
        }
    }
}
