//! Questions to an index. Nothing here knows debug sections, prints, or reads the environment.
pub mod answer;
pub mod callers;
pub mod check;
pub mod diff;
pub mod explain;
pub mod history;
pub mod index;
pub mod offers;
pub mod report;
pub mod resolve;
pub mod runtime;
pub mod spec;
pub mod symbolize;
pub mod systemtap;
pub mod trace;
pub mod types;
pub mod value;
pub mod verdict;

pub use index::Index;
