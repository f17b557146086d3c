//! Attach points: `kprobe:module:function+offset`.
use super::Parser;
use crate::bpftrace::ast::{Kind, Point};
use crate::error::Result;

/// The words of the kinds (`PROBE_LIST`, src/types.cpp of bpftrace 0.23), with those of older and newer versions.
const WORDS: [(&str, Kind); 46] = [
    ("kprobe", Kind::Kprobe),
    ("k", Kind::Kprobe),
    ("kretprobe", Kind::Kretprobe),
    ("kr", Kind::Kretprobe),
    ("fentry", Kind::Fentry),
    ("kfunc", Kind::Fentry),
    ("f", Kind::Fentry),
    ("fexit", Kind::Fexit),
    ("kretfunc", Kind::Fexit),
    ("fr", Kind::Fexit),
    ("tracepoint", Kind::Tracepoint),
    ("t", Kind::Tracepoint),
    ("rawtracepoint", Kind::RawTracepoint),
    ("rt", Kind::RawTracepoint),
    ("uprobe", Kind::User),
    ("u", Kind::User),
    ("uretprobe", Kind::User),
    ("ur", Kind::User),
    ("usdt", Kind::User),
    ("U", Kind::User),
    ("iter", Kind::Iterator),
    ("it", Kind::Iterator),
    ("watchpoint", Kind::Watchpoint),
    ("w", Kind::Watchpoint),
    ("asyncwatchpoint", Kind::Watchpoint),
    ("aw", Kind::Watchpoint),
    ("profile", Kind::Always),
    ("p", Kind::Always),
    ("interval", Kind::Always),
    ("i", Kind::Always),
    ("software", Kind::Always),
    ("s", Kind::Always),
    ("hardware", Kind::Always),
    ("h", Kind::Always),
    ("BEGIN", Kind::Always),
    ("begin", Kind::Always),
    ("END", Kind::Always),
    ("end", Kind::Always),
    ("self", Kind::Always),
    ("bench", Kind::Always),
    ("BENCH", Kind::Always),
    ("test", Kind::Always),
    ("TEST", Kind::Always),
    ("special", Kind::Always),
    ("kprobe.session", Kind::Kprobe),
    ("fsession", Kind::Fentry),
];

/// The kind of probe that a word introduces, in capitals or not (0.24); [`Kind::Unknown`] of any other.
pub fn kind(word: &str) -> Kind {
    let known = |word: &str| WORDS.iter().find(|(known, _)| *known == word).map(|(_, kind)| *kind);
    known(word).or_else(|| known(&word.to_ascii_lowercase())).unwrap_or(Kind::Unknown)
}

impl Parser<'_> {
    pub(super) fn point(&mut self) -> Result<Point> {
        self.lexer.blanks()?;
        let place = self.lexer.place();
        let start = self.lexer.clone();
        let text = self.lexer.attach_point()?;
        let mut parts = split(text);
        let mut word = if parts.is_empty() { String::new() } else { parts.remove(0) };
        // A name of the probe's own: `name=kprobe:f` (0.25).
        if let Some((_, kind)) = word.split_once('=') {
            word = kind.to_owned();
        }
        let is_word =
            !word.is_empty() && word.bytes().all(|b| b.is_ascii_alphanumeric() || b"_*.".contains(&b));
        if !is_word {
            self.lexer = start;
            return Err(self.lexer.error("expected an attach point, as kprobe:FUNCTION"));
        }
        let kind = kind(&word);
        let mut offset = None;
        if let (Kind::Kprobe | Kind::Kretprobe, Some(last)) = (kind, parts.last_mut())
            && let Some((name, behind)) = last.rsplit_once('+')
        {
            offset = number(behind);
            if offset.is_none() {
                self.lexer = start;
                // Quotes may go on over lines.
                let behind: String = behind.escape_debug().take(40).collect();
                return Err(self.lexer.error(format!("{behind} is no offset")));
            }
            *last = name.to_owned();
        }
        Ok(Point { place, text: text.to_owned(), kind, parts, offset })
    }
}

/// The parts between colons that stand outside of quotes, without the quotes.
fn split(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let (mut in_quotes, mut escaped) = (false, false);
    for c in text.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_quotes => {
                escaped = true;
                continue;
            }
            '"' => {
                in_quotes = !in_quotes;
                continue;
            }
            ':' if !in_quotes => {
                parts.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = parts.last_mut() {
            last.push(c);
        }
    }
    parts
}

fn number(text: &str) -> Option<u64> {
    match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
