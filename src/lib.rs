//! Probe points of Linux kernels, resolved from an index.
//!
//! A build reads the debug information of vmlinux and its modules into one file; everything else asks that file.
//!
//! ```
//! # let index = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/example.rs"));
//! // let index = probeidx::Index::open("6.1.0-56-cloud-amd64.pidx".as_ref())?;
//! let kernel = index.lookup()?;
//! for function in kernel.functions(b"clamp_value") {
//!     for place in function.placements() {
//!         println!("{:#x} in {}", place.address(), String::from_utf8_lossy(place.section()));
//!     }
//! }
//! # Ok::<(), probeidx::Error>(())
//! ```
//!
//! | to | use |
//! | --- | --- |
//! | open an index | [`Index`] |
//! | choose, keep open and ask many | [`Kernels`], [`KernelId`] |
//! | walk functions, placements, variables, frames and types | [`Lookup`] and the handles of [`lookup`] |
//! | say what is asked | [`Spec`], [`Argument`], [`Pattern`] |
//! | have whole answers: anchor, verdicts, coverage, fetch arguments | [`answer`] |
//! | build an index (feature `build`) | `pipeline::build` |
//! | know why something failed | [`Error`], [`ErrorKind`] |
//!
//! Only what stands here is the library's interface. Modules that the documentation leaves out are open to this project's
//! own programs and tests, and change without notice. `default-features = false` leaves out the indexer and the command
//! line. The file is specified in the documentation of [`probeidx_format`].
#![deny(unsafe_code)]
#![warn(missing_docs, clippy::missing_errors_doc)]
#[doc(hidden)]
pub mod build_id;
#[doc(hidden)]
pub mod error;
#[cfg_attr(
    not(feature = "cli"),
    allow(dead_code, reason = "only programs watch; in libraries nothing is watched")
)]
mod faults;
mod mapping;
pub(crate) mod nearest;
#[doc(hidden)]
pub mod observer;
#[doc(hidden)]
pub mod pattern;
#[doc(hidden)]
pub mod symbol_name;
mod version;

#[doc(hidden)]
pub mod bcc;
#[doc(hidden)]
pub mod bpftrace;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod policy;
#[doc(hidden)]
pub mod tapset;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod tracefs;

#[cfg(feature = "build")]
mod btf;
#[cfg(feature = "build")]
mod code;
#[cfg(feature = "build")]
mod debug_files;
#[cfg(feature = "debuginfod")]
#[doc(hidden)]
pub mod debuginfod;
#[cfg(feature = "build")]
#[doc(hidden)]
pub mod discover;
#[cfg(feature = "build")]
mod dwarf;
#[cfg(feature = "build")]
mod link;
#[cfg(feature = "build")]
#[doc(hidden)]
pub mod load;
#[cfg(feature = "build")]
mod merge;
#[cfg(feature = "build")]
mod package;
#[cfg(feature = "build")]
pub mod pipeline;
#[cfg(feature = "build")]
mod shapes;
#[doc(hidden)]
pub mod store;
#[cfg(feature = "build")]
mod write;

#[cfg(feature = "build")]
#[doc(hidden)]
pub mod fleet;
#[doc(hidden)]
pub mod kernels;
#[doc(hidden)]
pub mod live;
pub mod lookup;
#[doc(hidden)]
pub mod query;
#[doc(hidden)]
pub mod render;

#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;

#[doc(inline)]
pub use error::{Error, ErrorKind, Result};
#[doc(inline)]
pub use kernels::Kernels;
#[doc(inline)]
pub use lookup::Lookup;
#[cfg(feature = "build")]
#[doc(inline)]
pub use observer::Observer;
#[doc(inline)]
pub use pattern::Pattern;
#[doc(inline)]
pub use query::Index;
#[doc(inline)]
pub use query::index::kernel_id::KernelId;
#[doc(inline)]
pub use query::spec::Spec;
#[doc(inline)]
pub use query::spec::argument::Argument;

/// Whole answers, as values.
///
/// ```
/// # let index = include!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/example.rs"));
/// use probeidx::answer::{self, Answer, Mechanism, Wanted};
///
/// let view = index.view()?;
/// let arguments = [probeidx::Argument::parse("flags")?];
/// let wanted = Wanted { arguments: &arguments, ..Wanted::default() };
/// for spec in answer::parse(&view, "submit")? {
///     answer::answers(&view, &spec, wanted, &mut |answer| {
///         let Answer::Code(placement, _) = answer else { panic!("submit is a function") };
///         assert!(placement.verdicts.of(Mechanism::Kprobe).is_some());
/// #         #[cfg(target_arch = "x86_64")]
///         assert_eq!(placement.values[0].fetch.as_deref(), Some("flags=%si:s32"));
///         Ok(())
///     })?;
/// }
/// # Ok::<(), probeidx::Error>(())
/// ```
pub mod answer {
    pub use crate::query::answer::{Answer, answers, parse};
    pub use crate::query::index::functions::Instance;
    pub use crate::query::index::symbols::Anchor;
    pub use crate::query::resolve::placement::{InlineCall, Placement, Wanted};
    pub use crate::query::value::reader::{State, ValueAt};
    pub use crate::query::verdict::coverage::Coverage;
    pub use crate::query::verdict::mechanism::Mechanism;
    pub use crate::query::verdict::reason::Reason;
    pub use crate::query::verdict::unknown::Unknown;
    pub use crate::query::verdict::{Verdict, Verdicts};
}
