//! Converts BTF to facts: the kernel's own types and prototypes, used without DWARF. Like `dwarf`, a pure function
//! from bytes and symbols to owned values.
//!
//! BTF (include/uapi/linux/btf.h, Documentation/bpf/btf.rst) is a list of numbered records and a table of strings.
//! When the kernel is built, pahole makes it from DWARF, with each type and prototype once. The image has it in
//! `.BTF` (`/sys/kernel/btf/vmlinux`). A module's BTF (`/sys/kernel/btf/MODULE`) continues the kernel's: its records
//! and strings are numbered from the kernel's end on, and refer to the kernel's, or to the module's own [`excerpt`]
//! of them.
//!
//! | record | fact |
//! | --- | --- |
//! | `INT`, `FLOAT` | base type: size, encoding |
//! | `PTR`, `CONST`, `VOLATILE`, `RESTRICT` | the same, with a target |
//! | `ARRAY` | array; nested arrays become one with several dimensions; 0 elements mean an unknown number |
//! | `STRUCT`, `UNION` | the same; members with offset and width in bits |
//! | `ENUM`, `ENUM64` | enumeration |
//! | `FWD` | a struct or union that is only declared |
//! | `TYPEDEF` | typedef |
//! | `TYPE_TAG` | its target: `__user` and similar tags are not types |
//! | `FUNC_PROTO` | function type, if referred to by more than functions; else parameters and return type of these |
//! | `FUNC` | function; a placement at each symbol of its name, or of its clones if there is none |
//! | `VAR`, `DATASEC`, `DECL_TAG` | nothing |
//!
//! BTF has no files, lines, inline instances, local variables, frame rules or locations, and neither has an index
//! made of it. Clones (`.isra.0`, `.constprop.0`, `.part.0`) are not in BTF by their names: pahole up to 1.24 leaves out functions
//! that have only such symbols, so that only these are known; later versions describe them under their own names. `.cold`
//! parts are never described.
//!
//! At the entry, a parameter is where the calling convention passes it, provided that the prototype is certain: the
//! object has one prototype and one symbol of this name (what a clone passes where is unknown), and all parameters up to this one
//! are integers or pointers.
//! pahole up to 1.24 writes several prototypes of one name, without their pairing to functions; later versions omit
//! those that disagree, or write one for all. Such functions have a placement for each prototype, with parameters
//! without location. One case cannot be detected: pahole 1.24 gives the only symbol of a name the prototype of
//! another function of that name, which has no symbol because it is inlined everywhere. In Debian's 6.1.0-56 that
//! affects `mm_init` and `end_show`, 2 of 41,600.
//!
//! # A function, worked by hand
//!
//! Debian's 6.1.192, whose `.BTF` has 121,036 records. `vfs_read` is record 66,303:
//!
//! ```text
//! 66303  c4 4e 2e 00  00 00 00 0c  fe 02 01 00    name 0x2e4ec4 "vfs_read", kind 12 FUNC, linkage 0, type 66302
//! ```
//!
//! and its prototype
//!
//! ```text
//! 66302  00 00 00 00  04 00 00 0d  …              kind 13 FUNC_PROTO, 4 parameters, returns ssize_t
//! ```
//!
//! One `FUNC` and one symbol have this name, so the placement at the symbol has its parameters in `%di %si %dx %cx`.
mod convention;
pub mod excerpt;
mod functions;
pub mod named;
pub mod prototypes;
mod record;
mod shapes;
mod types;

use crate::dwarf::Fault;
use crate::dwarf::facts::{Batch, UnitFacts};
use crate::dwarf::strings::{Key, LocalStr, content_hash};
use crate::error::ErrorKind;
use crate::load::symbols::Symbol;
use named::Named;
use probeidx_format::machine::address_size;
use probeidx_format::record::UnitRecord;
use prototypes::Prototype;
use record::Btf;
pub use shapes::shapes;
use std::borrow::Cow;
use types::{Keys, Types};

/// With fewer functions than this, missing symbols prove nothing.
const FEW: usize = 8;

/// The kernel's BTF, which that of its modules refers to.
pub struct Base {
    bytes: Vec<u8>,
    /// Offsets of its records.
    offsets: Vec<u32>,
    keys: Keys,
}

/// The object that BTF belongs to.
#[derive(Clone, Copy)]
pub struct Object<'o> {
    /// The number of the object in the batch.
    pub number: u32,
    /// The module's name; empty for the kernel.
    pub name: &'o str,
    /// ELF machine.
    pub machine: u16,
    /// The symbols of its functions, sorted by address.
    pub symbols: &'o [Symbol<'o>],
}

/// Reads the kernel's BTF into a batch, and returns what its modules refer to.
///
/// # Errors
/// An error in the header. Other faults are in the batch.
pub fn kernel(data: &[u8], object: Object<'_>) -> Result<(Batch, Base), Fault> {
    let mut batch = Batch::default();
    let (btf, wrong) = Btf::parse(data, None)?;
    batch.faults.extend(wrong.map(|fault| (object.number, fault)));
    let keys = read(&mut batch, &btf, &[], object);
    batch.strings.freeze();
    Ok((batch, Base { bytes: data.to_vec(), offsets: btf.into_offsets(), keys }))
}

impl Base {
    /// The kernel's BTF, for its prototypes only.
    ///
    /// # Errors
    /// Any error in it.
    pub fn of_prototypes(data: &[u8]) -> Result<Self, Fault> {
        let (btf, wrong) = Btf::parse(data, None)?;
        match wrong {
            Some(fault) => Err(fault),
            None => Ok(Self { bytes: data.to_vec(), offsets: btf.into_offsets(), keys: vec![] }),
        }
    }

    /// The functions of the kernel, with their prototypes.
    pub fn prototypes(&self) -> Vec<(&[u8], Prototype)> {
        // The header was valid when it was read before.
        Btf::known(&self.bytes, &self.offsets).map_or(vec![], |btf| prototypes::prototypes(&btf))
    }

    /// The name of a record; `None` if there is no such record.
    pub fn name_of(&self, id: u32) -> Option<Vec<u8>> {
        name_of(&Btf::known(&self.bytes, &self.offsets).ok()?, id)
    }

    /// The named types of the kernel.
    pub fn named(&self) -> Vec<Named> {
        Btf::known(&self.bytes, &self.offsets).map_or(vec![], |btf| named::named(&btf))
    }

    /// Passes the functions, the named types and the names of the records of a module to `take`. See
    /// [`module`](Self::module).
    ///
    /// # Errors
    /// Any error in it.
    pub fn of_module<T>(
        &self,
        data: &[u8],
        excerpt: Option<&[u8]>,
        take: impl FnOnce(&[(&[u8], Prototype)], Vec<Named>, &dyn Fn(u32) -> Option<Vec<u8>>) -> T,
    ) -> Result<T, Fault> {
        let base = match excerpt {
            Some(excerpt) => Btf::parse(excerpt, None).map_err(in_excerpt)?.0,
            None => Btf::known(&self.bytes, &self.offsets)?,
        };
        let (btf, wrong) = Btf::parse(data, Some(&base))?;
        let name_of = |id| name_of(&btf, id);
        wrong.map_or_else(|| Ok(take(&prototypes::prototypes(&btf), named::named(&btf), &name_of)), Err)
    }

    /// Reads the BTF of a module into a batch, using its [`excerpt`] of the kernel's BTF if it has one.
    ///
    /// # Errors
    /// An error in a header: the batch is unchanged. Other faults are in the batch.
    pub fn module(
        &self,
        batch: &mut Batch,
        data: &[u8],
        excerpt: Option<&[u8]>,
        object: Object<'_>,
    ) -> Result<(), Fault> {
        let kernel = Btf::known(&self.bytes, &self.offsets)?;
        let (base, wrong, keys) = match excerpt {
            None => (kernel, None, Cow::Borrowed(&self.keys)),
            Some(data) => {
                let (excerpt, wrong) = Btf::parse(data, None).map_err(in_excerpt)?;
                let keys = excerpt::keys(&excerpt, &kernel, &self.keys);
                (excerpt, wrong.map(in_excerpt), Cow::Owned(keys))
            }
        };
        let (btf, wrong_in_own) = Btf::parse(data, Some(&base))?;
        batch.faults.extend(wrong.into_iter().chain(wrong_in_own).map(|fault| (object.number, fault)));
        read(batch, &btf, &keys, object);
        Ok(())
    }
}

fn name_of(btf: &Btf<'_>, id: u32) -> Option<Vec<u8>> {
    Some(btf.record(record::Id(id))?.name.to_vec())
}

fn in_excerpt(fault: Fault) -> Fault {
    Fault { section: excerpt::SECTION, ..fault }
}

fn read(batch: &mut Batch, btf: &Btf<'_>, base: &[Option<Key>], object: Object<'_>) -> Keys {
    batch.units.push(UnitFacts {
        object: object.number,
        name: LocalStr::EMPTY,
        producer: LocalStr::EMPTY,
        language: 0,
        version: 0,
        flags: UnitRecord::BTF,
        first_place: batch.places.len() as u32,
        first_file: batch.files.len() as u32,
    });
    let pointer = u32::from(address_size(object.machine));
    let salt = content_hash(object.name.as_bytes());
    let mut types = Types::new(batch, btf, base, object.number, pointer, salt);
    types.all();
    let (names, found) = functions::functions(&mut types, object.symbols, object.machine);
    types.insides();
    let keys = types.into_keys();
    // Few functions are dropped when linking.
    if found * 2 < names && names >= FEW {
        let what = "most functions of BTF have no symbol: it is that of another build";
        let fault = Fault { kind: ErrorKind::Mismatch, ..Fault::new(record::SECTION, 0, what) };
        batch.faults.push((object.number, fault));
    }
    keys
}

#[cfg(test)]
mod tests;
