//! Opens a store: a folder with many kernels, each of which is asked as if it had an index.
//!
//! ```text
//! STORE/manifest    which kernels there are, and where their segments lie
//! STORE/segments.0  the segments, one after another; only appended to. The manifest has the number
//! ```
//!
//! A kernel is named by a path that does not exist: that of the store, its name, and `.pidx`.
use crate::error::{Error, ErrorKind, Result};
use crate::mapping::{Kept, Mapping, Segments};
use probeidx_format::store::Kernel;
use probeidx_format::store::manifest::{KernelEntry, Manifest, SegmentEntry};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file that makes a folder a store.
pub const MANIFEST: &str = "manifest";

/// An open store.
pub struct Store {
    manifest: Mapping,
    data: PathBuf,
    segments: Arc<Segments>,
}

/// Whether a folder is a store. Cost: a look at its manifest's name.
pub fn is_store(folder: &Path) -> bool {
    folder.join(MANIFEST).is_file()
}

impl Store {
    /// Opens a store. Cost: the checksum of its manifest.
    ///
    /// # Errors
    /// [`ErrorKind::NoIndex`], [`ErrorKind::IndexTooOld`], [`ErrorKind::IndexTooNew`], [`ErrorKind::IndexDamaged`].
    pub fn open(folder: &Path) -> Result<Self> {
        let path = folder.join(MANIFEST);
        let manifest = Mapping::open(&path)?;
        let open = Manifest::open(manifest.bytes()).map_err(|e| damaged(&path, e))?;
        let ends = open.segments.iter().map(|s| s.offset.get().saturating_add(s.length.get()));
        let length = ends.max().unwrap_or(0);
        let data = data(folder, open.generation);
        let segments = Arc::new(Segments::open(&data)?);
        if (segments.bytes().len() as u64) < length {
            let what = format!("it has {} bytes, and its manifest needs {length}", segments.bytes().len());
            return Err(Error::new(ErrorKind::IndexDamaged, what).at(&data).hint(REMEDY));
        }
        Ok(Self { manifest, data, segments })
    }
    /// The manifest.
    pub fn manifest(&self) -> Manifest<'_> {
        Manifest::open_again(self.manifest.bytes()).expect("checked when it was opened")
    }
    /// The bytes of a segment.
    pub fn segment(&self, entry: &SegmentEntry) -> &[u8] {
        let start = entry.offset.get() as usize;
        self.segments
            .bytes()
            .get(start..start.saturating_add(entry.length.get() as usize))
            .unwrap_or_default()
    }
    /// The file with the segments.
    pub fn data(&self) -> &Path {
        &self.data
    }
    /// A kernel. Cost: the checksums of the headers of its segments.
    ///
    /// # Errors
    /// [`ErrorKind::IndexDamaged`], naming the part.
    pub fn kernel(&self, entry: &KernelEntry) -> Result<Kernel<'_>> {
        let chain = self.manifest().chain(entry);
        Kernel::open(chain.into_iter().map(|segment| self.segment(segment)))
            .map_err(|e| damaged(&self.data, e))
    }
    /// The kernel that a path in the store's folder names, which keeps what it reads open.
    ///
    /// # Errors
    /// As for [`kernel`](Self::kernel); [`ErrorKind::NoIndex`] if the store has no such kernel.
    pub(crate) fn kernel_named_by(&self, path: &Path) -> Result<Kept> {
        let name = path.file_stem().unwrap_or_default().as_encoded_bytes();
        match self.manifest().kernel(name) {
            Some(entry) => self.keep(entry),
            None => {
                let folder = path.parent().unwrap_or(path);
                Err(no_kernel(folder, &String::from_utf8_lossy(name)))
            }
        }
    }
    fn keep(&self, entry: &KernelEntry) -> Result<Kept> {
        let place = |s: &SegmentEntry| s.offset.get() as usize..(s.offset.get() + s.length.get()) as usize;
        let manifest = self.manifest();
        let chain = manifest.chain(entry).into_iter().map(|s| (s.id, place(s)));
        let release = manifest.string(entry.release);
        Kept::open(Arc::clone(&self.segments), release, chain).map_err(|e| damaged(&self.data, e))
    }
}

/// The file with the segments of this number.
pub fn data(folder: &Path, generation: u32) -> PathBuf {
    folder.join(format!("segments.{generation}"))
}

/// The path by which the kernel of this name is asked.
pub fn path_of(folder: &Path, name: &[u8]) -> PathBuf {
    folder.join(format!("{}.pidx", String::from_utf8_lossy(name)))
}

/// The names of all kernels, sorted.
///
/// # Errors
/// Those of [`Store::open`].
pub fn names(folder: &Path) -> Result<Vec<String>> {
    let store = Store::open(folder)?;
    let manifest = store.manifest();
    Ok(manifest
        .kernels
        .iter()
        .map(|k| String::from_utf8_lossy(manifest.string(k.name)).into_owned())
        .collect())
}

/// The kernel that a path names, if it names one of a store.
///
/// # Errors
/// Those of [`Store::open`]; [`ErrorKind::NoIndex`] if the store has no such kernel.
pub(crate) fn kernel_at(path: &Path) -> Result<Option<Kept>> {
    let Some(folder) = path.parent().filter(|folder| is_store(folder)) else { return Ok(None) };
    Store::open(folder)?.kernel_named_by(path).map(Some)
}

/// Whether a folder is a store with a kernel of this name.
///
/// # Errors
/// Those of [`Store::open`].
pub fn has(folder: &Path, name: &str) -> Result<bool> {
    Ok(is_store(folder) && Store::open(folder)?.manifest().kernel(name.as_bytes()).is_some())
}

/// A store has no kernel of this name.
pub fn no_kernel(folder: &Path, name: &str) -> Error {
    let what = format!("the store has no kernel {name}");
    Error::new(ErrorKind::NoIndex, what).at(folder).hint("list them with: probeidx fleet list")
}

const REMEDY: &str = "add its kernels to a new store with: probeidx fleet add";

/// An error of the format as one of a file of a store.
pub fn damaged(path: &Path, error: probeidx_format::Error) -> Error {
    Error::of_format(&error, path, REMEDY)
}
