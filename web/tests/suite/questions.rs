//! Answers are those of `serve`, and a search finds what is there.
use super::support::{HOSTILE, INDEX, MARKUP, Program, RELEASE};
use serde_json::json;

#[test]
fn answers_are_items_and_an_end() {
    let program = Program::start(INDEX.path());
    let answer = program.get(&format!("/api/resolve?kernel={RELEASE}&spec=submit"));
    assert!(answer.head.contains("Content-Type: application/x-ndjson"));
    let item = &answer.items()[0];
    assert_eq!((&item["function"], &item["kernel"]), (&json!("submit"), &json!(RELEASE)));
    let count = answer.items().len();
    assert_eq!(answer.lines().last().unwrap()["done"], json!({"code": 0, "end": "complete", "items": count}));
    let text = program.get("/api/resolve?spec=submit&format=kprobe-events&json=false");
    assert!(
        text.items().iter().any(|line| line.as_str().unwrap().starts_with("p:probeidx/submit")),
        "{text:?}"
    );
    let limited = program.get("/api/find?patterns=*&limit=1");
    assert_eq!(limited.lines().last().unwrap()["done"]["end"], "truncated");
    let absent = program.get("/api/resolve?spec=submitt");
    assert_eq!(absent.lines().last().unwrap()["error"]["kind"], "no-match");
    let gone = program.get("/api/resolve?kernel=9.9&spec=submit");
    assert!(gone.lines().last().unwrap()["error"]["message"].as_str().unwrap().contains("9.9"));
}

#[test]
fn pasted_text_is_checked_and_decoded() {
    let program = Program::start(INDEX.path());
    let checked =
        program.ask("POST /api/check?kernel=*", "", b"#!/usr/bin/bpftrace\nkprobe:no_such_thing { }");
    let findings = checked.items().iter().filter_map(|item| item["findings"].as_array()).flatten().count();
    assert_eq!(findings, 1, "{checked:?}");
    let size = program.get("/api/addr?addresses=submit%2B0x1").items()[0]["size"].as_u64().unwrap();
    let log = format!("Call Trace:\n submit+0x1/{size:#x}\n");
    let decoded = program.ask("POST /api/decode", "", log.as_bytes()).items();
    assert_eq!(decoded.first().map(|item| &item["log_line"]), Some(&json!(2)), "{decoded:?}");
    assert_eq!(decoded[0]["symbol"], "submit");
}

#[test]
fn a_search_finds_names_of_every_kind() {
    let program = Program::start(INDEX.path());
    let found = |typed: &str| {
        let answer = program.get(&format!("/api/search?q={typed}"));
        let named = |item: &serde_json::Value| {
            assert_eq!(item["kernels"], json!([RELEASE]));
            format!("{} {}", item["kind"].as_str().unwrap(), item["name"].as_str().unwrap())
        };
        answer.items().iter().map(named).collect::<Vec<_>>()
    };
    assert_eq!(found("submit")[0], "function submit");
    assert!(found("ubmi").contains(&"function submit".to_owned()), "inside of a name");
    assert!(found("subm*t").contains(&"function submit".to_owned()), "a pattern");
    assert!(found("6.1").contains(&format!("kernel {RELEASE}")));
    assert_eq!(found("submit%2B0x2"), ["address submit+0x2"]);
    assert!(found("nowhere%2B0x2").is_empty());
    assert_eq!(found("0xffffffff81000000"), ["address 0xffffffff81000000"]);
    assert!(found("core.c").iter().any(|name| name.starts_with("file ")), "{:?}", found("core.c"));
    let types = found("struct+");
    assert!(types.is_empty(), "a word alone is no name: {types:?}");
    assert!(found("no+such+name").is_empty());
    assert_eq!(program.get("/api/search").status, 400);
}

#[test]
fn a_damaged_or_missing_index_says_so_and_others_are_searched() {
    let db = tempfile::tempdir().unwrap();
    let whole = INDEX.path().join(format!("{RELEASE}.pidx"));
    std::fs::copy(&whole, db.path().join(format!("{RELEASE}.pidx"))).unwrap();
    std::fs::write(db.path().join("broken.pidx"), b"no index").unwrap();
    let program = Program::start(db.path());
    let answer = program.get("/api/search?q=submit");
    assert_eq!(answer.items()[0]["name"], "submit");
    let note = answer.lines().iter().find_map(|line| line["note"].as_str().map(str::to_owned));
    assert!(note.is_some_and(|note| note.contains("broken")), "{answer:?}");
    std::fs::remove_file(db.path().join(format!("{RELEASE}.pidx"))).unwrap();
    let gone = program.get(&format!("/api/resolve?kernel={RELEASE}&spec=submit"));
    assert_eq!(gone.lines().last().unwrap()["error"]["kind"], "no-index", "{gone:?}");
}

#[test]
fn names_that_are_markup_are_json_and_nothing_else() {
    let program = Program::start(HOSTILE.path());
    let answer = program.get("/api/search?q=document");
    let names: Vec<String> =
        answer.items().iter().map(|item| item["name"].as_str().unwrap().to_owned()).collect();
    assert!(names.iter().any(|name| name == MARKUP[0]), "{names:?}");
    assert!(names.iter().any(|name| *name == format!("struct {}", MARKUP[1])), "{names:?}");
    for part in [&answer.head, program.get("/?q=%3Cscript%3E").text()] {
        assert!(!part.contains(MARKUP[0]) && !part.contains("<script>"), "{part}");
    }
    assert!(answer.head.contains("nosniff"));
}

#[test]
fn placements_in_brief_are_those_of_resolve() {
    let program = Program::start(INDEX.path());
    for spec in ["do_open", "clamp_value", "*", "submit%2B4"] {
        let mut brief = vec![];
        for group in program.get(&format!("/api/copies?kernel={RELEASE}&spec={spec}")).items() {
            for row in group["placements"].as_array().unwrap() {
                let name = |at: usize| group["names"][row[at].as_u64().unwrap() as usize].clone();
                let outer = |at: usize| row[6][at].as_u64().map(|at| group["names"][at as usize].clone());
                brief.push(json!([
                    group["function"],
                    group["file"],
                    group["line"],
                    name(0),
                    row[1],
                    name(2),
                    row[3],
                    row[4],
                    name(5),
                    outer(0)
                ]));
                assert!(group["coverage"]["by"]["kprobe"].is_u64(), "{group}");
            }
        }
        let whole = program.get(&format!("/api/resolve?kernel={RELEASE}&spec={spec}")).items();
        let whole = whole.iter().map(|item| {
            let outer = item["inlined_into"].as_array().unwrap().last().map(|call| call["function"].clone());
            let inline = u8::from(item["instance"] == "inline");
            json!([
                item["function"],
                item["file"],
                item["line"],
                item["section"],
                item["address"],
                item["symbol"],
                item["offset"],
                inline,
                item["attach"]["kprobe"],
                outer
            ])
        });
        assert_eq!(brief, whole.collect::<Vec<_>>(), "{spec}");
        assert!(!brief.is_empty(), "{spec}");
    }
    assert_eq!(program.get("/api/copies?spec=submit").status, 400);
    let absent = program.get(&format!("/api/copies?kernel={RELEASE}&spec=submitt"));
    assert_eq!(absent.lines().last().unwrap()["done"]["code"], 1);
}

#[test]
fn the_kind_of_a_script_is_guessed() {
    let program = Program::start(INDEX.path());
    let kind = |text: &str| program.ask("POST /api/kind", "", text.as_bytes()).items()[0]["kind"].clone();
    assert_eq!(kind("kprobe:submit { @ = count(); }"), "bpftrace");
    assert_eq!(kind("probe kernel.function(\"submit\") { }"), "systemtap");
    assert_eq!(program.get("/api/kind").status, 405);
}
