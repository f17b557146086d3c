//! Indexes that are opened once and stay open.
use crate::error::Result;
use crate::query::Index;
use crate::store::{self, Store};
use rustc_hash::FxHashMap;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Indexes that stay open between questions. In a new mapping, there is a page fault for each 64 KiB that an answer
/// touches, which costs more than most answers.
#[derive(Debug, Default)]
pub struct OpenIndexes {
    indexes: Opened<Index, 64>,
    stores: OpenStores,
}

/// Stores that are opened once: their kernels share a mapping.
#[derive(Debug, Default)]
pub struct OpenStores(Opened<Store, 16>);

/// What is open, by its path, and at most so many at a time.
struct Opened<T, const MOST: usize>(Mutex<FxHashMap<PathBuf, (Stamp, Arc<T>)>>);

/// Identifies the file that was opened: a replacement differs.
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

impl<T, const MOST: usize> Opened<T, MOST> {
    /// What is open at a path: opened if it is not, or if another file has replaced the one of which it was made. Users of the
    /// old one keep it. What two threads open at the same time is that of one of them.
    ///
    /// # Errors
    /// Those of `open`.
    fn get(&self, path: &Path, stamp: Stamp, open: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = |all: &FxHashMap<PathBuf, (Stamp, Arc<T>)>| {
            all.get(path).filter(|(known, _)| *known == stamp).map(|(_, opened)| Arc::clone(opened))
        };
        if let Some(opened) = known(&lock()) {
            return Ok(opened);
        }
        let opened = Arc::new(open()?);
        let mut all = lock();
        if let Some(opened) = known(&all) {
            return Ok(opened);
        }
        if all.len() >= MOST {
            all.clear();
        }
        all.insert(path.to_owned(), (stamp, Arc::clone(&opened)));
        Ok(opened)
    }
}

impl<T, const MOST: usize> Default for Opened<T, MOST> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T, const MOST: usize> std::fmt::Debug for Opened<T, MOST> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        f.debug_set().entries(all.keys()).finish()
    }
}

impl OpenStores {
    /// Opens the index at this path, or the kernel of a store that it names. All kernels of a store share its mapping: what
    /// one question has brought into memory costs the next no page fault.
    ///
    /// # Errors
    /// Those of [`Index::open`].
    pub fn index(&self, path: &Path) -> Result<Index> {
        let store_of = |path: &Path| path.parent().map_or(Ok(None), |folder| self.store(folder));
        Index::open_with(path, |path| match store_of(path)? {
            Some(store) => store.kernel_named_by(path).map(Some),
            None => Ok(None),
        })
    }
    /// The store in a folder; `None` if there is none.
    ///
    /// # Errors
    /// Those of [`Store::open`].
    pub fn store(&self, folder: &Path) -> Result<Option<Arc<Store>>> {
        let manifest = std::fs::metadata(folder.join(store::MANIFEST)).ok().filter(Metadata::is_file);
        let open = |manifest| self.0.get(folder, Stamp::of(&manifest), || Store::open(folder));
        manifest.map(open).transpose()
    }
}

impl OpenIndexes {
    /// The stores that are open.
    pub fn stores(&self) -> &OpenStores {
        &self.stores
    }
    /// The index at this path: opened if it is not open yet, or if another file has replaced it. Users of the old one
    /// keep it.
    ///
    /// # Errors
    /// Those of [`Index::open`].
    pub fn open(&self, path: &Path) -> Result<Arc<Index>> {
        // A file that cannot be examined cannot be opened either, and opening reports why.
        let manifest = || path.with_file_name(store::MANIFEST);
        let Ok(file) = std::fs::metadata(path).or_else(|_| std::fs::metadata(manifest())) else {
            return Index::open(path).map(Arc::new);
        };
        self.indexes.get(path, Stamp::of(&file), || self.stores.index(path))
    }
}
