//! The kinds of files that can be checked. Each is read once, and judged on each kernel.
use super::bpf::BpfFile;
use super::outcome::FileOutcome;
use super::spec_list::is_script;
use super::{Asked, bcc, bpftrace, check, commands};
use crate::bcc::{self as tool, Tool};
use crate::bpftrace::ast::Script;
use crate::bpftrace::parser;
use crate::error::{Error, ErrorKind, Result};
#[cfg(feature = "cli")]
use crate::policy::Hook;
use crate::tapset::Definitions;
use probeidx_format::View;
use std::path::{Path, PathBuf};

/// A file that is checked.
#[derive(Debug)]
pub struct Source {
    path: PathBuf,
    content: Content,
}

#[derive(Debug)]
enum Content {
    /// A bpftrace script, and its text.
    Bpftrace(Box<Script>, String),
    /// A SystemTap script or a list of probe points: its parsing depends on the kernel.
    SystemTap(Vec<u8>),
    /// The attach points of a bcc tool.
    Bcc(Tool),
    /// The hooks of a TracingPolicy.
    #[cfg(feature = "cli")]
    Policy(Vec<Hook>),
    /// A BPF object, or a program that carries some.
    Bpf(BpfFile),
}

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A BPF object, or a program that carries some.
    Bpf,
    /// A bpftrace script.
    Bpftrace,
    /// A tool of bcc.
    Bcc,
    /// A TracingPolicy.
    Policy,
    /// A SystemTap script or a list of probe points.
    SystemTap,
}

impl Kind {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bpf => "bpf",
            Self::Bpftrace => "bpftrace",
            Self::Bcc => "bcc",
            Self::Policy => "policy",
            Self::SystemTap => "systemtap",
        }
    }

    /// The kind of a file that is checked, by its name and content.
    pub fn of(path: &Path, bytes: &[u8]) -> Self {
        match () {
            () if bytes.starts_with(b"\x7fELF") => Self::Bpf,
            () if is_bpftrace(path, bytes) => Self::Bpftrace,
            () if is_python(path, bytes) => Self::Bcc,
            #[cfg(feature = "cli")]
            () if is_policy(path, bytes) => Self::Policy,
            () => Self::SystemTap,
        }
    }

    /// The kind that a text without a name is most likely meant to be: as [`of`](Self::of) where its content decides; a
    /// program in Python that imports bcc; and what has actions in braces is bpftrace's, unless it starts as a script of
    /// SystemTap or is a list of commands.
    pub fn guessed(bytes: &[u8]) -> Self {
        let nameless = Path::new("");
        let first = String::from_utf8_lossy(bytes);
        let mut first =
            first.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
        match Self::of(nameless, bytes) {
            Self::SystemTap if imports_bcc(bytes) => Self::Bcc,
            Self::SystemTap
                if bytes.contains(&b'{')
                    && !is_script(nameless, bytes)
                    && first.next().is_none_or(|line| commands::points(line).is_none()) =>
            {
                Self::Bpftrace
            }
            known => known,
        }
    }
}

/// The tapset definitions of an index, or why there are none: only SystemTap's points need them.
pub type Library<'l, 'v> = std::result::Result<&'l Definitions<'v>, &'l Error>;

impl Source {
    /// Reads what does not depend on the kernel. The kind follows from the name and the content.
    ///
    /// # Errors
    /// [`Syntax`](crate::ErrorKind::Syntax), with the place.
    pub fn read(path: &Path, bytes: Vec<u8>) -> Result<Self> {
        Self::of_kind(Kind::of(path, &bytes), path, bytes)
    }

    /// Like [`read`](Self::read), of this kind, whatever the name says.
    ///
    /// # Errors
    /// Those of [`read`](Self::read).
    pub fn of_kind(kind: Kind, path: &Path, bytes: Vec<u8>) -> Result<Self> {
        let content = match kind {
            Kind::Bpf => Content::Bpf(BpfFile::read(path, bytes)?),
            Kind::Bpftrace => {
                let text = String::from_utf8_lossy(&bytes).into_owned();
                let script = parser::parse(&text).map_err(|error| error.at(path))?;
                Content::Bpftrace(Box::new(script), text)
            }
            Kind::Bcc if !imports_bcc(&bytes) => {
                let error = Error::new(ErrorKind::Syntax, "no tool of bcc: it does not import bcc");
                return Err(error.at(path).hint("check reads no other programs in Python"));
            }
            Kind::Bcc => Content::Bcc(tool::read(&String::from_utf8_lossy(&bytes))),
            #[cfg(feature = "cli")]
            Kind::Policy => {
                let text = String::from_utf8_lossy(&bytes);
                Content::Policy(crate::policy::parse(&text).map_err(|error| error.at(path))?)
            }
            #[cfg(not(feature = "cli"))]
            Kind::Policy => Content::SystemTap(bytes),
            Kind::SystemTap => Content::SystemTap(bytes),
        };
        Ok(Self { path: path.to_owned(), content })
    }

    /// Judges the file on the kernel of an index.
    ///
    /// # Errors
    /// Those of [`check`], for SystemTap.
    pub fn judge(&self, view: &View<'_>, library: Library<'_, '_>, asked: &Asked) -> Result<FileOutcome> {
        match &self.content {
            Content::Bpftrace(script, text) => Ok(bpftrace::judge(view, script, text, asked.bpftrace)),
            Content::SystemTap(bytes) => {
                let is_list = !is_script(&self.path, bytes);
                Ok(check(view, library, asked, &self.path, bytes)?.outcome(&self.path, is_list))
            }
            Content::Bcc(tool) => Ok(bcc::judge(view, tool)),
            #[cfg(feature = "cli")]
            Content::Policy(hooks) => Ok(super::policy::judge(view, hooks)),
            Content::Bpf(file) => Ok(file.judge(view)),
        }
    }
}

/// Whether a file is a bpftrace script, by its name or its first line.
fn is_bpftrace(path: &Path, bytes: &[u8]) -> bool {
    is_for(path, bytes, "bt", b"bpftrace")
}

/// Whether a file is a program in Python, by its name or its first line.
fn is_python(path: &Path, bytes: &[u8]) -> bool {
    is_for(path, bytes, "py", b"python")
}

/// Whether a file has this extension, or a first line that names this interpreter.
fn is_for(path: &Path, bytes: &[u8], extension: &str, interpreter: &[u8]) -> bool {
    let first = bytes.split(|byte| *byte == b'\n').next().unwrap_or_default();
    path.extension().is_some_and(|own| own == extension)
        || (first.starts_with(b"#!") && memchr::memmem::find(first, interpreter).is_some())
}

/// Whether a program in Python is a tool of bcc.
fn imports_bcc(bytes: &[u8]) -> bool {
    [&b"from bcc"[..], b"import bcc"].iter().any(|import| memchr::memmem::find(bytes, import).is_some())
}

/// Whether a file is a policy, by its name or its kind.
#[cfg(feature = "cli")]
fn is_policy(path: &Path, bytes: &[u8]) -> bool {
    let is_called = path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml");
    is_called || memchr::memmem::find(bytes, b"kind: TracingPolicy").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_without_a_name_is_what_it_looks_like() {
        for (text, kind) in [
            ("kprobe:vfs_read { @ = count(); }", Kind::Bpftrace),
            ("// why\nBEGIN { print(1) }", Kind::Bpftrace),
            ("kprobe:vfs_read { @ = ", Kind::Bpftrace),
            ("#!/usr/bin/bpftrace\nkprobe:f", Kind::Bpftrace),
            ("probe kernel.function(\"f\") { next }", Kind::SystemTap),
            ("#!/usr/bin/stap\nprobe begin { }", Kind::SystemTap),
            ("global a\nprobe vm.* { }", Kind::SystemTap),
            ("kernel.function(\"f\")\nvfs_read", Kind::SystemTap),
            ("trace-cmd record -p function -l 'a{b,c}'", Kind::SystemTap),
            ("# points\nperf probe f", Kind::SystemTap),
            ("from bcc import BPF\nb = BPF(text='{')", Kind::Bcc),
            ("kind: TracingPolicy\nspec: {}", Kind::Policy),
            ("", Kind::SystemTap),
        ] {
            #[cfg(not(feature = "cli"))]
            let kind = if kind == Kind::Policy { continue } else { kind };
            assert_eq!(Kind::guessed(text.as_bytes()), kind, "{text}");
        }
        assert_eq!(Kind::of(Path::new("a.bt"), b""), Kind::Bpftrace);
    }
}
