//! What is special of arm64: instructions of four bytes, alternatives of the same length, and no-ops at the entries of functions
//! that ftrace patches. Read in 5.10 to 6.12, and compared with running kernels (`tests/kernel/live`).
pub mod decode;
pub mod entry;
mod instruction;
pub mod sites;

pub use instruction::Instruction;

/// The length of an instruction.
pub const LENGTH: u32 = 4;
