//! Symbolizes addresses and the frames of logs.
pub mod frames;
pub mod locate;
pub mod log;
pub mod log_decoder;
pub mod user_objects;
