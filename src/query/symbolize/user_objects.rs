//! Addresses in programs and libraries of user space, each of which has its own index.
use super::locate::{self, Absent, Spot};
use crate::query::runtime::address_map::Loaded;
use crate::query::spec::address::{Address, Scope, Symbolic, file_name};
use probeidx_format::View;
use probeidx_format::meta::UserMeta;

/// A program or library of user space.
#[derive(Clone)]
pub struct Further<'a> {
    /// Paths, or file names.
    pub names: Vec<Vec<u8>>,
    /// Its index.
    pub view: View<'a>,
}

impl<'a> Further<'a> {
    /// An object with the names in its index.
    pub fn new(user: &UserMeta, view: View<'a>) -> Self {
        let soname = Some(&user.soname).filter(|name| !name.is_empty());
        let names = user.paths.iter().chain(soname).map(|name| name.as_bytes().to_vec()).collect();
        Self { names, view }
    }

    /// The places of a symbol; without a symbol name, of an address in the file.
    ///
    /// # Errors
    /// Those of [`locate::locate`].
    pub fn locate(&self, symbolic: &Symbolic<'_>) -> Result<Vec<Spot>, Absent> {
        if !symbolic.name.is_empty() {
            let anywhere = Address::Symbolic(Symbolic { scope: Scope::Any, ..*symbolic });
            return locate::locate(&self.view, &anywhere, &Loaded::default());
        }
        let object = self.view.object_ids().next().ok_or(Absent::Object)?;
        let base = self.view.objects[object.index()].base.get();
        let pc = symbolic.offset.checked_sub(base).and_then(|pc| u32::try_from(pc).ok());
        Ok(vec![(object, pc.ok_or(Absent::Number)?)])
    }

    fn is_named(&self, name: &[u8]) -> bool {
        let is_path = name.contains(&b'/');
        self.names.iter().any(|known| match is_path {
            true => known == name || (!known.contains(&b'/') && known == file_name(name)),
            false => file_name(known) == name,
        })
    }
}

/// The object with this path or file name, if there is exactly one.
pub fn named(further: &[Further<'_>], name: &[u8]) -> Option<usize> {
    let mut named = (0..further.len()).filter(|at| further[*at].is_named(name));
    let only = named.next();
    only.filter(|_| named.next().is_none())
}
