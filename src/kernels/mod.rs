//! The kernels of a folder of indexes: lists them, chooses among them, opens each once, and queries many in parallel.
//!
//! ```
//! # let folder = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/example_folder.rs"));
//! let kernels = probeidx::Kernels::new(folder.path());
//! let counts = kernels.ask(&kernels.chosen(Some("*"), None)?, |index| {
//!     Ok(index.lookup()?.functions(b"submit").count())
//! });
//! assert_eq!(counts.into_iter().collect::<probeidx::Result<Vec<_>>>()?, [1]);
//! # Ok::<(), probeidx::Error>(())
//! ```
mod choice;
mod history;
mod open;
mod selection;
mod source;

pub use choice::{choose, releases};
pub use history::histories;
pub use open::{OpenIndexes, OpenStores};
pub use selection::Selection;
pub use source::Source;

use crate::error::Result;
use crate::query::Index;
use crate::query::index::kernel_id::KernelId;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The indexes of a folder, or a single index. Threads can share it without a lock of their own.
#[derive(Debug, Default)]
pub struct Kernels {
    db: PathBuf,
    open: OpenIndexes,
}

impl Kernels {
    /// Creates it without reading anything. `db` is an index file, or a folder of them.
    pub fn new(db: impl Into<PathBuf>) -> Self {
        Self { db: db.into(), open: OpenIndexes::default() }
    }

    /// The index files of the chosen kernels: see [`choose`].
    ///
    /// # Errors
    /// Those of [`choose`].
    pub fn chosen(&self, kernel: Option<&str>, running: Option<&str>) -> Result<Vec<PathBuf>> {
        choose(&self.db, kernel, running)
    }

    /// An index, which stays open. Cost, once it is open: a `stat` of the file.
    ///
    /// # Errors
    /// Those of [`Index::open`].
    pub fn open(&self, path: &Path) -> Result<Arc<Index>> {
        self.open.open(path)
    }

    /// The kernels of these index files, in the same order.
    ///
    /// # Errors
    /// Those of [`Index::open`], for the first file that cannot be opened.
    pub fn ids(&self, paths: &[PathBuf]) -> Result<Vec<KernelId>> {
        paths.iter().map(|path| Ok(KernelId::of(&self.open(path)?.view()?))).collect()
    }

    /// Runs a question on many indexes, on all processors; the answers are in the order of the files. If the question
    /// panics, the others end and the panic is passed on to the caller.
    pub fn ask<T: Send>(
        &self,
        paths: &[PathBuf],
        question: impl Fn(&Index) -> Result<T> + Sync,
    ) -> Vec<Result<T>> {
        side_by_side(paths, |path| {
            self.open(path).and_then(|index| question(&index).map_err(|e| index.named(e)))
        })
    }
}

/// Asks the same of several things, on all processors; the answers are in their order. If the question panics, the others
/// end and the panic is passed on to the caller.
pub fn side_by_side<I: Sync, T: Send>(items: &[I], question: impl Fn(&I) -> T + Sync) -> Vec<T> {
    let answers = Mutex::new(Vec::with_capacity(items.len()));
    let next = AtomicUsize::new(0);
    let work = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else { break };
            let answer = question(item);
            answers.lock().unwrap_or_else(PoisonError::into_inner).push((at, answer));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get).min(items.len());
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let mut answers: Vec<(usize, T)> = answers.into_inner().unwrap_or_else(PoisonError::into_inner);
    answers.sort_unstable_by_key(|(at, _)| *at);
    answers.into_iter().map(|(_, answer)| answer).collect()
}
