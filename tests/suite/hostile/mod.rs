//! Input that was made to do harm, or damaged: each ends with one clear error, and the rest is whole.
pub mod calls;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
pub mod damaged_tables;
pub mod dwarf;
pub mod elf;
#[cfg(feature = "cli")]
pub mod forged;
#[cfg(feature = "cli")]
pub mod front_ends;
pub mod inflated;
pub mod nesting;
#[cfg(feature = "cli")]
pub mod owners;
#[cfg(feature = "cli")]
pub mod privilege;
pub mod sharing;
