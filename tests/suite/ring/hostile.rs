//! Any bytes are events or an error, and no more events than there are bytes for.
use super::layout;
use probeidx::tracefs::bytes::Order;
use probeidx::tracefs::format::Format;
use probeidx::tracefs::merge::{Merge, Merged};
use probeidx::tracefs::page::Layout;
use probeidx::tracefs::record::Formats;
use proptest::prelude::*;

fn order() -> impl Strategy<Value = Order> {
    prop_oneof![Just(Order::Little), Just(Order::Big)]
}

proptest! {
    #[test]
    fn any_sub_buffer(mut bytes in proptest::collection::vec(any::<u8>(), 16..300), length: u8, order in order()) {
        // Most lengths are those of more than there is.
        let length = u64::from(length).min(bytes.len() as u64 - 16);
        let commit = match order { Order::Little => length.to_le_bytes(), Order::Big => length.to_be_bytes() };
        bytes[8..16].copy_from_slice(&commit);
        let page = layout(order).page(&bytes).unwrap();
        let events: Vec<_> = page.events().collect();
        let used: usize = events.iter().flatten().map(|e| e.data.len() + 4).sum();
        prop_assert!(used as u64 <= length);
        prop_assert!(events.iter().rev().skip(1).all(Result::is_ok), "an error is the last");
        let mut merge = Merge::default();
        let mut times = vec![];
        prop_assert_eq!(merge.add(3, &page).is_ok(), events.iter().all(Result::is_ok));
        merge.give(true, &mut |given| if let Merged::Record { time, .. } = given { times.push(time) });
        let mut expected: Vec<u64> = events.iter().flatten().map(|e| e.time).collect();
        expected.sort_unstable();
        prop_assert_eq!(times, expected);
        prop_assert_eq!(merge.waiting(), 0);
    }

    #[test]
    fn any_text_and_any_record(
        text in "(name: [a-z]{1,3}\n|ID: [0-9]{1,5}\n|\tfield:(__data_loc |__rel_loc )?(char|u32|long)(\\[\\])? ([a-z]|common_type|common_pid)(\\[[0-9]?\\])?;\toffset:[0-9]{1,20};\tsize:[0-9]{1,20};\tsigned:[01];\n){0,9}",
        record: Vec<u8>,
        order in order(),
    ) {
        let _ = Layout::parse(&text, order);
        if let Ok(format) = Format::parse(&text, 8) {
            for field in &format.fields {
                prop_assert!(field.bytes(&record, order).is_none_or(|bytes| bytes.len() <= record.len()));
            }
            if let Ok(formats) = Formats::new(vec![format], order) {
                let _ = (formats.position(&record), formats.pid(&record));
                for field in &formats.format(0).fields {
                    let _ = formats.number(field, &record);
                }
            }
        }
    }
}
