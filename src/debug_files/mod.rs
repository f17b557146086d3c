//! Debug sections of an object, from its own file and from those that belong to it.
mod debug;
mod package;
mod split;
mod supplement;

pub(crate) use debug::{DebugSections, Files};
