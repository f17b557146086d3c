//! Formats answers. Nothing here opens files or makes decisions.
pub mod address;
pub mod aliases;
pub mod callers;
pub mod check;
pub mod diff;
pub mod frame;
pub mod hand_over;
pub mod health;
pub mod history;
pub mod json;
pub mod kprobe_events;
pub mod lines;
pub mod offers;
pub mod report;
pub mod steps;
pub mod tapset;
pub mod tapset_definitions;
pub mod text;
pub mod trace;
pub mod tracepoint;
pub mod types;
pub mod types_json;
pub mod words;

use std::borrow::Cow;
use std::fmt::Write;

/// The version of the JSON answers. New fields and new values of a field do not change it; a field that is removed, or whose
/// meaning or type changes, does. `kernels --json` prints it, and `methods` of `serve`.
pub const SCHEMA: u32 = 2;

/// An answer as JSON, its fields in the order of their names.
pub(crate) fn json_of(answer: &impl serde::Serialize) -> serde_json::Value {
    // Strings and numbers are always JSON.
    serde_json::to_value(answer).unwrap_or_default()
}

/// Writes an answer as a line of JSON, at once: writers pass on each piece through several layers.
pub(crate) fn put_json_line(
    answer: &impl serde::Serialize,
    out: &mut dyn std::io::Write,
) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    out.write_all(&line)
}

/// Escapes everything that could move the cursor, break the line or change the direction of text: names come from
/// untrusted files.
pub fn printable(text: &str) -> Cow<'_, str> {
    if !text.contains(commands_terminal) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if commands_terminal(c) {
            let _ = write!(escaped, "{}", c.escape_default());
        } else {
            escaped.push(c);
        }
    }
    Cow::Owned(escaped)
}

/// Whether a character controls a terminal, ends a line, or changes the direction of text: C0, DEL, C1, line and
/// paragraph separators, and the bidi controls of Unicode's annex 9.
pub(crate) fn commands_terminal(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Like [`printable`], for a name in the index.
fn printable_bytes(bytes: &[u8]) -> String {
    printable(&String::from_utf8_lossy(bytes)).into_owned()
}

/// A name for JSON, which does its own escaping.
fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
