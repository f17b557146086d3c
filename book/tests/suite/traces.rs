//! What a trace writes byte by byte is as its schema says, of each kind of value.
use super::validated::Schemas;
use probeidx::query::trace::histogram::Log2;
use probeidx::query::trace::names::{Frame, Level, Namer};
use probeidx::query::trace::record::{Notice, Number, Numbers, Record, Value};
use probeidx::query::trace::shown::Shown;
use probeidx::query::trace::tally::Tally;
use probeidx::query::trace::trigger::Counted;
use probeidx::query::trace::{Column, Copy, Event, Kind, Place};
use probeidx::render::trace::{json, table};

/// Names of a kernel with one function, of which a line is known and another one not.
struct Names(Option<Frame>);

impl Namer for Names {
    fn symbol(&mut self, _: u64) -> Option<&str> {
        None
    }
    fn place(&mut self, address: u64) -> &Frame {
        self.frame(address)
    }
    fn frame(&mut self, address: u64) -> &Frame {
        let level = |line| Level { function: "f".to_owned(), line };
        let levels = vec![level(Some(("fs/namei.c".to_owned(), 7))), level(None)];
        self.0.insert(Frame { symbol: format!("f+{address:#x}"), levels })
    }
}

fn event(kind: Kind, shown: Shown) -> Event {
    let copy = |place, inlined_into| Copy {
        definition: None,
        is_certain: true,
        place,
        inlined_into,
        unreadable: vec![],
    };
    let anchor = ("_text".to_owned(), 5);
    let place = Place { anchor, module: None, address: 0x1234, run_time: None };
    Event {
        kind,
        group: "g".to_owned(),
        name: "e".to_owned(),
        subject: "vfs_read".to_owned(),
        copies: vec![copy(Some(place), vec!["caller".to_owned()]), copy(None, vec![])],
        columns: vec![Column { name: "v".to_owned(), field: "v".to_owned(), shown }],
        filter: None,
    }
}

#[test]
fn lines_of_events_are_as_the_schema_says() {
    let mut schemas = Schemas::all();
    let number = |bits, is_signed| Value::Number(Number::new(bits, 8, is_signed));
    let numbers = Numbers { bytes: &[1, 0, 5, 0], size: 2, is_signed: false, is_big_endian: false };
    let values = [
        (Shown::Signed, number(u64::MAX, true)),
        (Shown::Unsigned, number(u64::MAX, false)),
        (Shown::Address, number(u64::MAX - 1, false)),
        (Shown::Boolean, number(1, false)),
        (Shown::Text, Value::Text(b"a \"b\"\xff\x1b")),
        (Shown::Hexadecimal, Value::Numbers(numbers)),
        (Shown::Unsigned, Value::Bytes(&[0xab, 1])),
        (Shown::Text, Value::Unreadable),
    ];
    for (shown, value) in values {
        for (kind, copy, stack) in [
            (Kind::Kprobe, Some(0), &[][..]),
            (Kind::Kretprobe, Some(1), &[9][..]),
            (Kind::Kprobe, None, &[]),
        ] {
            let event = event(kind, shown.clone());
            let values = std::slice::from_ref(&value);
            let copy = copy.map(|at| &event.copies[at]);
            let record = Record {
                time: 3_000_219_456,
                cpu: 1,
                pid: 42,
                comm: b"sh",
                event: &event,
                copy,
                values,
                stack,
                returns_to: None,
            };
            let mut out = vec![];
            json::line(&record, &mut Names(None), &mut out);
            schemas.hold("trace", std::str::from_utf8(&out).unwrap());
        }
    }
    for count in [None, Some(77)] {
        let mut out = vec![];
        json::notice(&Notice::Lost { time: 5, cpu: 2, count }, &mut out);
        schemas.hold("trace", std::str::from_utf8(&out).unwrap());
    }
}

#[test]
fn tables_are_as_the_schema_says() {
    let mut schemas = Schemas::all();
    for shown in [Shown::Signed, Shown::Result] {
        let event = event(Kind::Kretprobe, shown);
        let column = &event.columns[0];
        let mut out = vec![];
        for counted in [Counted::Copies, Counted::Values(column)] {
            let mut tally = Tally::new(counted, 2);
            for value in [-2i64, 1, 5, 5000] {
                tally.add(Some(0), &Value::Number(Number::new(value as u64, 8, true)));
            }
            tally.add(None, &Value::Number(Number::new(1, 8, true)));
            match counted {
                Counted::Copies => table::copies_json(&event, &tally, &mut out),
                Counted::Values(_) => table::values_json(&event, column, &tally, &mut Names(None), &mut out),
            }
        }
        let mut log2 = Log2::default();
        log2.add(1500);
        table::latency_json("vfs_read", &log2, 1500, 2, &mut out);
        schemas.hold("trace", std::str::from_utf8(&out).unwrap());
    }
    assert!(schemas.counted["trace"] >= 8, "{:?}", schemas.counted);
}
