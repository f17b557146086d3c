//! The requests that are queued or being answered.
use super::request::{Id, Request};
use std::collections::VecDeque;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// The limits on queued requests and their bytes; reading stops until one is taken.
const MOST: usize = 4096;
const MOST_BYTES: usize = 32 << 20;

/// A first-in, first-out queue.
#[derive(Default)]
pub struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Arc<Request>>,
    bytes: usize,
    running: Vec<Arc<Request>>,
    /// No more requests will come.
    has_ended: bool,
    /// No more answers are wanted.
    is_closed: bool,
}

impl Queue {
    /// Adds a request, once there is room for it.
    pub fn put(&self, request: Request) {
        let mut state = self.lock();
        while !state.is_closed
            && !state.waiting.is_empty()
            && (state.waiting.len() >= MOST || state.bytes + request.length > MOST_BYTES)
        {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.bytes += request.length;
        state.waiting.push_back(Arc::new(request));
        self.changed.notify_all();
    }

    /// The next request, once there is one; `None` at the end. The caller passes it to [`Queue::done`] later.
    pub fn next(&self) -> Option<Arc<Request>> {
        let mut state = self.lock();
        loop {
            if state.is_closed {
                return None;
            }
            if let Some(request) = state.waiting.pop_front() {
                state.bytes -= request.length;
                state.running.push(Arc::clone(&request));
                self.changed.notify_all();
                return Some(request);
            }
            if state.has_ended {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Marks a request as answered.
    pub fn done(&self, request: &Arc<Request>) {
        self.lock().running.retain(|running| !Arc::ptr_eq(running, request));
    }

    /// Cancels all requests with an id, and returns their number.
    pub fn cancel(&self, id: &Id) -> usize {
        let state = self.lock();
        let of_id = state.running.iter().chain(&state.waiting).filter(|request| request.id == *id);
        of_id.map(|request| request.is_cancelled.store(true, Ordering::Relaxed)).count()
    }

    /// Ends the input; queued requests are still answered.
    pub fn end(&self) {
        self.lock().has_ended = true;
        self.changed.notify_all();
    }

    /// Closes the queue: no more answers are wanted.
    pub fn close(&self) {
        self.lock().is_closed = true;
        self.changed.notify_all();
    }

    /// Whether it was closed.
    pub fn is_closed(&self) -> bool {
        self.lock().is_closed
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
