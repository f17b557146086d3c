//! What is special of s390x: instructions of two, four and six bytes, of which the kernel probes those that its own disassembler
//! knows; a no-op of six bytes at the entries of functions that ftrace patches. Read in 6.1 and 6.12, and compared with running
//! kernels (`tests/kernel/live`).
pub mod alternatives;
pub mod decode;
mod instruction;
mod opcodes;
pub mod sites;

pub use instruction::Instruction;
pub use opcodes::Opcodes;
