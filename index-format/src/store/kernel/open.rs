//! What the kernels of a store that are open have in common: each segment of a chain is that of all kernels after it.
use super::recent::Recent;
use crate::store::runs::levels::Levels;
use crate::store::segment::SegmentId;
use crate::strings::Decoded;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// What was found for one kernel is found for those after it, as long as one of them is open.
#[derive(Default)]
pub struct Open<'a> {
    pub(super) levels: BySegment<Levels<'a>>,
    pub(super) strings: BySegment<Decoded>,
    /// Of the first segment of each chain.
    pub(super) recent: BySegment<Recent>,
}

/// Something of each segment that is open.
pub(in crate::store) struct BySegment<T>(Mutex<BTreeMap<SegmentId, Weak<T>>>);

impl<T> Default for BySegment<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<T> BySegment<T> {
    fn all(&self) -> MutexGuard<'_, BTreeMap<SegmentId, Weak<T>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// What a segment has, if it is open.
    pub fn get(&self, id: SegmentId) -> Option<Arc<T>> {
        self.all().get(&id).and_then(Weak::upgrade)
    }
    /// What a segment has, which is empty if it is not open yet.
    pub fn get_or_default(&self, id: SegmentId) -> Arc<T>
    where
        T: Default,
    {
        self.get(id).unwrap_or_else(|| self.keep(id, T::default()))
    }
    /// What another thread has opened meanwhile, or else this.
    pub fn keep(&self, id: SegmentId, own: T) -> Arc<T> {
        let mut all = self.all();
        if let Some(known) = all.get(&id).and_then(Weak::upgrade) {
            return known;
        }
        let own = Arc::new(own);
        all.insert(id, Arc::downgrade(&own));
        own
    }
}
