//! bpftrace's language (0.17 to 0.27), as far as it decides whether a script works on a kernel: attach points, and what
//! handlers read of events, functions, types and symbols.
//!
//! Nothing here knows a kernel. Whatever does not depend on one is skipped, not refused: bpftrace itself is the judge of its
//! language.
//!
//! | module | content |
//! | --- | --- |
//! | `lexer` | text to tokens, one at a time: attach points have other tokens than handlers |
//! | [`parser`] | tokens to a [`Script`](ast::Script) |
//! | [`ast`] | syntax trees |
//! | `version` | what differs by the version of bpftrace |
pub mod ast;
mod lexer;
pub mod parser;
mod version;

pub use version::Version;

/// A place in a script. Lines and columns start at 1, columns count bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// From 1.
    pub line: u32,
    /// From 1, in bytes.
    pub column: u32,
}
