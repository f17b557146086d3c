//! The tables of a kernel: each record is fetched from its row, and translated from shared numbers.
use super::{END, Kernel};
use crate::details::Details;
use crate::id::{FunctionId, Pc, PlaceId};
use crate::kept::Kept;
use crate::record::*;
use crate::records::{KeptRows, Records};
use crate::store::moved::Moved;
use crate::store::record::*;
use crate::store::runs::{Hint, Hints};
use crate::store::segment::{Part, Space};
use crate::store::translate::{Shared, Translate};
use crate::table::{Piece, Rows, Search, Table};
use std::cell::Cell;
use std::ops::Range;
use zerocopy::FromZeros;

impl<'a> Kernel<'a> {
    /// The row of a record as it is stored, and its number.
    #[inline]
    pub fn stored<R: Shared>(&self, at: u32, hint: &mut Hint) -> Option<(u32, R)> {
        let row = self.levels.there(R::SPACE, at, hint)?;
        Some((row, self.raw(R::PART, row)?))
    }
    /// The rows of a table as they are stored, with their numbers, in the kernel's order.
    pub fn all_stored<R: Shared>(&self) -> impl Iterator<Item = (u32, R)> {
        let mut hint = Hint::default();
        (0..self.length(R::SPACE)).filter_map(move |at| self.stored(at, &mut hint))
    }
    /// A record.
    #[inline]
    pub fn record<R: Shared>(&self, at: u32, hint: &mut Hint) -> Option<R> {
        Some(self.stored::<R>(at, hint)?.1.translate(self))
    }
    /// A table of this kernel.
    pub fn table<'k, R: Shared>(&'k self) -> Table<'k, R>
    where
        'a: 'k,
    {
        Table::of_rows(self, self.length(R::SPACE))
    }
    /// A table whose records are kept.
    pub fn records<R: Shared>(&self) -> Records<'_, R>
    where
        Self: KeptRows<R>,
    {
        Records::of_rows(self, self.length(R::SPACE))
    }
    /// A record that is not [beside](Self::beside) others.
    #[inline(never)]
    pub(super) fn searched<R: Shared>(&self, at: u32, hints: &mut Hints) -> Option<R> {
        let (_, stored) = self.stored::<R>(at, &mut hints.rows)?;
        Some(self.near(hints, |near| stored.translate(near)))
    }
    #[inline]
    fn near<R>(&self, hints: &mut Hints, translated: impl FnOnce(&Near<'_, 'a>) -> R) -> R {
        let near = Near { kernel: self, pcs: Cell::new(hints.pcs) };
        let record = translated(&near);
        hints.pcs = near.pcs.get();
        record
    }
    fn make<'k, R: Shared>(&'k self, kept: &'k Kept<R>, at: u32) -> Option<&'k R> {
        let record = || self.record(at, &mut Hint::default()).unwrap_or_else(R::new_zeroed);
        kept.get(at, self.length(R::SPACE), record)
    }
    /// The details of a placement.
    #[cold]
    #[inline(never)]
    pub(crate) fn details<'k>(&'k self, id: PlaceId, place: PlaceRecord) -> Details<'k> {
        // Details are relative to the shared entry.
        let stored = self.stored::<PlaceRecord>(id.get(), &mut Hint::default());
        let entry = stored.map_or(Pc::new(0), |(_, place)| place.entry);
        Details::read_moved(self.bytes(Part::PlaceDetails, place.details.get()), entry, Moved::by(self))
    }
    /// The placements of a function.
    #[cold]
    #[inline(never)]
    pub(crate) fn postings(&self, function: FunctionId) -> Table<'_, PlaceId> {
        let firsts: Table<'_, PostingRecord> = self.table();
        let first = |at: usize| firsts.get(at).map(|f| f.first.get() as usize);
        let all: Table<'_, PlaceId> = self.table();
        let range = first(function.index()).zip(first(function.index() + 1));
        all.part(range.map_or(0..0, |(start, end)| start..end))
    }
}

/// From shared numbers to those of this kernel.
impl Translate for Kernel<'_> {
    #[inline]
    fn string(&self, id: u32) -> u32 {
        id
    }
    #[inline]
    fn number(&self, space: Space, number: u32) -> u32 {
        match number {
            END => self.length(space),
            _ => self.levels.back(space, number).unwrap_or(u32::MAX),
        }
    }
    #[inline]
    fn pc(&self, pc: u32) -> u32 {
        self.levels.back(Space::Pcs, pc).unwrap_or(u32::MAX)
    }
    #[inline]
    fn line(&self, file: u32, line: u32) -> u32 {
        self.lines.line(file, line)
    }
}

/// As the kernel, with the run of addresses that was found last.
struct Near<'k, 'a> {
    kernel: &'k Kernel<'a>,
    pcs: Cell<Hint>,
}

impl Translate for Near<'_, '_> {
    #[inline]
    fn string(&self, id: u32) -> u32 {
        id
    }
    #[inline]
    fn number(&self, space: Space, number: u32) -> u32 {
        self.kernel.number(space, number)
    }
    #[inline]
    fn pc(&self, pc: u32) -> u32 {
        let mut hint = self.pcs.get();
        let own = self.kernel.levels.address(pc, &mut hint);
        self.pcs.set(hint);
        own.unwrap_or(u32::MAX)
    }
    #[inline]
    fn line(&self, file: u32, line: u32) -> u32 {
        self.kernel.line(file, line)
    }
}

impl<R: Shared> Rows<R> for Kernel<'_> {
    fn row(&self, at: u32, hints: &mut Hints) -> Option<R> {
        self.beside(at, hints).or_else(|| self.searched(at, hints))
    }
    fn packed(&self, at: u32) -> Option<Piece<'_>> {
        let row = self.levels.there(R::SPACE, at, &mut Hint::default())?;
        Some(self.piece(R::PART, row, 1, Some(at)))
    }
    fn key(&self, at: u32, hints: &mut Hints) -> Option<R> {
        if let Some(record) = self.beside(at, hints) {
            return Some(record);
        }
        let (_, stored) = self.stored::<R>(at, &mut hints.rows)?;
        Some(self.near(hints, |near| stored.translate_key(near)))
    }
    fn start_of_search(&self, part: Range<u32>) -> Option<Search> {
        let (number, row) = self.searches.start(R::SPACE)?;
        let near = row.and_then(|row| self.levels.back(R::SPACE, row));
        Some(Search { number, near: near.filter(|near| part.contains(near)) })
    }
    fn end_of_search(&self, search: Search, last: u32, hints: &mut Hints) {
        if let Some(row) = self.levels.there(R::SPACE, last, &mut hints.rows) {
            let distance = search.near.map(|near| near.abs_diff(last));
            self.searches.end(R::SPACE, search.number, row, distance);
        }
    }
    fn pieces(&self, part: Range<u32>) -> Vec<Piece<'_>> {
        self.pieces_of(R::SPACE, R::PART, part)
    }
    fn position(&self, row: u32) -> Option<u32> {
        self.levels.back(R::SPACE, row)
    }
}

impl KeptRows<ObjectRecord> for Kernel<'_> {
    fn kept(&self, at: u32) -> Option<&ObjectRecord> {
        self.objects.get(at, self.length(Space::Objects), || {
            let record = self.record(at, &mut Hint::default()).unwrap_or_else(ObjectRecord::new_zeroed);
            let ids = self.own().part(Part::BuildIds).as_chunks().0;
            let build_id = ids.get(at as usize).copied().unwrap_or_default();
            let first_refused = self.own().rows::<PostingRecord>(Part::FirstRefused).at(at as usize).first;
            ObjectRecord { build_id, first_refused, ..record }
        })
    }
}

impl KeptRows<UnitRecord> for Kernel<'_> {
    fn kept(&self, at: u32) -> Option<&UnitRecord> {
        self.make(&self.units, at)
    }
}

impl KeptRows<TracepointRecord> for Kernel<'_> {
    fn kept(&self, at: u32) -> Option<&TracepointRecord> {
        self.make(&self.tracepoints, at)
    }
}
