//! The cache shared by debuginfod clients: `BUILDID/debuginfo` below its folder (debuginfod-client.c of elfutils
//! 0.188), so that each client finds what another one fetched. Unfinished files have names of our own.
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::build_id::hex;
use crate::error::{Error, ErrorKind, Result};
use crate::load::Image;
use crate::load::elf::Elf;

/// The cache entry of a build id.
pub struct Entry {
    folder: PathBuf,
}

impl Entry {
    pub fn new(cache: &Path, id: &[u8]) -> Self {
        Self { folder: cache.join(hex(id)) }
    }

    pub fn path(&self) -> PathBuf {
        self.folder.join("debuginfo")
    }

    /// The size of the file, if it exists. elfutils writes an empty file if no server has it.
    pub fn there(&self) -> Option<u64> {
        let about = fs::metadata(self.path()).ok().filter(|about| about.is_file())?;
        (about.len() > 0 && File::open(self.path()).is_ok()).then_some(about.len())
    }

    /// Opens the unfinished file exclusively: waits for other processes that have it.
    pub fn part(&self) -> Result<Part> {
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |e| Error::io(&path, "write to the cache of debuginfod", e)
        };
        DirBuilder::new().recursive(true).mode(0o700).create(&self.folder).map_err(failed(&self.folder))?;
        let path = self.folder.join("debuginfo.probeidx.part");
        loop {
            let mut options = OpenOptions::new();
            options.read(true).append(true).create(true).mode(0o600).custom_flags(libc::O_NOFOLLOW);
            let file = options.open(&path).map_err(failed(&path))?;
            file.lock().map_err(failed(&path))?;
            let own = file.metadata().map_err(failed(&path))?;
            // The previous holder may have renamed or removed it.
            if fs::symlink_metadata(&path).is_ok_and(|there| there.ino() == own.ino())
                || self.there().is_some()
            {
                let of = self.folder.join("debuginfo.probeidx.from");
                return Ok(Part { file, length: own.len(), of, path });
            }
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(&self.folder)
                .map_err(failed(&self.folder))?;
        }
    }
}

/// An unfinished file.
pub struct Part {
    file: File,
    length: u64,
    path: PathBuf,
    /// The file that records the server and version of the content.
    of: PathBuf,
}

impl Part {
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn folder(&self) -> &Path {
        self.path.parent().unwrap_or(Path::new("/"))
    }

    pub fn length(&self) -> u64 {
        self.length
    }

    /// The size and version of the content, if known and from this server.
    pub fn resumable(&self, server: &str) -> Option<(u64, String)> {
        let text = fs::read_to_string(&self.of).ok()?;
        let (from, version) = text.split_once('\n')?;
        let is_it = self.length > 0 && from == server && !version.is_empty();
        is_it.then(|| (self.length, version.to_owned()))
    }

    /// Discards the content, for new content of this version from a server.
    pub fn restart(&mut self, server: &str, version: Option<&str>) -> Result<()> {
        let failed = |e| Error::io(&self.path, "write to the cache of debuginfod", e);
        self.file.set_len(0).and_then(|()| self.file.seek(SeekFrom::Start(0))).map_err(failed)?;
        self.length = 0;
        let _ = fs::remove_file(&self.of);
        let Some(version) = version else { return Ok(()) };
        let mut options = OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(&self.of);
        file.and_then(|mut file| write!(file, "{server}\n{version}")).map_err(failed)
    }

    /// Checks that the content is an object with this build id and debug information; returns its size.
    pub fn verified(&self, id: &[u8]) -> Result<u64> {
        let image = Image::open(&self.path)?;
        let elf = Elf::parse(image.bytes())?;
        match elf.build_id() {
            Some(its) if its == id => {}
            Some(its) => {
                let what = format!("what came has build id {}, not {}: it is not kept", hex(its), hex(id));
                return Err(Error::new(ErrorKind::Mismatch, what));
            }
            None => {
                let what =
                    format!("what came has no build id, and {} was asked for: it is not kept", hex(id));
                return Err(Error::new(ErrorKind::Mismatch, what));
            }
        }
        if elf.section(".debug_info").is_none() && elf.section(".zdebug_info").is_none() {
            return Err(Error::new(
                ErrorKind::NoDebugInfo,
                "what came has no debug information: it is not kept",
            ));
        }
        Ok(self.length)
    }

    /// Makes it the file of the entry. It is on disk before it gets the final name.
    pub fn keep(self, entry: &Entry) -> Result<PathBuf> {
        let path = entry.path();
        let kept = self
            .file
            .sync_all()
            .and_then(|()| self.file.set_permissions(fs::Permissions::from_mode(0o400)))
            .and_then(|()| fs::rename(&self.path, &path));
        kept.map_err(|e| Error::io(&path, "put the file into the cache of debuginfod", e))?;
        let _ = fs::remove_file(&self.of);
        Ok(path)
    }

    /// Removes it, and the folder if that is empty. A process waiting for it creates a new one.
    pub fn discard(self) {
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(&self.of);
        let _ = fs::remove_dir(self.folder());
    }

    /// Removes it if it is empty.
    pub fn drop_empty(self) {
        if self.length == 0 {
            self.discard();
        }
    }
}

impl Write for Part {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.length += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Whether the file system of this folder has room for `needed` more bytes.
///
/// # Errors
/// [`ErrorKind::Io`] with the space needed and available.
pub fn check_space(folder: &Path, needed: u64) -> Result<()> {
    let Ok(about) = rustix::fs::statvfs(folder) else { return Ok(()) };
    let free = about.f_bavail.saturating_mul(about.f_frsize);
    if free >= needed {
        return Ok(());
    }
    let what = format!("{needed} more bytes are needed, and {free} are free");
    Err(Error::new(ErrorKind::Io, what)
        .at(folder)
        .hint("make room, or name another folder with DEBUGINFOD_CACHE_PATH"))
}
