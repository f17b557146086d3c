//! The archive from which the kernel fills its first file system. (Documentation/driver-api/early-userspace.)
use std::collections::BTreeSet;

/// A cpio archive of the format `newc`. Deterministic: all times are 0.
#[derive(Default)]
pub struct Archive {
    bytes: Vec<u8>,
    folders: BTreeSet<String>,
}

impl Archive {
    /// The folders that it lies in stand before it.
    pub fn folder(&mut self, path: &str) {
        if let Some((outer, _)) = path.rsplit_once('/') {
            self.folder(outer);
        }
        if self.folders.insert(path.to_owned()) {
            self.entry(path, 0o040_755, &[]);
        }
    }

    /// A file that may be run; the folders that it lies in stand before it.
    pub fn file(&mut self, path: &str, content: &[u8]) {
        path.match_indices('/').for_each(|(end, _)| self.folder(&path[..end]));
        self.entry(path, 0o100_755, content);
    }

    pub fn finish(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.bytes
    }

    fn entry(&mut self, path: &str, mode: u32, content: &[u8]) {
        let number = self.bytes.len() as u32;
        let (length, name_length) = (content.len() as u32, path.len() as u32 + 1);
        self.bytes.extend(b"070701");
        for field in [number, mode, 0, 0, 1, 0, length, 0, 0, 0, 0, name_length, 0] {
            self.bytes.extend(format!("{field:08x}").bytes());
        }
        self.bytes.extend(path.bytes().chain([0]));
        self.pad();
        self.bytes.extend(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}
