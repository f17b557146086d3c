//! Counts, by the kernel and from records.
use probeidx::query::trace::histogram::Log2;
use probeidx::query::trace::names::NoNames;
use probeidx::query::trace::record::{CopyFinder, Number, Value};
use probeidx::query::trace::shown::Shown;
use probeidx::query::trace::tally::{Tally, TallyCounts};
use probeidx::query::trace::trigger::{Counted, Counts, count, parse};
use probeidx::query::trace::{Column, Copy, Event, Kind, Place};
use probeidx::render::trace::table;
use serde_json::{Value as Json, json};

/// What 6.1 has in `hist` files of the events of `tests/fixtures/ring`: results, ranges, and a text with a key behind it.
const RESULTS: &str = "# event histogram\n#\n# trigger info: hist:keys=ret:vals=hitcount:sort=hitcount:size=2048 [active]\n#\n\n\
    { ret: 18446744073709551614 } hitcount:          2\n{ ret:          3 } hitcount:         11\n\n\
    Totals:\n    Hits: 13\n    Entries: 2\n    Dropped: 0\n";
const RANGES: &str = "# trigger info: hist:keys=ret.log2:vals=hitcount:sort=hitcount:size=2048 [active]\n\n\
    { ret: ~ 2^64 } hitcount:          2\n{ ret: ~ 2^2  } hitcount:         11  ns:        500\n\n\
    Totals:\n    Hits: 13\n    Entries: 2\n    Dropped: 4\n";
const TEXTS: &str = "# trigger info: hist:keys=filename,common_pid.execname:vals=hitcount:sort=hitcount:size=2048 [active]\n\n\
    { filename: /a, b: } c                                         , common_pid: init            [         1] } hitcount:          1\n\
    { filename: /init                                              , common_pid: sh              [        86] } hitcount:          7\n\
    rubbish\n{ x } hitcount: 1\n{ filename: x } hitcount: y\n\n\
    Totals:\n    Hits: 8\n";

fn event(kind: Kind, callers: &[&str], shown: Shown) -> Event {
    let copy = |(caller, nth): (&&str, u64)| Copy {
        definition: None,
        is_certain: true,
        place: Some(Place {
            anchor: (String::new(), 0),
            module: None,
            address: nth,
            run_time: Some(0xffff_ffff_8100_0000 + 0x100 * nth),
        }),
        inlined_into: if caller.is_empty() { vec![] } else { vec![(*caller).to_owned()] },
        unreadable: vec![],
    };
    Event {
        kind,
        group: "g".to_owned(),
        name: "e".to_owned(),
        subject: "f".to_owned(),
        copies: callers.iter().zip(0..).map(copy).collect(),
        columns: vec![Column { name: "value".to_owned(), field: "field".to_owned(), shown }],
        filter: Some("count > 5".to_owned()),
    }
}

#[test]
fn hist_files_are_read() {
    let results = &parse(RESULTS)[0];
    assert_eq!((results.rows.len(), results.hits, results.dropped), (2, 13, 0));
    assert_eq!(Counts::number(&results.rows[0], false), Some(-2i64 as u64));
    let (log2, sum) = parse(RANGES)[0].log2();
    assert_eq!((log2.count(), sum, parse(RANGES)[0].dropped), (13, 500, 4));
    let texts = &parse(TEXTS)[0].rows;
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    assert_eq!(
        texts[1].keys,
        [pair("filename", "/init"), pair("common_pid", "sh              [        86]")]
    );
    assert_eq!((texts.len(), texts[1].count), (2, 7));
    assert_eq!(parse(&format!("{RESULTS}\n{RANGES}")).len(), 2);
    assert!(parse("").is_empty() && parse("{ a: b } hitcount: 1").is_empty());
}

#[test]
fn triggers_have_the_filter_of_their_event() {
    let entry = event(Kind::Kprobe, &[""], Shown::Unsigned);
    let column = |event: &Event| count(event, Counted::Values(&event.columns[0]));
    assert_eq!(count(&entry, Counted::Copies), "hist:keys=__probe_ip.hex:vals=hitcount if count > 5");
    assert_eq!(column(&entry), "hist:keys=field.log2:vals=hitcount:size=8192 if count > 5");
    let exit = Event { filter: None, ..event(Kind::Kretprobe, &[""], Shown::Result) };
    assert_eq!(count(&exit, Counted::Copies), "hist:keys=__probe_func.hex:vals=hitcount");
    assert_eq!(column(&exit), "hist:keys=field:vals=hitcount:size=8192");
    assert_eq!(
        column(&event(Kind::Tracepoint, &[""], Shown::Address)),
        "hist:keys=field.hex:vals=hitcount:size=8192 if count > 5"
    );
}

/// The same values, counted by the kernel and from records, are the same table.
#[test]
fn both_ways_count_the_same() {
    for (shown, text) in [(Shown::Result, RESULTS), (Shown::Signed, RANGES)] {
        let event = event(Kind::Kretprobe, &[""], shown);
        let counted = Counted::Values(&event.columns[0]);
        let finder = CopyFinder::default();
        let mut kernel = Tally::of_kernel(counted, 1, &finder, &parse(text)[0]);
        kernel.dropped = 0;
        let mut records = Tally::new(counted, 1);
        for value in [-2i64, -2, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3, 3] {
            // As a field of 32 bits has it.
            records.add(Some(0), &Value::Number(Number::new(value as u64, 4, true)));
        }
        assert_eq!(kernel, records);
        assert_eq!(records.total(), 13);
    }
}

#[test]
fn copies_are_found_by_their_addresses() {
    let event = event(Kind::Kprobe, &["one", "two", "three"], Shown::Unsigned);
    let finder = CopyFinder::new(&event, |place| place.run_time);
    let text = "# trigger info: hist:keys=__probe_ip.hex:vals=hitcount [active]\n\
        { __probe_ip: ffffffff81000100 } hitcount:          5\n\
        { __probe_ip: ffffffff81000204 } hitcount:          9\n\
        { __probe_ip: ffffffff91000000 } hitcount:          1\n";
    let tally = Tally::of_kernel(Counted::Copies, 3, &finder, &parse(text)[0]);
    assert_eq!(tally.counts, TallyCounts::Copies(vec![0, 5, 9], 1));
    let mut out = vec![];
    table::copies(&event, &tally, &mut out);
    let lines: Vec<String> = String::from_utf8(out)
        .unwrap()
        .lines()
        .map(|line| line.split_ascii_whitespace().collect::<Vec<_>>().join(" "))
        .collect();
    assert_eq!(lines, ["f 15", "in three 9", "in two 5", "in one 0", "elsewhere 1"]);
    let mut out = vec![];
    table::copies_json(&event, &tally, &mut out);
    let objects: Vec<Json> = out
        .split(|b| *b == b'\n')
        .filter(|l| !l.is_empty())
        .map(|l| serde_json::from_slice(l).unwrap())
        .collect();
    assert_eq!(objects[1], json!({"function": "f", "copy": "two", "address": "0x1", "count": 5}));
    assert_eq!(objects.iter().map(|o| o["count"].as_u64().unwrap()).sum::<u64>(), 15);
}

#[test]
fn tables_name_errors_and_have_ranges_of_the_rest() {
    let event = event(Kind::Kretprobe, &[""], Shown::Result);
    let column = &event.columns[0];
    let mut tally = Tally::new(Counted::Values(column), 1);
    let mut add = |value: i64| tally.add(Some(0), &Value::Number(Number::new(value as u64, 8, true)));
    (0..5).for_each(|_| add(-2));
    (1000..1100).for_each(&mut add);
    let mut out = vec![];
    table::values(&event, column, &tally, &mut NoNames::default(), &mut out);
    let text = String::from_utf8(out).unwrap();
    assert!(text.starts_with("value of f\n  -ENOENT "), "{text}");
    let words: Vec<Vec<&str>> = text.lines().map(|l| l.split_ascii_whitespace().collect()).collect();
    assert_eq!(words[2][..4], ["513", "..", "1024", "25"], "{text}");
    assert_eq!(words[3][..4], ["1025", "..", "2048", "75"], "{text}");
    let mut out = vec![];
    table::values_json(&event, column, &tally, &mut NoNames::default(), &mut out);
    let object: Json = serde_json::from_slice(&out).unwrap();
    assert_eq!(object["counts"][0], json!({"value": -2, "shown": "-ENOENT", "count": 5}));
    assert_eq!(object["counts"].as_array().unwrap().len(), 101);
}

#[test]
fn latencies_have_units_and_percentiles() {
    let mut log2 = Log2::default();
    (0..99).for_each(|_| log2.add(1500));
    log2.add(3_000_000_000);
    let mut out = vec![];
    table::latency("f", &log2, 3_000_148_500, 2, &mut out);
    let text = String::from_utf8(out).unwrap();
    assert!(
        text.starts_with("f: 100 calls, 30.0 ms on average, 50 % within 2.0 µs, 99 % within 2.0 µs\n"),
        "{text}"
    );
    assert!(text.contains("1.0 µs .. 2.0 µs") && text.contains("entry or return not seen"), "{text}");
    let mut out = vec![];
    table::latency_json("f", &log2, 7, 2, &mut out);
    let object: Json = serde_json::from_slice(&out).unwrap();
    assert_eq!(object["ranges"][0], json!({"from": 1025, "to": 2048, "count": 99}));
    assert_eq!((&object["calls"], &object["unmatched"], &object["sum"]), (&json!(100), &json!(2), &json!(7)));
}
