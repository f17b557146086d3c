//! What tests share: fixtures, hand-made objects and debug information, independent readers, the program and its indexes.
pub mod elf;
pub mod facts;
pub mod fixture;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
pub mod image;
pub mod index;
pub mod oracle;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
pub mod packed;
#[cfg(feature = "cli")]
pub mod parts;
#[cfg(feature = "cli")]
pub mod program;
pub mod raw;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
pub mod tables;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
pub mod traced;
