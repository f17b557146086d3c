//! Where in a script the cursor is, however incomplete the script is: no parser would have it.
use crate::document::Language;
use probeidx::bpftrace::ast::Kind;
use probeidx::bpftrace::parser::kind;
use std::ops::Range;

/// What surrounds the cursor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// A comment, or C code within a script: nothing is known of it.
    Elsewhere,
    /// Probe points; the point up to the cursor.
    Point(Range<usize>),
    /// A handler or a predicate.
    Handler {
        /// The probe points of the handler.
        points: Vec<Range<usize>>,
        /// From the start of the handler up to the cursor.
        body: Range<usize>,
        /// Whether a text between quotes is open.
        in_text: bool,
    },
}

/// A script without its comments: they are blanks, so that places stay.
pub struct Scan {
    language: Language,
    pub text: String,
    hidden: Vec<Range<usize>>,
}

impl Scan {
    pub fn new(text: &str, language: Language) -> Self {
        let hidden = hidden(text, language);
        let mut bytes = text.as_bytes().to_vec();
        for range in &hidden {
            bytes[range.clone()].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
        }
        Self { language, text: String::from_utf8_lossy(&bytes).into_owned(), hidden }
    }

    /// What surrounds a byte.
    pub fn place(&self, at: usize) -> Place {
        // The end of a line comment still belongs to it.
        if self
            .hidden
            .iter()
            .any(|range| range.start < at && at <= range.end && !(at == range.end && self.is_closed(range)))
        {
            return Place::Elsewhere;
        }
        let Some(before) = self.text.get(..at) else { return Place::Elsewhere };
        let mut state = State { depth: 0, item: 0, header: 0..0, body: 0, in_text: false };
        let mut escaped = false;
        for (offset, byte) in before.bytes().enumerate() {
            if state.in_text {
                state.in_text = escaped || byte != b'"' && byte != b'\n';
                escaped = byte == b'\\' && !escaped;
                continue;
            }
            let starts_line = offset == 0 || before.as_bytes()[offset - 1] == b'\n';
            if starts_line && state.depth > 0 && self.starts_item(&self.text[offset..]) {
                // What is before it lacks a bracket.
                (state.depth, state.item) = (0, offset);
            }
            match byte {
                b'"' => state.in_text = true,
                b'{' => {
                    if state.depth == 0 {
                        (state.header, state.body) = (state.item..offset, offset + 1);
                    }
                    state.depth += 1;
                }
                b'}' => {
                    state.depth = state.depth.saturating_sub(1);
                    if state.depth == 0 {
                        state.item = offset + 1;
                    }
                }
                b';' if state.depth == 0 => state.item = offset + 1,
                b'\n' if state.depth == 0 && self.ends_item(&before[state.item..offset]) => {
                    state.item = offset + 1
                }
                _ => {}
            }
        }
        if state.depth > 0 {
            let (points, _) = self.points(state.header);
            return Place::Handler { points, body: state.body..at, in_text: state.in_text };
        }
        let (points, predicate) = self.points(state.item..at);
        match (predicate, points.last()) {
            (Some(start), _) => Place::Handler { points, body: start..at, in_text: state.in_text },
            (None, Some(last)) => Place::Point(last.clone()),
            (None, None) => Place::Elsewhere,
        }
    }

    /// Where lines start that can only start a probe.
    pub fn starts(&self) -> impl Iterator<Item = usize> + '_ {
        let lines = std::iter::once(0).chain(self.text.match_indices('\n').map(|(at, _)| at + 1));
        lines.filter(|at| self.starts_item(&self.text[*at..]))
    }

    /// The probe point at a byte, whole.
    pub fn point_at(&self, at: usize) -> Option<Range<usize>> {
        let Place::Point(begun) = self.place(at) else { return None };
        let rest = &self.text[at..];
        let mut in_text = self.text[begun.clone()].matches('"').count() % 2 == 1;
        let end = rest.find(|c: char| {
            in_text ^= c == '"';
            match self.language {
                _ if c == '\n' => true,
                _ if in_text => false,
                Language::SystemTap => matches!(c, ',' | '{' | '?' | '!') || c.is_whitespace(),
                Language::Bpftrace => matches!(c, ',' | '{' | '/') || c.is_whitespace(),
            }
        });
        let end = at + end.unwrap_or(rest.len());
        (begun.start < end).then_some(begun.start..end)
    }

    /// Whether a comment has an end of its own.
    fn is_closed(&self, range: &Range<usize>) -> bool {
        self.text.as_bytes().get(range.end) != Some(&b'\n') && range.end != self.text.len()
    }

    /// Whether a line can only be the start of a probe.
    fn starts_item(&self, line: &str) -> bool {
        let word: String = line.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
        match self.language {
            Language::SystemTap => matches!(word.as_str(), "probe" | "function" | "global" | "private"),
            Language::Bpftrace => {
                matches!(word.as_str(), "BEGIN" | "END")
                    || kind(&word) != Kind::Unknown && line[word.len()..].starts_with(':')
            }
        }
    }

    /// Whether a line ends what it began: `global x`, `#include`.
    fn ends_item(&self, item: &str) -> bool {
        let item = item.trim_start();
        match self.language {
            Language::SystemTap => {
                let declares =
                    ["global", "private", "@define", "%("].iter().any(|word| item.starts_with(word));
                declares && !item.trim_end().ends_with(',')
            }
            Language::Bpftrace => item.starts_with('#'),
        }
    }

    /// The probe points of a header, and where its predicate starts.
    fn points(&self, header: Range<usize>) -> (Vec<Range<usize>>, Option<usize>) {
        let text = &self.text[header.clone()];
        let blanks = text.len() - text.trim_start().len();
        let mut start = header.start + blanks;
        if self.language == Language::SystemTap {
            let Some(rest) = text[blanks..].strip_prefix("probe") else { return (vec![], None) };
            if rest.starts_with(|c: char| c.is_alphanumeric() || c == '_') || rest.is_empty() {
                return (vec![], None);
            }
            start += "probe".len();
        }
        let (mut points, mut in_text, mut depth) = (vec![], false, 0_usize);
        let mut begin = start;
        let mut predicate = None;
        let bytes = self.text.bytes().enumerate().take(header.end).skip(start);
        for (at, byte) in bytes {
            match byte {
                b'"' => in_text = !in_text,
                _ if in_text => {}
                b'(' => depth += 1,
                b')' => depth = depth.saturating_sub(1),
                // `probe alias = point, point`
                b'=' if depth == 0 && self.language == Language::SystemTap => begin = at + 1,
                b',' if depth == 0 => {
                    points.push(begin..at);
                    begin = at + 1;
                }
                b'/' if self.language == Language::Bpftrace && !takes_path(&self.text[begin..at]) => {
                    predicate = Some(at + 1);
                    points.push(begin..at);
                    break;
                }
                _ => {}
            }
        }
        if predicate.is_none() {
            points.push(begin..header.end);
        }
        for point in &mut points {
            let text = &self.text[point.clone()];
            let blanks = text.len() - text.trim_start().len();
            point.start += blanks;
            point.end = point.start + text[blanks..].trim_end().len();
            // A condition behind a point is none of it: `vm.pagefault ? if (x)`.
            if self.language == Language::SystemTap
                && let Some(end) = self.text[point.clone()].find(" if ")
            {
                point.end = point.start + end;
            }
        }
        (points, predicate)
    }
}

struct State {
    depth: usize,
    /// Where the definition starts that is read.
    item: usize,
    header: Range<usize>,
    body: usize,
    in_text: bool,
}

/// Whether a point of bpftrace may have a path, where `/` is no predicate.
fn takes_path(point: &str) -> bool {
    let word = point.trim_start().split(':').next().unwrap_or_default();
    kind(word) == Kind::User && !point.trim_start().contains(char::is_whitespace)
}

/// The comments of a script, and its C code.
fn hidden(text: &str, language: Language) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let mut found = vec![];
    let mut at = 0;
    let end_of =
        |from: usize, mark: &str| text[from..].find(mark).map_or(text.len(), |end| from + end + mark.len());
    let line_end = |from: usize| text[from..].find('\n').map_or(text.len(), |end| from + end);
    while at < bytes.len() {
        let rest = &bytes[at..];
        let end = match (rest[0], rest.get(1)) {
            (b'"', _) => {
                at = text_end(bytes, at);
                continue;
            }
            (b'/', Some(b'/')) => line_end(at),
            (b'/', Some(b'*')) => end_of(at + 2, "*/"),
            (b'#', _) if language == Language::SystemTap => line_end(at),
            (b'#', Some(b'!')) => line_end(at),
            (b'%', Some(b'{')) if language == Language::SystemTap => end_of(at + 2, "%}"),
            _ => {
                at += 1;
                continue;
            }
        };
        found.push(at..end);
        at = end;
    }
    found
}

/// The end of a text between quotes; that of the line if it has none.
fn text_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 1,
            b'"' => return at + 1,
            b'\n' => return at,
            _ => {}
        }
        at += 1;
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What surrounds the `|` in a script: the point, or the points and the body.
    fn at(text: &str, language: Language) -> String {
        let cursor = text.find('|').unwrap();
        let text = text.replacen('|', "", 1);
        let scan = Scan::new(&text, language);
        match scan.place(cursor) {
            Place::Elsewhere => "-".to_owned(),
            Place::Point(range) => format!("point {}", &text[range]),
            Place::Handler { points, body, in_text } => {
                let points: Vec<&str> = points.into_iter().map(|range| &text[range]).collect();
                let body = if in_text { format!("{}, text", &text[body]) } else { text[body].to_owned() };
                format!("handler of {}:{body}", points.join(" and "))
            }
        }
    }

    #[test]
    fn points_and_handlers_of_systemtap() {
        let at = |text| at(text, Language::SystemTap);
        assert_eq!(at("probe kernel.function(\"vfs|"), "point kernel.function(\"vfs");
        assert_eq!(at("global a, b\nprobe vm.|"), "point vm.");
        assert_eq!(at("probe a, b.c|\n{ }"), "point b.c");
        assert_eq!(at("probe x = kernel.function(\"a\"),\n  kernel.f|"), "point kernel.f");
        assert_eq!(at("probe a { x = $f| }"), "handler of a: x = $f");
        assert_eq!(
            at("probe a.b(\"x,y\"), c ? { if (x) { y| } }"),
            "handler of a.b(\"x,y\") and c ?: if (x) { y"
        );
        assert_eq!(at("function f() { x| }"), "handler of : x");
        assert_eq!(at("# probe |"), "-");
        assert_eq!(at("%{ int x| %}"), "-");
        assert_eq!(at("/* */ probe |"), "point ");
        assert_eq!(at("probe begin { printf(\"a| "), "handler of begin: printf(\"a, text");
        // A bracket is missing before.
        assert_eq!(at("probe a { if (x) {\n\nprobe b.|"), "point b.");
        assert_eq!(at("pro|"), "-");
    }

    #[test]
    fn points_and_handlers_of_bpftrace() {
        let at = |text| at(text, Language::Bpftrace);
        assert_eq!(at("kprobe:vfs_|"), "point kprobe:vfs_");
        assert_eq!(at("#include <x.h>\nkpr|"), "point kpr");
        assert_eq!(at("BEGIN { }\n\nfentry:a,\nfexit:b|"), "point fexit:b");
        assert_eq!(at("kprobe:f /pid == 1 && args.|"), "handler of kprobe:f:pid == 1 && args.");
        assert_eq!(at("kprobe:f /pid/ { $x = args.| }"), "handler of kprobe:f: $x = args.");
        assert_eq!(at("uprobe:/bin/sh:f { | }"), "handler of uprobe:/bin/sh:f: ");
        assert_eq!(at("// kprobe:|"), "-");
        assert_eq!(at("kprobe:f { if (1) {\nkprobe:g|"), "point kprobe:g");
        assert_eq!(at("|"), "point ");
    }

    #[test]
    fn whole_points() {
        for (text, language, whole) in [
            (
                "probe kernel.fun|ction(\"vfs_read\").return ? {",
                Language::SystemTap,
                "kernel.function(\"vfs_read\").return",
            ),
            (
                "probe kernel.function(\"vfs|_read@a b\"), x",
                Language::SystemTap,
                "kernel.function(\"vfs_read@a b\")",
            ),
            ("kprobe:v|fs_read /x/ {", Language::Bpftrace, "kprobe:vfs_read"),
            ("kprobe:a,|kprobe:b{", Language::Bpftrace, "kprobe:b"),
        ] {
            let cursor = text.find('|').unwrap();
            let text = text.replacen('|', "", 1);
            let scan = Scan::new(&text, language);
            assert_eq!(scan.point_at(cursor).map(|range| &text[range]), Some(whole));
        }
    }

    /// Any start of a script has a place, at each of its bytes.
    #[test]
    fn nothing_panics_while_typing() {
        let scripts = [
            (
                "probe kernel.function(\"vfs_*\") ? if (x) { /* é */ printf(\"%s\\n\", $file->f_path) } # ende\nglobal x",
                Language::SystemTap,
            ),
            (
                "#!/usr/bin/bpftrace\nkprobe:f /args.x == \"é\"/ { @[(struct f *)arg0] = 1; } // ende\nuprobe:/a:b",
                Language::Bpftrace,
            ),
        ];
        for (text, language) in scripts {
            for end in (0..=text.len()).filter(|end| text.is_char_boundary(*end)) {
                let scan = Scan::new(&text[..end], language);
                for at in 0..=end {
                    scan.place(at);
                    if text.is_char_boundary(at) {
                        scan.point_at(at);
                    }
                }
            }
        }
    }
}
