//! Trees of placements: one out of line, and those that are inlined into it, which follow it in the table.
//!
//! A tree is the same in both kernels if its ids follow one another in both, with equal rows: the outer placement is a distance in
//! the row. So what is not the same is found where runs break.
use super::super::Both;
use super::super::addresses::Window;
use super::Marked;
use crate::query::index::functions::{self, Placed};
use probeidx_format::id::{ObjectId, PlaceId};
use probeidx_format::store::Space;
use probeidx_format::store::common::Which;
use rustc_hash::FxHashSet;
use std::ops::Range;

/// Collects the functions of trees that are not the same, and the code of these.
pub struct Trees<'a, 'n> {
    both: &'n Both<'a>,
    names: &'n mut Marked,
    /// The trees that were found, by their first placements.
    known: [FxHashSet<u32>; 2],
    /// Where an address may belong to another function than before, or be gone.
    pub windows: Vec<Window>,
}

impl<'a, 'n> Trees<'a, 'n> {
    /// None yet.
    pub fn new(both: &'n Both<'a>, names: &'n mut Marked) -> Self {
        Self { both, names, known: Default::default(), windows: vec![] }
    }
    /// Those with other placements, or with one that is described in another way.
    pub fn changed(&mut self) {
        let (ids, rows) = (self.both.common(Space::PlaceIds), self.both.common(Space::Places));
        for which in Which::BOTH {
            // A break before a placement out of line is one between trees.
            let within: Vec<u32> = ids.breaks(which).filter(|at| self.is_inlined(which, *at)).collect();
            self.trees_of(which, within.into_iter());
            self.trees_of(which, ids.only(which).flatten());
        }
        for (new, old) in ids.changed(&rows) {
            let pair = [self.placed(Which::Old, old), self.placed(Which::New, new)];
            let [Some(one), Some(other)] = pair else { continue };
            let both = self.both;
            let outer =
                |which: Which, placed: Placed| both.view(which).details(placed.id, placed.record).outer;
            let moved = outer(Which::Old, one) != outer(Which::New, other);
            for (which, placed) in Which::BOTH.into_iter().zip([one, other]) {
                self.name(which, placed);
                self.code(which, placed);
                if moved {
                    self.tree_of(which, placed.id.get());
                }
            }
        }
    }
    /// Those with code in a window, which is kept.
    pub fn around(&mut self, window: Window) {
        let view = self.both.view(window.which);
        let ranges = view.ranges_of(window.object);
        let first = ranges.partition_point_of_key(|r| r.start.get() < window.pcs.start);
        for range in ranges.from(first.saturating_sub(1)).iter() {
            if range.start.get() >= window.pcs.end {
                break;
            }
            if range.end.get() > window.pcs.start {
                self.tree_of(window.which, range.place.get());
            }
        }
        self.windows.push(window);
    }

    fn placed(&self, which: Which, at: u32) -> Option<Placed> {
        let record = self.both.view(which).places.get(at as usize)?;
        Some(Placed { id: PlaceId::new(at), record })
    }
    fn is_inlined(&self, which: Which, at: u32) -> bool {
        self.placed(which, at).is_some_and(|placed| placed.is_inline(self.both.view(which)))
    }
    /// The trees of placements, which ascend.
    fn trees_of(&mut self, which: Which, all: impl Iterator<Item = u32>) {
        let mut end = 0;
        for at in all {
            if at >= end {
                end = self.tree_of(which, at);
            }
        }
    }
    /// The tree of a placement; returns where it ends, if it was not known.
    fn tree_of(&mut self, which: Which, at: u32) -> u32 {
        let view = self.both.view(which);
        let Some(placed) = self.placed(which, at) else { return 0 };
        let root = functions::root(view, placed);
        if !self.known[which as usize].insert(root.id.get()) {
            return 0;
        }
        self.name(which, root);
        self.code(which, root);
        let mut end = root.id.get() + 1;
        while let Some(next) = self.placed(which, end).filter(|next| next.is_inline(view)) {
            self.name(which, next);
            end += 1;
        }
        end
    }
    fn name(&mut self, which: Which, placed: Placed) {
        self.names.function(self.both.view(which), placed.record.function);
    }
    /// The addresses of a placement.
    fn code(&mut self, which: Which, placed: Placed) {
        let view = self.both.view(which);
        let object = view.object_of_place(placed.id);
        let ranges = view.details(placed.id, placed.record).ranges;
        self.windows.extend(ranges.map(|range| Window { which, object, pcs: range.start..range.end }));
    }
}

/// Windows of one kernel, to be asked for addresses.
pub struct Windows(Vec<(ObjectId, Range<u32>)>);

impl Windows {
    /// Those of a kernel. Cost: sorts them.
    pub fn of(which: Which, all: &[Window]) -> Self {
        let own = all.iter().filter(|window| window.which == which && !window.pcs.is_empty());
        let mut sorted: Vec<_> = own.map(|window| (window.object, window.pcs.clone())).collect();
        sorted.sort_unstable_by_key(|(object, pcs)| (*object, pcs.start));
        let mut joined: Vec<(ObjectId, Range<u32>)> = vec![];
        for (object, pcs) in sorted {
            match joined.last_mut() {
                Some((last, before)) if *last == object && pcs.start <= before.end => {
                    before.end = before.end.max(pcs.end);
                }
                _ => joined.push((object, pcs)),
            }
        }
        Self(joined)
    }
    /// Whether one has this address. Cost: a binary search.
    pub fn have(&self, object: ObjectId, pc: u32) -> bool {
        let after = self.0.partition_point(|(of, pcs)| (*of, pcs.start) <= (object, pc));
        let before = after.checked_sub(1).map(|at| &self.0[at]);
        before.is_some_and(|(of, pcs)| *of == object && pcs.contains(&pc))
    }
}
