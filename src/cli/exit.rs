//! How the program ends: its exit code, and its final message on stderr.
use std::borrow::Cow;
use std::io::Write;

use serde::Serialize;

use super::escaped::{Escaped, Passing};
use crate::error::{Error, ErrorKind, Result};
use crate::render::printable;

/// The outcome of a command that did not fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Found, or done.
    Done,
    /// Nothing matched, or a check failed; the messages are already printed.
    Nothing,
    /// A build completed without some objects, each reported on stderr.
    LeftOut,
}

/// The exit code, as documented.
pub fn code(result: &Result<Outcome>) -> u8 {
    match result {
        Ok(Outcome::Done) => 0,
        Ok(Outcome::Nothing) => 1,
        Ok(Outcome::LeftOut) => 4,
        Err(e) => match e.kind() {
            ErrorKind::NoMatch => 1,
            ErrorKind::Usage => 2,
            ErrorKind::Io
            | ErrorKind::Changed
            | ErrorKind::Exhausted
            | ErrorKind::Syntax
            | ErrorKind::NotElf
            | ErrorKind::Unsupported
            | ErrorKind::Damaged
            | ErrorKind::NoDebugInfo
            | ErrorKind::MissingPart
            | ErrorKind::Mismatch
            | ErrorKind::NoIndex
            | ErrorKind::IndexTooOld
            | ErrorKind::IndexTooNew
            | ErrorKind::IndexDamaged => 3,
        },
    }
}

/// The final message of a process that cannot continue, as [`report`] would write it.
pub fn last_words(error: &Error, json: bool) -> Vec<u8> {
    let mut words = vec![];
    report(&Err(error.clone()), json, &mut Escaped::new(&mut words, Passing::Text));
    words
}

/// Writes an error, if there is one, as a line; a failure to write is ignored.
pub fn report(result: &Result<Outcome>, json: bool, stderr: &mut dyn Write) {
    if let Err(error) = result {
        let _ = writeln!(stderr, "{}", if json { as_json(error) } else { as_text(error) });
    }
}

fn as_text(error: &Error) -> String {
    format!("probeidx: error: {}", printable(&error.to_string()))
}

fn as_json(error: &Error) -> String {
    format!("{{\"error\":{}}}", object(error))
}

/// Why something failed.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Error"))]
pub struct Fields<'a> {
    /// The kind of failure: `usage`, `no-match`, `io`, `no-index`, `index-damaged`, ….
    kind: &'a str,
    /// What is wrong.
    message: &'a str,
    /// The file that it is about.
    path: Option<Cow<'a, str>>,
    /// What to do.
    hint: Option<&'a str>,
}

/// The documented JSON object of an error. It has no fields for section and offset, so these precede the message.
pub fn object(error: &Error) -> String {
    let path = error.path().map(|path| path.to_string_lossy());
    let place = error.place().unwrap_or_default();
    let within = place.strip_prefix(path.as_deref().unwrap_or_default()).unwrap_or(&place);
    let within = within.trim_start_matches([':', ' ']);
    let message = if within.is_empty() {
        Cow::Borrowed(error.message())
    } else {
        Cow::Owned(format!("{within}: {}", error.message()))
    };
    let fields = Fields { kind: error.kind().name(), message: &message, path, hint: error.remedy() };
    serde_json::to_string(&fields).expect("strings are always JSON")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn said(error: Error, json: bool) -> String {
        let mut stderr = Vec::new();
        report(&Err(error), json, &mut stderr);
        String::from_utf8(stderr).unwrap()
    }

    #[test]
    fn codes_are_those_of_the_contract() {
        assert_eq!(code(&Ok(Outcome::Done)), 0);
        assert_eq!(code(&Ok(Outcome::Nothing)), 1);
        assert_eq!(code(&Ok(Outcome::LeftOut)), 4);
        for (kind, expected) in [
            (ErrorKind::NoMatch, 1),
            (ErrorKind::Usage, 2),
            (ErrorKind::Io, 3),
            (ErrorKind::NoIndex, 3),
            (ErrorKind::IndexTooNew, 3),
            (ErrorKind::IndexDamaged, 3),
        ] {
            assert_eq!(code(&Err(Error::new(kind, "x"))), expected, "{kind:?}");
        }
    }

    #[test]
    fn text_is_one_line_without_control_characters() {
        let error = Error::new(ErrorKind::Io, "cannot read \u{1b}[31m\nit\u{202e}")
            .at(Path::new("/a\tb"))
            .hint("try");
        assert_eq!(
            said(error, false),
            "probeidx: error: /a\\tb: cannot read \\u{1b}[31m\\nit\\u{202e}; try\n"
        );
        assert!(matches!(printable("vfs_réad"), Cow::Borrowed(_)));
    }

    #[test]
    fn json_has_all_four_fields() {
        let error = Error::new(ErrorKind::NoIndex, "none \"here\"\n")
            .at(Path::new("/db"))
            .hint("run: probeidx build");
        let value: serde_json::Value = serde_json::from_str(&said(error, true)).unwrap();
        let expected = serde_json::json!({"error": {"kind": "no-index", "message": "none \"here\"\n", "path": "/db",
            "hint": "run: probeidx build"}});
        assert_eq!(value, expected);
        let line = said(Error::new(ErrorKind::Usage, "x"), true);
        assert_eq!(line, "{\"error\":{\"kind\":\"usage\",\"message\":\"x\",\"path\":null,\"hint\":null}}\n");
    }

    #[test]
    fn json_keeps_section_and_offset() {
        let message = |error| -> String {
            let value: serde_json::Value = serde_json::from_str(&said(error, true)).unwrap();
            value["error"]["message"].as_str().unwrap().to_owned()
        };
        let error = || Error::new(ErrorKind::Damaged, "ends early").section(".debug_info").offset(31);
        assert_eq!(message(error()), "section .debug_info at 0x1f: ends early");
        assert_eq!(message(error().at(Path::new("/v"))), "section .debug_info at 0x1f: ends early");
        assert_eq!(message(Error::new(ErrorKind::Damaged, "x").at(Path::new("/v")).offset(1)), "at 0x1: x");
    }

    #[test]
    fn success_says_nothing() {
        let mut stderr = Vec::new();
        report(&Ok(Outcome::Nothing), true, &mut stderr);
        assert!(stderr.is_empty());
    }
}
