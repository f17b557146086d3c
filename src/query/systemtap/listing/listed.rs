//! The parts of a spec that can be listed.
use crate::error::{Error, ErrorKind, Result};
use crate::query::resolve::{as_function, not_resolved};
use crate::query::spec::{
    AddressKind, AddressSpec, FunctionSpec, Point, Spec, Spelled, StatementSpec, TraceSpec,
};
use crate::query::systemtap::probe_point::Kind;
use probeidx_format::View;

/// What to list.
#[derive(Clone, Debug)]
pub enum Listed {
    /// Entries and inline instances.
    Functions {
        /// The functions, and the kind of their places.
        spec: FunctionSpec,
        /// The spelling of their entries.
        kind: Kind,
    },
    /// Source lines.
    Statements(StatementSpec),
    /// One address.
    Address(AddressSpec),
    /// Tracepoints.
    Tracepoints(TraceSpec),
}

/// Converts a spec to what can be listed.
///
/// # Errors
/// [`ErrorKind::Usage`] for kinds of specs that cannot be listed.
pub fn listed(view: &View<'_>, spec: &Spec) -> Result<Listed> {
    match &spec.point {
        Point::Function(function) => Ok(Listed::Functions { spec: function.clone(), kind: Kind::Function }),
        Point::Statement(statement) => Ok(match as_function(view, statement, spec.spelled) {
            Some(function) => {
                let kind = match spec.spelled {
                    Spelled::Systemtap => Kind::Statement { nearest: statement.nearest },
                    Spelled::Bare => Kind::Function,
                };
                Listed::Functions { spec: function, kind }
            }
            None => Listed::Statements(statement.clone()),
        }),
        Point::Address(address) if matches!(address.kind, AddressKind::Statement { .. }) => {
            Ok(Listed::Address(address.clone()))
        }
        Point::Address(_) => {
            Err(Error::new(ErrorKind::Usage, "an address cannot be listed")
                .hint("use: probeidx resolve ADDRESS"))
        }
        Point::Trace(spec) => Ok(Listed::Tracepoints(spec.clone())),
        Point::Alias(_) => Err(not_resolved("tapset aliases")),
    }
}
