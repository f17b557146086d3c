//! The debug sections of an object, from its own file and its other debug files.
mod debug;
mod package;
mod split;
mod supplement;

pub(crate) use debug::{Buffers, DebugSections, Files};
