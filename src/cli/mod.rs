//! The command line.
pub mod args;
pub mod config;
pub mod exit;
pub mod output;
pub mod progress;
