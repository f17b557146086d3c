//! What is special of x86-64: instructions of any length, and what is patched over them.
pub mod decode;
pub mod sites;
pub mod uprobe;
