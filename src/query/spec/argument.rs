//! Arguments to read: `file`, `name=s->name:string`, `buf@user:ustring`, `$retval`, `%di:x32`.
use super::expression::{self, Access};
use crate::error::{Error, ErrorKind, Result};

/// An argument of a probe.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// The argument as written.
    pub text: String,
    /// The name to give it.
    pub name: Option<String>,
    /// What is fetched.
    pub source: Source,
    /// The type to read it as.
    pub cast: Option<Cast>,
}

impl Argument {
    /// Parses an argument.
    ///
    /// ```
    /// let argument = probeidx::Argument::parse("comm=task->comm:string")?;
    /// assert_eq!(argument.name.as_deref(), Some("comm"));
    /// # Ok::<(), probeidx::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`ErrorKind::Usage`], with the column and what was expected there.
    pub fn parse(text: &str) -> Result<Self> {
        parse(text)
    }
}

/// The value that is read.
#[derive(Clone, Debug, PartialEq)]
pub enum Source {
    /// A variable, or a part of it.
    Variable(Access),
    /// The function's return value, or a part of it.
    Returned(Access),
    /// A value that the kernel reads by itself: `%di`, `+8(%sp)`, `$stack0`, `$comm`, `\\1`.
    Raw(String),
}

/// A type of kprobe_events (Documentation/trace/kprobetrace.rst).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cast {
    /// `x`, `u` or `s`, with the width of the variable's type.
    Radix(char),
    /// `string`, `ustring`: the NUL-terminated string that it points to.
    Text(String),
    /// `%pd`, `%pD`: the name of a `struct dentry *` or a `struct file *`.
    DentryName(String),
    /// Any other: `u32`, `x8[4]`, `symbol`, `b4@2/8`.
    As(String),
}

/// The largest number of arguments of a probe: 6.1 silently drops the rest (`MAX_TRACE_ARGS`, trace_probe.h).
pub const MOST: usize = 128;

/// Parses one argument.
///
/// # Errors
/// [`ErrorKind::Usage`], with the problem.
pub fn parse(text: &str) -> Result<Argument> {
    let wrong = |what: &str| Error::new(ErrorKind::Usage, format!("argument '{text}': {what}"));
    let (name, rest) = match text.split_once('=') {
        Some((name, rest)) if is_name(name) => (Some(name.to_owned()), rest),
        Some((name, _)) => {
            return Err(wrong(&format!("'{name}' is no name (letters, digits, _, at most 32)")));
        }
        None => (None, text),
    };
    if name.as_ref().is_some_and(|n| RESERVED.contains(&n.as_str())) {
        return Err(wrong("the kernel keeps this name for itself"));
    }
    let (rest, cast) = match rest.rsplit_once(':') {
        Some((rest, cast)) => (
            rest,
            Some(
                parse_cast(cast)
                    .ok_or_else(|| wrong(&format!("no type of kprobe_events is called '{cast}'")))?,
            ),
        ),
        None => (rest, None),
    };
    let source = if is_raw(rest) {
        Source::Raw(rest.to_owned())
    } else {
        let (access, is_returned) = expression::parse(rest).map_err(|e| wrong(e.message()))?;
        if is_returned { Source::Returned(access) } else { Source::Variable(access) }
    };
    Ok(Argument { text: text.to_owned(), name, source, cast })
}

/// Whether the kernel reads it by itself.
fn is_raw(text: &str) -> bool {
    let numbered = |prefix| text.strip_prefix(prefix).is_some_and(|n| n.bytes().all(|b| b.is_ascii_digit()));
    text.starts_with(['%', '@', '+', '-', '\\'])
        || matches!(text, "$comm" | "$COMM")
        || numbered("$stack")
        || (numbered("$arg") && text != "$arg")
}

/// Fields of every event (`trace_probe.c`).
const RESERVED: [&str; 8] = [
    "common_type",
    "common_flags",
    "common_preempt_count",
    "common_pid",
    "common_tgid",
    "__probe_ip",
    "__probe_func",
    "__probe_ret_ip",
];

/// Whether this can name an argument: an identifier of at most 32 characters.
pub fn is_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|b| b.is_ascii_alphabetic() || b == b'_')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_')
        && text.len() <= 32
}

fn parse_cast(text: &str) -> Option<Cast> {
    match text {
        "x" | "u" | "s" => return text.chars().next().map(Cast::Radix),
        "string" | "ustring" => return Some(Cast::Text(text.to_owned())),
        "%pd" | "%pD" => return Some(Cast::DentryName(text.to_owned())),
        _ => {}
    }
    let (plain, count) = match text.strip_suffix(']').and_then(|t| t.split_once('[')) {
        Some((plain, count)) => (plain, Some(count.parse::<u32>().ok()?)),
        None => (text, None),
    };
    let is_known = match plain {
        "symbol" | "symstr" | "char" | "string" | "ustring" => true,
        _ => match plain.split_at_checked(1)? {
            ("u" | "s" | "x", bits) => ["8", "16", "32", "64"].contains(&bits),
            ("b", field) => is_bit_field(field),
            _ => false,
        },
    };
    (is_known && count.is_none_or(|n| (1..=64).contains(&n))).then(|| Cast::As(text.to_owned()))
}

/// `WIDTH@OFFSET/CONTAINER`
fn is_bit_field(text: &str) -> bool {
    let parts = || {
        let (width, rest) = text.split_once('@')?;
        let (offset, container) = rest.split_once('/')?;
        Some([width.parse::<u32>().ok()?, offset.parse().ok()?, container.parse().ok()?])
    };
    parts().is_some_and(|[width, offset, container]| {
        [8, 16, 32, 64].contains(&container)
            && width > 0
            && offset.checked_add(width).is_some_and(|end| end <= container)
    })
}

#[cfg(test)]
mod tests {
    use super::super::expression::AccessStep;
    use super::*;

    #[test]
    fn arguments_have_a_name_a_source_and_a_type() {
        let argument = parse("name=s->name:string").unwrap();
        assert_eq!(
            (argument.name.as_deref(), &argument.cast),
            (Some("name"), &Some(Cast::Text("string".into())))
        );
        assert!(matches!(argument.source, Source::Variable(_)));
        let argument = parse("buf@user:ustring").unwrap();
        assert!(matches!(&argument.source, Source::Variable(access) if access.steps == [AccessStep::User]));
        assert!(argument.name.is_none());
        assert!(matches!(parse("$argv[1]").unwrap().source, Source::Variable(_)));
        assert!(matches!(parse("$retval").unwrap().source, Source::Returned(_)));
        assert_eq!(parse("$return").unwrap().source, parse("$retval").unwrap().source);
        assert!(matches!(parse("$file->f_mode:x").unwrap().source, Source::Variable(_)));
        assert_eq!(parse("sp=+8(%sp):x64").unwrap().source, Source::Raw("+8(%sp)".into()));
        assert_eq!(parse("$stack0").unwrap().source, Source::Raw("$stack0".into()));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, said) in [
            ("9a=file", "'9a' is no name"),
            ("common_pid=file", "keeps this name for itself"),
            ("file:int", "no type of kprobe_events is called 'int'"),
            ("file:u24", "no type of kprobe_events is called 'u24'"),
            ("file:b3@30/32", "no type of kprobe_events is called 'b3@30/32'"),
            ("file:u8[65]", "no type of kprobe_events is called 'u8[65]'"),
            ("file@usr", "argument 'file@usr': column 5: expected '.', '->' or '['"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.kind() == ErrorKind::Usage && error.message().contains(said), "{text}: {error}");
        }
    }
}
