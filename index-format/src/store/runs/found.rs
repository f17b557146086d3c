//! What was found last in the runs of a space, for all who ask for it later: kernels of a chain, and threads.
use super::Hint;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// How many runs are kept: those of the numbers that one question asks of a space. With 32, `resolve 'vfs_*'` of a kernel that is five
/// levels deep took 1.7 times as long; with 512, a question for one function a third longer.
const KEPT: usize = 128;
/// Neighbours share a place.
const NEIGHBOURS: u32 = 16;

/// The runs that were found last in a space, by number. They take no memory before the first.
#[derive(Debug, Default)]
pub struct Found(OnceLock<Box<[Slot; KEPT]>>);

impl Found {
    /// What a number stands for, and the hint that has it: one that is kept, or that of a search, which is kept then. Cost:
    /// nothing to speak of, or the search.
    #[inline]
    pub fn find(
        &self,
        number: u32,
        hint: &mut Hint,
        search: impl FnOnce(&mut Hint) -> Option<u32>,
    ) -> Option<u32> {
        let slots = self.0.get_or_init(|| Box::new(std::array::from_fn(|_| Slot::default())));
        let slot = &slots[(number / NEIGHBOURS) as usize % KEPT];
        let last = slot.get();
        if let Some((to, _)) = last.get(number) {
            *hint = last;
            return Some(to);
        }
        let to = search(hint)?;
        slot.set(*hint);
        Some(to)
    }
}

/// A hint that threads share.
///
/// Each half says where the run starts. Numbers from there on lead to the same ones whoever wrote it: halves that say the same
/// belong together.
#[derive(Debug, Default)]
pub(in crate::store) struct Slot {
    to: AtomicU64,
    length: AtomicU64,
}

impl Slot {
    /// The hint; an empty one while another thread writes.
    #[inline]
    pub fn get(&self) -> Hint {
        let [to, length] = [&self.to, &self.length].map(|half| half.load(Relaxed));
        match to >> 32 == length >> 32 {
            true => Hint::new((to >> 32) as u32, to as u32, length as u32),
            false => Hint::default(),
        }
    }
    #[inline]
    pub fn set(&self, hint: Hint) {
        let (from, to, length) = hint.parts();
        let half = |number: u32| u64::from(from) << 32 | u64::from(number);
        self.to.store(half(to), Relaxed);
        self.length.store(half(length), Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_searched_for_once() {
        let found = Found::default();
        let mut searches = 0;
        let mut ask = |number: u32| {
            let mut hint = Hint::default();
            let to = found.find(number, &mut hint, |hint| {
                searches += 1;
                // Runs of ten, each led to twice the number of its first.
                *hint = Hint::new(number / 10 * 10, number / 10 * 20, 10);
                hint.get(number).map(|found| found.0)
            });
            assert_eq!(to, Some(number / 10 * 20 + number % 10));
            assert_eq!(hint.get(number).map(|found| found.0), to);
        };
        (20..26).for_each(&mut ask);
        // Others that share its place, and then it again.
        let other = 20 + NEIGHBOURS * KEPT as u32;
        ask(other);
        ask(other);
        ask(21);
        assert_eq!(searches, 3);
    }

    #[test]
    fn what_leads_nowhere_is_not_kept() {
        let found = Found::default();
        assert_eq!(found.find(7, &mut Hint::default(), |_| None), None);
        assert_eq!(found.find(0, &mut Hint::default(), |_| None), None);
        let mut hint = Hint::default();
        assert_eq!(
            found.find(7, &mut hint, |hint| {
                *hint = Hint::new(7, 9, 1);
                Some(9)
            }),
            Some(9)
        );
    }
}
