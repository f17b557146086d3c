//! Hermetic: indexes of small kernels that are compiled here.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]
mod answers;
mod batches;
mod bytes;
mod documentation;
mod hostile;
mod support;
