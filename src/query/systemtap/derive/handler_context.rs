//! What a handler can see at a place, by the rules of SystemTap 4.8: `dwarf_var_expanding_visitor`,
//! `tracepoint_var_expanding_visitor` (tapsets.cxx), `literal_stmt_for_local` (dwflpp.cxx).
use super::constants::Constants;
use super::member_access::{self, Value as Reached};
use super::{Place, location_support};
use crate::nearest;
use crate::query::index::functions;
use crate::query::resolve::tracepoint::Tracepoint;
use crate::query::systemtap::listing::Seen;
use crate::query::types::lookup;
use crate::query::value::stap_visibility;
use crate::tapset::ast::{Root, Step, Type, Variable};
use crate::tapset::context::{Absent, Context, Detail, Nowhere, Value};
use probeidx_format::View;
use probeidx_format::details::{Item, Location};
use probeidx_format::id::{ObjectId, StrId};
use probeidx_format::record::SymbolRecord;
use probeidx_format::types::TypeKind;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};

/// A place, and the variables that its handler has used.
pub struct HandlerContext<'a> {
    view: &'a View<'a>,
    place: Place<'a>,
    parameters: RefCell<Vec<bool>>,
    at_entry: Cell<bool>,
    /// `None` where no variable of a function is asked for.
    constants: Option<&'a Constants>,
    /// Whether somebody asks why a variable does not exist.
    reasons: bool,
}

/// The context of tapset functions, which run anywhere: only types and the kernel's global data.
pub fn everywhere<'a>(view: &'a View<'a>) -> HandlerContext<'a> {
    HandlerContext::new(view, Place::Nowhere)
}

/// The largest number of alternatives in an error.
const NEAR: usize = 5;

impl<'a> HandlerContext<'a> {
    /// A context in which no variable has been used.
    pub fn new(view: &'a View<'a>, place: Place<'a>) -> Self {
        let (parameters, at_entry) = (RefCell::default(), Cell::new(false));
        Self { view, place, parameters, at_entry, constants: None, reasons: true }
    }
    /// The same context, with constants of the kernel.
    pub(super) fn with_constants(self, constants: &'a Constants) -> Self {
        Self { constants: Some(constants), ..self }
    }
    /// The same context, which does not find out why a variable does not exist.
    pub fn without_reasons(self) -> Self {
        Self { reasons: false, ..self }
    }
    /// For a tracepoint, the parameters used, in the order of its prototype. SystemTap declares a local for each.
    pub fn parameters(&self) -> Vec<Cow<'a, [u8]>> {
        let Place::Trace(tracepoint) = self.place else { return vec![] };
        let asked = self.parameters.borrow();
        let named = tracepoint.named_parameters().into_iter();
        named.zip(asked.iter()).filter(|(_, asked)| **asked).map(|(p, _)| p.name).collect()
    }
    /// True if this return probe needs a value that SystemTap saves at entry, with a separate probe.
    pub fn saves_at_entry(&self) -> bool {
        self.at_entry.get()
    }
}

impl Context for HandlerContext<'_> {
    fn returns(&self) -> bool {
        match self.place {
            Place::Code { returns, .. } | Place::Symbol { returns, .. } => returns,
            Place::Trace(tracepoint) => tracepoint.returns(),
            _ => false,
        }
    }

    fn enumerator(&self, name: &str) -> Result<(), Absent> {
        let Place::Code { .. } = self.place else { return Nowhere.enumerator(name) };
        let why = "no enumeration of the kernel has such a constant";
        let absent = || Absent { what: format!("@enum(\"{name}\")"), why: why.to_owned(), instead: vec![] };
        self.constant(name).map(|_| ()).ok_or_else(absent)
    }

    fn variable(&self, variable: &Variable, of: Option<Detail>) -> Result<Value, Absent> {
        let asked = Asked { view: self.view, variable, reasons: self.reasons };
        match &variable.root {
            Root::Cast { of: name, module, .. } => asked.cast(name, module.as_deref()),
            Root::Global { name, module } => self.global(asked, name, module.as_deref()),
            Root::Value(_) => asked.behind(of),
            Root::Context(name) => match self.place {
                Place::Code { object, seen, returns } => self.in_code(asked, object, seen, returns, name),
                Place::Trace(tracepoint) => self.in_trace(asked, *tracepoint, name),
                // SystemTap has names for all variables of a function without any: empty texts (PR15999).
                Place::Symbol { by_name: false, returns, .. } if is_several(name, returns) => asked.as_text(),
                Place::Symbol { .. } | Place::Address { .. } => {
                    asked.absent(0, "nothing but registers can be read: no debug information is asked", [])
                }
                Place::Nowhere => asked.absent(0, "no variable of the kernel can be read here", []),
                Place::Unindexed => asked.absent(0, "what is probed is not in the index", []),
            },
        }
    }
}

/// The context variables that stand for several variables, as text.
const ALL: [&str; 3] = ["$$vars", "$$parms", "$$locals"];

fn is_several(name: &str, returns: bool) -> bool {
    ALL.contains(&name) || (returns && name == "$$return")
}

impl<'a> HandlerContext<'a> {
    fn in_code(
        &self,
        asked: Asked<'a, '_>,
        object: ObjectId,
        seen: Seen,
        returns: bool,
        name: &str,
    ) -> Result<Value, Absent> {
        if is_several(name, returns) {
            self.at_entry.set(self.at_entry.get() || (returns && name != "$$return"));
            return asked.as_text();
        }
        if returns && name == "$return" {
            let function = functions::function(self.view, seen.placed.record);
            if asked.is_address() {
                return asked.absent(0, "a returned value has no address", []);
            }
            return match function.map(|f| self.view.variables(f).return_type) {
                Some(Some(type_id)) => asked.reach(Reached::of(type_id)),
                _ => asked.absent(0, "the function returns nothing", []),
            };
        }
        let plain = name.strip_prefix('$').unwrap_or(name);
        let reached = self.local(asked, seen, plain)?;
        let reached = match reached.or_else(|| self.constant(plain)) {
            Some(reached) => reached,
            // One of a file is seen where its debug information declares it, which the index does not tell.
            None if self.has_data(object, plain) => {
                return asked.of_unknown_type().map(|value| Value { detail: Some(Detail::ASSUMED), ..value });
            }
            None if !self.reasons => return Err(Absent::default()),
            None => {
                let known = self.names(seen);
                let near = nearest::nearest(plain, known.iter().map(String::as_str), NEAR);
                let function = functions::function(self.view, seen.placed.record);
                let function = function.map_or(&[][..], |f| self.view.string(f.name));
                let why = format!("{} has no such variable here", String::from_utf8_lossy(function));
                return asked.absent(0, why, near.into_iter().map(|n| format!("${n}")));
            }
        };
        let value = asked.reach(reached)?;
        self.at_entry.set(self.at_entry.get() || returns);
        Ok(value)
    }

    /// A variable of the function: that of the innermost block that declares the name, whether it has a location or
    /// not.
    fn local(&self, asked: Asked<'a, '_>, seen: Seen, name: &str) -> Result<Option<Reached>, Absent> {
        let view = self.view;
        let entry = seen.placed.record.entry.get();
        let Some(function) = functions::function(view, seen.placed.record) else { return Ok(None) };
        let variables: Vec<_> = view.variables(function).collect();
        let mut found: Option<(u32, Location<'a>, usize)> = None;
        // For each open block, whether it holds the address; at an entry, none does.
        let mut open: Vec<bool> = vec![];
        for item in view.details(seen.placed.id, seen.placed.record).items {
            match item {
                Item::Block(mut ranges) => {
                    open.push(seen.pc.is_some_and(|pc| ranges.any(|r| r.contains(pc))));
                }
                Item::End => {
                    open.pop();
                }
                Item::Variable(position, location) if !open.contains(&false) => {
                    let is_it = variables
                        .get(position as usize)
                        .is_some_and(|v| v.name != StrId::new(0) && view.string(v.name) == name.as_bytes());
                    if is_it && found.is_none_or(|(.., depth)| depth < open.len()) {
                        found = Some((position, location, open.len()));
                    }
                }
                Item::Variable(..) => {}
            }
        }
        let Some((position, location, _)) = found else { return Ok(None) };
        if !stap_visibility::is_there(view, seen.placed, seen.pc.unwrap_or(entry), location) {
            let why = match location {
                Location::List(_) | Location::Within(..) => "it is not available at this address",
                _ => "the compiler kept it nowhere",
            };
            return asked.absent(0, why, []).map(|_: Value| None);
        }
        let pc = seen.pc.unwrap_or(entry);
        let later = stap_visibility::after_fentry(view, seen.placed).filter(|_| pc == entry);
        if let Some(why) = location_support::refusal(view, seen.placed.id, location, pc, later) {
            return asked.absent(0, why, []).map(|_: Value| None);
        }
        if asked.is_address() && !location_support::is_in_memory(location, pc, later) {
            return asked.absent(0, "it is not in memory, and has no address", []).map(|_: Value| None);
        }
        match variables[position as usize].type_id {
            Some(type_id) => Ok(Some(Reached::of(type_id))),
            None => asked.absent(0, "its type is not known", []).map(|_: Value| None),
        }
    }

    /// The names of the function's variables.
    fn names(&self, seen: Seen) -> Vec<String> {
        let mut names = vec![];
        let Some(function) = functions::function(self.view, seen.placed.record) else { return names };
        let variables: Vec<_> = self.view.variables(function).collect();
        let each = |index: u32| {
            let name = variables.get(index as usize).map(|v| self.view.string(v.name)).unwrap_or_default();
            names.push(String::from_utf8_lossy(name).into_owned());
        };
        match seen.pc {
            None => stap_visibility::visible(self.view, seen.placed, each),
            Some(pc) => stap_visibility::visible_within(self.view, seen.placed, pc, seen.block, each),
        }
        names
    }

    /// A constant of an enumeration.
    fn constant(&self, name: &str) -> Option<Reached> {
        let view = self.view;
        let name = view.find_string(name.as_bytes())?;
        self.constants?.enumeration(view, name).map(Reached::of)
    }

    /// Whether there is a data symbol with this name.
    fn has_data(&self, object: ObjectId, name: &str) -> bool {
        let Some(name) = self.view.name(name.as_bytes()) else { return false };
        let is_data = |s: SymbolRecord| !s.is_function();
        functions::symbols_named(self.view, object, name)
            .any(|id| functions::symbol(self.view, id).is_some_and(is_data))
    }

    /// `@var("name@file", "module")`.
    fn global(&self, asked: Asked<'a, '_>, name: &str, module: Option<&str>) -> Result<Value, Absent> {
        if module.is_some_and(is_of_programs) {
            return asked.of_unknown_type();
        }
        let plain = name.split('@').next().unwrap_or(name);
        let own = match self.place {
            Place::Code { object, .. } | Place::Symbol { object, .. } | Place::Address { object, .. } => {
                Some(object)
            }
            _ => functions::kernel(self.view),
        };
        let objects = match module.filter(|m| !m.is_empty()) {
            None => own.into_iter().collect(),
            Some(names) => modules(self.view, names),
        };
        if objects.iter().any(|object| self.has_data(*object, plain)) {
            return asked.of_unknown_type();
        }
        if let (Place::Code { seen, .. }, None) = (self.place, module)
            && !name.contains('@')
            && let Some(reached) = self.local(asked, seen, plain)?
        {
            return asked.reach(reached);
        }
        let place = module.filter(|m| !m.is_empty()).map_or(String::new(), |m| format!(" in {m}"));
        asked.absent(0, format!("there is no variable {plain}{place}"), [])
    }

    fn in_trace(
        &self,
        asked: Asked<'a, '_>,
        tracepoint: Tracepoint<'a>,
        name: &str,
    ) -> Result<Value, Absent> {
        let parameters = tracepoint.named_parameters();
        self.parameters.borrow_mut().resize(parameters.len(), false);
        match name {
            "$$name" | "$$system" => return asked.as_text(),
            "$$vars" | "$$parms" => {
                self.parameters.borrow_mut().fill(true);
                return asked.as_text();
            }
            _ => {}
        }
        let plain = name.strip_prefix('$').unwrap_or(name).as_bytes();
        let Some(at) = parameters.iter().position(|p| *p.name == *plain) else {
            if !self.reasons {
                return Err(Absent::default());
            }
            if tracepoint.prototype().is_none() {
                let what = "the tracepoint's parameters are not in the index: nothing describes a function that has them";
                return asked.absent(0, what, []);
            }
            let known: Vec<_> =
                parameters.iter().map(|p| format!("${}", String::from_utf8_lossy(&p.name))).collect();
            // SystemTap lists all parameters, since there are few.
            let near = nearest::nearest(name, known.iter().map(String::as_str), known.len());
            let far = known.iter().filter(|n| !near.contains(n)).cloned();
            let all: Vec<_> = near.iter().cloned().chain(far).collect();
            return asked.absent(0, format!("unable to find tracepoint variable '{name}'"), all);
        };
        self.parameters.borrow_mut()[at] = true;
        let type_id = parameters[at].variable.type_id;
        if asked.variable.path.is_empty() {
            if asked.variable.address_of {
                return asked.absent(0, "a tracepoint's variable has no address", []);
            }
            return Ok(Value { kind: Type::Long, detail: type_id.map(member_access::detail) });
        }
        // The parameter is passed as a number: only a pointer has members.
        let pointer = type_id.and_then(|t| lookup::strip(self.view, t));
        match pointer.filter(|t| lookup::kind(self.view, *t) == Some(TypeKind::Pointer)) {
            Some(pointer) => asked.reach(Reached::of(pointer)),
            None => asked.absent(1, "only a pointer leads to members", []),
        }
    }
}

/// Whether a list of modules has nothing but programs (`/bin/cat`) and headers of programs (`<stdio.h>`), which are not in the index.
fn is_of_programs(modules: &str) -> bool {
    let mut parts = modules.split(':').filter(|part| !part.is_empty()).peekable();
    parts.peek().is_some() && parts.all(|part| part.starts_with(['<', '/']))
}

/// The objects of a list of modules, `kernel:nfs`.
fn modules(view: &View<'_>, names: &str) -> Vec<ObjectId> {
    let object = |name: &str| match name {
        "kernel" => functions::kernel(view),
        other => functions::module(view, other.as_bytes()),
    };
    names.split(':').filter_map(object).collect()
}

/// A variable to look up.
#[derive(Clone, Copy)]
struct Asked<'a, 'v> {
    view: &'a View<'a>,
    variable: &'v Variable,
    reasons: bool,
}

impl Asked<'_, '_> {
    /// Why the path fails after `parts` steps.
    fn absent<T>(
        self,
        parts: usize,
        why: impl Into<String>,
        instead: impl IntoIterator<Item = String>,
    ) -> Result<T, Absent> {
        if !self.reasons {
            return Err(Absent::default());
        }
        let mut part = self.variable.clone();
        part.path.truncate(parts);
        part.address_of = false;
        Err(Absent { what: part.to_string(), why: why.into(), instead: instead.into_iter().collect() })
    }

    /// Whether the address of the variable itself is wanted.
    fn is_address(self) -> bool {
        self.variable.address_of && self.variable.path.is_empty()
    }

    /// Several variables as text, which has no members.
    fn as_text(self) -> Result<Value, Absent> {
        match self.variable {
            Variable { address_of: true, .. } => self.absent(0, "this has no address", []),
            Variable { path, .. } if path.iter().all(|s| matches!(s, Step::Pretty(_))) => {
                Ok(Value { kind: Type::String, detail: None })
            }
            _ => self.absent(1, "this has no members", []),
        }
    }

    /// Data whose type is unknown, because the index only has its symbol: any path is assumed to be valid.
    fn of_unknown_type(self) -> Result<Value, Absent> {
        Ok(Value::of_unknown_type(self.variable))
    }

    /// Follows the path from a value of a known type.
    fn reach(self, from: Reached) -> Result<Value, Absent> {
        let Variable { path, address_of, .. } = self.variable;
        let reached = from.along(self.view, path, *address_of);
        reached.or_else(|wrong| self.absent(wrong.steps, wrong.why, wrong.instead))
    }

    /// Follows the path from a value that is known to be a pointer.
    fn behind(self, of: Option<Detail>) -> Result<Value, Absent> {
        let Some(of) = of else {
            return self.absent(1, "the type that this value points to is unknown", []);
        };
        if matches!(of, Detail::UNKNOWN | Detail::ASSUMED) {
            return self.of_unknown_type();
        }
        match Reached::behind(self.view, of) {
            Some(reached) => self.reach(reached),
            None => self.absent(1, "this value is no pointer", []),
        }
    }

    /// `@cast(value, "type", "module")`: the kernel's type, whatever module of it is named. If the type has several
    /// definitions, the one that has the members.
    fn cast(self, name: &str, module: Option<&str>) -> Result<Value, Absent> {
        if module.is_some_and(is_of_programs) {
            return self.of_unknown_type();
        }
        let found = member_access::named(self.view, name);
        let mut wrong = None;
        for type_id in found {
            match self.reach(Reached::pointed_to(type_id)) {
                Ok(value) => return Ok(value),
                Err(absent) => wrong = wrong.or(Some(absent)),
            }
        }
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        if !self.reasons {
            return Err(Absent::default());
        }
        let (_, plain) = lookup::split(name);
        let near = nearest::nearest(plain, lookup::names(self.view, None), NEAR);
        let place = match module {
            Some(header) if header.contains(['<', '/']) => format!(" of {header} in the index"),
            _ => String::new(),
        };
        self.absent(0, format!("there is no type {name}{place}"), near)
    }
}
