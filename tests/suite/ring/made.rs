//! What kernels write seldom, in both byte orders.
use super::{HEADER, Written, layout};
use probeidx::tracefs::bytes::Order;
use probeidx::tracefs::format::{Content, Format};
use probeidx::tracefs::page::{Event, Layout, Lost, Torn};

const ORDERS: [Order; 2] = [Order::Little, Order::Big];
const EXTEND: u32 = 30;
const STAMP: u32 = 31;
const PADDING: u32 = 29;

/// Time and bytes of an event.
type Read = Result<(u64, Vec<u8>), Torn>;

fn read(order: Order, bytes: &[u8]) -> (Lost, Vec<Read>) {
    let page = layout(order).page(bytes).unwrap();
    let event = |event: Event<'_>| (event.time, event.data.to_vec());
    (page.lost, page.events().map(|e| e.map(event)).collect())
}

#[test]
fn times_are_added_up_and_long_ones_have_a_word_more() {
    for order in ORDERS {
        let mut page = Written::new(order, 1000);
        page.event(0, b"aaaa");
        page.event(7, b"bbbbbbbb");
        page.wide(EXTEND, (5 << 27) + 3);
        page.event(2, &[b'c'; 116]);
        let (lost, events) = read(order, &page.finish(0, &[]));
        assert_eq!(lost, Lost::None);
        let long = 1007 + (5 << 27) + 3 + 2;
        let expected = [(1000, b"aaaa".to_vec()), (1007, b"bbbbbbbb".to_vec()), (long, vec![b'c'; 116])];
        assert_eq!(events, expected.map(Ok));
    }
}

#[test]
fn absolute_times_have_59_bits_and_the_rest_of_the_time_before() {
    for order in ORDERS {
        let high = 3 << 59;
        let mut page = Written::new(order, high + (1 << 59) - 10);
        page.event(0, b"aaaa");
        page.wide(STAMP, (1 << 59) - 5);
        page.event(1, b"bbbb");
        // Beyond the end of the 59 bits.
        page.wide(STAMP, 4);
        page.event(0, b"cccc");
        let times: Vec<u64> = read(order, &page.finish(0, &[])).1.into_iter().map(|e| e.unwrap().0).collect();
        assert_eq!(times, [(4 << 59) - 10, (4 << 59) - 4, (4 << 59) + 4]);
    }
}

#[test]
fn discarded_events_pass_their_time_on_and_padding_without_time_ends_the_page() {
    for order in ORDERS {
        let mut page = Written::new(order, 50);
        page.event(0, b"aaaa");
        for (delta, length) in [(20, 12), (1, 4)] {
            page.head(PADDING, delta);
            page.number(length, 4);
            (4..length).for_each(|_| page.number(0xee, 1));
        }
        page.event(3, b"bbbb");
        page.head(PADDING, 0);
        page.number(0xffff_ffff, 4);
        let expected = [Ok((50, b"aaaa".to_vec())), Ok((73, b"bbbb".to_vec()))];
        assert_eq!(read(order, &page.finish(0, &[])).1, expected);
    }
}

#[test]
fn lost_events_are_counted_where_the_page_had_room_for_it() {
    const MISSED: u64 = 0xffff_ffff_8000_0000;
    const STORED: u64 = 1 << 30;
    for order in ORDERS {
        let page = || {
            let mut page = Written::new(order, 0);
            page.event(0, b"aaaa");
            page
        };
        let mut count = 77u64.to_le_bytes();
        if order == Order::Big {
            count.reverse();
        }
        for (flags, behind, lost) in [
            (0, &[][..], Lost::None),
            (MISSED, &[], Lost::Some),
            (MISSED | STORED, &count, Lost::Count(77)),
            (MISSED | STORED, &count[..7], Lost::Some),
        ] {
            let (found, events) = read(order, &page().finish(flags, behind));
            assert_eq!((found, events.len()), (lost, 1));
        }
    }
}

#[test]
fn an_event_that_is_cut_off_is_an_error_and_those_before_it_are_there() {
    for order in ORDERS {
        let mut page = Written::new(order, 9);
        page.event(0, b"aaaa");
        page.head(20, 1);
        let (_, events) = read(order, &page.finish(0, &[]));
        assert_eq!(events, [Ok((9, b"aaaa".to_vec())), Err(Torn { offset: 8 })]);
    }
}

#[test]
fn sizes_are_those_of_the_kernel() {
    let narrow = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n\
                  \tfield: local_t commit;\toffset:8;\tsize:4;\tsigned:1;\n\
                  \tfield: char data;\toffset:12;\tsize:4084;\tsigned:1;\n";
    let layout = Layout::parse(narrow, Order::Little).unwrap();
    assert_eq!((layout.size(), layout.word()), (4096, 4));
    let mut bytes = vec![5, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0xc0];
    bytes.extend_from_slice(&[1, 0, 0, 0, b'a', b'b', b'c', b'd', 6, 0, 0, 0]);
    let page = layout.page(&bytes).unwrap();
    assert_eq!((page.lost, page.events().count(), page.time()), (Lost::Count(6), 1, 5));
    assert!(layout.page(&bytes[..19]).is_none(), "the length is that of more than there is");
    for wrong in
        ["", &narrow[..50], &narrow.replace("size:4;", "size:9;"), &HEADER.replace("size:4080", "size:x")]
    {
        assert!(Layout::parse(wrong, Order::Little).is_err(), "{wrong}");
    }
}

#[test]
fn fields_elsewhere_in_the_record() {
    let text = "name: x\nID: 7\nformat:\n\
        \tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n\
        \tfield:__data_loc char[] name;\toffset:4;\tsize:4;\tsigned:0;\n\
        \tfield:__rel_loc u16[] numbers;\toffset:8;\tsize:4;\tsigned:0;\n\
        \tfield:char comm[16];\toffset:12;\tsize:16;\tsigned:0;\n\
        \tfield:const char * pointer;\toffset:28;\tsize:8;\tsigned:0;\n\
        \tfield:__data_loc cpumask_t mask;\toffset:4;\tsize:4;\tsigned:0;\n\
        \tfield:unsigned char address[4];\toffset:12;\tsize:4;\n\n\
        print fmt: \"%s\", field:nonsense\n";
    let format = Format::parse(text, 8).unwrap();
    assert_eq!((format.name.as_str(), format.id, format.fields.len()), ("x", 7, 7));
    let record = |order: Order| {
        let mut bytes = Written::new(order, 0);
        bytes.number(7, 2);
        bytes.number(0, 2);
        bytes.number(5 << 16 | 36, 4);
        bytes.number(4 << 16 | (42 - 12), 4);
        let mut bytes = bytes.finish(0, &[]).split_off(16);
        bytes.extend_from_slice(b"swapper\0rubbish.\0\0\0\0\0\0\0\0head\0_");
        bytes.extend_from_slice(if order == Order::Big { b"\x01\x02\x03\x04" } else { b"\x02\x01\x04\x03" });
        bytes
    };
    for order in ORDERS {
        let record = record(order);
        let bytes = |name: &str| format.field(name).unwrap().bytes(&record, order);
        assert_eq!(bytes("name"), Some(&b"head"[..]));
        assert_eq!(bytes("numbers").map(<[u8]>::len), Some(4));
        assert_eq!(bytes("comm"), Some(&b"swapper"[..]));
        assert_eq!(bytes("address"), Some(&b"swap"[..]));
        assert_eq!(format.field("name").unwrap().bytes(&record[..40], order), None);
    }
    let contents: Vec<Content> = format.fields.iter().map(|f| f.content).collect();
    let expected = [
        Content::Number,
        Content::Text,
        Content::Numbers(2),
        Content::Text,
        Content::Number,
        Content::Bytes,
        Content::Numbers(1),
    ];
    assert_eq!(contents, expected);
    for wrong in [
        "",
        "name: x\n",
        "name: x\nID: y\n",
        "name: x\nID: 70000\n",
        "name: x\nID: 1\n\tfield:int a;\toffset:0;\n",
    ] {
        assert!(Format::parse(wrong, 8).is_err(), "{wrong}");
    }
}
