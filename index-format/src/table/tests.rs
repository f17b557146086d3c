use super::*;
use crate::id::{FunctionId, StrId, TypeId};
use crate::record::{MemberRecord, NameRecord, PlaceRecord, SymbolRecord};
use proptest::prelude::*;
use zerocopy::IntoBytes;
use zerocopy::byteorder::little_endian::{I64, U32};

fn member(name: u32, target: u32, value: i64) -> MemberRecord {
    MemberRecord { name: StrId::new(name), target: TypeId::new(target), value: I64::new(value) }
}

fn open<R: Record>(packed: &Packed) -> Option<Table<'_, R>> {
    Table::open(&packed.bytes, packed.records)
}

fn bytes<R: Record>(records: impl IntoIterator<Item = R>) -> Vec<u8> {
    records.into_iter().flat_map(|record| record.as_bytes().to_vec()).collect()
}

prop_compose! {
    fn members()(length in 0usize..150, near: bool, seed: u64) -> Vec<MemberRecord> {
        let mut state = seed | 1;
        let mut next = move || { state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1); state >> 20 };
        (0..length).map(|at| {
            let value = if near { at as i64 * 8 } else { next() as i64 ^ -((next() & 1) as i64) };
            member(next() as u32 % 9000, if next() % 3 == 0 { u32::MAX } else { next() as u32 % 70_000 }, value)
        }).collect()
    }
}

proptest! {
    #[test]
    fn records_are_read_as_they_were_written(records in members(), cut in 0usize..160) {
        let packed = pack(&records);
        let table = open::<MemberRecord>(&packed).expect("it is whole");
        prop_assert_eq!(table.len(), records.len());
        prop_assert_eq!(bytes(table), bytes(records.iter().copied()));
        let cut = cut.min(records.len());
        prop_assert_eq!(bytes(table.from(cut)), bytes(records[cut..].iter().copied()));
        prop_assert_eq!(bytes(table.up_to(cut).iter().rev()), bytes(records[..cut].iter().rev().copied()));
        let one = table.get(cut).map(|r| r.as_bytes().to_vec());
        prop_assert_eq!(one, records.get(cut).map(|r| r.as_bytes().to_vec()));
    }

    #[test]
    fn a_part_is_searched_as_a_slice(
        mut values in prop::collection::vec(0i64..300, 0..200),
        wanted in 0i64..301,
        (start, end) in (0usize..200, 0usize..200),
    ) {
        values.sort_unstable();
        let (start, end) = (start.min(values.len()), end.min(values.len()));
        let packed = pack(&values.iter().map(|v| member(0, 0, *v)).collect::<Vec<_>>());
        let part = open::<MemberRecord>(&packed).expect("it is whole").part(start..end.max(start));
        let expected = values[start..end.max(start)].partition_point(|v| *v < wanted);
        prop_assert_eq!(part.partition_point(|m| m.value.get() < wanted), expected);
    }

    #[test]
    fn positions_of_a_number_are_found(records in members(), start in 0usize..150, wanted in 0usize..150) {
        let packed = pack(&records);
        let start = start.min(records.len());
        let part = open::<MemberRecord>(&packed).expect("it is whole").from(start);
        let wanted = records.get(wanted).map_or(TypeId::NONE, |r| r.target);
        let expected = (0..).zip(&records[start..]).filter(|(_, r)| r.target == wanted).map(|(at, _)| at);
        prop_assert_eq!(part.positions(1, wanted.get().into()).collect::<Vec<_>>(), expected.collect::<Vec<usize>>());
    }

    #[test]
    fn damaged_tables_are_read(bytes in prop::collection::vec(any::<u8>(), 0..200), records in 0u32..2000) {
        if let Some(table) = Table::<SymbolRecord>::open(&bytes, records) {
            prop_assert!(table.len() <= bytes.len() * BLOCK / 4);
            prop_assert_eq!(table.iter().count(), table.len());
            table.partition_point(|symbol| symbol.size.get() < 9);
            prop_assert!(table.positions(2, 9).count() <= table.len());
        }
    }
}

/// Names that ascend more or less evenly, among them steps back and leaps.
fn names(steps: &[u32]) -> Vec<NameRecord> {
    let mut at = 0u32;
    let next = |&step: &u32| {
        at = if step > 250 { at.wrapping_mul(step) } else { at.wrapping_add(step).saturating_sub(3) };
        let (name, first_function) = (StrId::new(at), FunctionId::new(at / 7));
        NameRecord { name, first_function, first_symbol: U32::new(at >> 3) }
    };
    steps.iter().map(next).collect()
}

proptest! {
    #[test]
    fn ascending_columns_are_read_as_they_were_written(steps in prop::collection::vec(0u32..256, 0..300), wanted in 0usize..300) {
        let records = names(&steps);
        let packed = pack(&records);
        let table = open::<NameRecord>(&packed).expect("it is whole");
        prop_assert_eq!(bytes(table), bytes(records.iter().copied()));
        let wanted = records.get(wanted).map_or(u32::MAX, |r| r.name.get());
        let expected = (0..).zip(&records).filter(|(_, r)| r.name.get() == wanted).map(|(at, _)| at);
        prop_assert_eq!(table.positions(0, wanted.into()).collect::<Vec<_>>(), expected.collect::<Vec<usize>>());
    }
}

#[test]
fn what_ascends_evenly_costs_no_bits() {
    let at = |n: u32| NameRecord {
        name: StrId::new(9 + n * 25),
        first_function: FunctionId::new(n),
        first_symbol: U32::new(5),
    };
    let even: Vec<_> = (0..BLOCK as u32).map(at).collect();
    // Three columns: bases, widths, slopes; no rows.
    assert_eq!(pack(&even).bytes.len(), 4 + 12 + 3 + 9 + PADDING);
}

#[test]
fn no_id_costs_no_bits() {
    let none = [member(5, u32::MAX, 0), member(5, 3, 0), member(5, 0, 0)];
    // Four columns: bases, widths, then three rows of three bits.
    assert_eq!(pack(&none).bytes.len(), 4 + 16 + 4 + 2 + PADDING);
}

#[test]
fn what_is_missing_is_zeros() {
    let packed = pack::<PlaceRecord>(&[]);
    let table = open::<PlaceRecord>(&packed).expect("an empty table");
    assert!(table.is_empty() && table.get(0).is_none() && table.at(7).entry.get() == 0);
    assert!(Table::<PlaceRecord>::open(&[0; 11], 1).is_none());
}

proptest! {
    #[test]
    fn what_is_searched_for_lies_around_where_a_search_starts(start in 0usize..50, length in 1usize..300, near: u16, first: u16) {
        let part = start..start + length;
        let (near, first) = (start + usize::from(near) % length, start + usize::from(first) % (length + 1));
        let mut asked = vec![];
        let found = around(near, part.clone(), |at| {
            asked.push(at);
            at < first
        });
        prop_assert!(found.start <= first && first <= found.end && part.start <= found.start && found.end <= part.end);
        prop_assert!(asked.iter().all(|at| part.contains(at)));
        let distance = near.abs_diff(first);
        prop_assert!(asked.len() as u32 <= 2 + (distance + 1).ilog2() + 1, "{asked:?}");
        prop_assert!(found.len() <= distance + 2);
    }
}
