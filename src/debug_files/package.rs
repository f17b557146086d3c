//! Packages of split DWARF (`.dwp`): the share of each unit in every section (DWARF 5, section 7.3.5; version 2 is
//! described in GCC's wiki, "DebugFissionDWP").
use crate::dwarf::Origin;
use crate::error::{Error, ErrorKind, Result};
use crate::load::elf::Elf;
use object::Endian;

/// A unit of a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Row {
    /// The signature of a type, or the id shared with a skeleton.
    pub signature: u64,
    /// The start of its share of each section; 0 for `.debug_str`, which all units share.
    pub start: Origin,
    /// Whether its unit is in `.debug_types`: [`Origin::info`] is then relative to that section.
    pub is_old_type: bool,
}

/// The rows of `.debug_cu_index` or `.debug_tu_index`; empty if the package lacks that section. Cost: a walk over the
/// section, which bounds their number.
pub fn rows(package: &Elf<'_>, section: &'static str) -> Result<Vec<Row>> {
    let Some(found) = package.section(section) else { return Ok(vec![]) };
    let data = found.data()?;
    let damaged = || Error::new(ErrorKind::Damaged, "the index of a package is damaged").section(section);
    let word = |at: usize| {
        let bytes = data.get(at.checked_mul(4)?..)?.first_chunk()?;
        Some(package.order.read_u32(*bytes))
    };
    let header = || {
        // Four bytes in version 2; two bytes and padding in DWARF 5.
        let version = match word(0)? {
            2 => 2,
            _ => package.order.read_u16(*data.first_chunk()?),
        };
        Some((version, word(1)? as usize, word(2)? as usize, word(3)? as usize))
    };
    let (version, columns, units, slots) = header().ok_or_else(damaged)?;
    if !matches!(version, 2 | 5) {
        let what = format!("the index of a package has version {version}; 2 and 5 are known");
        return Err(Error::new(ErrorKind::Unsupported, what).section(section));
    }
    // In words: after the header come the signatures, their rows, the kinds of columns, and a row of offsets per
    // unit.
    let (signatures, numbers) = (4usize, slots.saturating_mul(2).saturating_add(4));
    let kinds = numbers.saturating_add(slots);
    let offsets = kinds.saturating_add(columns);
    let end = units.checked_mul(columns).and_then(|cells| cells.checked_mul(2)?.checked_add(offsets));
    if end.is_none_or(|end| end > data.len() / 4) || columns > 16 {
        return Err(damaged());
    }
    let mut rows = vec![];
    for slot in 0..slots {
        let number = word(numbers + slot).unwrap_or(0) as usize;
        if number == 0 {
            continue;
        }
        if number > units {
            return Err(damaged());
        }
        let signature = data.get(4 * (signatures + 2 * slot)..).and_then(|bytes| bytes.first_chunk());
        let signature = signature.map_or(0, |bytes| package.order.read_u64(*bytes));
        let mut row = Row { signature, start: Origin::default(), is_old_type: false };
        for column in 0..columns {
            let at = word(offsets + (number - 1) * columns + column).unwrap_or(0) as usize;
            let start = &mut row.start;
            match (version, word(kinds + column).unwrap_or(0)) {
                (_, 1) => start.info = at,
                (2, 2) => {
                    row.is_old_type = true;
                    start.info = at;
                }
                (_, 3) => start.abbrev = at,
                (_, 4) => start.line = at,
                (2, 5) => start.loc = at,
                (_, 5) => start.loclists = at,
                (_, 6) => start.str_offsets = at,
                (5, 8) => start.rnglists = at,
                _ => {}
            }
        }
        rows.push(row);
    }
    rows.sort_by_key(|row| (row.is_old_type, row.start.info));
    Ok(rows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::live::Writer;
    use object::Endianness;
    use object::elf::EM_S390;

    /// A unit with 0x40 bytes of entries at 0x80 and abbreviations at 0x10, in a table of two slots.
    fn package(order: Endianness, version: &[u8]) -> Vec<u8> {
        const SIGNATURE: u64 = 0x1122_3344_5566_7788;
        let words = |words: &[u32]| words.iter().flat_map(|word| order.write_u32(*word)).collect::<Vec<_>>();
        let parts = [
            version.to_vec(),
            words(&[2, 1, 2]),
            [0, SIGNATURE].iter().flat_map(|signature| order.write_u64(*signature)).collect(),
            words(&[0, 1]),
            words(&[1, 3, 0x80, 0x10, 0x40, 0x20]),
        ];
        let index = parts.concat();
        let mut writer = Writer::new(order);
        writer.section(".debug_cu_index", 1, 0, 0, index.len() as u64, &index);
        writer.finish(EM_S390, &[])
    }

    #[test]
    fn both_versions_in_both_orders() {
        for order in [Endianness::Little, Endianness::Big] {
            let of_dwarf_5 = [&order.write_u16(5)[..], &[0, 0]].concat();
            for version in [&order.write_u32(2)[..], &of_dwarf_5] {
                let bytes = package(order, version);
                let found = rows(&Elf::parse(&bytes).unwrap(), ".debug_cu_index").unwrap();
                let start = Origin { info: 0x80, abbrev: 0x10, ..Origin::default() };
                let due = Row { signature: 0x1122_3344_5566_7788, start, is_old_type: false };
                assert_eq!(found, [due], "{order:?} {version:x?}");
            }
        }
    }
}
