//! `--max-rate`: an event that happens too often is turned off, before it slows the machine down or hides all others.
use std::time::{Duration, Instant};

/// How long events are counted.
const WINDOW: Duration = Duration::from_secs(1);

/// Counts the records of each event within a second.
pub struct Guard {
    most: u64,
    since: Instant,
    counts: Vec<u64>,
    off: Vec<bool>,
}

impl Guard {
    /// For so many events, of which each may happen so often in a second.
    pub fn new(events: usize, most: u64, now: Instant) -> Self {
        Self { most, since: now, counts: vec![0; events], off: vec![false; events] }
    }

    /// Counts a record.
    pub fn count(&mut self, event: usize) {
        self.counts[event] += 1;
    }

    /// Counts records that were lost, of which nobody knows the event: they are of the one that happens most.
    pub fn lost(&mut self, records: u64) {
        if let Some(most) = self.counts.iter_mut().max() {
            *most += records;
        }
    }

    /// The events that happened too often and are to be turned off now. After each reading.
    pub fn exceeded(&mut self, now: Instant) -> Vec<usize> {
        let all = self.counts.iter().zip(&self.off).enumerate();
        let over: Vec<usize> =
            all.filter(|(_, (count, off))| **count > self.most && !**off).map(|(event, _)| event).collect();
        over.iter().for_each(|event| self.off[*event] = true);
        if now.duration_since(self.since) >= WINDOW {
            self.since = now;
            self.counts.fill(0);
        }
        over
    }

    /// Whether no event is on any more.
    pub fn is_all_off(&self) -> bool {
        self.off.iter().all(|off| *off)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_turned_off_once_and_others_stay_on() {
        let start = Instant::now();
        let mut guard = Guard::new(2, 100, start);
        (0..101).for_each(|_| guard.count(1));
        guard.count(0);
        assert_eq!(guard.exceeded(start), [1]);
        guard.count(1);
        assert_eq!(guard.exceeded(start), [0usize; 0]);
        assert!(!guard.is_all_off());
        guard.lost(1000);
        assert_eq!(guard.exceeded(start), [0usize; 0], "what was lost is of the one that is off already");
    }

    #[test]
    fn what_happens_over_several_seconds_is_not_too_much() {
        let start = Instant::now();
        let mut guard = Guard::new(1, 100, start);
        for second in 1..10 {
            (0..60).for_each(|_| guard.count(0));
            assert_eq!(guard.exceeded(start + WINDOW * second), [0usize; 0]);
        }
        guard.lost(101);
        assert_eq!(guard.exceeded(start), [0]);
        assert!(guard.is_all_off());
    }
}
