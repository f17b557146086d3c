//! Answers to text. Nothing here opens files or decides anything.
pub mod address;
pub mod aliases;
pub mod check;
pub mod frame;
pub mod health;
pub mod json;
pub mod kprobe_events;
pub mod lines;
pub mod steps;
pub mod tapset;
pub mod tapset_definitions;
pub mod text;
pub mod tracepoint;
pub mod types;
pub mod types_json;
pub mod words;

use std::borrow::Cow;
use std::fmt::Write;

/// The text with everything escaped that could move the cursor, break the line or turn the direction of
/// reading: names come from files that anyone may have written.
pub fn printable(text: &str) -> Cow<'_, str> {
    let unsafe_to_print = |c: char| {
        c.is_control()
            || matches!(c, '\u{2028}' | '\u{2029}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    if !text.contains(unsafe_to_print) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if unsafe_to_print(c) {
            let _ = write!(escaped, "{}", c.escape_default());
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

/// The same of a name as the index has it.
fn printable_bytes(bytes: &[u8]) -> String {
    printable(&String::from_utf8_lossy(bytes)).into_owned()
}

/// A name as JSON has it, which escapes by itself.
fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
