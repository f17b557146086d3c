//! The scopes of types that have no place in the source.
//!
//! Rust's compiler gives types no file and line, and names them without their path: each `Option<T>` has a struct `Some`, and
//! each module may have an `Alignment`. Of 4,459 types of 7.2 that are alike by kind, name and size, 37 had several lists
//! of members. What tells them apart is what they lie in (DWARF 5, section 3.2).
use super::attrs::Attrs;
use super::slot::Slot;
use super::strings::{Key, content_hash};
use super::unit::Unit;
use gimli::constants::DW_LANG_Rust;
use object::Endian;
use rustc_hash::FxHashMap;

/// The scopes of an object's types, unit by unit.
#[derive(Default)]
pub struct TypeScopes {
    /// By where a unit starts; then by the offset of a type.
    units: FxHashMap<usize, FxHashMap<u32, u64>>,
}

/// Whether types of this language have no place.
pub fn are_without_place(language: u16) -> bool {
    language == DW_LANG_Rust.0
}

impl TypeScopes {
    /// Forgets what is valid for one object only.
    pub fn clear(&mut self) {
        self.units.clear();
    }
    /// A hash of the path to a type, which is not 0; 0 if types of the unit's language have a place. Cost: the first time,
    /// reads all entries of the unit.
    #[inline]
    pub fn of<E: Endian>(&mut self, unit: &Unit<'_, E>, offset: usize) -> u64 {
        if !are_without_place(unit.language) {
            return 0;
        }
        let scopes = self.units.entry(unit.header.start).or_insert_with(|| walk(unit));
        scopes.get(&(offset as u32)).copied().unwrap_or(1)
    }
}

#[cold]
fn walk<E: Endian>(unit: &Unit<'_, E>) -> FxHashMap<u32, u64> {
    let mut scopes = FxHashMap::default();
    let mut attrs = Attrs::default();
    let mut around = vec![Key::default()];
    let mut cursor = unit.cursor(unit.children);
    while !cursor.is_empty() {
        let offset = cursor.pos;
        let code = cursor.uleb();
        if code == 0 {
            around.pop();
            if around.is_empty() {
                break;
            }
            continue;
        }
        let Some(abbrev) = unit.abbrevs.get(code) else { break };
        let outer = around.last().copied().unwrap_or_default();
        if abbrev.kind.is_some() && abbrev.has_name {
            scopes.insert(offset as u32, outer.0 | 1);
        }
        match abbrev.has_children {
            true => {
                unit.attrs(&mut cursor, abbrev, &mut attrs);
                let name =
                    attrs.string(Slot::Name).map_or(0, |name| content_hash(name.bytes(&unit.sections)));
                around.push(outer.with(abbrev.tag.0.into()).with(name));
            }
            false => unit.skip_attrs(&mut cursor, abbrev),
        }
    }
    scopes
}
