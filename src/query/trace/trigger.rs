//! Counting in the kernel: the text of hist triggers, and of what they count (Documentation/trace/histogram.rst).
//!
//! A trigger costs the kernel a look-up in a table for each event, and no record is written or read. What it cannot do is
//! done from records. It needs CONFIG_HIST_TRIGGERS, which Debian's kernels have since 6.1, not 5.10. Latencies are always of
//! records: the variable in which a trigger keeps the time of an entry is one for each task, so that of a function that
//! calls itself only the innermost calls would be right.
use super::histogram::Log2;
use super::shown::Shown;
use super::{Column, Event, Kind};

/// What is counted.
#[derive(Clone, Copy, Debug)]
pub enum Counted<'c> {
    /// How often each copy is passed.
    Copies,
    /// How often a value occurs, or how often one of each range of numbers.
    Values(&'c Column),
}

/// Whether the kernel has hist triggers, by the `README` of its tracefs.
pub fn are_there(readme: &str) -> bool {
    readme.contains("hist trigger")
}

/// What is written to the `trigger` file of an event to count; with `!` before it, to end that. An event's filter must be
/// in it: that of the event does not hold for triggers.
pub fn count(event: &Event, counted: Counted<'_>) -> String {
    // Room for all copies of a function, and for as many values as there is memory for by default.
    let mut text = match counted {
        Counted::Copies => format!("hist:keys={}:vals=hitcount", copy_key(event.kind)),
        Counted::Values(column) => {
            let how = match column.shown {
                _ if is_by_range(&column.shown) => ".log2",
                _ if is_hexadecimal(&column.shown) => ".hex",
                _ => "",
            };
            format!("hist:keys={}{how}:vals=hitcount:size=8192", column.field)
        }
    };
    put_filter(event, &mut text);
    text
}

fn put_filter(event: &Event, text: &mut String) {
    if let Some(filter) = &event.filter {
        text.push_str(" if ");
        text.push_str(filter);
    }
}

/// The field that says which copy it is; of events that the kernel has by itself, one that is always the same.
fn copy_key(kind: Kind) -> &'static str {
    match kind {
        Kind::Kprobe | Kind::Fprobe | Kind::Uprobe => "__probe_ip.hex",
        Kind::Kretprobe | Kind::FprobeReturn | Kind::Uretprobe => "__probe_func.hex",
        Kind::Tracepoint => "common_type",
    }
}

/// How the kernel is to write the numbers of keys.
pub(super) fn is_hexadecimal(shown: &Shown) -> bool {
    matches!(shown, Shown::Hexadecimal | Shown::Address)
}

/// Numbers are counted by range; names, flags, results, addresses and texts each by itself.
pub(super) fn is_by_range(shown: &Shown) -> bool {
    matches!(shown, Shown::Signed | Shown::Unsigned)
}

/// What a `hist` file has of one trigger.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// What is counted, and how often.
    pub rows: Vec<Row>,
    /// How many events were counted.
    pub hits: u64,
    /// How many were not, as the table was full.
    pub dropped: u64,
}

/// A line of a `hist` file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Names and values of the keys: `("ret", "~ 2^2")`.
    pub keys: Vec<(String, String)>,
    /// `hitcount`.
    pub count: u64,
    /// Other values, which are sums.
    pub sums: Vec<(String, u64)>,
}

/// Reads a `hist` file: one table for each trigger of the event. Lines that are not understood are left out.
pub fn parse(text: &str) -> Vec<Counts> {
    let mut all: Vec<Counts> = vec![];
    for line in text.lines() {
        if line.starts_with("# trigger info:") {
            all.push(Counts::default());
        }
        let Some(counts) = all.last_mut() else { continue };
        if let Some(row) = row(line) {
            counts.rows.push(row);
        }
        let number = |key: &str| line.trim_start().strip_prefix(key)?.trim().parse().ok();
        counts.hits = number("Hits:").unwrap_or(counts.hits);
        counts.dropped = number("Dropped:").unwrap_or(counts.dropped);
    }
    all
}

/// `{ flags: 80000, common_pid: init            [         1] } hitcount:          2  ns:  700`. A text may have blanks and
/// braces itself.
fn row(line: &str) -> Option<Row> {
    let (keys, values) = line.strip_prefix("{ ")?.rsplit_once(" } hitcount:")?;
    let mut values = values.split_ascii_whitespace();
    let count = values.next()?.parse().ok()?;
    let (mut sums, mut name) = (vec![], None);
    for word in values {
        match (word.strip_suffix(':'), name.take()) {
            (Some(next), _) => name = Some(next),
            (None, Some(of)) => sums.push((str::to_owned(of), word.parse().ok()?)),
            (None, None) => return None,
        }
    }
    let mut parts: Vec<(String, String)> = vec![];
    for part in keys.split(", ") {
        match (part.split_once(": "), parts.last_mut()) {
            (Some((name, value)), _) if is_name(name) => {
                parts.push((name.to_owned(), value.trim().to_owned()))
            }
            // A text with a comma.
            (_, Some((_, value))) => {
                value.push_str(", ");
                value.push_str(part.trim_end());
            }
            (_, None) => return None,
        }
    }
    Some(Row { keys: parts, count, sums })
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

impl Counts {
    /// The counts by range, if the key is `.log2` of a number; with the sum of a further value.
    pub fn log2(&self) -> (Log2, u64) {
        let mut log2 = Log2::default();
        let mut sum = 0u64;
        for row in &self.rows {
            let power = row.keys.first().and_then(|(_, value)| value.strip_prefix("~ 2^")?.parse().ok());
            if let Some(power) = power {
                log2.add_to(power, row.count);
                sum = sum.saturating_add(row.sums.first().map_or(0, |(_, sum)| *sum));
            }
        }
        (log2, sum)
    }

    /// The number of a row's key, in hexadecimal (`.hex`) or in decimal.
    pub fn number(row: &Row, is_hexadecimal: bool) -> Option<u64> {
        let (_, value) = row.keys.first()?;
        match is_hexadecimal {
            true => u64::from_str_radix(value.trim_start_matches("0x"), 16).ok(),
            // A number with a sign is printed without it, as 64 bits.
            false => value.parse().ok().or_else(|| value.parse::<i64>().ok().map(|v| v as u64)),
        }
    }
}
