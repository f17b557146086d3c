//! Answers requests in this process, for whoever takes them: `serve` from lines, `probeidx web` from a browser.
use super::answer::{Answer, Outlet};
use super::parameters::Methods;
use super::request::{Method, Request};
use crate::cli::args::Global;
use crate::cli::config::Config;
use crate::cli::exit::Outcome;
use crate::cli::session::{self, Session};
use crate::cli::{answer, output};
use crate::kernels::OpenIndexes;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

/// Answers requests; threads share it. Indexes stay open from one to the next.
pub struct Answers {
    config: Config,
    open: Arc<OpenIndexes>,
    /// Definitions of the commands that no thread uses now: to build one costs more than most answers.
    methods: Mutex<Vec<Methods>>,
}

impl Answers {
    /// What a request leaves out is as in `config`.
    pub fn new(config: &Config) -> Self {
        Self { config: config.clone(), open: Arc::default(), methods: Mutex::default() }
    }

    /// The configuration of a request without parameters: an index that is opened with it stays open for requests.
    pub fn config(&self) -> Config {
        self.config.for_request(&Global::default(), Session::Request(self.session(Arc::default())))
    }

    /// Writes the whole answer to a request.
    pub fn answer(&self, request: &Request, outlet: &Outlet) {
        if let Method::Answered { field, value } = &request.method {
            let line = format!("{{\"id\":{},\"{field}\":{value}}}\n", request.id);
            return outlet.send(line.as_bytes());
        }
        let idle = || self.methods.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = idle().pop();
        let mut methods = taken.unwrap_or_else(Methods::new);
        self.write(request, &mut methods, outlet);
        idle().push(methods);
    }

    /// The whole answer to a request: lines of the protocol.
    pub fn lines(&self, request: &Request) -> Vec<u8> {
        let lines = Lines::default();
        self.answer(request, &Outlet::new(Box::new(lines.clone())));
        std::mem::take(&mut *lines.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn session(&self, input: Arc<[u8]>) -> Arc<session::Request> {
        Arc::new(session::Request { input, notes: Mutex::default(), open: Arc::clone(&self.open) })
    }

    fn write(&self, request: &Request, methods: &mut Methods, outlet: &Outlet) {
        let mut out = Answer::new(outlet, request);
        let own = self.session(Arc::clone(&request.input));
        let result = match &request.method {
            _ if out.is_cancelled() => Ok(Outcome::Done),
            Method::Methods => methods.list(&mut out).map_err(output::failed).map(|()| Outcome::Done),
            Method::Question(name) => methods.parse(name, &request.params).and_then(|args| {
                out.is_text = !args.global.json;
                let config = self.config.for_request(&args.global, Session::Request(Arc::clone(&own)));
                answer(&args.command, &config, &mut out)
            }),
            Method::Cancel(_) | Method::Answered { .. } => Ok(Outcome::Done),
        };
        let notes = std::mem::take(&mut *own.notes.lock().unwrap_or_else(PoisonError::into_inner));
        out.end(&result, &notes);
    }
}

/// The JSON of an item, of a line of the answer to a request; `None` of its other lines.
pub fn item<'l>(request: &Request, line: &'l [u8]) -> Option<&'l [u8]> {
    let start = format!("{{\"id\":{},\"item\":", request.id);
    line.strip_prefix(start.as_bytes())?.strip_suffix(b"}")
}

/// An answer that is kept rather than sent.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
