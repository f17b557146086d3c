//! Functions, where they run, types, and the names of all.
use super::{View, between, owned, table};
use crate::calls::Calls;
use crate::details::{CallSite, Details};
use crate::header::SectionName;
use crate::id::{FunctionId, NameId, PlaceId, StrId, SymbolId, TypeId};
use crate::lines::Rows;
use crate::record::{
    BtfTypeRecord, CalledRecord, FunctionRecord, MemberRecord, NameRecord, PlaceRecord, SequenceRecord,
    TypeRecord,
};
use crate::store::record::{CallRecord, UseRecord};
use crate::store::translate::Translate;
use crate::store::{Part, Space};
use crate::table::{Table, Walk};
use crate::types::TypeKind;
use crate::users::Uses;
use crate::variables::Variables;
use crate::varint::Reader;
use crate::{details, names};
use std::ops::Range;

impl<'a> View<'a> {
    /// The rank of an exact name. Cost: three cache misses, or one for a name that is not there.
    pub fn name(&self, name: &[u8]) -> Option<NameId> {
        if let Some(store) = self.store {
            return store.name(name);
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
            Some(store) => store.name_of(name),
        }
    }
    /// As [`name_of`](Self::name_of), given what the string is, which then need not be decoded.
    pub fn name_spelled(&self, name: StrId, text: &[u8]) -> Option<NameId> {
        match self.store {
            None => self.name_of(name),
            Some(store) => store.name_spelled(name, text),
        }
    }
    /// The functions of a name.
    pub fn functions_named(&self, name: NameId) -> Range<usize> {
        if let Some(store) = self.store {
            return store.functions_named(name);
        }
        owned(self.names, name.index(), |n| n.first_function.index(), self.functions.len())
    }
    /// The symbols of a name, by object and address.
    pub fn symbols_named(&self, name: NameId) -> Table<'a, SymbolId> {
        let first = |n: NameRecord| n.first_symbol.get() as usize;
        self.symbol_names.part(match self.store {
            Some(store) => store.symbols_named(name),
            None => owned(self.names, name.index(), first, self.symbol_names.len()),
        })
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
    /// The names and types of all variables, by rank.
    #[cfg(feature = "train")]
    pub fn variable_table(&self) -> Table<'a, crate::record::VariableRecord> {
        self.variables
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
        let details = place.details.get();
        let bytes = match self.store {
            None => self.place_details.get(details as usize..).unwrap_or_default(),
            Some(store) => store.cold_head(Part::PlaceDetails, details),
        };
        match details::read_outer(bytes) {
            0 => None,
            distance => id.get().checked_sub(distance).map(PlaceId::new),
        }
    }
    /// The placement that this one is inlined into, and the call: what [`details`](Self::details) has of them, in less time.
    pub fn call(&self, id: PlaceId, place: PlaceRecord) -> Option<(PlaceId, CallSite)> {
        let bytes = self.bytes(Part::PlaceDetails, self.place_details, place.details.get());
        let (distance, call) = details::read_call(bytes)?;
        Some((PlaceId::new(id.get().checked_sub(distance)?), call))
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
    /// The first enumeration that has a constant of this name. Cost: a look at the names of all members.
    pub fn enumeration_with(&self, name: StrId) -> Option<TypeId> {
        let constants = match self.store {
            Some(store) => store.constants(name),
            None => {
                let named = self.members.positions(MemberRecord::NAME, name.get().into());
                let constants = named.filter(|at| self.members.at(*at).target.some().is_none());
                constants.map(|at| at as u32).collect()
            }
        };
        let mut types = constants.into_iter().filter_map(|place| self.type_of_member(place));
        types.find(|id| self.types.at(id.index()).kind == TypeKind::Enum as u8)
    }
    /// The type that has the member at a place. Cost: a binary search.
    pub fn type_of_member(&self, place: u32) -> Option<TypeId> {
        if let Some(store) = self.store {
            return store.type_of_member(place);
        }
        let after = self.types.partition_point(|t| t.first_member.get() <= place);
        Some(TypeId::new(after.checked_sub(1)? as u32))
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
    /// Passes over the placements before this one. Cost: a byte or two each; a search in a store.
    pub fn skip_to(&mut self, place: PlaceId) {
        let mut ahead = *self;
        while !ahead.reader.rest().is_empty() && ahead.next().is_some_and(|next| next < place) {
            *self = ahead;
        }
        self.shared.skip_while(|next| next < place);
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
