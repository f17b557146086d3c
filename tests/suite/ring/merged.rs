//! The order over processors, whenever each of them is read.
use super::{Written, layout};
use probeidx::tracefs::bytes::Order;
use probeidx::tracefs::merge::{Merge, Merged};
use proptest::prelude::*;

/// A sub-buffer with an event at each of these times.
fn page(times: &[u64], lost: u64) -> Vec<u8> {
    let mut page = Written::new(Order::NATIVE, times[0]);
    let mut before = times[0];
    for time in times {
        page.event((time - before) as u32, &u32::to_ne_bytes(*time as u32));
        before = *time;
    }
    match lost {
        0 => page.finish(0, &[]),
        count => page.finish(3 << 30, &count.to_ne_bytes()),
    }
}

fn add(merge: &mut Merge, cpu: u32, times: &[u64], lost: u64) {
    let layout = layout(Order::NATIVE);
    if !times.is_empty() {
        assert_eq!(merge.add(cpu, &layout.page(&page(times, lost)).unwrap()), Ok(times.len()));
    }
}

fn give(merge: &mut Merge, is_last: bool) -> Vec<(u64, u32)> {
    let mut out = vec![];
    merge.give(is_last, &mut |given| {
        let Merged::Record { time, cpu, data, .. } = given else { return };
        assert_eq!(data, u32::to_ne_bytes(time as u32), "the bytes are those of the record");
        out.push((time, cpu));
    });
    out
}

#[test]
fn what_is_newer_than_the_reading_before_waits() {
    let mut merge = Merge::default();
    add(&mut merge, 0, &[10, 20], 0);
    add(&mut merge, 1, &[15, 30], 0);
    assert_eq!(give(&mut merge, false), []);
    add(&mut merge, 0, &[25, 40], 0);
    assert_eq!(give(&mut merge, false), [(10, 0), (15, 1), (20, 0), (25, 0), (30, 1)]);
    assert_eq!(give(&mut merge, false), [(40, 0)]);
    assert_eq!(merge.waiting(), 0);
}

#[test]
fn a_processor_that_has_more_holds_the_others_back() {
    let mut merge = Merge::default();
    add(&mut merge, 0, &[1], 0);
    add(&mut merge, 1, &[50], 0);
    assert_eq!(give(&mut merge, false), []);
    add(&mut merge, 0, &[10, 20], 0);
    merge.cut();
    add(&mut merge, 1, &[60], 0);
    assert_eq!(give(&mut merge, false), [(1, 0), (10, 0), (20, 0)]);
    add(&mut merge, 0, &[30, 55], 0);
    assert_eq!(give(&mut merge, true), [(30, 0), (50, 1), (55, 0), (60, 1)]);
}

#[test]
fn what_was_lost_stands_before_the_first_event_that_was_not() {
    let mut merge = Merge::default();
    add(&mut merge, 0, &[1, 4], 0);
    add(&mut merge, 0, &[9, 12], 77);
    add(&mut merge, 1, &[5, 10], 0);
    let mut out = vec![];
    merge.give(true, &mut |given| {
        out.push(match given {
            Merged::Record { time, cpu, .. } => (time, cpu, None),
            Merged::Lost { time, cpu, count } => (time, cpu, count),
        });
    });
    let expected = [
        (1, 0, None),
        (4, 0, None),
        (5, 1, None),
        (9, 0, Some(77)),
        (9, 0, None),
        (10, 1, None),
        (12, 0, None),
    ];
    assert_eq!(out, expected);
}

proptest! {
    /// Processors write at random times; a reading takes them one after the other while time goes on. What comes out is in order,
    /// and complete.
    #[test]
    fn order_is_right_over_all_readings(
        written in proptest::collection::vec(proptest::collection::btree_set(0u64..2000, 0..60), 1..4),
        mut readings in proptest::collection::vec(0u64..2000, 1..30),
    ) {
        readings.sort_unstable();
        let mut merge = Merge::default();
        let mut read = vec![0; written.len()];
        let mut out = vec![];
        let mut now = 0;
        for (nth, start) in readings.iter().enumerate() {
            now = now.max(*start);
            for (cpu, times) in written.iter().enumerate() {
                // Each reading of a processor takes time.
                now += 3;
                let fresh: Vec<u64> = times.iter().copied().skip(read[cpu]).take_while(|t| *t < now).collect();
                read[cpu] += fresh.len();
                add(&mut merge, cpu as u32, &fresh, 0);
            }
            out.extend(give(&mut merge, nth + 1 == readings.len()));
        }
        prop_assert!(out.is_sorted_by_key(|(time, _)| *time), "{out:?}");
        prop_assert_eq!(out.len(), read.iter().sum::<usize>());
    }
}
