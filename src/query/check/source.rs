//! The kinds of files that can be checked. Each is read once, and judged on each kernel.
use super::bpf::BpfFile;
use super::outcome::FileOutcome;
use super::{Asked, check};
use crate::error::{Error, Result};
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
    /// A SystemTap script or a list of probe points: its parsing depends on the kernel.
    SystemTap(Vec<u8>),
    /// A BPF object, or a program that carries some.
    Bpf(BpfFile),
}

/// The tapset definitions of an index, or why there are none: only SystemTap's points need them.
pub type Library<'l, 'v> = std::result::Result<&'l Definitions<'v>, &'l Error>;

impl Source {
    /// Reads what does not depend on the kernel. The kind follows from the name and the content.
    ///
    /// # Errors
    /// [`Syntax`](crate::ErrorKind::Syntax), with the place.
    pub fn read(path: &Path, bytes: Vec<u8>) -> Result<Self> {
        let content = match bytes.starts_with(b"\x7fELF") {
            true => Content::Bpf(BpfFile::read(path, bytes)?),
            false => Content::SystemTap(bytes),
        };
        Ok(Self { path: path.to_owned(), content })
    }

    /// Judges the file on the kernel of an index.
    ///
    /// # Errors
    /// Those of [`check`], for SystemTap.
    pub fn judge(&self, view: &View<'_>, library: Library<'_, '_>, asked: &Asked) -> Result<FileOutcome> {
        match &self.content {
            Content::SystemTap(bytes) => {
                Ok(check(view, library, asked, &self.path, bytes)?.outcome(&self.path))
            }
            Content::Bpf(file) => Ok(file.judge(view)),
        }
    }
}
