//! An open index, which objects of Python share. It keeps the mapping for as long as one of them lives.
use crate::failure::Answer;
use crate::failure::Failure;
use probeidx::query::Index;
use probeidx::query::index::kernel_description::KernelDescription;
use probeidx::{Error, ErrorKind, store};
use probeidx_format::View;
use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;

/// A kernel, or a program, that can be asked.
pub struct Kernel {
    /// The open index.
    pub index: Arc<Index>,
    /// What it is of.
    pub description: KernelDescription,
    watched: Watched,
}

impl Kernel {
    /// Opens the index at a path, with what opens it.
    ///
    /// # Errors
    /// Those of [`Index::open`].
    pub fn open(path: &Path, open: impl Fn(&Path) -> probeidx::Result<Arc<Index>>) -> Answer<Self> {
        loop {
            let index = open(path)?;
            let watched = Watched::of(path)?;
            // One that was replaced in between is opened again, so that what is watched is what is mapped.
            if watched.is_at(path) {
                let description = KernelDescription::of(&index.view()?);
                return Ok(Self { index, description, watched });
            }
        }
    }

    /// Asks the tables. Cost of its own: a system call and some microseconds.
    ///
    /// # Errors
    /// Those of the question; [`ErrorKind::Changed`] if somebody wrote into the file since it was opened.
    pub fn ask<T>(&self, question: impl FnOnce(&View<'_>) -> Answer<T>) -> Answer<T> {
        self.watched.unchanged(self.index.path())?;
        question(&self.index.view()?).map_err(|failure| match failure {
            Failure::Library(error) => Failure::Library(self.index.named(error)),
            failure => failure,
        })
    }

    /// As `uname -r` prints it; empty for a program or shared library.
    pub fn release(&self) -> &str {
        &self.description.id.release
    }
}

/// The file that is mapped: a page of it that is cut off would end the process when it is read.
struct Watched {
    file: File,
    length: u64,
    /// When an index was written; a store is only appended to.
    modified: Option<(i64, i64)>,
}

impl Watched {
    fn of(path: &Path) -> Answer<Self> {
        let io = |path: &Path, e| Error::io(path, "open the index", e);
        let is_index = path.is_file();
        let data = match path.parent().filter(|_| !is_index) {
            Some(folder) => store::Store::open(folder)?.data().to_owned(),
            None => path.to_owned(),
        };
        let file = File::open(&data).map_err(|e| io(&data, e))?;
        let about = file.metadata().map_err(|e| io(&data, e))?;
        let modified = is_index.then(|| (about.mtime(), about.mtime_nsec()));
        Ok(Self { file, length: about.len(), modified })
    }

    fn is_at(&self, path: &Path) -> bool {
        let inode = |about: std::fs::Metadata| (about.dev(), about.ino());
        let (here, there) = (self.file.metadata().map(inode), path.metadata().map(inode));
        self.modified.is_none() || matches!((here, there), (Ok(here), Ok(there)) if here == there)
    }

    fn unchanged(&self, path: &Path) -> Answer<()> {
        let same = self.file.metadata().is_ok_and(|now| match self.modified {
            Some(modified) => now.len() == self.length && (now.mtime(), now.mtime_nsec()) == modified,
            None => now.len() >= self.length,
        });
        if same {
            return Ok(());
        }
        let error =
            Error::new(ErrorKind::Changed, "somebody wrote into the index since it was opened").at(path);
        Err(error.hint("open it again, and replace an index by renaming another over it").into())
    }
}
