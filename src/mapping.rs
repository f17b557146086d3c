//! Maps files into memory.
#![allow(unsafe_code)]
#[cfg(feature = "build")]
pub mod ahead;

use crate::error::{Error, ErrorKind, Result};
use crate::faults::{OnFault, Watched};
use memmap2::{Mmap, MmapOptions};
use probeidx_format::store::{Kernel, Open, SegmentId};
use std::fs::{File, Metadata, OpenOptions};
use std::ops::Range;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

/// A file mapped into memory, read-only.
pub struct Mapping {
    /// Declared before the mapping, so that it is dropped first.
    #[cfg_attr(not(feature = "build"), allow(dead_code, reason = "held until it is dropped"))]
    watched: Option<Watched>,
    map: Option<Mmap>,
}

impl Mapping {
    /// Maps a whole regular file. An empty file has no bytes. If the program watches faults
    /// ([`crate::faults::watch`]), truncating the file while it is mapped ends the process with a one-line message.
    pub fn open(path: &Path) -> Result<Self> {
        Self::of(&open(path)?, path, OnFault::End)
    }

    fn of(file: &Opened, path: &Path, on_fault: OnFault) -> Result<Self> {
        let length = file
            .stamp
            .length
            .try_into()
            .map_err(|_| Error::new(ErrorKind::Io, "too long to map").at(path))?;
        if length == 0 {
            return Ok(Self { watched: None, map: None });
        }
        // SAFETY: the mapping is private and read-only, and all its readers accept any bytes, so a change of the
        // underlying file can make an answer wrong but nothing else. Truncating it while mapped raises SIGBUS, which
        // `faults` handles if the program asked for it, and which otherwise kills the process. Indexes are replaced
        // by renaming a new file over the old one, never written in place, and package managers install debug
        // information in the same way.
        let map = unsafe { MmapOptions::new().len(length).map(&file.file) }
            .map_err(|e| Error::io(path, "read", e))?;
        Ok(Self { watched: Watched::new(&map, on_fault, path, lost), map: Some(map) })
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        self.map.as_deref().unwrap_or_default()
    }
    /// Removes a part of the file from the process's memory until it is read again.
    #[cfg(feature = "build")]
    pub fn forget(&self, part: &[u8]) {
        let Some(map) = &self.map else { return };
        let at = part.as_ptr().addr().wrapping_sub(map.as_ptr().addr());
        if at.checked_add(part.len()).is_some_and(|end| end <= map.len()) {
            // SAFETY: the mapping is private and nobody writes to it, so its pages are those of the file, and those
            // that `faults` put in place of unreadable ones are zeros: dropped, they come back with the same bytes.
            // A file that changes meanwhile is in `of`'s argument already. Failure costs only memory.
            let _ = unsafe { map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, at, part.len()) };
        }
    }
}

/// The segments of a store, with what its open kernels have in common.
pub struct Segments {
    /// Declared before the mapping, so that they are dropped first.
    open: Open<'static>,
    mapping: Mapping,
}

impl Segments {
    /// Maps the file of the segments, as [`Mapping::open`].
    pub fn open(path: &Path) -> Result<Self> {
        Ok(Self { open: Open::default(), mapping: Mapping::open(path)? })
    }
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        self.mapping.bytes()
    }
}

/// A kernel of a store, with the segments that it reads.
pub struct Kept {
    /// Declared before the segments, so that it is dropped first.
    kernel: Kernel<'static>,
    _segments: Arc<Segments>,
}

impl Kept {
    /// Opens a kernel, given its release, what its segments are called, and where they lie.
    ///
    /// # Errors
    /// Those of [`Kernel::open_among`].
    pub fn open(
        segments: Arc<Segments>,
        release: &[u8],
        chain: impl Iterator<Item = (SegmentId, Range<usize>)>,
    ) -> probeidx_format::Result<Self> {
        // SAFETY: the bytes stay mapped as long as the segments, which `Self` keeps; `Self` lends the kernel only for as long as
        // itself is borrowed, and the segments lend none of what is open.
        let bytes: &'static [u8] = unsafe { std::mem::transmute::<&[u8], &'static [u8]>(segments.bytes()) };
        let chain = chain.map(|(id, range)| (id, bytes.get(range).unwrap_or_default()));
        Ok(Self { kernel: Kernel::open_among(release, chain, &segments.open)?, _segments: segments })
    }
    /// The kernel.
    pub fn kernel(&self) -> &Kernel<'_> {
        &self.kernel
    }
}

/// A file that is read completely while others may write to it.
#[cfg(feature = "build")]
pub struct Watching {
    mapping: Mapping,
    opened: Opened,
}

#[cfg(feature = "build")]
impl Watching {
    /// Maps a whole regular file. If the program watches faults, parts that become unreadable read as zeros.
    pub fn open(path: &Path) -> Result<Self> {
        let opened = open(path)?;
        Ok(Self { mapping: Mapping::of(&opened, path, OnFault::Zeros)?, opened })
    }
    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        self.mapping.bytes()
    }
    /// Removes a part of the file from the process's memory until it is read again.
    pub fn forget(&self, part: &[u8]) {
        self.mapping.forget(part);
    }
    /// Checks that the file has not changed since it was opened. Replacing or removing a file does not change it: its
    /// name then belongs to another file.
    ///
    /// # Errors
    /// [`ErrorKind::Changed`], without the path.
    pub fn unchanged(&self) -> Result<()> {
        let again = "build again when nobody writes to it";
        if self.opened.file.metadata().is_ok_and(|now| Stamp::of(&now) != self.opened.stamp) {
            return Err(Error::new(ErrorKind::Changed, "the file changed while it was read").hint(again));
        }
        match self.mapping.watched.as_ref().is_some_and(Watched::is_faulty) {
            true => Err(Error::new(ErrorKind::Changed, "a part of the file could not be read")
                .hint("see whether its disk is whole, and build again")),
            false => Ok(()),
        }
    }
}

/// File attributes that change when a file is written to.
#[derive(PartialEq, Eq)]
struct Stamp {
    length: u64,
    modified: (i64, i64),
}

impl Stamp {
    fn of(file: &Metadata) -> Self {
        Self { length: file.len(), modified: (file.mtime(), file.mtime_nsec()) }
    }
}

struct Opened {
    file: File,
    stamp: Stamp,
}

fn open(path: &Path) -> Result<Opened> {
    let io = |e| Error::io(path, "read", e);
    // Opening a pipe must not block until it has a writer.
    let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path).map_err(io)?;
    let metadata = file.metadata().map_err(io)?;
    match metadata.is_file() {
        true => Ok(Opened { file, stamp: Stamp::of(&metadata) }),
        false => Err(Error::new(ErrorKind::Io, "not a regular file").at(path)),
    }
}

/// The error for an unreadable page of an index.
fn lost(path: &Path) -> Error {
    let what = "the index was cut off while it was read, or its disk fails";
    Error::new(ErrorKind::IndexDamaged, what)
        .at(path)
        .hint("replace an index by renaming another over it; build it again with: probeidx build --force")
}

#[cfg(all(test, feature = "build"))]
mod tests {
    use super::*;
    use std::fs;

    fn file_of(length: usize) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), vec![7; length]).unwrap();
        file
    }

    #[test]
    fn what_was_cut_off_reads_as_zeros_and_is_told() {
        crate::faults::watch(|_| vec![]);
        let file = file_of(1 << 20);
        let (first, second) = (Watching::open(file.path()).unwrap(), Watching::open(file.path()).unwrap());
        first.unchanged().unwrap();
        file.as_file().set_len(10_000).unwrap();
        for cut in [&first, &second] {
            assert_eq!(cut.bytes().len(), 1 << 20);
            assert_eq!((cut.bytes()[9_999], cut.bytes()[500_000], cut.bytes()[(1 << 20) - 1]), (7, 0, 0));
            assert_eq!(cut.unchanged().unwrap_err().kind(), ErrorKind::Changed);
        }
        drop((first, second));
        // Another mapping reuses the slot of a dropped one.
        let third = Watching::open(file_of(1 << 20).path()).unwrap();
        assert!(third.bytes().iter().all(|b| *b == 7));
        third.unchanged().unwrap();
    }

    #[test]
    fn a_change_is_told_and_a_replacement_is_none() {
        let file = file_of(100);
        let mapped = Watching::open(file.path()).unwrap();
        let other = file_of(50);
        fs::rename(other.path(), file.path()).unwrap();
        mapped.unchanged().unwrap();
        let mapped = Watching::open(file.path()).unwrap();
        fs::write(file.path(), [8; 60]).unwrap();
        assert_eq!(mapped.unchanged().unwrap_err().kind(), ErrorKind::Changed);
    }

    #[test]
    fn what_is_no_file_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for path in [folder.path(), &pipe] {
            assert_eq!(Mapping::open(path).err().unwrap().message(), "not a regular file");
        }
    }
}
