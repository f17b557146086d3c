//! A folder that is replaced as a whole: what is written lies beside it until all of it is there.
use crate::schema;
use probeidx::{Error, ErrorKind, Result};
use rustix::fs::{CWD, RenameFlags, renameat_with};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// A folder, and the one beside it in which it is written.
pub struct Destination {
    folder: PathBuf,
    unfinished: PathBuf,
    /// Locked as long as the process lives: another export waits for nothing, it is refused.
    _lock: File,
}

impl Destination {
    /// Makes an empty folder beside the destination. What a killed export left there is removed.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if the destination has something else than an export, or no name; [`ErrorKind::Io`] if nothing
    /// can be written there, or another export is writing there.
    pub fn new(folder: &Path) -> Result<Self> {
        let folder = match folder.canonicalize() {
            Ok(real) => real,
            Err(_) => folder.to_owned(),
        };
        let Some(name) = folder.file_name() else {
            return Err(Error::new(ErrorKind::Usage, "this folder cannot be replaced").at(&folder));
        };
        check_replaceable(&folder)?;
        let parent = match folder.parent() {
            Some(parent) if parent != Path::new("") => parent.to_owned(),
            _ => PathBuf::from("."),
        };
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(".unfinished");
        let unfinished = parent.join(hidden);
        let failed = |e| Error::io(&folder, "write there", e);
        fs::create_dir_all(&parent).map_err(failed)?;
        match fs::create_dir(&unfinished) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => return Err(failed(e)),
            _ => {}
        }
        let lock = File::open(&unfinished).map_err(failed)?;
        if lock.try_lock().is_err() {
            let busy = Error::new(ErrorKind::Io, "another export is writing there").at(&folder);
            return Err(busy.hint("wait until it is done"));
        }
        for left in fs::read_dir(&unfinished).map_err(failed)? {
            let left = left.map_err(failed)?.path();
            if left.is_dir() { fs::remove_dir_all(&left) } else { fs::remove_file(&left) }.map_err(failed)?;
        }
        Ok(Self { folder, unfinished, _lock: lock })
    }

    /// Where to write.
    pub fn unfinished(&self) -> &Path {
        &self.unfinished
    }

    /// Gives what was written the name of the destination, and removes what had it.
    ///
    /// # Errors
    /// [`ErrorKind::Io`]: the destination is as it was.
    pub fn finish(self) -> Result<()> {
        let failed = |e| Error::io(&self.folder, "replace the folder", e);
        match fs::rename(&self.unfinished, &self.folder) {
            Ok(()) => {}
            // It is not empty: both change their names at once.
            Err(e) if matches!(e.kind(), io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists) => {
                renameat_with(CWD, &self.unfinished, CWD, &self.folder, RenameFlags::EXCHANGE)
                    .map_err(|e| failed(e.into()))?;
                fs::remove_dir_all(&self.unfinished).map_err(failed)?;
            }
            Err(e) => return Err(failed(e)),
        }
        let parent = self.folder.parent().filter(|parent| *parent != Path::new(""));
        File::open(parent.unwrap_or(Path::new("."))).and_then(|parent| parent.sync_all()).map_err(failed)
    }
}

impl Drop for Destination {
    /// Removes what was not finished. After that the folder has the name of the destination, and nothing is here.
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.unfinished);
    }
}

/// Refuses a folder that has something that no export put there.
fn check_replaceable(folder: &Path) -> Result<()> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(Error::io(folder, "write there", e)),
    };
    for entry in entries {
        let name = entry.map_err(|e| Error::io(folder, "list the folder", e))?.file_name();
        if !schema::ALL.iter().any(|schema| name == schema.name) {
            let what = format!("it has {}, which no export wrote", name.to_string_lossy());
            return Err(Error::new(ErrorKind::Usage, what).at(folder).hint("name a folder of its own"));
        }
    }
    Ok(())
}
