//! Probe points of Linux kernels, resolved from an index.
#![deny(unsafe_code)]
pub mod error;
mod mapping;
pub mod observer;

#[cfg(feature = "build")]
pub mod discover;
#[cfg(feature = "build")]
pub mod dwarf;
#[cfg(feature = "build")]
mod link;
#[cfg(feature = "build")]
pub mod load;
#[cfg(feature = "build")]
mod merge;
#[cfg(feature = "build")]
pub mod pipeline;
#[cfg(feature = "build")]
mod write;

#[cfg(feature = "cli")]
pub mod cli;
pub mod query;
pub mod render;
pub use error::{Error, ErrorKind, Result};
