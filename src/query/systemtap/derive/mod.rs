//! Derives the probes that SystemTap makes of a script's point on this kernel.
//!
//! A point leads through aliases to built-in points ([`forms`]), and each of those to places of the kernel. The rules
//! are those of SystemTap 4.8 and, where they differ by [`Version`](crate::tapset::Version), of later ones:
//! `derive_probes` and `match_node::find_and_build` (elaborate.cxx), the builders of tapsets.cxx.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`forms`] | the built-in points |
//! | `arguments` | what SystemTap refuses of their arguments |
//! | `built_in` | resolves those to places |
//! | [`handler_context`] | what a handler can see at a place |
//! | `constants` | constants of enumerations, which it sees too |
//! | `member_access`, `location_support` | which variables SystemTap can read, and which parts of them |
mod arguments;
mod built_in;
mod constants;
pub mod forms;
pub mod handler_context;
mod location_support;
mod member_access;

pub use constants::Constants;
pub use handler_context::HandlerContext;

use super::listing::{Probed, Seen};
use crate::error::{Error, Result};
use crate::query::resolve::tracepoint::Tracepoint;
use crate::tapset::Definitions;
use crate::tapset::ast::{Alias, Component, Expression, Point, Statement};
use crate::tapset::expand::{Leaf, Met, Part};
use probeidx_format::View;
use probeidx_format::id::{ObjectId, SymbolId};
use std::sync::Arc;

/// One probe at one place, like SystemTap's `derived_probe`.
#[derive(Clone, Copy)]
pub struct Derived<'q> {
    /// The name under which SystemTap lists it: that of the first alias with the components requested after it, else
    /// the point with its mark (`derived_probe::script_location`).
    pub name: &'q [u8],
    /// The point in its canonical spelling: `kernel.function("vfs_read@fs/read_write.c:450")`.
    pub point: &'q [u8],
    /// The aliases that lead to it, the requested one first.
    pub through: &'q [&'q Alias],
    /// The conditions for the handler to run.
    pub conditions: &'q [Arc<Expression>],
    /// The place where it runs.
    pub place: Place<'q>,
    /// For each alias, the components requested after its name.
    pub(in crate::query::systemtap) behind: &'q [Vec<Component>],
    pub(in crate::query::systemtap) view: &'q View<'q>,
    constants: &'q Constants,
}

/// The place where a probe runs.
#[derive(Clone, Copy)]
pub enum Place<'q> {
    /// Code with debug information.
    Code {
        /// The object that contains it.
        object: ObjectId,
        /// The placement in the debug information.
        seen: Seen,
        /// Whether it runs when the function returns.
        returns: bool,
    },
    /// A function of which only the symbol is known or requested (`kprobe.function`).
    Symbol {
        /// The object that contains it.
        object: ObjectId,
        /// The symbol whose address it runs at.
        symbol: SymbolId,
        /// Whether nothing but the symbol is requested.
        by_name: bool,
        /// Whether it runs when the function returns.
        returns: bool,
    },
    /// An address, whatever is there (`kernel.statement(0xADDR).absolute`).
    Address {
        /// The object that contains it.
        object: ObjectId,
        /// The address.
        pc: u32,
    },
    /// A tracepoint of the kernel.
    Trace(&'q Tracepoint<'q>),
    /// Not at a place of the kernel: `begin`, `timer.s(1)`.
    Nowhere,
    /// Not in the index: a program, or a function of a module that is not indexed.
    Unindexed,
}

impl<'q> Derived<'q> {
    /// The statements that run: the prologues of the aliases, the last one's first, the handler, and the epilogues.
    pub fn handler(&self, body: Option<&'q Statement>) -> Vec<&'q Statement> {
        let prologues = self.through.iter().rev().filter_map(|alias| alias.body.prologue.as_ref());
        let epilogues = self.through.iter().filter_map(|alias| alias.body.epilogue.as_ref());
        prologues.chain(body).chain(epilogues).collect()
    }
    /// The context of the handler.
    pub fn here(&self) -> HandlerContext<'q> {
        HandlerContext::new(self.view, self.place).with_constants(self.constants)
    }
}

/// The result for a point that is not an alias.
pub enum Visited<'q> {
    /// A probe; a point can have many.
    Derived(Derived<'q>),
    /// The point matches nothing.
    Failed(&'q Failed<'q>),
    /// A required point of an alias, all of whose points failed.
    Missing(&'q Failed<'q>),
}

/// A point that gave no probe.
pub struct Failed<'q> {
    /// The components that were left when it failed.
    pub components: &'q [Component],
    /// The aliases that lead to it, the requested one first.
    pub through: &'q [&'q Alias],
    /// Whether failing is allowed.
    pub optional: bool,
    pub(in crate::query::systemtap) behind: &'q [Vec<Component>],
    pub(in crate::query::systemtap) view: &'q View<'q>,
    known: Option<Error>,
}

impl Failed<'_> {
    /// The reason. Cost: a search for similar names if it is not known yet.
    pub fn why(&self) -> Error {
        self.known.clone().unwrap_or_else(|| built_in::absent(self.view, self.components))
    }
    /// The reason without similar names. Cheap enough for every point of a library.
    pub fn briefly(&self) -> String {
        let known = self.known.as_ref().map(|error| error.message().to_owned());
        known.or_else(|| built_in::unknown_function(self.view, self.components)).unwrap_or_else(|| {
            let why = self.why();
            why.message().to_owned()
        })
    }
    /// The point, as its components joined by dots.
    pub fn point(&self) -> String {
        built_in::spelled(self.components)
    }
}

/// Called with each point.
pub type Visit<'v> = dyn FnMut(Visited<'_>) -> Result<()> + 'v;

/// Calls `each` with every probe of a point, in SystemTap's order. Returns whether there was one.
///
/// # Errors
/// Those of [`Definitions::expand`], and any error of `each`.
pub fn derive(
    view: &View<'_>,
    definitions: &Definitions<'_>,
    point: &Point,
    each: &mut dyn FnMut(Derived<'_>) -> Result<()>,
) -> Result<bool> {
    Deriver::new(view, definitions).derive(point, each)
}

/// Derives probes. Reuse one for many points: it caches SystemTap's blocklist, and constants of the kernel.
pub struct Deriver<'a, 'd> {
    view: &'a View<'a>,
    definitions: &'d Definitions<'d>,
    probed: Probed<'a>,
    constants: Arc<Constants>,
    guru: bool,
}

impl<'a, 'd> Deriver<'a, 'd> {
    /// Looks up SystemTap's blocklist for vmlinux.
    pub fn new(view: &'a View<'a>, definitions: &'d Definitions<'d>) -> Self {
        Self::sharing(view, definitions, Arc::default())
    }

    /// Like [`Self::new`]; shares what is found out about constants.
    pub fn sharing(view: &'a View<'a>, definitions: &'d Definitions<'d>, constants: Arc<Constants>) -> Self {
        Self { view, definitions, probed: Probed::new(view), constants, guru: false }
    }

    /// The same, as with `stap -g`.
    pub fn guru(self, guru: bool) -> Self {
        Self { guru, ..self }
    }

    /// Like [`derive()`].
    ///
    /// # Errors
    /// Those of [`derive()`].
    pub fn derive(&mut self, point: &Point, each: &mut dyn FnMut(Derived<'_>) -> Result<()>) -> Result<bool> {
        self.derive_part(&Part::whole(point), each)
    }

    /// Like [`derive()`], for a [part](Definitions::parts) of a point.
    ///
    /// # Errors
    /// Those of [`derive()`].
    pub fn derive_part(
        &mut self,
        part: &Part<'_>,
        each: &mut dyn FnMut(Derived<'_>) -> Result<()>,
    ) -> Result<bool> {
        self.visit_part(part, &mut |visited| match visited {
            Visited::Derived(derived) => each(derived),
            Visited::Failed(_) | Visited::Missing(_) => Ok(()),
        })
    }

    /// Like [`derive()`], and also calls `each` with the points that failed.
    ///
    /// # Errors
    /// Those of [`derive()`].
    pub fn visit(&mut self, point: &Point, each: &mut Visit<'_>) -> Result<bool> {
        self.visit_part(&Part::whole(point), each)
    }

    fn visit_part(&mut self, part: &Part<'_>, each: &mut Visit<'_>) -> Result<bool> {
        let definitions = self.definitions;
        let mut stopped = None;
        let found = definitions.walk(part, |met| {
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
        each(Visited::Missing(&Failed { components, through, behind, optional, view: self.view, known }))?;
        Ok(false)
    }

    fn leaf(&mut self, leaf: Leaf<'_>, each: &mut Visit<'_>) -> Result<bool> {
        let mut name = None;
        let (mut found, mut stopped, mut why) = (false, None, None);
        let definitions = self.definitions;
        let known = forms::each(definitions.version(), leaf.components, &mut |components| {
            let mut derived = |point: &[u8], place: Place<'_>| {
                found = true;
                let marked;
                let name = match name.get_or_insert_with(|| self::name(&leaf)) {
                    Some(name) => name.as_slice(),
                    None if leaf.mark.is_empty() => point,
                    // Like `probe_point::print` of 4.8: `vm.*.*` lists the points of `vm.brk` with their marks.
                    None => {
                        marked = [point, leaf.mark.as_bytes()].concat();
                        marked.as_slice()
                    }
                };
                let Leaf { through, behind, conditions, .. } = leaf;
                let (view, constants) = (&self.view, &self.constants);
                let derived = Derived { name, point, through, conditions, place, behind, view, constants };
                each(Visited::Derived(derived)).map_err(|error| {
                    let message = error.message().to_owned();
                    stopped = Some(error);
                    Error::new(crate::error::ErrorKind::NoMatch, message)
                })
            };
            let places = arguments::check(components, self.guru).and_then(|()| {
                built_in::each(self.view, &mut self.probed, components, definitions, &mut derived)
            });
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

/// The name of the first alias with known components; `None` if there is none.
fn name(leaf: &Leaf<'_>) -> Option<Vec<u8>> {
    let mut through = leaf.through.iter().zip(leaf.behind);
    through.find_map(|(alias, wanted)| {
        let is_known = !wanted.iter().any(|c| c.name.contains('*'));
        let name = alias.names.first().filter(|_| is_known)?;
        let all = name.components.iter().chain(wanted).map(Component::to_string);
        Some(all.collect::<Vec<_>>().join(".").into_bytes())
    })
}
