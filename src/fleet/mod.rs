//! Changes a store: adds kernels, removes them, joins stores, checks and lists them.
pub mod add;
mod change;
mod list;
mod nearest;
pub mod same;

pub use change::{Added, add, merge, remove, verify};
pub use list::{Listed, list};
