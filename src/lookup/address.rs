//! Addresses.
use crate::query::index::functions::kernel;
use crate::query::index::symbols;
use probeidx_format::View;
use probeidx_format::id::ObjectId;

/// An address in an object of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Address {
    /// vmlinux, a module, or a program.
    pub object: ObjectId,
    /// The address less the base of the object: see [`probeidx_format`].
    pub pc: u32,
}

impl Address {
    pub(super) fn linked(view: &View<'_>, address: u64) -> Option<Self> {
        let object = kernel(view).or_else(|| view.object_ids().next().filter(|o| view.is_user(*o)))?;
        let pc = u32::try_from(address.wrapping_sub(view.objects[object.index()].base.get())).ok()?;
        symbols::section(view, object, pc).map(|_| Self { object, pc })
    }
}
