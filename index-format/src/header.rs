//! The start of the file: its identification, and the positions of its sections.
use crate::error::{Error, Result};
use crate::id::StrId;
use zerocopy::byteorder::little_endian::{U16, U32, U64};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout, Unaligned};

/// The start of every index. The third byte is not text, and the last two reveal a transfer in text mode.
pub const MAGIC: [u8; 8] = *b"PI\x8fDX\0\r\n";

/// The version of the format that this crate reads and writes.
pub const VERSION: u32 = 14;

/// The start of the file.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Header {
    /// [`MAGIC`].
    pub magic: [u8; 8],
    /// [`VERSION`].
    pub version: U32,
    /// Number of directory entries that follow.
    pub sections: U16,
    /// `e_machine` of the objects.
    pub machine: U16,
    /// The length of the whole file.
    pub length: U64,
    /// The kernel's release; empty for a user object.
    pub release: StrId,
    /// CRC-32 of the directory.
    pub directory_checksum: U32,
    /// CRC-32 of the header up to here.
    pub checksum: U32,
}
const _: () = assert!(size_of::<Header>() == 36);

/// The position of a section.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct DirectoryEntry {
    /// From the start of the file.
    pub offset: U64,
    /// In bytes.
    pub length: U64,
    /// CRC-32 of the section.
    pub checksum: U32,
    /// Its [`SectionName`], as a check.
    pub name: U32,
    /// The number of records of a packed table; 0 of any other section. It is here so that opening a file touches no
    /// section.
    pub records: U32,
}
const _: () = assert!(size_of::<DirectoryEntry>() == 28);

macro_rules! sections {
    ($($(#[$doc:meta])* $name:ident = $text:literal,)*) => {
        /// The sections, in the order of the file.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub enum SectionName { $($(#[$doc])* $name,)* }

        impl SectionName {
            /// All of them, in the order of the file.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];
            /// As errors and `stats` print it.
            pub const fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

sections! {
    /// The objects indexed and their files: [`Meta`](crate::meta::Meta).
    Meta = "meta",
    /// All strings, sorted; the first is empty. See [`strings`](crate::strings).
    Strings = "strings",
    /// `ObjectRecord`s: vmlinux, then the modules by name; or one user object.
    Objects = "objects",
    /// `SectionRecord`s, by object, in the order of their file.
    Sections = "sections",
    /// `UnitRecord`s, by object, in the order of the debug information.
    Units = "units",
    /// `StrId`s of paths: the files that a unit's line rows and call sites refer to.
    UnitFiles = "unit_files",
    /// `NameRecord`s, sorted.
    Names = "names",
    /// `U32`s, one and a half times as many as names: an open-addressing hash table from a name to its `NameId` plus
    /// one.
    NameHash = "name_hash",
    /// `FunctionRecord`s, sorted by name, file, line.
    Functions = "functions",
    /// The return types of functions, and their variables: see [`variables`](crate::variables).
    FunctionDetails = "function_details",
    /// `VariableRecord`s, the most frequent first.
    Variables = "variables",
    /// The placements of each function, as differences of ids.
    Postings = "postings",
    /// `PlaceRecord`s, by object, in the order of the debug information.
    Places = "places",
    /// See [`details`](crate::details).
    PlaceDetails = "place_details",
    /// `RangeRecord`s, by object, sorted.
    Ranges = "ranges",
    /// `SymbolRecord`s, by object, sorted.
    Symbols = "symbols",
    /// `SymbolId`s by name, ascending.
    SymbolNames = "symbol_names",
    /// `TypeRecord`s.
    Types = "types",
    /// `MemberRecord`s, by type.
    Members = "members",
    /// `SequenceRecord`s, by object, sorted.
    Sequences = "sequences",
    /// See [`lines`](crate::lines).
    Lines = "lines",
    /// `SiteRecord`s, by object, sorted by start.
    Sites = "sites",
    /// `SegmentRecord`s of a user object, in the order of their addresses.
    Segments = "segments",
    /// `RefusedRecord`s, by object, in the order of the kernel's own list.
    Refused = "refused",
    /// For each section of code that was read, where its instructions start: see [`boundaries`](crate::boundaries).
    Boundaries = "boundaries",
    /// `TypeUsersRecord`s, sorted.
    TypeUsers = "type_users",
    /// The functions that take or return each type: see [`users`](crate::users).
    TypeUses = "type_uses",
    /// `BtfTypeRecord`s, sorted.
    BtfTypes = "btf_types",
    /// `CalledRecord`s, sorted.
    Called = "called",
    /// The direct calls of each function: see [`calls`](crate::calls).
    Calls = "calls",
    /// `FrameRecord`s, by object, sorted.
    Frames = "frames",
    /// See [`frames`](crate::frames).
    FrameRows = "frame_rows",
    /// `TracepointRecord`s, sorted by name, system and object.
    Tracepoints = "tracepoints",
    /// `EventFieldRecord`s, in the order of the record; events of one class share them.
    EventFields = "event_fields",
    /// See [`labels`](crate::labels).
    Labels = "labels",
    /// The kernel's options: see [`config`](crate::config).
    Configuration = "configuration",
    /// The target that tapsets were read for: see [`tapset`](crate::tapset). Empty without tapsets, as are all
    /// sections of tapsets.
    Tapset = "tapset",
    /// `TapsetNameRecord`s, sorted.
    TapsetNames = "tapset_names",
    /// The names, NUL-terminated.
    TapsetStrings = "tapset_strings",
    /// `U32`s: the start of each definition's tree in `tapset_trees`, and the end of the last one.
    TapsetDefinitions = "tapset_definitions",
    /// The definitions, in the order of reading.
    TapsetTrees = "tapset_trees",
    /// The texts of all tapsets, including those for other kernels: [`SourcesMeta`](crate::tapset::SourcesMeta).
    TapsetSources = "tapset_sources",
}

/// CRC-32 as in Ethernet, gzip and zip, used for all checksums of the file: it detects every change of up to 32
/// consecutive bits.
pub fn checksum(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

impl Header {
    /// Sets the checksum of the rest of the header.
    pub fn seal(&mut self) {
        self.checksum = U32::new(self.own_checksum());
    }
    fn own_checksum(&self) -> u32 {
        checksum(&self.as_bytes()[..size_of::<Self>() - size_of::<U32>()])
    }
    /// Reads and checks the header and directory of a file. Every byte after the directory belongs to exactly one
    /// section, so the checksums cover all of them. Cost: their checksums, below a microsecond.
    ///
    /// # Errors
    /// Any [`Error`]; [`Error::Older`] and [`Error::Newer`] before anything but the magic is checked.
    pub fn read(bytes: &[u8]) -> Result<(&Self, &[DirectoryEntry])> {
        let (header, rest) = Self::ref_from_prefix(bytes).map_err(|_| Error::NotAnIndex)?;
        if header.magic != MAGIC {
            return Err(Error::NotAnIndex);
        }
        Error::unless_version("index", VERSION, header.version.get())?;
        let damaged = |what| Error::Section { section: "header", offset: 0, what };
        if header.own_checksum() != header.checksum.get() {
            return Err(damaged("the checksum of the header does not match"));
        }
        if header.length.get() != bytes.len() as u64 {
            return Err(Error::Length { expected: header.length.get(), found: bytes.len() as u64 });
        }
        let count = header.sections.get() as usize;
        if count != SectionName::ALL.len() {
            return Err(damaged("the number of sections is not that of this version"));
        }
        let (directory, _) = <[DirectoryEntry]>::ref_from_prefix_with_elems(rest, count)
            .map_err(|_| damaged("the directory does not fit the file"))?;
        if checksum(directory.as_bytes()) != header.directory_checksum.get() {
            return Err(damaged("the checksum of the directory does not match"));
        }
        let mut due = (size_of::<Self>() + size_of_val(directory)) as u64;
        for (name, entry) in SectionName::ALL.iter().zip(directory) {
            let what = match (entry.name.get() == *name as u32, entry.offset.get() == due) {
                (true, true) => {
                    due = due.saturating_add(entry.length.get());
                    continue;
                }
                (false, _) => "another section stands in its place",
                (_, false) => "it does not follow the section before it",
            };
            return Err(Error::Section { section: name.text(), offset: entry.offset.get(), what });
        }
        if due != header.length.get() {
            return Err(damaged("the sections do not end where the file does"));
        }
        Ok((header, directory))
    }
}
