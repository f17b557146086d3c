//! The bare spelling: `[MODULE:]NAME[@FILE][:LINES|+OFFSET|%return]`, `[MODULE:][@]FILE[:LINES]`, `0xADDR`.
//!
//! The context of a colon decides what it means: after a file, lines follow; before a digit, lines of a function
//! follow; otherwise, a module precedes it.
use super::lines::{file, lines};
use super::{
    AddressKind, AddressSpec, Declared, Filter, FunctionSpec, Lines, ModuleScope, Point, Presence, Source,
    Spec, Spelled, StatementSpec,
};
use crate::error::Result;
use crate::pattern::{Pattern, find_outside};

/// Parses a text that is not empty and has no blank at either end.
pub(super) fn parse(source: Source<'_>, text: &str) -> Result<Spec> {
    if text.starts_with("0x") || text.starts_with("0X") {
        let address = number(source, text)?;
        let kind = AddressKind::Raw;
        let at = AddressSpec { module: ModuleScope::Any, address, kind, filter: Filter::Any };
        return Ok(spec(Point::Address(at)));
    }
    let Some(colon) = separator(text, 0, b":@+%").filter(|&at| text.as_bytes()[at] == b':') else {
        return within(source, text, ModuleScope::Any);
    };
    let (left, right) = (&text[..colon], &text[colon + 1..]);
    if is_path(left) || right.starts_with(|c: char| c.is_ascii_digit() || c == '+') {
        return within(source, text, ModuleScope::Any);
    }
    let module = match left {
        "" => return Err(source.expected(0, "a module or function name")),
        "vmlinux" | "kernel" => ModuleScope::Kernel,
        _ => {
            check(source, left, "the name of a module")?;
            source.module(left)?
        }
    };
    if right.is_empty() {
        let hint = format!("a line number ({left}:12) or, for the functions of a module, {left}:*");
        return Err(source.expected(text.len(), "a line number or a function name").hint(hint));
    }
    within(source.from(colon + 1), right, module)
}

/// The spec of a function by name.
pub(super) fn function(module: ModuleScope, name: Pattern) -> Spec {
    function_at(module, Declared { name, file: None, lines: None }, None, Filter::Any)
}

/// Whether the dots of a name are part of a compiler suffix: `foo.isra.0`, `foo.part.3.cold`.
pub(super) fn is_symbol(text: &str) -> bool {
    let mut parts = text.split('.');
    parts.next();
    let compilers = ["isra", "constprop", "part", "cold", "llvm", "lto_priv", "localalias"];
    let numeric = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    parts.all(|part| numeric(part) || compilers.contains(&part))
}

/// Whether a text without line numbers names a source file.
pub(super) fn is_source_file(text: &str) -> bool {
    let ending = text.rsplit_once('.').map(|(_, ending)| ending);
    text.contains('/') || ending.is_some_and(|e| matches!(e, "c" | "h" | "S" | "rs" | "cc" | "cpp" | "inc"))
}

/// Parses what follows the module.
fn within(source: Source<'_>, text: &str, module: ModuleScope) -> Result<Spec> {
    let name_end = separator(text, 0, b":@+%").unwrap_or(text.len());
    let (name, mark) = (&text[..name_end], text.as_bytes().get(name_end).copied());
    if mark == Some(b':') && is_path(name) || mark.is_none() && is_source_file(name) {
        return statements(source, None, text, 0, module);
    }
    if name.is_empty() && mark == Some(b'@') {
        return statements(source, None, text, 1, module);
    }
    check(source, name, "the end of the name")?;
    if name.bytes().all(|b| b.is_ascii_digit()) {
        let wrong = source.expected(0, "a function name");
        return Err(if name.is_empty() { wrong } else { wrong.hint("an address is written 0xADDR") });
    }
    let name = source.pattern(name)?;
    let after = source.from(name_end + 1);
    let rest = text.get(name_end + 1..).unwrap_or_default();
    match mark {
        None => Ok(function(module, name)),
        Some(b'@') => {
            let end = separator(text, name_end + 1, b":+%").unwrap_or(text.len());
            if text.as_bytes().get(end) == Some(&b':') {
                return statements(source, Some(name), text, name_end + 1, module);
            }
            let path = &text[name_end + 1..end];
            check(after, path, "the end of the file name")?;
            let declared = Declared { name, file: Some(file(after, path)?), lines: None };
            match text.as_bytes().get(end) {
                None => Ok(function_at(module, declared, None, Filter::Any)),
                Some(&mark) => tail(source.from(end), mark, &text[end + 1..], module, declared),
            }
        }
        Some(b':') => {
            if !rest.starts_with(|c: char| c.is_ascii_digit() || c == '+') {
                return Err(after.expected(0, "a line number").hint("the module comes once and first"));
            }
            let lines = Some(lines(after, rest, Lines::Relative)?);
            Ok(statement(StatementSpec { module, function: Some(name), file: None, lines, nearest: false }))
        }
        Some(mark) => {
            tail(source.from(name_end), mark, rest, module, Declared { name, file: None, lines: None })
        }
    }
}

/// Parses `+OFFSET`, after which the kernel prints `/SIZE`, or `%return`; `rest` starts after the mark.
fn tail(source: Source<'_>, mark: u8, rest: &str, module: ModuleScope, declared: Declared) -> Result<Spec> {
    if mark == b'+' {
        let (offset, size) = rest.split_once('/').map_or((rest, None), |(offset, size)| (offset, Some(size)));
        if let Some(size) = size {
            number(source.from(offset.len() + 2), size)?;
        }
        let offset = number(source.from(1), offset)?;
        return Ok(function_at(module, declared, Some(offset), Filter::Any));
    }
    if rest != "return" {
        return Err(source.expected(0, "%return or the end"));
    }
    Ok(function_at(module, declared, None, Filter::Return))
}

/// Parses `FILE[:LINES]` from byte `start` of `text`; without lines, all lines are meant.
fn statements(
    source: Source<'_>,
    function: Option<Pattern>,
    text: &str,
    start: usize,
    module: ModuleScope,
) -> Result<Spec> {
    let end = separator(text, start, b":").unwrap_or(text.len());
    let here = source.from(start);
    check(here, &text[start..end], "the end of the file name")?;
    let file = Some(file(here, &text[start..end])?);
    let lines = match text.get(end + 1..) {
        Some(rest) => lines(source.from(end + 1), rest, Lines::Absolute)?,
        None => Lines::All,
    };
    Ok(statement(StatementSpec { module, function, file, lines: Some(lines), nearest: false }))
}

fn number(source: Source<'_>, text: &str) -> Result<u64> {
    let hex = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let (digits, radix) = hex.map_or((text, 10), |hex| (hex, 16));
    let start = text.len() - digits.len();
    let good = digits.bytes().take_while(|b| char::from(*b).is_digit(radix)).count();
    if good == 0 || good < digits.len() {
        let what = if radix == 16 { "a hexadecimal digit" } else { "a digit" };
        return Err(source.expected(start + good, what));
    }
    u64::from_str_radix(digits, radix).map_err(|_| source.expected(0, "a number of at most 64 bits"))
}

/// The first of these marks outside of brackets. The colons of `a::b` are part of a name.
fn separator(text: &str, from: usize, marks: &[u8]) -> Option<usize> {
    let mut from = from;
    loop {
        let at = find_outside(text, from, |b| marks.contains(&b))?;
        if !text[at..].starts_with("::") {
            return Some(at);
        }
        from = at + 2;
    }
}

/// Whether the text before a colon is a file: it has a slash, or a dot that is not part of a compiler suffix.
fn is_path(text: &str) -> bool {
    text.contains('/') || (text.contains('.') && !is_symbol(text))
}

/// Rejects characters that cannot be in a bare name outside of brackets: blanks, quotes, control characters and
/// punctuation of other languages.
fn check(source: Source<'_>, text: &str, end: &str) -> Result<()> {
    let strange = |b: u8| b <= b' ' || b == 0x7f || b"\"'`(){};=|".contains(&b);
    match find_outside(text, 0, strange) {
        Some(at) => Err(source.expected(at, end)),
        None => Ok(()),
    }
}

fn function_at(module: ModuleScope, declared: Declared, offset: Option<u64>, filter: Filter) -> Spec {
    spec(Point::Function(FunctionSpec { offset, filter, ..FunctionSpec::new(module, declared) }))
}

fn statement(statement: StatementSpec) -> Spec {
    spec(Point::Statement(statement))
}

fn spec(point: Point) -> Spec {
    Spec { point, presence: Presence::Required, spelled: Spelled::Bare }
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    fn point(text: &str) -> Point {
        let mut specs = parse(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!(
            (specs.len(), specs[0].spelled, specs[0].presence),
            (1, Spelled::Bare, Presence::Required)
        );
        specs.remove(0).point
    }

    fn pattern(text: &str) -> Pattern {
        Pattern::new(text).unwrap()
    }

    fn functions(text: &str) -> FunctionSpec {
        match point(text) {
            Point::Function(function) => function,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn lines_of(text: &str) -> StatementSpec {
        match point(text) {
            Point::Statement(statement) => statement,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn a_name_asks_everything() {
        let f = functions("vfs_read");
        assert_eq!(
            (f.module, f.declared.name, f.declared.file),
            (ModuleScope::Any, pattern("vfs_read"), None)
        );
        assert_eq!((f.offset, f.filter, f.callee), (None, Filter::Any, None));
        assert!(functions("foo.isra.0").declared.name.matches(b"foo.isra.0"));
        assert!(functions("vfs_*[rd]?").declared.name.matches(b"vfs_reads"));
        assert!(functions("core::fmt::write").declared.name.matches(b"core::fmt::write"));
        assert!(functions("[a:b]x").declared.name.matches(b":x"));
    }

    #[test]
    fn a_file_an_offset_and_a_return() {
        let f = functions("vfs_*@fs/read_write.c");
        assert_eq!(f.declared.file, Some(pattern("fs/read_write.c")));
        assert_eq!(functions("vfs_read+0x1f").offset, Some(0x1f));
        assert_eq!(functions("vfs_read+31").offset, Some(31));
        assert_eq!(functions("vfs_read@fs/read_write.c+0x1f").offset, Some(0x1f));
        assert_eq!(functions("vfs_read%return").filter, Filter::Return);
        assert_eq!(functions("vfs_read@read_write.c%return").filter, Filter::Return);
    }

    #[test]
    fn a_colon_is_read_by_what_surrounds_it() {
        let s = lines_of("vfs_read@fs/read_write.c:467");
        assert_eq!(s.function, Some(pattern("vfs_read")));
        assert_eq!(
            (s.file, s.lines),
            (Some(pattern("fs/read_write.c")), Some(Lines::Absolute(vec![467..=467])))
        );
        let s = lines_of("vfs_read:3-5");
        assert_eq!((s.function, s.lines), (Some(pattern("vfs_read")), Some(Lines::Relative(vec![3..=5]))));
        for text in ["@fs/open.c:12", "fs/open.c:12", "open.c:12", "fs/Kbuild:12"] {
            let s = lines_of(text);
            assert_eq!((s.function, s.lines), (None, Some(Lines::Absolute(vec![12..=12]))), "{text}");
        }
        let f = functions("kvm-amd:svm_*");
        assert_eq!((f.module, f.declared.name), (ModuleScope::Module(pattern("kvm_amd")), pattern("svm_*")));
        assert_eq!(functions("vmlinux:vfs_read").module, ModuleScope::Kernel);
        let s = lines_of("ext4:fs/ext4/file.c:12");
        assert_eq!((s.module, s.function), (ModuleScope::Module(pattern("ext4")), None));
        let s = lines_of("ext4:ext4_open:2");
        assert_eq!(
            (s.module, s.lines),
            (ModuleScope::Module(pattern("ext4")), Some(Lines::Relative(vec![2..=2])))
        );
        assert_eq!(lines_of("foo.isra.0:12").function, Some(pattern("foo.isra.0")));
        assert_eq!(functions("[e-x]xt4-a:f").module, ModuleScope::Module(pattern("[e-x]xt4_a")));
    }

    #[test]
    fn a_file_alone_is_all_its_lines() {
        for text in ["@fs/open.c", "fs/open.c", "@open.c:*", "fs/*.c"] {
            assert_eq!(lines_of(text).lines, Some(Lines::All), "{text}");
        }
        assert_eq!(lines_of("open.c").file, Some(pattern("open.c")));
    }

    #[test]
    fn addresses() {
        let Point::Address(at) = point(" 0xffffffff8136139d ") else { panic!() };
        assert_eq!((at.address, at.kind), (0xffff_ffff_8136_139d, AddressKind::Raw));
    }

    #[test]
    fn what_is_wrong_is_said_where_it_is() {
        for (text, message) in [
            ("0x", "column 3: expected a hexadecimal digit"),
            ("0x12g", "column 5: expected a hexadecimal digit"),
            ("0x11112222333344445", "column 1: expected a number of at most 64 bits"),
            ("1234", "column 1: expected a function name"),
            ("vfs_read+", "column 10: expected a digit"),
            ("vfs_read+0x1f/0x8g", "column 18: expected a hexadecimal digit"),
            ("vfs_read%entry", "column 9: expected %return or the end"),
            ("vfs_read@", "column 10: expected a file name"),
            ("@:12", "column 2: expected a file name"),
            ("@", "column 2: expected a file name"),
            (":vfs_read", "column 1: expected a module or function name"),
            ("vfs_read:", "column 10: expected a line number or a function name"),
            ("vfs_read:12x", "column 12: expected a digit"),
            ("a:b:c", "column 5: expected a line number"),
            ("fs/open.c:do_open", "column 11: expected a line number"),
            ("vfs_read;vfs_write", "column 9: expected the end of the name"),
            ("vfs_read\\", "column 1: a backslash at the end escapes nothing"),
        ] {
            assert_eq!(parse(text).unwrap_err().message(), message, "{text}");
        }
    }
}
