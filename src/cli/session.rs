//! What a command has besides its arguments: what it reads as its input, where its notes go, which indexes are open. Of a
//! command line these are those of the process; of a request to `serve` they come with it.
use std::fs::Metadata;
use std::io::{Cursor, IsTerminal, Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use rustc_hash::FxHashMap;

use crate::error::Result;
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
            Self::Request(request) => request.open.get(path),
        }
    }
}

/// Indexes that stay open from question to question. Whoever asks a mapping for the first time pays a page fault for each
/// 64 KiB that the answer touches, which is more than most answers cost.
#[derive(Default)]
pub struct OpenIndexes(Mutex<FxHashMap<PathBuf, (Stamp, Arc<Index>)>>);

/// Which file it was that was opened: one that replaces it differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    device: u64,
    inode: u64,
    length: u64,
    modified: (i64, i64),
}

impl Stamp {
    fn of(file: &Metadata) -> Self {
        let modified = (file.mtime(), file.mtime_nsec());
        Self { device: file.dev(), inode: file.ino(), length: file.len(), modified }
    }
}

impl OpenIndexes {
    /// How many are kept at most.
    const MOST: usize = 64;

    /// The index at this path: opened where it is not yet, or where another file has taken its place. Answers that are on
    /// their way keep the old one.
    fn get(&self, path: &Path) -> Result<Arc<Index>> {
        // What cannot be looked at cannot be opened, and opening says why.
        let Ok(file) = std::fs::metadata(path) else { return Index::open(path).map(Arc::new) };
        let stamp = Stamp::of(&file);
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, index)) = lock().get(path)
            && *known == stamp
        {
            return Ok(Arc::clone(index));
        }
        let index = Arc::new(Index::open(path)?);
        let mut open = lock();
        if open.len() >= Self::MOST {
            open.clear();
        }
        open.insert(path.to_owned(), (stamp, Arc::clone(&index)));
        Ok(index)
    }
}

impl std::fmt::Debug for OpenIndexes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        f.debug_set().entries(open.keys()).finish()
    }
}
