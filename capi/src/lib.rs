//! The C ABI of `probeidx`: `libprobeidx`, documented in `include/probeidx.h`, with its design in `README.md`.
//!
//! | module | what it is for |
//! | --- | --- |
//! | `pool` | memory of queries: the global allocator, which asks the system for nothing while a query runs |
//! | `handle` | what a `probeidx_index *` refers to: a table of slots with generations |
//! | `border` | what every function does: check arguments, catch panics, write errors to the caller's buffer |
//! | `each` | answers by callback |
//! | `text`, `kept` | bytes with their length, ended by a NUL; what an answer points to |
//! | `names` | words for enumerators; versions |
//! | `open`, `contents` | listing, opening and closing indexes; their contents and integrity |
//! | `places`, `frames` | the quick questions, answered into the caller's buffers |
//! | `find`, `resolve`, `aliases`, `tapset`, `functions`, `lines`, `addr`, `decode`, `types`, `refused`, `check`,
//! `health` | one for each command, or two |
//! | `missing` | why there is no answer |
//!
//! `unsafe` is in `pool`, `handle` and `border`, each with its argument, and in `decode`, which reads and fills the
//! caller's struct up to the size it states. The other modules only use what `border` has checked.
#![deny(unsafe_op_in_unsafe_fn)]
#![warn(missing_docs)]

pub mod addr;
pub mod aliases;
pub mod border;
pub mod check;
pub mod contents;
pub mod decode;
pub mod each;
pub mod find;
pub mod frames;
pub mod functions;
pub mod handle;
pub mod health;
pub mod kept;
pub mod lines;
pub mod missing;
pub mod names;
pub mod open;
pub mod places;
pub mod pool;
pub mod refused;
pub mod resolve;
pub mod tapset;
pub mod text;
pub mod types;
