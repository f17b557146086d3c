//! The headers of units: where each is, and how it is encoded.
use super::cursor::Cursor;
use super::sections::{Origin, Part, PartKind, Sections};
use crate::error::ErrorKind;
use gimli::constants::*;
use object::Endianness;
use rustc_hash::FxHashMap;

/// The units of an object.
#[derive(Default)]
pub struct Units {
    /// In the order of their offsets: those of the object, then those of other files.
    pub headers: Vec<UnitHeader>,
    /// Where the type stands that a type unit describes, by signature; sorted.
    pub signatures: Vec<(u64, usize)>,
    /// Why the walk over the headers passed some over.
    pub faults: Vec<Fault>,
}

impl Units {
    /// The units of the object itself and of its supplementary file, from which units count by the numbers of the parts.
    pub fn of(sections: &Sections<'_>) -> Self {
        let info = sections.info.len();
        let whole = [Part { kind: PartKind::Object, start: Origin::default(), types: info, end: info }];
        let parts = if sections.parts.is_empty() { &whole } else { sections.parts };
        let mut units = Self::default();
        for number in 0..parts.len() {
            let sections = Sections { parts, ..*sections };
            units.headers.extend(in_part(&sections, number, number as u32, &mut units.faults));
        }
        units.put_in_order();
        units
    }

    /// Adds units of other files, which stand behind all that are known.
    pub fn extend(&mut self, headers: impl IntoIterator<Item = UnitHeader>) {
        self.headers.extend(headers);
        self.put_in_order();
    }

    /// The unit whose header is at this offset.
    pub fn at(&mut self, start: usize) -> Option<&mut UnitHeader> {
        let at = self.headers.binary_search_by_key(&start, |unit| unit.start).ok()?;
        self.headers.get_mut(at)
    }

    /// Sorts them, and leaves of the type units with one signature the first: each file has its own copy.
    fn put_in_order(&mut self) {
        let Self { headers, signatures, .. } = self;
        headers.sort_by_key(|unit| unit.start);
        if headers.iter().all(|unit| unit.role != Role::Type) {
            return;
        }
        signatures.clear();
        signatures.extend(headers.iter().filter(|u| u.role == Role::Type).map(|u| (u.signature, u.type_at)));
        signatures.sort();
        signatures.dedup_by_key(|(signature, _)| *signature);
        let is_first = |unit: &UnitHeader| {
            signatures.binary_search(&(unit.signature, unit.type_at)).is_ok() || unit.role != Role::Type
        };
        headers.retain(is_first);
        // Compilers give the units of a file one table of abbreviations, or none another file's.
        let mut with_abbrevs = FxHashMap::default();
        for unit in headers.iter().filter(|u| matches!(u.role, Role::Own | Role::Split)) {
            with_abbrevs.entry(unit.abbrev).or_insert(unit.start);
        }
        for unit in headers.iter_mut().filter(|u| u.role == Role::Type) {
            unit.companion = with_abbrevs.get(&unit.abbrev).copied();
        }
    }
}

/// The units of a part, all of which count from the same origin. (DWARF 5, section 7.5.1.)
pub fn in_part(
    sections: &Sections<'_>,
    number: usize,
    origin: u32,
    faults: &mut Vec<Fault>,
) -> Vec<UnitHeader> {
    let Some(part) = sections.parts.get(number) else { return vec![] };
    let abbrev = sections.origin(origin).abbrev;
    let mut units = vec![];
    for (start, end, is_types) in [(part.start.info, part.types, false), (part.types, part.end, true)] {
        let info = &sections.info[..end.min(sections.info.len())];
        let mut start = start;
        while start < info.len() {
            match header_at(info, sections.order, start, is_types) {
                Ok(unit) => {
                    start = unit.end;
                    units.push(UnitHeader {
                        abbrev: unit.abbrev.saturating_add(abbrev),
                        origin,
                        role: role(part.kind, unit.role),
                        ..unit
                    });
                }
                Err((what, next)) => {
                    let fault = Fault::new(".debug_info", start - part.start.info, what);
                    faults.push(Fault { part: number, ..fault });
                    start = next.unwrap_or(info.len());
                }
            }
        }
    }
    // What several objects share has no type units.
    units.retain(|unit| part.kind != PartKind::Supplementary || unit.type_at == 0);
    units
}

fn role(kind: PartKind, role: Role) -> Role {
    match (kind, role) {
        (PartKind::Object, Role::Split) => Role::Own,
        (PartKind::Object, role) => role,
        (PartKind::Supplementary, _) => Role::Supplementary,
        (PartKind::Split, Role::Type) => Role::Type,
        (PartKind::Split, _) => Role::Split,
    }
}

/// The unit at this offset, its abbreviations as it says itself; or what is wrong with it, and where the next one starts
/// if that can be told.
pub fn header_at(
    info: &[u8],
    order: Endianness,
    start: usize,
    is_types: bool,
) -> Result<UnitHeader, (&'static str, Option<usize>)> {
    let mut cursor = Cursor::new(info, start, order);
    let mut length = u64::from(cursor.u32());
    let offset_size = if length == 0xffff_ffff { 8 } else { 4 };
    if offset_size == 8 {
        length = cursor.u64();
    }
    let end =
        usize::try_from(length).ok().and_then(|l| cursor.pos.checked_add(l)).filter(|e| *e <= info.len());
    let Some(end) = end.filter(|_| !cursor.ended) else {
        return Err(("a unit is longer than the section", None));
    };
    let version = cursor.u16();
    let mut encoding = Encoding { version, address_size: 0, offset_size };
    let mut unit_type = if is_types { DW_UT_type } else { DW_UT_compile };
    let abbrev;
    match version {
        2..=4 => {
            abbrev = cursor.offset(offset_size);
            encoding.address_size = cursor.u8();
        }
        5 => {
            unit_type = DwUt(cursor.u8());
            encoding.address_size = cursor.u8();
            abbrev = cursor.offset(offset_size);
        }
        _ => return Err(("a unit of an unknown DWARF version", Some(end))),
    }
    let has_signature =
        matches!(unit_type, DW_UT_skeleton | DW_UT_split_compile | DW_UT_type | DW_UT_split_type);
    let signature = if has_signature { cursor.u64() } else { 0 };
    let role = match unit_type {
        DW_UT_type | DW_UT_split_type => Role::Type,
        DW_UT_split_compile => Role::Split,
        _ => Role::Own,
    };
    let type_at = match role {
        Role::Type => start.saturating_add(cursor.offset(offset_size) as usize),
        _ => 0,
    };
    if cursor.ended || cursor.pos > end || !matches!(encoding.address_size, 4 | 8) {
        return Err(("the header of a unit is damaged", Some(end)));
    }
    Ok(UnitHeader {
        start,
        entries: cursor.pos,
        end,
        abbrev: abbrev as usize,
        encoding,
        role,
        origin: 0,
        signature,
        type_at,
        companion: None,
        is_skeleton: unit_type == DW_UT_skeleton,
    })
}

/// How a unit is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Encoding {
    pub version: u16,
    pub address_size: u8,
    /// 4, or 8 in 64-bit DWARF.
    pub offset_size: u8,
}

/// What a unit is to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// One of the object's own, which may say that its entries are elsewhere.
    Own,
    /// In a supplementary file: only what units of the object refer to counts.
    Supplementary,
    /// The entries of one of the object's own, in another file.
    Split,
    /// A type, for all units that refer to it by signature.
    Type,
}

/// Where a unit is.
#[derive(Clone, Copy, Debug)]
pub struct UnitHeader {
    /// The offset of its header in `.debug_info`.
    pub start: usize,
    /// The offset of its first entry.
    pub entries: usize,
    /// The offset behind its last byte.
    pub end: usize,
    /// The offset of its abbreviations.
    pub abbrev: usize,
    pub encoding: Encoding,
    pub role: Role,
    /// From where its offsets count: a number in [`Sections::origins`].
    pub origin: u32,
    /// Of a type unit that of its type, of a split unit of DWARF 5 and its skeleton what tells that they belong together.
    pub signature: u64,
    /// Of a type unit, the offset of its type.
    pub type_at: usize,
    /// Where the unit starts to which it belongs: a skeleton and the unit with its entries to each other, a type unit to one
    /// of the same file, whose folder is its own.
    pub companion: Option<usize>,
    /// Says in DWARF 5 that its entries are in another file.
    pub is_skeleton: bool,
}

/// What was wrong at which offset of which section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub kind: ErrorKind,
    pub section: &'static str,
    /// In the share of the section that the part has.
    pub offset: usize,
    pub what: &'static str,
    /// The number of the part in [`Sections::parts`]: 0 is the object.
    pub part: usize,
}

impl Fault {
    /// Something is damaged.
    pub fn new(section: &'static str, offset: usize, what: &'static str) -> Self {
        Self { kind: ErrorKind::Damaged, section, offset, what, part: 0 }
    }
}
