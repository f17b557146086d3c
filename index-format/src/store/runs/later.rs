//! What is made once, when enough was asked for to pay for it.
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// A thing that is made after so many questions, by one of those who ask.
pub struct Later<T> {
    made: OnceLock<T>,
    /// How many questions are answered without it.
    most: u32,
    /// How many of them are left.
    left: AtomicU32,
}

/// In place of how many questions are left.
const BEING_MADE: u32 = u32::MAX;

impl<T> Later<T> {
    /// Not made yet.
    pub fn after(questions: u32) -> Self {
        let most = questions.min(BEING_MADE - 1);
        Self { made: OnceLock::new(), most, left: AtomicU32::new(most) }
    }
    /// The thing, if it is worth it.
    #[inline]
    pub fn get(&self, make: impl FnOnce() -> T) -> Option<&T> {
        if let Some(made) = self.made() {
            return Some(made);
        }
        let left = self.left.load(Ordering::Relaxed);
        let next = match left {
            BEING_MADE => return None,
            0 => BEING_MADE,
            left => left - 1,
        };
        // Two threads may count as one; only one makes it, and the others do without meanwhile.
        let is_own = self.left.compare_exchange(left, next, Ordering::Relaxed, Ordering::Relaxed).is_ok();
        (is_own && next == BEING_MADE).then(|| self.made.get_or_init(make))
    }
    /// The thing, if it is made or somebody has asked for it: it is made then.
    pub fn if_asked(&self, make: impl FnOnce() -> T) -> Option<&T> {
        self.made().or_else(|| {
            let is_asked = self.left.load(Ordering::Relaxed) != self.most;
            is_asked.then(|| self.made.get_or_init(make))
        })
    }
    /// The thing, which is worth it whoever asked before.
    pub fn now(&self, make: impl FnOnce() -> T) -> &T {
        self.made.get_or_init(make)
    }
    /// The thing, if it is made.
    #[inline]
    pub fn made(&self) -> Option<&T> {
        self.made.get()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pays_is_made_once() {
        let later = Later::after(100);
        let mut makes = 0;
        let mut made = |later: &Later<u32>| {
            later
                .get(|| {
                    makes += 1;
                    7
                })
                .copied()
        };
        assert_eq!((0..200).take_while(|_| made(&later).is_none()).count(), 100);
        assert_eq!((made(&later), later.made()), (Some(7), Some(&7)));
        assert_eq!(makes, 1);
    }
}
