//! Counts of events, whether the kernel made them or they are made of records.
use super::histogram::Log2;
use super::record::{CopyFinder, Number, Value};
use super::trigger::{Counted, Counts, is_by_range, is_hexadecimal};
use rustc_hash::FxHashMap;

/// What was counted of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tally {
    /// The counts.
    pub counts: TallyCounts,
    /// How many events are missing from the counts: there were too many different values.
    pub dropped: u64,
}

/// Counts by what is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(clippy::large_enum_variant, reason = "there is one for each event")]
pub enum TallyCounts {
    /// For each copy of the event how often it was passed; and how often none of them was known to be.
    Copies(Vec<u64>, u64),
    /// How often each value occurred.
    Values(FxHashMap<Key, u64>),
    /// How many numbers were in each range.
    Ranges(Log2),
}

/// A value that is counted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Key {
    /// A number of 64 bits; one with a sign is extended.
    Number(u64),
    /// Text.
    Text(Vec<u8>),
    /// The kernel could not read it.
    Unreadable,
}

impl Tally {
    /// No counts, of an event with so many copies.
    pub fn new(counted: Counted<'_>, copies: usize) -> Self {
        let counts = match counted {
            Counted::Copies => TallyCounts::Copies(vec![0; copies], 0),
            Counted::Values(column) if is_by_range(&column.shown) => TallyCounts::Ranges(Log2::default()),
            Counted::Values(_) => TallyCounts::Values(FxHashMap::default()),
        };
        Self { counts, dropped: 0 }
    }

    /// Counts a record, given its copy and the value that is counted.
    pub fn add(&mut self, copy: Option<usize>, value: &Value<'_>) {
        /// As many different values as are kept.
        const MOST: usize = 1 << 16;
        match (&mut self.counts, value) {
            (TallyCounts::Copies(counts, unknown), _) => {
                *copy.and_then(|copy| counts.get_mut(copy)).unwrap_or(unknown) += 1;
            }
            (TallyCounts::Ranges(log2), Value::Number(number)) => log2.add(whole(*number)),
            (TallyCounts::Ranges(log2), Value::Numbers(numbers)) => {
                numbers.iter().for_each(|number| log2.add(whole(number)));
            }
            (TallyCounts::Ranges(_), _) => self.dropped += 1,
            (TallyCounts::Values(counts), value) => {
                let key = Key::of(value);
                match counts.len() < MOST || counts.contains_key(&key) {
                    true => *counts.entry(key).or_default() += 1,
                    false => self.dropped += 1,
                }
            }
        }
    }

    /// What the kernel counted, by the trigger of [`trigger::count`](super::trigger::count).
    pub fn of_kernel(counted: Counted<'_>, copies: usize, finder: &CopyFinder, counts: &Counts) -> Self {
        let mut own = Self::new(counted, copies);
        own.dropped = counts.dropped;
        match (&mut own.counts, counted) {
            (TallyCounts::Ranges(log2), _) => *log2 = counts.log2().0,
            (TallyCounts::Copies(copies, unknown), _) => {
                for row in &counts.rows {
                    let copy = Counts::number(row, true).and_then(|address| finder.find(address));
                    *copy.and_then(|copy| copies.get_mut(copy)).unwrap_or(unknown) += row.count;
                }
            }
            (TallyCounts::Values(values), Counted::Values(column)) => {
                for row in &counts.rows {
                    let text = row.keys.first().map_or("", |(_, value)| value);
                    let number = Counts::number(row, is_hexadecimal(&column.shown));
                    let key = match number.filter(|_| column.shown != super::shown::Shown::Text) {
                        Some(number) => Key::Number(number),
                        None => Key::Text(text.as_bytes().to_vec()),
                    };
                    *values.entry(key).or_default() += row.count;
                }
            }
            (TallyCounts::Values(_), Counted::Copies) => {}
        }
        own
    }

    /// How many events there are in all.
    pub fn total(&self) -> u64 {
        let counted: u64 = match &self.counts {
            TallyCounts::Copies(counts, unknown) => counts.iter().sum::<u64>() + unknown,
            TallyCounts::Values(counts) => counts.values().sum(),
            TallyCounts::Ranges(log2) => log2.count(),
        };
        counted + self.dropped
    }
}

impl Key {
    fn of(value: &Value<'_>) -> Self {
        match value {
            Value::Number(number) => Self::Number(whole(*number)),
            Value::Text(text) => Self::Text(text.to_vec()),
            Value::Bytes(bytes) => Self::Text(bytes.to_vec()),
            Value::Numbers(numbers) => Self::Text(numbers.bytes.to_vec()),
            Value::Unreadable => Self::Unreadable,
        }
    }

    /// The value, to be shown.
    pub fn value(&self) -> Value<'_> {
        match self {
            Self::Number(number) => Value::Number(Number::new(*number, 8, true)),
            Self::Text(text) => Value::Text(text),
            Self::Unreadable => Value::Unreadable,
        }
    }
}

fn whole(number: Number) -> u64 {
    if number.is_signed() { number.signed() as u64 } else { number.unsigned() }
}
