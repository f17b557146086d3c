//! Lists the parameters of all placements, one after another: what [`Values::variables`](super::reader::Values::variables) gives of
//! each, in less time.
use super::State;
use super::calling_convention::{self, Parameter};
use super::fetch_arg::Target;
use super::lowered::Known;
use super::place::{Place, plan_or_why};
use super::plan::{Missing, Plan};
use crate::error::Result;
use crate::query::index::functions::{self, Placed};
use crate::query::index::scope::{Found, in_scope_of};
use crate::query::types::stap_spelling::spell;
use probeidx_format::View;
use probeidx_format::id::{FunctionId, StrId, TypeId};
use probeidx_format::variables::Variable;
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Lists parameters. Reuse one for all placements of an index.
pub struct ParameterList<'a> {
    view: &'a View<'a>,
    /// The names of types, each made once.
    spelled: FxHashMap<TypeId, Option<Rc<str>>>,
    /// The texts of what was listed.
    listed: Known,
    /// The variables of the function whose placements are listed.
    last: Option<(FunctionId, Rc<[Variable]>)>,
    /// The parameters of the placement that is listed.
    scope: Vec<(Found<'a>, Result<Plan, Missing>)>,
}

/// A parameter as it is listed: what a [`ValueAt`](super::ValueAt) has, without owning it.
pub struct Listed<'a, 'v> {
    /// Its name.
    pub name: &'a [u8],
    /// From 1, among the function's parameters that the debug information describes.
    pub number: u32,
    /// The type in SystemTap's spelling; `None` if it has none.
    pub type_name: Option<&'v Rc<str>>,
    /// Whether a probe can read it.
    pub state: State,
    /// Where it is, or why it cannot be fetched.
    pub location: Option<&'v Rc<str>>,
    /// What follows the `=` of the argument of kprobe_events that reads it.
    pub fetch: Option<&'v Rc<str>>,
    /// Whether the reader has location and fetch again for other values that are read alike, as it has each type's name.
    pub is_kept: bool,
    /// The calling convention's location, at the entry of an out-of-line function.
    pub parameter: Option<Parameter>,
}

/// Of what an address is the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryOf {
    /// Of the function itself, which is out of line.
    Function,
    /// Of the out-of-line function that holds the inlined copy.
    Holder,
    /// Of none.
    None,
}

impl<'a> ParameterList<'a> {
    /// Nothing listed yet.
    pub fn new(view: &'a View<'a>) -> Self {
        Self { view, spelled: FxHashMap::default(), listed: Known::default(), last: None, scope: vec![] }
    }

    /// Calls `each` with the parameters in scope, in the order of [`Values::variables`](super::reader::Values::variables), and as they are there if it is
    /// not a return: for who lists those of all placements, function by function. Variables are read once for each function, and
    /// texts are made once for all that have the same.
    ///
    /// # Errors
    /// Any that `each` returns.
    pub fn list(
        &mut self,
        place: Place,
        entry: EntryOf,
        mut each: impl FnMut(Listed<'a, '_>) -> Result<()>,
    ) -> Result<()> {
        let (view, Place { object, placed, pc, .. }) = (self.view, place);
        let Some(all) = self.variables_of(placed) else { return Ok(()) };
        let mut scope = std::mem::take(&mut self.scope);
        scope.clear();
        parameters_in_scope(view, place, entry != EntryOf::None, &all, &mut scope);
        let parameters = match entry {
            EntryOf::Function if !scope.is_empty() => {
                let location = |at| {
                    scope.iter().find(|(found, _)| found.position == at).map(|(found, _)| found.location)
                };
                calling_convention::parameters_of(view, placed, all.iter().copied(), location)
            }
            _ => vec![],
        };
        for (found, plan) in scope.drain(..) {
            let type_name = match found.type_id {
                Some(id) => self.spelled.entry(id).or_insert_with(|| spell(view, id).map(Rc::from)).as_ref(),
                None => None,
            };
            let mut other = None;
            let (text, is_kept) = self.listed.of(Target { view, object, pc }, plan, &mut other);
            let before =
                all.iter().take(found.position as usize).filter(|variable| variable.parameter).count();
            each(Listed {
                name: view.string(found.name),
                number: before as u32 + 1,
                type_name,
                state: text.state,
                location: text.location.as_ref(),
                fetch: text.fetch.as_ref(),
                is_kept,
                parameter: parameters.iter().find(|p| p.0 == found.position).map(|p| p.1),
            })?;
        }
        self.scope = scope;
        Ok(())
    }

    /// The variables of the placement's function.
    fn variables_of(&mut self, placed: Placed) -> Option<Rc<[Variable]>> {
        let id = placed.record.function;
        match &self.last {
            Some((known, variables)) if *known == id => Some(Rc::clone(variables)),
            _ => {
                let all: Rc<[Variable]> =
                    self.view.variables(functions::function(self.view, placed.record)?).collect();
                self.last = Some((id, Rc::clone(&all)));
                Some(all)
            }
        }
    }
}

/// Adds each parameter in scope once, with how it is read: see [`leave_once`](super::place::leave_once).
fn parameters_in_scope<'a>(
    view: &View<'a>,
    place: Place,
    is_entry: bool,
    all: &Rc<[Variable]>,
    scope: &mut Vec<(Found<'a>, Result<Plan, Missing>)>,
) {
    let can_be = |variable: &&Variable| variable.parameter && variable.name != StrId::new(0);
    let mut due = all.iter().filter(can_be).count();
    if due == 0 {
        return;
    }
    for found in in_scope_of(view, place.placed, place.pc, Rc::clone(all)).filter(|found| found.is_parameter)
    {
        let known = scope.iter_mut().find(|(known, _)| known.position == found.position);
        if known.as_ref().is_some_and(|(_, plan)| plan.is_ok()) {
            continue;
        }
        let plan = plan_or_why(view, place, is_entry, &found);
        due -= usize::from(plan.is_ok());
        match known {
            Some(known) if plan.is_ok() => *known = (found, plan),
            Some(_) => {}
            None => scope.push((found, plan)),
        }
        // What follows, mostly local variables, tells nothing of them.
        if due == 0 {
            break;
        }
    }
}
