//! The C ABI of `probeidx`: `libprobeidx`, of which `include/probeidx.h` is the documentation and `README.md` the design.
//!
//! | module | what it is for |
//! | --- | --- |
//! | `pool` | memory of queries: the global allocator, which asks the system for nothing while a query runs |
//! | `handle` | what a `probeidx_index *` leads to: a table of slots with generations |
//! | `border` | what every function does: arguments checked, panics caught, errors written to the caller's buffer |
//! | `text` | bytes with their length, ended by a NUL |
//! | `names` | words for enumerators; versions |
//! | `open` | opening, closing, what is in an index |
//! | `places`, `frames` | the quick questions, answered into the caller's buffers |
//! | `check`, `find`, `resolve`, `aliases`, `lines`, `addr`, `decode`, `types`, `refused` | one for each command |
//!
//! `unsafe` is in `pool`, `handle` and `border` with its argument; elsewhere only what the border has checked is used.
#![deny(unsafe_op_in_unsafe_fn)]
#![warn(missing_docs)]

pub mod addr;
pub mod aliases;
pub mod border;
pub mod check;
pub mod decode;
pub mod find;
pub mod frames;
pub mod handle;
pub mod lines;
pub mod names;
pub mod open;
pub mod places;
pub mod pool;
pub mod refused;
pub mod resolve;
pub mod text;
pub mod types;
