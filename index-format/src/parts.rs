//! Checks that the ranges of tables are consecutive, as their owners declare. A walk over all owners then visits each
//! entry once, and costs no more than the tables are long.
use crate::error::{Error, Result};
use crate::header::SectionName;
use crate::record::*;
use crate::view::View;

impl View<'_> {
    /// Checks the ranges of objects and units, which most queries walk over. To be called once when opening an
    /// untrusted file. Cost: one look at each object and unit, some ten microseconds for a kernel with 1,100 modules.
    ///
    /// # Errors
    /// The table of the owner, if a range ends before it starts, or lies outside of its table.
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

    /// Checks all other tables in the same way. Cost: one look at each name, function, type and their users: a
    /// millisecond or two.
    pub(crate) fn check_other_owners(&self) -> Result<()> {
        let check = |section, rises| self.must(section, rises);
        let functions = self.functions.len();
        check(SectionName::Names, rises(self.names, |n| n.first_function.get(), functions))?;
        check(SectionName::Names, rises(self.names, |n| n.first_symbol.get(), self.symbol_names.len()))?;
        check(SectionName::Functions, rises(self.functions, |f| f.postings.get(), self.postings.len()))?;
        check(SectionName::Types, rises(self.types, |t| t.first_member.get(), self.members.len()))?;
        let uses = self.type_uses.len();
        check(SectionName::TypeUsers, rises(self.type_users, |u| u.first_use.get(), uses))?;
        check(
            SectionName::Called,
            rises(self.all_called(), |c| c.first_call.get(), self.length(SectionName::Calls)),
        )
    }

    /// Limits how much of a section a walk over many owners may read. The ranges together are no longer than their
    /// table, except in a forged file, where only the owners in [`check_owners`](Self::check_owners) are checked in
    /// advance.
    pub fn left(&self, section: SectionName) -> Left {
        Left(match section {
            SectionName::Functions => self.functions.len(),
            SectionName::SymbolNames => self.symbol_names.len(),
            SectionName::Members => self.members.len(),
            // An encoded entry has a bit at least.
            _ => self.length(section).saturating_mul(8),
        })
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

/// The unread rest of a section in a walk, in records or encoded entries: at most what it can hold.
#[derive(Debug)]
pub struct Left(usize);

impl Left {
    /// Takes this many entries; returns whether they were left. After a failure, nothing is left.
    pub fn take(&mut self, entries: usize) -> bool {
        let left = self.0.checked_sub(entries);
        self.0 = left.unwrap_or(0);
        left.is_some()
    }
}

/// Whether no range starts before the previous one, or past the end of its table.
fn rises<T>(owners: impl IntoIterator<Item = T>, first: impl Fn(T) -> u32, table: usize) -> bool {
    let mut last = 0;
    let rises = owners.into_iter().map(first).all(|start| std::mem::replace(&mut last, start) <= start);
    rises && last as usize <= table
}
