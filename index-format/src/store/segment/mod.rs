//! A segment: what one kernel adds to those before it, and how it numbers all of it.
//!
//! ```text
//! 0     SegmentHeader      magic, version, machine, length, the segment before, checksums
//! …     Entry[n]           each part: where it is, its checksum, its records, the shared number of the first one
//! …     the parts, in the order of Part, without gaps
//! ```
mod parts;
mod spaces;
mod writer;

use super::kernel::TAPSET;
use super::record::PatchedRecord;
use crate::error::{Error, Result};
use crate::header::checksum;
use crate::record::Record;
use crate::table::Table;
use std::ops::Range;
use zerocopy::byteorder::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

pub use parts::Part;
pub use spaces::{Free, Source, Space};
pub use writer::{Own, SegmentWriter};

/// The start of every segment.
pub const MAGIC: [u8; 8] = *b"PI\x8fSG\0\r\n";
/// The version of segments, which changes with that of indexes too.
pub const VERSION: u32 = crate::VERSION * 100 + 3;

/// What a segment is called: the build id of its vmlinux, and the checksum of its directory.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    FromBytes,
    IntoBytes,
    Immutable,
    KnownLayout,
    Unaligned,
)]
#[repr(C)]
pub struct SegmentId {
    /// The GNU build id, zero-filled.
    pub build_id: [u8; 20],
    /// Big-endian, so that ids are sorted by their bytes.
    pub checksum: [u8; 4],
}

/// The start of a segment.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct SegmentHeader {
    /// [`MAGIC`].
    pub magic: [u8; 8],
    /// [`VERSION`].
    pub version: U32,
    /// `e_machine` of the objects.
    pub machine: U16,
    /// Number of entries that follow.
    pub parts: U16,
    /// The length of the segment.
    pub length: U64,
    /// The segment before; zeros for the first of a chain.
    pub before: SegmentId,
    /// The kernel's release.
    pub release: U32,
    /// The number of segments before, from the first of its line on.
    pub depth: U32,
    /// The first shared numbers that are free after it: see [`Free`].
    pub free: [U32; Free::COUNT],
    /// How many functions with code, types and tracepoints the kernel has, as a comparison counts them.
    pub compared: U32,
    /// CRC-32 of the directory.
    pub directory_checksum: U32,
    /// CRC-32 of the header up to here.
    pub checksum: U32,
}

/// Where a part is.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Entry {
    /// From the start of the segment.
    pub offset: U32,
    /// In bytes.
    pub length: U32,
    /// CRC-32 of the part.
    pub checksum: U32,
    /// The number of records of a table; 0 of any other part.
    pub records: U32,
    /// The shared number of its first row, or byte.
    pub first: U32,
}

/// A section of an index that is kept as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Blob {
    /// The shared number of its first byte.
    pub start: U32,
    /// In bytes.
    pub length: U32,
}

/// A segment's bytes, with its header and directory checked.
#[derive(Clone, Copy)]
pub struct Segment<'a> {
    /// All bytes.
    pub bytes: &'a [u8],
    /// The start.
    pub header: &'a SegmentHeader,
    entries: &'a [Entry],
    id: SegmentId,
}

impl<'a> Segment<'a> {
    /// Reads and checks header and directory.
    ///
    /// # Errors
    /// [`Error::NotAnIndex`], [`Error::Older`], [`Error::Newer`], [`Error::Length`], [`Error::Section`].
    pub fn open(bytes: &'a [u8]) -> Result<Self> {
        let mut segment = Self::read(bytes)?;
        segment.id.build_id = segment.part(Part::BuildIds).first_chunk().copied().unwrap_or_default();
        Ok(segment)
    }
    /// As [`open`](Self::open), of the segment that is called so: its build ids are not read.
    ///
    /// # Errors
    /// As for [`open`](Self::open); [`Error::Section`] if it is another segment.
    pub fn open_as(id: SegmentId, bytes: &'a [u8]) -> Result<Self> {
        let segment = Self::read(bytes)?;
        if segment.id.checksum != id.checksum {
            let what = "it is another one than is named";
            return Err(Error::Section { section: "segment", offset: 0, what });
        }
        Ok(Self { id, ..segment })
    }
    /// How many objects the kernel has: there is a build id for each.
    pub fn objects(&self) -> u32 {
        self.part(Part::BuildIds).as_chunks::<20>().0.len() as u32
    }
    /// All but the build id in its name.
    fn read(bytes: &'a [u8]) -> Result<Self> {
        let (header, rest) = SegmentHeader::ref_from_prefix(bytes).map_err(|_| Error::NotAnIndex)?;
        if header.magic != MAGIC {
            return Err(Error::NotAnIndex);
        }
        Error::unless_version("store", VERSION, header.version.get())?;
        let damaged = |what| Error::Section { section: "segment", offset: 0, what };
        let front = size_of::<SegmentHeader>();
        if checksum(&bytes[..front - size_of::<U32>()]) != header.checksum.get() {
            return Err(damaged("the checksum of the header does not match"));
        }
        if header.length.get() != bytes.len() as u64 {
            return Err(Error::Length { expected: header.length.get(), found: bytes.len() as u64 });
        }
        let (entries, _) = <[Entry]>::ref_from_prefix_with_elems(rest, Part::ALL.len())
            .ok()
            .filter(|_| usize::from(header.parts.get()) == Part::ALL.len())
            .ok_or(damaged("the directory does not fit the segment"))?;
        if checksum(entries.as_bytes()) != header.directory_checksum.get() {
            return Err(damaged("the checksum of the directory does not match"));
        }
        let mut due = (front + size_of_val(entries)) as u64;
        for (part, entry) in Part::ALL.iter().zip(entries) {
            if u64::from(entry.offset.get()) != due {
                let (section, offset) = (part.text(), entry.offset.get().into());
                return Err(Error::Section {
                    section,
                    offset,
                    what: "it does not follow the part before it",
                });
            }
            due += u64::from(entry.length.get());
        }
        if due != header.length.get() {
            return Err(damaged("the parts do not end where the segment does"));
        }
        let checksum = header.directory_checksum.get().to_be_bytes();
        Ok(Self { bytes, header, entries, id: SegmentId { checksum, ..SegmentId::default() } })
    }
    /// What it is called.
    pub fn id(&self) -> SegmentId {
        self.id
    }
    /// Where a part is.
    #[inline]
    pub fn entry(&self, part: Part) -> &'a Entry {
        &self.entries[part as usize]
    }
    /// The bytes of a part.
    #[inline]
    pub fn part(&self, part: Part) -> &'a [u8] {
        self.bytes.get(self.range(part)).unwrap_or_default()
    }
    /// Where the tapset of its kernel is: the same places in a chain have the same bytes.
    pub fn tapset(&self) -> &'a [Blob] {
        let places = <[Blob]>::ref_from_bytes(self.part(Part::BlobPlaces)).unwrap_or_default();
        &places[..places.len().min(TAPSET)]
    }
    fn range(&self, part: Part) -> Range<usize> {
        let entry = self.entry(part);
        let start = entry.offset.get() as usize;
        start..start + entry.length.get() as usize
    }
    /// The rows of a part.
    #[inline]
    pub fn rows<R: Record>(&self, part: Part) -> Table<'a, R> {
        Table::open(self.part(part), self.entry(part).records.get()).unwrap_or_default()
    }
    /// Whether there is a patch at a number of a part. Cost: a binary search, but for a segment without patches.
    #[inline]
    pub fn is_patch(&self, part: Part, number: u32) -> bool {
        if self.entry(Part::Patched).records.get() == 0 {
            return false;
        }
        let key = (part as u32, number);
        let all = self.rows::<PatchedRecord>(Part::Patched);
        let at = all.partition_point(|patched| (patched.part.get(), patched.number.get()) < key);
        all.get(at).is_some_and(|patched| (patched.part.get(), patched.number.get()) == key)
    }
    /// Checks that no byte has changed. Cost: reads the segment.
    ///
    /// # Errors
    /// The first damaged part.
    pub fn whole(&self) -> Result<()> {
        for part in Part::ALL {
            let entry = self.entry(*part);
            if checksum(self.part(*part)) != entry.checksum.get() {
                let (section, offset) = (part.text(), entry.offset.get().into());
                return Err(Error::Section { section, offset, what: "the checksum does not match" });
            }
        }
        Ok(())
    }
}
