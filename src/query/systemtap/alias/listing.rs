//! Lists probes like SystemTap: a line for each name, with the locals and variables that all probes of that name have.
use super::locals::{self, Locals, Saved};
use super::words;
use crate::error::Result;
use crate::query::spec::Filter;
use crate::query::systemtap::derive::{Derived, Deriver, Place};
use crate::query::systemtap::listing::{Lines, Variables};
use crate::tapset::Definitions;
use crate::tapset::ast::Point;
use crate::tapset::expand::Part;
use crate::tapset::handler::Words;
use probeidx_format::View;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::{iter, thread};

/// The number of names of aliases in a part: it takes about a tenth of a millisecond.
const NAMES: usize = 16;
/// The least number of parts for a second thread.
const PARTS: usize = 4;
/// The stack of the second thread, as large as that of the first one usually is: trees are walked recursively.
const STACK: usize = 8 << 20;

/// Appends the lines of the points, with locals and variables if requested. Returns the names of unindexed probes.
/// Cost: decodes the definitions involved, and derives each point; many on a second thread too if `is_shared`.
///
/// # Errors
/// [`NoIndex`](crate::ErrorKind::NoIndex) for an index without tapsets,
/// [`IndexDamaged`](crate::ErrorKind::IndexDamaged) if a definition cannot be decoded.
pub fn list(
    view: &View<'_>,
    definitions: &Definitions<'_>,
    points: &[Point],
    with_variables: bool,
    is_shared: bool,
    lines: &mut Lines,
) -> Result<Vec<String>> {
    let parts: Vec<Part<'_>> = points.iter().flat_map(|point| definitions.parts(point, NAMES)).collect();
    let next = AtomicUsize::new(0);
    let constants = Arc::default();
    let reader = || {
        let wanted = || Wanted { words: words(view, definitions), variables: Variables::new(view) };
        let deriver = Deriver::sharing(view, definitions, Arc::clone(&constants));
        Reader { deriver, wanted: with_variables.then(wanted) }
    };
    let work = || {
        let mut reader = reader();
        let parts = iter::from_fn(|| {
            let at = next.fetch_add(1, Ordering::Relaxed);
            parts.get(at).map(|part| (at, part))
        });
        parts.map(|(at, part)| (at, reader.read(part))).collect::<Vec<_>>()
    };
    // A scope asks the system for memory, which the C library does not.
    let mut read = match is_shared && parts.len() >= PARTS {
        false => work(),
        true => thread::scope(|threads| {
            let second = thread::Builder::new().stack_size(STACK).spawn_scoped(threads, work);
            let mut read = work();
            // Without a second thread, this one has read all.
            if let Ok(second) = second {
                read.extend(second.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
            }
            read
        }),
    };
    read.sort_unstable_by_key(|(at, _)| *at);
    let mut listing = Listing::default();
    let mut read = parts.iter().zip(read).peekable();
    while let Some((part, (_, own))) = read.next() {
        let (mut own, mut found) = own?;
        while let Some((_, (_, more))) = read.next_if(|(next, _)| std::ptr::eq(next.point, part.point)) {
            let (more, is_found) = more?;
            own.extend(more);
            found |= is_found;
        }
        if !found {
            own.extend(reader().read(&Part::whole(part.point))?.0);
        }
        listing.extend(own);
    }
    listing.put(lines);
    definitions.whole()?;
    Ok(listing.unindexed.iter().map(|name| String::from_utf8_lossy(name).into_owned()).collect())
}

/// Derives the probes of points.
struct Reader<'a, 'd> {
    deriver: Deriver<'a, 'd>,
    /// `None` if only names are listed.
    wanted: Option<Wanted<'a, 'd>>,
}

struct Wanted<'a, 'd> {
    words: Words<'d>,
    variables: Variables<'a>,
}

impl Reader<'_, '_> {
    /// The lines of a part of a point, and whether anything matched.
    fn read(&mut self, part: &Part<'_>) -> Result<(Listing, bool)> {
        let Self { deriver, wanted } = self;
        let mut listing = Listing::default();
        let found = deriver.derive_part(part, &mut |derived| {
            listing.add(&derived, wanted.as_mut());
            Ok(())
        })?;
        Ok((listing, found))
    }
}

/// The lines of a listing, collected probe by probe.
#[derive(Default)]
struct Listing {
    names: BTreeMap<Vec<u8>, Merged>,
    unindexed: BTreeSet<Vec<u8>>,
}

/// The locals and variables of one name's probes: each `name:type` with the number of probes that have it, in the order
/// of first occurrence.
#[derive(Default)]
struct Merged {
    probes: usize,
    locals: Vec<(String, usize)>,
    variables: Vec<(String, usize)>,
}

impl Listing {
    /// Adds a probe. Unindexed probes get no line.
    fn add(&mut self, derived: &Derived<'_>, wanted: Option<&mut Wanted<'_, '_>>) {
        if let Place::Unindexed = derived.place {
            self.unindexed.insert(derived.name.to_vec());
            return;
        }
        let merged = match self.names.get_mut(derived.name) {
            Some(merged) => merged,
            None => self.names.entry(derived.name.to_vec()).or_default(),
        };
        merged.probes += 1;
        let Some(Wanted { words, variables }) = wanted else { return };
        let Locals { own, hidden, saves } = locals::read(words, derived);
        hidden.iter().for_each(|local| count(&mut merged.locals, local.clone(), 1));
        own.iter().for_each(|local| count(&mut merged.locals, format!("{}:{}", local.name, local.kind), 1));
        let entry = saves.map(|saved| {
            merged.probes += 1;
            if saved == Saved::ByThread {
                hidden.iter().for_each(|local| count(&mut merged.locals, local.clone(), 1));
            }
            Filter::Call
        });
        match derived.place {
            Place::Code { seen, returns, .. } => {
                let own = if returns { Filter::Return } else { Filter::Any };
                for filter in entry.into_iter().chain([own]) {
                    variables.each(seen, filter, |variable| count(&mut merged.variables, variable, 1));
                }
            }
            Place::Trace(tracepoint) => {
                variables.each_parameter(tracepoint, |parameter| count(&mut merged.variables, parameter, 1));
            }
            Place::Symbol { .. } | Place::Address { .. } | Place::Nowhere | Place::Unindexed => {}
        }
    }

    /// Adds the lines of further probes.
    fn extend(&mut self, more: Self) {
        self.unindexed.extend(more.unindexed);
        for (name, more) in more.names {
            match self.names.entry(name) {
                Entry::Vacant(free) => {
                    free.insert(more);
                }
                Entry::Occupied(mut known) => {
                    let known = known.get_mut();
                    known.probes += more.probes;
                    more.locals.into_iter().for_each(|(text, by)| count(&mut known.locals, text, by));
                    more.variables.into_iter().for_each(|(text, by)| count(&mut known.variables, text, by));
                }
            }
        }
    }

    /// Appends the lines (`printscript`, main.cxx of SystemTap 4.8).
    fn put(&self, lines: &mut Lines) {
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

fn count(counts: &mut Vec<(String, usize)>, text: String, by: usize) {
    match counts.iter_mut().find(|(known, _)| *known == text) {
        Some((_, count)) => *count += by,
        None => counts.push((text, by)),
    }
}
