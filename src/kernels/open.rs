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
#[derive(Default)]
pub struct OpenIndexes {
    indexes: Mutex<FxHashMap<PathBuf, (Stamp, Arc<Index>)>>,
    stores: OpenStores,
}

/// Stores that are opened once: their kernels share a mapping.
#[derive(Default)]
pub struct OpenStores(Mutex<FxHashMap<PathBuf, (Stamp, Arc<Store>)>>);

impl OpenStores {
    /// The largest number of open stores.
    const MOST: usize = 16;

    /// Opens the index at this path, or the kernel of a store that it names. All kernels of a store share its mapping: what
    /// one question has brought into memory costs the next no page fault.
    ///
    /// # Errors
    /// Those of [`Index::open`].
    pub fn index(&self, path: &Path) -> Result<Index> {
        Index::open_with(path, |path| {
            let folder = path.parent().filter(|folder| store::is_store(folder));
            let manifest = folder.and_then(|folder| std::fs::metadata(folder.join(store::MANIFEST)).ok());
            let Some((folder, manifest)) = folder.zip(manifest) else { return Ok(None) };
            self.store(folder, Stamp::of(&manifest))?.kernel_named_by(path).map(Some)
        })
    }
    /// The store in a folder, whose manifest is the file of this stamp or a newer one.
    fn store(&self, folder: &Path, stamp: Stamp) -> Result<Arc<Store>> {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, store)) = open.get(folder)
            && *known == stamp
        {
            return Ok(Arc::clone(store));
        }
        let store = Arc::new(Store::open(folder)?);
        if open.len() >= Self::MOST {
            open.clear();
        }
        open.insert(folder.to_owned(), (stamp, Arc::clone(&store)));
        Ok(store)
    }
}

impl std::fmt::Debug for OpenStores {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        f.debug_set().entries(open.keys()).finish()
    }
}

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

impl OpenIndexes {
    /// The largest number of open indexes.
    const MOST: usize = 64;

    /// The index at this path: opened if it is not open yet, or if another file has replaced it. Users of the old one
    /// keep it.
    ///
    /// # Errors
    /// Those of [`Index::open`].
    pub fn open(&self, path: &Path) -> Result<Arc<Index>> {
        // A file that cannot be examined cannot be opened either, and opening reports why.
        let manifest = || path.with_file_name(crate::store::MANIFEST);
        let Ok(file) = std::fs::metadata(path).or_else(|_| std::fs::metadata(manifest())) else {
            return Index::open(path).map(Arc::new);
        };
        let stamp = Stamp::of(&file);
        let lock = || self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, index)) = lock().get(path)
            && *known == stamp
        {
            return Ok(Arc::clone(index));
        }
        let index = Arc::new(self.stores.index(path)?);
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
        let open = self.indexes.lock().unwrap_or_else(PoisonError::into_inner);
        f.debug_set().entries(open.keys()).finish()
    }
}
