//! Entries and returns of functions, put together.
//!
//! A task is in several calls at a time, each within the one before: the entry that a return belongs to is the last one
//! of its function that is open. So recursion is matched rightly. A return may be missing (`maxactive`: the kernel had no
//! room to watch it), which is found when a call around it returns.
use super::Event;
use rustc_hash::FxHashMap;

/// For each event, the number of the function of which both the entry and the return are among the events; `None` for any
/// other event. Copies that are inlined do not return.
pub fn functions(events: &[Event]) -> Vec<Option<usize>> {
    let name = |event: &Event| event.subject.strip_suffix(".return").unwrap_or(&event.subject).to_owned();
    let is_entry = |event: &Event| {
        !event.kind.is_return() && event.copies.iter().all(|copy| copy.inlined_into.is_empty())
    };
    let mut numbers: FxHashMap<String, (usize, bool, bool)> = FxHashMap::default();
    for event in events {
        let next = numbers.len();
        let (_, enters, returns) = numbers.entry(name(event)).or_insert((next, false, false));
        *enters |= is_entry(event);
        *returns |= event.kind.is_return();
    }
    let number = |event: &Event| {
        let (number, enters, returns) = numbers[&name(event)];
        (enters && returns && (event.kind.is_return() || is_entry(event))).then_some(number)
    };
    events.iter().map(number).collect()
}

/// Calls that have not returned.
#[derive(Debug)]
pub struct Calls<T> {
    open: FxHashMap<Context, Vec<Open<T>>>,
    /// Returns without an entry, and entries without a return.
    unmatched: u64,
}

/// What calls are nested in: a task, or an idle processor, all of which have the number 0.
type Context = (i32, u32);

#[derive(Debug)]
struct Open<T> {
    function: usize,
    time: u64,
    what: T,
}

impl<T> Default for Calls<T> {
    fn default() -> Self {
        Self { open: FxHashMap::default(), unmatched: 0 }
    }
}

impl<T> Calls<T> {
    /// A function is entered. `what` is kept until it returns.
    pub fn enter(&mut self, pid: i32, cpu: u32, function: usize, time: u64, what: T) {
        /// No stack of a kernel has more; entries without a return must not grow forever.
        const DEEPEST: usize = 256;
        let calls = self.open.entry(context(pid, cpu)).or_default();
        if calls.len() == DEEPEST {
            calls.remove(0);
            self.unmatched += 1;
        }
        calls.push(Open { function, time, what });
    }

    /// A function returns: when it was entered, and what was kept. `None` if its entry was not seen.
    pub fn leave(&mut self, pid: i32, cpu: u32, function: usize) -> Option<(u64, T)> {
        let key = context(pid, cpu);
        let found = self.open.get_mut(&key).and_then(|calls| {
            let at = calls.iter().rposition(|call| call.function == function)?;
            // What was entered later is over: its return was not seen.
            self.unmatched += (calls.len() - at - 1) as u64;
            calls.truncate(at + 1);
            let call = calls.pop()?;
            Some((call.time, call.what, calls.is_empty()))
        });
        let Some((time, what, is_last)) = found else {
            self.unmatched += 1;
            return None;
        };
        if is_last {
            self.open.remove(&key);
        }
        Some((time, what))
    }

    /// Events were lost, so that no call is known to be still open.
    pub fn forget(&mut self) {
        self.unmatched += self.open.values().map(|calls| calls.len() as u64).sum::<u64>();
        self.open.clear();
    }

    /// Returns without an entry, and entries of which it is known that their return was not seen.
    pub fn unmatched(&self) -> u64 {
        self.unmatched
    }

    /// The calls that are open, in the order of their entries.
    pub fn finish(self) -> Vec<(u64, T)> {
        let mut open: Vec<(u64, T)> =
            self.open.into_values().flatten().map(|call| (call.time, call.what)).collect();
        open.sort_by_key(|(time, _)| *time);
        open
    }
}

fn context(pid: i32, cpu: u32) -> Context {
    if pid == 0 { (0, cpu) } else { (pid, 0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recursion_and_other_tasks_do_not_disturb() {
        let mut calls = Calls::default();
        calls.enter(7, 0, 0, 10, "outer");
        calls.enter(8, 1, 0, 11, "other");
        calls.enter(7, 0, 0, 12, "inner");
        // On another processor in the meantime.
        assert_eq!(calls.leave(7, 3, 0), Some((12, "inner")));
        assert_eq!(calls.leave(7, 3, 0), Some((10, "outer")));
        assert_eq!(calls.leave(7, 3, 0), None);
        assert_eq!(calls.unmatched(), 1);
        assert_eq!(calls.finish(), [(11, "other")]);
    }

    #[test]
    fn a_missing_return_is_over_when_the_call_around_it_returns() {
        let mut calls = Calls::default();
        calls.enter(7, 0, 0, 1, ());
        calls.enter(7, 0, 1, 2, ());
        calls.enter(7, 0, 1, 3, ());
        assert_eq!(calls.leave(7, 0, 0), Some((1, ())));
        assert_eq!((calls.unmatched(), calls.leave(7, 0, 1)), (2, None));
    }

    #[test]
    fn idle_processors_are_not_one_task() {
        let mut calls = Calls::default();
        calls.enter(0, 0, 5, 1, ());
        calls.enter(0, 1, 5, 2, ());
        assert_eq!(calls.leave(0, 0, 5), Some((1, ())));
        calls.forget();
        assert_eq!((calls.unmatched(), calls.leave(0, 1, 5)), (1, None));
    }

    #[test]
    fn entries_without_a_return_do_not_grow_forever() {
        let mut calls = Calls::default();
        (0..1000).for_each(|time| calls.enter(7, 0, 0, time, ()));
        assert_eq!((calls.unmatched(), calls.leave(7, 0, 0)), (744, Some((999, ()))));
        assert_eq!(calls.finish().len(), 255);
    }
}
