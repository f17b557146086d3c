//! An index as typed slices. Opening it takes the header and a bounds check per section, whatever the file's size.
use crate::boundaries::{self, Starts};
use crate::calls::Calls;
use crate::config;
use crate::details::{self, Details};
use crate::error::{Error, Result};
use crate::frames;
use crate::header::{self, DirectoryEntry, Header, SectionName};
use crate::id::*;
use crate::labels::Labels;
use crate::lines::Rows;
use crate::meta::Meta;
use crate::names;
use crate::order::ByteOrder;
use crate::record::*;
use crate::records::Records;
use crate::store::record::{CallRecord, CodeRecord, LabelRecord, OptionRecord, UseRecord};
use crate::store::translate::Translate;
use crate::store::{BLOBS, Kernel, Part, Space};
use crate::table::{Table, Walk};
use crate::tapset::{self, SourcesMeta, Tapset};
use crate::users::Uses;
use crate::variables::Variables;
use crate::varint::Reader;
use std::ops::Range;
use zerocopy::byteorder::little_endian::U32;
use zerocopy::{FromBytes, Immutable, KnownLayout};

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
    pub(crate) strings: &'a [u8],
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
    /// Reads the header and finds the sections.
    ///
    /// # Errors
    /// [`Error::NotAnIndex`], [`Error::Older`], [`Error::Newer`], [`Error::Length`], and [`Error::Section`] for one that lies
    /// outside of the file or is misaligned.
    pub fn open(file: &'a [u8]) -> Result<Self> {
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
            strings: bytes(file, directory, S::Strings)?,
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
        self.string(self.release)
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
    /// The sections' names and lengths.
    pub fn section_sizes(&self) -> impl Iterator<Item = (SectionName, u64)> + 'a {
        SectionName::ALL.iter().zip(self.directory).map(|(&name, entry)| (name, entry.length.get()))
    }

    /// All strings, sorted and NUL-terminated, for searching; none of a store: see [`string_parts`](Self::string_parts).
    pub fn strings(&self) -> &'a [u8] {
        self.strings
    }
    /// The strings from this one on.
    #[inline(always)]
    fn strings_from(&self, id: StrId) -> &'a [u8] {
        match self.store {
            None => self.strings.get(id.index()..).unwrap_or_default(),
            Some(store) => store.string_from(id),
        }
    }
    /// The tracepoints, sorted by name, system and object.
    pub fn tracepoints(&self) -> Records<'a, TracepointRecord> {
        self.tracepoints
    }
    /// The bytes of a string. Cost: its length.
    #[inline]
    pub fn string(&self, id: StrId) -> &'a [u8] {
        let rest = self.strings_from(id);
        &rest[..length(rest)]
    }
    /// Whether a string is this text, which has no NUL. Cheaper than reading the string.
    #[inline]
    pub fn is_string(&self, id: StrId, text: &[u8]) -> bool {
        let rest = self.strings_from(id);
        rest.starts_with(text) && rest.get(text.len()).is_none_or(|end| *end == 0)
    }
    /// The objects, without the last record.
    pub fn object_ids(&self) -> impl DoubleEndedIterator<Item = ObjectId> + use<> {
        (0..self.objects.len().saturating_sub(1) as u32).map(ObjectId::new)
    }
    /// An object's range of a table with `length` entries, given `first`.
    fn part(&self, object: ObjectId, first: impl Fn(&ObjectRecord) -> U32, length: usize) -> Range<usize> {
        let first = |at: usize| self.objects.get(at).map(|o| first(o).get() as usize);
        between(first(object.index()), first(object.index() + 1), length)
    }
    /// The positions of an object's placements.
    pub fn places_of(&self, object: ObjectId) -> Range<usize> {
        self.part(object, |o| o.first_place, self.places.len())
    }
    /// The positions of an object's symbols.
    pub fn symbols_of(&self, object: ObjectId) -> Range<usize> {
        self.part(object, |o| o.first_symbol, self.symbols.len())
    }
    /// An object's sections.
    pub fn sections_of(&self, object: ObjectId) -> Table<'a, SectionRecord> {
        self.sections.part(self.part(object, |o| o.first_section, self.sections.len()))
    }
    /// The units of an object.
    pub fn units_of(&self, object: ObjectId) -> impl Iterator<Item = UnitId> + use<> {
        // The last record only ends the one before it.
        let units = self.units.len().saturating_sub(1);
        self.part(object, |o| o.first_unit, units).map(|unit| UnitId::new(unit as u32))
    }
    /// The positions of the placements of a unit.
    pub fn places_of_unit(&self, unit: UnitId) -> Range<usize> {
        let first = |at: usize| self.units.get(at).map(|u| u.first_place.get() as usize);
        between(first(unit.index()), first(unit.index() + 1), self.places.len())
    }
    /// An object's ranges.
    pub fn ranges_of(&self, object: ObjectId) -> Table<'a, RangeRecord> {
        self.ranges.part(self.part(object, |o| o.first_range, self.ranges.len()))
    }
    /// An object's line sequences.
    pub fn sequences_of(&self, object: ObjectId) -> Table<'a, SequenceRecord> {
        self.sequences.part(self.part(object, |o| o.first_sequence, self.sequences.len()))
    }
    /// An object's sites.
    pub fn sites_of(&self, object: ObjectId) -> Table<'a, SiteRecord> {
        self.sites.part(self.part(object, |o| o.first_site, self.sites.len()))
    }
    /// Whether an object is a program or shared library.
    pub fn is_user(&self, object: ObjectId) -> bool {
        self.objects.get(object.index()).is_some_and(|o| o.has(ObjectRecord::USER))
    }
    /// The offset in a user object's file of an address in its debug information.
    pub fn file_offset(&self, address: u64) -> Option<u64> {
        self.segments.iter().find_map(|segment| {
            let within = address.checked_sub(segment.address.get())?;
            (within < segment.size.get()).then(|| segment.offset.get().checked_add(within))?
        })
    }
    /// The ranges of an object in the kernel's own blacklist.
    pub fn refused_of(&self, object: ObjectId) -> Records<'a, RefusedRecord> {
        self.refused.part(self.part(object, |o| o.first_refused, self.refused.len()))
    }
    /// The ranges of an object with frame rules.
    pub fn frames_of(&self, object: ObjectId) -> Table<'a, FrameRecord> {
        self.frames.part(self.part(object, |o| o.first_frame, self.frames.len()))
    }
    /// The frame rules of a range.
    pub fn frame_rows(&self, frame: FrameRecord) -> frames::Rows<'a> {
        let rows = self.bytes(Part::FrameRows, self.frame_rows, frame.rows.get());
        frames::Rows::read(rows, frame.start.get())
    }
    /// The tracepoints of a name, by system and object. Cost: a binary search.
    pub fn tracepoints_named(&self, name: &[u8]) -> Records<'a, TracepointRecord> {
        let first = match self.store {
            None => self.tracepoints.partition_point(|t| self.string(t.name) < name),
            Some(store) => {
                store.table().partition_point_of_key(|t: TracepointRecord| self.string(t.name) < name)
            }
        };
        let rest = self.tracepoints.part(first..self.tracepoints.len());
        rest.part(0..rest.partition_point(|t| self.string(t.name) == name))
    }
    /// The fields of a tracepoint's event, without those common to all events.
    pub fn event_fields(&self, tracepoint: &TracepointRecord) -> Table<'a, EventFieldRecord> {
        let first = tracepoint.first_field.get() as usize;
        let end = first.saturating_add(tracepoint.fields.get().into());
        self.event_fields.part(first..end)
    }
    /// All labels, by placement and address.
    pub fn labels(&self) -> Labels<'a> {
        match self.store {
            None => Labels::read(self.labels),
            Some(store) => Labels::of_rows(store.table::<LabelRecord>()),
        }
    }
    /// Whether an instruction starts at an offset within a section; `None` if its code was not read.
    pub fn is_boundary(&self, object: ObjectId, section: SectionRecord, offset: u32) -> Option<bool> {
        let first = section.boundaries.get();
        if first == SectionRecord::NO_BOUNDARIES {
            return None;
        }
        let Some(store) = self.store else {
            return boundaries::is_start(self.boundaries.get(first as usize..)?, offset);
        };
        let code: Table<'a, CodeRecord> = store.table();
        let starts = store.code_of(object);
        let code = code.part(starts.start as usize..starts.end as usize);
        let pc = section.pc.get().wrapping_add(offset);
        let after = code.partition_point(|code| code.start.get() <= pc);
        let code = code.get(after.checked_sub(1)?)?;
        let start = |code: CodeRecord| {
            let bytes = store.bytes(Part::Boundaries, code.boundaries.get());
            boundaries::is_start(bytes, pc.wrapping_sub(code.start.get()))
        };
        if pc < code.end.get() { start(code) } else { Some(false) }
    }
    /// The starts of instructions around an offset within a section, by their [`Pc`]s, for who asks about many
    /// addresses: what [`is_boundary`](Self::is_boundary) says of each. `None` where that has none for all of them.
    pub fn starts_around(&self, object: ObjectId, section: SectionRecord, offset: u32) -> Option<Starts> {
        let first = section.boundaries.get();
        if first == SectionRecord::NO_BOUNDARIES {
            return None;
        }
        let Some(store) = self.store else {
            let starts = Starts::read(self.boundaries.get(first as usize..)?, offset)?;
            // The next section may begin within the last block.
            let end = u64::from(section.pc.get()).saturating_add(section.size.get());
            return Some(starts.moved(section.pc.get(), end.try_into().unwrap_or(u32::MAX)));
        };
        let code: Table<'a, CodeRecord> = store.table();
        let starts = store.code_of(object);
        let code = code.part(starts.start as usize..starts.end as usize);
        let pc = section.pc.get().wrapping_add(offset);
        let after = code.partition_point(|code| code.start.get() <= pc);
        let code = code.get(after.checked_sub(1)?).filter(|code| pc < code.end.get())?;
        let bytes = store.bytes(Part::Boundaries, code.boundaries.get());
        let starts = Starts::read(bytes, pc.wrapping_sub(code.start.get()))?;
        Some(starts.moved(code.start.get(), code.end.get()))
    }
    /// The object that a placement belongs to. Cost: a binary search over the objects.
    pub fn object_of_place(&self, place: PlaceId) -> ObjectId {
        if let Some(store) = self.store {
            return store.object_of_place(place);
        }
        let after = self.objects.partition_point(|o| o.first_place.get() <= place.get());
        ObjectId::new(after.saturating_sub(1) as u32)
    }
    /// The object that a symbol belongs to. Cost: a binary search over the objects.
    pub fn object_of_symbol(&self, symbol: SymbolId) -> ObjectId {
        if let Some(store) = self.store {
            return store.object_of_symbol(symbol);
        }
        let after = self.objects.partition_point(|o| o.first_symbol.get() <= symbol.get());
        ObjectId::new(after.saturating_sub(1) as u32)
    }
    /// The unit that a placement belongs to. Cost: a binary search over the units.
    pub fn unit_of_place(&self, place: PlaceId) -> UnitId {
        if let Some(store) = self.store {
            return store.unit_of_place(place);
        }
        let after = self.units.partition_point(|u| u.first_place.get() <= place.get());
        UnitId::new(after.saturating_sub(1) as u32)
    }
    /// The paths of a unit's files.
    pub fn unit_files(&self, unit: UnitId) -> Table<'a, StrId> {
        let first = |at: usize| self.units.get(at).map(|u| u.first_file.get() as usize);
        self.unit_files.part(between(first(unit.index()), first(unit.index() + 1), self.unit_files.len()))
    }
    /// The path of a unit's file.
    pub fn unit_file(&self, unit: UnitId, file: u32) -> StrId {
        self.unit_files(unit).at(file as usize)
    }

    /// The rank of an exact name. Cost: three cache misses, or one for a name that is not there.
    pub fn name(&self, name: &[u8]) -> Option<NameId> {
        if let Some(store) = self.store {
            let is_it = |id: &u32| self.names.get(*id as usize).is_some_and(|n| self.string(n.name) == name);
            return store.names(name).find(is_it).map(NameId::new);
        }
        names::candidates(self.name_hash, name)
            .find(|&id| self.names.get(id as usize).is_some_and(|n| self.string(n.name) == name))
            .map(NameId::new)
    }
    /// The rank of a name, given its string. Cost: a binary search, or of a store as for [`name`](Self::name).
    pub fn name_of(&self, name: StrId) -> Option<NameId> {
        match self.store {
            // Strings are sorted, and so are ids.
            None => {
                let at = self.names.owners().binary_search_by(|n| n.name.cmp(&name)).ok()?;
                Some(NameId::new(at as u32))
            }
            Some(_) => self.name(self.string(name)),
        }
    }
    /// The functions of a name.
    pub fn functions_named(&self, name: NameId) -> Range<usize> {
        owned(self.names, name.index(), |n| n.first_function.index(), self.functions.len())
    }
    /// The symbols of a name, by object and address.
    pub fn symbols_named(&self, name: NameId) -> Table<'a, SymbolId> {
        let first = |n: NameRecord| n.first_symbol.get() as usize;
        self.symbol_names.part(owned(self.names, name.index(), first, self.symbol_names.len()))
    }
    /// The placements of a function, ascending. Cost: a byte or two each.
    pub fn places_of_function(&self, function: FunctionId) -> Postings<'a> {
        if let Some(store) = self.store {
            return Postings {
                reader: Reader::new(&[]),
                last: 0,
                shared: Walk::of(store.postings(function)),
            };
        }
        let first = |f: FunctionRecord| f.postings.get() as usize;
        let range = owned(self.functions, function.index(), first, self.postings.len());
        Postings { reader: Reader::new(&self.postings[range]), last: 0, shared: Walk::none() }
    }
    /// The return type of a function, and its variables.
    pub fn variables(&self, function: FunctionRecord) -> Variables<'a> {
        let bytes = self.bytes(Part::FunctionDetails, self.function_details, function.details.get());
        let mut variables =
            Variables::read(self.variables, bytes, function.variables.get(), function.line.get());
        if let Some(store) = self.store {
            let own = |id: TypeId| TypeId::new(store.number(Space::TypeIds, id.get())).some();
            variables.return_type = variables.return_type.and_then(own);
            variables = variables.numbered_by(store, function.details.get());
        }
        variables
    }
    /// The details of a placement.
    pub fn details(&self, id: PlaceId, place: PlaceRecord) -> Details<'a> {
        match self.store {
            None => {
                let own = self.place_details.get(place.details.get() as usize..).unwrap_or_default();
                Details::read(own, place.entry)
            }
            Some(store) => store.details(id, place),
        }
    }
    /// The bytes of a section of an index, or of a store, from this offset on.
    #[inline]
    pub(crate) fn bytes(&self, part: Part, own: &'a [u8], offset: u32) -> &'a [u8] {
        match self.store {
            None => own.get(offset as usize..).unwrap_or_default(),
            Some(store) => store.cold_bytes(part, offset),
        }
    }
    /// The placement that this one is inlined into. It always precedes this one.
    #[inline]
    pub fn outer(&self, id: PlaceId, place: PlaceRecord) -> Option<PlaceId> {
        let bytes = self.bytes(Part::PlaceDetails, self.place_details, place.details.get());
        match details::read_outer(bytes) {
            0 => None,
            distance => id.get().checked_sub(distance).map(PlaceId::new),
        }
    }
    /// The members of a type.
    pub fn members(&self, type_id: TypeId) -> Table<'a, MemberRecord> {
        self.members_at(self.places_of_members(type_id))
    }
    /// Where the members of a type stand among those of all types.
    pub fn places_of_members(&self, type_id: TypeId) -> Range<usize> {
        let first = |t: TypeRecord| t.first_member.get() as usize;
        owned(self.types, type_id.index(), first, self.members.len())
    }
    /// The members at these [places](Self::places_of_members).
    pub fn members_at(&self, places: Range<usize>) -> Table<'a, MemberRecord> {
        self.members.part(places)
    }
    /// The functions that take or return a struct, union, class or enum. Cost: a binary search, and one to three
    /// bytes each.
    pub fn users(&self, type_id: TypeId) -> Uses<'a> {
        let at = self.type_users.partition_point_of_key(|u| u.type_id < type_id);
        let found = self.type_users.get(at).is_some_and(|u| u.type_id == type_id);
        let first = |at: usize| self.type_users.get(at).map(|u| u.first_use.get() as usize);
        if !found {
            return Uses::read(&[]);
        }
        let range = |length| between(first(at), first(at + 1), length);
        match self.store {
            None => Uses::read(&self.type_uses[range(self.type_uses.len())]),
            Some(store) => {
                let uses: Table<'a, UseRecord> = store.table();
                Uses::of_rows(uses.part(range(uses.len())))
            }
        }
    }
    /// The named types in the BTF of all objects, sorted by type and object.
    pub fn btf_types(&self) -> Table<'a, BtfTypeRecord> {
        match self.store {
            None => table(self.file, self.directory, SectionName::BtfTypes).unwrap_or_default(),
            Some(store) => store.table(),
        }
    }
    /// The functions that are called directly; one record more.
    pub fn all_called(&self) -> Table<'a, CalledRecord> {
        match self.store {
            None => table(self.file, self.directory, SectionName::Called).unwrap_or_default(),
            Some(store) => store.table(),
        }
    }
    /// Whether calls are known: those of an index without debug information are not, nor if a compiler wrote no call
    /// sites.
    pub fn has_calls(&self) -> bool {
        !self.all_called().owners().is_empty()
    }
    /// The direct calls of a function. Cost: a binary search, and one to four bytes each.
    pub fn calls(&self, function: FunctionId) -> Calls<'a> {
        let all = self.all_called();
        let called = all.owners();
        let at = called.partition_point_of_key(|c| c.function < function);
        let found = called.get(at).is_some_and(|c| c.function == function);
        let first = |at: usize| all.get(at).map(|c| c.first_call.get() as usize);
        if !found {
            return Calls::read(&[]);
        }
        let range = |length| between(first(at), first(at + 1), length);
        match self.store {
            None => {
                let calls = self.section_bytes(SectionName::Calls);
                Calls::read(&calls[range(calls.len())])
            }
            Some(store) => {
                let calls: Table<'a, CallRecord> = store.table();
                Calls::of_rows(calls.part(range(calls.len())))
            }
        }
    }
    /// The rows of a line sequence.
    pub fn rows(&self, sequence: SequenceRecord) -> Rows<'a> {
        Rows::read(self.bytes(Part::Lines, self.lines, sequence.rows.get()), sequence.start.get())
    }
}

/// The number of bytes before the first NUL, or of all; eight are looked at together.
#[inline]
fn length(bytes: &[u8]) -> usize {
    const LOWEST: u64 = u64::from_le_bytes([1; 8]);
    const HIGHEST: u64 = u64::from_le_bytes([0x80; 8]);
    let (words, rest) = bytes.as_chunks();
    for (at, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let nuls = word.wrapping_sub(LOWEST) & !word & HIGHEST;
        if nuls != 0 {
            return at * 8 + nuls.trailing_zeros() as usize / 8;
        }
    }
    words.len() * 8 + rest.iter().position(|b| *b == 0).unwrap_or(rest.len())
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

/// The placements of a function.
#[derive(Clone, Copy)]
pub struct Postings<'a> {
    reader: Reader<'a>,
    last: u32,
    shared: Walk<'a, PlaceId>,
}

impl Postings<'_> {
    /// The number of bytes to read.
    pub fn size(&self) -> usize {
        self.reader.rest().len() + self.shared.len()
    }
}

impl Iterator for Postings<'_> {
    type Item = PlaceId;

    #[inline(always)]
    fn next(&mut self) -> Option<PlaceId> {
        if self.reader.rest().is_empty() {
            return self.shared.next();
        }
        self.last = self.last.wrapping_add(self.reader.number32());
        Some(PlaceId::new(self.last))
    }
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
