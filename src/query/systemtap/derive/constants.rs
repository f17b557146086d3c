//! Constants of the kernel's enumerations, which handlers can use like variables.
use probeidx_format::View;
use probeidx_format::id::{StrId, TypeId};
use rustc_hash::FxHashMap;
use std::sync::{Mutex, PoisonError};

/// The enumerations of constants, as far as they were asked for.
#[derive(Default)]
pub struct Constants(Mutex<FxHashMap<StrId, Option<TypeId>>>);

impl Constants {
    /// The first enumeration that has a constant of this name. Cost, once for each name: a look at the names of all members.
    pub(super) fn enumeration(&self, view: &View<'_>, name: StrId) -> Option<TypeId> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *known.entry(name).or_insert_with(|| view.enumeration_with(name))
    }
}
