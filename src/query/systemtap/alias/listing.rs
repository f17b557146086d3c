//! Lists probes like SystemTap: a line for each name, with the locals and variables that all probes of that name have.
use super::locals::{self, Locals, Saved};
use crate::query::spec::Filter;
use crate::query::systemtap::derive::{Derived, Place};
use crate::query::systemtap::listing::{Lines, Variables};
use crate::tapset::handler::Words;
use probeidx_format::View;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// Collects the lines of a listing, probe by probe.
pub struct Listing<'a, 'd> {
    /// `None` if only names are listed.
    wanted: Option<Wanted<'a, 'd>>,
    names: BTreeMap<Vec<u8>, Merged>,
    unindexed: BTreeSet<Vec<u8>>,
}

struct Wanted<'a, 'd> {
    words: Words<'d>,
    variables: Variables<'a>,
}

/// The locals and variables of one name's probes: each `name:type` with the number of probes that have it, in the order
/// of first occurrence.
#[derive(Default)]
struct Merged {
    probes: usize,
    locals: Vec<(String, usize)>,
    variables: Vec<(String, usize)>,
}

impl<'a, 'd> Listing<'a, 'd> {
    /// A listing of names only, or with locals and variables like `stap -L`.
    pub fn new(view: View<'a>, words: Option<Words<'d>>) -> Self {
        let wanted = words.map(|words| Wanted { words, variables: Variables::new(view) });
        Self { wanted, names: BTreeMap::new(), unindexed: BTreeSet::new() }
    }

    /// Adds a probe. Unindexed probes get no line.
    pub fn add(&mut self, derived: &Derived<'_>) {
        if let Place::Unindexed = derived.place {
            self.unindexed.insert(derived.name.to_vec());
            return;
        }
        let merged = match self.names.get_mut(derived.name) {
            Some(merged) => merged,
            None => self.names.entry(derived.name.to_vec()).or_default(),
        };
        merged.probes += 1;
        let Some(Wanted { words, variables }) = &mut self.wanted else { return };
        let Locals { own, hidden, saves } = locals::read(words, derived);
        hidden.iter().for_each(|local| count(&mut merged.locals, local.clone()));
        own.iter().for_each(|local| count(&mut merged.locals, format!("{}:{}", local.name, local.kind)));
        let entry = saves.map(|saved| {
            merged.probes += 1;
            if saved == Saved::ByThread {
                hidden.iter().for_each(|local| count(&mut merged.locals, local.clone()));
            }
            Filter::Call
        });
        match derived.place {
            Place::Code { seen, returns, .. } => {
                let own = if returns { Filter::Return } else { Filter::Any };
                for filter in entry.into_iter().chain([own]) {
                    variables.each(seen, filter, |variable| count(&mut merged.variables, variable));
                }
            }
            Place::Trace(tracepoint) => {
                variables.each_parameter(tracepoint, |parameter| count(&mut merged.variables, parameter));
            }
            Place::Symbol { .. } | Place::Nowhere | Place::Unindexed => {}
        }
    }

    /// The sorted names of unindexed probes, which are in programs.
    pub fn unindexed(&self) -> impl Iterator<Item = Cow<'_, str>> {
        self.unindexed.iter().map(|name| String::from_utf8_lossy(name))
    }

    /// Appends the lines (`printscript`, main.cxx of SystemTap 4.8).
    pub fn put(&self, lines: &mut Lines) {
        for (name, merged) in &self.names {
            lines.push(
                |out| out.extend_from_slice(name),
                |out| {
                    let all = merged.locals.iter().chain(&merged.variables);
                    for (text, _) in all.filter(|(_, count)| *count == merged.probes) {
                        out.push(b' ');
                        out.extend_from_slice(text.as_bytes());
                    }
                },
            );
        }
    }
}

fn count(counts: &mut Vec<(String, usize)>, text: String) {
    match counts.iter_mut().find(|(known, _)| *known == text) {
        Some((_, count)) => *count += 1,
        None => counts.push((text, 1)),
    }
}
