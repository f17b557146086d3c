//! Working memory that threads pass on from task to task.
use std::sync::{Mutex, PoisonError};

/// Values for reuse, at most one per thread that works at the same time.
#[derive(Default)]
pub struct Pool<T>(Mutex<Vec<T>>);

impl<T: Default> Pool<T> {
    /// Calls `task` with a value that another task left behind, or with a new one.
    pub fn lend<R>(&self, task: impl FnOnce(&mut T) -> R) -> R {
        let spare = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut value = spare().pop().unwrap_or_default();
        let result = task(&mut value);
        spare().push(value);
        result
    }
}
