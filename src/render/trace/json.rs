//! A JSON object for each event: docs/tracing.md.
use super::{put_seconds, value};
use crate::query::trace::Event;
use crate::query::trace::names::Namer;
use crate::query::trace::record::{Notice, Number, Record, Value};
use crate::query::trace::shown::Shown;
use std::io::Write;

/// Appends a line: `{"time","cpu","pid","comm","function","copy","address","args"}`, and where they say more, `return`,
/// `shown`, `stack`.
pub fn line(record: &Record<'_>, names: &mut dyn Namer, out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"time\":");
    put_seconds(record.time, 9, out);
    out.extend_from_slice(format!(",\"cpu\":{},\"pid\":{},\"comm\":", record.cpu, record.pid).as_bytes());
    put_text(record.comm, out);
    out.extend_from_slice(b",\"function\":");
    put_text(record.event.subject.as_bytes(), out);
    if record.event.kind.is_return() {
        out.extend_from_slice(b",\"return\":true");
    }
    out.extend_from_slice(b",\"copy\":");
    match record.copy.and_then(|copy| copy.inlined_into.first()) {
        Some(caller) => put_text(caller.as_bytes(), out),
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(b",\"address\":");
    match record.copy.and_then(|copy| copy.place.as_ref()) {
        Some(place) => out.extend_from_slice(format!("\"{:#x}\"", place.address).as_bytes()),
        None => out.extend_from_slice(b"null"),
    }
    out.extend_from_slice(b",\"args\":");
    put_arguments(record.event, record.values, names, out);
    if !record.stack.is_empty() {
        out.extend_from_slice(b",\"stack\":");
        put_stack(record, names, out);
    }
    out.extend_from_slice(b"}\n");
}

/// Appends a line: `{"lost","time","cpu"}`.
pub fn notice(notice: &Notice, out: &mut Vec<u8>) {
    let Notice::Lost { time, cpu, count } = notice;
    let count = count.map_or("null".to_owned(), |count| count.to_string());
    out.extend_from_slice(format!("{{\"lost\":{count},\"time\":").as_bytes());
    put_seconds(*time, 9, out);
    out.extend_from_slice(format!(",\"cpu\":{cpu}}}\n").as_bytes());
}

/// The values, then those that are shown otherwise: `{"ret":-2},"shown":{"ret":"-ENOENT"}`.
pub(super) fn put_arguments(event: &Event, values: &[Value<'_>], names: &mut dyn Namer, out: &mut Vec<u8>) {
    out.push(b'{');
    for (nth, (column, value)) in event.columns.iter().zip(values).enumerate() {
        if nth > 0 {
            out.push(b',');
        }
        put_text(column.name.as_bytes(), out);
        out.push(b':');
        put_value(value, &column.shown, out);
    }
    out.push(b'}');
    let mut is_first = true;
    let mut text = vec![];
    for (column, value) in event.columns.iter().zip(values) {
        if value::differs(value, &column.shown, names) {
            out.extend_from_slice(if std::mem::take(&mut is_first) { b",\"shown\":{" } else { b"," });
            put_text(column.name.as_bytes(), out);
            out.push(b':');
            text.clear();
            value::put(value, &column.shown, names, &mut text);
            put_text(&text, out);
        }
    }
    if !is_first {
        out.push(b'}');
    }
}

pub(super) fn put_value(value: &Value<'_>, shown: &Shown, out: &mut Vec<u8>) {
    match value {
        Value::Number(number) => put_number(*number, shown, out),
        Value::Numbers(numbers) => {
            out.push(b'[');
            for (nth, number) in numbers.iter().enumerate() {
                if nth > 0 {
                    out.push(b',');
                }
                put_number(number, shown, out);
            }
            out.push(b']');
        }
        Value::Text(text) => put_text(text, out),
        Value::Bytes(bytes) => {
            out.push(b'"');
            for byte in *bytes {
                let _ = write!(out, "{byte:02x}");
            }
            out.push(b'"');
        }
        Value::Unreadable => out.extend_from_slice(b"null"),
    }
}

fn put_number(number: Number, shown: &Shown, out: &mut Vec<u8>) {
    match (shown, number.unsigned()) {
        (Shown::Boolean, 0) => out.extend_from_slice(b"false"),
        (Shown::Boolean, 1) => out.extend_from_slice(b"true"),
        (Shown::Signed | Shown::Result, _) => out.extend_from_slice(number.signed().to_string().as_bytes()),
        (Shown::Hexadecimal | Shown::Address, bits) => out.extend_from_slice(bits.to_string().as_bytes()),
        _ => value::put_decimal(number, out),
    }
}

pub(super) fn put_stack(record: &Record<'_>, names: &mut dyn Namer, out: &mut Vec<u8>) {
    let mut separator = b'[';
    record.frames(names, &mut |address, frame| {
        out.push(std::mem::replace(&mut separator, b','));
        out.extend_from_slice(format!("{{\"address\":\"{address:#x}\",\"symbol\":").as_bytes());
        put_text(frame.symbol.as_bytes(), out);
        out.extend_from_slice(b",\"functions\":[");
        for (nth, level) in frame.levels.iter().enumerate() {
            out.extend_from_slice(if nth == 0 { b"{\"function\":" } else { b",{\"function\":" });
            put_text(level.function.as_bytes(), out);
            if let Some((file, line)) = &level.line {
                out.extend_from_slice(b",\"file\":");
                put_text(file.as_bytes(), out);
                out.extend_from_slice(format!(",\"line\":{line}").as_bytes());
            }
            out.push(b'}');
        }
        out.extend_from_slice(b"]}");
    });
    out.push(b']');
}

/// A string; bytes that are not UTF-8 become U+FFFD.
pub(super) fn put_text(text: &[u8], out: &mut Vec<u8>) {
    // A vector takes all.
    let _ = serde_json::to_writer(out, &*String::from_utf8_lossy(text));
}
