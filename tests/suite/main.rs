//! Hermetic tests: kernels and modules that are made here, indexed and compared with what independent readers say.
#![allow(non_upper_case_globals, reason = "the constants bear the names that the DWARF standard gives them")]
#[cfg(feature = "cli")]
mod faults;

mod answers;
mod checks;
mod cli;
#[cfg(feature = "cli")]
mod fleet;
mod hostile;
mod indexing;
mod layers;
mod machines;
mod packaging;
#[cfg(feature = "cli")]
mod ring;
#[cfg(all(feature = "cli", target_arch = "x86_64"))]
mod seeds;
mod support;
mod systemtap;
#[cfg(feature = "cli")]
mod user;
