//! Hermetic: the program over an index of a small kernel that is compiled here, asked by lines of JSON-RPC.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]
mod answers;
mod bounds;
mod errors;
mod protocol;
mod support;
