//! SystemTap's language, tapsets and scripts.
#[cfg(feature = "cli")]
pub mod aliases;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
pub mod check;
pub mod handler;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
mod rules;
#[cfg(feature = "cli")]
pub mod stored;
pub mod tapset;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
mod versions;
