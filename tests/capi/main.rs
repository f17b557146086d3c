//! The C library as it is shipped: built, linked and installed by `capi/Makefile`, asked by programs in C, C++ and Python on
//! the fixture's index. What a machine lacks is said to be skipped.
#![cfg(feature = "cli")]
mod abi;
mod aliases;
mod consumers;
#[allow(dead_code)]
#[path = "../suite/support/fixture.rs"]
mod fixture;
mod library;
#[allow(dead_code)]
#[path = "../suite/support/program.rs"]
mod program;
mod python;
mod tapset;
