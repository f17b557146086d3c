//! Formats what a trace reads: lines for people, JSON, a file for viewers, and tables of counts.
pub mod json;
pub mod plan;
#[cfg(feature = "schema")]
pub mod schema;
pub mod table;
pub mod text;
mod value;
pub mod viewer;

use crate::query::trace::record::Record;

/// What happened, as people call it: `blk_account_io_start in blk_insert_cloned_request`.
fn put_subject(record: &Record<'_>, out: &mut Vec<u8>) {
    out.extend_from_slice(record.event.subject.as_bytes());
    if let Some(caller) = record.copy.and_then(|copy| copy.inlined_into.first()) {
        out.extend_from_slice(b" in ");
        out.extend_from_slice(caller.as_bytes());
    }
}

/// Appends a time in nanoseconds as seconds with so many decimals, rounded down.
fn put_seconds(time: u64, decimals: usize, out: &mut Vec<u8>) {
    let fraction = format!("{:09}", time % 1_000_000_000);
    out.extend_from_slice(format!("{}.{}", time / 1_000_000_000, &fraction[..decimals]).as_bytes());
}
