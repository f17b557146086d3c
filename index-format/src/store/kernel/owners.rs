//! The object or unit that something of a kernel belongs to.
use super::Kernel;
use super::starts::Starts;
use crate::id::{ObjectId, PlaceId, SymbolId, UnitId};
use crate::record::*;
use crate::store::runs::Hint;
use crate::store::segment::{Part, Space};
use crate::store::translate::{Shared, Translate};
use zerocopy::byteorder::little_endian::U32;

impl Kernel<'_> {
    /// Where an object's part of a space starts, given the shared number. Cost: a search for each once.
    #[cold]
    #[inline(never)]
    pub(crate) fn start_of(
        &self,
        object: ObjectId,
        space: Space,
        first: impl Fn(&ObjectRecord) -> U32,
    ) -> Option<u32> {
        let start = || {
            let (_, row) = self.stored::<ObjectRecord>(object.get(), &mut Hint::default())?;
            Some(self.number(space, first(&row).get()))
        };
        let length = self.length(Space::Objects);
        if u64::from(length) > self.rows(Part::Objects) {
            return start();
        }
        *self.starts[space as usize].get(object.get(), length, start)?
    }
    /// The object that a placement belongs to. Cost: a binary search.
    #[cold]
    #[inline(never)]
    pub(crate) fn object_of_place(&self, place: PlaceId) -> ObjectId {
        let first = |object: ObjectRecord| object.first_place;
        ObjectId::new(self.owner(&self.places_of_objects, Space::PlaceIds, first, place.get()))
    }
    /// The object that a symbol belongs to. Cost: a binary search.
    #[cold]
    #[inline(never)]
    pub(crate) fn object_of_symbol(&self, symbol: SymbolId) -> ObjectId {
        let first = |object: ObjectRecord| object.first_symbol;
        ObjectId::new(self.owner(&self.symbols_of_objects, Space::Symbols, first, symbol.get()))
    }
    /// The unit that a placement belongs to. Cost: a binary search.
    #[cold]
    #[inline(never)]
    pub(crate) fn unit_of_place(&self, place: PlaceId) -> UnitId {
        let first = |unit: UnitRecord| unit.first_place;
        UnitId::new(self.owner(&self.places_of_units, Space::PlaceIds, first, place.get()))
    }
    /// The record that holds a number of another space, given where each starts there.
    fn owner<R: Shared>(&self, starts: &Starts, space: Space, first: impl Fn(R) -> U32, number: u32) -> u32 {
        let start = |at: u32| {
            let stored = self.stored::<R>(at, &mut Hint::default());
            stored.map_or(u32::MAX, |(_, row)| self.number(space, first(row).get()))
        };
        starts.up_to(self.length(R::SPACE), number, start).saturating_sub(1) as u32
    }
}
