//! Files inside of packages, held in memory: each is found by the path that it would have if its package were a folder.
//!
//! No such path exists on disk, because the package there is a file. The packages of one build are one tree: a file that
//! is not in the package of its path is looked for in the others, as if all had been unpacked into one folder.
#[cfg(test)]
mod tests;
mod tree;

use crate::error::Error;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, Weak};
use tree::Tree;
pub use tree::{Feed, Start};

/// A file in memory.
#[derive(Clone)]
pub struct Member {
    /// Its content.
    pub bytes: Arc<Vec<u8>>,
    /// Last modification as the package has it, nanoseconds since 1970.
    pub mtime_ns: i64,
}

/// The packages of a build, and the members that were kept. They are found until the last clone is dropped.
#[derive(Clone, Default)]
pub struct Members(Option<Arc<Tree>>);

/// The trees of all builds of this process.
static TREES: RwLock<Vec<Weak<Tree>>> = RwLock::new(Vec::new());

impl Members {
    /// Adds a package; its members can be found from now on.
    pub fn add_package(&mut self, package: &Path) {
        let tree = self.0.get_or_insert_with(|| {
            let tree = Arc::default();
            let mut trees = TREES.write().unwrap_or_else(PoisonError::into_inner);
            trees.retain(|tree| tree.strong_count() > 0);
            trees.push(Arc::downgrade(&tree));
            tree
        });
        tree.add_package(package);
    }

    /// Adds a member under its path below the package.
    pub fn add(&self, path: PathBuf, member: Member) {
        if let Some(tree) = &self.0 {
            tree.add(path, member);
        }
    }

    /// Adds members of the package that was added last, by their paths below it, which have so many bytes together if their sizes are not
    /// known. `start` is called by a thread of its own once one of them is asked for, and unpacks them.
    pub fn expect(&self, paths: impl Iterator<Item = PathBuf>, bytes: u64, start: Start) {
        if let Some(tree) = &self.0 {
            tree.expect(paths, bytes, start);
        }
    }

    /// How many bytes the packages have that have one of these members, if they are not unpacked yet.
    pub fn bytes_of<'p>(&self, mut members: impl Iterator<Item = &'p Path>) -> u64 {
        self.0.as_ref().map_or(0, |tree| tree.bytes_of(&mut members))
    }

    /// The packages, in the order added.
    pub fn packages(&self) -> Vec<PathBuf> {
        self.0.as_ref().map(|tree| tree.packages()).unwrap_or_default()
    }

    /// Reads the packages that have one of these members to their ends, if that was begun, and passes over what was not asked for. Gives
    /// what was wrong with them, each error once.
    pub fn end_of<'p>(&self, mut members: impl Iterator<Item = &'p Path>) -> Vec<Error> {
        self.0.as_ref().map(|tree| tree.end(Some(&mut members))).unwrap_or_default()
    }

    /// The same of all packages.
    pub fn end(&self) -> Vec<Error> {
        self.0.as_ref().map(|tree| tree.end(None)).unwrap_or_default()
    }
}

impl std::fmt::Debug for Members {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Members({:?})", self.packages())
    }
}

/// The trees that are in use.
fn trees() -> Vec<Arc<Tree>> {
    let trees = TREES.read().unwrap_or_else(PoisonError::into_inner);
    trees.iter().filter_map(Weak::upgrade).collect()
}

/// The member at this path. Waits for it if it is yet to be unpacked.
pub fn find(path: &Path) -> Option<Member> {
    let trees = trees();
    if trees.is_empty() {
        return None;
    }
    let path = plain(path);
    trees.iter().find_map(|tree| tree.find(&path))
}

/// Drops the content of a member that is read no more; nothing if the path is that of a file on disk.
pub fn forget(path: &Path) {
    trees().iter().for_each(|tree| tree.forget(path));
}

/// Whether there is a file, on disk or in a package.
pub fn is_file(path: &Path) -> bool {
    path.is_file() || {
        let path = plain(path);
        trees().iter().any(|tree| tree.has(&path))
    }
}

/// The text of a file, on disk or in a package; `None` if it cannot be read.
pub fn text(path: &Path) -> Option<String> {
    match find(path) {
        Some(member) => String::from_utf8(member.bytes.to_vec()).ok(),
        None => fs::read_to_string(path).ok(),
    }
}

/// The path without `.` and `..`.
fn plain(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for component in path.components() {
        match component {
            Component::ParentDir => drop(plain.pop()),
            Component::CurDir => {}
            other => plain.push(other),
        }
    }
    plain
}

/// An open file, on disk or in a package.
pub enum Opened {
    /// On disk.
    File(File),
    /// In a package, with the position of the next read.
    Member(Arc<Vec<u8>>, AtomicU64),
}

impl Opened {
    /// Opens a file.
    ///
    /// # Errors
    /// Those of [`File::open`].
    pub fn open(path: &Path) -> io::Result<Self> {
        match find(path) {
            Some(member) => Ok(Self::Member(member.bytes, AtomicU64::new(0))),
            None => File::open(path).map(Self::File),
        }
    }

    /// Its length in bytes; 0 if that is unknown.
    pub fn length(&self) -> u64 {
        match self {
            Self::File(file) => file.metadata().map_or(0, |about| about.len()),
            Self::Member(bytes, _) => bytes.len() as u64,
        }
    }
}

impl Read for &Opened {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match *self {
            Opened::File(file) => { file }.read(into),
            Opened::Member(bytes, at) => {
                let start = bytes.len().min(at.load(Ordering::Relaxed) as usize);
                let got = (&bytes[start..]).read(into)?;
                at.store((start + got) as u64, Ordering::Relaxed);
                Ok(got)
            }
        }
    }
}

impl Seek for &Opened {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        match *self {
            Opened::File(file) => { file }.seek(to),
            Opened::Member(bytes, at) => {
                let mut cursor = io::Cursor::new(&bytes[..]);
                cursor.set_position(at.load(Ordering::Relaxed));
                let now = cursor.seek(to)?;
                at.store(now, Ordering::Relaxed);
                Ok(now)
            }
        }
    }
}
