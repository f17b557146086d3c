//! Probe points of Linux kernels, resolved from an index.
//!
//! `build` reads the debug information of vmlinux and its modules into one file; everything else asks that file.
//!
//! ```
//! # let index = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/example.rs"));
//! // let index = probeidx::query::Index::open("6.1.0-56-cloud-amd64.pidx".as_ref())?;
//! let kernel = index.lookup()?;
//! for function in kernel.functions(b"clamp_value") {
//!     for place in function.placements() {
//!         println!("{:#x} in {}", place.address(), String::from_utf8_lossy(place.section()));
//!     }
//! }
//! # Ok::<(), probeidx::Error>(())
//! ```
//!
//! For only the library, without indexer and command line, use `default-features = false`.
//!
//! | module | content |
//! | --- | --- |
//! | [`lookup`] | handles for programs: functions, placements, variables, frames, types, each read on demand |
//! | [`query`] | complete answers: open, patterns, specs, listings, placements |
//! | [`render`] | answers to text and JSON |
//! | [`live`] | captures of a running kernel, to overlay on its index |
//! | [`tapset`] | parses SystemTap's language, scripts and tapsets |
//! | [`error`] | kind, place and remedy of every failure |
//! | [`observer`] | progress of a build |
//! | `pipeline` | the build, with the feature `build`: `discover`, `load`, `dwarf`, then merging, linking and writing |
//! | `debuginfod` | debug files from servers, with the feature `debuginfod` |
//! | `cli` | the command line, with the feature `cli` |
//!
//! The file itself is specified in the documentation of [`probeidx_format`].
#![deny(unsafe_code)]
#![warn(missing_docs)]
pub mod build_id;
pub mod error;
#[cfg_attr(
    not(feature = "cli"),
    allow(dead_code, reason = "only programs watch; in libraries nothing is watched")
)]
mod faults;
mod mapping;
pub(crate) mod nearest;
pub mod observer;
pub mod pattern;
pub mod symbol_name;
#[cfg(feature = "build")]
mod version;

pub mod tapset;

#[cfg(feature = "build")]
mod btf;
#[cfg(feature = "build")]
mod code;
#[cfg(feature = "build")]
mod debug_files;
#[cfg(feature = "debuginfod")]
pub mod debuginfod;
#[cfg(feature = "build")]
pub mod discover;
#[cfg(feature = "build")]
mod dwarf;
#[cfg(feature = "build")]
mod link;
#[cfg(feature = "build")]
pub mod load;
#[cfg(feature = "build")]
mod merge;
#[cfg(feature = "build")]
pub mod pipeline;
#[cfg(feature = "build")]
mod shapes;
#[cfg(feature = "build")]
mod write;

pub mod live;
pub mod lookup;
pub mod query;
pub mod render;

#[cfg(feature = "cli")]
pub mod cli;

pub use error::{Error, ErrorKind, Result};
