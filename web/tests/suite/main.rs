//! Hermetic: the program over an index of a small kernel that is compiled here, and over one whose names are markup.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]
mod access;
mod bounds;
mod code;
mod command;
mod contrast;
mod pages;
mod questions;
mod support;
