//! Answers a spec in full: code, tracepoints, and the probes of tapset aliases.
use super::resolve::placement::{Placement, Wanted};
use super::resolve::tracepoint_values::{self, TracepointValues};
use super::resolve::{self, event};
use super::spec::{self, Filter, Point, Spec};
use super::systemtap::alias::{self, Probe};
use super::value::reader::ValueAt;
use crate::error::Result;
use probeidx_format::View;

/// One match of a spec.
#[expect(clippy::large_enum_variant, reason = "there is one at a time")]
#[non_exhaustive]
pub enum Answer<'p, 'a> {
    /// An address of code, and the kind of places the spec selects.
    Code(Placement<'a>, Filter),
    /// A tracepoint.
    Tracepoint(TracepointValues<'a>),
    /// A probe of a tapset alias.
    Alias(Probe<'p, 'a>),
}

impl Answer<'_, '_> {
    /// The values that can be read there, or those requested.
    pub fn values(&self) -> &[ValueAt] {
        match self {
            Self::Code(placement, _) => &placement.values,
            Self::Tracepoint(traced) => &traced.values,
            Self::Alias(probe) => probe.values(),
        }
    }
}

/// Parses a text for this index: `sched:sched_switch` is a tracepoint if no module has such a function.
///
/// # Errors
/// Those of [`spec::parse`].
pub fn parse(view: &View<'_>, text: &str) -> Result<Vec<Spec>> {
    Ok(event::told_apart(view, spec::parse(text)?))
}

/// Calls `each` with every answer to a spec, in the order of the index. A spec that matches nothing is not an error:
/// [`explain`](super::explain) has the reasons.
///
/// # Errors
/// Those of decoding tapset definitions, those of an argument that no matching tracepoint has, and any error of `each`.
pub fn answers(
    view: &View<'_>,
    spec: &Spec,
    wanted: Wanted<'_>,
    each: &mut dyn FnMut(Answer<'_, '_>) -> Result<()>,
) -> Result<()> {
    match &spec.point {
        Point::Trace(asked) => {
            tracepoint_values::resolve(view, asked, wanted, |traced| each(Answer::Tracepoint(traced)))
        }
        Point::Alias(_) => {
            let mut points = alias::asked(std::slice::from_ref(spec)).into_iter();
            points.try_for_each(|point| {
                alias::resolve(view, &point, wanted, &mut |probe| each(Answer::Alias(probe)))
            })
        }
        Point::Function(_) | Point::Statement(_) | Point::Address(_) => {
            resolve::resolve(view, spec, wanted, |placement, filter| each(Answer::Code(placement, filter)))
        }
    }
}
