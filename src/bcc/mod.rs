//! Tools written for bcc: Python programs that carry C. Read are the attach points that stand there as they are, in the Python
//! (`attach_kprobe(event="x")`) and in the C (`KFUNC_PROBE(x, ..)`); those that are computed are counted.
//!
//! Nothing here knows a kernel, and nothing is refused: Python is not parsed, only its strings, blocks and calls are told apart.
mod blocks;
mod strings;

use blocks::Blocks;
use strings::Strings;

/// A place in a tool. Lines and columns start at 1, columns count bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// From 1.
    pub line: u32,
    /// From 1.
    pub column: u32,
}

/// A tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tool {
    /// In the order of the file.
    pub attached: Vec<Attached>,
    /// Where a name is computed.
    pub computed: Vec<Place>,
}

/// An attach point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attached {
    /// Of the call or macro.
    pub place: Place,
    /// How it is attached.
    pub kind: Kind,
    /// The function or event.
    pub name: String,
    /// The fields of the event that are read, with their places.
    pub fields: Vec<(Place, String)>,
    /// How many parameters of the function the C code declares.
    pub parameters: Option<usize>,
    /// Whether the tool asks first if the kernel has it.
    pub asked: Asked,
}

/// How a program is attached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// At the entry of a function.
    Kprobe,
    /// At its returns.
    Kretprobe,
    /// At functions that match a regular expression.
    Expression,
    /// At the function that implements a system call.
    SystemCall,
    /// At an event of this category.
    Event(String),
    /// At a tracepoint.
    RawTracepoint,
    /// `KFUNC_PROBE`
    Fentry,
    /// `KRETFUNC_PROBE`
    Fexit,
    /// `LSM_PROBE`
    Lsm,
    /// In a program.
    User,
}

/// Whether a tool asks first if the kernel has what it attaches to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asked {
    /// It does not.
    No,
    /// It does, or compiles it under conditions, and goes on without.
    Optional,
    /// It chooses between several, which have this number.
    OneOf(u32),
}

/// The calls of Python, with the keyword of the name.
static CALLS: [(&str, &str, Kind); 9] = [
    ("attach_kprobe", "event", Kind::Kprobe),
    ("attach_kretprobe", "event", Kind::Kretprobe),
    ("attach_tracepoint", "tp", Kind::Event(String::new())),
    ("attach_raw_tracepoint", "tp", Kind::RawTracepoint),
    ("attach_kfunc", "fn_name", Kind::Fentry),
    ("attach_kretfunc", "fn_name", Kind::Fexit),
    ("attach_lsm", "fn_name", Kind::Lsm),
    ("attach_uprobe", "name", Kind::User),
    ("attach_uretprobe", "name", Kind::User),
];

/// The macros of C, and the names of functions that bcc attaches by itself, up to the name of what it attaches to.
static MACROS: [(&str, Kind); 9] = [
    ("TRACEPOINT_PROBE", Kind::Event(String::new())),
    ("RAW_TRACEPOINT_PROBE", Kind::RawTracepoint),
    ("KFUNC_PROBE", Kind::Fentry),
    ("KRETFUNC_PROBE", Kind::Fexit),
    ("LSM_PROBE", Kind::Lsm),
    ("kprobe__", Kind::Kprobe),
    ("kretprobe__", Kind::Kretprobe),
    ("tracepoint__", Kind::Event(String::new())),
    ("raw_tracepoint__", Kind::RawTracepoint),
];

/// Reads a tool. Cost: linear in its text.
pub fn read(text: &str) -> Tool {
    let strings = Strings::of(text);
    let blocks = Blocks::of(text, &strings);
    let mut tool = Tool::default();
    for (at, word) in words(text) {
        let place = strings.place(at);
        let behind = &text[at + word.len()..];
        let Some(inner) = behind.trim_start_matches([' ', '\t']).strip_prefix('(') else { continue };
        if !strings.is_text(at) {
            if let Some((_, keyword, kind)) = CALLS.iter().find(|(call, ..)| *call == word)
                && !strings.is_comment(at)
                && !text[..at].ends_with("def ")
            {
                of_call(arguments(inner), keyword, kind, place, blocks.asked(at), &mut tool);
            }
        } else if !is_comment_of_c(text, at) {
            let asked = if blocks.is_conditional(at) { Asked::Optional } else { Asked::No };
            of_macro(word, inner, &strings, text.len() - inner.len(), (place, asked), &mut tool);
        }
    }
    for attached in &mut tool.attached {
        let probe = match attached.kind {
            Kind::Fentry | Kind::Fexit => "support_kfunc",
            Kind::Lsm => "support_lsm",
            Kind::RawTracepoint => "support_raw_tracepoint",
            Kind::Event(_) => "tracepoint_exists",
            _ => continue,
        };
        // What is in C is put together by Python, which may ask before.
        if attached.asked == Asked::No && text.contains(probe) {
            attached.asked = Asked::Optional;
        }
    }
    tool
}

/// The identifiers of a text.
fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let is_of_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut at = 0;
    std::iter::from_fn(move || {
        let start = at + text[at..].find(is_of_word)?;
        let length = text[start..].find(|c| !is_of_word(c)).unwrap_or(text.len() - start);
        at = start + length;
        Some((start, &text[start..at]))
    })
}

/// What stands between a bracket and the one that closes it. A call of more than 4096 bytes is cut.
fn arguments(inner: &str) -> &str {
    let mut open = 1_u32;
    for (at, byte) in inner.bytes().enumerate().take(4096) {
        match byte {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open -= 1,
            _ => {}
        }
        if open == 0 {
            return &inner[..at];
        }
    }
    inner.get(..inner.len().min(4096)).unwrap_or_default()
}

fn of_call(arguments: &str, keyword: &str, kind: &Kind, place: Place, asked: Asked, tool: &mut Tool) {
    let new = |kind: Kind, name: &str| Attached {
        place,
        kind,
        name: name.to_owned(),
        fields: vec![],
        parameters: None,
        asked,
    };
    if *kind == Kind::User {
        return tool.attached.push(new(Kind::User, "uprobe"));
    }
    if let Some(expression) = value(arguments, "event_re").or_else(|| value(arguments, "tp_re")) {
        return match literal(expression) {
            Some(text) => tool.attached.push(new(Kind::Expression, text)),
            None => tool.computed.push(place),
        };
    }
    let name = value(arguments, keyword);
    let call = name.and_then(|name| name.split_once("get_syscall_fnname(").map(|(_, inner)| inner));
    match (kind, name.and_then(literal)) {
        (Kind::Kprobe | Kind::Kretprobe, None) if call.and_then(literal).is_some() => {
            let name = call.and_then(literal).unwrap_or_default();
            tool.attached.push(new(Kind::SystemCall, name));
        }
        (Kind::Event(_), Some(text)) => match text.split_once(':') {
            Some((category, event)) => tool.attached.push(new(Kind::Event(category.to_owned()), event)),
            None => tool.computed.push(place),
        },
        (Kind::Fentry | Kind::Fexit | Kind::Lsm, _) => {}
        (kind, Some(text)) => tool.attached.push(new(kind.clone(), text)),
        (_, None) => tool.computed.push(place),
    }
}

/// What follows a keyword and `=`.
fn value<'t>(arguments: &'t str, keyword: &str) -> Option<&'t str> {
    let mut rest = arguments;
    loop {
        let at = rest.find(keyword)?;
        let is_whole = !rest[..at].ends_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        rest = &rest[at + keyword.len()..];
        if let Some(value) = rest.trim_start().strip_prefix('=').filter(|_| is_whole) {
            return Some(value.trim_start());
        }
    }
}

/// The string at the start of an expression, if it is all of the argument.
fn literal(expression: &str) -> Option<&str> {
    let text = expression.trim_start().trim_start_matches('b');
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let (text, rest) = text[1..].split_once(quote)?;
    let is_all = rest.trim_start().is_empty() || rest.trim_start().starts_with([',', ')']);
    (is_all && is_name(text)).then_some(text)
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "_.:^$*?|()[]+\\".contains(c))
}

/// A macro, or a function that bcc attaches by itself.
fn of_macro(
    word: &str,
    inner: &str,
    strings: &Strings,
    start: usize,
    (place, asked): (Place, Asked),
    tool: &mut Tool,
) {
    let Some((known, kind)) = MACROS.iter().find(|(known, _)| match known.ends_with("__") {
        true => word.starts_with(known),
        false => word == *known,
    }) else {
        return;
    };
    let whole = arguments(inner);
    let parts: Vec<&str> = whole.split(',').map(str::trim).collect();
    let (mut kind, mut name, mut parameters) = (kind.clone(), parts[0], None);
    if let Some(rest) = word.strip_prefix(known).filter(|rest| !rest.is_empty()) {
        // The first parameter is the context.
        (name, parameters) = (rest, Some(parts.len().saturating_sub(1)));
    } else if matches!(kind, Kind::Fentry) {
        parameters = Some(parts.len() - 1);
    }
    if let Kind::Event(category) = &mut kind {
        let found = match known.ends_with("__") {
            true => name.split_once("__"),
            false => parts.get(1).map(|event| (parts[0], *event)),
        };
        let Some((system, event)) = found else { return tool.computed.push(place) };
        (*category, name, parameters) = (system.to_owned(), event, None);
    }
    if matches!(kind, Kind::RawTracepoint | Kind::Lsm) {
        parameters = None;
    }
    // Python replaces names in capitals.
    let is_plain =
        |text: &str| text.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_');
    let has_system = !matches!(&kind, Kind::Event(category) if category.is_empty() || !is_plain(category));
    if name.is_empty() || !is_plain(name) || !has_system {
        return tool.computed.push(place);
    }
    let fields = match kind {
        Kind::Event(_) => fields(&inner[whole.len()..], start + whole.len(), strings),
        _ => vec![],
    };
    tool.attached.push(Attached { place, kind, name: name.to_owned(), fields, parameters, asked });
}

/// The members of `args` that the block behind a macro reads. A block of more than 64 KiB is cut.
fn fields(behind: &str, start: usize, strings: &Strings) -> Vec<(Place, String)> {
    let Some(first) = behind.find('{').filter(|at| *at < 64) else { return vec![] };
    let (mut open, mut end) = (0_u32, behind.len());
    for (at, byte) in behind.bytes().enumerate().skip(first).take(1 << 16) {
        match byte {
            b'{' => open += 1,
            b'}' => open = open.saturating_sub(1),
            _ => continue,
        }
        if open == 0 {
            end = at;
            break;
        }
    }
    let mut found = vec![];
    let block = &behind[..end];
    for (at, word) in words(block).filter(|(_, word)| *word == "args") {
        if let Some(rest) = block[at + word.len()..].trim_start().strip_prefix("->")
            && let Some((_, field)) = words(rest).next().filter(|(at, _)| rest[..*at].trim().is_empty())
        {
            found.push((strings.place(start + at), field.to_owned()));
        }
    }
    found
}

/// Whether a place in C stands behind `//`, or in a line of a comment.
fn is_comment_of_c(text: &str, at: usize) -> bool {
    let start = text[..at].rfind('\n').map_or(0, |at| at + 1);
    let before = &text[start..at];
    before.contains("//") || before.trim_start().starts_with('*')
}

#[cfg(test)]
mod tests;
