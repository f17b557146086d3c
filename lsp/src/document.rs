//! A script that is open in the editor, and positions in it: the protocol counts UTF-16, the library bytes.
use lsp_types::{Position, Range, TextDocumentContentChangeEvent, Uri};
use probeidx::query::check::Kind;
use std::path::PathBuf;

/// The language of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    SystemTap,
    Bpftrace,
}

impl Language {
    pub fn kind(self) -> Kind {
        match self {
            Self::SystemTap => Kind::SystemTap,
            Self::Bpftrace => Kind::Bpftrace,
        }
    }
}

/// An open script.
#[derive(Clone, Debug)]
pub struct Document {
    pub language: Language,
    pub version: i32,
    pub text: String,
    /// What it is called in findings.
    pub path: PathBuf,
}

impl Document {
    /// A document as the editor opens it. The name decides the language before what the editor calls it: editors that do not
    /// know the languages call them something else.
    pub fn new(uri: &Uri, language: &str, version: i32, text: String) -> Self {
        let path = PathBuf::from(uri.path().as_str());
        let extension = path.extension().and_then(|extension| extension.to_str());
        let language = match (extension, language) {
            (Some("bt"), _) => Language::Bpftrace,
            (Some("stp" | "stpm"), _) => Language::SystemTap,
            (_, "bpftrace" | "bt") => Language::Bpftrace,
            (_, "systemtap" | "stap" | "stp") => Language::SystemTap,
            _ if Kind::guessed(text.as_bytes()) == Kind::Bpftrace => Language::Bpftrace,
            _ => Language::SystemTap,
        };
        // What has no name of its own is taken for a script, not for a list of probe points.
        let path = match language {
            Language::SystemTap => path.with_extension("stp"),
            Language::Bpftrace => path,
        };
        Self { language, version, text, path }
    }

    /// Takes over a change.
    pub fn change(&mut self, change: TextDocumentContentChangeEvent) {
        match change.range {
            None => self.text = change.text,
            Some(range) => {
                let (start, end) = (self.offset(range.start), self.offset(range.end));
                self.text.replace_range(start.min(end)..end.max(start), &change.text);
            }
        }
    }

    /// The byte at a position; the end of the line if it is beyond.
    pub fn offset(&self, position: Position) -> usize {
        let mut start = 0;
        for _ in 0..position.line {
            match self.text[start..].find('\n') {
                Some(end) => start += end + 1,
                None => return self.text.len(),
            }
        }
        let line = self.text[start..].split('\n').next().unwrap_or_default();
        let mut units = 0;
        for (at, c) in line.char_indices() {
            if units >= position.character {
                return start + at;
            }
            units += c.len_utf16() as u32;
        }
        start + line.trim_end_matches('\r').len()
    }

    /// The position of a byte.
    pub fn position(&self, offset: usize) -> Position {
        let before = self.text.get(..offset).unwrap_or(&self.text);
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let line = before.bytes().filter(|byte| *byte == b'\n').count() as u32;
        Position { line, character: before[start..].encode_utf16().count() as u32 }
    }

    pub fn range(&self, bytes: std::ops::Range<usize>) -> Range {
        Range { start: self.position(bytes.start), end: self.position(bytes.end) }
    }

    /// The byte at a line and column of the library, both from 1; columns count bytes.
    pub fn offset_of(&self, line: u32, column: u32) -> usize {
        let start = self.offset(Position { line: line.saturating_sub(1), character: 0 });
        let text = self.text[start..].split('\n').next().unwrap_or_default();
        let column = (column.saturating_sub(1) as usize).min(text.len());
        start + (0..=column).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn document(text: &str) -> Document {
        Document { language: Language::Bpftrace, version: 0, text: text.to_owned(), path: PathBuf::new() }
    }

    #[test]
    fn positions_count_utf_16() {
        let document = document("a\n😀é b\r\nlast");
        for (offset, line, character) in
            [(0, 0, 0), (1, 0, 1), (2, 1, 0), (6, 1, 2), (8, 1, 3), (9, 1, 4), (12, 2, 0), (16, 2, 4)]
        {
            let position = Position { line, character };
            assert_eq!(document.position(offset), position, "{offset}");
            assert_eq!(document.offset(position), offset, "{offset}");
        }
        // Beyond the line, beyond the text, and within a pair of surrogates.
        assert_eq!(document.offset(Position { line: 0, character: 9 }), 1);
        assert_eq!(document.offset(Position { line: 1, character: 99 }), 10);
        assert_eq!(document.offset(Position { line: 7, character: 0 }), 16);
        assert_eq!(document.offset(Position { line: 1, character: 1 }), 6);
    }

    #[test]
    fn columns_of_the_library_are_bytes() {
        let document = document("\"é\" x");
        assert_eq!(document.offset_of(1, 6), 5);
        assert_eq!(document.offset_of(1, 3), 1, "not within a character");
        assert_eq!(document.offset_of(9, 9), document.text.len());
    }

    #[test]
    fn changes_replace_a_range_or_all() {
        let mut document = document("ab\ncd");
        let range =
            Range { start: Position { line: 0, character: 1 }, end: Position { line: 1, character: 1 } };
        let change = |range, text: &str| TextDocumentContentChangeEvent {
            range,
            range_length: None,
            text: text.to_owned(),
        };
        document.change(change(Some(range), "😀"));
        assert_eq!(document.text, "a😀d");
        document.change(change(None, "new"));
        assert_eq!(document.text, "new");
    }
}
