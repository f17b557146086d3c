//! Split DWARF: pairs the units of an object with their entries in other files.
//!
//! References in a unit with entries (in a `.dwo` file) lead to:
//!
//! | reference | target |
//! | --- | --- |
//! | entries, abbreviations, strings and their offsets, location lists | its own file |
//! | range lists | its own file in DWARF 5; the object's `.debug_ranges` in DWARF 4, from the skeleton's `DW_AT_GNU_ranges_base` |
//! | addresses, by index | the object's `.debug_addr`, from the skeleton's base |
//! | source file numbers and rows | the line table of the skeleton |
//! | source file numbers in a type unit | its own file's `.debug_line`, which only lists names |
//! | the compilation directory, low_pc | the skeleton |
//!
//! (DWARF 5, sections 3.1.2, 3.1.3 and 7.3.2; for DWARF 4, GCC's wiki, "DebugFission".)
use super::abbrev::Abbrevs;
use super::extractor::{Extractor, Gathered, ObjectSource};
use super::header::{Encoding, Role, UnitHeader};
use super::read_budget::MOST_READINGS;
use gimli::constants::DW_AT_GNU_dwo_name;

/// A unit whose entries are in another file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skeleton {
    /// The offset of its header.
    pub start: usize,
    /// The file, relative to the compilation directory. Empty if it has no valid file name, or if overlapping names
    /// were read more than 32 times over.
    pub name: Vec<u8>,
    /// The compilation directory; empty if unknown.
    pub comp_dir: Vec<u8>,
    /// The id shared with the unit that has the entries.
    pub id: u64,
}

/// The longest path in Linux; longer names are ignored.
const LONGEST_PATH: usize = 4096;

/// The skeletons among the object's own units. Cost: one look at every header, and for DWARF 4 at the abbreviations.
pub fn skeletons(source: ObjectSource<'_>) -> Vec<Skeleton> {
    let abbrev = source.sections.abbrev;
    let mut has_old = None;
    let mut is_candidate = |unit: &&UnitHeader| {
        unit.role == Role::Own
            && match unit.encoding.version {
                5.. => unit.is_skeleton,
                _ => *has_old.get_or_insert_with(|| memchr::memmem::find(abbrev, &OLD_NAME).is_some()),
            }
    };
    let candidates: Vec<UnitHeader> = source.headers.iter().filter(&mut is_candidate).copied().collect();
    let mut extractor = Extractor::new(Gathered::default(), source, source.sections.order, &());
    let s = source.sections;
    let mut left =
        MOST_READINGS.saturating_mul(s.info.len() + s.str.len() + s.line_str.len()).saturating_add(1 << 20);
    let read = |header: UnitHeader| {
        // Errors are reported later, when the unit itself is read.
        let unit = extractor.unit(header).ok()?.0;
        let mut text = |at: super::attrs::StrRef| {
            let text = at.bytes_within(&unit.sections, LONGEST_PATH.min(left)).unwrap_or_default();
            left -= text.len();
            text.to_vec()
        };
        unit.dwo_name?;
        let name = unit.dwo_name.map(&mut text).unwrap_or_default();
        let comp_dir = unit.comp_dir.map(&mut text).unwrap_or_default();
        Some(Skeleton { start: header.start, name, comp_dir, id: unit.dwo_id? })
    };
    candidates.into_iter().filter_map(read).collect()
}

/// The units with entries in a `.dwo` file, each with the id of its skeleton.
pub fn with_entries(source: ObjectSource<'_>) -> Vec<(u64, UnitHeader)> {
    let mut extractor = Extractor::new(Gathered::default(), source, source.sections.order, &());
    let read = |header: &UnitHeader| Some((extractor.unit(*header).ok()?.0.dwo_id?, *header));
    source.headers.iter().filter(|unit| unit.role == Role::Split).filter_map(read).collect()
}

/// Whether a section of abbreviations has only one table.
pub fn is_one_table(abbrev: &[u8]) -> bool {
    let encoding = Encoding { version: 4, address_size: 8, offset_size: 4 };
    Abbrevs::default().read(abbrev, 0, encoding) == Ok(abbrev.len())
}

/// The encoding of `DW_AT_GNU_dwo_name` in abbreviations.
const OLD_NAME: [u8; 2] = [DW_AT_GNU_dwo_name.0 as u8 | 0x80, (DW_AT_GNU_dwo_name.0 >> 7) as u8];
