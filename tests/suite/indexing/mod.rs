//! What becomes of files: found, read, packed and split in every way, the index says the same.
pub mod agree;
pub mod bad_input;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
pub mod btf;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
pub mod built;
pub mod byte_order;
pub mod compared;
pub mod covered;
#[cfg(all(feature = "cli", feature = "debuginfod", target_arch = "x86_64"))]
pub mod debuginfod;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
pub mod distributions;
pub mod frames;
#[cfg(feature = "cli")]
pub mod kernel_structs;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
pub mod packages;
pub mod packaging;
pub mod several;
pub mod snapshot;
pub mod split;
pub mod supplement;
