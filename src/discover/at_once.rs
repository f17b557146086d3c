//! Does the same with many files side by side.
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A disk answers many requests in the time of one: a thousand files that are not in memory, one after the other, are a
/// thousand times its delay. This many, or one for each processor.
const AT_ONCE: usize = 16;

/// For fewer, a thread takes longer than it saves.
const OF_A_THREAD: usize = 4;

/// What `work` returns for each item, in their order.
///
/// These are no threads of rayon's: one that finds nothing to do looks for it again and again before it sleeps.
pub(super) fn each<T: Sync, R: Send>(items: &[T], work: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let some = || {
        let numbers = std::iter::from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed)));
        numbers.map_while(|number| Some((number, work(items.get(number)?)))).collect::<Vec<_>>()
    };
    let processors = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
    let helpers = (items.len() / OF_A_THREAD).min(processors.max(AT_ONCE)).saturating_sub(1);
    let mut done = std::thread::scope(|scope| {
        // Threads that cannot be had only make it slower.
        let start = |_| std::thread::Builder::new().spawn_scoped(scope, some).ok();
        let helpers: Vec<_> = (0..helpers).map_while(start).collect();
        let mut done = some();
        for helper in helpers {
            done.extend(helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(number, _)| *number);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_the_order_of_the_items() {
        for length in [0, 1, OF_A_THREAD, 2 * OF_A_THREAD, 500] {
            let items: Vec<usize> = (0..length).collect();
            let squares: Vec<usize> = items.iter().map(|n| n * n).collect();
            assert_eq!(each(&items, |n| n * n), squares, "{length}");
        }
    }
}
