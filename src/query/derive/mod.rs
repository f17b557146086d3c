//! From a point of a script to the probes that SystemTap makes of it on this kernel.
//!
//! A point leads through aliases to points that SystemTap knows by itself ([`forms`]), and each of those to places of the
//! kernel. The rules are those of SystemTap 4.8: `derive_probes` and `match_node::find_and_build` (elaborate.cxx),
//! the builders of tapsets.cxx.
//!
//! | module | what it is for |
//! | --- | --- |
//! | [`forms`] | the points that SystemTap knows by itself |
//! | [`built_in`] | from those to places |
//! | [`here`] | what a handler sees at a place |
//! | `locals` | what aliases give to a handler |
//! | `listing` | probes as SystemTap lists them |
//! | `placements` | probes to placements with verdicts |
mod built_in;
pub mod forms;
pub mod here;
mod listing;
mod locals;
mod members;
mod placements;

pub use built_in::Tracepoint;
pub use here::Here;
pub use listing::Listing;
pub use locals::{Broken, Local, Locals, Saved};
pub use placements::Placements;

use super::listing::{Probed, Seen};
use crate::error::{Error, Result};
use crate::tapset::Definitions;
use crate::tapset::ast::{Alias, Component, Expression, Point, Statement};
use crate::tapset::expand::Leaf;
use probeidx_format::View;
use probeidx_format::id::{ObjectId, SymbolId};
use std::sync::Arc;

/// One probe, as SystemTap's `derived_probe`: it runs at one place.
#[derive(Clone, Copy)]
pub struct Derived<'q> {
    /// Under which name SystemTap lists it: that of the first alias on the way, with what was wanted behind it, else
    /// the point (`derived_probe::script_location`).
    pub name: &'q [u8],
    /// The point in its canonical spelling: `kernel.function("vfs_read@fs/read_write.c:450")`.
    pub point: &'q [u8],
    /// The aliases on the way, the asked one first.
    pub through: &'q [&'q Alias],
    /// What has to hold for the handler to run.
    pub conditions: &'q [Arc<Expression>],
    pub place: Place<'q>,
    pub(super) view: View<'q>,
}

/// Where a probe runs.
#[derive(Clone, Copy, Debug)]
pub enum Place<'q> {
    /// Code that the debug information describes; at the return of the function, or not.
    Code { object: ObjectId, seen: Seen<'q>, returns: bool },
    /// A function of which only the symbol is known, or asked (`kprobe.function`).
    Symbol { object: ObjectId, symbol: SymbolId, returns: bool },
    /// A tracepoint of the kernel.
    Trace(Tracepoint<'q>),
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
    pub fn here(&self) -> Here<'q> {
        Here::new(self.view, self.place)
    }
}

/// What became of a point that no alias names.
pub enum Visited<'q> {
    /// A probe: there can be many of one point.
    Derived(Derived<'q>),
    /// Nothing is there.
    Failed(Failed<'q>),
}

/// A point of which nothing came.
pub struct Failed<'q> {
    pub components: &'q [Component],
    pub through: &'q [&'q Alias],
    /// Whether that is no error.
    pub optional: bool,
    pub why: Error,
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

    /// As [`derive`].
    ///
    /// # Errors
    /// The same.
    pub fn derive(&mut self, point: &Point, each: &mut dyn FnMut(Derived<'_>) -> Result<()>) -> Result<bool> {
        self.visit(point, &mut |visited| match visited {
            Visited::Derived(derived) => each(derived),
            Visited::Failed(_) => Ok(()),
        })
    }

    /// The same with the points of which nothing came.
    ///
    /// # Errors
    /// The same.
    pub fn visit(&mut self, point: &Point, each: &mut Visit<'_>) -> Result<bool> {
        let definitions = self.definitions;
        let mut stopped = None;
        let found = definitions.expand(point, |leaf| {
            let found = if stopped.is_none() { self.leaf(leaf, each) } else { Ok(false) };
            found.unwrap_or_else(|error| {
                stopped = Some(error);
                false
            })
        })?;
        stopped.map_or(Ok(found), Err)
    }

    fn leaf(&mut self, leaf: Leaf<'_>, each: &mut Visit<'_>) -> Result<bool> {
        let name = name(&leaf);
        let (mut found, mut stopped, mut why) = (false, None, None);
        let known = forms::each(leaf.components, &mut |components| {
            let mut derived = |point: &[u8], place: Place<'_>| {
                found = true;
                let name = name.as_deref().unwrap_or(point);
                let Leaf { through, conditions, .. } = leaf;
                let derived = Derived { name, point, through, conditions, place, view: self.view };
                each(Visited::Derived(derived)).map_err(|error| {
                    let message = error.message().to_owned();
                    stopped = Some(error);
                    Error::new(crate::error::ErrorKind::NoMatch, message)
                })
            };
            if let Err(error) = built_in::each(self.view, &mut self.probed, components, &mut derived) {
                why = Some(error);
            }
        });
        if let Some(error) = stopped {
            return Err(error);
        }
        if !found {
            let absent = || built_in::absent(&self.view, leaf.components);
            let why = known.err().or(why).unwrap_or_else(absent);
            let Leaf { components, through, optional, .. } = leaf;
            each(Visited::Failed(Failed { components, through, optional, why }))?;
        }
        Ok(found)
    }
}

/// The name of the first alias on the way whose components are known; `None` if there is none.
fn name(leaf: &Leaf<'_>) -> Option<Vec<u8>> {
    let mut through = leaf.through.iter().zip(leaf.behind);
    through.find_map(|(alias, behind)| {
        let wanted = &leaf.components[leaf.components.len().saturating_sub(*behind)..];
        let is_known = !wanted.iter().any(|c| c.name.contains('*'));
        let name = alias.names.first().filter(|_| is_known)?;
        let all = name.components.iter().chain(wanted).map(Component::to_string);
        Some(all.collect::<Vec<_>>().join(".").into_bytes())
    })
}
