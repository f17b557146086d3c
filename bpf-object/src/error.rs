//! What is wrong with an object, where, and what helps.
use std::fmt;

/// The kinds of failure. Callers decide by them; people read the whole [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The bytes are not an ELF file of machine 247 (`EM_BPF`) and type `ET_REL`.
    NotBpf,
    /// The file ends before something that its headers announce.
    Truncated,
    /// A part contradicts the specification of its format.
    Damaged,
    /// A part is of a version or kind that is not known.
    Unsupported,
    /// The object is well-formed, and libbpf 1.x refuses to open or load it all the same.
    Refused,
}

/// A failure in one line: place, what is wrong, remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// What kind of failure it is.
    pub kind: ErrorKind,
    /// Where in the object: a section, program, map or extern. Names in it come from the object, escaped.
    pub place: String,
    /// What is wrong there.
    pub what: String,
    /// What to do about it.
    pub remedy: &'static str,
}

/// The result of what can fail with an [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// The remedy where the file is at fault.
const BUILD_AGAIN: &str = "build the object again";

impl Error {
    /// The bytes are no BPF object.
    pub(crate) fn not_bpf(what: &str) -> Self {
        let remedy = "give an object compiled with `clang -target bpf`, or a file that contains one";
        Self { kind: ErrorKind::NotBpf, place: "ELF header".into(), what: what.into(), remedy }
    }

    /// Something reaches past the end of what holds it.
    pub(crate) fn truncated(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Truncated, place: place.into(), what: what.into(), remedy: BUILD_AGAIN }
    }

    /// Something contradicts the format.
    pub(crate) fn damaged(place: impl Into<String>, what: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Damaged, place: place.into(), what: what.into(), remedy: BUILD_AGAIN }
    }

    /// Something is newer than what is read here.
    pub(crate) fn unsupported(place: impl Into<String>, what: impl Into<String>) -> Self {
        let remedy = "build it with a compiler and pahole that libbpf 1.7 can read";
        Self { kind: ErrorKind::Unsupported, place: place.into(), what: what.into(), remedy }
    }

    /// libbpf refuses it.
    pub(crate) fn refused(place: impl Into<String>, what: impl Into<String>, remedy: &'static str) -> Self {
        Self { kind: ErrorKind::Refused, place: place.into(), what: what.into(), remedy }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}; {}", self.place, self.what, self.remedy)
    }
}

impl std::error::Error for Error {}

/// A name of the object as text that is safe to print: control characters and bytes that are not UTF-8 are escaped.
pub(crate) fn shown(name: &[u8]) -> String {
    let mut text = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c.is_control() { text.extend(c.escape_default()) } else { text.push(c) }
        }
        for byte in chunk.invalid() {
            text.push_str(&format!("\\x{byte:02x}"));
        }
    }
    text
}
