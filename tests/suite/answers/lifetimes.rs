//! Where a variable is over a range is where it is at each instruction of it; lines and instructions of ranges are those of
//! addresses.
use crate::support::fixture::RELEASE;
use crate::support::program::KERNEL;
use probeidx::query::Index;
use probeidx::query::index::functions::{self, Placed};
use probeidx::query::index::{instructions, line_table};
use probeidx::query::value::State;
use probeidx::query::value::lifetime::{self, Medium};
use probeidx::query::value::place::Place;
use probeidx::query::value::reader::Values;
use probeidx_format::View;
use probeidx_format::details::Range;
use probeidx_format::id::{ObjectId, PlaceId};
use std::collections::BTreeMap;

fn with_view(test: impl FnOnce(&View<'_>)) {
    let index = Index::open(&KERNEL.db.path().join(format!("{RELEASE}.pidx"))).unwrap();
    test(&index.view().unwrap());
}

fn placements(view: &View<'_>) -> Vec<(ObjectId, Placed)> {
    let of = |object: ObjectId| {
        let places = view.places_of(object).map(|at| PlaceId::new(at as u32));
        places.map(move |id| (object, Placed { id, record: view.places.at(id.index()) }))
    };
    view.object_ids().flat_map(of).filter(|(_, placed)| placed.record.entry.get() != 0).collect()
}

#[test]
fn a_value_is_where_the_placement_says() {
    with_view(|view| {
        let (mut compared, mut gone) = (0, 0);
        let mut media = BTreeMap::new();
        for (object, placed) in placements(view) {
            let lifetimes = lifetime::lifetimes(view, object, placed);
            for lifetime in &lifetimes {
                let stays = &lifetime.stays;
                assert!(stays.iter().all(|stay| stay.range.start < stay.range.end));
                assert!(stays.windows(2).all(|two| two[0].range.end <= two[1].range.start));
                for stay in stays {
                    *media.entry(stay.medium.name()).or_insert(0) += 1;
                    let is_inside =
                        |within: &Range| within.start <= stay.range.start && stay.range.end <= within.end;
                    assert!(lifetime.scope.iter().any(is_inside));
                }
            }
            let details = view.details(placed.id, placed.record);
            for range in details.ranges {
                for pc in instructions::starts(view, object, range) {
                    // At an entry, blocks do not count.
                    if pc == placed.record.entry.get() {
                        continue;
                    }
                    let place = Place { object, placed, pc, at_return: false, with_lines: false };
                    let wanted = Values::new(view).variables(place, true).into_iter().filter_map(|value| {
                        let is_there =
                            matches!(value.state, State::Readable | State::Constant | State::Unsupported);
                        is_there.then_some((value.name, value.state.name(), value.location))
                    });
                    let found = lifetimes.iter().filter_map(|lifetime| {
                        let stay = lifetime.stays.iter().find(|stay| stay.range.contains(pc));
                        gone += u32::from(stay.is_none());
                        let name = String::from_utf8_lossy(view.string(lifetime.name)).into_owned();
                        stay.map(|stay| (name, stay.state.name(), Some(stay.text.clone())))
                    });
                    let (mut wanted, mut found) = (wanted.collect::<Vec<_>>(), found.collect::<Vec<_>>());
                    wanted.sort();
                    found.sort();
                    assert_eq!(found, wanted, "{pc:#x}");
                    compared += found.len();
                }
            }
        }
        assert!(compared > 1000 && gone > 100, "{compared} {gone}");
        assert!(media.contains_key(Medium::Register.name()), "{media:?}");
        assert!(
            media.contains_key(Medium::Stack.name()) && media.contains_key(Medium::Constant.name()),
            "{media:?}"
        );
    });
}

#[test]
fn the_entry_has_what_is_passed() {
    with_view(|view| {
        let submit = functions::of_name(view, b"submit").next().map(|_| b"submit").unwrap();
        let name = view.name(submit).unwrap();
        let declared = functions::declarations(view, name, None);
        let id = declared[0].functions().flat_map(|f| view.places_of_function(f)).next().unwrap();
        let placed = Placed { id, record: view.places.at(id.index()) };
        let lifetimes = lifetime::lifetimes(view, view.object_of_place(id), placed);
        let first = |name: &str| {
            let own = lifetimes.iter().find(|l| view.string(l.name) == name.as_bytes()).unwrap();
            let stay = own.stays.first().filter(|stay| stay.range.start == placed.record.entry.get());
            stay.map(|stay| (stay.medium, stay.text.clone()))
        };
        let passed = if cfg!(target_arch = "x86_64") { ["%di", "%si"] } else { ["%x0", "%x1"] };
        assert_eq!(first("rq"), Some((Medium::Register, passed[0].to_owned())));
        assert_eq!(first("flags"), Some((Medium::Register, passed[1].to_owned())));
    });
}

#[test]
fn rows_and_instructions_of_a_range_are_those_of_its_addresses() {
    with_view(|view| {
        let mut compared = 0;
        for (object, placed) in placements(view) {
            for range in view.details(placed.id, placed.record).ranges {
                let rows = line_table::within(view, object, range);
                assert!(rows.windows(2).all(|two| two[0].pc < two[1].pc));
                let starts: Vec<u32> = instructions::starts(view, object, range).collect();
                for pc in range.start..range.end {
                    let row = rows.iter().rfind(|row| row.pc <= pc).copied();
                    assert_eq!(row, line_table::at(view, object, pc), "{pc:#x}");
                    let start = starts.iter().rfind(|start| **start <= pc).copied();
                    // What is inlined may start within an instruction.
                    let known =
                        instructions::start_of(view, object, pc).filter(|known| *known >= range.start);
                    assert_eq!(start, known, "{pc:#x}");
                    compared += 1;
                }
                if let [first, second, ..] = starts[..] {
                    assert_eq!(instructions::after(view, object, first), Some(second));
                }
            }
        }
        assert!(compared > 1000, "{compared}");
    });
}
