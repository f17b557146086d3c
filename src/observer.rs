//! Who watches a build, without the build knowing how.
use std::path::Path;

/// Is told how far a build has come, from any of its threads.
pub trait Observer: Sync {
    /// Work begins on this many objects, of this many bytes together. Comes once and first.
    fn started(&self, objects: usize, bytes: u64);
    /// One object is done, whether it could be indexed or not; `bytes` as counted in the sum.
    fn object_done(&self, path: &Path, bytes: u64);
    /// A stage of a kernel's build is done, `seconds` after that build began.
    fn stage(&self, _name: &'static str, _seconds: f64) {}
    /// Another build writes into this folder, in the process of this number if it says so; this one waits for its end.
    fn waits(&self, _folder: &Path, _builder: Option<u32>) {}
    /// All objects are done. Comes once and last.
    fn finished(&self);
}

/// Watches nothing.
impl Observer for () {
    fn started(&self, _objects: usize, _bytes: u64) {}
    fn object_done(&self, _path: &Path, _bytes: u64) {}
    fn finished(&self) {}
}
