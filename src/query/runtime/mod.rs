//! What a capture of a running kernel changes in the answers of its index.
pub mod address_map;
pub mod overlay;
pub mod patched;
