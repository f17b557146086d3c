//! Why the bytes of an index cannot be used.

/// Why an index cannot be opened or is not whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The file does not start as an index does.
    #[error("not a probeidx index")]
    NotAnIndex,
    /// Written by an older version of the format.
    #[error("index format {found}, this program reads {}", crate::VERSION)]
    Older {
        /// The version that wrote it.
        found: u32,
    },
    /// Written by a newer version of the format.
    #[error("index format {found}, this program reads {}", crate::VERSION)]
    Newer {
        /// The version that wrote it.
        found: u32,
    },
    /// The file is shorter or longer than its header says.
    #[error("the file has {found} bytes, its header says {expected}")]
    Length {
        /// What the header says.
        expected: u64,
        /// What there is.
        found: u64,
    },
    /// A section contradicts the directory or the specification.
    #[error("{what}")]
    Section {
        /// The section's name.
        section: &'static str,
        /// Where in the file.
        offset: u64,
        /// What is wrong with it.
        what: &'static str,
    },
}

/// The result of reading an index.
pub type Result<T> = std::result::Result<T, Error>;
