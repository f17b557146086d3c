//! What a trace plants and what it saw.
pub mod plan;
