//! What a walk over all of a kernel reads is what single questions read: of tables that are put side by side, of names that are
//! listed, and of functions that are looked over.
use super::{CHANGING, KERNELS, file, store, store_of};
use crate::support::program::run_in;
use probeidx::Index;
use probeidx::query::index::functions;
use probeidx::query::index::held_places::HeldPlaces;
use probeidx::store::Store;
use probeidx_format::View;
use probeidx_format::details::Range;
use probeidx_format::id::{ObjectId, PlaceId, UnitId};
use probeidx_format::record::Record;
use probeidx_format::store::Kernel;
use probeidx_format::table::Table;
use probeidx_format::types::TypeKind;
use std::iter::successors;

/// Calls `each` with each kernel of a store, opened twice.
fn each_kernel(mut each: impl FnMut([&View<'_>; 2])) {
    let folder = store(&[0, 1, 2]);
    let store = Store::open(folder.path()).unwrap();
    for entry in store.manifest().kernels {
        let [one, other] = [(); 2].map(|()| {
            let kernel = store.kernel(entry).unwrap();
            let chain = kernel.chain().iter().map(|segment| segment.bytes);
            Kernel::open(chain.collect::<Vec<_>>()).unwrap()
        });
        each([&View::of_store(&one), &View::of_store(&other)]);
    }
}

/// Compares records that are read in order with those that are searched for again and again, and with what is told of them alone.
fn compare<R: Record>(name: &str, one: Table<'_, R>, other: Table<'_, R>, facts: impl Fn(R) -> u64) {
    let in_order: Vec<R> = one.iter().collect();
    for round in 0..3 {
        // Neighbours of a record are found with it.
        for at in (0..other.len()).map(|at| at * 61 % other.len()) {
            let bytes = |record: Option<R>| record.map(|record| record.as_bytes().to_vec());
            let known = in_order.get(at).copied();
            assert_eq!(bytes(other.get(at)), bytes(known), "{name} {at}, round {round}");
            assert_eq!(other.facts(at).map(&facts), known.map(&facts), "{name} {at}, round {round}");
        }
    }
}

#[test]
fn records_side_by_side_are_those_that_are_searched_for() {
    each_kernel(|[one, other]| {
        compare("functions", one.functions, other.functions, |f| f.flags.get().into());
        compare("names", one.names, other.names, |name| name.name.get().into());
        compare("places", one.places, other.places, |place| u64::from(place.entry.get() != 0));
        compare("symbols", one.symbols, other.symbols, |symbol| symbol.flags.get().into());
        compare("types", one.types, other.types, |of| of.kind.into());
        compare("sequences", one.sequences, other.sequences, |_| 0);
    });
}

#[test]
fn addresses_one_after_another_are_held_by_what_holds_each() {
    each_kernel(|[view, _]| {
        let mut nested = 0;
        for object in view.object_ids() {
            let places = view.places_of(object).map(|at| PlaceId::new(at as u32));
            let ranges = places.flat_map(|id| view.details(id, view.places.at(id.index())).ranges);
            let around =
                |range: Range| [range.start.saturating_sub(1), range.start, range.end - 1, range.end];
            let mut addresses: Vec<u32> = ranges.flat_map(around).collect();
            addresses.sort_unstable();
            // In order, from behind, and from one function to another.
            let far = (0..addresses.len()).map(|at| addresses[at * 61 % addresses.len()]);
            let all = addresses.iter().chain(addresses.iter().rev()).copied().chain(far);
            let mut held = HeldPlaces::new(view, object);
            for pc in all {
                let innermost = functions::holding(view, object, pc);
                let chain = successors(innermost, |placed| placed.outer(view)).map(|placed| placed.id);
                let chain: Vec<PlaceId> = chain.collect();
                let found: Vec<PlaceId> = held.at(pc).map(|held| held.placed.id).collect();
                assert_eq!(found, chain, "{pc:#x}");
                nested += usize::from(chain.len() > 1);
            }
        }
        assert!(nested > 0);
    });
}

#[test]
fn names_are_found_by_their_strings_however_often() {
    each_kernel(|[view, _]| {
        let names: Vec<_> = view.names.owners().iter().map(|name| name.name).collect();
        // More often than is needed for a list of them.
        for round in 0..=10_000 / names.len() {
            for (rank, name) in names.iter().enumerate() {
                let text = view.string(*name);
                assert_eq!(view.name_of(*name).map(|id| id.index()), Some(rank), "round {round}");
                assert_eq!(view.name_spelled(*name, text), view.name(text), "round {round}");
            }
        }
        let types = view.types.owners().iter().map(|of| of.name);
        let others: Vec<_> = types.filter(|name| !names.contains(name)).collect();
        assert!(!others.is_empty() && others.iter().all(|name| view.name_of(*name).is_none()));
    });
}

#[test]
fn constants_and_units_are_found_where_a_walk_finds_them() {
    let folder = store(&[0, 1, 2]);
    let store = Store::open(folder.path()).unwrap();
    let kernels: Vec<_> = store.manifest().kernels.iter().map(|k| store.kernel(k).unwrap()).collect();
    let indexes: Vec<_> = (0..3).map(|at| Index::open(&file(&KERNELS[at])).unwrap()).collect();
    let own = indexes.iter().map(|index| index.view().unwrap());
    let mut constants = 0;
    for view in kernels.iter().map(View::of_store).chain(own) {
        for at in 0..view.types.owners().len() as u32 {
            let id = probeidx_format::id::TypeId::new(at);
            if view.types.at(id.index()).kind != TypeKind::Enum as u8 {
                continue;
            }
            for constant in view.members(id) {
                let found = view.enumeration_with(constant.name).unwrap();
                let is_first = found <= id && view.members(found).iter().any(|m| m.name == constant.name);
                assert!(is_first, "{}", String::from_utf8_lossy(view.string(constant.name)));
                constants += 1;
            }
        }
        let member = view.find_string(b"counter").unwrap();
        assert_eq!(view.enumeration_with(member), None);
        for object in view.object_ids().collect::<Vec<ObjectId>>() {
            for unit in view.units_of(object).collect::<Vec<UnitId>>() {
                let walked = view.sequences_of(object).iter().filter(|s| s.unit == unit);
                let walked: Vec<_> = walked.map(|s| s.start).collect();
                let found: Vec<_> = view.sequences_of_unit(object, unit).map(|s| s.start).collect();
                assert_eq!(found, walked);
            }
        }
    }
    assert!(constants > 20, "{constants}");
}

/// A comparison of all names looks over all functions first; one of most names looks for each.
#[test]
fn functions_that_are_looked_over_differ_as_those_that_are_looked_for() {
    let files = CHANGING.each_ref().map(file);
    let folder = store_of(&files);
    for (one, other) in [(0, 1), (1, 2), (2, 0)] {
        let kernels = [&files[one], &files[other]].map(|file| file.to_str().unwrap());
        let [all, most] = ["*", "?*"].map(|pattern| {
            let run = run_in(folder.path(), ["diff", kernels[0], kernels[1], pattern, "--json"]);
            assert_eq!(run.code, 0, "{run:?}");
            run.out
        });
        assert!(all.lines().count() > 3, "{all}");
        assert_eq!(all, most);
    }
}
