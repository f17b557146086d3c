//! Questions and their answers.
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
pub mod addr;
pub mod arguments;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
pub mod callers;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
pub mod captured;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
pub mod decode;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
pub mod definitions;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
pub mod diff;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
pub mod handed_over;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
pub mod history;
#[cfg(feature = "cli")]
pub mod lifetimes;
pub mod lines;
#[cfg(feature = "cli")]
pub mod listing;
#[cfg(feature = "cli")]
pub mod lookup;
#[cfg(feature = "cli")]
pub mod placements;
mod repeated;
#[cfg(feature = "cli")]
pub mod statements;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
pub mod tracepoints;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
pub mod traces;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
pub mod trampolines;
#[cfg(feature = "cli")]
pub mod types;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
pub mod values;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
pub mod verdicts;
