//! Tapset folders with all their files, for any kernel.
//!
//! A folder is on disk, or kept in an index that was built from it. Both are read in the same way, so an index serves
//! wherever a folder is expected.
use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use probeidx_format::tapset::{FolderMeta, SourceMeta, SourcesMeta};

use crate::error::{Error, ErrorKind, Result};

/// The maximum size of a file.
const LARGEST: u64 = 16 << 20;
/// The maximum number of entries in a tapset folder, including files that are not tapsets.
const MOST: usize = 100_000;
/// The maximum depth of a folder: runtime, version, architecture.
const DEEPEST: usize = 3;

/// Tapset folders, in order. An earlier one hides files of the same name in later ones.
#[derive(Debug, Default)]
pub struct Sources {
    /// In order of precedence.
    pub folders: Vec<Folder>,
    /// Parts of folders that could not be read, with the reason.
    pub errors: Vec<Error>,
}

/// A folder of tapsets.
#[derive(Debug)]
pub struct Folder {
    /// The path of the folder, as given.
    pub path: PathBuf,
    /// The files by part of the folder (`linux/x86_64`, or empty), then by path.
    pub(super) parts: BTreeMap<PathBuf, Vec<Source>>,
}

/// A tapset file, `.stp` or `.stpm`.
#[derive(Debug)]
pub(super) struct Source {
    /// The path below the folder.
    pub path: PathBuf,
    /// Device and inode: files that share them are one file with several names.
    pub identity: (u64, u64),
    pub size: u64,
    /// In nanoseconds since 1970.
    pub modified: i64,
    text: Text,
}

#[derive(Debug)]
enum Text {
    OnDisk,
    Kept(Arc<[u8]>, std::ops::Range<usize>),
    /// It could not be read when it was to be kept.
    Lost,
}

impl Sources {
    /// Adds the files of a folder, without reading them.
    ///
    /// # Errors
    /// If the folder cannot be read, or has too many entries. A part that cannot be read is added to the errors.
    pub fn find(&mut self, path: &Path) -> Result<()> {
        let mut folder = Folder { path: path.to_owned(), parts: BTreeMap::new() };
        folder.list(Path::new(""), 0, &mut 0, &mut self.errors)?;
        self.folders.push(folder);
        Ok(())
    }

    /// Adds folders kept in an index; `texts` is the concatenation of their files.
    pub fn add(&mut self, folders: Vec<FolderMeta>, texts: &Arc<[u8]>) {
        // Device numbers that neither a device nor another index uses.
        let device = u64::MAX - self.folders.len() as u64;
        let mut at = 0usize;
        for folder in folders {
            let mut parts: BTreeMap<PathBuf, Vec<Source>> = BTreeMap::new();
            for file in folder.files {
                let text = match file.text {
                    Some(length) => {
                        let start = at;
                        at = at.saturating_add(usize::try_from(length).unwrap_or(usize::MAX));
                        Text::Kept(texts.clone(), start..at)
                    }
                    None => Text::Lost,
                };
                let path = PathBuf::from(file.path);
                let part = path.parent().unwrap_or(Path::new("")).to_owned();
                let identity = (device, u64::from(file.identity));
                let (size, modified) = (file.size, file.modified);
                parts.entry(part).or_default().push(Source { path, identity, size, modified, text });
            }
            self.folders.push(Folder { path: folder.path.into(), parts });
        }
    }

    /// Whether a folder has a file with a text. What cannot be read has none.
    pub fn has(&self, file: &str, text: &[u8]) -> bool {
        let file = Path::new(file);
        let of_folder = |folder: &Folder| {
            let part = folder.parts.get(file.parent()?)?;
            let source = part.iter().find(|source| source.path == file)?;
            let bytes = Folder::text(source, &folder.path_of(source)).ok()?;
            memchr::memmem::find(&bytes, text)
        };
        self.folders.iter().any(|folder| of_folder(folder).is_some())
    }

    /// The files as listed in an index, without their texts.
    pub fn listing(&self) -> Vec<FolderMeta> {
        let mut identities = HashMap::new();
        let mut file = |source: &Source| {
            let next = u32::try_from(identities.len()).unwrap_or(u32::MAX);
            SourceMeta {
                path: source.path.to_string_lossy().into_owned(),
                identity: *identities.entry(source.identity).or_insert(next),
                size: source.size,
                modified: source.modified,
                text: None,
            }
        };
        let mut folder = |folder: &Folder| FolderMeta {
            path: folder.path.to_string_lossy().into_owned(),
            files: folder.parts.values().flatten().map(&mut file).collect(),
        };
        self.folders.iter().map(&mut folder).collect()
    }

    /// Whether an index keeps exactly these files, by path, size and modification time.
    pub fn are(&self, kept: &SourcesMeta) -> bool {
        let without_texts = |mut folder: FolderMeta| {
            folder.files.iter_mut().for_each(|file| file.text = None);
            folder
        };
        self.listing().into_iter().eq(kept.folders.iter().cloned().map(without_texts))
    }
}

impl Folder {
    /// Finds the files in a part of the folder, and in the parts below it.
    fn list(
        &mut self,
        part: &Path,
        depth: usize,
        entries: &mut usize,
        errors: &mut Vec<Error>,
    ) -> Result<()> {
        // Without the trailing slash that joining an empty path adds.
        let place: PathBuf = self.path.join(part).components().collect();
        let failed = |e| {
            let error = Error::io(&place, "read the folder of tapsets", e);
            error.hint("install SystemTap's tapsets, or name another folder")
        };
        let mut names = vec![];
        for entry in fs::read_dir(&place).map_err(failed)? {
            *entries += 1;
            if *entries > MOST {
                let why = format!("a folder of tapsets has at most {MOST} entries");
                return Err(Error::new(ErrorKind::Usage, why).at(&self.path));
            }
            names.push(entry.map_err(failed)?.file_name());
        }
        names.sort_unstable();
        let mut files = vec![];
        for name in names {
            let path = part.join(&name);
            // Files that have vanished, and broken links, are skipped.
            let Ok(metadata) = fs::metadata(place.join(&name)) else { continue };
            let tapset = path.extension().is_some_and(|e| e == "stp" || e == "stpm");
            if metadata.is_dir() && depth < DEEPEST {
                if let Err(error) = self.list(&path, depth + 1, entries, errors) {
                    errors.push(error);
                }
            } else if metadata.is_file() && tapset {
                let nanoseconds = metadata.mtime().wrapping_mul(1_000_000_000);
                files.push(Source {
                    path,
                    identity: (metadata.dev(), metadata.ino()),
                    size: metadata.len(),
                    modified: nanoseconds.wrapping_add(metadata.mtime_nsec()),
                    text: Text::OnDisk,
                });
            }
        }
        self.parts.insert(part.to_owned(), files);
        Ok(())
    }

    /// The path of a file on disk.
    pub(super) fn path_of(&self, source: &Source) -> PathBuf {
        self.path.join(&source.path)
    }

    /// The text of a file. `path` is its [`Self::path_of`].
    pub(super) fn text<'s>(source: &'s Source, path: &Path) -> Result<Cow<'s, [u8]>> {
        match &source.text {
            Text::OnDisk => contents(path).map(Cow::Owned),
            Text::Kept(texts, range) => Ok(Cow::Borrowed(texts.get(range.clone()).unwrap_or_default())),
            Text::Lost => {
                let why = "the tapset could not be read when the index was built";
                Err(Error::new(ErrorKind::Io, why).at(path).hint("build that index again"))
            }
        }
    }
}

fn contents(path: &Path) -> Result<Vec<u8>> {
    let mut bytes = vec![];
    let file = File::open(path).map_err(|e| Error::io(path, "open the tapset", e))?;
    file.take(LARGEST + 1).read_to_end(&mut bytes).map_err(|e| Error::io(path, "read the tapset", e))?;
    if bytes.len() as u64 > LARGEST {
        let why = format!("a tapset of more than {} MiB is not read", LARGEST >> 20);
        return Err(Error::new(ErrorKind::Syntax, why).at(path));
    }
    Ok(bytes)
}
