//! What the numbers of a record refer to: the same for reading, from shared numbers to those of a kernel, and for
//! adding, the other way.
use crate::id::{FunctionId, ObjectId, Pc, PlaceId, StrId, SymbolId, TypeId, UnitId};
use crate::record::*;
use crate::store::record::*;
use crate::store::segment::{Part, Space};
use zerocopy::byteorder::little_endian::U32;

/// From one numbering to another. A number that is not there becomes [`u32::MAX`].
pub trait Translate {
    /// A string.
    fn string(&self, id: u32) -> u32;
    /// A number of a space.
    fn number(&self, space: Space, number: u32) -> u32;
    /// An address.
    fn pc(&self, pc: u32) -> u32;
    /// A line of a file, which is a shared string.
    fn line(&self, file: u32, line: u32) -> u32;
}

/// A record that a store keeps as rows.
pub trait Shared: Record {
    /// Where its rows are.
    const PART: Part;
    /// How a kernel numbers them.
    const SPACE: Space;
    /// Translates what it refers to.
    fn translate(self, to: &impl Translate) -> Self;
    /// Translates only what its table is sorted by, for a search; the rest is as it is stored.
    #[inline]
    fn translate_key(self, to: &impl Translate) -> Self {
        self.translate(to)
    }
}

fn string(id: StrId, to: &impl Translate) -> StrId {
    StrId::new(to.string(id.get()))
}
fn number(number: U32, space: Space, to: &impl Translate) -> U32 {
    U32::new(to.number(space, number.get()))
}
/// An id that may be none.
fn id(id: u32, space: Space, to: &impl Translate) -> u32 {
    if id == u32::MAX { id } else { to.number(space, id) }
}
/// A range: its end belongs to its start, whatever follows there.
fn range(start: Pc, end: Pc, to: &impl Translate) -> (Pc, Pc) {
    let first = to.pc(start.get());
    (Pc::new(first), Pc::new(first.wrapping_add(end.get().wrapping_sub(start.get()))))
}

macro_rules! shared {
    ($($record:ident in $part:ident, $space:ident: |$r:ident, $to:ident| $body:block $(=> $key:block)?)*) => {$(
        impl Shared for $record {
            const PART: Part = Part::$part;
            const SPACE: Space = Space::$space;
            #[inline]
            #[allow(unused_mut, unused_variables, reason = "some refer to nothing")]
            fn translate(self, $to: &impl Translate) -> Self {
                let mut $r = self;
                $body
                $r
            }
            $(
                #[inline]
                #[allow(unused_mut, unused_variables, reason = "strings have the same numbers in all kernels")]
                fn translate_key(self, $to: &impl Translate) -> Self {
                    let mut $r = self;
                    $key
                    $r
                }
            )?
        }
    )*};
}

shared! {
    ObjectRecord in Objects, Objects: |r, to| {
        r.name = string(r.name, to);
        r.path = string(r.path, to);
        r.first_section = number(r.first_section, Space::Sections, to);
        r.first_symbol = number(r.first_symbol, Space::Symbols, to);
        r.first_unit = number(r.first_unit, Space::UnitIds, to);
        r.first_place = number(r.first_place, Space::PlaceIds, to);
        r.first_range = number(r.first_range, Space::Ranges, to);
        r.first_sequence = number(r.first_sequence, Space::Sequences, to);
        r.first_site = number(r.first_site, Space::Sites, to);
        // A kernel has its own.
        r.first_refused = U32::ZERO;
        r.first_frame = number(r.first_frame, Space::Frames, to);
    }
    SectionRecord in Sections, Sections: |r, to| {
        let before = r.pc.get();
        r.name = string(r.name, to);
        r.pc = Pc::new(to.pc(before));
        // The link address moves with the address in the object; it is 0 in a module.
        if r.address.get() != 0 {
            let moved = r.address.get().wrapping_sub(before.into()).wrapping_add(r.pc.get().into());
            r.address.set(moved);
        }
        // Where they start is said by symbol.
        if r.boundaries.get() != SectionRecord::NO_BOUNDARIES {
            r.boundaries = U32::ZERO;
        }
    }
    UnitRecord in Units, Units: |r, to| {
        r.name = string(r.name, to);
        r.producer = string(r.producer, to);
        r.first_place = number(r.first_place, Space::PlaceIds, to);
        r.first_file = number(r.first_file, Space::UnitFiles, to);
    }
    StrId in UnitFiles, UnitFiles: |r, to| { r = string(r, to); }
    NameRecord in Names, Names: |r, to| {
        r.name = string(r.name, to);
        r.first_function = FunctionId::new(to.number(Space::FunctionIds, r.first_function.get()));
        r.first_symbol = number(r.first_symbol, Space::SymbolNames, to);
    } => {}
    FunctionRecord in Functions, Functions: |r, to| {
        r.name = string(r.name, to);
        r.file = string(r.file, to);
        r.line.set(to.line(r.file.get(), r.line.get()));
    }
    CounterRecord in Counters, Counters: |r, to| {}
    PostingRecord in FirstPostings, FirstPostings: |r, to| {
        r.first = number(r.first, Space::Postings, to);
    }
    PlaceId in Postings, Postings: |r, to| { r = PlaceId::new(to.number(Space::PlaceIds, r.get())); }
    PlaceRecord in Places, Places: |r, to| {
        r.function = FunctionId::new(id(r.function.get(), Space::FunctionIds, to));
        if r.entry.get() != 0 {
            r.entry = Pc::new(to.pc(r.entry.get()));
        }
    }
    RangeRecord in Ranges, Ranges: |r, to| {
        (r.start, r.end) = range(r.start, r.end, to);
        r.place = PlaceId::new(to.number(Space::PlaceIds, r.place.get()));
    } => { r.start = Pc::new(to.pc(r.start.get())); }
    SymbolRecord in Symbols, Symbols: |r, to| {
        r.name = string(r.name, to);
        r.pc = Pc::new(to.pc(r.pc.get()));
    }
    SymbolId in SymbolNames, SymbolNames: |r, to| { r = SymbolId::new(to.number(Space::Symbols, r.get())); }
    TypeRecord in Types, Types: |r, to| {
        r.name = string(r.name, to);
        r.file = string(r.file, to);
        r.line.set(to.line(r.file.get(), r.line.get()));
        r.target = TypeId::new(id(r.target.get(), Space::TypeIds, to));
        r.first_member = number(r.first_member, Space::Members, to);
    } => {}
    MemberRecord in Members, Members: |r, to| {
        r.name = string(r.name, to);
        r.target = TypeId::new(id(r.target.get(), Space::TypeIds, to));
    }
    SequenceRecord in Sequences, Sequences: |r, to| {
        (r.start, r.end) = range(r.start, r.end, to);
        r.unit = UnitId::new(to.number(Space::UnitIds, r.unit.get()));
    } => { r.start = Pc::new(to.pc(r.start.get())); }
    SiteRecord in Sites, Sites: |r, to| { r.start = Pc::new(to.pc(r.start.get())); }
    CodeRecord in Code, Code: |r, to| { (r.start, r.end) = range(r.start, r.end, to); }
    TypeUsersRecord in TypeUsers, TypeUsers: |r, to| {
        r.type_id = TypeId::new(id(r.type_id.get(), Space::TypeIds, to));
        r.first_use = number(r.first_use, Space::TypeUses, to);
    } => { r.type_id = TypeId::new(id(r.type_id.get(), Space::TypeIds, to)); }
    UseRecord in TypeUses, TypeUses: |r, to| {
        r.function = FunctionId::new(to.number(Space::FunctionIds, r.function.get()));
    }
    BtfTypeRecord in BtfTypes, BtfTypes: |r, to| {
        r.type_id = TypeId::new(id(r.type_id.get(), Space::TypeIds, to));
        r.object = ObjectId::new(to.number(Space::ObjectIds, r.object.get()));
    } => { r.type_id = TypeId::new(id(r.type_id.get(), Space::TypeIds, to)); }
    CalledRecord in Called, Called: |r, to| {
        r.function = FunctionId::new(id(r.function.get(), Space::FunctionIds, to));
        r.first_call = number(r.first_call, Space::Calls, to);
    } => { r.function = FunctionId::new(id(r.function.get(), Space::FunctionIds, to)); }
    CallRecord in Calls, Calls: |r, to| {
        r.object = ObjectId::new(to.number(Space::ObjectIds, r.object.get()));
        r.pc = Pc::new(to.pc(r.pc.get()));
    }
    FrameRecord in Frames, Frames: |r, to| { (r.start, r.end) = range(r.start, r.end, to); }
    TracepointRecord in Tracepoints, Tracepoints: |r, to| {
        r.name = string(r.name, to);
        r.system = string(r.system, to);
        r.object = ObjectId::new(to.number(Space::ObjectIds, r.object.get()));
        r.pc = Pc::new(to.pc(r.pc.get()));
        r.prototype = FunctionId::new(id(r.prototype.get(), Space::FunctionIds, to));
        r.first_field = number(r.first_field, Space::EventFields, to);
    } => {}
    EventFieldRecord in EventFields, EventFields: |r, to| {
        r.name = string(r.name, to);
        r.type_name = string(r.type_name, to);
    }
    VariableRecord in Variables, Variables: |r, to| {
        r.name = string(r.name, to);
        r.type_id = TypeId::new(id(r.type_id.get(), Space::TypeIds, to));
    }
    LabelRecord in Labels, Labels: |r, to| {
        r.place = PlaceId::new(to.number(Space::PlaceIds, r.place.get()));
        r.name = string(r.name, to);
    }
    OptionRecord in Options, Options: |r, to| {
        r.name = string(r.name, to);
        r.value = string(r.value, to);
    }
}
