//! Probe points of Linux kernels, resolved from an index.
pub mod error;
#[cfg(feature = "build")]
pub mod discover;
#[cfg(feature = "build")]
pub mod load;
pub mod query;
#[cfg(feature = "cli")]
pub mod cli;
pub use error::{Error, ErrorKind, Result};
