//! What the targets of `fuzz_targets/` share: see `../scripts/fuzz`.
//!
//! A target feeds one kind of input to the library as it is shipped, and asserts what must hold of the answer. That nothing
//! panics, overflows or reads outside of its memory is asserted by how all of it is compiled.
pub mod ask;
pub mod build;
pub mod dwarf;
pub mod file;
pub mod index;
