//! Reads the headers of units: their position and encoding.
use super::cursor::Cursor;
use super::sections::{Origin, Part, PartKind, Sections};
use crate::error::ErrorKind;
use gimli::constants::*;
use object::Endianness;
use rustc_hash::FxHashMap;

/// The units of an object.
#[derive(Default)]
pub struct Units {
    /// In the order of their offsets: those of the object first, then those of other files.
    pub headers: Vec<UnitHeader>,
    /// The type described by each type unit, by signature; sorted.
    pub signatures: Vec<(u64, usize)>,
    /// Headers that were skipped, with the reason.
    pub faults: Vec<Fault>,
}

impl Units {
    /// The units of the object and of its supplementary file. Their origins are the numbers of the parts.
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

    /// Adds units of other files, whose offsets follow all known ones.
    pub fn extend(&mut self, headers: impl IntoIterator<Item = UnitHeader>) {
        self.headers.extend(headers);
        self.put_in_order();
    }

    /// The unit whose header is at this offset.
    pub fn at(&mut self, start: usize) -> Option<&mut UnitHeader> {
        let at = self.headers.binary_search_by_key(&start, |unit| unit.start).ok()?;
        self.headers.get_mut(at)
    }

    /// Sorts the units, and keeps the first type unit of each signature: each file has its own copy.
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
        // Compilers use one table of abbreviations for all units of a file.
        let mut with_abbrevs = FxHashMap::default();
        for unit in headers.iter().filter(|u| matches!(u.role, Role::Own | Role::Split)) {
            with_abbrevs.entry(unit.abbrev).or_insert(unit.start);
        }
        for unit in headers.iter_mut().filter(|u| u.role == Role::Type) {
            unit.companion = with_abbrevs.get(&unit.abbrev).copied();
        }
    }
}

/// The units of a part, all with the same origin (DWARF 5, section 7.5.1).
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
    // A file shared by several objects has no type units.
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

/// Reads the unit header at this offset, its abbreviations relative to its own share. On an error, returns the offset
/// of the next unit too, if known.
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
        _ => return Err(("a unit of a DWARF version other than 2 to 5: compile with -gdwarf-5", Some(end))),
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

/// The role of a unit in an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A unit of the object, which may refer to another file for its entries.
    Own,
    /// In a supplementary file: only what the object's units refer to counts.
    Supplementary,
    /// The entries of one of the object's units, in another file.
    Split,
    /// A type, referred to by signature.
    Type,
}

/// The position and role of a unit.
#[derive(Clone, Copy, Debug)]
pub struct UnitHeader {
    /// The offset of its header in `.debug_info`.
    pub start: usize,
    /// The offset of its first entry.
    pub entries: usize,
    /// The offset past its last byte.
    pub end: usize,
    /// The offset of its abbreviations.
    pub abbrev: usize,
    pub encoding: Encoding,
    pub role: Role,
    /// Index of its origin in [`Sections::origins`].
    pub origin: u32,
    /// For a type unit, the signature of its type; for a split unit of DWARF 5 and its skeleton, the id that they
    /// share.
    pub signature: u64,
    /// For a type unit, the offset of its type.
    pub type_at: usize,
    /// The start of the unit it belongs to. A skeleton and its split unit refer to each other; a type unit refers to
    /// a unit of the same file, whose compilation directory it shares.
    pub companion: Option<usize>,
    /// Whether its entries are in another file, by a DWARF 5 header.
    pub is_skeleton: bool,
}

/// An error at an offset of a section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub kind: ErrorKind,
    pub section: &'static str,
    /// Relative to the part's share of the section.
    pub offset: usize,
    pub what: &'static str,
    /// Index of the part in [`Sections::parts`]; 0 is the object.
    pub part: usize,
}

impl Fault {
    /// A fault for damaged data.
    pub fn new(section: &'static str, offset: usize, what: &'static str) -> Self {
        Self { kind: ErrorKind::Damaged, section, offset, what, part: 0 }
    }
}
