//! Ensures that only one build at a time writes into a folder of indexes.
use crate::error::{Error, ErrorKind, Result};
use crate::observer::Observer;
use std::fs::{self, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The file that the writing build locks; it contains the process id. It is removed with the build; the file of a
/// dead build is unlocked.
const LOCK: &str = ".building.lock";
/// Prefix and suffix of the names of unfinished files.
pub(super) const UNFINISHED: (&str, &str) = (".building-", ".tmp");

/// A build's lock on a folder of indexes, held from `take` until dropped.
pub struct BuildLock {
    folder: PathBuf,
    lock: Option<File>,
}

impl BuildLock {
    /// For this folder; not locked yet.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder, lock: None }
    }

    /// Creates the folder if needed, waits until no other build writes there, and removes the leftovers of dead
    /// builds. Returns whether it had to wait. Costs nothing once the lock is held.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if the folder cannot be created or written to.
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
                // The file system has no locks. Indexes still appear atomically, and the last one wins.
                Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => {
                    self.lock = Some(file);
                    return Ok(has_waited);
                }
                Err(TryLockError::Error(e)) => return Err(io(e)),
            }
            // The previous holder has removed the file: the name may belong to another build's file by now.
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
            // Still locked, so that no other build's file is removed.
            let _ = fs::remove_file(self.folder.join(LOCK));
        }
    }
}

const REMEDY: &str = "if no build is running there, remove the file; or name another folder with --db";

/// Creates the folder. Does not follow a symbolic link that another user planted in a world-writable place.
fn make(folder: &Path) -> Result<()> {
    const STICKY: u32 = 0o1000;
    let planted = || {
        let link = fs::symlink_metadata(folder).ok().filter(Metadata::is_symlink)?;
        let above =
            fs::metadata(folder.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(".".as_ref()));
        let above = above.ok().filter(|m| m.mode() & STICKY != 0)?;
        // The rule of fs.protected_symlinks (fs/namei.c, may_follow_link of 6.1), which may be disabled.
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

/// Opens the file with access only for this user, so that no other can hold the lock; follows no link, opens no pipe.
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

/// The process id in the lock file.
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

/// Removes the leftovers of killed builds. Only the holder of the lock may call it.
fn sweep(folder: &Path) {
    let (start, end) = UNFINISHED;
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        if name.to_str().is_some_and(|name| name.starts_with(start) && name.ends_with(end)) {
            let _ = fs::remove_file(entry.path());
        }
    }
}
