//! What placements hold one address after another: those of a function are read once for all of its rows.
use super::functions::{self, Placed};
use probeidx_format::View;
use probeidx_format::details::Range;
use probeidx_format::id::{ObjectId, PlaceId};
use probeidx_format::record::{FunctionRecord, RangeRecord};
use probeidx_format::table::Table;

/// The placements of the function that held the last address.
pub struct HeldPlaces<'v, 'a> {
    view: &'v View<'a>,
    object: ObjectId,
    functions: Table<'a, RangeRecord>,
    /// Where what is known holds.
    known: Range,
    /// The function, which comes first, and its inline instances. An instance comes after what it is inlined into.
    places: Vec<Held>,
}

/// A placement of the function.
pub struct Held {
    /// The placement.
    pub placed: Placed,
    /// Its function.
    pub function: Option<FunctionRecord>,
    /// The position of the placement into which it is inlined, but for the first.
    outer: usize,
    ranges: Vec<Range>,
}

impl<'v, 'a> HeldPlaces<'v, 'a> {
    /// Those of an object; nothing is read yet.
    pub fn new(view: &'v View<'a>, object: ObjectId) -> Self {
        let known = Range { start: 0, end: 0 };
        Self { view, object, functions: view.ranges_of(object), known, places: vec![] }
    }
    /// The placements that hold an address, the innermost first: see [`functions::holding`]. Cost: linear in the inline instances
    /// of the function; if that did not hold the last address, a binary search, and they are read.
    pub fn at(&mut self, pc: u32) -> impl Iterator<Item = &Held> {
        if !self.known.contains(pc) {
            self.read(pc);
        }
        let mut innermost = (!self.places.is_empty()).then_some(0);
        for (at, held) in self.places.iter().enumerate().skip(1) {
            if innermost == Some(held.outer) && held.ranges.iter().any(|range| range.contains(pc)) {
                innermost = Some(at);
            }
        }
        let outer = |at: &usize| (*at > 0).then(|| self.places[*at].outer);
        std::iter::successors(innermost, outer).map(|at| &self.places[at])
    }
    fn read(&mut self, pc: u32) {
        self.places.clear();
        let after = self.functions.partition_point_of_key(|r| r.start.get() <= pc);
        let next = self.functions.get(after).map_or(u32::MAX, |next| next.start.get());
        self.known = Range { start: pc, end: next };
        let Some(range) = self.functions.up_to(after).last().filter(|range| pc < range.end.get()) else {
            return;
        };
        self.known = Range { start: range.start.get(), end: next.min(range.end.get()) };
        let Some(record) = self.view.places.get(range.place.index()) else { return };
        let root = Placed { id: range.place, record };
        self.push(root, 0);
        for at in root.id.index() + 1..self.view.places_of(self.object).end {
            let inner = Placed { id: PlaceId::new(at as u32), record: self.view.places.at(at) };
            let Some(outer) = self.view.outer(inner.id, inner.record) else { break };
            // Placements are numbered in the order of the debug information.
            let outer = self.places.binary_search_by_key(&outer, |held| held.placed.id);
            if let Ok(outer) = outer {
                self.push(inner, outer);
            }
        }
    }
    fn push(&mut self, placed: Placed, outer: usize) {
        let function = functions::function(self.view, placed.record);
        let ranges = match self.places.is_empty() {
            // It was found by one of them.
            true => vec![],
            false => self.view.details(placed.id, placed.record).ranges.collect(),
        };
        self.places.push(Held { placed, function, outer, ranges });
    }
}
