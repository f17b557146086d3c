//! How SystemTap lists, spells and derives probe points.
pub mod alias;
pub mod derive;
pub mod listing;
pub mod probe_point;
