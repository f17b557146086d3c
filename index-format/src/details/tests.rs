//! Reading returns what was written, and damaged bytes do no harm.
use super::*;
use crate::expr::FrameBase;
use proptest::prelude::*;

#[test]
fn a_placement_is_read_as_it_was_written() {
    let mut buffer = Buffer::default();
    let call = CallSite { file: 3, line: 3789, column: 9 };
    let ranges = [Range { start: 0x1000, end: 0x1010 }, Range { start: 0x800, end: 0x820 }];
    let mut writer = DetailWriter::new(&mut buffer, 0x1008, FrameBase::Cfa, &ranges, Some((3, call)));
    writer.everywhere(0, &[0x55]);
    writer.list(
        1,
        &[(Range { start: 0x1008, end: 0x100a }, &[0x54]), (Range { start: 0x800, end: 0x820 }, &[0x53])],
    );
    let block = writer.block(&[Range { start: 0x1009, end: 0x100b }]);
    let empty = writer.block(&[Range { start: 0x1009, end: 0x100a }]);
    writer.end_block(empty);
    writer.constant(60, -2);
    writer.end_block(block);
    writer.nowhere(2);
    writer.list(0, &[(ranges[0], &[0x51])]);
    writer.end();
    let out = [buffer.bytes(), &[0xff; 4]].concat();

    let details = Details::read(&out, Pc::new(0x1008));
    assert_eq!(details.ranges.collect::<Vec<_>>(), ranges);
    assert_eq!(details.call, Some(call));
    let outermost: Vec<_> = details.items.outermost().collect();
    assert_eq!(outermost.iter().map(|v| v.0).collect::<Vec<_>>(), [0, 1, 2, 0]);
    assert_eq!(outermost[3].1.at(0x1000), Some(Expr::Register(1)));
    assert_eq!(outermost[3].1.at(0x1010), None);
    assert_eq!(details.outer, 3);
    assert_eq!(outermost[1].1.at(0x1009), Some(Expr::Register(4)));
    assert_eq!(outermost[1].1.at(0x100a), None);
    assert_eq!(outermost[1].1.at(0x81f), Some(Expr::Register(3)));
    let in_block = details.items.filter(|i| matches!(i, Item::Variable(60, Location::Constant(-2))));
    assert_eq!(in_block.count(), 1);
    assert_eq!(details.items.filter(|i| matches!(i, Item::Block(_))).count(), 1);
}

/// What a copy behind another call has, with each of these as the value of a variable.
#[test]
fn items_are_the_same_behind_another_call() {
    let call = |line| CallSite { file: 0, line, column: 5 };
    let range = Range { start: 0x100, end: 0x140 };
    let values: [&[u8]; 5] = [
        &[0x55],
        &[0x70, 0, 6, 0x23, 8],
        // An implicit pointer, with an offset of no meaning; an address; its value.
        &[0xf2, 1, 2, 3, 4, 0],
        &[0x03, 1, 2, 3, 4, 5, 6, 7, 8],
        &[0x03, 1, 2, 3, 4, 5, 6, 7, 8, 0x9f],
    ];
    let write = |buffer: &mut Buffer, line: u32, with_bytes: bool, value: &[u8]| {
        let mut writer = DetailWriter::new(buffer, 0x100, FrameBase::Cfa, &[range], Some((1, call(line))));
        let block = writer.block(&[range]);
        if with_bytes {
            writer.bytes(0, b"constant");
        }
        writer.list(1, &[(Range { end: 0x120, ..range }, value), (Range { start: 0x120, ..range }, &[0x51])]);
        writer.end_block(block);
        writer.everywhere(2, value);
        writer.end();
    };
    let (mut buffer, mut copied, mut expected) = (Buffer::default(), Buffer::default(), Buffer::default());
    for (value, with_bytes, line) in
        values.iter().flat_map(|v| [(v, true, 3), (v, true, 900), (v, false, 3), (v, false, 900)])
    {
        write(&mut buffer, 7, with_bytes, value);
        let details = Details::read(buffer.bytes(), Pc::new(0x100));
        copy(details, 0x100, Some(call(line)), &mut Moves { from: 0, by: 0 }, &mut copied);
        let mut forgotten = value.to_vec();
        crate::expr::forget_reference(&mut forgotten);
        write(&mut expected, line, with_bytes, &forgotten);
        assert_eq!(copied.bytes(), expected.bytes(), "{value:x?} {with_bytes} {line}");
    }
}

fn ranges() -> impl Strategy<Value = Vec<Range>> {
    let range = (0u32..9, 1u32..9).prop_map(|(start, length)| Range { start, end: start + length });
    prop::collection::vec(range, 0..6)
}

/// The ranges of blocks (true) and lists, in order.
fn lists_and_blocks(items: Items<'_>) -> Vec<(bool, Vec<Range>)> {
    let (mut found, mut in_block) = (vec![], false);
    for item in items {
        match item {
            Item::Block(ranges) => {
                in_block = true;
                found.push((true, ranges.collect()));
            }
            Item::End => in_block = false,
            Item::Variable(..) if in_block => {}
            Item::Variable(_, Location::List(list)) => {
                found.push((false, list.map(|(range, _)| range).collect()));
            }
            Item::Variable(_, Location::Within(range, _)) => found.push((false, vec![range])),
            Item::Variable(..) => found.push((false, vec![])),
        }
    }
    found
}

/// Moves what starts at an address or behind.
struct Moves {
    from: u32,
    by: u32,
}

impl Moving for Moves {
    fn range(&mut self, range: Range) -> Range {
        let by = if range.start < self.from { 0 } else { self.by };
        Range { start: range.start + by, end: range.end + by }
    }
    fn address(&mut self, address: u64) -> u64 {
        address
    }
}

proptest! {
    #[test]
    fn lists_and_blocks_have_the_ranges_they_were_given(
        place in ranges(),
        lists in prop::collection::vec((any::<bool>(), ranges()), 0..8),
        call: Option<(u8, u8, u8)>,
    ) {
        let mut buffer = Buffer::default();
        let call = call.map(|(f, l, c)| CallSite { file: f.into(), line: l.into(), column: c.into() });
        let mut writer = DetailWriter::new(&mut buffer, 5, FrameBase::Cfa, &place, call.map(|call| (40, call)));
        for (is_block, ranges) in &lists {
            if *is_block {
                let block = writer.block(ranges);
                writer.nowhere(0);
                writer.end_block(block);
            } else {
                let list: Vec<_> = ranges.iter().map(|r| (*r, &[0x70u8, 0, 6, 0x23, 8][..])).collect();
                writer.list(0, &list);
            }
        }
        writer.end();

        let details = Details::read(buffer.bytes(), Pc::new(5));
        prop_assert_eq!((details.outer, details.call), (if call.is_some() { 40 } else { 0 }, call));
        prop_assert_eq!(details.ranges.collect::<Vec<_>>(), place.clone());
        let found = lists_and_blocks(details.items);
        prop_assert_eq!(&found, &lists);

        // What moves as one has the same bytes, as all is relative; what moves apart does not, and is read as it was moved.
        let mut copied = Buffer::default();
        copy(details, 5 + 16, call, &mut Moves { from: 0, by: 16 }, &mut copied);
        prop_assert_eq!(copied.bytes(), buffer.bytes());
        let mut apart = Moves { from: 6, by: 100 };
        copy(details, 5, call, &mut apart, &mut copied);
        let details = Details::read(copied.bytes(), Pc::new(5));
        let mut moved = |ranges: Vec<Range>| ranges.into_iter().map(|range| apart.range(range)).collect::<Vec<_>>();
        prop_assert_eq!(details.ranges.collect::<Vec<_>>(), moved(place));
        let lists: Vec<_> = lists.into_iter().map(|(is_block, ranges)| (is_block, moved(ranges))).collect();
        prop_assert_eq!(lists_and_blocks(details.items), lists);
    }

    #[test]
    fn damaged_details_end(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let details = Details::read(&bytes, Pc::new(1));
        copy(details, 1, details.call, &mut Moves { from: 0, by: 0 }, &mut Buffer::default());
        prop_assert!(details.ranges.count() <= 8 * bytes.len() + 1);
        let mut items = 0;
        for item in details.items {
            items += 1;
            match item {
                Item::Variable(_, Location::List(list)) => prop_assert!(list.count() <= 8 * bytes.len() + 1),
                Item::Block(ranges) => prop_assert!(ranges.count() <= 8 * bytes.len() + 1),
                _ => {}
            }
        }
        prop_assert!(items <= 8 * bytes.len() + 1);
    }
}

#[test]
fn damaged_bytes_end_and_do_not_panic() {
    for byte in 0..=255 {
        for length in 0..6 {
            let bytes = vec![byte; length];
            let details = Details::read(&bytes, Pc::new(1));
            assert!(details.items.count() <= 8 * length + 1);
        }
    }
}
