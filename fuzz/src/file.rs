//! Files that are only in memory and go away with the process, however that ends.
use std::fs::File;
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// Where files are in memory on Linux.
const MEMORY: &str = "/dev/shm";

/// A file without a name.
pub struct Unnamed(File);

impl Unnamed {
    /// With these bytes.
    pub fn new(bytes: &[u8]) -> Self {
        let mut file = tempfile::tempfile_in(memory()).expect("room in memory");
        file.write_all(bytes).expect("room in memory");
        Self(file)
    }
    /// By which it can be opened, as long as it is there.
    pub fn path(&self) -> PathBuf {
        format!("/proc/self/fd/{}", self.0.as_raw_fd()).into()
    }
}

/// A folder, where names matter.
pub fn folder() -> TempDir {
    tempfile::tempdir_in(memory()).expect("room in memory")
}

fn memory() -> &'static Path {
    let path = Path::new(MEMORY);
    if path.is_dir() { path } else { Path::new("/tmp") }
}
