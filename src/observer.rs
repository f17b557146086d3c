//! Reports the progress of a build, without the build knowing how it is shown.
use std::path::Path;

/// Receives the progress of a build, from any of its threads.
pub trait Observer: Sync {
    /// Work begins on this many objects with this many bytes in total. Called once, first.
    fn started(&self, objects: usize, bytes: u64);
    /// An object is done, indexed or not; `bytes` is its part of the total.
    fn object_done(&self, path: &Path, bytes: u64);
    /// A stage of a kernel's build is done, `seconds` after that build began.
    fn stage(&self, _name: &'static str, _seconds: f64) {}
    /// Much memory was freed in small pieces, and large tables follow: the program may return it to the system.
    fn freed(&self) {}
    /// This build waits for another one that writes into this folder, with this process id if known.
    fn waits(&self, _folder: &Path, _builder: Option<u32>) {}
    /// All objects are done. Called once, last.
    fn finished(&self);
}

/// Ignores all events.
impl Observer for () {
    fn started(&self, _objects: usize, _bytes: u64) {}
    fn object_done(&self, _path: &Path, _bytes: u64) {}
    fn finished(&self) {}
}
