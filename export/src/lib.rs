//! Tables of probeidx's indexes, for engines: Parquet files and Arrow streams.
//!
//! ```text
//! selection ─▶ tables (code, calls, members, tracepoints) ─▶ sink ─▶ files (Parquet) or stream (Arrow)
//!                 merged: names of all kernels at once         │        parquet_file: columns, pages, encodings, codec
//!                 since: equal facts of kernels                rows: cells to columns; numbering: to numbers of a dictionary
//!                                                              text_array: texts of Arrow, of these numbers
//!                                                              schema: what the columns are, and how they are stored
//! ```
//!
//! Everything is written by one walk over the sorted names of all kernels, so that memory hardly grows with them (7 MB each, up
//! to 64 kernels), and no file is sorted afterwards. The rows are what [`probeidx::query`] answers. Nothing here decides anything
//! about kernels.
#![forbid(unsafe_code)]
#![warn(missing_docs, clippy::missing_errors_doc)]
mod batches;
mod cell;
mod describe;
#[cfg(feature = "program")]
mod destination;
#[cfg(feature = "program")]
mod files;
mod merged;
mod numbering;
#[cfg(feature = "program")]
mod parquet_file;
#[cfg(feature = "program")]
mod program;
mod rows;
pub mod schema;
mod selection;
mod since;
mod sink;
#[cfg(feature = "program")]
mod stream;
mod tables;
mod text_array;
#[cfg(feature = "program")]
mod verify;

pub use batches::{Batches, record_batches};
pub use describe::tables as described;
#[cfg(feature = "program")]
pub use program::run;
