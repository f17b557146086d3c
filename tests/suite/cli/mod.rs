//! The command line: exit codes, streams, completion, manual pages, `serve`.
#[cfg(feature = "cli")]
pub mod command_line;
#[cfg(feature = "cli")]
pub mod completion;
#[cfg(feature = "cli")]
pub mod manual;
#[cfg(feature = "cli")]
pub mod serve;
