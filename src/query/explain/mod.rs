//! Explains why nothing matched.
pub(crate) mod absence;
pub mod definitions;
pub mod types;

use super::index::functions;
use super::index::provenance::{self, Provenance};
use super::resolve::statement::{self, Around};
use super::resolve::{event, tracepoint};
use super::spec::{Callee, Filter, FunctionSpec, ModuleScope, Point, Spec, StatementSpec};
use crate::nearest;
use crate::pattern::Pattern;
use absence::{Absence, absence};
use probeidx_format::View;
use probeidx_format::id::{NameId, StrId};
use std::collections::BTreeSet;
use std::fmt;

/// A reason why nothing matched, with similar names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Why nothing matched.
    pub why: String,
    /// Similar names, the nearest first.
    pub near: Vec<String>,
    /// Whether the name exists, and something else prevents a match.
    pub is_known: bool,
    /// Whether the index was built without the debug information that would decide.
    pub needs_debug_information: bool,
}

impl Missing {
    pub(crate) fn unknown(why: impl Into<String>, near: Vec<String>) -> Self {
        Self { why: why.into(), near, is_known: false, needs_debug_information: false }
    }
    pub(crate) fn known(why: impl Into<String>) -> Self {
        Self { is_known: true, ..Self::unknown(why, vec![]) }
    }
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)?;
        match self.near.is_empty() {
            true => Ok(()),
            false => write!(f, "; did you mean {}?", self.near.join(", ")),
        }
    }
}

/// Why nothing in this index matched, if known, or which names are similar; for aliases see
/// `systemtap::alias::missing`. Cost: for an unknown name, a walk over all names, which takes some milliseconds.
pub fn why_not(view: &View<'_>, specs: &[Spec]) -> Vec<Missing> {
    let mut reasons = vec![];
    for spec in specs {
        let (module, name, file, filter) = match &spec.point {
            Point::Function(f) => (&f.module, Some(&f.declared.name), f.declared.file.as_ref(), f.filter),
            Point::Statement(s) => (&s.module, s.function.as_ref(), s.file.as_ref(), Filter::Any),
            Point::Address(a) => {
                reasons.push(Missing::unknown(format!("no code is at {:#x}", a.address), vec![]));
                continue;
            }
            Point::Trace(asked) => {
                reasons.push(Missing::unknown(tracepoint::absence(view, asked), vec![]));
                continue;
            }
            // Explained by `systemtap::alias::missing`.
            Point::Alias(_) => continue,
        };
        if let ModuleScope::Module(Pattern::Literal(module)) = module {
            let mut names = view.object_ids().map(|o| view.string(view.objects[o.index()].name));
            if !names.any(|n| n == module.as_bytes()) {
                let mut systems = view.tracepoints().iter().map(|t| view.string(t.system));
                // perf lists the events of individual system calls under this name.
                let is_system = module == "syscalls" || systems.any(|system| system == module.as_bytes());
                let event = event::as_event(spec).filter(|_| is_system);
                reasons.push(event.map_or_else(
                    || no_module(view, module),
                    |asked| Missing::unknown(tracepoint::absence(view, &asked), vec![]),
                ));
                continue;
            }
        }
        let is_known =
            |name: &Pattern| !matches!(name, Pattern::Literal(text) if view.name(text.as_bytes()).is_none());
        let of_lines = matches!(&spec.point, Point::Statement(s) if s.lines.is_some());
        let has_name = name.is_none_or(is_known);
        if (of_lines || file.is_some() || filter == Filter::Inline)
            && has_name
            && let Some(told) =
                [Provenance::Btf, Provenance::Symbols].into_iter().find(|b| provenance::of_index(view) == *b)
        {
            let told = if told == Provenance::Btf { "BTF" } else { "symbols" };
            let why = format!("this index rests on {told}, which has no files, lines or inlined functions");
            reasons.push(Missing { needs_debug_information: true, ..Missing::known(why) });
            continue;
        }
        if let Point::Function(asked) = &spec.point
            && let Some(what) = nothing_within(asked).filter(|_| name.is_none_or(is_known))
        {
            reasons.push(Missing::known(what));
            continue;
        }
        if let Point::Statement(asked) = &spec.point
            && asked.lines.is_some()
            && name.is_none_or(is_known)
        {
            let why = match name {
                Some(Pattern::Literal(text)) => view
                    .name(text.as_bytes())
                    .map(|id| absence(view, id, module, file, filter))
                    .filter(|why| matches!(why, Absence::Refused | Absence::Discarded(_)))
                    .map(|why| Missing::known(explain(text, &why))),
                _ => None,
            };
            reasons.push(why.unwrap_or_else(|| no_line(view, asked)));
            continue;
        }
        let Some(Pattern::Literal(name)) = name else {
            reasons.push(Missing::unknown("nothing matches", vec![]));
            continue;
        };
        match view.name(name.as_bytes()) {
            Some(id) => {
                let why = absence(view, id, module, file, filter);
                reasons.push(Missing::known(match why {
                    Absence::NoCode if provenance::of_index(view) == Provenance::Btf => {
                        format!("{name} is only in BTF, which does not have its address")
                    }
                    why => explain(name, &why),
                }));
            }
            None => {
                let near = near_functions(view, name);
                reasons.push(Missing::unknown(no_function(view, name), near));
            }
        }
    }
    reasons
}

/// Explains why existing functions have no such place within them.
fn nothing_within(asked: &FunctionSpec) -> Option<String> {
    let name = &asked.declared.name;
    match (&asked.label, &asked.callee) {
        (Some(label), _) => Some(format!("{name} has no label {label} with an address")),
        (None, Some(Callee::Named(callee))) => {
            Some(format!("nothing called {} is inlined into {name}", callee.name))
        }
        (None, Some(Callee::Every { .. })) => Some(format!("nothing is inlined into {name}")),
        (None, None) => None,
    }
}

/// Explains why a source line matched nothing, with the closest lines that have code.
fn no_line(view: &View<'_>, asked: &StatementSpec) -> Missing {
    const MOST: usize = 3;
    let name = asked.function.as_ref().filter(|name| !name.matches_all());
    let within = name.map_or(String::new(), |name| format!(" in {name}"));
    let around = statement::around(view, asked);
    let said = |a: &Around<'_>| {
        let file = String::from_utf8_lossy(a.file);
        let lines = match a.asked {
            (first, last) if first == last => format!("line {first}"),
            (first, last) => format!("lines {first} to {last}"),
        };
        let near: Vec<_> = [a.before, a.behind].into_iter().flatten().map(|l| l.to_string()).collect();
        match a.has_code {
            true => format!(
                "SystemTap lists nothing at {lines} of {file}; see: probeidx resolve {file}:{}",
                a.asked.0
            ),
            false => {
                let are = if near.len() > 1 { "nearest are" } else { "nearest is" };
                format!("no code at {lines} of {file}{within}; {are} {}", near.join(" and "))
            }
        }
    };
    match (&around[..], &asked.file) {
        ([], Some(file)) if statement::files(view, asked).is_empty() => no_file(view, file),
        ([], Some(file)) => Missing::known(format!("nothing to probe in {file}{within}")),
        ([], None) => Missing::known(format!("no lines{within}")),
        (around, _) => {
            let more = if around.len() > MOST { "; and so in other files" } else { "" };
            Missing::known(around.iter().take(MOST).map(said).collect::<Vec<_>>().join("; ") + more)
        }
    }
}

/// Explains a file without code.
fn no_file(view: &View<'_>, file: &Pattern) -> Missing {
    let what = format!("no code of a file {file}");
    let Pattern::Literal(name) = file else { return Missing::unknown(what, vec![]) };
    // Compare as many trailing path components as the pattern has.
    let depth = name.matches('/').count();
    let units = view.object_ids().flat_map(|o| view.units_of(o)).collect::<Vec<_>>();
    let all: BTreeSet<StrId> = units.into_iter().flat_map(|unit| view.unit_files(unit)).collect();
    let paths = all.iter().filter_map(|f| std::str::from_utf8(view.string(*f)).ok());
    let tails: BTreeSet<&str> =
        paths.map(|p| p.rmatch_indices('/').nth(depth).map_or(p, |(at, _)| &p[at + 1..])).collect();
    Missing::unknown(what, nearest::nearest(name, tails.into_iter(), 3))
}

/// Of a function that has entries nowhere where they are asked for: that it is only inlined, and at how many places.
pub fn only_inlined(view: &View<'_>, spec: &Spec) -> Option<(String, usize)> {
    let Point::Function(asked) = &spec.point else { return None };
    let Pattern::Literal(name) = &asked.declared.name else { return None };
    let id = view.name(name.as_bytes())?;
    match absence(view, id, &asked.module, asked.declared.file.as_ref(), asked.filter) {
        why @ Absence::OnlyInline(places) => Some((explain(name, &why), places)),
        _ => None,
    }
}

/// Explains an unknown function name.
pub fn no_function(view: &View<'_>, name: &str) -> String {
    // An index that has a module is not without; to decode what it says of each takes longer than to find a function.
    let has_modules = view.object_ids().nth(1).is_some();
    let without_modules = !has_modules && view.meta().is_ok_and(|m| m.without_modules);
    let scope = if without_modules { " in vmlinux, and no modules are indexed" } else { "" };
    format!("no function {name}{scope}")
}

/// The names of functions that were meant by one that does not exist: the clones that the compiler made of it, else similar
/// names.
fn near_functions(view: &View<'_>, name: &str) -> Vec<String> {
    let texts =
        functions::clones(view, name.as_bytes()).map(|clone| view.string(view.names.at(clone.index()).name));
    let clones: Vec<_> = texts.take(5).map(|text| String::from_utf8_lossy(text).into_owned()).collect();
    if !clones.is_empty() {
        return clones;
    }
    let count = view.names.len().saturating_sub(1);
    let all = view.names.part(0..count);
    let texts = all.iter().enumerate().map(|(n, record)| (view.string(record.name), n));
    let of_functions = |n| !view.functions_named(NameId::new(n as u32)).is_empty();
    nearest::nearest_of(name, texts, 5, of_functions)
}

/// Explains an unknown module.
pub fn no_module(view: &View<'_>, module: &str) -> Missing {
    let names = view.object_ids().map(|o| view.string(view.objects[o.index()].name));
    let near = nearest::nearest(module, names.filter_map(|n| std::str::from_utf8(n).ok()), 3);
    Missing::unknown(format!("module {module} is not indexed"), near)
}

/// Explains why an existing name was not listed.
fn explain(text: &str, why: &Absence) -> String {
    let list = |names: &[String]| {
        let shown: Vec<&str> =
            names.iter().take(5).map(|n| if n.is_empty() { "vmlinux" } else { n }).collect();
        let more = if names.len() > shown.len() { ", and others" } else { "" };
        format!("{}{more}", shown.join(", "))
    };
    match why {
        Absence::SymbolOnly => format!("{text} is a symbol, but no function with debug information"),
        Absence::Merged => {
            format!("{text} was merged with a function that does the same; see: probeidx find {text}")
        }
        Absence::NoCode => format!("{text} exists, but the compiler kept no code of it"),
        Absence::InOthers(objects) => format!("{text} runs in {}, not where it was asked for", list(objects)),
        Absence::Refused => {
            format!(
                "{text} is a function that SystemTap refuses by name or file; see: probeidx resolve {text}"
            )
        }
        Absence::Discarded(section) => format!(
            "{text} exists only in {section}, which is gone once the kernel runs; see: probeidx resolve {text}"
        ),
        Absence::OnlyInline(1) => format!("{text} is only inlined, at 1 place; see: probeidx resolve {text}"),
        Absence::OnlyInline(places) => {
            format!("{text} is only inlined, at {places} places; see: probeidx resolve {text}")
        }
        Absence::NeverInline => format!("{text} is never inlined"),
        Absence::InOtherFiles(files) => format!("{text} is declared in {}", list(files)),
    }
}
