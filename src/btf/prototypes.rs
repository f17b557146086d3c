//! The keys of prototypes in BTF, for comparison with those in debug information.
use super::record::{Btf, Id, Kind, Record};
use super::types::kind;
use crate::dwarf::strings::{Key, content_hash};
use probeidx_format::types::TypeKind;
use rustc_hash::FxHashMap;

/// Deeper types are considered equal: only damaged BTF has them.
const DEEPEST: u32 = 32;

/// A prototype.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prototype {
    pub key: Key,
    /// Whether it has at most [`FEW`] parameters, and these and what it returns are numbers of up to 8 bytes or pointers.
    pub is_plain: bool,
}

/// As many arguments are passed in registers on each machine.
const FEW: u16 = 6;

/// The functions in BTF with their prototypes. A name may occur several times.
pub(super) fn prototypes<'d>(btf: &Btf<'d>) -> Vec<(&'d [u8], Prototype)> {
    let mut shapes = Shapes { btf, known: FxHashMap::default() };
    let functions = btf.own().filter_map(|id| btf.record(id)).filter(|record| record.kind == Kind::Function);
    let prototype =
        |record: Record<'_>| Prototype { key: shapes.prototype(&record), is_plain: is_plain(btf, &record) };
    let mut prototype = prototype;
    functions.filter_map(|f| Some((f.name, prototype(btf.record(f.target())?)))).collect()
}

/// See [`Prototype::is_plain`].
fn is_plain(btf: &Btf<'_>, prototype: &Record<'_>) -> bool {
    let returned = prototype.target();
    prototype.parts <= FEW
        && prototype.rows().all(|[_, id, _]| is_word(btf, Id(id)))
        && (returned == Id::VOID || is_word(btf, returned))
}

/// Whether a type is a number of up to 8 bytes or a pointer. That of `...` is none.
fn is_word(btf: &Btf<'_>, id: Id) -> bool {
    const WORD: u32 = 8;
    btf.stripped(id).is_some_and(|record| match record.kind {
        Kind::Pointer => true,
        Kind::Int | Kind::Enum | Kind::Enum64 => record.word <= WORD,
        _ => false,
    })
}

/// The key of a prototype: of its return type, and of each parameter's name and type.
pub fn prototype(returned: Key, parameters: impl Iterator<Item = (u64, Key)>) -> Key {
    let whole = Key::new(TypeKind::Function as u64).and(returned);
    parameters.fold(whole, |key, (name, shape)| key.with(name).and(shape))
}

/// The key of a type. For a type with a name, only kind and name count.
pub fn shape(
    kind: TypeKind,
    name: &[u8],
    target: Option<Key>,
    parts: impl Iterator<Item = (i64, Option<Key>)>,
) -> Key {
    if !name.is_empty() {
        return Key::new(kind as u64).with(content_hash(name));
    }
    let key = Key::new(kind as u64);
    match kind {
        // Without a name, they have no description that is the same in BTF and DWARF.
        TypeKind::Struct | TypeKind::Union | TypeKind::Enum => key,
        _ => parts.fold(key.and(target.unwrap_or(VOID)), |key, (value, part)| {
            key.with(value as u64).and(part.unwrap_or(VOID))
        }),
    }
}

/// The key of no type.
pub const VOID: Key = Key(0, 0);

struct Shapes<'b, 'd> {
    btf: &'b Btf<'d>,
    known: FxHashMap<Id, Key>,
}

impl Shapes<'_, '_> {
    fn prototype(&mut self, record: &Record<'_>) -> Key {
        let returned = self.of(record.target(), 0);
        // The last parameter of a variadic function is empty.
        let named = record.rows().filter(|[name, id, _]| (*name, *id) != (0, 0));
        let parameters: Vec<_> =
            named.map(|[name, id, _]| (content_hash(self.btf.string(name)), self.of(Id(id), 0))).collect();
        prototype(returned, parameters.into_iter())
    }

    fn of(&mut self, id: Id, depth: u32) -> Key {
        let Some(record) = self.btf.record(id).filter(|_| depth < DEEPEST) else { return VOID };
        if let Some(known) = self.known.get(&id) {
            return *known;
        }
        let deeper = depth + 1;
        let key = match (record.kind, kind(&record)) {
            (Kind::TypeTag, _) => self.of(record.target(), deeper),
            (_, None) => VOID,
            (Kind::Array, Some(kind)) => {
                let (mut dimensions, mut element) = (vec![], id);
                while let Some(record) = self.btf.record(element).filter(|r| r.kind == Kind::Array)
                    && dimensions.len() < DEEPEST as usize
                {
                    let count;
                    (element, count) = record.array();
                    dimensions.push((i64::from(count), None));
                }
                let element = self.of(element, deeper);
                shape(kind, b"", Some(element), dimensions.into_iter())
            }
            (Kind::Prototype, Some(kind)) => {
                let returned = self.of(record.target(), deeper);
                let parts: Vec<_> =
                    record.rows().map(|[_, id, _]| (0, Some(self.of(Id(id), deeper)))).collect();
                shape(kind, b"", Some(returned), parts.into_iter())
            }
            (_, Some(kind)) if !record.name.is_empty() => shape(kind, record.name, None, std::iter::empty()),
            (Kind::Struct | Kind::Union | Kind::Enum | Kind::Enum64, Some(kind)) => {
                shape(kind, b"", None, std::iter::empty())
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
