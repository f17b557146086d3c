//! Questions to an index. Nothing here knows debug sections, prints, or reads the environment.
pub mod absence;
pub mod blocklist;
pub mod coverage;
pub mod frames;
mod index;
pub mod instead;
pub mod listing;
pub mod location;
pub mod pattern;
pub mod placement;
pub mod point;
pub mod readable;
pub mod reason;
pub mod refused;
pub mod resolve;
pub mod select;
pub mod spec;
pub mod spelling;
pub mod suggest;
pub mod symbols;
pub mod verdict;

pub use index::Index;
