//! Converts records to types: named ones each by itself, all others by their content.
use super::excerpt;
use super::record::{Btf, Id, Kind, Record, SECTION};
use crate::dwarf::Fault;
use crate::dwarf::facts::{Batch, MemberFacts, NO_TYPE, TypeFacts};
use crate::dwarf::strings::{Key, LocalStr, content_hash};
use gimli::constants::{
    DW_ATE_boolean, DW_ATE_float, DW_ATE_signed, DW_ATE_signed_char, DW_ATE_unsigned, DW_ATE_unsigned_char,
};
use probeidx_format::types::TypeKind;
use rustc_hash::{FxHashMap, FxHashSet};

/// Deeper chains of types are cut: only damaged BTF has them.
const DEEPEST: u32 = 64;

/// Separates these keys from those of debug information.
pub(super) const SALT: u64 = 0x627466;

/// The keys of an object's types, by record number; `None` for records that are not types or were not described.
pub type Keys = Vec<Option<Key>>;

/// Describes the types of one object in a batch.
pub struct Types<'b, 'd> {
    pub batch: &'b mut Batch,
    pub btf: &'b Btf<'d>,
    /// Keys of the kernel's records, if the object is a module.
    base: &'b [Option<Key>],
    /// Keys of its own records.
    keys: Keys,
    /// Positions in the batch: of own records, and of the kernel's that were used.
    own: Vec<Option<u32>>,
    met: FxHashMap<Id, u32>,
    /// Structs, unions, enumerations and typedefs whose content remains to be read.
    pending: Vec<(Id, u32)>,
    by_key: FxHashMap<Key, u32>,
    depth: u32,
    /// The size of a pointer.
    pointer: u32,
    /// Faults already reported, each only once.
    faults: FxHashSet<&'static str>,
    pub object: u32,
}

impl<'b, 'd> Types<'b, 'd> {
    /// `base` has the keys of the kernel's records, empty for the kernel itself; `salt` separates the unnamed types
    /// of objects.
    pub fn new(
        batch: &'b mut Batch,
        btf: &'b Btf<'d>,
        base: &'b [Option<Key>],
        object: u32,
        pointer: u32,
        salt: u64,
    ) -> Self {
        let keys = definition_keys(btf, salt);
        let own = vec![None; btf.count()];
        Self {
            batch,
            btf,
            base,
            keys,
            own,
            met: FxHashMap::default(),
            pending: vec![],
            by_key: FxHashMap::default(),
            depth: 0,
            pointer,
            faults: FxHashSet::default(),
            object,
        }
    }

    /// Describes all types of the object, except prototypes that only functions refer to.
    pub fn all(&mut self) {
        let records = self.btf.own().filter_map(|id| Some((id, self.btf.record(id)?)));
        let of_functions: FxHashSet<Id> =
            records.filter(|(_, r)| r.kind == Kind::Function).map(|(_, r)| r.target()).collect();
        for id in self.btf.own().filter(|id| !of_functions.contains(id)) {
            if self.btf.record(id).is_some_and(|r| kind(&r).is_some()) {
                self.at(id);
                self.insides();
            }
        }
    }

    /// The keys of its own records, which modules refer to.
    pub fn into_keys(self) -> Keys {
        self.keys
    }

    pub fn fault(&mut self, what: &'static str) {
        if self.faults.insert(what) {
            self.batch.faults.push((self.object, Fault::new(SECTION, 0, what)));
        }
    }

    /// The type of a record, as its position in the batch.
    pub fn at(&mut self, id: Id) -> u32 {
        if id == Id::VOID {
            return NO_TYPE;
        }
        match self.btf.own_number(id) {
            Some(number) => match self.own[number] {
                Some(known) => known,
                None => {
                    // A reference back to it while it is being described has no type.
                    self.own[number] = Some(NO_TYPE);
                    let described = self.describe(id);
                    self.own[number] = Some(described);
                    described
                }
            },
            None => match self.met.get(&id) {
                Some(&known) => known,
                None => {
                    self.met.insert(id, NO_TYPE);
                    let described = self.of_kernel(id);
                    self.met.insert(id, described);
                    described
                }
            },
        }
    }

    /// A type in the kernel's BTF: if the kernel's batch has it, only the key counts.
    fn of_kernel(&mut self, id: Id) -> u32 {
        match self.base.get((id.0 as usize).wrapping_sub(1)) {
            Some(&Some(key)) => {
                let kind = self.btf.record(id).and_then(|r| kind(&r)).unwrap_or(TypeKind::Unspecified);
                self.add(TypeFacts { known: true, ..blank(key, kind) })
            }
            _ => self.describe(id),
        }
    }

    fn describe(&mut self, id: Id) -> u32 {
        let Some(record) = self.btf.record(id) else {
            self.fault("a record of BTF refers to one that is not there");
            return NO_TYPE;
        };
        if record.kind == Kind::TypeTag {
            return self.deeper(|types| types.at(record.target()));
        }
        let Some(kind) = kind(&record) else {
            self.fault("a record of BTF refers to one that is not a type");
            return NO_TYPE;
        };
        let key = match self.btf.own_number(id) {
            Some(number) => self.keys[number],
            None => excerpt::key_of_unknown(&record),
        };
        match key {
            Some(key) => self.definition(id, record, kind, key),
            None => self.made_of(id, record, kind),
        }
    }

    /// A named type, or an unnamed one with members: its content is read later.
    fn definition(&mut self, id: Id, record: Record<'d>, kind: TypeKind, key: Key) -> u32 {
        let has_size = !matches!(record.kind, Kind::Typedef | Kind::Forward);
        let is_size_alone =
            self.btf.own_number(id).is_none() && !matches!(record.kind, Kind::Int | Kind::Float);
        let facts = TypeFacts {
            name: self.batch.strings.intern(record.name),
            size: if has_size { record.word } else { 0 },
            encoding: encoding(&record),
            declared: record.is_forward() || is_size_alone,
            ..blank(key, kind)
        };
        let described = self.add(facts);
        if !matches!(record.kind, Kind::Int | Kind::Float | Kind::Forward) {
            self.pending.push((id, described));
        }
        described
    }

    /// Reads the content of the types met so far.
    pub fn insides(&mut self) {
        while let Some((id, described)) = self.pending.pop() {
            let Some(record) = self.btf.record(id) else { continue };
            let target = if record.kind == Kind::Typedef { self.at(record.target()) } else { NO_TYPE };
            let members: Vec<MemberFacts> = match record.kind {
                Kind::Struct | Kind::Union => record.rows().map(|row| self.member(&record, row)).collect(),
                Kind::Enum | Kind::Enum64 => record.rows().map(|row| self.enumerator(&record, row)).collect(),
                _ => vec![],
            };
            let mut facts = self.batch.types[described as usize];
            facts.target = target;
            self.set_members(&mut facts, &members);
            self.batch.types[described as usize] = facts;
        }
    }

    /// A type without a name: a pointer, `const`, an array, a prototype.
    fn made_of(&mut self, id: Id, record: Record<'d>, kind: TypeKind) -> u32 {
        let (target, members) = match record.kind {
            Kind::Array => self.array(id),
            Kind::Prototype => {
                let target = self.deeper(|types| types.at(record.target()));
                let parameters = record.rows().map(|[_, id, _]| {
                    let target = self.deeper(|types| types.at(Id(id)));
                    MemberFacts { name: LocalStr::EMPTY, target, value: 0 }
                });
                (target, parameters.collect())
            }
            _ => (self.deeper(|types| types.at(record.target())), vec![]),
        };
        let size = if record.kind == Kind::Pointer { self.pointer } else { 0 };
        let mut key = Key::new(kind as u64).with(SALT).with(members.len() as u64).and(self.key(target));
        for member in &members {
            key = key.with(member.value as u64).and(self.key(member.target));
        }
        if let Some(number) = self.btf.own_number(id) {
            self.keys[number] = Some(key);
        }
        if let Some(&known) = self.by_key.get(&key) {
            return known;
        }
        let mut facts = TypeFacts { size, target, ..blank(key, kind) };
        self.set_members(&mut facts, &members);
        self.add(facts)
    }

    /// Nested arrays become one with several dimensions, as in DWARF.
    fn array(&mut self, id: Id) -> (u32, Vec<MemberFacts>) {
        let mut dimensions = vec![];
        let mut at = id;
        while let Some(record) = self.btf.record(at).filter(|r| r.kind == Kind::Array) {
            if dimensions.len() >= DEEPEST as usize {
                self.fault("types of BTF are nested too deep");
                return (NO_TYPE, dimensions);
            }
            let (element, count) = record.array();
            // BTF also has 0 for an unknown number, as at the end of a struct.
            let value = if count == 0 { -1 } else { count.into() };
            dimensions.push(MemberFacts { name: LocalStr::EMPTY, target: NO_TYPE, value });
            at = element;
        }
        (self.deeper(|types| types.at(at)), dimensions)
    }

    fn member(&mut self, record: &Record<'d>, row: [u32; 3]) -> MemberFacts {
        let name = self.batch.strings.intern(self.btf.string(row[0]));
        MemberFacts { name, target: self.at(Id(row[1])), value: self.btf.place(record, row) }
    }

    fn enumerator(&mut self, record: &Record<'d>, row: [u32; 3]) -> MemberFacts {
        let name = self.batch.strings.intern(self.btf.string(row[0]));
        MemberFacts { name, target: NO_TYPE, value: record.value(row) }
    }

    fn deeper(&mut self, describe: impl FnOnce(&mut Self) -> u32) -> u32 {
        if self.depth >= DEEPEST {
            self.fault("types of BTF are nested too deep");
            return NO_TYPE;
        }
        self.depth += 1;
        let described = describe(self);
        self.depth -= 1;
        described
    }

    /// The key of a type in the batch, to become part of another's.
    pub fn key(&self, type_id: u32) -> Key {
        self.batch.types.get(type_id as usize).map_or(Key::new(u64::MAX), |t| t.key)
    }

    fn add(&mut self, facts: TypeFacts) -> u32 {
        let new = self.batch.types.len() as u32;
        self.batch.types.push(facts);
        self.by_key.entry(facts.key).or_insert(new);
        new
    }

    fn set_members(&mut self, facts: &mut TypeFacts, members: &[MemberFacts]) {
        facts.first_member = self.batch.members.len() as u32;
        facts.members = members.len() as u32;
        self.batch.members.extend_from_slice(members);
    }
}

fn blank(key: Key, kind: TypeKind) -> TypeFacts {
    TypeFacts {
        key,
        kind,
        encoding: 0,
        declared: false,
        known: false,
        name: LocalStr::EMPTY,
        file: LocalStr::EMPTY,
        line: 0,
        size: 0,
        target: NO_TYPE,
        first_member: 0,
        members: 0,
    }
}

/// The kind of type of a record.
pub(super) fn kind(record: &Record<'_>) -> Option<TypeKind> {
    Some(match record.kind {
        Kind::Int | Kind::Float => TypeKind::Base,
        Kind::Pointer => TypeKind::Pointer,
        Kind::Array => TypeKind::Array,
        Kind::Struct => TypeKind::Struct,
        Kind::Union => TypeKind::Union,
        Kind::Enum | Kind::Enum64 => TypeKind::Enum,
        Kind::Forward if record.flag => TypeKind::Union,
        Kind::Forward => TypeKind::Struct,
        Kind::Typedef => TypeKind::Typedef,
        Kind::Volatile => TypeKind::Volatile,
        Kind::Const => TypeKind::Const,
        Kind::Restrict => TypeKind::Restrict,
        Kind::Prototype => TypeKind::Function,
        Kind::Function | Kind::Variable | Kind::Section | Kind::DeclarationTag | Kind::TypeTag => {
            return None;
        }
    })
}

/// The encoding of such a number in DWARF.
fn encoding(record: &Record<'_>) -> u8 {
    const SIGNED: u32 = 1;
    const BOOL: u32 = 4;
    let encoding = match record.kind {
        Kind::Float => DW_ATE_float,
        Kind::Int if record.encoding() >> 24 & BOOL != 0 => DW_ATE_boolean,
        Kind::Int => match (record.encoding() >> 24 & SIGNED != 0, record.name.ends_with(b"char")) {
            (true, true) => DW_ATE_signed_char,
            (false, true) => DW_ATE_unsigned_char,
            (true, false) => DW_ATE_signed,
            (false, false) => DW_ATE_unsigned,
        },
        Kind::Enum | Kind::Enum64 if record.flag => DW_ATE_signed,
        Kind::Enum | Kind::Enum64 => DW_ATE_unsigned,
        _ => return 0,
    };
    encoding.0
}

/// The keys of types with a name or members: from kind, name, size, the names and offsets of members, and a counter
/// for identical ones, because no two records of an object are the same type. Identical named types in two modules
/// are one, as in DWARF. Cost: one look at each record.
fn definition_keys(btf: &Btf<'_>, salt: u64) -> Keys {
    let mut alike: FxHashMap<Key, u64> = FxHashMap::default();
    let key = |id: Id| {
        let record = btf.record(id)?;
        let mut key = Key::new(kind(&record)? as u64).with(SALT).with(content_hash(record.name));
        let whole = u64::from(record.word) << 2 | u64::from(record.flag);
        key = match record.kind {
            Kind::Int => key.with(whole).with(record.encoding().into()),
            Kind::Float | Kind::Forward => key.with(whole),
            Kind::Typedef => {
                let target = btf.record(record.target());
                key.with(target.map_or(0, |t| content_hash(t.name) ^ t.kind as u64))
            }
            Kind::Struct | Kind::Union | Kind::Enum | Kind::Enum64 => {
                let rows = record.rows().map(|[name, id, word]| {
                    let second = if matches!(record.kind, Kind::Struct | Kind::Union) { 0 } else { id };
                    (content_hash(btf.string(name)), u64::from(second) << 32 | u64::from(word))
                });
                rows.fold(key.with(whole), |key, (name, value)| key.with(name).with(value))
            }
            _ => return None,
        };
        if record.name.is_empty() {
            key = key.with(salt);
        }
        let count = alike.entry(key).or_default();
        *count += 1;
        Some(key.with(*count))
    };
    btf.own().map(key).collect()
}
