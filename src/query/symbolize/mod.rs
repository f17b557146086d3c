//! What is at an address, or in the frames of a log.
pub mod frames;
pub mod locate;
pub mod log;
pub mod log_decoder;
pub mod user_objects;
