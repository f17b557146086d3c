//! A kernel of a store: rows of all segments of its chain, in its own numbering.
use super::assembled::Assembled;
use super::later::Later;
use super::levels::Levels;
use super::line_runs::Lines;
use super::named::Ranks;
use super::open::{BySegment, Open};
use super::patch::{self, Patch};
use super::patched::Patched;
use super::recent::Searches;
use super::record::*;
use super::runs::{Hint, Hints};
use super::segment::{Blob, Entry, Free, Part, Segment, SegmentId, Space};
use super::side_by_side::SideBySide;
use super::starts::Starts;
use super::translate::{Shared, Translate};
use crate::details::Details;
use crate::error::{Error, Result};
use crate::id::{FunctionId, ObjectId, Pc, PlaceId, StrId, SymbolId, UnitId};
use crate::kept::Kept;
use crate::record::*;
use crate::records::{KeptRows, Records};
use crate::store::moved::Moved;
use crate::strings::{Coded, Decoded, Strings};
use crate::table::{Piece, Rows, Search, Table};
use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;
use zerocopy::byteorder::little_endian::U32;
use zerocopy::{FromBytes, FromZeros};

/// In place of the number after the last one of a table.
pub const END: u32 = u32::MAX - 1;

/// The bits of the longest number.
const HEAD: u64 = 128;

/// A kernel of a store. Opening it reads the header of each segment of its chain.
pub struct Kernel<'a> {
    /// The first of the chain first; this kernel's own last.
    chain: Vec<Segment<'a>>,
    /// By part, and by position in the chain: the first number that is new there.
    firsts: Box<[u32]>,
    /// As the manifest has it, if that was asked.
    release: Option<Box<[u8]>>,
    strings: Vec<StringPart<'a>>,
    levels: Arc<Levels<'a>>,
    lines: Lines<'a>,
    assembled: Assembled,
    patched: Patched,
    searches: Searches,
    pub(super) tables: SideBySide,
    pub(super) ranks: Later<Ranks>,
    places_of_objects: Starts,
    symbols_of_objects: Starts,
    places_of_units: Starts,
    objects: Kept<ObjectRecord>,
    /// By space: where the objects' parts of it start.
    starts: Box<[Kept<Option<u32>>]>,
    units: Kept<UnitRecord>,
    tracepoints: Kept<TracepointRecord>,
}

impl<'a> Kernel<'a> {
    /// Opens a kernel, given the segments of its chain, the first one first.
    ///
    /// # Errors
    /// Those of [`Segment::open`]; [`Error::Section`] if a segment does not follow the one before it.
    pub fn open(chain: impl IntoIterator<Item = &'a [u8]>) -> Result<Self> {
        Self::of(chain.into_iter().map(Segment::open), &Open::default())
    }
    /// As [`open`](Self::open), given what the manifest says: the kernel's release, and what its segments are called. Beside others
    /// of the same store that may be open.
    ///
    /// # Errors
    /// As for [`open`](Self::open), and for [`Segment::open_as`].
    pub fn open_among(
        release: &[u8],
        chain: impl IntoIterator<Item = (SegmentId, &'a [u8])>,
        others: &Open<'a>,
    ) -> Result<Self> {
        let kernel = Self::of(chain.into_iter().map(|(id, bytes)| Segment::open_as(id, bytes)), others)?;
        Ok(Self { release: Some(release.into()), ..kernel })
    }
    fn of(chain: impl Iterator<Item = Result<Segment<'a>>>, others: &Open<'a>) -> Result<Self> {
        let damaged = |section, what| Error::Section { section, offset: 0, what };
        let mut open: Vec<Segment<'a>> = vec![];
        for segment in chain {
            let segment = segment?;
            let before = open.last().map_or(SegmentId::default(), Segment::id);
            if segment.header.before != before {
                return Err(damaged("segment", "the segment before it is another one"));
            }
            open.push(segment);
        }
        let ends = (open.first().map(Segment::id), open.last().map(Segment::id));
        let (Some(first), Some(own)) = ends else { return Err(Error::NotAnIndex) };
        let levels = Levels::open(&open, &others.levels)?;
        Ok(Self {
            tables: SideBySide::new(|space| levels.length(space)),
            ranks: Ranks::later(),
            levels,
            lines: Lines::open(&open),
            strings: open
                .iter()
                .map(|segment| StringPart::open(segment, &others.strings))
                .collect::<Result<_>>()?,
            firsts: Part::ALL
                .iter()
                .flat_map(|part| open.iter().map(|segment| segment.entry(*part).first.get()))
                .collect(),
            patched: Patched::of(&open),
            chain: open,
            release: None,
            assembled: Assembled::default(),
            searches: Searches::new(others.recent.get_or_default(first), own),
            places_of_objects: Starts::default(),
            symbols_of_objects: Starts::default(),
            places_of_units: Starts::default(),
            objects: Kept::default(),
            starts: Space::ALL.iter().map(|_| Kept::default()).collect(),
            units: Kept::default(),
            tracepoints: Kept::default(),
        })
    }
    /// The segments, the kernel's own last.
    pub fn chain(&self) -> &[Segment<'a>] {
        &self.chain
    }
    /// The kernel's own segment.
    pub fn own(&self) -> &Segment<'a> {
        self.chain.last().expect("a chain has a segment")
    }
    /// The first shared number that is free.
    pub fn free(&self, kind: Free) -> u32 {
        self.own().header.free[kind as usize].get()
    }
    /// The first row or byte that is free.
    pub fn end(&self, part: Part) -> u32 {
        let entry = self.own().entry(part);
        let own = if is_bytes(part) { entry.length } else { entry.records };
        entry.first.get().wrapping_add(own.get())
    }
    /// How many numbers of its own the kernel has in a space.
    pub fn length(&self, space: Space) -> u32 {
        self.levels.length(space)
    }
    /// How it numbers what it has.
    pub fn levels(&self) -> &Levels<'a> {
        &self.levels
    }
    /// The lines that differ from the shared ones, by file and shared line.
    pub fn line_runs(&self) -> &[LineRun] {
        self.lines.all()
    }

    /// The segment that has a shared row or byte, and the position of it there.
    #[inline]
    pub(super) fn segment(&self, part: Part, number: u32) -> (&Segment<'a>, &'a Entry, u32) {
        let segment = &self.chain[self.depth_of(part, number)];
        let entry = segment.entry(part);
        (segment, entry, number.wrapping_sub(entry.first.get()))
    }
    /// The number of segments before the one that has a shared row or byte.
    #[inline]
    fn depth_of(&self, part: Part, number: u32) -> usize {
        let firsts = &self.firsts[part as usize * self.chain.len()..][..self.chain.len()];
        firsts.partition_point(|first| *first <= number).saturating_sub(1)
    }
    /// The shared bytes from this number on, to the end of those of its segment, or those that a patch there makes.
    #[inline]
    pub fn bytes(&self, part: Part, number: u32) -> &[u8] {
        let (bytes, is_patch) = self.as_stored(part, number);
        if is_patch { self.patched(part, number, bytes, 0) } else { bytes }
    }
    /// The shared bytes of a part that has no patches.
    #[inline]
    fn plain(&self, part: Part, number: u32) -> &'a [u8] {
        let (segment, _, at) = self.segment(part, number);
        segment.part(part).get(at as usize..).unwrap_or_default()
    }
    /// The bytes from this number on, and whether they are a patch.
    #[inline]
    fn as_stored(&self, part: Part, number: u32) -> (&'a [u8], bool) {
        let (segment, _, at) = self.segment(part, number);
        let bytes = segment.part(part).get(at as usize..).unwrap_or_default();
        (bytes, self.patched.has(&self.chain, segment, part, number))
    }
    /// What a patch makes. Bytes that it starts from have a smaller number, and may come from a patch too.
    #[cold]
    fn patched(&self, part: Part, number: u32, bytes: &[u8], depth: u32) -> &[u8] {
        self.assembled.get(part, number, || {
            let patch = Patch::read(bytes).filter(|patch| patch.base < number && depth < patch::DEEPEST);
            patch.map_or_else(Vec::new, |patch| match self.as_stored(part, patch.base) {
                (old, true) => patch.apply(self.patched(part, patch.base, old, depth + 1)),
                (old, false) => patch.apply(old),
            })
        })
    }
    /// As [`bytes`](Self::bytes), for who reads no more than the first [`HEAD`] bits: fewer patches are made for it.
    #[cold]
    #[inline(never)]
    pub(crate) fn cold_head(&self, part: Part, mut number: u32) -> &[u8] {
        for _ in 0..patch::DEEPEST {
            let (bytes, is_patch) = self.as_stored(part, number);
            let patch = Some(bytes).filter(|_| is_patch).and_then(Patch::read);
            match patch.filter(|patch| patch.base < number && patch.starts_as_its_base(HEAD)) {
                Some(patch) => number = patch.base,
                None => break,
            }
        }
        self.bytes(part, number)
    }
    /// How many patches lead to what is at this number: 0 if it is none.
    pub fn patches(&self, part: Part, mut number: u32) -> u32 {
        for patches in 0..patch::DEEPEST {
            let (bytes, is_patch) = self.as_stored(part, number);
            match Some(bytes).filter(|_| is_patch).and_then(Patch::read) {
                Some(patch) => number = patch.base,
                None => return patches,
            }
        }
        patch::DEEPEST
    }
    /// As [`bytes`](Self::bytes), for readers that mostly read an index.
    #[cold]
    #[inline(never)]
    pub(crate) fn cold_bytes(&self, part: Part, number: u32) -> &[u8] {
        self.bytes(part, number)
    }
    /// As [`text`](Self::text), for readers that mostly read an index.
    #[cold]
    #[inline(never)]
    pub(crate) fn cold_text(&self, id: StrId) -> &[u8] {
        self.text(id)
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
    /// A shared row as it is stored.
    #[inline]
    pub fn raw<R: Record>(&self, part: Part, row: u32) -> Option<R> {
        let (segment, _, at) = self.segment(part, row);
        segment.rows::<R>(part).get(at as usize)
    }
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
    /// How many rows of a part all segments have together: a kernel has each once at most.
    pub(super) fn rows(&self, part: Part) -> u64 {
        self.chain.iter().map(|segment| u64::from(segment.entry(part).records.get())).sum()
    }
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
    /// Its release.
    pub(crate) fn release(&self) -> &[u8] {
        let own = || self.text(StrId::new(self.own().header.release.get()));
        self.release.as_deref().unwrap_or_else(own)
    }
    /// The build id of vmlinux, if the kernel has that. Cost: a search for its row.
    pub(crate) fn build_id(&self) -> Option<[u8; 20]> {
        let (_, vmlinux) = self.stored::<ObjectRecord>(0, &mut Hint::default())?;
        self.text(vmlinux.name).is_empty().then(|| self.own().id().build_id)
    }
    fn make<'k, R: Shared>(&'k self, kept: &'k Kept<R>, at: u32) -> Option<&'k R> {
        let record = || self.record(at, &mut Hint::default()).unwrap_or_else(R::new_zeroed);
        kept.get(at, self.length(R::SPACE), record)
    }

    /// The kernel's own blacklist.
    pub fn refused(&self) -> &'a [RefusedRecord] {
        <[RefusedRecord]>::ref_from_bytes(self.own().part(Part::Refused)).unwrap_or_default()
    }
    /// An object's own blacklist.
    pub fn refused_of(&self, object: ObjectId) -> &'a [RefusedRecord] {
        let starts = self.own().rows::<PostingRecord>(Part::FirstRefused);
        let first = |at: usize| starts.at(at).first.get() as usize;
        self.refused().get(first(object.index())..first(object.index() + 1)).unwrap_or_default()
    }
    /// The kernel's address of a shared one, if it has it. Cost: a binary search.
    pub fn address(&self, shared: u32) -> Option<u32> {
        self.levels.back(Space::Pcs, shared)
    }
    /// Whether the kernel has a shared address.
    pub fn has_address(&self, shared: u32) -> bool {
        self.address(shared).is_some()
    }
    /// An object's records of [`Part::Code`].
    pub fn code_of(&self, object: ObjectId) -> Range<u32> {
        let starts = self.own().rows::<PostingRecord>(Part::CodeStarts);
        let first = |at: usize| starts.at(at).first.get();
        first(object.index())..first(object.index() + 1)
    }
    /// A section that is kept as in an index.
    pub fn blob(&self, number: usize) -> &'a [u8] {
        let place = self.blob_place(number);
        self.plain(Part::Blobs, place.start.get()).get(..place.length.get() as usize).unwrap_or_default()
    }
    /// Where a blob is.
    pub fn blob_place(&self, number: usize) -> Blob {
        let places = <[Blob]>::ref_from_bytes(self.own().part(Part::BlobPlaces)).unwrap_or_default();
        places.get(number).copied().unwrap_or(Blob { start: U32::ZERO, length: U32::ZERO })
    }
    /// A string.
    pub fn text(&self, id: StrId) -> &[u8] {
        let depth = self.depth_of(Part::Strings, id.get());
        let first = self.chain[depth].entry(Part::Strings).first.get();
        self.strings[depth].strings().get(id.get().wrapping_sub(first))
    }
    /// The number of a string. Cost: a binary search in each segment.
    pub fn find_string(&self, text: &[u8]) -> Option<u32> {
        self.strings().find_map(|(strings, first)| strings.find(text).map(|at| first + at))
    }
    /// The strings of each segment, and the number of the first one.
    pub fn strings(&self) -> impl Iterator<Item = (Strings<'_>, u32)> {
        let firsts = self.chain.iter().map(|segment| segment.entry(Part::Strings).first.get());
        self.strings.iter().map(StringPart::strings).zip(firsts)
    }
}

/// The strings of a segment.
struct StringPart<'a> {
    coded: Coded<'a>,
    decoded: Arc<Decoded>,
}

impl<'a> StringPart<'a> {
    fn open(segment: &Segment<'a>, open: &BySegment<Decoded>) -> Result<Self> {
        let coded = Coded::open(segment.part(Part::Strings))?;
        Ok(Self { coded, decoded: open.get_or_default(segment.id()) })
    }
    fn strings(&self) -> Strings<'_> {
        Strings::new(self.coded, &self.decoded)
    }
}

/// Whether a part is bytes, numbered one by one.
pub fn is_bytes(part: Part) -> bool {
    use Part as P;
    matches!(
        part,
        P::FunctionDetails
            | P::PlaceDetails
            | P::Lines
            | P::Boundaries
            | P::FrameRows
            | P::Blobs
            | P::NameHash
            | P::BuildIds
            | P::Refused
            | P::BlobPlaces
            | P::Runs
            | P::RunPlaces
    )
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
