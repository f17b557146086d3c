//! Completes what can be read at the placements of a spec: `file->f_path.dentry`, `$retval`, `name=s->name:string`.
use super::Candidate;
use super::member;
use crate::error::{Error, ErrorKind};
use crate::query::index::functions;
use crate::query::resolve;
use crate::query::resolve::placement::Wanted;
use crate::query::spec::{Filter, Point, Spec, member_path};
use crate::query::types::member::walk_path;
use crate::query::types::stap_spelling::spell;
use probeidx_format::View;
use probeidx_format::id::{FunctionId, StrId, TypeId};

/// The largest number of declarations or places whose variables are offered.
const PLACES: usize = 64;

/// The types of kprobe_events (Documentation/trace/kprobetrace.rst, Linux 6.12).
const TYPES: [&str; 18] = [
    "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64", "x8", "x16", "x32", "x64", "char", "string",
    "ustring", "symbol", "symstr", "user",
];

/// A variable, and its description.
struct Variable {
    name: String,
    type_id: Option<TypeId>,
    about: String,
}

/// The arguments that `resolve` accepts.
pub fn arguments(view: &View<'_>, specs: &[Spec], typed: &str) -> Vec<Candidate> {
    if let Some((value, of)) = typed.rsplit_once(':') {
        let types = TYPES.iter().filter(|known| known.starts_with(of));
        return types.map(|name| Candidate::new(format!("{value}:{name}"), "")).collect();
    }
    let (head, value) = typed.split_at(typed.find('=').map_or(0, |at| at + 1));
    let start = value.find(|c: char| !matches!(c, '$' | '*' | '&')).unwrap_or(value.len());
    // `$retval` needs its dollar sign; for all others it is optional.
    let (marks, bare) = value.split_at(start);
    let found = match member::split(bare) {
        Some((before, _)) => of_members(view, specs, before, bare),
        None => of_variables(view, specs, bare),
    };
    let spelled = |text: &str| match (text.strip_prefix('$'), marks.ends_with('$')) {
        (Some(special), true) => Some(format!("{head}{marks}{special}")),
        (Some(_), false) if !bare.is_empty() => None,
        _ => Some(format!("{head}{marks}{text}")),
    };
    found.into_iter().filter_map(|c| Some(Candidate { text: spelled(&c.text)?, ..c })).collect()
}

fn of_variables(view: &View<'_>, specs: &[Spec], typed: &str) -> Vec<Candidate> {
    let plain = |name: &str| name.strip_prefix('$').unwrap_or(name).starts_with(typed);
    let found: Vec<Variable> = variables(view, specs).into_iter().filter(|v| plain(&v.name)).collect();
    let is_only = found.len() == 1;
    let mut candidates = vec![];
    for variable in found {
        let step = variable.type_id.and_then(|id| member::step(view, id));
        if let Some(step) = step.filter(|_| is_only) {
            candidates.push(Candidate::going_on(variable.name.clone() + step, ""));
        }
        let Variable { name: text, about, .. } = variable;
        candidates.push(Candidate { text, about, goes_on: step.is_some() });
    }
    candidates
}

fn of_members(view: &View<'_>, specs: &[Spec], before: &str, typed: &str) -> Vec<Candidate> {
    let Ok(path) = member_path::parse(before) else { return vec![] };
    let named = |v: &Variable| v.name.strip_prefix('$').unwrap_or(&v.name) == path.root;
    let root = variables(view, specs).into_iter().find(named).and_then(|v| v.type_id);
    let at = root.and_then(|root| walk_path(view, root, &path).ok()?.type_id);
    at.map_or(vec![], |at| member::members(view, at, typed, false))
}

/// The variables of functions, or those at the first places of other specs, each name once.
fn variables(view: &View<'_>, specs: &[Spec]) -> Vec<Variable> {
    let mut found = Found::default();
    for spec in specs {
        match &spec.point {
            Point::Function(asked) if asked.callee.is_none() && asked.label.is_none() => {
                let names = functions::names(view, &asked.declared.name).into_iter();
                let declared =
                    names.flat_map(|name| functions::declarations(view, name, asked.declared.file.as_ref()));
                for function in declared.take(PLACES).flat_map(|d| d.functions()) {
                    found.of_function(view, function, asked.filter == Filter::Return);
                }
            }
            _ => found.at_places(view, spec),
        }
    }
    found.variables
}

#[derive(Default)]
struct Found {
    variables: Vec<Variable>,
    places: usize,
}

impl Found {
    fn of_function(&mut self, view: &View<'_>, function: FunctionId, is_return: bool) {
        let Some(record) = view.functions.get(function.index()) else { return };
        let declared = view.variables(record);
        if let Some(type_id) = declared.return_type.filter(|_| is_return) {
            self.add("$retval".to_owned(), Some(type_id), || spelled(view, Some(type_id)));
        }
        for variable in declared.filter(|v| v.name != StrId::new(0)) {
            let name = String::from_utf8_lossy(view.string(variable.name)).into_owned();
            self.add(name, variable.type_id, || spelled(view, variable.type_id));
        }
    }

    fn at_places(&mut self, view: &View<'_>, spec: &Spec) {
        let wanted = Wanted { locals: true, ..Wanted::default() };
        // A spec that cannot be resolved has no variables.
        let _ = resolve::resolve(view, spec, wanted, |placement, _| {
            for value in placement.values {
                self.add(value.name, value.type_id, || value.type_name.unwrap_or_default());
            }
            self.places += 1;
            if self.places < PLACES { Ok(()) } else { Err(Error::new(ErrorKind::NoMatch, "that is enough")) }
        });
    }

    fn add(&mut self, name: String, type_id: Option<TypeId>, about: impl FnOnce() -> String) {
        match self.variables.iter_mut().find(|known| known.name == name) {
            Some(known) => known.type_id = known.type_id.or(type_id),
            None => self.variables.push(Variable { name, type_id, about: about() }),
        }
    }
}

fn spelled(view: &View<'_>, type_id: Option<TypeId>) -> String {
    type_id.and_then(|id| spell(view, id)).unwrap_or_default()
}
