//! The same facts as an independent reader sees them: gimli's own on an object that the `object` crate takes apart.
//!
//! Nothing here is shared with the indexer but the rules that the format's documentation lays down: where sections
//! of a module are placed, and how paths are spelled.
pub mod frames;
mod functions;
mod object;
mod types;

use super::facts::Facts;
use gimli::{AttributeValue, DebuggingInformationEntry, EndianSlice, Operation, RunTimeEndian, Unit};
use object::Loaded;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

pub type Bytes<'d> = EndianSlice<'d, RunTimeEndian>;
pub type Die<'d> = DebuggingInformationEntry<Bytes<'d>>;

/// What the debug information of these objects says; each with the name that the index gives it.
pub fn facts(objects: &[(String, PathBuf)]) -> Facts {
    let loaded: Vec<(&String, Loaded)> = objects.iter().map(|(n, path)| (n, Loaded::read(path))).collect();
    let dwarfs: Vec<Dwarf<'_>> = loaded.iter().map(|(_, l)| Dwarf::new(l)).collect();
    let mut definitions = BTreeMap::new();
    dwarfs.iter().for_each(|d| d.collect_definitions(&mut definitions));
    let mut facts = Facts::default();
    for ((name, loaded), dwarf) in loaded.iter().zip(&dwarfs) {
        let view = dwarf.with(&definitions);
        facts.objects.insert((*name).clone(), view.object_facts(loaded));
        facts.types.extend(view.types());
        facts.declared.extend(view.declared());
    }
    facts
}

/// Where the types of a kind and name are defined.
pub type Definitions = BTreeMap<(&'static str, String), BTreeSet<String>>;

/// The units of an object.
pub struct Dwarf<'d> {
    pub dwarf: gimli::Dwarf<Bytes<'d>>,
    pub units: Vec<Unit<Bytes<'d>>>,
    pub order: RunTimeEndian,
    pub base: u64,
}

/// An object's units, and what is defined in all objects.
pub struct Reader<'d, 'a> {
    pub d: &'a Dwarf<'d>,
    pub definitions: &'a Definitions,
}

/// An entry with its unit.
#[derive(Clone)]
pub struct At<'d, 'a> {
    pub unit: &'a Unit<Bytes<'d>>,
    pub die: Die<'d>,
}

impl<'d> Dwarf<'d> {
    fn new(loaded: &'d Loaded) -> Self {
        let section = |id: gimli::SectionId| -> gimli::Result<_> {
            Ok(EndianSlice::new(loaded.section(id.name()), loaded.order))
        };
        let dwarf = gimli::Dwarf::load(section).unwrap();
        let mut units = vec![];
        let mut headers = dwarf.units();
        while let Some(header) = headers.next().unwrap() {
            units.push(dwarf.unit(header).unwrap());
        }
        Self { dwarf, units, order: loaded.order, base: loaded.base }
    }

    fn with<'a>(&'a self, definitions: &'a Definitions) -> Reader<'d, 'a> {
        Reader { d: self, definitions }
    }

    /// The entry to which a reference leads.
    pub fn follow<'a>(
        &'a self,
        from: &'a Unit<Bytes<'d>>,
        value: AttributeValue<Bytes<'d>>,
    ) -> Option<At<'d, 'a>> {
        let (unit, offset) = match value {
            AttributeValue::UnitRef(offset) => (from, offset),
            AttributeValue::DebugInfoRef(offset) => {
                let holds = |u: &&Unit<Bytes<'d>>| offset.to_unit_offset(&u.header).is_some();
                let unit = self.units.iter().find(holds)?;
                (unit, offset.to_unit_offset(&unit.header)?)
            }
            _ => return None,
        };
        Some(At { unit, die: unit.entry(offset).unwrap() })
    }

    pub fn text(&self, unit: &Unit<Bytes<'d>>, value: AttributeValue<Bytes<'d>>) -> String {
        self.dwarf.attr_string(unit, value).unwrap().to_string_lossy().into_owned()
    }

    pub fn name(&self, at: &At<'d, '_>) -> Option<String> {
        Some(self.text(at.unit, at.die.attr_value(gimli::DW_AT_name)?))
    }

    /// The path of a file of the unit's line table: as it stands, behind its directory if it is relative.
    pub fn path(&self, unit: &Unit<Bytes<'d>>, number: u64) -> String {
        let Some(program) = &unit.line_program else { return String::new() };
        let header = program.header();
        if number == 0 && header.version() < 5 {
            return String::new();
        }
        let Some(file) = header.file(number) else { return String::new() };
        let name = self.text(unit, file.path_name());
        let directory = file.directory(header).map(|d| self.text(unit, d)).unwrap_or_default();
        if name.starts_with('/') || directory.is_empty() { name } else { format!("{directory}/{name}") }
    }

    /// The path that `DW_AT_decl_file` or `DW_AT_call_file` names.
    pub fn file(&self, unit: &Unit<Bytes<'d>>, value: Option<AttributeValue<Bytes<'d>>>) -> String {
        match value {
            Some(AttributeValue::FileIndex(number)) => self.path(unit, number),
            Some(other) => self.path(unit, other.udata_value().unwrap()),
            None => String::new(),
        }
    }

    /// The distance of an address from the object's base, if it is one of its addresses.
    pub fn pc(&self, address: u64) -> Option<u64> {
        address.checked_sub(self.base).filter(|pc| *pc > 0 && *pc < u64::from(u32::MAX))
    }
}

impl<'d> At<'d, '_> {
    pub fn number(&self, name: gimli::DwAt) -> Option<u64> {
        self.die.attr_value(name)?.udata_value()
    }
    pub fn flag(&self, name: gimli::DwAt) -> bool {
        matches!(self.die.attr_value(name), Some(AttributeValue::Flag(true)))
    }
    pub fn children(&self) -> Vec<Self> {
        let mut tree = self.unit.entries_tree(Some(self.die.offset())).unwrap();
        let mut children = tree.root().unwrap().children();
        let mut all = vec![];
        while let Some(child) = children.next().unwrap() {
            all.push(Self { unit: self.unit, die: child.entry().clone() });
        }
        all
    }
}

/// The first entry of a unit.
pub fn root<'d, 'a>(unit: &'a Unit<Bytes<'d>>) -> At<'d, 'a> {
    let mut entries = unit.entries();
    let die = entries.next_dfs().unwrap().expect("a unit has an entry").clone();
    At { unit, die }
}

/// An expression as gimli decodes it; indexed addresses become addresses.
pub fn operations(
    bytes: &[u8],
    order: RunTimeEndian,
    address: impl Fn(gimli::DebugAddrIndex) -> u64,
) -> String {
    let encoding = gimli::Encoding { address_size: 8, format: gimli::Format::Dwarf32, version: 5 };
    let expression = gimli::Expression(EndianSlice::new(bytes, order));
    let mut operations = expression.operations(encoding);
    let mut text = vec![];
    loop {
        let operation = match operations.next() {
            Ok(Some(operation)) => operation,
            Ok(None) => return text.join("; "),
            Err(e) => {
                text.push(e.to_string());
                return text.join("; ");
            }
        };
        text.push(match operation {
            Operation::AddressIndex { index } => {
                format!("{:?}", Operation::<Bytes<'_>>::Address { address: address(index) })
            }
            Operation::ConstantIndex { index } => {
                format!("{:?}", Operation::<Bytes<'_>>::UnsignedConstant { value: address(index) })
            }
            // One number has many encodings.
            Operation::UnsignedConstant { value } => format!("constant {}", value as i64),
            Operation::SignedConstant { value } => format!("constant {value}"),
            // Bytes that are the same in any order.
            Operation::ImplicitValue { data } => format!("value {:x?}", data.slice()),
            Operation::EntryValue { expression } => format!("entry value {:x?}", expression.slice()),
            other => format!("{other:?}"),
        });
    }
}
