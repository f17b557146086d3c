//! Values as C would show them.
use crate::query::trace::errno;
use crate::query::trace::names::Namer;
use crate::query::trace::record::{Number, Value};
use crate::query::trace::shown::Shown;
use crate::render::commands_terminal;
use std::io::Write;

/// Appends a value: `4096`, `-ENOENT`, `REQ_SYNC|0x40`, `"sda\n"`, `{1, 2}`, `(unreadable)`.
pub fn put(value: &Value<'_>, shown: &Shown, names: &mut dyn Namer, out: &mut Vec<u8>) {
    match value {
        Value::Number(number) => put_number(*number, shown, names, out),
        Value::Numbers(numbers) => {
            out.push(b'{');
            for (nth, number) in numbers.iter().enumerate() {
                if nth > 0 {
                    out.extend_from_slice(b", ");
                }
                put_number(number, shown, names, out);
            }
            out.push(b'}');
        }
        Value::Text(text) => put_quoted(text, b'"', out),
        Value::Bytes(bytes) => bytes.iter().for_each(|byte| put_formatted(out, format_args!("{byte:02x}"))),
        Value::Unreadable => out.extend_from_slice(b"(unreadable)"),
    }
}

/// Whether a number is shown as something else than a number in decimal.
pub fn differs(value: &Value<'_>, shown: &Shown, names: &mut dyn Namer) -> bool {
    let mut number = |number: Number| match shown {
        Shown::Signed | Shown::Unsigned | Shown::Boolean | Shown::Text => false,
        Shown::Hexadecimal => number.unsigned() > 9,
        Shown::Character => true,
        Shown::Enumerators { named, are_bits } => *are_bits || enumerator(number, named).is_some(),
        Shown::Address => {
            number.unsigned() > 9 || number.unsigned() == 0 || names.symbol(number.unsigned()).is_some()
        }
        Shown::Result => error_of(number.signed()).is_some(),
    };
    match value {
        Value::Number(one) => number(*one),
        Value::Numbers(all) => all.iter().any(&mut number),
        _ => false,
    }
}

fn put_number(number: Number, shown: &Shown, names: &mut dyn Namer, out: &mut Vec<u8>) {
    match shown {
        Shown::Signed => put_formatted(out, format_args!("{}", number.signed())),
        Shown::Unsigned | Shown::Text => put_decimal(number, out),
        Shown::Hexadecimal => put_formatted(out, format_args!("{:#x}", number.unsigned())),
        Shown::Boolean => match number.unsigned() {
            0 => out.extend_from_slice(b"false"),
            1 => out.extend_from_slice(b"true"),
            other => put_formatted(out, format_args!("{other}")),
        },
        Shown::Character => {
            put_quoted(&[number.unsigned() as u8], b'\'', out);
        }
        Shown::Enumerators { named, are_bits } => put_enumerators(number, named, *are_bits, out),
        Shown::Address => put_address(number.unsigned(), names, out),
        Shown::Result => match error_of(number.signed()) {
            Some(name) => put_formatted(out, format_args!("-{name}")),
            None => put_formatted(out, format_args!("{}", number.signed())),
        },
    }
}

/// With the sign that the kernel gives it.
pub fn put_decimal(number: Number, out: &mut Vec<u8>) {
    match number.is_signed() {
        true => put_formatted(out, format_args!("{}", number.signed())),
        false => put_formatted(out, format_args!("{}", number.unsigned())),
    }
}

fn put_address(address: u64, names: &mut dyn Namer, out: &mut Vec<u8>) {
    if address == 0 {
        out.extend_from_slice(b"NULL");
    } else if let Some(error) = error_of(address as i64) {
        put_formatted(out, format_args!("-{error}"));
    } else if let Some(symbol) = names.symbol(address) {
        let symbol = symbol.strip_suffix("+0x0").unwrap_or(symbol);
        out.extend_from_slice(symbol.as_bytes());
    } else {
        put_formatted(out, format_args!("{address:#x}"));
    }
}

/// The name of the error that a function returned: `IS_ERR_VALUE` (include/linux/err.h).
fn error_of(returned: i64) -> Option<&'static str> {
    const MAX_ERRNO: i64 = 4095;
    errno::name((-MAX_ERRNO..0).contains(&returned).then(|| returned.unsigned_abs())?)
}

fn put_enumerators(number: Number, named: &[(i64, String)], are_bits: bool, out: &mut Vec<u8>) {
    if let Some(name) = enumerator(number, named) {
        return out.extend_from_slice(name.as_bytes());
    }
    let mut rest = number.unsigned();
    if !are_bits || rest == 0 {
        return put_formatted(out, format_args!("{}", if are_bits { 0 } else { number.signed() }));
    }
    let mut is_first = true;
    for (bit, name) in named {
        let bit = Number::new(*bit as u64, number.size(), false).unsigned();
        if bit != 0 && rest & bit == bit {
            rest &= !bit;
            if !std::mem::take(&mut is_first) {
                out.push(b'|');
            }
            out.extend_from_slice(name.as_bytes());
        }
    }
    match (rest, is_first) {
        (0, _) => {}
        (rest, true) => put_formatted(out, format_args!("{rest:#x}")),
        (rest, false) => put_formatted(out, format_args!("|{rest:#x}")),
    }
}

/// The enumerator of a number, whether the enum is signed or not.
fn enumerator(number: Number, named: &[(i64, String)]) -> Option<&str> {
    let find = |value: i64| named.binary_search_by_key(&value, |(value, _)| *value).ok();
    let at = find(number.unsigned() as i64).or_else(|| find(number.signed()))?;
    Some(&named[at].1)
}

/// Appends text as C writes it; what could command a terminal, and bytes that are not UTF-8, as numbers.
pub fn put_quoted(text: &[u8], quote: u8, out: &mut Vec<u8>) {
    out.push(quote);
    for chunk in text.utf8_chunks() {
        for c in chunk.valid().chars() {
            match c {
                '\n' => out.extend_from_slice(b"\\n"),
                '\t' => out.extend_from_slice(b"\\t"),
                '\r' => out.extend_from_slice(b"\\r"),
                '\\' => out.extend_from_slice(b"\\\\"),
                c if c == char::from(quote) => out.extend_from_slice(&[b'\\', quote]),
                c if c.is_ascii_control() => put_formatted(out, format_args!("\\x{:02x}", u32::from(c))),
                c if commands_terminal(c) => put_formatted(out, format_args!("\\u{:04x}", u32::from(c))),
                c => out.extend_from_slice(c.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        chunk.invalid().iter().for_each(|byte| put_formatted(out, format_args!("\\x{byte:02x}")));
    }
    out.push(quote);
}

fn put_formatted(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // A vector takes all.
    let _ = out.write_fmt(text);
}
