//! A segment: what one kernel adds to those before it, and how it numbers all of it.
//!
//! ```text
//! 0     SegmentHeader      magic, version, machine, length, the segment before, checksums
//! …     Entry[n]           each part: where it is, its checksum, its records, the shared number of the first one
//! …     the parts, in the order of Part, without gaps
//! ```
use super::record::PatchedRecord;
use crate::error::{Error, Result};
use crate::header::checksum;
use crate::record::Record;
use crate::table::Table;
use std::ops::Range;
use zerocopy::byteorder::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The start of every segment.
pub const MAGIC: [u8; 8] = *b"PI\x8fSG\0\r\n";
/// The version of segments, which changes with that of indexes too.
pub const VERSION: u32 = crate::VERSION * 100 + 1;

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
    /// The number of segments before.
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

/// Where shared numbers come from that are not rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub enum Free {
    /// Objects.
    Objects = 0,
    /// Units.
    Units = 1,
    /// Types.
    Types = 2,
    /// Addresses.
    Pcs = 3,
    /// Lines that do not fit between those that are known.
    Lines = 4,
    /// Functions.
    Functions = 5,
    /// Placements.
    Places = 6,
}

impl Free {
    /// How many there are.
    pub const COUNT: usize = 7;
}

impl Space {
    /// Whether records lead to numbers of this space, so that a kernel has the way back.
    pub const fn is_referred_to(self) -> bool {
        use Space as S;
        !matches!(
            self,
            S::Objects
                | S::Units
                | S::Functions
                | S::Counters
                | S::FirstPostings
                | S::Places
                | S::Types
                | S::Code
                | S::TypeUsers
                | S::BtfTypes
                | S::Called
                | S::Tracepoints
                | S::Labels
                | S::Options
        )
    }
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

macro_rules! parts {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// The parts of a segment, in order.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub enum Part { $($(#[$doc])* $name,)* }

        impl Part {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];
            /// As errors and `fleet list -v` print it.
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

parts! {
    /// Strings, sorted within the segment: see [`strings`](crate::strings).
    Strings = "strings",
    /// Rows: `ObjectRecord` without build id.
    Objects = "objects",
    /// Rows: `SectionRecord`.
    Sections = "sections",
    /// Rows: `UnitRecord`.
    Units = "units",
    /// Rows: `StrId`.
    UnitFiles = "unit_files",
    /// Rows: `NameRecord`.
    Names = "names",
    /// A hash table of this segment's rows of names: see [`names`](crate::names).
    NameHash = "name_hash",
    /// Rows: `FunctionRecord` without postings.
    Functions = "functions",
    /// Rows: `CounterRecord`.
    Counters = "counters",
    /// Bytes: see [`variables`](crate::variables).
    FunctionDetails = "function_details",
    /// Rows: `VariableRecord`.
    Variables = "variables",
    /// Rows: the first posting of each function.
    FirstPostings = "first_postings",
    /// Rows: `PlaceId`.
    Postings = "postings",
    /// Rows: `PlaceRecord`.
    Places = "places",
    /// Bytes: see [`details`](crate::details).
    PlaceDetails = "place_details",
    /// Rows: `RangeRecord`.
    Ranges = "ranges",
    /// Rows: `SymbolRecord`.
    Symbols = "symbols",
    /// Rows: `SymbolId`.
    SymbolNames = "symbol_names",
    /// Rows: `TypeRecord`.
    Types = "types",
    /// Rows: `MemberRecord`.
    Members = "members",
    /// Rows: `SequenceRecord`, one for each symbol with lines.
    Sequences = "sequences",
    /// Bytes: see [`lines`](crate::lines).
    Lines = "lines",
    /// Rows: `SiteRecord`.
    Sites = "sites",
    /// The `RefusedRecord`s of this kernel, as in an index: a verdict looks at all of an object.
    Refused = "refused",
    /// `PostingRecord`s: for each object of this kernel, its first one of those; one more than objects.
    FirstRefused = "first_refused",
    /// Rows: `CodeRecord`, one for each symbol with code.
    Code = "code",
    /// Bytes: see [`boundaries`](crate::boundaries).
    Boundaries = "boundaries",
    /// Rows: `TypeUsersRecord`.
    TypeUsers = "type_users",
    /// Rows: `UseRecord`.
    TypeUses = "type_uses",
    /// Rows: `BtfTypeRecord`.
    BtfTypes = "btf_types",
    /// Rows: `CalledRecord`.
    Called = "called",
    /// Rows: `CallRecord`.
    Calls = "calls",
    /// Rows: `FrameRecord`.
    Frames = "frames",
    /// Bytes: see [`frames`](crate::frames).
    FrameRows = "frame_rows",
    /// Rows: `TracepointRecord`.
    Tracepoints = "tracepoints",
    /// Rows: `EventFieldRecord`.
    EventFields = "event_fields",
    /// Rows: `LabelRecord`.
    Labels = "labels",
    /// Rows: `OptionRecord`.
    Options = "options",
    /// The build ids of this kernel's objects, 20 bytes each.
    BuildIds = "build_ids",
    /// `PostingRecord`s: for each object of this kernel, its first record of code; one more than objects.
    CodeStarts = "code_starts",
    /// Bytes: sections of tapsets and metadata, as in an index.
    Blobs = "blobs",
    /// Where each of those is among the bytes: see [`Blob`].
    BlobPlaces = "blob_places",
    /// `PatchedRecord`s: which bytes of the parts above are patches: see [`patch`](super::patch).
    Patched = "patched",
    /// `LineRun`s, sorted: see [`line_runs`](super::line_runs).
    LineRuns = "line_runs",
    /// The runs of this kernel, space after space: see [`Runs`](super::runs::Runs).
    Runs = "runs",
    /// A [`SpaceRecord`](super::levels::SpaceRecord) for each [`Space`].
    RunPlaces = "run_places",
    /// The names of what differs from the kernel before, with a record of 1 if that is known: see
    /// [`changed`](super::changed).
    Changed = "changed",
}

macro_rules! spaces {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// What a kernel numbers in its own way.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(usize)]
        pub enum Space { $($(#[$doc])* $name,)* }

        impl Space {
            /// All of them.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];
        }
    };
}

spaces! {
    /// Rows of [`Part::Objects`].
    Objects,
    /// What an object is called from elsewhere: it stays the same when its row changes.
    ObjectIds,
    /// Rows of [`Part::Sections`].
    Sections,
    /// Rows of [`Part::Units`].
    Units,
    /// What a unit is called from elsewhere.
    UnitIds,
    /// Rows of [`Part::UnitFiles`].
    UnitFiles,
    /// Rows of [`Part::Names`].
    Names,
    /// Rows of [`Part::Functions`].
    Functions,
    /// What a function is called from elsewhere: it stays the same when its row changes.
    FunctionIds,
    /// Rows of [`Part::Counters`].
    Counters,
    /// Rows of [`Part::FirstPostings`].
    FirstPostings,
    /// Rows of [`Part::Postings`].
    Postings,
    /// Rows of [`Part::Places`].
    Places,
    /// What a placement is called from elsewhere.
    PlaceIds,
    /// Rows of [`Part::Ranges`].
    Ranges,
    /// Rows of [`Part::Symbols`].
    Symbols,
    /// Rows of [`Part::SymbolNames`].
    SymbolNames,
    /// Rows of [`Part::Types`].
    Types,
    /// What a type is called from elsewhere.
    TypeIds,
    /// Rows of [`Part::Members`].
    Members,
    /// Rows of [`Part::Sequences`].
    Sequences,
    /// Rows of [`Part::Sites`].
    Sites,
    /// Rows of [`Part::Code`].
    Code,
    /// Rows of [`Part::TypeUsers`].
    TypeUsers,
    /// Rows of [`Part::TypeUses`].
    TypeUses,
    /// Rows of [`Part::BtfTypes`].
    BtfTypes,
    /// Rows of [`Part::Called`].
    Called,
    /// Rows of [`Part::Calls`].
    Calls,
    /// Rows of [`Part::Frames`].
    Frames,
    /// Rows of [`Part::Tracepoints`].
    Tracepoints,
    /// Rows of [`Part::EventFields`].
    EventFields,
    /// Rows of [`Part::Labels`].
    Labels,
    /// Rows of [`Part::Options`].
    Options,
    /// Rows of [`Part::Variables`], which all kernels number alike.
    Variables,
    /// Addresses: only the way back, since objects have the same addresses of their own.
    Pcs,
}

/// Where the new numbers of a space come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// They are the rows of a part.
    Rows(Part),
    /// They are taken from what is free.
    Free(Free),
    /// They are taken from what is free, and lead back by distances: see [`shift`](super::shift).
    Shifted(Free),
    /// They are always given as they are.
    Themselves,
}

impl Space {
    /// Where its new numbers come from.
    pub const fn source(self) -> Source {
        use Source::Rows;
        match self {
            Self::ObjectIds => Source::Free(Free::Objects),
            Self::UnitIds => Source::Free(Free::Units),
            Self::FunctionIds => Source::Free(Free::Functions),
            Self::PlaceIds => Source::Free(Free::Places),
            Self::TypeIds => Source::Free(Free::Types),
            Self::Pcs => Source::Shifted(Free::Pcs),
            Self::Variables => Source::Themselves,
            Self::Objects => Rows(Part::Objects),
            Self::Sections => Rows(Part::Sections),
            Self::Units => Rows(Part::Units),
            Self::UnitFiles => Rows(Part::UnitFiles),
            Self::Names => Rows(Part::Names),
            Self::Functions => Rows(Part::Functions),
            Self::Counters => Rows(Part::Counters),
            Self::FirstPostings => Rows(Part::FirstPostings),
            Self::Postings => Rows(Part::Postings),
            Self::Places => Rows(Part::Places),
            Self::Ranges => Rows(Part::Ranges),
            Self::Symbols => Rows(Part::Symbols),
            Self::SymbolNames => Rows(Part::SymbolNames),
            Self::Types => Rows(Part::Types),
            Self::Members => Rows(Part::Members),
            Self::Sequences => Rows(Part::Sequences),
            Self::Sites => Rows(Part::Sites),
            Self::Code => Rows(Part::Code),
            Self::TypeUsers => Rows(Part::TypeUsers),
            Self::TypeUses => Rows(Part::TypeUses),
            Self::BtfTypes => Rows(Part::BtfTypes),
            Self::Called => Rows(Part::Called),
            Self::Calls => Rows(Part::Calls),
            Self::Frames => Rows(Part::Frames),
            Self::Tracepoints => Rows(Part::Tracepoints),
            Self::EventFields => Rows(Part::EventFields),
            Self::Labels => Rows(Part::Labels),
            Self::Options => Rows(Part::Options),
        }
    }
}

/// A section of an index that is kept as it is.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
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
}

impl<'a> Segment<'a> {
    /// Reads and checks header and directory.
    ///
    /// # Errors
    /// [`Error::NotAnIndex`], [`Error::Older`], [`Error::Newer`], [`Error::Length`], [`Error::Section`].
    pub fn open(bytes: &'a [u8]) -> Result<Self> {
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
        Ok(Self { bytes, header, entries })
    }
    /// What it is called, given the build id of its vmlinux.
    pub fn id(&self) -> SegmentId {
        let build_id = self.part(Part::BuildIds).first_chunk().copied().unwrap_or_default();
        SegmentId { build_id, checksum: self.header.directory_checksum.get().to_be_bytes() }
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

/// What the header of a segment says of its kernel: see [`SegmentHeader`].
#[derive(Clone, Copy, Debug)]
pub struct Own {
    /// `e_machine` of the objects.
    pub machine: u16,
    /// The segment before; zeros for the first of a chain.
    pub before: SegmentId,
    /// The number of the kernel's release among strings.
    pub release: u32,
    /// The number of segments before.
    pub depth: u32,
    /// The first shared numbers that are free after it.
    pub free: [u32; Free::COUNT],
    /// How many functions with code, types and tracepoints the kernel has, as a comparison counts them.
    pub compared: u32,
}

/// Writes a segment to memory. All parts must be put, in the order of [`Part::ALL`].
#[derive(Default)]
pub struct SegmentWriter {
    body: Vec<u8>,
    entries: Vec<Entry>,
}

impl SegmentWriter {
    /// The next part.
    pub fn part(&mut self, part: Part, bytes: &[u8], records: u32, first: u32) {
        assert_eq!(Part::ALL.get(self.entries.len()), Some(&part), "parts are written in order");
        let front = size_of::<SegmentHeader>() + Part::ALL.len() * size_of::<Entry>();
        self.entries.push(Entry {
            offset: U32::new((front + self.body.len()) as u32),
            length: U32::new(bytes.len() as u32),
            checksum: U32::new(checksum(bytes)),
            records: U32::new(records),
            first: U32::new(first),
        });
        self.body.extend_from_slice(bytes);
    }
    /// The segment of a kernel.
    pub fn finish(self, own: &Own) -> Vec<u8> {
        assert_eq!(self.entries.len(), Part::ALL.len(), "all parts are written");
        let front = size_of::<SegmentHeader>() + size_of_val(&self.entries[..]);
        let mut header = SegmentHeader {
            magic: MAGIC,
            version: U32::new(VERSION),
            machine: U16::new(own.machine),
            parts: U16::new(Part::ALL.len() as u16),
            length: U64::new((front + self.body.len()) as u64),
            before: own.before,
            release: U32::new(own.release),
            depth: U32::new(own.depth),
            free: own.free.map(U32::new),
            compared: U32::new(own.compared),
            directory_checksum: U32::new(checksum(self.entries.as_bytes())),
            checksum: U32::ZERO,
        };
        let length = size_of::<SegmentHeader>() - size_of::<U32>();
        header.checksum = U32::new(checksum(&header.as_bytes()[..length]));
        [header.as_bytes(), self.entries.as_bytes(), &self.body].concat()
    }
}
