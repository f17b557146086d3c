//! The functions and symbols of a name.
//!
//! A row of `names` says where they start. For a name that has none, an index has there what its neighbour starts with, and in
//! another kernel that has other neighbours. So what a row says counts only if what is there has its name: a name without
//! functions keeps the row that any kernel before wrote for it.
use super::Kernel;
use crate::id::{NameId, StrId, SymbolId};
use crate::names::candidates;
use crate::record::{FunctionRecord, NameRecord, SymbolRecord};
use crate::store::runs::later::Later;
use crate::store::runs::{Hint, Hints};
use crate::store::segment::{Part, Space};
use std::ops::Range;

/// The rank of each string that is a name, or [`NONE`].
pub(super) struct Ranks(Box<[u32]>);

const NONE: u32 = u32::MAX;
/// So many names are looked for in the time of listing all.
const FEW: u32 = 4096;

impl Ranks {
    /// Not listed yet.
    pub fn later() -> Later<Self> {
        Later::after(FEW)
    }
    fn of(kernel: &Kernel<'_>) -> Self {
        let strings = kernel.strings().map(|(strings, _)| strings.len() as usize).sum();
        let mut ranks = vec![NONE; strings];
        // The last row only ends the one before it.
        let names = kernel.length(Space::Names).saturating_sub(1);
        for (rank, (_, name)) in (0..names).zip(kernel.all_stored::<NameRecord>()) {
            if let Some(own) = ranks.get_mut(name.name.index()).filter(|own| **own == NONE) {
                *own = rank;
            }
        }
        Self(ranks.into())
    }
}

impl Kernel<'_> {
    /// The rank of a name. Cost: a look-up in each segment, and a search for its row.
    pub(crate) fn name(&self, name: &[u8]) -> Option<NameId> {
        self.rank(name, |own| self.text(own) == name)
    }
    /// The rank of a name, given its string. Cost: as for [`name`](Self::name), until many were asked for.
    pub(crate) fn name_of(&self, name: StrId) -> Option<NameId> {
        self.listed(name).unwrap_or_else(|| self.rank(self.text(name), |own| own == name))
    }
    /// As [`name_of`](Self::name_of), given what the string is.
    pub(crate) fn name_spelled(&self, name: StrId, text: &[u8]) -> Option<NameId> {
        self.listed(name).unwrap_or_else(|| self.rank(text, |own| own == name))
    }
    /// The rank of a string, if those of all are listed.
    fn listed(&self, name: StrId) -> Option<Option<NameId>> {
        let Ranks(ranks) = self.ranks.get(|| Ranks::of(self))?;
        Some(ranks.get(name.index()).filter(|rank| **rank != NONE).copied().map(NameId::new))
    }
    fn rank(&self, name: &[u8], is_it: impl Fn(StrId) -> bool) -> Option<NameId> {
        // A name that was gone for a while may have several rows.
        self.chain().iter().rev().find_map(|segment| {
            let (names, first) = (segment.rows::<NameRecord>(Part::Names), segment.entry(Part::Names).first);
            let found = candidates(segment.part(Part::NameHash), name)
                .filter(|at| names.get(*at as usize).is_some_and(|row| is_it(row.name)));
            let mut own =
                found.filter_map(|at| self.levels().back(Space::Names, first.get().wrapping_add(at)));
            own.next().map(NameId::new)
        })
    }
    /// The functions of a name. Cost: a search, and one look at each.
    pub(crate) fn functions_named(&self, name: NameId) -> Range<usize> {
        let mut hints = Hints::default();
        let first = |name: &NameRecord| (Space::FunctionIds, name.first_function.get());
        self.named(name, first, |at| match self.beside::<FunctionRecord>(at, &hints) {
            Some(function) => Some(function.name),
            None => Some(self.stored::<FunctionRecord>(at, &mut hints.rows)?.1.name),
        })
    }
    /// The positions of a name's symbols among those that are listed by name. Cost: a search, and one look at each.
    pub(crate) fn symbols_named(&self, name: NameId) -> Range<usize> {
        let mut hints = Hints::default();
        let first = |name: &NameRecord| (Space::SymbolNames, name.first_symbol.get());
        self.named(name, first, |at| {
            let symbol = self.beside::<SymbolId>(at, &hints);
            match symbol.and_then(|symbol| self.beside::<SymbolRecord>(symbol.get(), &Hints::default())) {
                Some(symbol) => Some(symbol.name),
                None => {
                    let (_, symbol) = self.stored::<SymbolId>(at, &mut hints.rows)?;
                    Some(self.raw::<SymbolRecord>(Part::Symbols, symbol.get())?.name)
                }
            }
        })
    }
    fn named(
        &self,
        name: NameId,
        first: impl Fn(&NameRecord) -> (Space, u32),
        mut name_at: impl FnMut(u32) -> Option<StrId>,
    ) -> Range<usize> {
        let start = || {
            if let Some(record) = self.beside::<NameRecord>(name.get(), &Hints::default()) {
                return Some((record.name, first(&record).1));
            }
            let (_, record) = self.stored::<NameRecord>(name.get(), &mut Hint::default())?;
            let (space, first) = first(&record);
            Some((record.name, self.levels().back(space, first)?))
        };
        let Some((name, start)) = start() else { return 0..0 };
        let end = (start..u32::MAX).find(|at| name_at(*at) != Some(name)).unwrap_or(start);
        start as usize..end as usize
    }
}
