//! Whole tables, for what copies an index: questions look up only what they need.
use crate::boundaries;
use crate::header::SectionName;
use crate::id::{StrId, SymbolId};
use crate::record::*;
use crate::store::Part;
use crate::table::Table;
use crate::variables::Variables;
use crate::view::View;

impl<'a> View<'a> {
    /// The id of the kernel's release.
    pub fn release_id(&self) -> StrId {
        self.release
    }
    /// The members of all types.
    pub fn all_members(&self) -> Table<'a, MemberRecord> {
        self.members
    }
    /// The names and types of variables, by rank.
    pub fn all_variables(&self) -> Table<'a, VariableRecord> {
        self.variables
    }
    /// The variables of a function, with their lines as in its encoding.
    pub fn ranked(&self, function: FunctionRecord) -> Variables<'a> {
        let bytes = self.bytes(Part::FunctionDetails, self.function_details, function.details.get());
        Variables::read(self.variables, bytes, function.variables.get(), function.line.get())
    }
    /// The symbols by name.
    pub fn all_symbol_names(&self) -> Table<'a, SymbolId> {
        self.symbol_names
    }
    /// The types that functions take or return; one record more.
    pub fn all_type_users(&self) -> Table<'a, TypeUsersRecord> {
        self.type_users
    }
    /// The fields of all events.
    pub fn all_event_fields(&self) -> Table<'a, EventFieldRecord> {
        self.event_fields
    }
    /// The options of the kernel's configuration: name and value. Empty for a kernel of a store.
    pub fn options(&self) -> impl Iterator<Item = (&'a [u8], &'a [u8])> + use<'a> {
        self.configuration.split(|b| *b == b'\n').filter(|line| !line.is_empty()).map(|line| {
            let equals = line.iter().position(|b| *b == b'=').unwrap_or(line.len());
            (&line[..equals], line.get(equals + 1..).unwrap_or_default())
        })
    }
    /// A bit for each byte of a section: whether an instruction starts there; `None` if its code was not read.
    pub fn instruction_starts(&self, section: SectionRecord) -> Option<Vec<u8>> {
        let first = section.boundaries.get();
        let is_read = first != SectionRecord::NO_BOUNDARIES;
        let bytes = self.boundaries.get(first as usize..).filter(|_| is_read)?;
        Some(boundaries::decode(bytes, section.size.get() as u32))
    }
    /// The bytes of a section as they are.
    pub fn section(&self, name: SectionName) -> &'a [u8] {
        self.section_bytes(name)
    }
}
