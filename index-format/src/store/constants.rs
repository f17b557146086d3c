//! The constants of enumerations by name, and the types of members.
use super::Kernel;
use super::runs::Hint;
use super::segment::{Part, Space};
use crate::id::{StrId, TypeId};
use crate::record::{MemberRecord, TypeRecord};

impl Kernel<'_> {
    /// The places of the members of this name that have no type, ascending: constants, or dimensions for the empty name. Cost: a look
    /// at the names of all members.
    pub(crate) fn constants(&self, name: StrId) -> Vec<u32> {
        let mut found = vec![];
        for segment in self.chain() {
            let (rows, first) =
                (segment.rows::<MemberRecord>(Part::Members), segment.entry(Part::Members).first);
            let named = rows.positions(MemberRecord::NAME, name.get().into());
            let constants = named.filter(|at| rows.at(*at).target.some().is_none());
            let row = |at: usize| first.get().wrapping_add(at as u32);
            found.extend(constants.filter_map(|at| self.levels().back(Space::Members, row(at))));
        }
        found.sort_unstable();
        found
    }
    /// The type that has the member at a place. Cost: a binary search, of one field of each row.
    pub(crate) fn type_of_member(&self, place: u32) -> Option<TypeId> {
        let first = |at: u32| {
            let (_, row) = self.stored::<TypeRecord>(at, &mut Hint::default())?;
            self.levels().back(Space::Members, row.first_member.get())
        };
        let (mut low, mut high) = (0, self.length(Space::Types));
        while low < high {
            let middle = low.midpoint(high);
            if first(middle).is_some_and(|first| first <= place) { low = middle + 1 } else { high = middle }
        }
        low.checked_sub(1).map(TypeId::new)
    }
}
