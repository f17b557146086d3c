//! Answers `@defined`: whether a variable, or a part of it, is available at the placements of a spec.
use super::placement::{Placement, Wanted};
use super::{tracepoint, tracepoint_values};
use crate::error::{ErrorKind, Result};
use crate::query::resolve;
use crate::query::spec::argument::Argument;
use crate::query::spec::{Point, Spec, TraceSpec};
use crate::query::value::reader::{Role, State};
use probeidx_format::View;

/// The number of placements at which an argument is defined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Defined {
    /// The placements of the spec.
    pub places: u32,
    /// Placements where SystemTap's `@defined` is true: the variable has a location at the address, and the member
    /// exists.
    pub defined: u32,
    /// Why it is undefined, if the reason does not depend on the placement.
    pub why: Option<String>,
}

impl Defined {
    /// Whether it is defined at every placement.
    pub fn everywhere(&self) -> bool {
        self.places > 0 && self.defined == self.places
    }
}

/// Counts the placements of a spec at which the argument is defined.
///
/// # Errors
/// [`ErrorKind::Usage`] for kinds of specs that cannot be resolved.
pub fn defined(view: &View<'_>, spec: &Spec, argument: &Argument) -> Result<Defined> {
    if let Point::Trace(spec) = &spec.point {
        return of_tracepoints(view, spec, argument);
    }
    let mut found = Defined::default();
    let wanted = Wanted { locals: true, arguments: std::slice::from_ref(argument), ..Wanted::default() };
    // For a line, SystemTap probes one address in each copy of the function.
    let is_probed = |placement: &Placement<'_>| placement.source.is_none_or(|s| s.is_systemtap);
    let asked = resolve::resolve(view, spec, wanted, |placement, _| {
        if !is_probed(&placement) {
            return Ok(());
        }
        found.places += 1;
        let is_there = placement.values.iter().any(|v| {
            let is_known = v.type_id.is_some() || v.role == Role::Raw;
            is_known && !matches!(v.state, State::Elsewhere | State::OptimizedOut)
        });
        found.defined += u32::from(is_there);
        Ok(())
    });
    match asked {
        // A missing member means undefined.
        Err(error) if error.kind() == ErrorKind::NoMatch => {
            resolve::resolve(view, spec, Wanted::default(), |placement, _| {
                found.places += u32::from(is_probed(&placement));
                Ok(())
            })?;
            Ok(Defined { defined: 0, why: Some(error.to_string()), ..found })
        }
        asked => asked.map(|()| found),
    }
}

fn of_tracepoints(view: &View<'_>, spec: &TraceSpec, argument: &Argument) -> Result<Defined> {
    let mut found = Defined::default();
    let wanted = Wanted { arguments: std::slice::from_ref(argument), ..Wanted::default() };
    let asked = tracepoint_values::resolve(view, spec, wanted, |traced| {
        found.places += 1;
        found.defined +=
            u32::from(traced.values.iter().any(|v| v.role == Role::Parameter && v.type_id.is_some()));
        Ok(())
    });
    match asked {
        Err(error) if error.kind() == ErrorKind::NoMatch => {
            let places = tracepoint::matching(view, spec).count() as u32;
            Ok(Defined { places, defined: 0, why: Some(error.to_string()) })
        }
        asked => asked.map(|()| found),
    }
}
