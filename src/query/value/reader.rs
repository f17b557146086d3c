//! Reads the values of a placement: its variables, and requested arguments.
use super::calling_convention::{self, Parameter, Proof, Returned, Slot};
use super::fetch_arg::{self, Target};
use super::lowered::Lowered;
use super::nearest_location;
use super::place::{Place, is_at_entry, leave_once, plan_or_why, replaces};
use super::plan::{At, Missing, Plan};
use super::tracefs_features::{Ability, has_arguments};
pub use super::{Role, State, ValueAt};
use crate::error::{Error, ErrorKind, Result};
use crate::query::index::functions;
use crate::query::index::scope::{Found, in_scope};
use crate::query::spec::argument::{Argument, Source};
use crate::query::spec::expression::{Access, AccessStep};
use crate::query::types::lookup;
use crate::query::types::stap_spelling::spell;
use probeidx_format::View;
use probeidx_format::details::Location;
use probeidx_format::id::{ObjectId, TypeId};
use rustc_hash::FxHashMap;

/// Reads values. Reuse one for many placements: it caches type names.
pub struct Values<'a> {
    view: &'a View<'a>,
    /// The names of types, each made once.
    spelled: FxHashMap<TypeId, Option<String>>,
}

impl<'a> Values<'a> {
    /// A reader with an empty cache.
    pub fn new(view: &'a View<'a>) -> Self {
        Self { view, spelled: FxHashMap::default() }
    }

    /// The variables in scope, parameters first, locals only if requested. At a return, the return value precedes them.
    pub fn variables(&mut self, place: Place, with_locals: bool) -> Vec<ValueAt> {
        let mut scope: Vec<Found<'a>> = in_scope(self.view, place.placed, place.pc).collect();
        scope.retain(|f| f.is_parameter || with_locals);
        scope.sort_by_key(|f| !f.is_parameter);
        let parameters = self.parameters(place);
        let returned = if place.at_return { self.returned(place, None) } else { None };
        let is_entry = !scope.is_empty() && is_at_entry(self.view, place);
        leave_once(self.view, place, is_entry, &mut scope);
        let mut values = Vec::with_capacity(scope.len() + usize::from(returned.is_some()));
        values.extend(returned);
        for f in &scope {
            values.push(self.variable(place, is_entry, f, None));
            if let (Some(value), Some((_, parameter))) =
                (values.last_mut(), parameters.iter().find(|p| p.0 == f.position))
            {
                value.parameter = Some(*parameter);
            }
        }
        values
    }

    /// A requested argument; without a type if there is no such variable here.
    ///
    /// # Errors
    /// Those of the path through the types.
    pub fn argument(&mut self, place: Place, argument: &Argument) -> Result<ValueAt> {
        self.arguments(place, std::slice::from_ref(argument)).map(|mut only| only.swap_remove(0))
    }

    /// Like [`argument`](Self::argument), for several. Cost: one walk over the variables.
    ///
    /// # Errors
    /// Those of the path through the types.
    pub fn arguments(&mut self, place: Place, arguments: &[Argument]) -> Result<Vec<ValueAt>> {
        let mut values = Vec::with_capacity(arguments.len());
        for (argument, found) in arguments.iter().zip(self.named(place, arguments)) {
            let value = self.asked(place, argument, found.as_ref())?;
            let mut value = value.unwrap_or_else(|| self.absent(argument));
            value.is_asked = true;
            values.push(value);
        }
        Ok(values)
    }

    /// A requested argument where there is no debug information: only what the kernel reads by itself.
    pub fn undescribed(&self, argument: &Argument, at_return: bool, is_entry: bool) -> ValueAt {
        let value = match &argument.source {
            Source::Raw(text) => self.raw(text, argument, at_return, is_entry),
            _ => self.absent(argument),
        };
        ValueAt { is_asked: true, ..value }
    }

    fn asked(
        &mut self,
        place: Place,
        argument: &Argument,
        found: Option<&Found<'a>>,
    ) -> Result<Option<ValueAt>> {
        match &argument.source {
            Source::Raw(text) if text.contains("$arg") && self.view.is_user(place.object) => {
                let why = Some("uprobes do not know the arguments by number");
                Ok(Some(self.missing(argument, Role::Raw, State::Unsupported, why)))
            }
            Source::Raw(text) => {
                let is_entry = is_at_entry(self.view, place);
                Ok(Some(self.raw(text, argument, place.at_return, is_entry)))
            }
            Source::Returned(_) if !place.at_return => {
                let why = Some("only a return probe has it");
                Ok(Some(self.missing(argument, Role::Return, State::Unsupported, why)))
            }
            Source::Returned(access) => {
                let Some(value) = self.returned(place, Some(argument)) else { return Ok(None) };
                self.part(place, value, access, argument).map(Some)
            }
            Source::Variable(access) => {
                let Some(found) = found else { return Ok(None) };
                let value = self.variable(place, is_at_entry(self.view, place), found, Some(argument));
                self.part(place, value, access, argument).map(Some)
            }
        }
    }

    /// The variable that each argument is about; the innermost one of a name hides the others.
    fn named(&self, place: Place, arguments: &[Argument]) -> Vec<Option<Found<'a>>> {
        let mut named = vec![None; arguments.len()];
        for found in in_scope(self.view, place.placed, place.pc) {
            for (argument, own) in arguments.iter().zip(&mut named) {
                if let Source::Variable(access) = &argument.source
                    && self.view.string(found.name) == access.root.as_bytes()
                {
                    // An inner variable hides the outer one of its name, but a parameter that is there again does not.
                    let is_again = |first: &Found<'_>| found.is_parameter && first.position == found.position;
                    let replaces = |first: &Found<'a>| {
                        replaces(self.view, place, is_at_entry(self.view, place), (first, &found))
                    };
                    match own {
                        Some(first) if is_again(first) && !replaces(first) => {}
                        own => *own = Some(found),
                    }
                }
            }
        }
        named
    }

    /// Continues from the value of a variable to the requested part of it.
    fn part(
        &mut self,
        place: Place,
        mut value: ValueAt,
        access: &Access,
        argument: &Argument,
    ) -> Result<ValueAt> {
        // Whether the member exists does not depend on the place.
        let is_known = value.plan.is_some();
        let plan = value.plan.take().unwrap_or_else(|| Plan::anywhere(value.type_id));
        let plan = match self.along(plan, access) {
            Ok(plan) => plan,
            Err(error) if error.kind() == ErrorKind::Usage => {
                value.type_name = self.spelled(value.type_id);
                if is_known {
                    let why = error.message().to_owned();
                    (value.state, value.location, value.fetch) = (State::Unsupported, Some(why), None);
                }
                return Ok(value);
            }
            Err(error) => return Err(error),
        };
        let type_id = plan.type_id;
        let star = if plan.is_pointer { "*" } else { "" };
        let type_name = type_id.and_then(|t| spell(self.view, t)).map(|t| t + star);
        (value.type_id, value.type_name) = (type_id, type_name);
        if is_known {
            (value.state, value.location, value.fetch) =
                self.lower((place.object, place.pc), &plan, Some(argument), &fetch_arg::name(argument));
            value.plan = Some(plan).filter(|p| p.pieces.is_empty());
        }
        Ok(value)
    }

    /// Extends a plan by the steps of an expression.
    pub(crate) fn along(&self, mut plan: Plan, access: &Access) -> Result<Plan> {
        let view = self.view;
        for (at, step) in access.steps.iter().enumerate() {
            let behind = |error: Error| {
                let message = format!("{}{}", access.up_to(at), error.message());
                let whole = Error::new(error.kind(), message);
                error.remedy().map_or(whole.clone(), |remedy| whole.hint(remedy))
            };
            plan = match step {
                AccessStep::Steps(steps) => plan.part(view, steps).map_err(|error| match error.kind() {
                    ErrorKind::Usage => error,
                    _ => behind(error),
                })?,
                AccessStep::PointerTo(target) => {
                    let none = || {
                        Error::new(ErrorKind::NoMatch, format!("{}: no type {target}", access.up_to(at + 1)))
                    };
                    let type_id = lookup::find(view, target).first().copied().ok_or_else(none)?;
                    plan.pointing_to(view, type_id)?
                }
                AccessStep::User => plan.of_user(),
                AccessStep::Address => plan.address()?,
            };
        }
        Ok(plan)
    }

    /// With an argument, only finds the plan: [`part`](Self::part) continues from it, and looks up the type's name and
    /// lowers the result.
    fn variable(
        &mut self,
        place: Place,
        is_entry: bool,
        found: &Found<'a>,
        argument: Option<&Argument>,
    ) -> ValueAt {
        let type_name = if argument.is_some() { None } else { self.spelled(found.type_id) };
        let view = self.view;
        let plan = plan_or_why(view, place, is_entry, found);
        let name = || String::from_utf8_lossy(view.string(found.name));
        // Registers and memory may have changed by the time the function returns.
        let plan = match plan {
            Ok(_) if place.at_return => self.passed(place, found),
            plan => plan,
        };
        let (state, location, fetch, plan) = match plan {
            // The part that is read is lowered when it is known.
            Ok(plan) if argument.is_some() => (State::Readable, None, None, Some(plan)),
            Ok(plan) => {
                let (state, location, fetch) = self.lower((place.object, place.pc), &plan, None, &name());
                (state, location, fetch, Some(plan))
            }
            Err(missing) => {
                let Lowered { state, location, .. } = missing.into();
                (state, location.map(|why| (*why).to_owned()), None, None)
            }
        };
        let role = if found.is_parameter { Role::Parameter } else { Role::Local };
        let with_line = place.with_lines;
        let nearest = || match found.location {
            Location::Everywhere(_) if found.is_parameter && view.is_user(place.object) => {
                let behind = nearest_location::behind_prologue(view, place.object, place.pc, with_line)?;
                let at = At { object: place.object, pc: behind.pc, is_entry: false };
                let there = Plan::of_variable(view, found.location, found.type_id, at);
                (is_entry && there.is_ok()).then_some(behind)
            }
            location => nearest_location::nearest(view, place.object, location, place.pc, with_line),
        };
        ValueAt {
            name: argument.map_or_else(|| name().into_owned(), |a| a.text.clone()),
            role,
            type_id: found.type_id,
            type_name,
            state,
            location,
            fetch,
            plan,
            parameter: None,
            elsewhere: (state == State::Elsewhere).then(nearest).flatten(),
            is_asked: false,
        }
    }

    /// The parameter's value at the entry, read at the return, if the kernel saves it.
    fn passed(&self, place: Place, found: &Found<'a>) -> Result<Plan, Missing> {
        let others = |why: &str| {
            Missing::Unsupported(format!("registers and stack are others when the function returns{why}"))
        };
        if !found.is_parameter {
            return Err(others(""));
        }
        let parameters = self.parameters(place);
        let parameter = parameters.iter().find(|p| p.0 == found.position).map(|p| p.1);
        let Some(Parameter { argument: number, slot: Slot::Register(_), proof: Proof::Proved, .. }) =
            parameter
        else {
            return Err(others(", and no register of the convention is proved to pass it"));
        };
        let saved = Ability::EntryArguments.check(self.view);
        saved.map_err(|why| others(&format!("; $arg{number}: {why}")))?;
        Ok(Plan::of_argument(number, found.type_id))
    }

    fn returned(&mut self, place: Place, argument: Option<&Argument>) -> Option<ValueAt> {
        let function = functions::function(self.view, place.placed.record)?;
        let type_id = self.view.variables(function).return_type?;
        let plan = match calling_convention::returned(self.view, place.placed, type_id) {
            Returned::Register => Ok(Plan::of_return(type_id)),
            Returned::Memory => Ok(Plan { in_memory: true, ..Plan::of_return(type_id) }),
            Returned::Elsewhere(why) => Err(why),
        };
        let (state, location, fetch) = match &plan {
            Ok(plan) => self.lower((place.object, place.pc), plan, argument, "retval"),
            Err(why) => (State::Unsupported, Some((*why).to_owned()), None),
        };
        Some(ValueAt {
            name: argument.map_or("$retval", |a| &a.text).to_owned(),
            role: Role::Return,
            type_id: Some(type_id),
            type_name: self.spelled(Some(type_id)),
            state,
            location,
            fetch,
            plan: plan.ok(),
            parameter: None,
            elsewhere: None,
            is_asked: false,
        })
    }

    fn raw(&self, text: &str, argument: &Argument, at_return: bool, is_entry: bool) -> ValueAt {
        // `tparg_is_function_entry`, trace_probe.c
        let passed = match at_return {
            _ if !text.contains("$arg") => Ok(()),
            true => Ability::EntryArguments.check(self.view),
            false if is_entry => has_arguments(self.view),
            false => Err("$argN is for the entry of a function".to_owned()),
        };
        match passed.and_then(|()| Target::raw(self.view, text, argument)) {
            Ok(fetch) => ValueAt {
                fetch: Some(format!("{}={fetch}", fetch_arg::name(argument))),
                ..self.missing(argument, Role::Raw, State::Readable, Some(text))
            },
            Err(why) => self.missing(argument, Role::Raw, State::Unsupported, Some(&why)),
        }
    }

    fn absent(&self, argument: &Argument) -> ValueAt {
        self.missing(argument, Role::Local, State::OptimizedOut, Some("there is no such variable"))
    }

    fn missing(&self, argument: &Argument, role: Role, state: State, why: Option<&str>) -> ValueAt {
        ValueAt {
            name: argument.text.clone(),
            role,
            type_id: None,
            type_name: None,
            state,
            location: why.map(str::to_owned),
            fetch: None,
            plan: None,
            parameter: None,
            elsewhere: None,
            is_asked: true,
        }
    }

    /// The state, the location in words, and the fetch argument of a plan.
    pub(crate) fn lower(
        &self,
        (object, pc): (ObjectId, u32),
        plan: &Plan,
        argument: Option<&Argument>,
        name: &str,
    ) -> (State, Option<String>, Option<String>) {
        let target = Target { view: self.view, object, pc };
        let place = target.place(plan);
        let fetch = target.body_behind([name, "="], plan, argument, &place);
        let state = if plan.constant().is_some() { State::Constant } else { State::Readable };
        match (place, fetch, argument) {
            (Err(why), ..) => (State::Unsupported, Some(why), None),
            // The requested cast is not possible: report the reason.
            (_, Err(why), Some(_)) => (State::Unsupported, Some(why), None),
            (Ok(text), fetch, _) => (state, Some(text), fetch.ok()),
        }
    }

    fn parameters(&self, place: Place) -> Vec<(u32, Parameter)> {
        let is_entry = place.pc == place.placed.record.entry.get() && !place.placed.is_inline(self.view);
        if is_entry { calling_convention::parameters(self.view, place.placed) } else { vec![] }
    }

    /// The name of a type.
    pub(crate) fn spelled(&mut self, type_id: Option<TypeId>) -> Option<String> {
        let type_id = type_id?;
        self.spelled.entry(type_id).or_insert_with(|| spell(self.view, type_id)).clone()
    }
}
