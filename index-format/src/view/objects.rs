//! What belongs to an object: its ranges of the tables, and its code.
use super::{View, between};
use crate::boundaries::Starts;
use crate::id::{ObjectId, PlaceId, StrId, SymbolId, UnitId};
use crate::labels::Labels;
use crate::record::{
    EventFieldRecord, FrameRecord, ObjectRecord, RangeRecord, RefusedRecord, SectionRecord, SequenceRecord,
    SiteRecord, TracepointRecord,
};
use crate::records::Records;
use crate::store::Kernel;
use crate::store::record::{CodeRecord, LabelRecord};
use crate::store::runs::Hint;
use crate::store::{Part, Space};
use crate::table::Table;
use crate::{boundaries, frames};
use std::ops::Range;
use zerocopy::byteorder::little_endian::U32;

impl<'a> View<'a> {
    /// The objects, without the last record.
    pub fn object_ids(&self) -> impl DoubleEndedIterator<Item = ObjectId> + use<> {
        (0..self.objects.len().saturating_sub(1) as u32).map(ObjectId::new)
    }
    /// An object's range of a table with `length` entries, which is a space of a store, given `first`.
    fn part(
        &self,
        object: ObjectId,
        space: Space,
        first: impl Fn(&ObjectRecord) -> U32,
        length: usize,
    ) -> Range<usize> {
        let first = |at: usize| match self.store {
            None => self.objects.get(at).map(|object| first(object).get() as usize),
            Some(store) => Some(store.start_of(ObjectId::new(at as u32), space, &first)? as usize),
        };
        between(first(object.index()), first(object.index() + 1), length)
    }
    /// The positions of an object's placements.
    pub fn places_of(&self, object: ObjectId) -> Range<usize> {
        self.part(object, Space::PlaceIds, |o| o.first_place, self.places.len())
    }
    /// The positions of an object's symbols.
    pub fn symbols_of(&self, object: ObjectId) -> Range<usize> {
        self.part(object, Space::Symbols, |o| o.first_symbol, self.symbols.len())
    }
    /// An object's sections.
    pub fn sections_of(&self, object: ObjectId) -> Table<'a, SectionRecord> {
        self.sections.part(self.part(object, Space::Sections, |o| o.first_section, self.sections.len()))
    }
    /// The units of an object.
    pub fn units_of(&self, object: ObjectId) -> impl Iterator<Item = UnitId> + use<> {
        // The last record only ends the one before it.
        let units = self.units.len().saturating_sub(1);
        self.part(object, Space::UnitIds, |o| o.first_unit, units).map(|unit| UnitId::new(unit as u32))
    }
    /// The positions of the placements of a unit.
    pub fn places_of_unit(&self, unit: UnitId) -> Range<usize> {
        let first = |at: usize| self.units.get(at).map(|u| u.first_place.get() as usize);
        between(first(unit.index()), first(unit.index() + 1), self.places.len())
    }
    /// An object's ranges.
    pub fn ranges_of(&self, object: ObjectId) -> Table<'a, RangeRecord> {
        self.ranges.part(self.part(object, Space::Ranges, |o| o.first_range, self.ranges.len()))
    }
    /// An object's line sequences.
    pub fn sequences_of(&self, object: ObjectId) -> Table<'a, SequenceRecord> {
        self.sequences.part(self.part(object, Space::Sequences, |o| o.first_sequence, self.sequences.len()))
    }
    /// The line sequences of a unit of an object. Cost: a look at what blocks of all of the object's have in common, and
    /// at the rows of those that may be of the unit.
    pub fn sequences_of_unit(
        &self,
        object: ObjectId,
        unit: UnitId,
    ) -> impl Iterator<Item = SequenceRecord> + use<'a> {
        let shared = |store: &Kernel<'_>| {
            store.levels().there(Space::UnitIds, unit.get(), &mut Hint::default()).unwrap_or(u32::MAX)
        };
        let number = self.store.map_or(unit.get(), shared);
        let all = self.sequences_of(object);
        all.positions(SequenceRecord::UNIT_COLUMN, number.into()).map(move |at| all.at(at))
    }
    /// An object's sites.
    pub fn sites_of(&self, object: ObjectId) -> Table<'a, SiteRecord> {
        self.sites.part(self.part(object, Space::Sites, |o| o.first_site, self.sites.len()))
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
        if let Some(store) = self.store {
            return Records::of_slice(store.refused_of(object));
        }
        let first = |at: usize| self.objects.get(at).map(|object| object.first_refused.get() as usize);
        self.refused.part(between(first(object.index()), first(object.index() + 1), self.refused.len()))
    }
    /// The ranges of an object with frame rules.
    pub fn frames_of(&self, object: ObjectId) -> Table<'a, FrameRecord> {
        self.frames.part(self.part(object, Space::Frames, |o| o.first_frame, self.frames.len()))
    }
    /// The frame rules of a range.
    pub fn frame_rows(&self, frame: FrameRecord) -> frames::Rows<'a> {
        let rows = self.bytes(Part::FrameRows, self.frame_rows, frame.rows.get());
        frames::Rows::read(rows, frame.start.get())
    }
    /// The tracepoints of a name, by system and object. Cost: a binary search, and those that are found.
    pub fn tracepoints_named(&self, name: &[u8]) -> Records<'a, TracepointRecord> {
        let first = match self.store {
            None => self.tracepoints.partition_point(|t| self.string(t.name) < name),
            Some(store) => {
                store.table().partition_point_of_key(|t: TracepointRecord| self.string(t.name) < name)
            }
        };
        let rest = self.tracepoints.part(first..self.tracepoints.len());
        let count = rest.iter().take_while(|t| self.string(t.name) == name).count();
        rest.part(0..count)
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
    /// The starts of instructions around an offset within a section, by their [`Pc`](crate::id::Pc)s, for who asks about many
    /// addresses: what [`is_boundary`](Self::is_boundary) says of each. `None` where that has none for all of them.
    pub fn starts_around(&self, object: ObjectId, section: SectionRecord, offset: u32) -> Option<Starts> {
        let first = section.boundaries.get();
        if first == SectionRecord::NO_BOUNDARIES {
            return None;
        }
        let Some(store) = self.store else {
            // The next section may begin within the last block.
            let length = section.size.get().try_into().unwrap_or(u32::MAX);
            let starts = Starts::read(self.boundaries.get(first as usize..)?, offset, length)?;
            return Some(starts.moved(section.pc.get()));
        };
        let code: Table<'a, CodeRecord> = store.table();
        let starts = store.code_of(object);
        let code = code.part(starts.start as usize..starts.end as usize);
        let pc = section.pc.get().wrapping_add(offset);
        let after = code.partition_point(|code| code.start.get() <= pc);
        let code = code.get(after.checked_sub(1)?).filter(|code| pc < code.end.get())?;
        let bytes = store.bytes(Part::Boundaries, code.boundaries.get());
        let length = code.end.get().saturating_sub(code.start.get());
        Some(Starts::read(bytes, pc.wrapping_sub(code.start.get()), length)?.moved(code.start.get()))
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
}
