//! Whether the parts of tables follow one another, as the tables that own them say: then whatever walks over all owners
//! walks over each part once, and costs no more than the tables are long.
use crate::error::{Error, Result};
use crate::header::SectionName;
use crate::record::*;
use crate::view::View;

impl View<'_> {
    /// Compares the parts of objects and of units, over which most questions walk. Whoever opens a file that anyone may have
    /// written does it once. Cost: of objects and units, some ten microseconds for a kernel with 1,100 modules.
    ///
    /// # Errors
    /// The table that owns a part which ends before it starts, or outside of its table.
    pub fn check_owners(&self) -> Result<()> {
        let check = |section, rises| self.must(section, rises);
        let o = self.objects;
        let object =
            |first: fn(&ObjectRecord) -> u32, table| check(SectionName::Objects, rises(o, first, table));
        object(|o| o.first_section.get(), self.sections.len())?;
        object(|o| o.first_symbol.get(), self.symbols.len())?;
        object(|o| o.first_unit.get(), self.units.len())?;
        object(|o| o.first_place.get(), self.places.len())?;
        object(|o| o.first_range.get(), self.ranges.len())?;
        object(|o| o.first_sequence.get(), self.sequences.len())?;
        object(|o| o.first_site.get(), self.sites.len())?;
        object(|o| o.first_refused.get(), self.refused.len())?;
        object(|o| o.first_frame.get(), self.frames.len())?;
        check(SectionName::Units, rises(self.units, |u| u.first_place.get(), self.places.len()))?;
        check(SectionName::Units, rises(self.units, |u| u.first_file.get(), self.unit_files.len()))
    }

    /// The same of all other tables. Cost: of names, functions, types and their users: a millisecond or two.
    pub(crate) fn check_other_owners(&self) -> Result<()> {
        let check = |section, rises| self.must(section, rises);
        let functions = self.functions.len();
        check(SectionName::Names, rises(self.names, |n| n.first_function.get(), functions))?;
        check(SectionName::Names, rises(self.names, |n| n.first_symbol.get(), self.symbol_names.len()))?;
        check(SectionName::Functions, rises(self.functions, |f| f.postings.get(), self.postings.len()))?;
        check(SectionName::Types, rises(self.types, |t| t.first_member.get(), self.members.len()))?;
        let uses = self.type_uses.len();
        check(SectionName::TypeUsers, rises(self.type_users, |u| u.first_use.get(), uses))
    }

    /// How much a walk over many owners may read of a section. All parts together are no longer than their table, but in a
    /// forged file, of which only the owners of [`check_owners`](Self::check_owners) are compared before it is asked.
    pub fn left(&self, section: SectionName) -> Left {
        Left(self.length(section))
    }

    fn must(&self, section: SectionName, holds: bool) -> Result<()> {
        let what = "the parts that its records own do not follow one another";
        if holds {
            Ok(())
        } else {
            Err(Error::Section { section: section.text(), offset: self.offset(section), what })
        }
    }
}

/// What of a section a walk has not used up: counted in bytes, of which a record or an encoded entry has at least one.
#[derive(Debug)]
pub struct Left(usize);

impl Left {
    /// Takes so many bytes; whether they were left. Once they were not, none are.
    pub fn take(&mut self, bytes: usize) -> bool {
        let left = self.0.checked_sub(bytes);
        self.0 = left.unwrap_or(0);
        left.is_some()
    }
}

/// Whether each part starts no earlier than the one before it, and none behind the end of its table.
fn rises<T>(owners: &[T], first: fn(&T) -> u32, table: usize) -> bool {
    owners.is_sorted_by_key(first) && owners.last().is_none_or(|last| first(last) as usize <= table)
}
