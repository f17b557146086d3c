//! Stacks stand behind their records, and come out with them.
use super::{Written, layout};
use probeidx::tracefs::bytes::Order;
use probeidx::tracefs::format::Format;
use probeidx::tracefs::merge::{Merge, Merged};
use probeidx::tracefs::record::Formats;

fn merge() -> Merge {
    let text = "name: kernel_stack\nID: 4\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\
        \tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n";
    let formats = Formats::new(vec![Format::parse(text, 8).unwrap()], Order::NATIVE).unwrap();
    let mut merge = Merge::default();
    merge.join_stacks(formats.mark(0));
    merge
}

/// A record with this type, and a number.
fn content(kind: u16, number: u16) -> Vec<u8> {
    [kind.to_ne_bytes(), number.to_ne_bytes()].concat()
}

fn page(time: u64, records: &[(u16, u16)]) -> Vec<u8> {
    let mut page = Written::new(Order::NATIVE, time);
    records.iter().for_each(|(kind, number)| page.event(1, &content(*kind, *number)));
    page.finish(0, &[])
}

/// The numbers of records and of their stacks.
fn given(merge: &mut Merge, is_last: bool) -> Vec<(u16, Option<u16>)> {
    let number = |bytes: &[u8]| bytes.get(2..4).map(|b| u16::from_ne_bytes([b[0], b[1]]));
    let mut out = vec![];
    merge.give(is_last, &mut |given| {
        let Merged::Record { data, stack, .. } = given else { return };
        out.push((number(data).unwrap(), number(stack)));
    });
    out
}

#[test]
fn each_stack_is_that_of_the_last_record_of_its_processor_without_one() {
    let (layout, mut merge) = (layout(Order::NATIVE), merge());
    // An interrupt wrote 2 and its stack between 1 and the stack of that.
    let first = page(100, &[(9, 1), (9, 2), (4, 20), (4, 10), (9, 3), (4, 30), (9, 5)]);
    let second = page(100, &[(9, 4), (4, 40), (4, 99)]);
    merge.add(0, &layout.page(&first).unwrap()).unwrap();
    merge.add(1, &layout.page(&second).unwrap()).unwrap();
    let mut all = given(&mut merge, true);
    all.sort_unstable();
    assert_eq!(all, [(1, Some(10)), (2, Some(20)), (3, Some(30)), (4, Some(40)), (5, None)]);
}

#[test]
fn a_stack_that_is_read_later_finds_its_record() {
    let (layout, mut merge) = (layout(Order::NATIVE), merge());
    merge.add(0, &layout.page(&page(100, &[(9, 1), (4, 10), (9, 2)])).unwrap()).unwrap();
    assert_eq!(given(&mut merge, false), []);
    merge.add(0, &layout.page(&page(110, &[(4, 20)])).unwrap()).unwrap();
    assert_eq!(given(&mut merge, false), [(1, Some(10)), (2, Some(20))]);
    assert_eq!(merge.waiting(), 0);
}
