//! Hermetic tests: kernels and modules that are made here, indexed and compared with what independent readers say.
#![allow(non_upper_case_globals, reason = "the constants bear the names that the DWARF standard gives them")]
mod facts;
mod fixture;
mod index;
mod oracle;

mod agree;
mod bad_input;
mod covered;
mod elf;
mod hostile;
mod nesting;
mod packaging;
mod raw;
mod snapshot;
