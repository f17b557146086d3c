//! Types: each is described once per batch, however many units repeat it.
//!
//! More than two thirds of a kernel's `.debug_info` are repeated types, a copy per unit. A named type is identified
//! by kind, name, file, line and size, so all copies but the first are skipped without being read; a type without a
//! name is identified by its content.
use super::abbrev::{Abbrev, Slot};
use super::attrs::{Attrs, IN_OTHER_FILE, IN_TYPE_UNIT, StrRef};
use super::cursor::Cursor;
use super::extractor::{Extractor, Source};
use super::facts::{MemberFacts, NO_TYPE, TypeFacts};
use super::followers::Followers;
use super::header::{Fault, UnitHeader};
use super::strings::{Key, LocalStr, content_hash};
use super::type_plan::Named;
use super::type_scopes::{TypeScopes, are_without_place};
use gimli::constants::*;
use object::Endian;
use probeidx_format::types::TypeKind;
use rustc_hash::FxHashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;
use std::rc::Rc;

/// Deeper chains of types are cut: no program has them.
const DEEPEST: u32 = 64;

/// How many times over bytes may be skipped within types or functions: once per level of nesting. Only a malicious
/// file needs more.
pub(super) const MOST_PASSED_OVER: usize = 32;

/// The types in a batch, and maps that are valid for one object only.
#[derive(Default)]
pub struct KnownInBatch {
    by_key: FxHashMap<Key, u32>,
    /// By offset in `.debug_info`: those of the unit that is read. It stays small, and so in the processor's caches.
    by_offset: FxHashMap<u32, u32>,
    /// By offset in `.debug_info`: those of other units.
    by_offset_elsewhere: FxHashMap<u32, u32>,
    /// Named types of the object already met, by [`identity`]. Those without a number here are found by their key.
    met: FxHashMap<u64, u32>,
    scopes: TypeScopes,
    followers: Followers,
}

impl KnownInBatch {
    /// Empties it; its memory is kept.
    pub(super) fn clear(&mut self) {
        self.by_key.clear();
        self.followers.clear();
        self.leave_object();
    }

    /// Forgets what is valid for one object only.
    fn leave_object(&mut self) {
        self.by_offset.clear();
        self.by_offset_elsewhere.clear();
        self.met.clear();
        self.scopes.clear();
        self.followers.leave_object();
    }
}

/// The state of types while a batch is read.
pub struct Types<'d, E> {
    known: KnownInBatch,
    /// The offsets of the unit that is read.
    unit: Range<u32>,
    /// Named types whose content remains to be read.
    pending: Vec<(Rc<Source<'d, E>>, usize, u32)>,
    depth: u32,
    /// Bytes read or skipped within types.
    pub(super) passed_over: usize,
}

impl<E> Types<'_, E> {
    /// Starts with the types already in the batch.
    pub(super) fn new(known: KnownInBatch) -> Self {
        Self { known, unit: 0..0, pending: vec![], depth: 0, passed_over: 0 }
    }
    /// The types in the batch.
    pub(super) fn into_known(mut self) -> KnownInBatch {
        self.known.leave_object();
        self.known
    }
    /// Begins a unit.
    pub(super) fn enter(&mut self, unit: &UnitHeader) {
        self.unit = unit.start as u32..unit.end as u32;
        self.known.by_offset.clear();
    }
    /// The types by offset, where this offset belongs.
    #[inline(always)]
    fn by_offset(&mut self, offset: u64) -> &mut FxHashMap<u32, u32> {
        match self.unit.contains(&(offset as u32)) {
            true => &mut self.known.by_offset,
            false => &mut self.known.by_offset_elsewhere,
        }
    }
}

/// The kind of type described by an entry with this tag.
pub fn kind(tag: DwTag) -> Option<TypeKind> {
    Some(match tag {
        DW_TAG_base_type => TypeKind::Base,
        DW_TAG_structure_type => TypeKind::Struct,
        DW_TAG_union_type => TypeKind::Union,
        DW_TAG_class_type => TypeKind::Class,
        DW_TAG_enumeration_type => TypeKind::Enum,
        DW_TAG_typedef => TypeKind::Typedef,
        DW_TAG_pointer_type => TypeKind::Pointer,
        DW_TAG_array_type => TypeKind::Array,
        DW_TAG_const_type => TypeKind::Const,
        DW_TAG_volatile_type => TypeKind::Volatile,
        DW_TAG_restrict_type => TypeKind::Restrict,
        DW_TAG_atomic_type => TypeKind::Atomic,
        DW_TAG_subroutine_type => TypeKind::Function,
        DW_TAG_reference_type => TypeKind::Reference,
        DW_TAG_rvalue_reference_type => TypeKind::RvalueReference,
        DW_TAG_unspecified_type => TypeKind::Unspecified,
        _ => return None,
    })
}

impl<'d, E: Endian> Extractor<'d, '_, E> {
    /// Meets a type among a unit's entries; `attrs` are its attributes. Only a named type not met before costs more
    /// than a lookup.
    pub(super) fn meet_type(&mut self, source: &Rc<Source<'d, E>>, offset: usize, tag: DwTag, attrs: &Attrs) {
        let Some(name) = attrs.get(Slot::Name) else { return };
        if attrs.flag(Slot::Declaration) {
            return;
        }
        let file = attrs.get(Slot::DeclFile).map_or(LocalStr::EMPTY, |file| self.path(source, file));
        let scope = self.types.known.scopes.of(&source.unit, offset);
        self.meet(source, offset, identity(tag, name, file, scope, attrs));
    }

    /// Like [`Self::meet_type`], with the entry's attributes still to be read; skips its children.
    #[inline]
    pub(super) fn pass_type(
        &mut self,
        source: &Rc<Source<'d, E>>,
        offset: usize,
        cursor: &mut Cursor<'d, E>,
        abbrev: &Abbrev,
        attrs: &mut Attrs,
    ) {
        let unit = &source.unit;
        let sibling = unit.sibling(cursor, abbrev).filter(|_| abbrev.has_children);
        let plan = unit.abbrevs.type_plan(abbrev).filter(|_| {
            // A plan leaves the scope out.
            !unit.order.is_big_endian() && !are_without_place(unit.language)
        });
        match plan.and_then(|plan| plan.read(cursor.rest())) {
            Some(named) => {
                cursor.skip(abbrev.length.into());
                if !named.declared {
                    self.meet_planned(source, offset, abbrev, &named);
                }
            }
            None => {
                unit.attrs(cursor, abbrev, attrs);
                self.meet_type(source, offset, abbrev.tag, attrs);
            }
        }
        match sibling {
            Some(sibling) => cursor.pos = sibling,
            None if abbrev.has_children => unit.skip_children(cursor),
            None => {}
        }
    }

    /// Like [`Self::meet_type`], for an entry read by a plan.
    fn meet_planned(&mut self, source: &Rc<Source<'d, E>>, offset: usize, abbrev: &Abbrev, named: &Named) {
        let file = named.file.map_or(LocalStr::EMPTY, |file| self.path(source, file.into()));
        let name = source.unit.str(named.name.into());
        let kind = abbrev.kind.filter(|kind| has_inside(*kind) && named.is_common);
        if kind.is_some_and(|kind| self.is_expected(kind, file, name, named)) {
            return;
        }
        let place = u64::from(file.0) << 32 | u64::from(named.line);
        let identity = identity_of(abbrev.tag, name.0, place, named.size.into());
        if let Some(&known) = self.types.known.met.get(&identity) {
            self.types.known.followers.met(known);
            return;
        }
        // Most are in the batch, from another object.
        if let Some(kind) = kind {
            let bytes = self.name_bytes(name);
            let place = (self.batch.strings.hash(file), named.line);
            let key = with_place(described_key(kind, bytes, named.size, 0, false), place);
            if !bytes.is_empty()
                && let Some(&known) = self.types.known.by_key.get(&key)
            {
                self.types.known.met.insert(identity, known);
                self.types.known.followers.met(known);
                return;
            }
        }
        self.meet(source, offset, identity);
    }

    /// Whether the next type of the unit is the one that followed the last time.
    #[inline(always)]
    fn is_expected(&mut self, kind: TypeKind, file: LocalStr, name: StrRef, named: &Named) -> bool {
        let followers = &mut self.types.known.followers;
        let Some(number) = followers.expected() else { return false };
        let Some(facts) = self.batch.types.get(number as usize) else { return false };
        facts.kind == kind
            && (facts.file, facts.line, facts.size) == (file, named.line, named.size)
            && (facts.declared, facts.encoding) == (false, 0)
            && followers.confirm(number, name, |text| name.is(text, &self.object.sections))
    }

    #[inline]
    fn meet(&mut self, source: &Rc<Source<'d, E>>, offset: usize, identity: u64) {
        if let Entry::Vacant(new) = self.types.known.met.entry(identity) {
            new.insert(NO_TYPE);
            let described = self.type_at(source, offset as u64);
            self.types.known.followers.met(described);
        }
    }

    /// The type at this offset of `.debug_info`, in any unit.
    #[inline]
    pub(super) fn type_at(&mut self, source: &Rc<Source<'d, E>>, offset: u64) -> u32 {
        match self.types.by_offset(offset).get(&(offset as u32)) {
            Some(&known) => known,
            None => self.describe(source, offset),
        }
    }

    /// The key of a type, to become part of another's.
    pub(super) fn type_key(&self, type_id: u32) -> Key {
        self.batch.types.get(type_id as usize).map_or(Key::new(u64::MAX), |t| t.key)
    }

    #[cold]
    fn describe(&mut self, source: &Rc<Source<'d, E>>, offset: u64) -> u32 {
        let Some(source) = self.source_of(source, offset) else {
            let unit = source.unit.header.start;
            let (at, what) = match offset {
                IN_TYPE_UNIT => (unit, "types in type units (-fdebug-types-section) that are not there"),
                IN_OTHER_FILE => (unit, "types in a supplementary file (dwz), which was not read"),
                _ => (self.place_of_reference(source, offset), "a type lies outside of all units"),
            };
            self.fault(Fault::new(".debug_info", at, what));
            // Further references to it are not reported again.
            self.types.by_offset(offset).insert(offset as u32, NO_TYPE);
            return NO_TYPE;
        };
        if self.types.depth >= DEEPEST {
            self.fault(Fault::new(".debug_info", offset as usize, "types are nested too deep"));
            return NO_TYPE;
        }
        self.types.depth += 1;
        let mut attrs = self.spare_attrs.take();
        let described = self.describe_entry(&source, offset as usize, &mut attrs).unwrap_or(NO_TYPE);
        self.spare_attrs.put(attrs);
        self.types.by_offset(offset).insert(offset as u32, described);
        self.types.depth -= 1;
        if self.types.depth == 0 {
            while let Some((source, offset, described)) = self.types.pending.pop() {
                self.types.depth = 1;
                self.describe_inside(&source, offset, described);
                self.types.depth = 0;
            }
        }
        described
    }

    fn describe_entry(
        &mut self,
        source: &Rc<Source<'d, E>>,
        offset: usize,
        attrs: &mut Attrs,
    ) -> Option<u32> {
        let mut cursor = source.unit.cursor(offset);
        let abbrev = *source.unit.abbrevs.get(cursor.uleb())?;
        let kind = abbrev.kind?;
        source.unit.attrs(&mut cursor, &abbrev, attrs);
        // The type has a unit of its own; this entry only refers to it.
        if let Some(described) = attrs.get(Slot::Signature) {
            self.types.by_offset(offset as u64).insert(offset as u32, NO_TYPE);
            return Some(self.type_at(source, described));
        }
        let has_inside = has_inside(kind);
        let name = attrs.string(Slot::Name);
        let declared = attrs.flag(Slot::Declaration);
        let file = attrs.get(Slot::DeclFile).map_or(LocalStr::EMPTY, |file| self.path(source, file));
        let is_common = has_inside && !declared && attrs.get(Slot::Encoding).is_none();
        let scope = self.types.known.scopes.of(&source.unit, offset);
        let identity =
            name.filter(|_| is_common).map(|name| identity(abbrev.tag, name.0, file, scope, attrs));
        if let Some(identity) = identity
            && let Some(&known) = self.types.known.met.get(&identity)
            && known != NO_TYPE
        {
            return Some(known);
        }
        // Most types are found by their key; only a new one adds its name to the strings of the batch.
        let name_bytes = name.map(|name| self.name_bytes(name)).unwrap_or_default();
        let named = !name_bytes.is_empty();
        let mut facts = TypeFacts {
            key: Key::default(),
            kind,
            encoding: attrs.get(Slot::Encoding).unwrap_or(0) as u8,
            declared,
            known: false,
            name: LocalStr::EMPTY,
            file: if declared { LocalStr::EMPTY } else { file },
            line: if declared { 0 } else { attrs.get(Slot::DeclLine).unwrap_or(0) as u32 },
            size: attrs.get(Slot::ByteSize).unwrap_or(0).try_into().unwrap_or(u32::MAX),
            target: NO_TYPE,
            first_member: self.batch.members.len() as u32,
            members: 0,
        };
        facts.key = described_key(kind, name_bytes, facts.size, facts.encoding, declared);
        if named && (has_inside || kind == TypeKind::Base) {
            let place = if scope == 0 || declared || !has_inside {
                self.batch.strings.hash(facts.file)
            } else {
                scope
            };
            facts.key = with_place(facts.key, (place, facts.line));
            if let Some(&known) = self.types.known.by_key.get(&facts.key) {
                self.types.known.met.extend(identity.map(|identity| (identity, known)));
                return Some(known);
            }
            facts.known = self.known.contains(facts.key);
            if !facts.known {
                facts.name = name.map_or(LocalStr::EMPTY, |name| self.string(name));
            }
            let described = self.add_type(facts);
            if has_inside {
                self.types.known.followers.name(described, name_bytes);
            }
            self.types.known.met.extend(identity.map(|identity| (identity, described)));
            if has_inside && !declared && !facts.known {
                self.types.pending.push((source.clone(), offset, described));
            }
            return Some(described);
        }
        // A reference back to it while it is being described has no type.
        self.types.by_offset(offset as u64).insert(offset as u32, NO_TYPE);
        facts.name = name.map_or(LocalStr::EMPTY, |name| self.string(name));
        facts.target = attrs.get(Slot::Type).map_or(NO_TYPE, |target| self.type_at(source, target));
        let members = self.read_members(source, &mut cursor, abbrev.has_children, kind);
        facts.key = facts.key.with(members.len() as u64).and(self.type_key(facts.target));
        for member in &members {
            let name = self.batch.strings.hash(member.name);
            facts.key = facts.key.with(name).with(member.value as u64).and(self.type_key(member.target));
        }
        if has_inside {
            facts.key = with_place(facts.key, (self.batch.strings.hash(facts.file), facts.line));
        } else {
            facts.file = LocalStr::EMPTY;
            facts.line = 0;
        }
        if let Some(&known) = self.types.known.by_key.get(&facts.key) {
            return Some(known);
        }
        facts.known = self.known.contains(facts.key);
        if !facts.known {
            self.set_members(&mut facts, &members);
        }
        Some(self.add_type(facts))
    }

    /// Reads the content of a named type.
    fn describe_inside(&mut self, source: &Rc<Source<'d, E>>, offset: usize, described: u32) {
        let mut cursor = source.unit.cursor(offset);
        let Some(&abbrev) = source.unit.abbrevs.get(cursor.uleb()) else { return };
        let mut attrs = self.spare_attrs.take();
        source.unit.attrs(&mut cursor, &abbrev, &mut attrs);
        let target = attrs.get(Slot::Type).map_or(NO_TYPE, |target| self.type_at(source, target));
        self.spare_attrs.put(attrs);
        let mut facts = self.batch.types[described as usize];
        let members = self.read_members(source, &mut cursor, abbrev.has_children, facts.kind);
        facts.target = target;
        self.set_members(&mut facts, &members);
        self.batch.types[described as usize] = facts;
    }

    fn add_type(&mut self, facts: TypeFacts) -> u32 {
        let new = self.batch.types.len() as u32;
        self.batch.types.push(facts);
        self.types.known.by_key.insert(facts.key, new);
        new
    }

    fn set_members(&mut self, facts: &mut TypeFacts, members: &[MemberFacts]) {
        facts.first_member = self.batch.members.len() as u32;
        facts.members = members.len() as u32;
        self.batch.members.extend_from_slice(members);
    }
}

/// Whether types of this kind have members, or a target that their names stand for.
fn has_inside(kind: TypeKind) -> bool {
    matches!(kind, TypeKind::Struct | TypeKind::Union | TypeKind::Class | TypeKind::Enum | TypeKind::Typedef)
}

/// The start of a type's key: what its own entry says of it.
fn described_key(kind: TypeKind, name: &[u8], size: u32, encoding: u8, declared: bool) -> Key {
    let numbers = u64::from(size) << 32 | u64::from(encoding) << 1 | u64::from(declared);
    Key::new(kind as u64).with(content_hash(name)).with(numbers)
}

/// The key with the hash of the file and the line.
fn with_place(key: Key, (file, line): (u64, u32)) -> Key {
    key.with(file).with(line.into())
}

/// A hash of what identifies a named type within an object: its tag, name, size, and file and line or scope.
fn identity(tag: DwTag, name: u64, file: LocalStr, scope: u64, attrs: &Attrs) -> u64 {
    let number = |slot| attrs.get(slot).unwrap_or(0);
    let place = u64::from(file.0) << 32 | number(Slot::DeclLine) & 0xffff_ffff;
    identity_of(tag, name, if scope == 0 { place } else { scope }, number(Slot::ByteSize))
}

#[inline(always)]
fn identity_of(tag: DwTag, name: u64, place: u64, size: u64) -> u64 {
    // Both are small numbers: unmixed, the larger size of one type made up for the smaller offset of another's name (two of
    // 5,500 types of Rust without a place, 7.2.6).
    Key::default().with(size << 16 | u64::from(tag.0)).with(name).with(place).0
}
