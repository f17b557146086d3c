//! # What a compiled BPF object needs of a kernel
//!
//! Reads objects of `clang -target bpf` as libbpf 1.7 does, and answers without a kernel that runs:
//!
//! * [`object`]: the programs, maps, externs and global variables of an object; [`embedded`](mod@embedded) finds objects
//!   inside programs that carry them.
//! * [`section`]: what the name of a section makes of a program: its type, and where it is attached.
//! * [`relocate`]: how each CO-RE relocation ends on a kernel whose types are given, decision for decision as in libbpf.
//! * [`feature`]: what of the instruction set old kernels do not have.
//! * [`reach`]: which instructions can be reached once relocations are decided. A relocation that fails does no harm where
//!   its instruction is not.
//!
//! Data flows one way: `bytes` → `elf`, [`types`] → [`btf`] → [`object`] → [`relocate`] → [`reach`]. Nothing is printed, no
//! file is opened, and any bytes are accepted: damage is an [`Error`], and all work is bounded.
#![forbid(unsafe_code)]
#![warn(missing_docs, clippy::missing_errors_doc)]

pub mod btf;
mod bytes;
mod elf;
pub mod embedded;
mod error;
pub mod feature;
pub mod instruction;
pub mod object;
pub mod reach;
pub mod relocate;
pub mod section;
pub mod types;

pub use bytes::ByteOrder;
pub use embedded::embedded;
pub use error::{Error, ErrorKind, Result};
pub use object::Object;
pub use types::{Kind, Type, TypeId, Types};
