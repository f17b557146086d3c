//! Questions to an index.
pub mod pattern;
pub mod spec;
pub mod suggest;
