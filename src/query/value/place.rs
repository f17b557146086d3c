//! A place where values are read, and the plans of its variables.
use super::plan::{At, Missing, Plan};
use super::stap_visibility::after_fentry;
use crate::query::index::functions::{self, Placed};
use crate::query::index::provenance;
use crate::query::index::scope::Found;
use probeidx_format::View;
use probeidx_format::id::ObjectId;

/// Where values are read.
#[derive(Clone, Copy)]
pub struct Place {
    /// The object that holds the address.
    pub object: ObjectId,
    /// The placement that holds the address.
    pub placed: Placed,
    /// As a [`Pc`](probeidx_format::id::Pc).
    pub pc: u32,
    /// Read at the return of the function instead of at the address.
    pub at_return: bool,
    /// Include the line of the nearest location of an unavailable variable.
    pub with_lines: bool,
}

/// The plan for a variable at a place that is not a return.
///
/// # Errors
/// Why there is no plan.
pub fn plan_of<'a>(view: &View<'a>, place: Place, found: &Found<'a>) -> Result<Plan, Missing> {
    plan_at(view, place, is_at_entry(view, place), found)
}

fn plan_at<'a>(view: &View<'a>, place: Place, is_entry: bool, found: &Found<'a>) -> Result<Plan, Missing> {
    let at = |pc| {
        Plan::of_variable(view, found.location, found.type_id, At { object: place.object, pc, is_entry })
    };
    match at(place.pc) {
        Err(Missing::Elsewhere) if is_entry => later(view, place).map_or(Err(Missing::Elsewhere), at),
        plan => plan,
    }
}

/// Like [`plan_at`]; of a variable that BTF alone describes, it says why there is none.
pub(super) fn plan_or_why<'a>(
    view: &View<'a>,
    place: Place,
    is_entry: bool,
    found: &Found<'a>,
) -> Result<Plan, Missing> {
    plan_at(view, place, is_entry, found).map_err(|missing| match missing {
        Missing::OptimizedOut => provenance::unplaced(view, place.object, place.placed, found)
            .map_or(Missing::OptimizedOut, Missing::Unsupported),
        missing => missing,
    })
}

/// Leaves each parameter once. Of some copies the debug information has a parameter again, behind the local variables: GCC 12
/// has `flags` of `kmalloc_array` in its register first, and then as the constant that all callers pass. What is left is the
/// first that can be read.
pub(super) fn leave_once<'a>(view: &View<'a>, place: Place, is_entry: bool, scope: &mut Vec<Found<'a>>) {
    let mut at = 1;
    while at < scope.len() {
        let (known, rest) = scope.split_at_mut(at);
        let again = &rest[0];
        let first = match again.is_parameter {
            true => known.iter_mut().find(|first| first.position == again.position),
            false => None,
        };
        match first {
            None => at += 1,
            Some(first) => {
                if replaces(view, place, is_entry, (first, again)) {
                    *first = *again;
                }
                scope.remove(at);
            }
        }
    }
}

/// Whether the second entry of a parameter tells more than the first.
pub(super) fn replaces<'a>(
    view: &View<'a>,
    place: Place,
    is_entry: bool,
    (first, again): (&Found<'a>, &Found<'a>),
) -> bool {
    plan_at(view, place, is_entry, first).is_err() && plan_at(view, place, is_entry, again).is_ok()
}

/// The address after the call to `__fentry__`, if the place is an entry.
fn later(view: &View<'_>, place: Place) -> Option<u32> {
    let is_start = place.pc == place.placed.record.entry.get();
    is_start.then(|| after_fentry(view, place.placed)).flatten()
}

pub(super) fn is_at_entry(view: &View<'_>, place: Place) -> bool {
    functions::root(view, place.placed).record.entry.get() == place.pc
}
