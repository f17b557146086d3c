//! Types: their spelling, and the definitions of all named ones.
use super::{At, Bytes, Definitions, Dwarf, Reader, root};
use gimli::{AttributeValue, DwTag, Unit, constants::*};
use std::collections::BTreeSet;

fn kind(tag: DwTag) -> Option<&'static str> {
    Some(match tag {
        DW_TAG_base_type => "base",
        DW_TAG_structure_type => "struct",
        DW_TAG_union_type => "union",
        DW_TAG_enumeration_type => "enum",
        DW_TAG_typedef => "typedef",
        DW_TAG_pointer_type => "pointer",
        DW_TAG_array_type => "array",
        DW_TAG_const_type => "const",
        DW_TAG_volatile_type => "volatile",
        DW_TAG_restrict_type => "restrict",
        DW_TAG_subroutine_type => "function",
        DW_TAG_unspecified_type => "unspecified",
        _ => return None,
    })
}

impl<'d> Dwarf<'d> {
    /// Every named type that some unit defines.
    fn definitions<'a>(&'a self) -> impl Iterator<Item = (&'static str, String, At<'d, 'a>)> {
        self.units.iter().flat_map(all_entries).filter_map(|at| {
            let (kind, name) = (kind(at.die.tag())?, self.name(&at)?);
            (!at.flag(DW_AT_declaration)).then_some((kind, name, at))
        })
    }

    pub fn collect_definitions(&self, into: &mut Definitions) {
        for (kind, name, at) in self.definitions() {
            let place = format!("{}{}", self.place(&at), at.number(DW_AT_byte_size).unwrap_or(0));
            into.entry((kind, name)).or_default().insert(place);
        }
    }

    fn place(&self, at: &At<'d, '_>) -> String {
        match at.die.attr_value(DW_AT_decl_file) {
            Some(file) => {
                format!("<{}:{}>", self.file(at.unit, Some(file)), at.number(DW_AT_decl_line).unwrap_or(0))
            }
            None => String::new(),
        }
    }
}

fn all_entries<'d, 'a>(unit: &'a Unit<Bytes<'d>>) -> Vec<At<'d, 'a>> {
    let mut all = vec![root(unit)];
    let mut entries = unit.entries();
    while let Some(die) = entries.next_dfs().unwrap() {
        all.push(At { unit, die: die.clone() });
    }
    all
}

impl<'d> Reader<'d, '_> {
    pub fn types(&self) -> BTreeSet<String> {
        let size = |at: &At<'_, '_>| at.number(DW_AT_byte_size).unwrap_or(0);
        let full =
            |at: &At<'d, '_>| format!("{} size {} {}", self.spell_at(at, 0), size(at), self.inside(at, 0));
        self.d.definitions().map(|(_, _, at)| full(&at)).collect()
    }

    /// The type that an entry refers to.
    pub fn spell(
        &self,
        unit: &Unit<Bytes<'d>>,
        value: Option<AttributeValue<Bytes<'d>>>,
        depth: usize,
    ) -> String {
        match value.and_then(|value| self.d.follow(unit, value)) {
            Some(at) => self.spell_at(&at, depth),
            None => "void".to_owned(),
        }
    }

    fn spell_at(&self, at: &At<'d, '_>, depth: usize) -> String {
        let kind = kind(at.die.tag()).unwrap_or_else(|| panic!("{}", at.die.tag()));
        if let Some(name) = self.d.name(at) {
            if !at.flag(DW_AT_declaration) {
                return format!("{kind} {name}{}", self.d.place(at));
            }
            // A declaration means the definition of its name, if there is just one in all objects.
            let known = self.definitions.get(&(kind, name.clone())).filter(|known| known.len() == 1);
            let place =
                known.and_then(|known| known.first()).map(|place| &place[..place.rfind('>').unwrap() + 1]);
            return match place {
                Some(place) => format!("{kind} {name}{place}"),
                None => format!("{kind} {name} declared"),
            };
        }
        if depth > 20 {
            return "…".to_owned();
        }
        format!("{kind}{}", self.inside(at, depth))
    }

    fn inside(&self, at: &At<'d, '_>, depth: usize) -> String {
        let mut members = String::new();
        for child in at.children() {
            let name = || self.d.name(&child).unwrap_or_default();
            let target = || self.spell(child.unit, child.die.attr_value(DW_AT_type), depth + 1);
            members += &match (at.die.tag(), child.die.tag()) {
                (DW_TAG_enumeration_type, DW_TAG_enumerator) => {
                    format!("{}={} ", name(), number(&child.die.attr_value(DW_AT_const_value).unwrap()))
                }
                (DW_TAG_array_type, DW_TAG_subrange_type) => format!("[{}]", elements(&child)),
                (DW_TAG_subroutine_type, DW_TAG_formal_parameter | DW_TAG_unspecified_parameters) => {
                    format!("{},", target())
                }
                (_, DW_TAG_member) => {
                    let (bits, width) = position(&child, self.d.order);
                    format!("{}: {} at {bits} width {width}; ", name(), target())
                }
                _ => continue,
            };
        }
        let target = match at.die.tag() {
            DW_TAG_structure_type | DW_TAG_union_type | DW_TAG_base_type => String::new(),
            _ => self.spell(at.unit, at.die.attr_value(DW_AT_type), depth + 1),
        };
        format!("{{{members}}}{target}")
    }
}

/// The number of elements of a dimension; -1 where it is not said.
fn elements(at: &At<'_, '_>) -> i64 {
    match (at.number(DW_AT_count), at.number(DW_AT_upper_bound)) {
        (Some(count), _) => count as i64,
        (None, Some(bound)) => bound as i64 + 1,
        (None, None) => -1,
    }
}

/// Bits from the start of the whole, and the width of a bit-field.
fn position(at: &At<'_, '_>, order: gimli::RunTimeEndian) -> (u64, u64) {
    let bytes = at.number(DW_AT_data_member_location).unwrap_or(0);
    let width = at.number(DW_AT_bit_size).unwrap_or(0);
    let bits = match (at.number(DW_AT_data_bit_offset), at.die.attr_value(DW_AT_bit_offset)) {
        (Some(offset), _) => bytes * 8 + offset,
        // From the most significant bit of the storage unit, which big-endian machines have first and others last; below 0
        // for a field that reaches beyond it.
        (None, Some(offset)) if order == gimli::RunTimeEndian::Big => {
            (bytes * 8).wrapping_add_signed(number(&offset))
        }
        (None, Some(offset)) => {
            let end = (bytes + at.number(DW_AT_byte_size).unwrap()) * 8;
            end.wrapping_add_signed(-number(&offset)) - width
        }
        (None, None) => bytes * 8,
    };
    (bits, width)
}

/// A constant; forms of fixed size do not say whether it is signed, and are taken as unsigned.
pub fn number(value: &AttributeValue<Bytes<'_>>) -> i64 {
    match *value {
        AttributeValue::Data1(n) => n.into(),
        AttributeValue::Data2(n) => n.into(),
        AttributeValue::Data4(n) => n.into(),
        AttributeValue::Data8(n) | AttributeValue::Udata(n) => n as i64,
        AttributeValue::Sdata(n) => n,
        ref other => panic!("{other:?}"),
    }
}
