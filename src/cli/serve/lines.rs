//! Lines of bounded length.
use std::io::{ErrorKind, Read, Result};

/// The longest line in bytes, without its end.
pub const LONGEST: usize = 8 << 20;
/// The size of a read: the capacity of a pipe.
const AT_ONCE: usize = 64 << 10;

/// A line of the input.
pub enum Line<'a> {
    Whole(&'a [u8]),
    /// A line that was skipped.
    TooLong,
}

/// Calls `each` with every line, including an unterminated last one, while it returns true.
///
/// # Errors
/// Those of `input`.
pub fn each(mut input: impl Read, mut each: impl FnMut(Line<'_>) -> bool) -> Result<()> {
    let mut piece = vec![0; AT_ONCE];
    let mut begun: Vec<u8> = vec![];
    let mut is_too_long = false;
    loop {
        let length = match input.read(&mut piece) {
            Ok(0) => break,
            Ok(length) => length,
            Err(e) if e.kind() == ErrorKind::Interrupted => continue,
            Err(e) => return Err(e),
        };
        let mut rest = &piece[..length];
        while let Some(end) = memchr::memchr(b'\n', rest) {
            let line = match (is_too_long, begun.is_empty()) {
                (true, _) => Line::TooLong,
                (_, true) => Line::Whole(&rest[..end]),
                _ if begun.len() + end > LONGEST => Line::TooLong,
                _ => {
                    begun.extend_from_slice(&rest[..end]);
                    Line::Whole(&begun)
                }
            };
            if !each(line) {
                return Ok(());
            }
            begun = vec![];
            is_too_long = false;
            rest = &rest[end + 1..];
        }
        is_too_long |= begun.len() + rest.len() > LONGEST;
        match is_too_long {
            true => begun = vec![],
            false => begun.extend_from_slice(rest),
        }
    }
    if is_too_long {
        each(Line::TooLong);
    } else if !begun.is_empty() {
        each(Line::Whole(&begun));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn read(text: &[u8]) -> Vec<Option<Vec<u8>>> {
        let mut lines = vec![];
        each(Cursor::new(text), |line| {
            lines.push(match line {
                Line::Whole(line) => Some(line.to_vec()),
                Line::TooLong => None,
            });
            true
        })
        .unwrap();
        lines
    }

    #[test]
    fn the_last_line_needs_no_end() {
        let some = |text: &str| Some(text.as_bytes().to_vec());
        assert_eq!(read(b""), []);
        assert_eq!(read(b"a\n\nb"), [some("a"), some(""), some("b")]);
        assert_eq!(read(b"a\nb\n"), [some("a"), some("b")]);
    }

    #[test]
    fn a_line_is_as_long_as_it_may_be_or_passed_over() {
        let whole = vec![b'a'; LONGEST];
        let longer = vec![b'b'; LONGEST + 1];
        let text = [&whole[..], b"\n", &longer, b"\nc\n", &longer].concat();
        assert_eq!(read(&text), [Some(whole), None, Some(b"c".to_vec()), None]);
    }
}
