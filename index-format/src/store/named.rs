//! The functions and symbols of a name.
//!
//! A row of `names` says where they start. For a name that has none, an index has there what its neighbour starts with, and in
//! another kernel that has other neighbours. So what a row says counts only if what is there has its name: a name without
//! functions keeps the row that any kernel before wrote for it.
use super::Kernel;
use super::runs::Hint;
use super::segment::{Part, Space};
use crate::id::{NameId, StrId, SymbolId};
use crate::record::{FunctionRecord, NameRecord, SymbolRecord};
use std::ops::Range;

impl Kernel<'_> {
    /// The functions of a name. Cost: a search, and one look at each.
    pub(crate) fn functions_named(&self, name: NameId) -> Range<usize> {
        let mut hint = Hint::default();
        let first = |name: &NameRecord| (Space::FunctionIds, name.first_function.get());
        self.named(name, first, |at| Some(self.stored::<FunctionRecord>(at, &mut hint)?.1.name))
    }
    /// The positions of a name's symbols among those that are listed by name. Cost: a search, and one look at each.
    pub(crate) fn symbols_named(&self, name: NameId) -> Range<usize> {
        let mut hint = Hint::default();
        let first = |name: &NameRecord| (Space::SymbolNames, name.first_symbol.get());
        self.named(name, first, |at| {
            let (_, symbol) = self.stored::<SymbolId>(at, &mut hint)?;
            Some(self.raw::<SymbolRecord>(Part::Symbols, symbol.get())?.name)
        })
    }
    fn named(
        &self,
        name: NameId,
        first: impl Fn(&NameRecord) -> (Space, u32),
        mut name_at: impl FnMut(u32) -> Option<StrId>,
    ) -> Range<usize> {
        let start = || {
            let (_, record) = self.stored::<NameRecord>(name.get(), &mut Hint::default())?;
            let (space, first) = first(&record);
            Some((record.name, self.levels().back(space, first)?))
        };
        let Some((name, start)) = start() else { return 0..0 };
        let end = (start..u32::MAX).find(|at| name_at(*at) != Some(name)).unwrap_or(start);
        start as usize..end as usize
    }
}
