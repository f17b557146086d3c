//! The strings and comments of a Python program.
use super::Place;

/// Where strings and comments are, and where lines start.
pub(super) struct Strings {
    /// The ends of the parts, each with what it is, in order.
    parts: Vec<(usize, Part)>,
    lines: Vec<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Code,
    Text,
    Comment,
}

impl Strings {
    /// Finds them. Strings in quotes of three may have lines; others end with theirs.
    pub fn of(text: &str) -> Self {
        let bytes = text.as_bytes();
        let mut parts = vec![];
        let mut at = 0;
        while at < bytes.len() {
            match bytes[at] {
                b'#' => {
                    parts.push((at, Part::Code));
                    at += memchr::memchr(b'\n', &bytes[at..]).unwrap_or(bytes.len() - at);
                    parts.push((at, Part::Comment));
                }
                quote @ (b'"' | b'\'') => {
                    parts.push((at, Part::Code));
                    at = behind(bytes, at, quote);
                    parts.push((at, Part::Text));
                }
                _ => at += 1,
            }
        }
        parts.push((bytes.len() + 1, Part::Code));
        let lines = std::iter::once(0).chain(memchr::memchr_iter(b'\n', bytes).map(|at| at + 1)).collect();
        Self { parts, lines }
    }

    fn part(&self, at: usize) -> Part {
        let next = self.parts.partition_point(|(end, _)| *end <= at);
        self.parts.get(next).map_or(Part::Code, |(_, part)| *part)
    }

    pub fn is_text(&self, at: usize) -> bool {
        self.part(at) == Part::Text
    }

    pub fn is_comment(&self, at: usize) -> bool {
        self.part(at) == Part::Comment
    }

    /// The starts of all lines.
    pub fn lines(&self) -> &[usize] {
        &self.lines
    }

    pub fn place(&self, at: usize) -> Place {
        let line = self.lines.partition_point(|start| *start <= at);
        let start = self.lines.get(line.saturating_sub(1)).copied().unwrap_or(0);
        let number = |value: usize| u32::try_from(value).unwrap_or(u32::MAX);
        Place { line: number(line), column: number(at - start + 1) }
    }
}

/// The position behind a string.
fn behind(bytes: &[u8], start: usize, quote: u8) -> usize {
    let is_long = bytes[start..].starts_with(&[quote; 3]);
    let mut at = start + if is_long { 3 } else { 1 };
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'\n' if !is_long => return at,
            byte if byte == quote && (!is_long || bytes[at..].starts_with(&[quote; 3])) => {
                return at + if is_long { 3 } else { 1 };
            }
            _ => at += 1,
        }
    }
    bytes.len()
}
