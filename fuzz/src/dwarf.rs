//! Debug sections from a description that a fuzzer can change bit by bit: units that gimli writes, or those of a real
//! module, both with bytes changed at the end.
//!
//! What is written is well-formed as far as a reader can tell entry from entry; what it says is anything: types and origins
//! that lead in circles, code anywhere, expressions of any bytes, lists and rows in any order, numbers where references are due.
use arbitrary::Arbitrary;
use gimli::write::{
    Address, AttributeValue as Value, Dwarf, EndianVec, Expression, LineProgram, LineString, Location,
    LocationList, Range, RangeList, Sections, Unit, UnitEntryId, UnitId,
};
use gimli::*;

#[path = "../../tests/suite/support/elf.rs"]
#[allow(dead_code)]
mod elf;

/// Debug sections of the fixture's module `alpha`, linked so that nothing of them is left to relocate.
const REAL: [(&str, &[u8]); 8] = [
    (".debug_info", include_bytes!("../sections/info")),
    (".debug_abbrev", include_bytes!("../sections/abbrev")),
    (".debug_line", include_bytes!("../sections/line")),
    (".debug_str", include_bytes!("../sections/str")),
    (".debug_line_str", include_bytes!("../sections/line_str")),
    (".debug_loclists", include_bytes!("../sections/loclists")),
    (".debug_rnglists", include_bytes!("../sections/rnglists")),
    (".debug_frame", include_bytes!("../sections/frame")),
];

/// A module's debug sections.
#[derive(Arbitrary, Debug)]
pub struct Described {
    source: Source,
    patches: Vec<Patch>,
}

#[derive(Arbitrary, Debug)]
enum Source {
    Real,
    Own { is_new: bool, is_wide: bool, units: Vec<Written> },
}

/// Bytes that are other bytes.
#[derive(Arbitrary, Debug)]
struct Patch {
    section: u8,
    at: u16,
    bytes: [u8; 4],
    length: u8,
}

/// A unit.
#[derive(Arbitrary, Debug)]
struct Written {
    language: u8,
    entries: Vec<Entry>,
    lines: Vec<Row>,
    ranges: Vec<(u16, u16)>,
    locations: Vec<(u16, u16, Vec<u8>)>,
}

/// An entry, and where it stands from the one before.
#[derive(Arbitrary, Debug)]
struct Entry {
    tag: u8,
    /// 0 to 3 below it, 4 to 6 beside it, else that many levels up.
    step: u8,
    attributes: Vec<(u8, Said)>,
}

/// The value of an attribute.
#[derive(Arbitrary, Debug)]
enum Said {
    Number(u64),
    Signed(i64),
    Byte(u8),
    Address(u16),
    Name(u8),
    /// An entry of the same unit.
    Here(u8),
    /// One of any unit.
    Anywhere(u8, u8),
    Expression(Vec<u8>),
    Block(Vec<u8>),
    Ranges,
    Locations,
    File(u8),
    Yes,
}

/// A row of the line table.
#[derive(Arbitrary, Debug)]
struct Row {
    address: u16,
    line: u16,
    file: u8,
    ends: bool,
}

const TAGS: [DwTag; 24] = [
    DW_TAG_subprogram,
    DW_TAG_inlined_subroutine,
    DW_TAG_lexical_block,
    DW_TAG_formal_parameter,
    DW_TAG_variable,
    DW_TAG_structure_type,
    DW_TAG_union_type,
    DW_TAG_class_type,
    DW_TAG_enumeration_type,
    DW_TAG_enumerator,
    DW_TAG_member,
    DW_TAG_inheritance,
    DW_TAG_base_type,
    DW_TAG_pointer_type,
    DW_TAG_typedef,
    DW_TAG_const_type,
    DW_TAG_array_type,
    DW_TAG_subrange_type,
    DW_TAG_subroutine_type,
    DW_TAG_label,
    DW_TAG_namespace,
    DW_TAG_call_site,
    DW_TAG_call_site_parameter,
    DW_TAG_unspecified_parameters,
];

const NAMES: [DwAt; 32] = [
    DW_AT_name,
    DW_AT_type,
    DW_AT_low_pc,
    DW_AT_high_pc,
    DW_AT_ranges,
    DW_AT_location,
    DW_AT_abstract_origin,
    DW_AT_specification,
    DW_AT_decl_file,
    DW_AT_decl_line,
    DW_AT_call_file,
    DW_AT_call_line,
    DW_AT_call_column,
    DW_AT_inline,
    DW_AT_declaration,
    DW_AT_external,
    DW_AT_prototyped,
    DW_AT_entry_pc,
    DW_AT_byte_size,
    DW_AT_bit_size,
    DW_AT_data_bit_offset,
    DW_AT_bit_offset,
    DW_AT_data_member_location,
    DW_AT_upper_bound,
    DW_AT_count,
    DW_AT_const_value,
    DW_AT_encoding,
    DW_AT_frame_base,
    DW_AT_containing_type,
    DW_AT_linkage_name,
    DW_AT_artificial,
    DW_AT_noreturn,
];

/// More of these say nothing new, and take time.
const MOST: usize = 64;

impl Described {
    /// A module with these sections; `None` where gimli would not write them.
    pub fn module(&self) -> Option<Vec<u8>> {
        let mut sections: Vec<(&str, Vec<u8>)> = match &self.source {
            Source::Real => REAL.iter().map(|(name, bytes)| (*name, bytes.to_vec())).collect(),
            Source::Own { is_new, is_wide, units } => {
                let version = if *is_new { 5 } else { 4 };
                let format = if *is_wide { Format::Dwarf64 } else { Format::Dwarf32 };
                written(Encoding { format, version, address_size: 8 }, units)?
            }
        };
        for patch in self.patches.iter().take(MOST) {
            let count = sections.len();
            let (_, bytes) = &mut sections[usize::from(patch.section) % count];
            let length = bytes.len().max(1);
            let rest = &mut bytes[usize::from(patch.at) % length..];
            for (byte, new) in rest.iter_mut().zip(&patch.bytes[..usize::from(patch.length % 4) + 1]) {
                *byte = *new;
            }
        }
        let sections: Vec<(&str, &[u8])> = sections.iter().map(|(name, bytes)| (*name, &bytes[..])).collect();
        Some(elf::module(&sections))
    }
}

fn written(encoding: Encoding, described: &[Written]) -> Option<Vec<(&'static str, Vec<u8>)>> {
    let mut dwarf = Dwarf::new();
    // First the entries, so that each can be referred to from everywhere.
    let mut units: Vec<(UnitId, Vec<UnitEntryId>)> = vec![];
    for unit in described.iter().take(4) {
        let id = dwarf.units.add(Unit::new(encoding, lines(encoding, unit)));
        let own = dwarf.units.get_mut(id);
        let mut entries = vec![own.root()];
        let mut at = own.root();
        for entry in unit.entries.iter().take(MOST) {
            let parent = |at| own.get(at).parent();
            let above = match entry.step {
                0..4 => Some(at),
                4..7 => parent(at),
                up => (0..up % 8).try_fold(at, |at, _| parent(at)),
            };
            at = own.add(above.unwrap_or(own.root()), TAGS[usize::from(entry.tag) % TAGS.len()]);
            entries.push(at);
        }
        units.push((id, entries));
    }
    for ((id, entries), unit) in units.iter().zip(described) {
        let own = dwarf.units.get_mut(*id);
        let ranges = own.ranges.add(RangeList(unit.ranges.iter().map(range).collect()));
        let locations = own.locations.add(LocationList(unit.locations.iter().map(location).collect()));
        let language = Value::Language(DwLang(u16::from(unit.language)));
        own.get_mut(entries[0]).set(DW_AT_language, language);
        own.get_mut(entries[0]).set(DW_AT_name, Value::String(b"strange.c".to_vec()));
        own.get_mut(entries[0]).set(DW_AT_stmt_list, Value::LineProgramRef);
        for (entry, said) in entries[1..].iter().zip(&unit.entries) {
            own.get_mut(*entry).set_sibling(said.step.is_multiple_of(2));
            for (name, said) in said.attributes.iter().take(MOST) {
                let value = match said {
                    Said::Number(number) => Value::Udata(*number),
                    Said::Signed(number) => Value::Sdata(*number),
                    Said::Byte(number) => Value::Data1(*number),
                    Said::Address(at) => Value::Address(address(*at)),
                    Said::Name(letter) => Value::String(vec![b'a' + letter % 16]),
                    Said::Here(at) => Value::UnitRef(entries[usize::from(*at) % entries.len()]),
                    Said::Anywhere(unit, at) => {
                        let (unit, entries) = &units[usize::from(*unit) % units.len()];
                        let entry = entries[usize::from(*at) % entries.len()];
                        Value::DebugInfoRef(gimli::write::DebugInfoRef::Entry(*unit, entry))
                    }
                    Said::Expression(bytes) => Value::Exprloc(Expression::raw(bytes.clone())),
                    Said::Block(bytes) => Value::Block(bytes.clone()),
                    Said::Ranges => Value::RangeListRef(ranges),
                    Said::Locations => Value::LocationListRef(locations),
                    Said::File(number) => Value::Udata(u64::from(number % 4)),
                    Said::Yes => Value::Flag(true),
                };
                own.get_mut(*entry).set(NAMES[usize::from(*name) % NAMES.len()], value);
            }
        }
    }
    let mut sections = Sections::new(EndianVec::new(LittleEndian));
    dwarf.write(&mut sections).ok()?;
    let mut found = vec![];
    let all = sections.for_each(|id, data| {
        if !data.slice().is_empty() {
            found.push((id.name(), data.slice().to_vec()));
        }
        Ok::<(), gimli::write::Error>(())
    });
    all.ok().filter(|()| !found.is_empty())?;
    Some(found)
}

/// In the code of the module, mostly.
fn address(at: u16) -> Address {
    Address::Constant(0x1000 + u64::from(at))
}

fn range(&(begin, length): &(u16, u16)) -> Range {
    Range::StartEnd { begin: address(begin), end: address(begin.saturating_add(length.max(1))) }
}

fn location((begin, length, bytes): &(u16, u16, Vec<u8>)) -> Location {
    let data = Expression::raw(bytes.clone());
    Location::StartEnd { begin: address(*begin), end: address(begin.saturating_add((*length).max(1))), data }
}

fn lines(encoding: Encoding, unit: &Written) -> LineProgram {
    let name = |text: &[u8]| LineString::String(text.to_vec());
    let mut program =
        LineProgram::new(encoding, LineEncoding::default(), name(b"/src"), None, name(b"strange.c"), None);
    let folder = program.default_directory();
    let files = [b"strange.c", b"strange.h"].map(|file| program.add_file(name(file), folder, None));
    for row in unit.lines.iter().take(MOST) {
        if !program.in_sequence() {
            program.begin_sequence(Some(address(row.address)));
        }
        // Rows that fall back are written as jumps forward: gimli counts in unsigned numbers.
        let own = program.row();
        own.address_offset = own.address_offset.max(u64::from(row.address));
        own.line = row.line.into();
        own.file = files[usize::from(row.file) % files.len()];
        program.generate_row();
        if row.ends {
            let end = program.row().address_offset + 1;
            program.end_sequence(end);
        }
    }
    if program.in_sequence() {
        program.end_sequence(0x1_0000);
    }
    program
}
