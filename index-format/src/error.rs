//! Errors in the bytes of an index.
use std::cmp::Ordering;

/// Why an index cannot be opened or is damaged.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The file does not start like an index.
    #[error("not a probeidx index")]
    NotAnIndex,
    /// Written by an older version of the format.
    #[error("{what} format {found}, this program reads {read}")]
    Older {
        /// What it is a file of: an index, or a store.
        what: &'static str,
        /// The version of the file.
        found: u32,
        /// The version that is read.
        read: u32,
    },
    /// Written by a newer version of the format.
    #[error("{what} format {found}, this program reads {read}")]
    Newer {
        /// What it is a file of: an index, or a store.
        what: &'static str,
        /// The version of the file.
        found: u32,
        /// The version that is read.
        read: u32,
    },
    /// The length of the file differs from that in its header.
    #[error("the file has {found} bytes, its header says {expected}")]
    Length {
        /// The length in the header.
        expected: u64,
        /// The actual length.
        found: u64,
    },
    /// A section contradicts the directory or the specification.
    #[error("{what}")]
    Section {
        /// The section's name.
        section: &'static str,
        /// The offset in the file.
        offset: u64,
        /// What is wrong.
        what: &'static str,
    },
}

impl Error {
    /// An error unless the version of a file is the one that is read.
    pub(crate) fn unless_version(what: &'static str, read: u32, found: u32) -> Result<()> {
        match found.cmp(&read) {
            Ordering::Less => Err(Self::Older { what, found, read }),
            Ordering::Greater => Err(Self::Newer { what, found, read }),
            Ordering::Equal => Ok(()),
        }
    }
}

/// The result of reading an index.
pub type Result<T> = std::result::Result<T, Error>;
