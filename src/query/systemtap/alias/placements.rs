//! Turns probes into placements with verdicts.
use crate::error::Result;
use crate::query::index::functions::{self, Placed, Scope};
use crate::query::resolve::placement::{Describer, Placement, Wanted};
use crate::query::systemtap::derive::{Derived, Place};
use crate::query::verdict::coverage::Coverage;
use probeidx_format::View;
use probeidx_format::id::{FunctionId, ObjectId};
use rustc_hash::FxHashMap;
use std::rc::Rc;

/// Describes the placements of probes. Reuse one for all probes with the same options.
pub struct Placements<'a, 'w> {
    view: &'a View<'a>,
    at_entry: Describer<'a, 'w>,
    at_return: Describer<'a, 'w>,
    coverage: FxHashMap<(ObjectId, FunctionId), Rc<Coverage>>,
}

impl<'a, 'w> Placements<'a, 'w> {
    /// With an empty cache.
    pub fn new(view: &'a View<'a>, wanted: Wanted<'w>) -> Self {
        Self {
            view,
            at_entry: Describer::new(view, wanted, false),
            at_return: Describer::new(view, wanted, true),
            coverage: FxHashMap::default(),
        }
    }

    /// The placement of a probe; `None` if it has none.
    ///
    /// # Errors
    /// Those of reading the requested values.
    pub fn of(&mut self, derived: &Derived<'_>) -> Result<Option<Placement<'a>>> {
        match derived.place {
            Place::Code { object, seen, returns } => {
                let Some(record) = self.view.places.get(seen.placed.id.index()) else { return Ok(None) };
                let placed = Placed { id: seen.placed.id, record };
                let coverage = self.coverage(object, placed);
                let describer = if returns { &mut self.at_return } else { &mut self.at_entry };
                match seen.pc {
                    None => describer.placement(object, placed, coverage),
                    Some(pc) => describer.statement(object, placed, pc),
                }
            }
            Place::Symbol { object, symbol, returns, .. } => {
                let describer = if returns { &mut self.at_return } else { &mut self.at_entry };
                describer.symbol(object, symbol)
            }
            Place::Address { object, pc } => Ok(self.at_entry.within_symbol(object, pc)),
            Place::Trace(_) | Place::Nowhere | Place::Unindexed => Ok(None),
        }
    }

    /// The coverage of a placement's function: of all functions with the same declaration.
    fn coverage(&mut self, object: ObjectId, placed: Placed) -> Rc<Coverage> {
        let Self { view, at_entry, coverage, .. } = self;
        let own = coverage.entry((object, placed.record.function));
        Rc::clone(own.or_insert_with(|| {
            let mut places = vec![placed];
            if let Some(function) = functions::function(view, placed.record)
                && let Some(name) = view.name(view.string(function.name))
                && let Some(declaration) = functions::declarations(view, name, None)
                    .iter()
                    .find(|d| d.file == function.file && d.line == function.line.get())
            {
                let mut scratch = vec![];
                functions::places(view, declaration, &Scope::of(view, object), &mut scratch, |_, own| {
                    own.clone_into(&mut places);
                });
            }
            Rc::new(Coverage::of(view, &at_entry.judge, object, &places))
        }))
    }
}
