//! From a point of a script to the probes that SystemTap makes of it on this kernel.
//!
//! A point leads through aliases to points that SystemTap knows by itself ([`forms`]), and each of those to places of the
//! kernel. The rules are those of SystemTap 4.8: `derive_probes` and `match_node::find_and_build` (elaborate.cxx),
//! the builders of tapsets.cxx.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`forms`] | the points that SystemTap knows by itself |
//! | `built_in` | from those to places |
//! | [`handler_context`] | what a handler sees at a place |
//! | `member_access`, `location_support` | what SystemTap reads of a variable, and which variables |
mod built_in;
pub mod forms;
pub mod handler_context;
mod location_support;
mod member_access;

pub use handler_context::HandlerContext;

use super::listing::{Probed, Seen};
use crate::error::{Error, Result};
use crate::query::resolve::tracepoint::Tracepoint;
use crate::tapset::Definitions;
use crate::tapset::ast::{Alias, Component, Expression, Point, Statement};
use crate::tapset::expand::{Leaf, Met};
use probeidx_format::View;
use probeidx_format::id::{ObjectId, SymbolId};
use std::sync::Arc;

/// One probe, as SystemTap's `derived_probe`: it runs at one place.
#[derive(Clone, Copy)]
pub struct Derived<'q> {
    /// Under which name SystemTap lists it: that of the first alias on the way, with what was wanted behind it, else
    /// the point with its mark (`derived_probe::script_location`).
    pub name: &'q [u8],
    /// The point in its canonical spelling: `kernel.function("vfs_read@fs/read_write.c:450")`.
    pub point: &'q [u8],
    /// The aliases on the way, the asked one first.
    pub through: &'q [&'q Alias],
    /// What has to hold for the handler to run.
    pub conditions: &'q [Arc<Expression>],
    /// Where it runs.
    pub place: Place<'q>,
    /// Of each alias what was wanted behind its name.
    pub(in crate::query::systemtap) behind: &'q [Vec<Component>],
    pub(in crate::query::systemtap) view: &'q View<'q>,
}

/// Where a probe runs.
#[derive(Clone, Copy)]
pub enum Place<'q> {
    /// Code that the debug information describes; at the return of the function, or not.
    Code {
        /// The object that has it.
        object: ObjectId,
        /// What the debug information has there.
        seen: Seen<'q>,
        /// It runs when the function returns.
        returns: bool,
    },
    /// A function of which only the symbol is known, or asked (`kprobe.function`).
    Symbol {
        /// The object that has it.
        object: ObjectId,
        /// The symbol at whose address it runs.
        symbol: SymbolId,
        /// It runs when the function returns.
        returns: bool,
    },
    /// A tracepoint of the kernel.
    Trace(&'q Tracepoint<'q>),
    /// What is no place of the kernel: `begin`, `timer.s(1)`.
    Nowhere,
    /// What the index of a kernel cannot tell of: a program, or a function of a module that is not in it.
    Unindexed,
}

impl<'q> Derived<'q> {
    /// What runs: the prologues of the aliases, the last one's first, the handler, and the epilogues.
    pub fn handler(&self, body: Option<&'q Statement>) -> Vec<&'q Statement> {
        let prologues = self.through.iter().rev().filter_map(|alias| alias.prologue.as_ref());
        let epilogues = self.through.iter().filter_map(|alias| alias.epilogue.as_ref());
        prologues.chain(body).chain(epilogues).collect()
    }
    /// What the handler sees.
    pub fn here(&self) -> HandlerContext<'q> {
        HandlerContext::new(*self.view, self.place)
    }
}

/// What became of a point that no alias names.
pub enum Visited<'q> {
    /// A probe: there can be many of one point.
    Derived(Derived<'q>),
    /// Nothing is there.
    Failed(&'q Failed<'q>),
    /// A point of an alias that needs it, and of which all failed that it leads to.
    Missing(&'q Failed<'q>),
}

/// A point of which nothing came.
pub struct Failed<'q> {
    /// What was left of it when nothing came of it.
    pub components: &'q [Component],
    /// The aliases on the way, the asked one first.
    pub through: &'q [&'q Alias],
    /// Whether that is no error.
    pub optional: bool,
    pub(in crate::query::systemtap) behind: &'q [Vec<Component>],
    pub(in crate::query::systemtap) view: &'q View<'q>,
    known: Option<Error>,
}

impl Failed<'_> {
    /// Why. Cost: where it is not known by now, a look at what there is instead.
    pub fn why(&self) -> Error {
        self.known.clone().unwrap_or_else(|| built_in::absent(self.view, self.components))
    }
    /// The same without what is near. Cost: little, so that it can be asked of every point of a library.
    pub fn briefly(&self) -> String {
        let known = self.known.as_ref().map(|error| error.message().to_owned());
        known.or_else(|| built_in::unknown_function(self.view, self.components)).unwrap_or_else(|| {
            let why = self.why();
            why.message().to_owned()
        })
    }
    /// The point, with its dots.
    pub fn point(&self) -> String {
        built_in::spelled(self.components)
    }
}

/// What is called with each point.
pub type Visit<'v> = dyn FnMut(Visited<'_>) -> Result<()> + 'v;

/// Calls `each` with every probe of a point, in the order in which SystemTap makes them, and gives whether there was one.
///
/// # Errors
/// Those of [`Definitions::expand`], and whatever `each` gives.
pub fn derive(
    view: View<'_>,
    definitions: &Definitions<'_>,
    point: &Point,
    each: &mut dyn FnMut(Derived<'_>) -> Result<()>,
) -> Result<bool> {
    Deriver::new(view, definitions).derive(point, each)
}

/// Makes probes of points. One is used for many questions: it keeps what SystemTap leaves out.
pub struct Deriver<'a, 'd> {
    view: View<'a>,
    definitions: &'d Definitions<'d>,
    probed: Probed<'a>,
}

impl<'a, 'd> Deriver<'a, 'd> {
    /// Looks up what SystemTap leaves out of vmlinux.
    pub fn new(view: View<'a>, definitions: &'d Definitions<'d>) -> Self {
        Self { view, definitions, probed: Probed::new(view) }
    }

    /// As [`derive()`].
    ///
    /// # Errors
    /// The same.
    pub fn derive(&mut self, point: &Point, each: &mut dyn FnMut(Derived<'_>) -> Result<()>) -> Result<bool> {
        self.visit(point, &mut |visited| match visited {
            Visited::Derived(derived) => each(derived),
            Visited::Failed(_) | Visited::Missing(_) => Ok(()),
        })
    }

    /// The same with the points of which nothing came.
    ///
    /// # Errors
    /// The same.
    pub fn visit(&mut self, point: &Point, each: &mut Visit<'_>) -> Result<bool> {
        let definitions = self.definitions;
        let mut stopped = None;
        let found = definitions.walk(point, |met| {
            let found = match met {
                _ if stopped.is_some() => Ok(false),
                Met::Leaf(leaf) => self.leaf(leaf, each),
                Met::Missing(leaf) => self.missing(leaf, each),
            };
            found.unwrap_or_else(|error| {
                stopped = Some(error);
                false
            })
        })?;
        stopped.map_or(Ok(found), Err)
    }

    fn missing(&self, leaf: Leaf<'_>, each: &mut Visit<'_>) -> Result<bool> {
        let Leaf { components, through, behind, optional, .. } = leaf;
        let alias = through.last().and_then(|alias| alias.names.first()).map(Point::to_string);
        let point = built_in::spelled(components);
        let why = format!("nothing matches {point}, which {} needs", alias.unwrap_or_default());
        let known = Some(Error::new(crate::error::ErrorKind::NoMatch, why));
        each(Visited::Missing(&Failed { components, through, behind, optional, view: &self.view, known }))?;
        Ok(false)
    }

    fn leaf(&mut self, leaf: Leaf<'_>, each: &mut Visit<'_>) -> Result<bool> {
        let mut name = None;
        let (mut found, mut stopped, mut why) = (false, None, None);
        let known = forms::each(leaf.components, &mut |components| {
            let mut derived = |point: &[u8], place: Place<'_>| {
                found = true;
                let marked;
                let name = match name.get_or_insert_with(|| self::name(&leaf)) {
                    Some(name) => name.as_slice(),
                    None if leaf.mark.is_empty() => point,
                    // As `probe_point::print` of 4.8: `vm.*.*` lists the points of `vm.brk` with their marks.
                    None => {
                        marked = [point, leaf.mark.as_bytes()].concat();
                        marked.as_slice()
                    }
                };
                let Leaf { through, behind, conditions, .. } = leaf;
                let view = &self.view;
                let derived = Derived { name, point, through, conditions, place, behind, view };
                each(Visited::Derived(derived)).map_err(|error| {
                    let message = error.message().to_owned();
                    stopped = Some(error);
                    Error::new(crate::error::ErrorKind::NoMatch, message)
                })
            };
            let system_map = self.definitions.system_map();
            let places = built_in::each(self.view, &mut self.probed, components, system_map, &mut derived);
            if let Err(error) = places {
                why = Some(error);
            }
        });
        if let Some(error) = stopped {
            return Err(error);
        }
        if !found {
            let Leaf { components, through, behind, optional, .. } = leaf;
            let (view, known) = (&self.view, known.err().or(why));
            each(Visited::Failed(&Failed { components, through, behind, optional, view, known }))?;
        }
        Ok(found)
    }
}

/// The name of the first alias on the way whose components are known; `None` if there is none.
fn name(leaf: &Leaf<'_>) -> Option<Vec<u8>> {
    let mut through = leaf.through.iter().zip(leaf.behind);
    through.find_map(|(alias, wanted)| {
        let is_known = !wanted.iter().any(|c| c.name.contains('*'));
        let name = alias.names.first().filter(|_| is_known)?;
        let all = name.components.iter().chain(wanted).map(Component::to_string);
        Some(all.collect::<Vec<_>>().join(".").into_bytes())
    })
}
