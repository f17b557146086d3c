//! What is written for the kernel where a probe is possible, what is said where it is not: anchors, coverage, definitions
//! for tracefs, the blacklist.
use super::verdicts::{NEWER, OLDER, WITHOUT_RULES};
use crate::support::program::run_in;
use crate::support::tables::{OLD, text};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Name, section and value of the symbols of vmlinux (`false`) or the module, in the words of nm.
fn symbols(of_module: bool) -> Vec<(String, String, u64)> {
    let path = if of_module { OLD.module(&OLDER.tree) } else { OLD.vmlinux(&OLDER.tree) };
    let out = Command::new("nm").args(["--format=sysv", "--defined-only"]).arg(path).output().unwrap();
    let line = |line: &str| {
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        let &[name, value, .., section] = &columns[..] else { return None };
        Some((name.to_owned(), section.to_owned(), u64::from_str_radix(value, 16).ok()?))
    };
    String::from_utf8(out.stdout).unwrap().lines().filter_map(line).collect()
}

fn address(place: &Value) -> u64 {
    u64::from_str_radix(text(place, "address").trim_start_matches("0x"), 16).unwrap()
}

/// Every anchor leads to one address: that of its place, or of the instruction behind `endbr64`.
#[test]
fn anchors_are_unique_over_kernel_and_module() {
    let of_kernel = symbols(false);
    let of_module = symbols(true);
    let mut known: BTreeMap<(bool, String, u64), String> = BTreeMap::new();
    let mut lost = vec![];
    for place in OLDER.json(&["find", "*"]) {
        let anchor = &place["anchor"];
        if anchor.is_null() {
            lost.push(text(&place, "function").to_owned());
            continue;
        }
        let is_module = place["module"].is_string();
        assert_eq!(anchor["module"], place["module"], "{place}");
        let symbols = if is_module { &of_module } else { &of_kernel };
        let named: Vec<_> = symbols.iter().filter(|s| s.0 == text(anchor, "symbol")).collect();
        let [(_, section, value)] = &named[..] else { panic!("{named:?}: {place}") };
        let lands = place["lands"].as_str().map_or(address(&place), |lands| {
            u64::from_str_radix(lands.trim_start_matches("0x"), 16).unwrap()
        });
        assert_eq!(value + anchor["offset"].as_u64().unwrap(), lands, "{place}");
        assert!(!is_module || section == text(&place, "section"), "{place}");
        let key = (is_module, text(&place, "section").to_owned(), lands);
        let written = anchor.to_string();
        let other = known.insert(key, written.clone());
        assert!(other.is_none_or(|other| other == written), "{place}");
    }
    let distinct: BTreeSet<_> = known.values().collect();
    assert_eq!(distinct.len(), known.len(), "an address has one anchor, and an anchor one address");
    // No name leads there that the kernel finds once only; and a function that no symbol has.
    lost.sort();
    assert_eq!(lost, ["also_again", "hidden"]);
    // A function whose name stands twice leans on the one before it.
    assert_eq!(text(&OLDER.place("places:again")["anchor"], "symbol"), "module_blocked");
    assert_eq!(OLDER.place("behind_again")["anchor"]["offset"], 0);
    // Init code of modules has names while it is loaded, and only then.
    let init = OLDER.place("init_module");
    assert_eq!(init["anchor"], json!({"module": "places", "symbol": "init_module", "offset": 0}));
    assert_eq!((&init["symbol"], text(&init["attach"], "kprobe")), (&Value::Null, "init-text"));
}

#[test]
fn names_that_collide() {
    let both = OLDER.json(&["resolve", "plain"]);
    let [kernel, module] = &both[..] else { panic!("{both:?}") };
    assert_eq!((&kernel["symbol_unique"], &kernel["collides_with"]), (&json!(false), &json!(["places"])));
    assert_eq!((&module["symbol_unique"], module.get("collides_with")), (&json!(false), None));
    assert_eq!(OLDER.place("untraced")["symbol_unique"], true);
}

#[test]
fn coverage_is_counted_by_reason() {
    let of = |function: &str| OLDER.json(&["resolve", function])[0]["coverage"].clone();
    let none = json!({"instances": 0, "reachable": 0});
    assert_eq!(
        of("in_all"),
        json!({"instances": 3, "reachable": 2, "callers": 3, "out_of_line": none,
            "inline": {"instances": 3, "reachable": 2, "refused": {"noinstr": 1}},
            "by": {"kprobe": 2, "kprobe_events": 1, "kretprobe": 0, "ftrace": 0, "trampoline": 0, "fentry": 0}})
    );
    assert_eq!(
        of("also_in_init"),
        json!({"instances": 1, "reachable": 1, "callers": 1, "out_of_line": none,
            "inline": {"instances": 1, "reachable": 1}, "left_out": {"init-text": 1},
            "by": {"kprobe": 1, "kprobe_events": 1, "kretprobe": 0, "ftrace": 0, "trampoline": 0, "fentry": 0}})
    );
    // A copy within a copy is passed with it, and two copies at one address are probed at once.
    for function in ["nested", "shared"] {
        let places = OLDER.json(&["resolve", function]);
        assert_eq!(places.len(), 2, "{places:?}");
        assert_eq!(places[0]["coverage"]["instances"], 1, "{function}");
        assert_eq!(places[0]["coverage"]["callers"], 1, "{function}");
    }
    assert_eq!(of("inlined")["inline"], json!({"instances": 3, "reachable": 3}));
    assert_eq!(of("inlined")["callers"], 2);
    assert_eq!(of("overridden@kernel.c")["left_out"], json!({"dead-code": 1}));
    assert_eq!(
        of("untraced_caller")["by"],
        json!({"kprobe": 1, "kprobe_events": 0, "kretprobe": 0, "ftrace": 0, "trampoline": 0, "fentry": 0})
    );
}

#[test]
fn coverage_in_words() {
    for (function, words) in [
        (
            "in_all",
            "inline: 3 sites in 3 callers, 2 reachable, 1 in a noinstr function; kprobe_events: 1 of 3",
        ),
        ("also_in_init", "inline: 1 site in 1 caller, 1 reachable; left out: 1 in init code"),
        ("on_jump_label", "inline: 2 sites in 2 callers, 0 reachable, 2 on a jump label"),
        ("overridden@kernel.c", "no address once the kernel runs; left out: 1 in code that nothing leads to"),
        ("untraced", "out of line: 1 of 1; kprobe_events: 0 of 1"),
        ("blocked", "out of line: 0 of 1, in a NOKPROBE function"),
        ("in_exit", "no address once the kernel runs; left out: 1 in exit code"),
    ] {
        let out = OLDER.run(&["resolve", function]).found();
        assert_eq!(out.lines().nth(1), Some(format!("  {words}").as_str()), "{out}");
    }
}

/// What `find` lists is one line for each function: where that is not all of it, stderr says so.
#[test]
fn find_tells_of_what_a_probe_on_the_name_would_miss() {
    let say = |arguments: &[&str]| {
        let mut line = vec!["find"];
        line.extend(arguments);
        let run = OLDER.run(&line);
        assert_eq!(run.code, 0, "{run:?}");
        run.err
    };
    let note = say(&["in_all"]);
    let counts =
        "inline: 3 sites in 3 callers, 2 reachable, 1 in a noinstr function; kprobe_events: 1 of 3\n";
    assert!(
        note.starts_with("probeidx: in_all@./kernel.c:") && note.ends_with(&format!(", vmlinux: {counts}"))
    );
    assert!(say(&["untraced_caller"]).ends_with("vmlinux: out of line: 1 of 1; kprobe_events: 0 of 1\n"));
    assert!(
        say(&["module_inlined"])
            .contains(", places: inline: 1 site in 1 caller, 1 reachable; left out: 1 in")
    );
    for silent in [&["in_all", "-q"][..], &["traced_caller"], &["in_al*"], &["--each", "in_all"]] {
        assert_eq!(say(silent), "", "{silent:?}");
    }
    assert!(say(&["-v", "traced_caller"]).ends_with("vmlinux: out of line: 1 of 1\n"));
}

/// An event as the kernel takes it.
#[derive(Debug)]
struct Event<'a> {
    kind: &'a str,
    name: &'a str,
    anchor: &'a str,
}

fn events(text: &str) -> Vec<Event<'_>> {
    text.lines().filter(|l| !l.starts_with('#')).map(|l| parse(l).unwrap_or_else(|| panic!("{l}"))).collect()
}

fn parse(line: &str) -> Option<Event<'_>> {
    let (kind, rest) = line.split_once(":probeidx/")?;
    let (name, anchor) = rest.split_once(' ')?;
    Some(Event { kind, name, anchor })
}

#[test]
fn definitions_are_what_the_kernel_takes() {
    let out = OLDER.run(&["resolve", "*", "--format", "kprobe-events"]).found();
    let places = OLDER.json(&["resolve", "*"]);
    let mut own: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for event in events(&out) {
        assert_eq!(event.kind, "p");
        let is_legal = |b: u8| b.is_ascii_alphanumeric() || b == b'_';
        assert!(event.name.bytes().all(is_legal) && !event.name.as_bytes()[0].is_ascii_digit(), "{event:?}");
        assert!((1..64).contains(&event.name.len()), "{event:?}");
        assert!(own.entry(event.name).or_default().insert(event.anchor), "twice: {event:?}");
    }
    // One event for each function, at all its addresses that are reached.
    let mut expected: BTreeMap<(&str, &str, u64, &str), BTreeSet<&str>> = BTreeMap::new();
    for place in &places {
        let Some(definition) = place["definition"].as_str() else { continue };
        let of_symbol =
            if text(place, "file").is_empty() { place["module"].as_str().unwrap_or("") } else { "" };
        let function =
            (text(place, "function"), text(place, "file"), place["line"].as_u64().unwrap(), of_symbol);
        expected.entry(function).or_default().insert(parse(definition).unwrap().anchor);
    }
    let is_nested = expected.get_mut(&("nested", "", 0, "")).unwrap();
    assert_eq!(is_nested.len(), 2);
    is_nested.pop_last();
    let mut expected: Vec<_> = expected.into_values().collect();
    let mut found: Vec<_> = own.values().cloned().collect();
    expected.sort();
    found.sort();
    assert_eq!(found, expected);
    assert!(own.len() > 40, "{}", own.len());
    // Every place is there: defined, shared with another, or in a comment with the reason.
    let count = |start: &str| out.lines().filter(|l| l.starts_with(start)).count();
    let shared = count("#   at an address that is probed already");
    assert_eq!((count("p:") + shared + count("# not probed: "), shared), (places.len(), 1));
    for place in places.iter().filter(|p| p.get("definition").is_none() && p["symbol"].is_string()) {
        let symbol = format!(": {}+{:#x}", text(place, "symbol"), place["offset"].as_u64().unwrap());
        let reason = match text(&place["attach"], "kprobe_events") {
            "ok" => "no anchor",
            reason => reason,
        };
        let is_told = |l: &str| {
            let what = l.strip_prefix("# not probed: ");
            what.is_some_and(|w| w.contains(&symbol) && w.contains(&format!(": {reason}")))
        };
        assert!(out.lines().any(is_told), "{place}");
    }
}

/// Of functions that assembly defines, so that no compiler's version shows.
#[test]
fn definitions_as_text() {
    let mut shown = String::new();
    for spec in [
        "plain",
        "untraced",
        "with_endbr",
        "gone.constprop.0",
        "jump*",
        "nested",
        "shared",
        "twin",
        "blocked%return",
        "jumps_out%return",
        "__switch_to%return",
        "plain.cold%return",
        "module_untraced",
        "init_module",
    ] {
        let run = OLDER.run(&["resolve", spec, "--format", "kprobe-events"]);
        shown += &format!("$ resolve {spec}\n{}{}", run.out, run.err);
        assert_eq!(run.code, i32::from(events(&run.out).is_empty()), "{run:?}");
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.add_filter("build id [0-9a-f]{40}", "build id [id]");
    settings.bind(|| insta::assert_snapshot!("definitions", shown));
}

#[test]
fn return_probes_say_what_they_do() {
    let define = |spec: &str| OLDER.run(&["resolve", spec, "--format", "kprobe-events"]).found();
    let out = define("never_returns%return");
    assert!(out.contains("\n# never_returns does not return: a return probe never fires\n"), "{out}");
    let [event] = &events(&out)[..] else { panic!("{out}") };
    assert_eq!((event.kind, event.name), ("r", "never_returns__return"));
    assert!(!define("never_returns").contains("never fires"));
    let note = "some exits of jumps_out are jumps to other functions: a return probe fires when these return";
    assert!(define("jumps_out%return").contains(note) && !define("jumps_out").contains(note));
    assert!(!define("vmlinux:plain%return").contains("some exits"));
    let returns = |spec| OLDER.place(spec)["returns"].clone();
    assert_eq!(returns("never_returns%return"), json!({"never": true, "tail_calls": false}));
    assert_eq!(returns("jumps_out%return"), json!({"never": false, "tail_calls": true}));
    assert_eq!(returns("vmlinux:plain%return"), json!({"never": false, "tail_calls": false}));
    assert_eq!(returns("vmlinux:plain"), Value::Null);
    // Names are cut, and still tell functions apart; the suffix stays.
    let out = OLDER.run(&["resolve", "a_function_*%return", "--format", "kprobe-events"]).found();
    let found = events(&out);
    let names: BTreeSet<&str> = found.iter().map(|e| e.name).collect();
    assert_eq!((found.len(), names.len()), (2, 2), "{out}");
    assert!(names.iter().all(|n| n.len() == 63), "{names:?}");
}

#[test]
fn what_is_possible_instead() {
    let instead = |spec: &str| OLDER.place(spec)["instead"].clone();
    // The nearest instruction, before or behind.
    for (spec, offset) in [
        ("jump_labels+5", 0),
        ("jump_labels+9", 12),
        ("static_calls+5", 10),
        ("bugs+10", 7),
        ("alternatives+8", 5),
        ("unsupported+14", 9),
        ("traps+9", 10),
        ("vmlinux:plain+9", 8),
    ] {
        let found = instead(spec);
        let function = spec.trim_start_matches("vmlinux:").split('+').next().unwrap();
        assert_eq!((text(&found, "symbol"), &found["offset"]), (function, &json!(offset)), "{spec}");
        assert_eq!(found["readable"], json!([]), "{spec}");
        let there = format!("{function}+{offset}@vmlinux");
        let there = OLDER.place(&format!("vmlinux:{}", there.trim_end_matches("@vmlinux")));
        assert_eq!((&found["address"], &found["anchor"]), (&there["address"], &there["anchor"]), "{spec}");
        assert_eq!(text(&there["attach"], "kprobe"), "ok", "{spec}");
    }
    // In an inlined copy behind its entry, with what can be read there.
    for place in OLDER.json(&["resolve", "on_jump_label"]) {
        let found = &place["instead"];
        let behind = u64::from_str_radix(&text(found, "address")[2..], 16).unwrap();
        assert_eq!((behind, &found["readable"]), (address(&place) + 5, &json!(["value"])), "{place}");
    }
    // Or another mechanism, or returns of a function.
    assert_eq!(instead("untraced"), json!({"mechanism": "kprobe"}));
    assert_eq!(instead("blocked"), json!({"mechanism": "ftrace"}));
    assert_eq!(instead("__switch_to%return"), json!({"mechanism": "ftrace"}));
    assert_eq!(instead("plain.cold%return"), json!({"return_of": "plain"}));
    assert_eq!(instead("gone.constprop.0.cold"), json!({"mechanism": "kprobe"}));
    assert_eq!(instead("init_module"), json!({"mechanism": "before-loading"}));
    for nothing in ["vmlinux:plain", "in_noinstr", "blocked+5", "in_init", "__switch_to"] {
        assert_eq!(instead(nothing), Value::Null, "{nothing}");
    }
    let out = OLDER.run(&["resolve", "untraced"]).found();
    assert!(out.contains("\n    instead: register_kprobe takes it (SystemTap)\n"), "{out}");
    let out = OLDER.run(&["resolve", "jump_labels+9"]).found();
    assert!(out.contains("\n    instead: nearest is jump_labels+0xc (0x"), "{out}");
}

/// A line of the list: start, end, symbol, module, source.
type Refused = (u64, u64, String, Option<String>, String);

fn blacklist(arguments: &[&str]) -> Vec<Refused> {
    let mut line = vec!["--json", "blacklist"];
    line.extend(arguments);
    let run = OLDER.run(&line);
    assert_eq!(run.code, 0, "{run:?}");
    let hex = |value: &Value, field| u64::from_str_radix(&text(value, field)[2..], 16).unwrap();
    let of = |l: &str| {
        let v: Value = serde_json::from_str(l).unwrap();
        assert_eq!((text(&v, "kernel"), v.as_object().unwrap().len()), ("6.1.0-old", 8));
        let reason = match text(&v, "source") {
            "NOKPROBE_SYMBOL" => "blacklist",
            ".kprobes.text" => "kprobes-text",
            ".noinstr.text" => "noinstr",
            _ => "entry-text",
        };
        assert_eq!(text(&v, "reason"), reason);
        let module = v["module"].as_str().map(str::to_owned);
        let [name, source] = ["name", "source"].map(|field| text(&v, field).to_owned());
        (hex(&v, "start"), hex(&v, "end"), name, module, source)
    };
    run.out.lines().map(of).collect()
}

#[test]
fn the_blacklist() {
    let starts: BTreeSet<u64> = symbols(false).iter().map(|s| s.2).collect();
    let list = blacklist(&[]);
    let names: Vec<(&str, &str)> = list.iter().map(|r| (r.2.as_str(), r.4.as_str())).collect();
    let expected = [
        ("blocked", "NOKPROBE_SYMBOL"),
        ("in_kprobes_text", ".kprobes.text"),
        ("also_in_kprobes_text", ".kprobes.text"),
        ("in_noinstr", ".noinstr.text"),
        ("noinstr_caller", ".noinstr.text"),
        ("in_entry", ".entry.text"),
    ];
    assert_eq!(names, expected);
    for (start, end, name, module, _) in &list {
        // From the symbol to the next one.
        assert_eq!(starts.range(start + 1..).next(), Some(end), "{name}");
        assert!(starts.contains(start) && module.is_none(), "{name}");
    }
    let module = blacklist(&["places"]);
    let names: Vec<(&str, u64)> = module.iter().map(|r| (r.2.as_str(), r.0)).collect();
    assert_eq!(names[1..], [("module_kprobes", 0), ("module_noinstr", 0)], "offsets in their sections");
    assert_eq!((names[0].0, module[0].4.as_str()), ("module_blocked", "NOKPROBE_SYMBOL"));
    assert!(module.iter().all(|r| r.3.as_deref() == Some("places")));
    assert_eq!(blacklist(&["--all"]), [list, module].concat());
    // As the kernel prints it, with the source behind.
    let run = OLDER.run(&["blacklist"]);
    let (start, end, name, ..) = &blacklist(&[])[0];
    assert_eq!(run.out.lines().next().unwrap(), format!("{start:#x}-{end:#x}\t{name}\tNOKPROBE_SYMBOL"));
    assert_eq!(run.err, "probeidx: modules add to it once they are loaded: places\n");
    let run = OLDER.run(&["blacklist", "places"]);
    assert!(
        run.out.contains("\tmodule_blocked [places]\tNOKPROBE_SYMBOL\n") && run.err.is_empty(),
        "{run:?}"
    );
}

#[test]
fn the_blacklist_of_what_is_not_there() {
    OLDER.run(&["blacklist", "nosuch"]).refused(1, "probeidx: module nosuch is not indexed");
    let empty = tempfile::tempdir().unwrap();
    let run = run_in(empty.path(), ["blacklist"]);
    assert_eq!((run.code, run.out.as_str()), (3, ""), "{run:?}");
    // A table that could not be read may have held more.
    let tree = OLDER.tree.copy();
    let path = OLD.vmlinux(&tree);
    let mut image = crate::support::image::Image::read(&path);
    image.lose_symbol("__start_kprobe_blacklist");
    image.write(&path);
    let (indexed, _) = crate::support::tables::try_index(tree);
    let run = indexed.run(&["blacklist"]);
    assert_eq!((run.code, run.out.lines().count()), (0, 5), "{run:?}");
    assert!(run.err.contains("a table could not be read, and the list may lack something"), "{run:?}");
}

#[test]
fn places_that_are_none() {
    for (spec, code, said) in [
        (
            "vmlinux:plain+13",
            1,
            "error: offset 0xd lies beyond the function, which has 0xd bytes; the address is plain+0xd",
        ),
        ("in_init+0x1000", 1, "error: offset 0x1000 lies beyond the function, which has 0x6 bytes"),
        ("plain+", 2, "error: column 7: expected a digit"),
        ("inlined%return", 1, "inlined is only inlined, at 3 places; see: probeidx resolve inlined"),
        ("nosuch:plain", 1, "module nosuch is not indexed"),
        ("module(\"place\").function(\"plain\")", 1, "module place is not indexed; did you mean places?"),
        ("gone", 1, "no function gone; did you mean gone.constprop.0?"),
    ] {
        for format in ["text", "kprobe-events"] {
            OLDER.run(&["resolve", spec, "--format", format]).refused(code, &format!("probeidx: {said}"));
        }
    }
    // What has only a clone was there in each kernel that has one.
    let history = OLDER.run(&["history", "gone"]);
    assert!(history.out.contains("\n  symbols       gone.constprop.0   6.1.0-old\n"), "{history:?}");
    // Within an instruction, or in code that is gone, there is an answer: why not, and what else.
    let within = OLDER.place("vmlinux:plain+9");
    assert_eq!(text(&within["attach"], "kprobe"), "not-boundary");
    for gone in ["replacement+1", "in_init+5", "in_exit+3"] {
        let place = OLDER.place(gone);
        assert_eq!((&place["coverage"]["instances"], place.get("definition")), (&json!(0), None), "{gone}");
    }
    let run = NEWER.run(&["resolve", "in_noinstr", "--format", "kprobe-events"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert_eq!(run.err, "probeidx: kprobe_events take none of the places; see: probeidx resolve\n");
    assert!(run.out.contains("# not probed: out of line: in_noinstr+0x0: noinstr\n"), "{run:?}");
}

/// Without a configuration and without the function that betrays it, the rule is not there.
#[test]
fn definitions_follow_the_rules_of_the_kernel() {
    let out = WITHOUT_RULES.run(&["resolve", "untraced", "--format", "kprobe-events"]).found();
    assert_eq!(events(&out).len(), 1, "{out}");
}
