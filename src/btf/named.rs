//! The named types in BTF by what they consist of, to find them among the types of the debug information.
//!
//! pahole makes BTF from the debug information, so nearly all of its types are types of the index: what a BPF program is
//! relocated to (`bpf_core_find_cands`, tools/lib/bpf/libbpf.c) is among these, and only which ones has to be known. Two
//! types are the same if kind, name, size and members agree: their names, places and types. A type with a name is
//! compared by kind and name where it is part of another; one without a name by what it consists of.
//!
//! pahole makes one dimension of an array with several, so that arrays are compared by the number of their elements.
use super::prototypes::{VOID, shape};
use super::record::{Btf, Id, Kind, Record};
use super::types::kind;
use crate::dwarf::strings::{Key, content_hash};
use probeidx_format::types::TypeKind;
use rustc_hash::FxHashMap;

/// Deeper types are considered equal: only damaged BTF has them.
pub const DEEPEST: u32 = 32;

/// A named type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    /// Of its kind and name.
    pub name: Key,
    /// Of all that it consists of; none if it is only declared.
    pub whole: Option<Key>,
}

/// The key of a type's content. A part is the name of a member or enumerator, its place or value, and its type.
pub fn whole(kind: TypeKind, name: &[u8], size: u32, parts: impl Iterator<Item = (u64, i64, Key)>) -> Key {
    let start = Key::new(kind as u64).with(content_hash(name)).with(size.into());
    // Old BTF does not say whether values of four bytes are signed (pahole before 1.24).
    let is_short = kind == TypeKind::Enum && size <= 4;
    let part = |key: Key, (name, value, part): (u64, i64, Key)| {
        key.with(name).with(if is_short { value as u32 as u64 } else { value as u64 }).and(part)
    };
    parts.fold(start, part)
}

/// The key of an array: of its element, and how many it has; 0 if that is unknown.
pub fn array(element: Key, count: i64) -> Key {
    shape(TypeKind::Array, b"", Some(element), std::iter::once((count, None)))
}

/// The structs, unions, enumerations, typedefs and numbers of an object that have a name. Cost: a look at each record.
pub(super) fn named(btf: &Btf<'_>) -> Vec<Named> {
    let mut contents = Contents { btf, known: FxHashMap::default() };
    let one = |id: Id| {
        let record = btf.record(id).filter(|record| !record.name.is_empty())?;
        let kind = kind(&record)?;
        let whole = (!record.is_forward()).then(|| contents.whole(&record, kind, 0));
        Some(Named { name: shape(kind, record.name, None, std::iter::empty()), whole })
    };
    btf.own().filter_map(one).collect()
}

struct Contents<'b, 'd> {
    btf: &'b Btf<'d>,
    known: FxHashMap<Id, Key>,
}

impl<'d> Contents<'_, 'd> {
    fn whole(&mut self, record: &Record<'d>, kind: TypeKind, depth: u32) -> Key {
        let btf = self.btf;
        let name = |at: u32| content_hash(btf.string(at));
        match record.kind {
            Kind::Struct | Kind::Union => {
                let member =
                    |row: [u32; 3]| (name(row[0]), btf.place(record, row), self.of(Id(row[1]), depth + 1));
                whole(kind, record.name, record.word, record.rows().map(member))
            }
            Kind::Enum | Kind::Enum64 => {
                let enumerator = |row: [u32; 3]| (name(row[0]), record.value(row), VOID);
                whole(kind, record.name, record.word, record.rows().map(enumerator))
            }
            Kind::Typedef => {
                let target = self.of(record.target(), depth + 1);
                whole(kind, record.name, 0, std::iter::once((0, 0, target)))
            }
            _ => whole(kind, record.name, record.word, std::iter::empty()),
        }
    }

    /// The key of a type as part of another.
    fn of(&mut self, id: Id, depth: u32) -> Key {
        let Some(record) = self.btf.record(id).filter(|_| depth < DEEPEST) else { return VOID };
        if !record.name.is_empty() && record.kind != Kind::TypeTag {
            return kind(&record).map_or(VOID, |kind| shape(kind, record.name, None, std::iter::empty()));
        }
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let deeper = depth + 1;
        let key = match (record.kind, kind(&record)) {
            (Kind::TypeTag, _) => self.of(record.target(), deeper),
            (_, None) => VOID,
            (Kind::Array, _) => {
                let (element, count) = record.array();
                array(self.of(element, deeper), count.into())
            }
            (Kind::Prototype, Some(kind)) => {
                let returned = self.of(record.target(), deeper);
                let parts: Vec<_> =
                    record.rows().map(|[_, id, _]| (0, Some(self.of(Id(id), deeper)))).collect();
                shape(kind, b"", Some(returned), parts.into_iter())
            }
            (Kind::Struct | Kind::Union | Kind::Enum | Kind::Enum64, Some(kind)) => {
                self.whole(&record, kind, depth)
            }
            (_, Some(kind)) => {
                let target = self.of(record.target(), deeper);
                shape(kind, b"", Some(target), std::iter::empty())
            }
        };
        self.known.insert(id, key);
        key
    }
}
