//! Range lists and location lists of all DWARF versions (DWARF 5, sections 7.25, 7.29; DWARF 4, sections 2.6.2,
//! 2.17.3).
use super::abbrev::Slot;
use super::attrs::Attrs;
use super::cursor::Cursor;
use super::header::Role;
use super::unit::Unit;
use gimli::constants::*;
use object::Endian;

/// A range of addresses; `expr` is empty in a range list.
pub struct ListEntry<'d> {
    pub start: u64,
    pub end: u64,
    pub expr: &'d [u8],
}

/// Longer lists are cut: no compiler writes one.
const MOST_ENTRIES: usize = 1 << 20;

/// The error for an incomplete location list or range list.
fn damaged<const LOCATIONS: bool>() -> Result<(), &'static str> {
    Err(if LOCATIONS { "a location list is damaged" } else { "a range list is damaged" })
}

fn too_long<const LOCATIONS: bool>() -> Result<(), &'static str> {
    Err(match LOCATIONS {
        true => "a location list of more than 1048576 entries",
        false => "a range list of more than 1048576 entries",
    })
}

/// The section with the range lists of a unit.
pub fn section_of_ranges(unit: &Unit<'_, impl Endian>) -> &'static str {
    if unit.header.encoding.version >= 5 { ".debug_rnglists" } else { ".debug_ranges" }
}

/// Calls `each` with the ranges of an entry, from `DW_AT_low_pc` and `DW_AT_high_pc` or `DW_AT_ranges`. Empty ranges
/// are kept: a function of zero length still has a placement. Fails if the list is incomplete.
pub fn ranges(
    unit: &Unit<'_, impl Endian>,
    attrs: &Attrs,
    mut each: impl FnMut(u64, u64),
) -> Result<(), &'static str> {
    if let Some(value) = attrs.get(Slot::Ranges) {
        let mut each = |e: ListEntry<'_>| each(e.start, e.end);
        return if unit.header.encoding.version >= 5 {
            let section = unit.sections.rnglists;
            let is_index = attrs.form(Slot::Ranges) == DW_FORM_rnglistx;
            offset(unit, section, (unit.rnglists_base, unit.origin.rnglists), value, is_index)
                .map_or_else(damaged::<false>, |offset| list5::<false>(unit, section, offset, &mut each))
        } else {
            let offset = value.wrapping_add(unit.rnglists_base);
            list4::<false>(unit, unit.sections.ranges, offset as usize, &mut each)
        };
    }
    if let (Some(low), Some(high)) = (attrs.get(Slot::LowPc), attrs.get(Slot::HighPc)) {
        each(low, if attrs.is_address(Slot::HighPc) { high } else { low.wrapping_add(high) });
    }
    Ok(())
}

/// Calls `each` with the entries of the location list in `DW_AT_location`. Fails if the list is incomplete.
pub fn locations<'d>(
    unit: &Unit<'d, impl Endian>,
    attrs: &Attrs,
    mut each: impl FnMut(ListEntry<'d>),
) -> Result<(), &'static str> {
    let Some(value) = attrs.get(Slot::Location) else { return Ok(()) };
    if unit.header.encoding.version >= 5 {
        let section = unit.sections.loclists;
        let is_index = attrs.form(Slot::Location) == DW_FORM_loclistx;
        offset(unit, section, (unit.loclists_base, unit.origin.loclists), value, is_index)
            .map_or_else(damaged::<true>, |offset| list5::<true>(unit, section, offset, &mut each))
    } else {
        let offset = unit.origin.loc.saturating_add(value as usize);
        match unit.header.role {
            Role::Split => list_of_split4(unit, unit.sections.loc, offset, &mut each),
            _ => list4::<true>(unit, unit.sections.loc, offset, &mut each),
        }
    }
}

/// The offset of a list: the value itself, relative to the unit's share of the section; or for an index, the value in
/// the offset table, relative to the unit's base.
fn offset(
    unit: &Unit<'_, impl Endian>,
    section: &[u8],
    (base, start): (u64, usize),
    value: u64,
    is_index: bool,
) -> Option<usize> {
    if !is_index {
        return usize::try_from(value).ok()?.checked_add(start);
    }
    let size = unit.header.encoding.offset_size;
    let at = value.checked_mul(size.into())?.checked_add(base)?;
    let mut cursor = Cursor::new(section, usize::try_from(at).ok()?, unit.order);
    let offset = cursor.offset(size);
    usize::try_from(base.wrapping_add(offset)).ok().filter(|_| !cursor.ended)
}

/// Reads a list of DWARF 5. The kinds of entries up to 4 are the same for ranges and locations; locations then insert
/// a default.
#[inline]
fn list5<'d, const LOCATIONS: bool>(
    unit: &Unit<'d, impl Endian>,
    section: &'d [u8],
    offset: usize,
    each: &mut impl FnMut(ListEntry<'d>),
) -> Result<(), &'static str> {
    let mut cursor = Cursor::new(section, offset, unit.order);
    let size = unit.header.encoding.address_size;
    let mut base = unit.low_pc;
    for _ in 0..MOST_ENTRIES {
        let mut kind = cursor.u8();
        // From DW_LLE_default_location (5) on, location kinds are one greater than range kinds.
        if LOCATIONS && kind >= 5 {
            kind -= 1;
            if kind == 4 {
                let length = cursor.uleb();
                let expr = cursor.bytes(length);
                each(ListEntry { start: 0, end: u64::MAX, expr });
                continue;
            }
        }
        let (start, end) = match DwRle(kind) {
            _ if cursor.ended => return damaged::<LOCATIONS>(),
            DW_RLE_end_of_list => return Ok(()),
            DW_RLE_base_addressx => {
                base = unit.indexed_address(cursor.uleb());
                continue;
            }
            DW_RLE_startx_endx => (unit.indexed_address(cursor.uleb()), unit.indexed_address(cursor.uleb())),
            DW_RLE_startx_length => {
                let start = unit.indexed_address(cursor.uleb());
                (start, start.wrapping_add(cursor.uleb()))
            }
            DW_RLE_offset_pair => (base.wrapping_add(cursor.uleb()), base.wrapping_add(cursor.uleb())),
            DW_RLE_base_address => {
                base = cursor.address(size);
                continue;
            }
            DW_RLE_start_end => (cursor.address(size), cursor.address(size)),
            DW_RLE_start_length => {
                let start = cursor.address(size);
                (start, start.wrapping_add(cursor.uleb()))
            }
            _ => return damaged::<LOCATIONS>(),
        };
        let expr = if LOCATIONS {
            let length = cursor.uleb();
            cursor.bytes(length)
        } else {
            &[]
        };
        if cursor.ended {
            return damaged::<LOCATIONS>();
        }
        each(ListEntry { start, end, expr });
    }
    too_long::<LOCATIONS>()
}

/// Reads a list of DWARF 2 to 4: pairs of addresses relative to a base.
fn list4<'d, const LOCATIONS: bool>(
    unit: &Unit<'d, impl Endian>,
    section: &'d [u8],
    offset: usize,
    each: &mut impl FnMut(ListEntry<'d>),
) -> Result<(), &'static str> {
    let mut cursor = Cursor::new(section, offset, unit.order);
    let size = unit.header.encoding.address_size;
    let select_base = if size == 4 { u64::from(u32::MAX) } else { u64::MAX };
    let mut base = unit.low_pc;
    for _ in 0..MOST_ENTRIES {
        let (start, end) = (cursor.address(size), cursor.address(size));
        if cursor.ended {
            return damaged::<LOCATIONS>();
        }
        if start == 0 && end == 0 {
            return Ok(());
        }
        if start == select_base {
            base = end;
            continue;
        }
        let expr = if LOCATIONS {
            let length = cursor.u16();
            cursor.bytes(length.into())
        } else {
            &[]
        };
        if cursor.ended {
            return damaged::<LOCATIONS>();
        }
        each(ListEntry { start: base.wrapping_add(start), end: base.wrapping_add(end), expr });
    }
    too_long::<LOCATIONS>()
}

/// Reads a location list of split DWARF 4: entry kinds as in DWARF 5, lengths as in DWARF 4 (GCC's wiki,
/// "DebugFission"; the constants are `DW_LLE_GNU_*` in binutils' `dwarf2.h`).
fn list_of_split4<'d>(
    unit: &Unit<'d, impl Endian>,
    section: &'d [u8],
    offset: usize,
    each: &mut impl FnMut(ListEntry<'d>),
) -> Result<(), &'static str> {
    let mut cursor = Cursor::new(section, offset, unit.order);
    for _ in 0..MOST_ENTRIES {
        let (start, end) = match cursor.u8() {
            _ if cursor.ended => return damaged::<true>(),
            0 => return Ok(()),
            // A base address, which no kind of entry uses.
            1 => {
                cursor.skip_leb();
                continue;
            }
            2 => (unit.indexed_address(cursor.uleb()), unit.indexed_address(cursor.uleb())),
            3 => {
                let start = unit.indexed_address(cursor.uleb());
                (start, start.wrapping_add(cursor.u32().into()))
            }
            _ => return damaged::<true>(),
        };
        let length = cursor.u16();
        let expr = cursor.bytes(length.into());
        if cursor.ended {
            return damaged::<true>();
        }
        each(ListEntry { start, end, expr });
    }
    too_long::<true>()
}
