//! Completes tapset definitions and tracepoints.
use super::Candidate;
use crate::pattern::Pattern;
use crate::query::resolve::tracepoint;
use crate::query::spec::{ModuleScope, TraceSpec};
use crate::tapset::Definitions;
use probeidx_format::View;
use std::collections::BTreeMap;

/// Aliases, component by component: `vm.`, then `vm.pagefault`. Hidden ones are offered once their `_` is typed.
pub fn aliases(view: &View<'_>, typed: &str) -> Vec<Candidate> {
    let Ok(definitions) = Definitions::of_index(view) else { return vec![] };
    let is_hidden = |name: &str| name.starts_with('_') && !typed.starts_with('_');
    let names = definitions.alias_names();
    let starting = names.range(typed..).take_while(|name| name.starts_with(typed));
    // The names up to the next dot, with whether one ends there and whether one continues.
    let mut found: BTreeMap<&str, (bool, bool)> = BTreeMap::new();
    for name in starting.filter(|name| !is_hidden(name)) {
        let end = name[typed.len()..].find('.').map_or(name.len(), |at| typed.len() + at);
        let (ends, goes_on) = found.entry(&name[..end]).or_default();
        *ends |= end == name.len();
        *goes_on |= end < name.len();
    }
    let whole = |(name, ends): (&&str, &(bool, bool))| ends.0.then(|| Candidate::new(*name, "alias"));
    let part = |(name, ends): (&&str, &(bool, bool))| {
        ends.1.then(|| Candidate::going_on(format!("{name}."), "aliases"))
    };
    found.iter().filter_map(whole).chain(found.iter().filter_map(part)).collect()
}

/// Tapset functions or macros.
pub fn definitions(view: &View<'_>, typed: &str, of_macros: bool) -> Vec<Candidate> {
    let Ok(definitions) = Definitions::of_index(view) else { return vec![] };
    let starts = |name: &&str| name.starts_with(typed);
    if of_macros {
        let names = definitions.macros().map(|(name, _)| name).filter(starts);
        return names.map(|name| Candidate::new(name, "macro")).collect();
    }
    let names = definitions.function_names().into_iter().filter(starts);
    names.map(|name| Candidate::new(name, "function")).collect()
}

/// The argument of `kernel.trace("…")`: systems, or events if there are few; after a colon, the events of the system. Events
/// of system calls are no tracepoints, and have no place there.
pub fn tracepoints(view: &View<'_>, typed: &str, with_system_calls: bool) -> Vec<Candidate> {
    let all = |system: Option<&str>| {
        let event = Pattern::new("*").ok()?;
        let system = system.map(Pattern::literal);
        Some(tracepoint::matching(view, &TraceSpec { system, event, with_system_calls, by_number: None }))
    };
    let text = |bytes| std::str::from_utf8(bytes).unwrap_or_default();
    if let Some((system, event)) = typed.split_once(':') {
        let names = all(Some(system)).into_iter().flatten().map(|t| text(t.name()));
        let events = names.filter(|name| !name.is_empty() && name.starts_with(event));
        return events.map(|name| Candidate::new(format!("{system}:{name}"), "tracepoint")).collect();
    }
    let mut systems: BTreeMap<&str, usize> = BTreeMap::new();
    let mut events = vec![];
    for found in all(None).into_iter().flatten() {
        let (system, event) = (text(found.system()), text(found.name()));
        if !system.is_empty() && system.starts_with(typed) {
            *systems.entry(system).or_default() += 1;
        }
        if !typed.is_empty() && event.starts_with(typed) {
            events.push(Candidate::new(event, "tracepoint"));
        }
    }
    let counted = |(system, count): (&str, usize)| {
        Candidate::going_on(format!("{system}:"), format!("{count} tracepoints"))
    };
    systems.into_iter().map(counted).chain(events).collect()
}

/// The argument of `kernel.tracepoint("…")`, or of that behind `module("`: names without a system.
pub fn numbered_tracepoints(view: &View<'_>, module: Option<&str>, typed: &str) -> Vec<Candidate> {
    let name = module.and_then(|rest| rest.split('"').next());
    let scope = name.map_or(ModuleScope::Kernel, |name| ModuleScope::Module(Pattern::literal(name)));
    let Ok(event) = Pattern::new("*") else { return vec![] };
    let asked = TraceSpec { system: None, event, with_system_calls: false, by_number: Some(scope) };
    let found = tracepoint::matching(view, &asked);
    let names = found.filter_map(|found| std::str::from_utf8(found.asked()).ok());
    names.filter(|name| name.starts_with(typed)).map(|name| Candidate::new(name, "tracepoint")).collect()
}
