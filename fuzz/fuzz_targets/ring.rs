//! Any bytes as what tracefs gives of a ring buffer: the layout of its sub-buffers, the formats of events, a `hist` file, and
//! sub-buffers of two processors. Each is refused or read; records come out in order, as many as went in, and no field of one
//! lies outside of it.
#![no_main]
use libfuzzer_sys::fuzz_target;
use probeidx::query::trace::trigger;
use probeidx::tracefs::bytes::Order;
use probeidx::tracefs::format::Format;
use probeidx::tracefs::merge::{Merge, Merged};
use probeidx::tracefs::page::Layout;
use probeidx::tracefs::record::Formats;

const HEADER: &str = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
                      \tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n\
                      \tfield: char data;\toffset:16;\tsize:4080;\tsigned:1;\n";

// A byte that chooses the byte order, a text up to a zero byte, and sub-buffers.
fuzz_target!(|data: &[u8]| {
    let Some((choice, rest)) = data.split_first() else { return };
    let order = if choice & 1 == 0 { Order::Little } else { Order::Big };
    let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
    let (text, pages) = rest.split_at(end);
    let text = String::from_utf8_lossy(text);
    trigger::parse(&text);
    let layout = Layout::parse(&text, order).or_else(|_| Layout::parse(HEADER, order)).expect("it is right");
    let formats: Vec<Format> =
        text.split("\n\nname: ").filter_map(|text| Format::parse(text, layout.word()).ok()).collect();
    let formats = Formats::new(formats, order).ok();
    let (mut merge, mut records) = (Merge::default(), 0);
    if let Some(formats) = &formats {
        if choice & 2 != 0 {
            merge.join_stacks(formats.mark(0));
        }
    }
    let size = layout.size().clamp(16, 4096);
    for (cpu, page) in pages.get(1..).unwrap_or_default().chunks(size).enumerate() {
        let Some(page) = layout.page(page) else { continue };
        let there = page.events().filter(Result::is_ok).count();
        let added = merge.add(cpu as u32 % 2, &page);
        records += there;
        assert!(added.is_err() || added.is_ok_and(|added| added <= there));
    }
    let mut last = 0;
    merge.give(true, &mut |given| {
        let (Merged::Record { time, .. } | Merged::Lost { time, .. }) = given;
        assert!(last <= time);
        last = time;
        let Merged::Record { data, stack, .. } = given else { return };
        records -= 1;
        let (Some(formats), false) = (&formats, data.is_empty()) else { return };
        if let Some(position) = formats.position(data) {
            for field in &formats.format(position).fields {
                let _ = formats.number(field, data);
                assert!(field.bytes(data, order).is_none_or(|bytes| bytes.len() <= data.len()));
            }
        }
        assert!(stack.len() <= pages.len());
    });
    assert!(choice & 2 != 0 || records == 0, "{records} records are missing");
});
