//! What an answer is based on. Debug information has everything, BTF has functions and their parameters, the symbol
//! table only the names of functions.
use super::functions::{self, Placed, kernel};
use super::scope::Found;
use probeidx_format::View;
use probeidx_format::id::{ObjectId, PlaceId};
use probeidx_format::record::{ObjectRecord, UnitRecord};

/// What describes a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// The debug information.
    Dwarf,
    /// The kernel's BTF, which has no files, lines, inline instances or local variables.
    Btf,
    /// The symbol table.
    Symbols,
}

impl Provenance {
    /// The name in JSON and text.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dwarf => "dwarf",
            Self::Btf => "btf",
            Self::Symbols => "symbols",
        }
    }
}

/// The provenance of a placement. Cost: a binary search.
pub fn of_place(view: &View<'_>, placed: Placed) -> Provenance {
    let unit = view.units.get(view.unit_of_place(placed.id).index());
    of_unit(unit)
}

/// The provenance of an object's functions.
pub fn of_object(view: &View<'_>, object: ObjectId) -> Provenance {
    let first = view.units_of(object).next();
    first.map_or(Provenance::Symbols, |unit| of_unit(view.units.get(unit.index())))
}

/// The provenance of vmlinux, or of the first object if vmlinux is not indexed.
pub fn of_index(view: &View<'_>) -> Provenance {
    kernel(view)
        .or_else(|| view.object_ids().next())
        .map_or(Provenance::Symbols, |object| of_object(view, object))
}

/// The provenance of a unit's functions.
pub fn of_unit(unit: Option<&UnitRecord>) -> Provenance {
    if unit.is_some_and(|unit| unit.has(UnitRecord::BTF)) { Provenance::Btf } else { Provenance::Dwarf }
}

/// Whether the code of vmlinux was read from the memory of the running kernel, where it is patched for one processor.
pub fn is_of_memory(view: &View<'_>) -> bool {
    let record = kernel(view).and_then(|kernel| view.objects.get(kernel.index()));
    record.is_some_and(|record| record.has(ObjectRecord::OF_MEMORY))
}

/// Why BTF does not determine the location of a parameter; `None` if the placement is not from BTF.
pub fn unplaced(view: &View<'_>, object: ObjectId, placed: Placed, found: &Found<'_>) -> Option<String> {
    if !found.is_parameter || of_place(view, placed) != Provenance::Btf {
        return None;
    }
    let entry = placed.record.entry;
    let ranges = view.ranges_of(object);
    let first = ranges.partition_point_of_key(|r| r.start < entry);
    let name_of = |place: PlaceId| Some(functions::function(view, view.places.get(place.index())?)?.name);
    let own = name_of(placed.id);
    let here = ranges.from(first).iter().take_while(|r| r.start == entry);
    let prototypes = here.filter(|r| name_of(r.place) == own).count();
    if prototypes > 1 {
        return Some(format!(
            "the prototype is ambiguous: BTF has {prototypes} of this name, and not which one this is"
        ));
    }
    let function = functions::function(view, placed.record)?;
    let name = view.name(view.string(function.name))?;
    let symbols = functions::symbols_named(view, object, name).filter_map(|s| functions::symbol(view, s));
    let functions = symbols.filter(|s| s.is_function()).count();
    Some(match functions {
        0 => {
            "the compiler made a clone of the function, and BTF does not tell what it passes where".to_owned()
        }
        1 => {
            "passed on the stack, or with or after a value whose registers BTF does not determine".to_owned()
        }
        _ => format!(
            "the prototype is ambiguous: {functions} functions have this name, and BTF not one for each"
        ),
    })
}
