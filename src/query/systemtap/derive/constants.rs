//! Constants of the kernel's enumerations, which handlers can use like variables.
use probeidx_format::View;
use probeidx_format::id::{StrId, TypeId};
use probeidx_format::record::{MemberRecord, TypeRecord};
use probeidx_format::types::TypeKind;
use rustc_hash::FxHashMap;
use std::ops::Range;
use std::sync::{Mutex, OnceLock, PoisonError};

/// The constants of enumerations, as far as they were asked for.
#[derive(Default)]
pub struct Constants {
    /// Where the constants of each enumeration stand.
    enumerations: OnceLock<Vec<(TypeId, Range<usize>)>>,
    known: Mutex<FxHashMap<StrId, Option<TypeId>>>,
}

impl Constants {
    /// The first enumeration that has a constant of this name. Cost, once for each name: a look at the names of all
    /// constants, or of a store at those of all members.
    pub(super) fn enumeration(&self, view: &View<'_>, name: StrId) -> Option<TypeId> {
        let find = || match view.store() {
            // Where the constants of each stand takes longer there than to find whose a few are.
            Some(_) => {
                let types = view.members_named(name).filter_map(|at| view.type_of_member(at));
                types.into_iter().find(|id| view.types.at(id.index()).kind == TypeKind::Enum as u8)
            }
            None => self.among_all(view, name),
        };
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        *known.entry(name).or_insert_with(find)
    }

    fn among_all(&self, view: &View<'_>, name: StrId) -> Option<TypeId> {
        let enumerations = self.enumerations.get_or_init(|| {
            let all = view.types.owners().positions(TypeRecord::KIND, TypeKind::Enum as u64);
            all.map(|at| TypeId::new(at as u32)).map(|id| (id, view.places_of_members(id))).collect()
        });
        let has = |places: &Range<usize>| {
            let constants = view.members_at(places.clone());
            constants.positions(MemberRecord::NAME, name.get().into()).next().is_some()
        };
        enumerations.iter().find(|(_, places)| has(places)).map(|(id, _)| *id)
    }
}
