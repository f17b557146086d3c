//! The tracing files of a running kernel (Documentation/trace/ftrace.rst): instances, events that are defined and enabled
//! there, and the records of the ring buffer. It knows no index: definitions go in as text, records come out as bytes.
pub mod bytes;
pub mod comm;
pub mod features;
pub mod format;
pub mod instance;
pub mod merge;
pub mod mount;
pub mod page;
pub mod planted;
pub mod reader;
pub mod record;
pub mod session_id;
pub mod stale;
