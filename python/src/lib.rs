//! The module of Python, `probeidx._probeidx`: classes over the library's answers.
//!
//! ```text
//! index, store ─▶ kernel (mapping, kept by all who use it)
//!   question ─▶ ask: without the interpreter's lock, a panic caught ─▶ values, owned
//!                   placements: a page at a time   other answers: at once   tables: by Arrow's C stream
//!   a value ─▶ an object of Python, when it is read; to_dict: what --json has, by serde
//! ```
//!
//! An answer is the value that the command line prints as JSON (`probeidx::render`), taken before it is text. It owns what
//! it says: nothing of Python points into a mapping. Only questions read the index, and each looks first whether its file is
//! as it was. Nothing changes once it is made, so that threads share everything without a lock; what a sequence caches is
//! behind a mutex of its own.
#![deny(unsafe_code)]
mod address;
mod building;
mod callers;
mod checking;
mod compare;
mod failure;
mod index;
mod kernel;
mod lines;
mod list;
mod live;
mod offers;
mod pages;
mod placement;
mod placements;
mod places;
mod record;
mod store;
mod tables;
mod tapset;
mod to_python;
mod types;

use pyo3::prelude::*;

/// probeidx: where exactly a kernel can be probed, and what can be read there.
#[pymodule(gil_used = false)]
mod _probeidx {
    #[pymodule_export]
    use crate::address::{Decoded, Level, Location, Locations};
    #[pymodule_export]
    use crate::building::{Built, build};
    #[pymodule_export]
    use crate::callers::{Caller, Callers, Site};
    #[pymodule_export]
    use crate::checking::{Checked, Finding, Outcome};
    #[pymodule_export]
    use crate::compare::{Change, Difference, Differences, Fact, History, Home};
    #[pymodule_export]
    use crate::index::Index;
    #[pymodule_export]
    use crate::live::{Live, take};
    #[pymodule_export]
    use crate::offers::{Offer, Refused};
    #[pymodule_export]
    use crate::placement::{
        Alias, AliasLocal, Anchor, Call, Coverage, Elsewhere, Field, Instead, Passed, Placement, Reached,
        Source, Variable,
    };
    #[pymodule_export]
    use crate::placements::Placements;
    #[pymodule_export]
    use crate::store::{Store, main, open};
    #[pymodule_export]
    use crate::tables::Table;
    #[pymodule_export]
    use crate::tapset::Definition;
    #[pymodule_export]
    use crate::types::{Member, MemberAt, Type, User};

    #[pymodule_export]
    #[allow(non_upper_case_globals)]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
