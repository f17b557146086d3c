//! Errors with kind, place and remedy: one line with what was wrong, in which file, section and offset, and what to
//! do about it.
use std::fmt;
use std::path::{Path, PathBuf};

/// The class of a failure. The command line derives its exit code from it.
///
/// ```
/// let error = probeidx::Index::open("/nonexistent.pidx".as_ref()).err().expect("there is no such file");
/// assert_eq!(error.kind(), probeidx::ErrorKind::Io);
/// assert_eq!(error.path(), Some("/nonexistent.pidx".as_ref()));
/// ```
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ErrorKind {
    /// The command line, a pattern or a specification is wrong.
    Usage,
    /// Nothing matched.
    NoMatch,
    /// A file cannot be opened, read or written.
    Io,
    /// A file changed or became unreadable while it was in use.
    Changed,
    /// Memory or file descriptors ran out.
    Exhausted,
    /// A script or tapset is not written in SystemTap's language.
    Syntax,
    /// The file is not an ELF object.
    NotElf,
    /// An ELF object of a kind that cannot be indexed (32-bit, foreign machine).
    Unsupported,
    /// The file is shorter than its headers require, or its tables contradict each other.
    Damaged,
    /// The object carries no debug information.
    NoDebugInfo,
    /// The debug information is in another file that is missing (split DWARF, a supplementary file).
    MissingPart,
    /// The object belongs to another build than the kernel it was found with.
    Mismatch,
    /// The requested index does not exist.
    NoIndex,
    /// The index was written by an older version of this program.
    IndexTooOld,
    /// The index was written by a newer version of this program.
    IndexTooNew,
    /// The bytes of the index are damaged.
    IndexDamaged,
}

impl Error {
    /// An error in the bytes of a file, with its section and offset.
    pub(crate) fn of_format(error: &probeidx_format::Error, path: &Path, hint: &str) -> Self {
        use probeidx_format::Error as E;
        let kind = match error {
            E::NotAnIndex | E::Length { .. } | E::Section { .. } => ErrorKind::IndexDamaged,
            E::Older { .. } => ErrorKind::IndexTooOld,
            E::Newer { .. } => ErrorKind::IndexTooNew,
        };
        let plain = Self::new(kind, error.to_string()).at(path).hint(hint);
        match error {
            E::Section { section, offset, .. } => plain.section(*section).offset(*offset),
            _ => plain,
        }
    }
}

impl ErrorKind {
    const ALL: [Self; 16] = [
        Self::Usage,
        Self::NoMatch,
        Self::Io,
        Self::Changed,
        Self::Exhausted,
        Self::Syntax,
        Self::NotElf,
        Self::Unsupported,
        Self::Damaged,
        Self::NoDebugInfo,
        Self::MissingPart,
        Self::Mismatch,
        Self::NoIndex,
        Self::IndexTooOld,
        Self::IndexTooNew,
        Self::IndexDamaged,
    ];

    /// The kind of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
    /// The name that `--json` prints: lower case, words joined by dashes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Usage => "usage",
            Self::NoMatch => "no-match",
            Self::Io => "io",
            Self::Changed => "changed",
            Self::Exhausted => "exhausted",
            Self::Syntax => "syntax",
            Self::NotElf => "not-elf",
            Self::Unsupported => "unsupported",
            Self::Damaged => "damaged",
            Self::NoDebugInfo => "no-debug-info",
            Self::MissingPart => "missing-part",
            Self::Mismatch => "mismatch",
            Self::NoIndex => "no-index",
            Self::IndexTooOld => "index-too-old",
            Self::IndexTooNew => "index-too-new",
            Self::IndexDamaged => "index-damaged",
        }
    }
}

/// A failure with its place and remedy.
#[derive(Clone, Debug)]
pub struct Error(Box<Parts>);

#[derive(Clone, Debug)]
struct Parts {
    kind: ErrorKind,
    message: String,
    path: Option<PathBuf>,
    section: Option<String>,
    offset: Option<u64>,
    line: Option<(u32, u32)>,
    hint: Option<String>,
}

/// The result of every fallible function in this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// A failure of this kind; `message` describes it, in lower case and without a full stop.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Parts {
            kind,
            message: message.into(),
            path: None,
            section: None,
            offset: None,
            line: None,
            hint: None,
        }))
    }
    /// An operating-system failure while `doing` something with `path`.
    pub fn io(path: &Path, doing: &str, source: std::io::Error) -> Self {
        let exhausted = [libc::ENOMEM, libc::EMFILE, libc::ENFILE].map(Some).contains(&source.raw_os_error());
        let kind = if exhausted { ErrorKind::Exhausted } else { ErrorKind::Io };
        Self::new(kind, format!("cannot {doing}: {source}")).at(path)
    }
    /// Adds the file in which it happened.
    pub fn at(mut self, path: &Path) -> Self {
        self.0.path.get_or_insert_with(|| path.to_owned());
        self
    }
    /// Adds the section in which it happened.
    pub fn section(mut self, section: impl Into<String>) -> Self {
        self.0.section.get_or_insert(section.into());
        self
    }
    /// Adds the offset within the section, or within the file if no section is set.
    pub fn offset(mut self, offset: u64) -> Self {
        self.0.offset.get_or_insert(offset);
        self
    }
    /// Adds the line and column of a text, both starting at 1.
    pub fn line(mut self, line: u32, column: u32) -> Self {
        self.0.line.get_or_insert((line, column));
        self
    }
    /// Adds what to do about it.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint.get_or_insert(hint.into());
        self
    }
    /// The class of the failure.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }
    /// The description without the place.
    pub fn message(&self) -> &str {
        &self.0.message
    }
    /// The file in which it happened.
    pub fn path(&self) -> Option<&Path> {
        self.0.path.as_deref()
    }
    /// What to do about it.
    pub fn remedy(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }
    /// The line and column of a text, both from 1.
    pub fn position(&self) -> Option<(u32, u32)> {
        self.0.line
    }
    /// The place as text: `path: section .debug_info at 0x1f`.
    pub fn place(&self) -> Option<String> {
        let p = &self.0;
        let mut s = p.path.as_ref().map(|p| p.display().to_string()).unwrap_or_default();
        if let Some((line, column)) = p.line {
            s += &format!("{}{line}:{column}", if s.is_empty() { "line " } else { ":" });
        }
        if let Some(section) = &p.section {
            s += if s.is_empty() { "section " } else { ": section " };
            s += section;
        }
        if let Some(offset) = p.offset {
            s += &format!("{}{offset:#x}", if s.is_empty() { "offset " } else { " at " });
        }
        (!s.is_empty()).then_some(s)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(place) = self.place() {
            write!(f, "{place}: ")?;
        }
        f.write_str(&self.0.message)?;
        if let Some(hint) = &self.0.hint {
            write!(f, "; {hint}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}
