//! Hermetic: the generated files are current, links lead somewhere, and answers of a small kernel are as their schemas say.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]
mod answers;
mod consoles;
mod generated;
mod links;
mod traces;
#[path = "../validated/mod.rs"]
mod validated;
