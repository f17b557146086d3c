//! Tables of counts, for people and as JSON: `--count`, `--hist`, `--latency`.
use super::json::put_text;
use super::value;
use crate::query::trace::histogram::Log2;
use crate::query::trace::names::Namer;
use crate::query::trace::shown::Shown;
use crate::query::trace::tally::{Key, Tally, TallyCounts};
use crate::query::trace::{Column, Event};
use crate::render::json::Hex;
use crate::render::json_of;
use std::io::Write;

/// The width of a bar of the largest count.
const BAR: usize = 40;

/// The rows that people are shown; JSON has all.
const MOST_ROWS: usize = 40;

/// Appends how often an event and its copies were passed, the most frequent copy first.
pub fn copies(event: &Event, tally: &Tally, out: &mut Vec<u8>) {
    let TallyCounts::Copies(counts, unknown) = &tally.counts else { return };
    row(&event.subject, tally.total(), out);
    let mut known: Vec<(String, u64)> = event
        .copies
        .iter()
        .zip(counts)
        .filter_map(|(copy, count)| Some((format!("  in {}", copy.inlined_into.first()?), *count)))
        .collect();
    known.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    known.extend((*unknown > 0 && event.copies.len() > 1).then(|| ("  elsewhere".to_owned(), *unknown)));
    known.iter().for_each(|(what, count)| row(what, *count, out));
}

fn row(what: &str, count: u64, out: &mut Vec<u8>) {
    let _ = writeln!(out, "{what:<60} {count:>12}");
}

/// Appends how often each value of a column occurred, or how often numbers of each range.
pub fn values(event: &Event, column: &Column, tally: &Tally, names: &mut dyn Namer, out: &mut Vec<u8>) {
    let _ = writeln!(out, "{} of {}", column.name, event.subject);
    match &tally.counts {
        TallyCounts::Ranges(log2) => ranges(log2, column.shown == Shown::Signed, out),
        TallyCounts::Values(counts) => {
            let mut log2 = Log2::default();
            let mut all: Vec<(&Key, u64)> = counts.iter().map(|(key, count)| (key, *count)).collect();
            // Of results, errors each by name, and many different numbers by range.
            if column.shown == Shown::Result && all.len() > MOST_ROWS / 2 {
                all.retain(|(key, count)| match key {
                    Key::Number(number) if *number as i64 >= 0 => {
                        add(&mut log2, *number, *count);
                        false
                    }
                    _ => true,
                });
            }
            all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
            let most = all.first().map_or(0, |(_, count)| *count);
            for (key, count) in all.iter().take(MOST_ROWS) {
                let mut text = vec![];
                value::put(&key.value(), &column.shown, names, &mut text);
                let text = String::from_utf8_lossy(&text);
                let _ = writeln!(out, "  {text:<42} {count:>12} |{:<BAR$}|", bar(*count, most));
            }
            if let Some(rest) = all.get(MOST_ROWS..).filter(|rest| !rest.is_empty()) {
                let count: u64 = rest.iter().map(|(_, count)| count).sum();
                let _ = writeln!(out, "  {:<42} {count:>12}", format!("{} other values", rest.len()));
            }
            if log2.count() > 0 {
                ranges(&log2, false, out);
            }
        }
        TallyCounts::Copies(..) => {}
    }
    if tally.dropped > 0 {
        let _ = writeln!(out, "  {:<42} {:>12}", "not counted: too many values", tally.dropped);
    }
}

/// Adds the same value several times.
fn add(log2: &mut Log2, value: u64, count: u64) {
    let mut one = Log2::default();
    one.add(value);
    let power = one.ranges().next().map_or(0, |(_, last, _)| last.trailing_zeros() as usize);
    log2.add_to(power, count);
}

/// Appends how long the calls of a function took, in nanoseconds. `sum` of all. `unmatched`: calls of which the entry or the
/// return was not seen.
pub fn latency(function: &str, log2: &Log2, sum: u64, unmatched: u64, out: &mut Vec<u8>) {
    let count = log2.count();
    let _ = write!(out, "{function}: {count} call{}", if count == 1 { "" } else { "s" });
    if let Some(average) = sum.checked_div(count) {
        let _ = write!(out, ", {} on average", nanoseconds(average));
        for percent in [50, 99] {
            if let Some(most) = log2.percentile(percent) {
                let _ = write!(out, ", {percent} % within {}", nanoseconds(most));
            }
        }
    }
    out.push(b'\n');
    let name = |start, last| format!("{} .. {}", nanoseconds(start), nanoseconds(last));
    put_ranges_as_rows(log2, false, name, out);
    if unmatched > 0 {
        let _ = writeln!(out, "  {:<42} {unmatched:>12}", "entry or return not seen");
    }
}

fn ranges(log2: &Log2, is_signed: bool, out: &mut Vec<u8>) {
    let name = |start: u64, last: u64| match last {
        u64::MAX if is_signed => "negative".to_owned(),
        _ if start == last => start.to_string(),
        _ => format!("{start} .. {last}"),
    };
    put_ranges_as_rows(log2, is_signed, name, out);
}

/// A row for each range; of several empty ones together, one. Negative numbers stand first.
fn put_ranges_as_rows(log2: &Log2, is_signed: bool, name: impl Fn(u64, u64) -> String, out: &mut Vec<u8>) {
    let all: Vec<(u64, u64, u64)> = log2.ranges().collect();
    let most = all.iter().map(|(.., count)| *count).max().unwrap_or(0);
    let negative = all.iter().filter(|(_, last, _)| is_signed && *last == u64::MAX);
    let others = all.iter().filter(|(_, last, _)| !is_signed || *last < u64::MAX);
    let mut empty = 0;
    let mut is_begun = false;
    for (start, last, count) in negative.chain(others) {
        if *count == 0 {
            empty += 1;
            continue;
        }
        if is_begun && empty > 0 {
            let _ = writeln!(out, "  {:>42}", "…");
        }
        // Between negative numbers and the others is no gap that says anything.
        is_begun = !(is_signed && *last == u64::MAX);
        empty = 0;
        let _ = writeln!(out, "  {:>42} {count:>12} |{:<BAR$}|", name(*start, *last), bar(*count, most));
    }
}

/// `850 ns`, `1.2 ms`.
fn nanoseconds(time: u64) -> String {
    match time {
        0..1_000 => format!("{time} ns"),
        1_000..1_000_000 => format!("{}.{} µs", time / 1_000, time / 100 % 10),
        1_000_000..1_000_000_000 => format!("{}.{} ms", time / 1_000_000, time / 100_000 % 10),
        _ => format!("{}.{} s", time / 1_000_000_000, time / 100_000_000 % 10),
    }
}

fn bar(count: u64, most: u64) -> &'static str {
    const FULL: &str = "########################################";
    let length = u128::from(count) * BAR as u128 / u128::from(most.max(1));
    &FULL[..(length as usize).max(usize::from(count > 0)).min(BAR)]
}

/// How often a copy was passed.
#[derive(serde::Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CopyCount<'a> {
    /// What was traced.
    function: &'a str,
    /// The function into which the copy is inlined; null out of line, and for tracepoints.
    copy: Option<&'a str>,
    /// The address of the copy, as `resolve` prints it; null if it is not known which one it was.
    address: Option<Hex>,
    /// How often.
    count: u64,
}

/// Appends a JSON line for each copy: `{"function","copy","address","count"}`.
pub fn copies_json(event: &Event, tally: &Tally, out: &mut Vec<u8>) {
    let TallyCounts::Copies(counts, unknown) = &tally.counts else { return };
    let function = &*event.subject;
    for (copy, count) in event.copies.iter().zip(counts) {
        let line = CopyCount {
            function,
            copy: copy.inlined_into.first().map(|caller| &**caller),
            address: copy.place.as_ref().map(|place| Hex(place.address)),
            count: if event.copies.len() == 1 { count + unknown } else { *count },
        };
        let _ = writeln!(out, "{}", json_of(&line));
    }
    if event.copies.len() != 1 && *unknown > 0 {
        let line = CopyCount { function, copy: None, address: None, count: *unknown };
        let _ = writeln!(out, "{}", json_of(&line));
    }
}

/// Appends a JSON line: `{"function","value","counts":[{"value","shown","count"}],"dropped"}`, or with
/// `"ranges":[{"from","to","count"}]` in place of `counts`.
pub fn values_json(event: &Event, column: &Column, tally: &Tally, names: &mut dyn Namer, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"function\":");
    put_text(event.subject.as_bytes(), out);
    out.extend_from_slice(b",\"value\":");
    put_text(column.name.as_bytes(), out);
    match &tally.counts {
        TallyCounts::Ranges(log2) => put_ranges(log2, out),
        TallyCounts::Values(counts) => {
            let mut all: Vec<(&Key, u64)> = counts.iter().map(|(key, count)| (key, *count)).collect();
            all.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(b.0)));
            out.extend_from_slice(b",\"counts\":[");
            for (nth, (key, count)) in all.iter().enumerate() {
                out.extend_from_slice(if nth == 0 { b"{\"value\":" } else { b",{\"value\":" });
                let value = key.value();
                super::json::put_value(&value, &column.shown, out);
                if value::differs(&value, &column.shown, names) {
                    let mut text = vec![];
                    value::put(&value, &column.shown, names, &mut text);
                    out.extend_from_slice(b",\"shown\":");
                    put_text(&text, out);
                }
                let _ = write!(out, ",\"count\":{count}}}");
            }
            out.push(b']');
        }
        TallyCounts::Copies(..) => {}
    }
    let _ = writeln!(out, ",\"dropped\":{}}}", tally.dropped);
}

/// Appends a JSON line: `{"function","unit":"ns","calls","sum","unmatched","ranges":[{"from","to","count"}]}`.
pub fn latency_json(function: &str, log2: &Log2, sum: u64, unmatched: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"function\":");
    put_text(function.as_bytes(), out);
    let calls = log2.count();
    let _ = write!(out, ",\"unit\":\"ns\",\"calls\":{calls},\"sum\":{sum},\"unmatched\":{unmatched}");
    put_ranges(log2, out);
    out.extend_from_slice(b"}\n");
}

fn put_ranges(log2: &Log2, out: &mut Vec<u8>) {
    out.extend_from_slice(b",\"ranges\":[");
    for (nth, (from, to, count)) in log2.ranges().filter(|(.., count)| *count > 0).enumerate() {
        let comma = if nth == 0 { "" } else { "," };
        let _ = write!(out, "{comma}{{\"from\":{from},\"to\":{to},\"count\":{count}}}");
    }
    out.push(b']');
}
