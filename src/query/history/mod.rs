//! What many kernels have of a name: which facts differ, and which kernels have each.
//!
//! [`facts`] reads one kernel; [`Grouping`] joins the equal facts of many. Of a store, [`Chains`] tells which kernels need not be
//! read, as what another one has is all the same in them.
mod alias;
mod chain;
mod fact;
mod families;
mod function;
mod grouping;
mod kernel_set;
mod line;
mod member;
mod subject;
mod tracepoint;

pub use chain::Chains;
pub use fact::{About, Field, Value, What};
pub use families::{Families, Run};
pub use grouping::{Fact, Grouping, History};
pub use kernel_set::KernelSet;
pub use subject::{Asked, Subject};

use crate::error::Result;
use crate::query::resolve;
use crate::query::types::lookup;
use probeidx_format::View;

/// What a kernel has of a subject; empty if nothing.
///
/// # Errors
/// Those of decoding tapset definitions.
pub fn facts(view: &View<'_>, subject: &Subject) -> Result<Vec<About>> {
    match subject {
        Subject::Function(asked) => Ok(function::facts(view, asked)),
        Subject::Member(path) => Ok(member::facts(view, path)),
        Subject::Tracepoint(asked) => Ok(tracepoint::facts(view, asked)),
        Subject::Alias(name) => alias::facts(view, name),
        Subject::Line(spec, name) => line::facts(view, spec, name),
    }
}

/// Whether a subject is an alias that the tapset in an index lacks. All indexes with this tapset lack it.
pub fn has_no_alias(view: &View<'_>, subject: &Subject) -> bool {
    matches!(subject, Subject::Alias(name) if !alias::is_named(view, name))
}

/// Whether an index tells what a kernel has of a subject: without debug information and BTF nothing is known of types.
pub fn is_told(view: &View<'_>, subject: &Subject) -> bool {
    match subject {
        Subject::Member(_) => lookup::has_types(view),
        Subject::Tracepoint(_) => !resolve::tracepoint::are_unknown(view),
        Subject::Function(_) | Subject::Alias(_) | Subject::Line(..) => true,
    }
}

/// The text of a name.
fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
