//! The headers of units: where each is, and how it is encoded.
use super::cursor::Cursor;
use super::unit::Sections;
use crate::error::ErrorKind;
use gimli::constants::*;

/// The units of an object in their order, those of its supplementary file last, and why the walk stopped early if it did.
pub fn headers(sections: &Sections<'_>) -> (Vec<UnitHeader>, Vec<Fault>) {
    let Some(supplement) = sections.supplement else { return headers_in(sections.info) };
    let (own, others) = sections.info.split_at(supplement.info.min(sections.info.len()));
    let (mut units, mut faults) = headers_in(own);
    let (added, wrong) = headers_in(others);
    units.extend(added.into_iter().map(|unit| UnitHeader {
        start: unit.start + supplement.info,
        entries: unit.entries + supplement.info,
        end: unit.end + supplement.info,
        abbrev: unit.abbrev.saturating_add(supplement.abbrev),
        is_supplementary: true,
        ..unit
    }));
    faults.extend(wrong.into_iter().map(|fault| Fault { is_supplementary: true, ..fault }));
    (units, faults)
}

/// The units of a `.debug_info`. (DWARF 5, section 7.5.1.)
fn headers_in(info: &[u8]) -> (Vec<UnitHeader>, Vec<Fault>) {
    let (mut units, mut faults) = (vec![], vec![]);
    let mut start = 0;
    while start < info.len() {
        let fault = |what| Fault::new(".debug_info", start, what);
        let mut cursor = Cursor::new(info, start);
        let mut length = u64::from(cursor.u32());
        let offset_size = if length == 0xffff_ffff { 8 } else { 4 };
        if offset_size == 8 {
            length = cursor.u64();
        }
        let end =
            usize::try_from(length).ok().and_then(|l| cursor.pos.checked_add(l)).filter(|e| *e <= info.len());
        let Some(end) = end.filter(|_| !cursor.ended) else {
            faults.push(fault("a unit is longer than the section"));
            break;
        };
        let version = cursor.u16();
        let mut encoding = Encoding { version, address_size: 0, offset_size };
        let mut unit_type = DW_UT_compile;
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
                match unit_type {
                    DW_UT_skeleton | DW_UT_split_compile => cursor.skip(8),
                    DW_UT_type | DW_UT_split_type => cursor.skip(8 + u64::from(offset_size)),
                    _ => {}
                }
            }
            _ => {
                faults.push(fault("a unit of an unknown DWARF version"));
                start = end;
                continue;
            }
        }
        if cursor.ended || cursor.pos > end || !matches!(encoding.address_size, 4 | 8) {
            faults.push(fault("the header of a unit is damaged"));
        } else if !matches!(unit_type, DW_UT_type | DW_UT_split_type) {
            let abbrev = abbrev as usize;
            units.push(UnitHeader {
                start,
                entries: cursor.pos,
                end,
                abbrev,
                encoding,
                is_supplementary: false,
            });
        }
        start = end;
    }
    (units, faults)
}

/// How a unit is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Encoding {
    pub version: u16,
    pub address_size: u8,
    /// 4, or 8 in 64-bit DWARF.
    pub offset_size: u8,
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
    /// In a supplementary file: only what units of the object refer to counts.
    pub is_supplementary: bool,
}

/// What was wrong at which offset of which section.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    pub kind: ErrorKind,
    pub section: &'static str,
    pub offset: usize,
    pub what: &'static str,
    /// In the supplementary file of the object.
    pub is_supplementary: bool,
}

impl Fault {
    /// Something is damaged.
    pub fn new(section: &'static str, offset: usize, what: &'static str) -> Self {
        Self { kind: ErrorKind::Damaged, section, offset, what, is_supplementary: false }
    }
}
