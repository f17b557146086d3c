//! One build at a time writes into a folder of indexes.
use crate::error::{Error, ErrorKind, Result};
use crate::observer::Observer;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The file that the writing build locks, with its process number. It goes with the build; one that a
/// dead build left is locked by nobody.
const LOCK: &str = ".building.lock";
/// What the names of unfinished files start with, and end with.
pub(super) const UNFINISHED: (&str, &str) = (".building-", ".tmp");

/// A build's lock on a folder of indexes, from `take` until it is dropped.
pub struct BuildLock {
    folder: PathBuf,
    lock: Option<File>,
}

impl BuildLock {
    /// For this folder, not taken yet.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, lock: None }
    }

    /// Makes the folder if there is none, waits until no other build writes there, and removes what dead builds left.
    /// Says whether it had to wait. Costs nothing once it is taken.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if the folder cannot be made or written to.
    pub fn take(&mut self, observer: &dyn Observer) -> Result<bool> {
        if self.lock.is_some() {
            return Ok(false);
        }
        make(&self.folder)?;
        let path = self.folder.join(LOCK);
        let io = |e| Error::io(&path, "lock the folder of indexes", e).hint(REMEDY);
        let mut has_waited = false;
        loop {
            let file = open(&path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    observer.waits(&self.folder, builder(&file));
                    has_waited = true;
                    file.lock().map_err(io)?;
                }
                // A file system without locks. Indexes still appear whole, and the last one stays.
                Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => {
                    self.lock = Some(file);
                    return Ok(has_waited);
                }
                Err(TryLockError::Error(e)) => return Err(io(e)),
            }
            // Whoever had it before removed the file: the name may be another build's by now.
            let same = |there: Metadata| {
                file.metadata().is_ok_and(|m| (m.dev(), m.ino()) == (there.dev(), there.ino()))
            };
            if fs::symlink_metadata(&path).is_ok_and(same) {
                let file = self.lock.insert(file);
                sign(file).map_err(io)?;
                sweep(&self.folder);
                return Ok(has_waited);
            }
        }
    }
}

impl Drop for BuildLock {
    fn drop(&mut self) {
        if self.lock.is_some() {
            // While it is still locked, so that nobody else's is removed.
            let _ = fs::remove_file(self.folder.join(LOCK));
        }
    }
}

const REMEDY: &str = "if no build is running there, remove the file; or name another folder with --db";

/// Makes the folder. A symbolic link that a stranger planted where everybody may write is not followed.
fn make(folder: &Path) -> Result<()> {
    const STICKY: u32 = 0o1000;
    let planted = || {
        let link = fs::symlink_metadata(folder).ok().filter(Metadata::is_symlink)?;
        let above =
            fs::metadata(folder.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(".".as_ref()));
        let above = above.ok().filter(|m| m.mode() & STICKY != 0)?;
        // The rule of fs.protected_symlinks (fs/namei.c, may_follow_link of 6.1), which a system may have turned off.
        let me = fs::metadata("/proc/self").ok()?.uid();
        (link.uid() != me && link.uid() != above.uid()).then_some(link.uid())
    };
    if let Some(owner) = planted() {
        let what =
            format!("a symbolic link of user {owner} in a folder where everybody may write is not followed");
        return Err(Error::new(ErrorKind::Io, what).at(folder).hint("name another folder with --db"));
    }
    if folder.is_file() {
        let what = "a file stands where the folder of indexes is to be";
        return Err(Error::new(ErrorKind::Io, what).at(folder).hint("name a folder with --db"));
    }
    fs::create_dir_all(folder).map_err(|e| Error::io(folder, "create the folder of indexes", e))
}

/// Opens the file for us alone, so that no stranger can hold the lock; never through a link, never a pipe.
fn open(path: &Path) -> Result<File> {
    let mut how = OpenOptions::new();
    how.read(true).write(true).create(true).truncate(false).mode(0o600);
    let file = how
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
        .map_err(|e| Error::io(path, "lock the folder of indexes", e).hint(REMEDY))?;
    match file.metadata().is_ok_and(|m| m.is_file() && m.nlink() <= 1) {
        true => Ok(file),
        false => Err(Error::new(ErrorKind::Io, "not a file of a build").at(path).hint(REMEDY)),
    }
}

/// The process that wrote its number into the lock.
fn builder(file: &File) -> Option<u32> {
    let mut text = String::new();
    file.take(16).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

fn sign(mut file: &File) -> io::Result<()> {
    file.set_len(0)?;
    file.rewind()?;
    writeln!(file, "{}", std::process::id())
}

/// Removes what killed builds left behind. Only the holder of the lock may call it.
fn sweep(folder: &Path) {
    let (start, end) = UNFINISHED;
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with(start) && name.ends_with(end)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
