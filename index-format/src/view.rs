//! An index as typed slices. Opening it takes the header and a bounds check per section, whatever the file's size.
use crate::config;
use crate::error::{Error, Result};
use crate::header::{self, DirectoryEntry, Header, SectionName};
use crate::id::*;
use crate::meta::Meta;
use crate::order::ByteOrder;
use crate::record::*;
use crate::records::Records;
use crate::store::record::OptionRecord;
use crate::store::{BLOBS, Kernel, Part};
use crate::strings::{Coded, Decoded, Strings};
use crate::table::Table;
use crate::tapset::{self, SourcesMeta, Tapset};
use std::ops::Range;
use zerocopy::{FromBytes, Immutable, KnownLayout};

mod functions;
mod objects;

pub use functions::Postings;

/// The sections of an index. Copying it copies some pointers; decoding is on demand. Invalid ids, as in a damaged
/// file, give empty answers.
#[derive(Clone, Copy)]
pub struct View<'a> {
    pub(crate) file: &'a [u8],
    pub(crate) directory: &'a [DirectoryEntry],
    /// Where everything else is, if this is a kernel of a store.
    pub(crate) store: Option<&'a Kernel<'a>>,
    pub(crate) machine: u16,
    pub(crate) release: StrId,
    /// None of a store: see [`string_parts`](Self::string_parts).
    pub(crate) strings: Strings<'a>,
    /// vmlinux, then the modules by name; one record more than objects.
    pub objects: Records<'a, ObjectRecord>,
    /// By object.
    pub sections: Table<'a, SectionRecord>,
    /// By object; one record more than units.
    pub units: Records<'a, UnitRecord>,
    pub(crate) unit_files: Table<'a, StrId>,
    /// Sorted; one record more than names.
    pub names: Table<'a, NameRecord>,
    pub(crate) name_hash: &'a [u8],
    /// Sorted by name, file and line; one record more than functions.
    pub functions: Table<'a, FunctionRecord>,
    pub(crate) function_details: &'a [u8],
    pub(crate) variables: Table<'a, VariableRecord>,
    pub(crate) postings: &'a [u8],
    /// By object, in the order of the debug information.
    pub places: Table<'a, PlaceRecord>,
    pub(crate) place_details: &'a [u8],
    /// By object, sorted.
    pub ranges: Table<'a, RangeRecord>,
    /// By object, sorted.
    pub symbols: Table<'a, SymbolRecord>,
    pub(crate) symbol_names: Table<'a, SymbolId>,
    /// Named ones first; one record more than types.
    pub types: Table<'a, TypeRecord>,
    pub(crate) members: Table<'a, MemberRecord>,
    /// By object, sorted.
    pub sequences: Table<'a, SequenceRecord>,
    pub(crate) lines: &'a [u8],
    pub(crate) sites: Table<'a, SiteRecord>,
    pub(crate) segments: &'a [SegmentRecord],
    pub(crate) refused: Records<'a, RefusedRecord>,
    pub(crate) boundaries: &'a [u8],
    pub(crate) type_users: Table<'a, TypeUsersRecord>,
    pub(crate) type_uses: &'a [u8],
    pub(crate) frames: Table<'a, FrameRecord>,
    pub(crate) frame_rows: &'a [u8],
    pub(crate) tracepoints: Records<'a, TracepointRecord>,
    pub(crate) event_fields: Table<'a, EventFieldRecord>,
    pub(crate) labels: &'a [u8],
    pub(crate) configuration: &'a [u8],
    /// The tapsets as they apply to this kernel.
    pub tapset: Tapset<'a>,
}

impl<'a> View<'a> {
    /// Reads the header and finds the sections. `decoded` keeps what is decoded of the file's strings, and is always the same for
    /// the same file.
    ///
    /// # Errors
    /// [`Error::NotAnIndex`], [`Error::Older`], [`Error::Newer`], [`Error::Length`], and [`Error::Section`] for one that lies
    /// outside of the file or is misaligned.
    pub fn open(file: &'a [u8], decoded: &'a Decoded) -> Result<Self> {
        let (header, directory) = Header::read(file)?;
        use SectionName as S;
        // They are looked up when they are asked for: few questions are about calls.
        table::<CalledRecord>(file, directory, S::Called)?;
        table::<BtfTypeRecord>(file, directory, S::BtfTypes)?;
        bytes(file, directory, S::Calls)?;
        Ok(Self {
            file,
            directory,
            store: None,
            machine: header.machine.get(),
            release: header.release,
            strings: Strings::new(Coded::open(bytes(file, directory, S::Strings)?)?, decoded),
            objects: Records::of_slice(records(file, directory, S::Objects)?),
            sections: table(file, directory, S::Sections)?,
            units: Records::of_slice(records(file, directory, S::Units)?),
            unit_files: table(file, directory, S::UnitFiles)?,
            names: table(file, directory, S::Names)?,
            name_hash: bytes(file, directory, S::NameHash)?,
            functions: table(file, directory, S::Functions)?,
            function_details: bytes(file, directory, S::FunctionDetails)?,
            variables: table(file, directory, S::Variables)?,
            postings: bytes(file, directory, S::Postings)?,
            places: table(file, directory, S::Places)?,
            place_details: bytes(file, directory, S::PlaceDetails)?,
            ranges: table(file, directory, S::Ranges)?,
            symbols: table(file, directory, S::Symbols)?,
            symbol_names: table(file, directory, S::SymbolNames)?,
            types: table(file, directory, S::Types)?,
            members: table(file, directory, S::Members)?,
            sequences: table(file, directory, S::Sequences)?,
            lines: bytes(file, directory, S::Lines)?,
            sites: table(file, directory, S::Sites)?,
            segments: records(file, directory, S::Segments)?,
            refused: Records::of_slice(records(file, directory, S::Refused)?),
            boundaries: bytes(file, directory, S::Boundaries)?,
            type_users: table(file, directory, S::TypeUsers)?,
            type_uses: bytes(file, directory, S::TypeUses)?,
            frames: table(file, directory, S::Frames)?,
            frame_rows: bytes(file, directory, S::FrameRows)?,
            tracepoints: Records::of_slice(records(file, directory, S::Tracepoints)?),
            event_fields: table(file, directory, S::EventFields)?,
            labels: bytes(file, directory, S::Labels)?,
            configuration: bytes(file, directory, S::Configuration)?,
            tapset: Tapset {
                meta: bytes(file, directory, S::Tapset)?,
                names: records(file, directory, S::TapsetNames)?,
                strings: bytes(file, directory, S::TapsetStrings)?,
                definitions: records(file, directory, S::TapsetDefinitions)?,
                trees: bytes(file, directory, S::TapsetTrees)?,
            },
        })
    }

    /// The kernel's release, as `uname -r` prints it; empty for a user object.
    pub fn release(&self) -> &'a [u8] {
        self.store.map_or_else(|| self.string(self.release), Kernel::release)
    }
    /// The build id of vmlinux, zeros if it has none; `None` if vmlinux is not indexed. Cost: less than a look at its record, which a
    /// kernel of a store puts together.
    pub fn build_id(&self) -> Option<[u8; 20]> {
        match self.store {
            Some(store) => store.build_id(),
            None => {
                let vmlinux = self.objects.get(0).filter(|_| self.objects.len() > 1)?;
                self.string(vmlinux.name).is_empty().then_some(vmlinux.build_id)
            }
        }
    }
    /// `e_machine` of the objects.
    pub fn machine(&self) -> u16 {
        self.machine
    }
    /// Bytes per address and pointer: 8, or 4 for a 32-bit kernel.
    pub fn address_size(&self) -> u8 {
        crate::machine::address_size(self.machine)
    }
    /// The byte order of the objects, which are all of one machine.
    pub fn order(&self) -> ByteOrder {
        let is_big = self.objects.first().is_some_and(|object| object.has(ObjectRecord::BIG_ENDIAN));
        if is_big { ByteOrder::Big } else { ByteOrder::Little }
    }
    /// The bytes of a section, with its checksum verified. Cost: its length.
    ///
    /// # Errors
    /// [`Error::Section`] if the checksum is wrong.
    pub fn checked(&self, name: SectionName) -> Result<&'a [u8]> {
        if let Some(store) = self.store {
            return Ok(BLOBS.iter().position(|blob| *blob == name).map_or(&[], |at| store.blob(at)));
        }
        let section = bytes(self.file, self.directory, name)?;
        let entry = &self.directory[name as usize];
        if header::checksum(section) != entry.checksum.get() {
            return Err(Error::Section {
                section: name.text(),
                offset: entry.offset.get(),
                what: "the checksum does not match",
            });
        }
        Ok(section)
    }
    /// Checks that no byte of the file has changed since it was written, by the checksum of each section; opening has
    /// checked those of header and directory, and there are no other bytes. Also checks that the ranges of tables
    /// obey the specification. Cost: reading the file.
    ///
    /// # Errors
    /// The first damaged section.
    pub fn whole(&self) -> Result<()> {
        if let Some(store) = self.store {
            store.chain().iter().try_for_each(|segment| segment.whole())?;
            self.check_owners()?;
            return self.meta().map(drop);
        }
        for name in SectionName::ALL {
            self.checked(*name)?;
        }
        self.check_owners()?;
        self.check_other_owners()?;
        self.meta().map(drop)
    }
    /// The objects indexed and their files. Cost: decoding it.
    ///
    /// # Errors
    /// [`Error::Section`] if the checksum is wrong, or it cannot be decoded.
    pub fn meta(&self) -> Result<Meta> {
        Meta::from_bytes(self.checked(SectionName::Meta)?)
    }
    /// The texts that the tapsets were read from. Cost: verifying the checksum, and copying them.
    ///
    /// # Errors
    /// [`Error::Section`] if the checksum is wrong, or they cannot be decoded.
    pub fn tapset_sources(&self) -> Result<SourcesMeta> {
        let section = self.checked(SectionName::TapsetSources)?;
        let what = "it cannot be decoded";
        let damaged = Error::Section { section: SectionName::TapsetSources.text(), offset: 0, what };
        if section.is_empty() { Ok(SourcesMeta::default()) } else { tapset::decode(section).ok_or(damaged) }
    }
    /// The value of an option of the kernel's configuration, named without `CONFIG_`. Cost: a binary search.
    pub fn option(&self, name: &[u8]) -> Option<&'a [u8]> {
        match self.store {
            None => config::find(self.configuration, name),
            Some(store) => {
                let options: Table<'a, OptionRecord> = store.table();
                let found = options.binary_search_by(|option| self.string(option.name).cmp(name)).ok()?;
                Some(self.string(options.get(found)?.value))
            }
        }
    }
    pub(crate) fn section_bytes(&self, name: SectionName) -> &'a [u8] {
        bytes(self.file, self.directory, name).unwrap_or_default()
    }
    /// The offset of a section in the file.
    pub(crate) fn offset(&self, name: SectionName) -> u64 {
        self.directory.get(name as usize).map_or(0, |entry| entry.offset.get())
    }
    /// The length of a section in bytes, known to lie within the file.
    pub(crate) fn length(&self, name: SectionName) -> usize {
        match self.store {
            None => self.directory[name as usize].length.get() as usize,
            Some(store) => store.chain().iter().map(|segment| segment.bytes.len()).sum(),
        }
    }
    /// What the index consists of, or what a kernel of a store adds to it: names and lengths in bytes.
    pub fn part_sizes(&self) -> Vec<(&'static str, u64)> {
        match self.store {
            None => self.section_sizes().map(|(name, size)| (name.text(), size)).collect(),
            Some(store) => {
                let size = |part: &Part| (part.text(), store.own().entry(*part).length.get().into());
                Part::ALL.iter().map(size).collect()
            }
        }
    }
    /// The sections' names and lengths; none of a store.
    pub fn section_sizes(&self) -> impl Iterator<Item = (SectionName, u64)> + 'a {
        SectionName::ALL.iter().zip(self.directory).map(|(&name, entry)| (name, entry.length.get()))
    }

    /// All strings, sorted; none of a store: see [`string_parts`](Self::string_parts).
    pub fn strings(&self) -> Strings<'a> {
        self.strings
    }
    /// The tracepoints, sorted by name, system and object.
    pub fn tracepoints(&self) -> Records<'a, TracepointRecord> {
        self.tracepoints
    }
    /// The bytes of a string, after which a NUL is. Cost: the first time that of decoding those beside it.
    #[inline]
    pub fn string(&self, id: StrId) -> &'a [u8] {
        match self.store {
            None => self.strings.get(id.get()),
            Some(store) => store.cold_text(id),
        }
    }
}

/// The range that starts here and ends where the next one starts, of a table of this length; empty if it is damaged.
#[inline]
fn between(start: Option<usize>, end: Option<usize>, length: usize) -> Range<usize> {
    match (start, end) {
        (Some(start), Some(end)) if start <= end && end <= length => start..end,
        _ => 0..0,
    }
}

/// The range of an owner in a table of this length, given the start of each owner's range.
#[inline]
fn owned<R: Record>(
    owners: Table<'_, R>,
    at: usize,
    first: impl Fn(R) -> usize,
    length: usize,
) -> Range<usize> {
    between(owners.get(at).map(&first), owners.get(at + 1).map(first), length)
}

fn bytes<'a>(file: &'a [u8], directory: &[DirectoryEntry], name: SectionName) -> Result<&'a [u8]> {
    let entry = &directory[name as usize];
    let part = || {
        let start = usize::try_from(entry.offset.get()).ok()?;
        file.get(start..start.checked_add(usize::try_from(entry.length.get()).ok()?)?)
    };
    part().ok_or(Error::Section {
        section: name.text(),
        offset: entry.offset.get(),
        what: "it does not lie within the file",
    })
}

fn records<'a, T>(file: &'a [u8], directory: &[DirectoryEntry], name: SectionName) -> Result<&'a [T]>
where
    T: FromBytes + KnownLayout + Immutable,
{
    <[T]>::ref_from_bytes(bytes(file, directory, name)?).map_err(|_| Error::Section {
        section: name.text(),
        offset: directory[name as usize].offset.get(),
        what: "its length is no multiple of its records' size",
    })
}

fn table<'a, R: Record>(
    file: &'a [u8],
    directory: &[DirectoryEntry],
    name: SectionName,
) -> Result<Table<'a, R>> {
    let records = directory[name as usize].records.get();
    Table::open(bytes(file, directory, name)?, records).ok_or(Error::Section {
        section: name.text(),
        offset: directory[name as usize].offset.get(),
        what: "it has fewer blocks than its records need",
    })
}
