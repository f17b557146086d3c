//! Records as lines, JSON and a file for viewers.
use probeidx::query::trace::names::{Frame, Level, Namer};
use probeidx::query::trace::record::{Notice, Number, Numbers, Record, Value};
use probeidx::query::trace::shown::Shown;
use probeidx::query::trace::{Column, Copy, Event, Kind, Place};
use probeidx::render::trace::viewer::Viewer;
use probeidx::render::trace::{json, text};
use serde_json::{Value as Json, json};

/// Names of a kernel with one function.
#[derive(Default)]
struct Names(Option<Frame>, String);

const FUNCTION: u64 = 0xffff_ffff_8100_0000;
const TRAMPOLINE: u64 = FUNCTION + 0x4000;

impl Namer for Names {
    fn symbol(&mut self, address: u64) -> Option<&str> {
        if address == TRAMPOLINE {
            return Some("kretprobe_trampoline+0x0");
        }
        self.1 = format!("a_function+{:#x}", address.checked_sub(FUNCTION).filter(|d| *d < 0x100)?);
        Some(&self.1)
    }
    fn place(&mut self, address: u64) -> &Frame {
        self.frame(address)
    }

    fn frame(&mut self, address: u64) -> &Frame {
        let level = |function: &str, line| Level {
            function: function.to_owned(),
            line: Some(("fs/namei.c".to_owned(), line)),
        };
        let levels = vec![level("inner", 7), level("outer", 8)];
        self.0.insert(Frame { symbol: format!("outer+{:#x}", address - FUNCTION), levels })
    }
}

fn event(kind: Kind, subject: &str, shown: &[Shown]) -> Event {
    let column = |(nth, shown): (usize, &Shown)| Column {
        name: format!("v{nth}"),
        field: format!("v{nth}"),
        shown: shown.clone(),
    };
    Event {
        kind,
        group: "g".to_owned(),
        name: "e".to_owned(),
        subject: subject.to_owned(),
        copies: vec![Copy {
            definition: None,
            is_certain: true,
            place: Some(Place {
                anchor: ("_text".to_owned(), 5),
                module: None,
                address: 0x1234,
                run_time: None,
            }),
            inlined_into: vec!["caller".to_owned()],
            unreadable: vec![],
        }],
        columns: shown.iter().enumerate().map(|(nth, shown)| column((nth, shown))).collect(),
        filter: None,
    }
}

fn record<'a>(event: &'a Event, values: &'a [Value<'a>]) -> Record<'a> {
    let copy = event.copies.first();
    Record {
        time: 3_000_219_456,
        cpu: 1,
        pid: 42,
        comm: b"sh",
        event,
        copy,
        values,
        stack: &[],
        returns_to: None,
    }
}

fn number(bits: u64, size: u8, is_signed: bool) -> Value<'static> {
    Value::Number(Number::new(bits, size, is_signed))
}

fn flags() -> Shown {
    let named = [(0, "NONE"), (1, "A"), (4, "B"), (8, "C")].map(|(v, n)| (v, n.to_owned())).to_vec();
    Shown::Enumerators { named, are_bits: true }
}

fn sign() -> Shown {
    let named = [(-5, "NEGATIVE"), (0, "NONE"), (7, "POSITIVE")].map(|(v, n)| (v, n.to_owned())).to_vec();
    Shown::Enumerators { named, are_bits: false }
}

/// Each kind of value: how people see it, and what JSON has.
fn values() -> Vec<(Shown, Value<'static>, &'static str, Json)> {
    let three = Numbers { bytes: &[1, 0, 5, 0, 0x41, 0], size: 2, is_signed: false, is_big_endian: false };
    vec![
        (Shown::Signed, number(0xffff_fffe, 4, true), "-2", json!(-2)),
        (Shown::Unsigned, number(u64::MAX, 8, false), "18446744073709551615", json!(u64::MAX)),
        (Shown::Hexadecimal, number(0x400c0, 4, false), "0x400c0", json!(0x400c0)),
        (Shown::Boolean, number(1, 1, false), "true", json!(true)),
        (Shown::Boolean, number(7, 1, false), "7", json!(7)),
        (Shown::Character, number(10, 1, true), "'\\n'", json!(10)),
        (
            Shown::Text,
            Value::Text(b"a \"b\"\\\n\x1b[2J\xff\xe2\x80\xae"),
            "\"a \\\"b\\\"\\\\\\n\\x1b[2J\\xff\\u202e\"",
            json!("a \"b\"\\\n\u{1b}[2J\u{fffd}\u{202e}"),
        ),
        (flags(), number(0, 4, false), "NONE", json!(0)),
        (flags(), number(5, 4, false), "A|B", json!(5)),
        (flags(), number(0x4d, 4, false), "A|B|C|0x40", json!(0x4d)),
        (flags(), number(0x40, 4, false), "0x40", json!(0x40)),
        (sign(), number(0xffff_fffb, 4, false), "NEGATIVE", json!(0xffff_fffbu32)),
        (sign(), number(3, 4, true), "3", json!(3)),
        (Shown::Address, number(FUNCTION + 4, 8, false), "a_function+0x4", json!(FUNCTION + 4)),
        (Shown::Address, number(FUNCTION, 8, false), "a_function", json!(FUNCTION)),
        (
            Shown::Address,
            number(0xffff_8880_0000_1000, 8, false),
            "0xffff888000001000",
            json!(0xffff_8880_0000_1000u64),
        ),
        (Shown::Address, number(0, 8, false), "NULL", json!(0)),
        (Shown::Address, number(u64::MAX - 1, 8, false), "-ENOENT", json!(u64::MAX - 1)),
        (Shown::Result, number(u64::MAX - 511, 8, true), "-ERESTARTSYS", json!(-512)),
        (Shown::Result, number(0xffff_fff3, 4, true), "-EACCES", json!(-13)),
        (Shown::Result, number(4096, 8, true), "4096", json!(4096)),
        (Shown::Result, number(u64::MAX - 4095, 8, true), "-4096", json!(-4096)),
        (flags(), Value::Numbers(three), "{A, A|B, A|0x40}", json!([1, 5, 65])),
        (Shown::Unsigned, Value::Bytes(&[0xab, 1]), "ab01", json!("ab01")),
        (Shown::Text, Value::Unreadable, "(unreadable)", json!(null)),
    ]
}

#[test]
fn values_are_as_c_shows_them_and_numbers_in_json() {
    for (shown, value, seen, in_json) in values() {
        let event = event(Kind::Kprobe, "f", std::slice::from_ref(&shown));
        let values = [value];
        let record = record(&event, &values);
        let mut out = vec![];
        text::line(&record, &mut Names::default(), &mut out);
        let line = String::from_utf8(out).unwrap();
        assert_eq!(line, format!("    3.000219 [001] sh-42                  f in caller v0={seen}\n"));
        let mut out = vec![];
        json::line(&record, &mut Names::default(), &mut out);
        let object: Json = serde_json::from_slice(&out).unwrap();
        assert_eq!(object["args"]["v0"], in_json, "{seen}");
        // What people see is there where it is not the number itself.
        let number = in_json.to_string();
        let is_plain = number == seen || !in_json.is_number() && !in_json.is_array();
        let text = object.get("shown").map(|shown| shown["v0"].as_str().unwrap());
        assert_eq!(text, (!is_plain).then_some(seen), "{object}");
    }
}

#[test]
fn an_object_has_what_the_contract_has() {
    let event = event(Kind::Kretprobe, "vfs_read.return", &[Shown::Result]);
    let values = [number(u64::MAX - 1, 8, true)];
    let record = Record { stack: &[FUNCTION + 9], ..record(&event, &values) };
    let mut out = vec![];
    json::line(&record, &mut Names::default(), &mut out);
    let object: Json = serde_json::from_slice(&out).unwrap();
    let expected = json!({
        "time": 3.000219456, "cpu": 1, "pid": 42, "comm": "sh", "function": "vfs_read.return", "return": true,
        "copy": "caller", "address": "0x1234", "args": {"v0": -2}, "shown": {"v0": "-ENOENT"},
        "stack": [{"address": "0xffffffff81000009", "symbol": "outer+0x9", "functions": [
            {"function": "inner", "file": "fs/namei.c", "line": 7}, {"function": "outer", "file": "fs/namei.c", "line": 8}]}],
    });
    assert_eq!(object, expected);
    assert!(out.starts_with(b"{\"time\":3.000219456,"), "all digits are kept");
    out.clear();
    json::notice(&Notice::Lost { time: 5, cpu: 2, count: None }, &mut out);
    assert_eq!(out, b"{\"lost\":null,\"time\":0.000000005,\"cpu\":2}\n");
}

#[test]
fn frames_have_the_functions_that_are_inlined_there() {
    let event = event(Kind::Kprobe, "f", &[]);
    let record = Record { comm: b"\x1b[2Jx", stack: &[FUNCTION + 9], ..record(&event, &[]) };
    let mut out = vec![];
    text::line(&record, &mut Names::default(), &mut out);
    let lines = String::from_utf8(out).unwrap();
    let frame = "    outer+0x9  inner at fs/namei.c:7 inlined into outer at fs/namei.c:8\n";
    assert_eq!(lines, format!("    3.000219 [001] \\u{{1b}}[2Jx-42          f in caller\n{frame}"));
    let mut out = vec![];
    text::notice(&Notice::Lost { time: 3_000_219_456, cpu: 0, count: Some(1) }, &mut out);
    let line = String::from_utf8(out).unwrap();
    assert_eq!(line, "    3.000219 [000] 1 event lost: the kernel overwrote them before they were read\n");
}

/// What calls an fprobe on arm64 is on the stack before the function that it is in.
#[test]
fn a_stack_starts_where_the_probe_is() {
    let mut event = event(Kind::Kprobe, "f", &[]);
    let frames = |event: &Event, stack: &[u64]| {
        let mut seen = vec![];
        Record { stack, ..record(event, &[]) }
            .frames(&mut Names::default(), &mut |address, _| seen.push(address));
        seen
    };
    let [handler, caller, own, outer] = [0x5000, 0x6000, 0x108, 0x7000].map(|at| FUNCTION + at);
    let whole = [handler, caller, own, outer];
    assert_eq!(frames(&event, &whole), whole, "where the probe is, is not known");
    event.copies[0].place.as_mut().unwrap().run_time = Some(FUNCTION + 0x100);
    assert_eq!(frames(&event, &whole), [own, outer]);
    assert_eq!(frames(&event, &whole[2..]), [own, outer]);
    // A return probe's function is not on the stack any more.
    assert_eq!(frames(&event, &[handler, outer]), [handler, outer]);
}

#[test]
fn the_stack_of_a_return_starts_in_the_caller() {
    let mut event = event(Kind::Kretprobe, "f", &[]);
    event.copies[0].place.as_mut().unwrap().run_time = Some(FUNCTION + 0x100);
    let [handler, caller, outer] = [0x5000, 0x108, 0x7000].map(|at| FUNCTION + at);
    let frames = |stack: &[u64]| {
        let mut seen = vec![];
        Record { stack, returns_to: Some(caller), ..record(&event, &[]) }
            .frames(&mut Names::default(), &mut |address, _| seen.push(address));
        seen
    };
    assert_eq!(frames(&[caller, outer]), [caller, outer]);
    assert_eq!(frames(&[handler, caller, outer]), [caller, outer]);
    // The unwinder of 5.10 ends at the trampoline, and those of others may go on behind it.
    assert_eq!(frames(&[TRAMPOLINE]), [caller]);
    assert_eq!(frames(&[TRAMPOLINE, outer]), [caller, outer]);
    assert!(frames(&[]).is_empty(), "no stack was asked for");
}

/// Entry and return of one function, another function, and something lost.
fn viewed(end: bool) -> Vec<u8> {
    let events = [
        event(Kind::Kprobe, "f", &[Shown::Unsigned]),
        event(Kind::Kretprobe, "f.return", &[Shown::Result]),
        event(Kind::Kprobe, "g", &[]),
    ];
    let (mut viewer, mut out) = (Viewer::new(vec![Some(0), Some(0), None]), vec![]);
    let mut happens = |position: usize, time: u64, value: u64, out: &mut Vec<u8>| {
        let values = [number(value, 4, position == 1)];
        let values = &values[..events[position].columns.len()];
        let record = Record { time, ..record(&events[position], values) };
        viewer.event(position, &record, &mut Names::default(), out);
    };
    happens(0, 1_000_000, 11, &mut out);
    happens(0, 1_001_000, 12, &mut out);
    happens(2, 1_001_500, 0, &mut out);
    happens(1, 1_002_250, 0xffff_fffe, &mut out);
    happens(1, 1_003_000, 5, &mut out);
    happens(1, 1_004_000, 6, &mut out);
    happens(0, 1_005_000, 13, &mut out);
    if end {
        viewer.finish(&mut out);
    }
    out
}

#[test]
fn calls_are_durations_and_the_rest_are_instants() {
    let all: Json = serde_json::from_slice(&viewed(true)).unwrap();
    let all = all.as_array().unwrap();
    let brief: Vec<String> = all
        .iter()
        .map(|e| format!("{} {} {} {}", e["ph"], e["name"], e["ts"], e["dur"]).replace('"', ""))
        .collect();
    let expected = [
        "M thread_name null null",
        "i g in caller 1001.5 null",
        "X f in caller 1001.0 1.25",
        "X f in caller 1000.0 3.0",
        "i f.return in caller 1004.0 null",
        "i f in caller 1005.0 null",
    ];
    assert_eq!(brief, expected);
    assert_eq!(all[0]["args"]["name"], "sh");
    assert_eq!(all[2]["args"]["values"], json!({"v0": 12}));
    assert_eq!(all[2]["args"]["returned"], json!({"values": {"v0": -2}, "shown": {"v0": "-ENOENT"}}));
    assert!(all.iter().all(|e| e["pid"] == 42 && e["tid"] == 42));
}

#[test]
fn a_file_that_was_cut_off_lacks_its_end_alone() {
    let mut out = viewed(false);
    out.extend_from_slice(b"]");
    assert!(serde_json::from_slice::<Json>(&out).is_ok());
    let (mut viewer, mut empty) = (Viewer::new(vec![]), vec![]);
    viewer.finish(&mut empty);
    assert_eq!(serde_json::from_slice::<Json>(&empty).unwrap(), json!([]));
}

#[test]
fn after_a_loss_no_call_is_known_to_be_open() {
    let events = [event(Kind::Kprobe, "f", &[]), event(Kind::Kretprobe, "f.return", &[])];
    let (mut viewer, mut out) = (Viewer::new(vec![Some(0), Some(0)]), vec![]);
    viewer.event(0, &record(&events[0], &[]), &mut Names::default(), &mut out);
    viewer.notice(&Notice::Lost { time: 4_000_000_000, cpu: 3, count: Some(7) }, &mut out);
    viewer.event(1, &record(&events[1], &[]), &mut Names::default(), &mut out);
    viewer.finish(&mut out);
    let all: Json = serde_json::from_slice(&out).unwrap();
    let phases: Vec<&str> = all.as_array().unwrap().iter().map(|e| e["ph"].as_str().unwrap()).collect();
    assert_eq!(phases, ["M", "i", "i"]);
}
