//! Hermetic: the program over an index of a small kernel that is compiled here, as an editor speaks with it.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]
mod completion;
mod conversation;
mod findings;
mod hover;
mod support;
