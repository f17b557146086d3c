//! What a command has besides its arguments: what it reads as its input, where its notes go, which indexes are open. Of a
//! command line these are those of the process; of a request to `serve` they come with it.
use std::io::{Cursor, IsTerminal, Read, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::Result;
use crate::kernels::OpenIndexes;
use crate::query::Index;
use crate::render::printable;

/// Where input comes from and notes go.
#[derive(Clone, Debug, Default)]
pub enum Session {
    /// From stdin, and to stderr; an index is opened for each question.
    #[default]
    Process,
    /// With the request, and back with its answer.
    Request(Arc<Request>),
}

/// What belongs to one request.
#[derive(Debug, Default)]
pub struct Request {
    /// What the command reads in place of stdin.
    pub input: Arc<[u8]>,
    /// What it said besides its results.
    pub notes: Mutex<Vec<String>>,
    /// Shared by all requests.
    pub open: Arc<OpenIndexes>,
}

impl Session {
    /// Whether the process ends with the answer, and what it holds with it.
    pub fn ends_with_the_answer(&self) -> bool {
        matches!(self, Self::Process)
    }

    /// What the command reads.
    pub fn input(&self) -> Box<dyn Read + Send> {
        match self {
            Self::Process => Box::new(std::io::stdin()),
            Self::Request(request) => Box::new(Cursor::new(Arc::clone(&request.input))),
        }
    }

    /// Whether a person types what the command reads.
    pub fn is_typed(&self) -> bool {
        matches!(self, Self::Process) && std::io::stdin().is_terminal()
    }

    /// Says something that is no result. There is nobody to tell if that fails.
    pub fn note(&self, text: &str) {
        const MOST: usize = 1000;
        match self {
            Self::Process => {
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

    /// Opens an index, or gives the one that is open.
    ///
    /// # Errors
    /// Those of [`Index::open`].
    pub fn open(&self, path: &Path) -> Result<Arc<Index>> {
        match self {
            Self::Process => Index::open(path).map(Arc::new),
            Self::Request(request) => request.open.open(path),
        }
    }
}
