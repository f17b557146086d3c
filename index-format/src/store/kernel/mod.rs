//! A kernel of a store: rows of all segments of its chain, in its own numbering.
//!
//! * `bytes`: rows and bytes by their shared numbers, whichever segment has them.
//! * `rows`: the kernel's tables, whose records are fetched from rows and translated.
//! * `owners`: the object or unit that something belongs to.
mod assembled;
mod bytes;
mod named;
mod open;
mod owners;
mod patched;
mod pieces;
mod recent;
mod rows;
mod side_by_side;
mod starts;
mod view;

use super::line_runs::Lines;
use super::record::*;
use super::runs::Hint;
use super::runs::later::Later;
use super::runs::levels::Levels;
use super::segment::{Blob, Free, Part, Segment, SegmentId, Space};
use crate::error::{Error, Result};
use crate::id::{ObjectId, StrId};
use crate::kept::Kept;
use crate::record::*;
use assembled::Assembled;
use bytes::StringPart;
use named::Ranks;
pub(in crate::store) use open::BySegment;
pub use open::Open;
use patched::Patched;
use recent::Searches;
use side_by_side::SideBySide;
use starts::Starts;
use std::ops::Range;
use std::sync::Arc;
pub use view::BLOBS;
pub(in crate::store) use view::TAPSET;
use zerocopy::FromBytes;
use zerocopy::byteorder::little_endian::U32;

/// In place of the number after the last one of a table.
pub const END: u32 = u32::MAX - 1;

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
    tables: SideBySide,
    ranks: Later<Ranks>,
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
        let own = if part.is_bytes() { entry.length } else { entry.records };
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

    /// How many rows of a part all segments have together: a kernel has each once at most.
    fn rows(&self, part: Part) -> u64 {
        self.chain.iter().map(|segment| u64::from(segment.entry(part).records.get())).sum()
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
}
