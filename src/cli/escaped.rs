//! Escapes stdout and stderr, so that names in untrusted files cannot control a terminal.
//!
//! All commands follow one rule: characters that control a terminal or the direction of text ([`commands_terminal`])
//! are written as `\u001b`, bytes that are not UTF-8 as `\x9b`; line ends and tabs are kept. The first form is also
//! JSON's, so that JSON stays valid. Names are already escaped when lines are composed; this is a final gate for all
//! output.
use crate::render::commands_terminal;
use std::io::{self, Write};

/// What passes unescaped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passing {
    /// Text without colours, or JSON.
    Text,
    /// Text with colours: sequences of the form `ESC [ digits m`.
    ColouredText,
    /// Everything: the program's own texts, and logs that must not be changed.
    Everything,
}

/// A writer that escapes.
pub struct Escaped<W> {
    target: W,
    passing: Passing,
    /// The first bytes of an incomplete character.
    begun: Vec<u8>,
}

impl<W: Write> Escaped<W> {
    /// A writer that escapes on the way to `target`.
    pub fn new(target: W, passing: Passing) -> Self {
        Self { target, passing, begun: vec![] }
    }
    /// The underlying writer.
    pub fn target(&self) -> &W {
        &self.target
    }

    fn escape(&mut self, bytes: &[u8]) -> io::Result<()> {
        let whole = [&std::mem::take(&mut self.begun)[..], bytes].concat();
        let mut out = Vec::with_capacity(whole.len() + 64);
        let mut at = 0;
        for chunk in whole.utf8_chunks() {
            self.text(chunk.valid(), &mut out);
            at += chunk.valid().len() + chunk.invalid().len();
            let is_begun = at == whole.len() && is_begun(chunk.invalid());
            match is_begun {
                true => self.begun = chunk.invalid().to_vec(),
                false => chunk.invalid().iter().try_for_each(|byte| write!(out, "\\x{byte:02x}"))?,
            }
        }
        self.target.write_all(&out)
    }

    fn text(&self, text: &str, out: &mut Vec<u8>) {
        let mut rest = text;
        let stops = |c: char| commands_terminal(c) && !matches!(c, '\n' | '\t');
        while let Some(at) = rest.find(stops) {
            out.extend_from_slice(&rest.as_bytes()[..at]);
            rest = &rest[at..];
            let colour = if self.passing == Passing::ColouredText { colour(rest) } else { None };
            let length = colour.unwrap_or_else(|| {
                let c = rest.chars().next().unwrap_or_default();
                out.extend_from_slice(format!("\\u{:04x}", u32::from(c)).as_bytes());
                c.len_utf8()
            });
            out.extend_from_slice(&rest.as_bytes()[..colour.unwrap_or(0)]);
            rest = &rest[length..];
        }
        out.extend_from_slice(rest.as_bytes());
    }
}

impl<W: Write> Write for Escaped<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.passing == Passing::Everything || (self.begun.is_empty() && is_plain(bytes)) {
            return self.target.write(bytes);
        }
        self.escape(bytes).map(|()| bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        for byte in std::mem::take(&mut self.begun) {
            write!(self.target, "\\x{byte:02x}")?;
        }
        self.target.flush()
    }
}

/// Whether nothing needs escaping: printable ASCII, line ends and tabs.
fn is_plain(bytes: &[u8]) -> bool {
    let plain = |b: &u8| (0x20..0x7f).contains(b) || matches!(b, b'\n' | b'\t');
    // In chunks without an early exit, which the compiler vectorizes.
    bytes.chunks(256).all(|piece| piece.iter().fold(true, |all, b| all & plain(b)))
}

/// Whether these trailing bytes may be the start of a character.
fn is_begun(bytes: &[u8]) -> bool {
    !bytes.is_empty() && std::str::from_utf8(bytes).is_err_and(|e| e.error_len().is_none())
}

/// The length of a colour sequence at the start.
fn colour(text: &str) -> Option<usize> {
    let digits = text.strip_prefix("\x1b[")?;
    let length = digits.find(|c: char| !c.is_ascii_digit())?;
    digits[length..].starts_with('m').then_some(2 + length + 1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn escaped(pieces: &[&[u8]], passing: Passing) -> Vec<u8> {
        let mut out = vec![];
        let mut writer = Escaped::new(&mut out, passing);
        pieces.iter().for_each(|piece| writer.write_all(piece).unwrap());
        writer.flush().unwrap();
        out
    }

    #[test]
    fn what_commands_a_terminal_is_spelled() {
        let text = "a\x1b]0;x\x07\u{9b}2J\u{202e}\u{7f}\r\té\n".as_bytes();
        let spelled = "a\\u001b]0;x\\u0007\\u009b2J\\u202e\\u007f\\u000d\té\n".as_bytes();
        assert_eq!(escaped(&[text], Passing::Text), spelled);
        assert_eq!(escaped(&[b"a\x9b2J\xff"], Passing::Text), b"a\\x9b2J\\xff");
        assert_eq!(escaped(&[text], Passing::Everything), text);
    }

    #[test]
    fn colours_pass_where_there_are_some_and_nothing_else() {
        let text = b"\x1b[1mname\x1b[0m\x1b[2J\x1b[38;5;1m\x1b[";
        let kept = b"\x1b[1mname\x1b[0m\\u001b[2J\\u001b[38;5;1m\\u001b[";
        assert_eq!(escaped(&[text], Passing::ColouredText), kept);
    }

    #[test]
    fn json_stays_the_same_json() {
        let value = serde_json::json!({"name": "a\u{1b}\u{9b}\u{202e}\u{7f}é\n"});
        let line = escaped(&[value.to_string().as_bytes()], Passing::Text);
        assert!(line.iter().all(|b| *b >= b' ') && !line.contains(&0x9b));
        assert_eq!(serde_json::from_slice::<serde_json::Value>(&line).unwrap(), value);
    }

    proptest! {
        /// The result does not depend on how the input is cut, and is plain text for a terminal.
        #[test]
        fn pieces_do_not_matter(bytes: Vec<u8>, cut: prop::sample::Index) {
            let at = cut.index(bytes.len() + 1);
            let whole = escaped(&[&bytes], Passing::Text);
            prop_assert_eq!(&whole, &escaped(&[&bytes[..at], &bytes[at..]], Passing::Text));
            let text = String::from_utf8(whole).unwrap();
            prop_assert!(!text.contains(|c: char| commands_terminal(c) && !matches!(c, '\n' | '\t')));
        }
        #[test]
        fn text_without_commands_is_not_touched(text in "[a-zé→\n\t]*") {
            prop_assert_eq!(escaped(&[text.as_bytes()], Passing::Text), text.as_bytes());
        }
    }
}
