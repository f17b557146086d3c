//! What an answer rests on: debug information tells everything, BTF the functions and their parameters, symbols alone that
//! there is a function.
use super::functions::{self, Placed, kernel};
use super::scope::Found;
use probeidx_format::View;
use probeidx_format::id::{ObjectId, PlaceId};
use probeidx_format::record::UnitRecord;

/// What told of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provenance {
    /// The debug information.
    Dwarf,
    /// What the kernel says of itself: no files, lines, inline instances and local variables.
    Btf,
    /// The table of symbols.
    Symbols,
}

impl Provenance {
    /// As JSON and text print it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dwarf => "dwarf",
            Self::Btf => "btf",
            Self::Symbols => "symbols",
        }
    }
}

/// What told of a placement. Cost: a binary search.
pub fn of_place(view: &View<'_>, placed: Placed<'_>) -> Provenance {
    let unit = view.units.get(view.unit_of_place(placed.id).index());
    of_unit(unit)
}

/// What told of the functions of an object.
pub fn of_object(view: &View<'_>, object: ObjectId) -> Provenance {
    let first = view.units_of(object).next();
    first.map_or(Provenance::Symbols, |unit| of_unit(view.units.get(unit.index())))
}

/// What told of vmlinux, or of the first object where there is none.
pub fn of_index(view: &View<'_>) -> Provenance {
    kernel(view)
        .or_else(|| view.object_ids().next())
        .map_or(Provenance::Symbols, |object| of_object(view, object))
}

fn of_unit(unit: Option<&UnitRecord>) -> Provenance {
    if unit.is_some_and(|unit| unit.has(UnitRecord::BTF)) { Provenance::Btf } else { Provenance::Dwarf }
}

/// Why BTF does not tell where a parameter is; `None` where something else told of the placement.
pub fn unplaced(view: &View<'_>, object: ObjectId, placed: Placed<'_>, found: &Found<'_>) -> Option<String> {
    if !found.is_parameter || of_place(view, placed) != Provenance::Btf {
        return None;
    }
    let entry = placed.record.entry;
    let ranges = view.ranges_of(object);
    let first = ranges.partition_point(|r| r.start < entry);
    let name_of = |place: PlaceId| Some(functions::function(view, view.places.get(place.index())?)?.name);
    let own = name_of(placed.id);
    let here = ranges[first..].iter().take_while(|r| r.start == entry);
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
        0 | 1 => "passed on the stack, or with or behind a value of which BTF does not tell the registers"
            .to_owned(),
        _ => format!(
            "the prototype is ambiguous: {functions} functions have this name, and BTF not one for each"
        ),
    })
}
