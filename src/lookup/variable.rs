//! The variables at a placement.
use super::{Placement, Type};
use crate::query::index::scope::{Found, InScope, in_scope};
use crate::query::value::State;
use crate::query::value::fetch_arg::Target;
use crate::query::value::place::plan_of;
use crate::query::value::plan::{Missing, Plan};
use std::fmt;

/// A variable at a placement.
#[derive(Clone, Copy)]
pub struct Variable<'a> {
    at: Placement<'a>,
    found: Found<'a>,
}

impl<'a> Variable<'a> {
    /// Its name.
    pub fn name(&self) -> &'a [u8] {
        self.at.lookup.view().string(self.found.name)
    }
    /// Whether it is a parameter rather than a local variable.
    pub fn is_parameter(&self) -> bool {
        self.found.is_parameter
    }
    /// Its type; `None` if the debug information has none.
    pub fn type_of(&self) -> Option<Type<'a>> {
        Type::new(self.at.lookup, self.found.type_id?)
    }
    /// Whether a probe can read it there. Cost: that of the plan.
    pub fn state(&self) -> State {
        match self.plan() {
            Ok(plan) if plan.constant().is_some() => State::Constant,
            Ok(_) => State::Readable,
            Err(Missing::Elsewhere) => State::Elsewhere,
            Err(Missing::OptimizedOut) => State::OptimizedOut,
            Err(Missing::Unsupported(_)) => State::Unsupported,
        }
    }
    /// The plan that reads it when the probe fires, not when the function returns. Cost: linear in its location;
    /// allocates the steps.
    ///
    /// # Errors
    /// Why it cannot be read there.
    pub fn plan(&self) -> Result<Plan, Missing> {
        plan_of(self.at.lookup.view(), self.at.place(), &self.found)
    }
    /// Writes the argument of kprobe_events that reads it: `file=%di:x64`. Writes nothing if there is none. Allocates
    /// intermediate texts.
    ///
    /// # Errors
    /// Why the kernel cannot read it; or a failure of `out`.
    pub fn write_fetch(&self, out: &mut impl fmt::Write) -> Result<(), Unfetchable> {
        let plan = self.plan().map_err(|missing| match missing {
            Missing::Elsewhere => Unfetchable::Not("it is elsewhere".to_owned()),
            Missing::OptimizedOut => Unfetchable::Not("it is optimized out".to_owned()),
            Missing::Unsupported(why) => Unfetchable::Not(why),
        })?;
        let super::Address { object, pc } = self.at.at();
        let target = Target { view: self.at.lookup.view(), object, pc };
        let body = target.body(&plan, None).map_err(Unfetchable::Not)?;
        write!(out, "{}={body}", String::from_utf8_lossy(self.name())).map_err(|_| Unfetchable::Full)
    }
}

/// Why there is no fetch argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unfetchable {
    /// The kernel cannot read it, for this reason.
    Not(String),
    /// The output failed.
    Full,
}

/// An iterator over the variables at a placement. Allocates nothing.
#[derive(Clone)]
pub struct VariablesAt<'a> {
    at: Placement<'a>,
    scope: InScope<'a>,
    /// A bit for each of the function's first 64 variables that is a parameter and was there.
    passed: u64,
}

impl<'a> VariablesAt<'a> {
    pub(super) fn new(at: Placement<'a>) -> Self {
        let super::Address { pc, .. } = at.at();
        Self { at, scope: in_scope(at.lookup.view(), at.placed, pc), passed: 0 }
    }
}

impl<'a> Iterator for VariablesAt<'a> {
    type Item = Variable<'a>;

    fn next(&mut self) -> Option<Variable<'a>> {
        loop {
            let found = self.scope.next()?;
            if found.is_parameter {
                let bit = 1u64.checked_shl(found.position).unwrap_or(0);
                if self.passed & bit != 0 {
                    continue;
                }
                self.passed |= bit;
            }
            return Some(Variable { at: self.at, found });
        }
    }
}
