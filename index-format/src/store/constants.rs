//! The constants of enumerations by name.
use super::Kernel;
use super::runs::Hint;
use super::segment::{Part, Space};
use crate::id::{StrId, TypeId};
use crate::record::{MemberRecord, TypeRecord};

impl Kernel<'_> {
    /// The types that have a constant of this name, ascending; or a dimension without a name, for the empty one. Cost: a look at the
    /// names of all members.
    pub(crate) fn types_with_constant(&self, name: StrId) -> Vec<TypeId> {
        let mut found = vec![];
        for segment in self.chain() {
            let (rows, first) =
                (segment.rows::<MemberRecord>(Part::Members), segment.entry(Part::Members).first);
            let named = rows.positions(MemberRecord::NAME, name.get().into());
            let constants = named.filter(|at| rows.at(*at).target.some().is_none());
            let row = |at: usize| first.get().wrapping_add(at as u32);
            let own = constants.filter_map(|at| self.levels().back(Space::Members, row(at)));
            found.extend(own.filter_map(|own| self.type_of_member(own)));
        }
        found.sort_unstable();
        found
    }
    /// The type that has a member. Cost: a binary search.
    fn type_of_member(&self, member: u32) -> Option<TypeId> {
        let first = |at: u32| {
            let (_, row) = self.stored::<TypeRecord>(at, &mut Hint::default())?;
            self.levels().back(Space::Members, row.first_member.get())
        };
        let (mut low, mut high) = (0, self.length(Space::Types));
        while low < high {
            let middle = low.midpoint(high);
            if first(middle).is_some_and(|first| first <= member) { low = middle + 1 } else { high = middle }
        }
        low.checked_sub(1).map(TypeId::new)
    }
}
