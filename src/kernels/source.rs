//! Describes kernels that can be asked. One of a store is what the manifest says, and is not opened for that.
use super::open::OpenStores;
use super::side_by_side;
use crate::error::{Error, Result};
use crate::query::Index;
use crate::query::index::kernel_description::KernelDescription;
use crate::store::Store;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// Where a kernel's facts come from.
pub enum Source {
    /// An open index.
    Index(Arc<Index>),
    /// A kernel of a store, which this path opens.
    Stored {
        /// See [`Store::kernel`].
        path: PathBuf,
        /// The store.
        store: Arc<Store>,
        /// The position of its segment there.
        segment: u32,
        /// Once it is opened.
        index: OnceLock<Arc<Index>>,
    },
}

impl Source {
    /// Describes the kernels that these paths of one folder open, in the same order. Cost: of one in a store, a binary search.
    ///
    /// # Errors
    /// Those of [`Store::open`]; of each, those of opening it.
    pub fn describe(
        paths: &[PathBuf],
        stores: &OpenStores,
        open: &(impl Fn(&Path) -> Result<Arc<Index>> + Sync),
    ) -> Result<Vec<Result<(KernelDescription, Self)>>> {
        let folder = paths.first().and_then(|path| path.parent());
        let folder = folder.map(|folder| Folder::read(folder, stores)).transpose()?.flatten();
        Ok(side_by_side(paths, |path| {
            if let Some(described) = folder.as_ref().and_then(|folder| folder.stored(path)) {
                return Ok(described);
            }
            let index = open(path)?;
            let kernel = KernelDescription::of(&index.view()?);
            Ok((kernel, Self::Index(index)))
        }))
    }

    /// The index, given how to open one. It stays open.
    ///
    /// # Errors
    /// Those of opening it.
    pub fn index(&self, open: impl Fn(&Path) -> Result<Arc<Index>>) -> Result<&Arc<Index>> {
        match self {
            Self::Index(index) => Ok(index),
            Self::Stored { path, index, .. } => match index.get() {
                Some(index) => Ok(index),
                None => {
                    let opened = open(path)?;
                    Ok(index.get_or_init(|| opened))
                }
            },
        }
    }

    /// The store, and the position of the segment there.
    pub fn stored(&self) -> Option<(&Arc<Store>, u32)> {
        match self {
            Self::Index(_) => None,
            Self::Stored { store, segment, .. } => Some((store, *segment)),
        }
    }
}

/// A folder that is a store.
struct Folder {
    path: PathBuf,
    store: Arc<Store>,
    /// The names of its files, which come before kernels of the store.
    files: BTreeSet<OsString>,
}

impl Folder {
    /// `None` if it is no store.
    fn read(folder: &Path, stores: &OpenStores) -> Result<Option<Self>> {
        let Some(store) = stores.store(folder)? else { return Ok(None) };
        let failed = |e| Error::io(folder, "list the folder", e);
        let named = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let files = std::fs::read_dir(named).map_err(failed)?.map(|entry| Ok(entry?.file_name()));
        let files = files.collect::<std::io::Result<_>>().map_err(failed)?;
        Ok(Some(Self { path: folder.to_owned(), store, files }))
    }

    /// The kernel of the store that is named by a path in it.
    fn stored(&self, path: &Path) -> Option<(KernelDescription, Source)> {
        // To compare paths by their components costs as much as to find a kernel.
        let is_in_it = path.parent()?.as_os_str() == self.path.as_os_str();
        if !is_in_it || self.files.contains(path.file_name()?) {
            return None;
        }
        let (store, manifest) = (&self.store, self.store.manifest());
        let entry = manifest.kernel(path.file_stem()?.as_encoded_bytes())?;
        let kernel = KernelDescription::stored(&manifest, entry, || store.kernel(entry).ok());
        let (store, segment, index) = (Arc::clone(store), entry.segment.get(), OnceLock::new());
        Some((kernel, Source::Stored { path: path.to_owned(), store, segment, index }))
    }
}
