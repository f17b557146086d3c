//! The context of a command besides its arguments: its input, where its notes go, which indexes are open. For a command
//! line, these belong to the process; for a request to `serve`, to the request.
use std::io::{Cursor, IsTerminal, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Result;
use crate::kernels::{OpenIndexes, OpenStores};
use crate::query::Index;
use crate::render::printable;

/// The source of input and destination of notes.
#[derive(Clone, Debug)]
pub enum Session {
    /// Stdin and stderr; an index is opened for each question, a store once.
    Process(Arc<OpenStores>),
    /// Input comes with the request, and notes go back with its answer.
    Request(Arc<Request>),
}

/// The context of one request.
#[derive(Debug, Default)]
pub struct Request {
    /// The input of the command, in place of stdin.
    pub input: Arc<[u8]>,
    /// The notes so far.
    pub notes: Mutex<Vec<String>>,
    /// Shared by all requests.
    pub open: Arc<OpenIndexes>,
}

impl Default for Session {
    fn default() -> Self {
        Self::Process(Arc::default())
    }
}

impl Session {
    /// Whether the process ends after the answer, so that its memory need not be freed.
    pub fn ends_with_the_answer(&self) -> bool {
        matches!(self, Self::Process(_))
    }

    /// The input of the command.
    pub fn input(&self) -> Box<dyn Read + Send> {
        match self {
            Self::Process(_) => Box::new(std::io::stdin()),
            Self::Request(request) => Box::new(Cursor::new(Arc::clone(&request.input))),
        }
    }

    /// Whether the input is typed at a terminal.
    pub fn is_typed(&self) -> bool {
        matches!(self, Self::Process(_)) && std::io::stdin().is_terminal()
    }

    /// Writes a note. A failure to write is ignored.
    pub fn note(&self, text: &str) {
        const MOST: usize = 1000;
        match self {
            Self::Process(_) => {
                let _ = writeln!(std::io::stderr().lock(), "probeidx: {}", printable(text));
            }
            Self::Request(request) => {
                let mut notes = request.notes.lock().unwrap_or_else(PoisonError::into_inner);
                if notes.len() < MOST {
                    notes.push(text.to_owned());
                }
            }
        }
    }

    /// The stores that are open.
    pub fn stores(&self) -> &OpenStores {
        match self {
            Self::Process(stores) => stores,
            Self::Request(request) => request.open.stores(),
        }
    }

    /// Opens an index, or returns the open one.
    ///
    /// # Errors
    /// Those of [`Index::open`].
    pub fn open(&self, path: &Path) -> Result<Arc<Index>> {
        match self {
            Self::Process(stores) => stores.index(path).map(Arc::new),
            Self::Request(request) => request.open.open(path),
        }
    }
}
