//! Reports the stages of a kernel once it is that kernel's turn: it is read while the one before it is still written.
use crate::observer::Observer;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Passes on what happens at once, except stages, which are held back until [`InTurn::begin`].
pub struct InTurn<'o> {
    observer: &'o dyn Observer,
    /// The stages held back; `None` once it is this kernel's turn.
    held: Mutex<Option<Vec<(&'static str, f64)>>>,
}

impl<'o> InTurn<'o> {
    /// `waits`: it is not yet this kernel's turn.
    pub fn new(observer: &'o dyn Observer, waits: bool) -> Self {
        Self { observer, held: Mutex::new(waits.then(Vec::new)) }
    }

    /// From now on it is this kernel's turn.
    pub fn begin(&self) {
        let mut held = self.held();
        for (name, seconds) in held.take().into_iter().flatten() {
            self.observer.stage(name, seconds);
        }
    }

    fn held(&self) -> MutexGuard<'_, Option<Vec<(&'static str, f64)>>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for InTurn<'_> {
    fn started(&self, objects: usize, bytes: u64) {
        self.observer.started(objects, bytes);
    }
    fn object_done(&self, path: &Path, bytes: u64) {
        self.observer.object_done(path, bytes);
    }
    fn stage(&self, name: &'static str, seconds: f64) {
        match &mut *self.held() {
            Some(held) => held.push((name, seconds)),
            None => self.observer.stage(name, seconds),
        }
    }
    fn freed(&self) {
        self.observer.freed();
    }
    fn waits(&self, folder: &Path, builder: Option<u32>) {
        self.observer.waits(folder, builder);
    }
    fn finished(&self) {
        self.observer.finished();
    }
}
