//! What `find --json` and `resolve` say of each place, compared with what nm and the source say.
use crate::support::fixture::RELEASE;
use crate::support::program::{KERNEL, declared, json, probeidx, source};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// A symbol, as nm has it.
struct Symbol {
    /// Empty for vmlinux.
    module: &'static str,
    name: String,
    section: String,
    value: u64,
}

/// All defined symbols of the kernel and its modules once they are loaded, in the words of nm.
fn symbols() -> Vec<Symbol> {
    // A module's kernel keeps no symbols of what is gone once it is loaded.
    let is_gone = |s: &Symbol| !s.module.is_empty() && s.section.starts_with(".init");
    symbols_while_loading().into_iter().filter(|s| !is_gone(s)).collect()
}

fn symbols_while_loading() -> Vec<Symbol> {
    let tree = &KERNEL.tree;
    let modules = [("alpha_mod", "alpha-mod"), ("beta", "beta"), ("gamma_mod", "gamma-mod")];
    let mut files = vec![("", tree.vmlinux())];
    files.extend(modules.map(|(name, file)| (name, tree.module(file))));
    let mut found = vec![];
    for (module, file) in files {
        let out = Command::new("nm").args(["--format=sysv", "--defined-only"]).arg(&file).output().unwrap();
        assert!(out.status.success());
        for line in String::from_utf8(out.stdout).unwrap().lines() {
            let columns: Vec<&str> = line.split('|').map(str::trim).collect();
            let &[name, value, .., section] = &columns[..] else { continue };
            if let Ok(value) = u64::from_str_radix(value, 16) {
                found.push(Symbol { module, name: name.to_owned(), section: section.to_owned(), value });
            }
        }
    }
    assert!(found.len() > 40, "{}", found.len());
    found
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_else(|| panic!("{field}: {value}"))
}

fn number(value: &Value, field: &str) -> u64 {
    value[field].as_u64().unwrap_or_else(|| panic!("{field}: {value}"))
}

fn module(place: &Value) -> &str {
    place["module"].as_str().unwrap_or("")
}

fn address(place: &Value) -> u64 {
    let hex = text(place, "address").strip_prefix("0x").expect("hexadecimal");
    u64::from_str_radix(hex, 16).unwrap()
}

fn all() -> Vec<Value> {
    json(&["find", "*", "--locals"])
}

/// The one place of a function.
#[track_caller]
fn only(arguments: &[&str]) -> Value {
    let mut places = json(arguments);
    assert_eq!(places.len(), 1, "{places:#?}");
    places.remove(0)
}

#[test]
fn every_line_has_the_fields_of_the_contract() {
    let fields = "kernel module probe function file line instance section address inlined_into symbol offset \
                  symbol_unique anchor attach by_name coverage vars rests_on";
    let mut known = BTreeSet::new();
    for place in all() {
        assert!(known.insert(place.to_string()), "twice: {place}");
        let keys: BTreeSet<&str> = place.as_object().unwrap().keys().map(String::as_str).collect();
        let mut expected: BTreeSet<&str> = fields.split_whitespace().collect();
        let others = ["collides_with", "lands", "instead", "definition"];
        expected.extend(others.iter().filter(|o| keys.contains(**o)));
        assert_eq!(keys, expected, "{place}");
        assert_eq!(place["kernel"], RELEASE);
        let start = match &place["module"] {
            Value::Null => "kernel.function(\"".to_owned(),
            name => format!("module(\"{}\").function(\"", name.as_str().unwrap()),
        };
        let (function, file) = (text(&place, "function"), text(&place, "file"));
        let declared = match number(&place, "line") {
            0 => function.to_owned(),
            line => format!("{function}@{file}:{line}"),
        };
        assert_eq!(text(&place, "probe"), format!("{start}{declared}\")"));
        let calls = place["inlined_into"].as_array().unwrap();
        match text(&place, "instance") {
            "inline" => assert!(!calls.is_empty(), "{place}"),
            "out-of-line" => assert!(calls.is_empty(), "{place}"),
            other => panic!("{other}"),
        }
        for call in calls {
            assert!(!text(call, "function").is_empty() && number(call, "line") > 0, "{place}");
        }
        assert!(text(&place, "section").starts_with('.'));
        assert!(place["symbol"].is_string() == place["offset"].is_u64(), "{place}");
        let attach = place["attach"].as_object().unwrap();
        assert_eq!(attach.len(), 6);
        for mechanism in ["kprobe", "kprobe_events", "kretprobe", "ftrace", "trampoline", "fentry"] {
            assert!(attach[mechanism].is_string(), "{place}");
        }
        for variable in place["vars"].as_array().unwrap() {
            assert!(["param", "local"].contains(&text(variable, "kind")));
            let states = ["readable", "constant", "elsewhere", "optimized-out", "unsupported"];
            let state = text(variable, "state");
            assert!(states.contains(&state) && !text(variable, "name").is_empty());
            let is_there = !["elsewhere", "optimized-out"].contains(&state);
            assert_eq!(variable["location"].is_string(), is_there, "{place}");
        }
    }
}

#[test]
fn the_name_to_attach_to_is_that_of_a_symbol_alone() {
    let all = symbols();
    let named = |name: &str| all.iter().filter(|s| s.name == name).count();
    let mut states = BTreeMap::<String, usize>::new();
    for place in json(&["find", "*"]) {
        let by = &place["by_name"];
        let (name, state) = (text(by, "name"), text(by, "state"));
        *states.entry(state.to_owned()).or_default() += 1;
        if place["instance"] != "out-of-line" {
            assert_eq!((name, state), (text(&place, "function"), "absent"), "{place}");
            continue;
        }
        // Init code of a module has no symbols once it is loaded.
        if place["symbol"].is_null() || place["offset"] != 0 {
            assert_eq!(state, "absent", "{place}");
            continue;
        }
        let at = (text(&place, "section"), u64::from_str_radix(&text(&place, "address")[2..], 16).unwrap());
        let module = place["module"].as_str().unwrap_or_default();
        let own = all.iter().filter(|s| s.module == module && (&*s.section, s.value) == at);
        assert!(own.clone().any(|s| s.name == name), "{place}");
        let expected = match (named(name), name == text(&place, "function")) {
            (1, true) => "ok",
            (1, false) => "renamed",
            _ => "ambiguous",
        };
        assert_eq!(state, expected, "{place}");
    }
    assert!(["ok", "ambiguous", "absent"].iter().all(|state| states.contains_key(*state)), "{states:?}");
}

#[test]
fn symbols_and_sections_are_those_of_nm() {
    let symbols = symbols();
    let mut held = 0;
    for place in all() {
        let Some(name) = place["symbol"].as_str() else {
            assert_eq!(
                (module(&place).is_empty(), text(&place, "section")),
                (false, ".init.text"),
                "{place}"
            );
            continue;
        };
        let (at, section) = (address(&place), text(&place, "section"));
        let own = |s: &&Symbol| s.module == module(&place) && s.section == section;
        let start = at - number(&place, "offset");
        assert!(symbols.iter().filter(own).any(|s| s.name == name && s.value == start), "{place}");
        let nearer = symbols.iter().filter(own).find(|s| s.value > start && s.value <= at);
        assert!(nearer.is_none(), "{} is nearer: {place}", nearer.unwrap().name);
        held += 1;
    }
    assert!(held > 40, "{held}");
}

#[test]
fn a_name_is_unique_or_it_is_said_what_it_collides_with() {
    let symbols = symbols();
    for place in all() {
        let Some(name) = place["symbol"].as_str() else { continue };
        let named = || symbols.iter().filter(|s| s.name == name);
        assert_eq!(place["symbol_unique"], named().count() == 1, "{place}");
        let own = named().filter(|s| s.module == module(&place)).count();
        let others: BTreeSet<&str> = named().map(|s| s.module).filter(|m| *m != module(&place)).collect();
        let expected: Vec<&str> =
            if own == 1 && !others.contains("") { others.into_iter().collect() } else { vec![] };
        let said: Vec<&str> = match place.get("collides_with") {
            Some(list) => list.as_array().unwrap().iter().map(|m| m.as_str().unwrap()).collect(),
            None => vec![],
        };
        assert_eq!(said, expected, "{place}");
    }
    let twin = json(&["find", "twin"]);
    assert!(twin.iter().all(|t| t["symbol_unique"] == false && t.get("collides_with").is_none()), "{twin:?}");
    let submit = only(&["find", "vmlinux:submit"]);
    assert_eq!((&submit["symbol_unique"], &submit["collides_with"][0]), (&false.into(), &"gamma_mod".into()));
    let submit = only(&["find", "gamma_mod:submit"]);
    assert!(submit["symbol_unique"] == false && submit.get("collides_with").is_none(), "vmlinux comes first");
    assert_eq!(only(&["find", "gamma_calls"])["symbol_unique"], true);
}

#[test]
fn an_anchor_is_one_address() {
    let symbols = symbols_while_loading();
    let mut known: BTreeMap<String, (String, String, u64)> = BTreeMap::new();
    for place in all() {
        let here = (module(&place).to_owned(), text(&place, "section").to_owned(), address(&place));
        let anchor = &place["anchor"];
        let other = known.insert(anchor.to_string(), here.clone()).filter(|other| *other != here);
        assert!(other.is_none(), "{other:?} has the anchor of {place}");
        // The kernel adds the offset to the symbol, and there must be one of that name only.
        let (name, owner) = (text(anchor, "symbol"), anchor["module"].as_str().unwrap_or(""));
        if !here.0.is_empty() && here.1 == ".init.text" {
            assert_eq!(owner, here.0, "init code is found while the module is loaded: {place}");
            continue;
        }
        let named: Vec<&Symbol> = symbols.iter().filter(|s| s.name == name && s.module == owner).collect();
        assert_eq!((named.len(), owner), (1, here.0.as_str()), "{place}");
        assert_eq!(named[0].value + number(anchor, "offset"), here.2, "{place}");
        if !owner.is_empty() {
            assert_eq!(named[0].section, here.1, "{place}");
        }
    }
    let addresses: BTreeSet<_> = known.values().collect();
    assert!(addresses.len() > 30 && addresses.len() == known.len(), "and an address has one anchor");
}

/// The line of the one call of a function in another, as the fixture has it.
fn call(file: &str, what: &str) -> u64 {
    let text = std::fs::read_to_string(source(file)).unwrap();
    let lines: Vec<usize> = text
        .lines()
        .enumerate()
        .filter(|(_, l)| l.starts_with('\t') && l.contains(what))
        .map(|l| l.0)
        .collect();
    assert_eq!(lines.len(), 1, "{what}");
    lines[0] as u64 + 1
}

#[test]
fn inlined_functions_name_their_calls_innermost_first() {
    let deep = only(&["find", "deep"]);
    let calls: Vec<(&str, u64)> = deep["inlined_into"]
        .as_array()
        .unwrap()
        .iter()
        .map(|c| (text(c, "function"), number(c, "line")))
        .collect();
    let expected =
        [("shallow", call("gamma_one.c", " deep(")), ("gamma_calls", call("gamma_one.c", " shallow("))];
    assert_eq!(calls, expected);
    assert!(deep["inlined_into"][0]["file"].as_str().unwrap().ends_with("/gamma_one.c"));
    assert_eq!((text(&deep, "instance"), text(&deep, "symbol")), ("inline", "gamma_calls"));
    assert_eq!((text(&deep["attach"], "kretprobe"), text(&deep["attach"], "fentry")), ("inline", "inline"));
}

#[test]
fn coverage_counts_addresses() {
    let both = json(&["find", "either_way"]);
    let mut instances: Vec<&str> = both.iter().map(|p| text(p, "instance")).collect();
    instances.sort_unstable();
    assert_eq!(instances, ["inline", "out-of-line"]);
    assert!(both.iter().all(|p| p["coverage"]["instances"] == 2), "{both:?}");
    // Half of an answer tells of the other half.
    let inline = only(&["find", "module(\"gamma_mod\").function(\"either_way\").inline"]);
    assert_eq!(inline["coverage"]["instances"], 2);
    assert_eq!(only(&["find", "gamma_calls"])["coverage"]["instances"], 1);
    // What is gone once the kernel runs is shown and not counted.
    let setup = only(&["find", "core_setup"]);
    assert_eq!((text(&setup, "section"), &setup["coverage"]["instances"]), (".init.text", &0.into()));
}

#[test]
fn variables_of_a_place() {
    let calls = only(&["resolve", "gamma_calls", "--locals"]);
    let kinds: Vec<(&str, &str)> =
        calls["vars"].as_array().unwrap().iter().map(|v| (text(v, "name"), text(v, "kind"))).collect();
    assert_eq!(kinds, [("rq", "param"), ("flags", "param"), ("first", "local")]);
    let [rq, flags] = [&calls["vars"][0], &calls["vars"][1]];
    assert_eq!((text(rq, "type"), text(rq, "state")), ("struct request*", "readable"));
    let registers = if cfg!(target_arch = "aarch64") { ["%x0", "%x1"] } else { ["%di", "%si"] };
    assert_eq!([text(rq, "location"), text(flags, "location")], registers);
    let names = |arguments: &[&str]| -> Vec<String> {
        let place = only(arguments);
        place["vars"].as_array().unwrap().iter().map(|v| text(v, "name").to_owned()).collect()
    };
    assert_eq!(names(&["resolve", "gamma_calls"]), ["rq", "flags"], "locals are for those who ask");
    assert_eq!(names(&["resolve", "gamma_calls", "flags", "first"]), ["flags", "first"]);
    assert_eq!(names(&["resolve", "gamma_calls", "$rq->owner"]), ["$rq->owner"]);
}

#[test]
fn resolve_for_people() {
    let out = probeidx(&["resolve", "deep"]).found();
    let lines: Vec<&str> = out.lines().collect();
    let place = only(&["find", "deep"]);
    assert_eq!(lines[0], format!("{}  module gamma_mod", declared("deep", "gamma_one.c")));
    assert_eq!(lines[1], "  inline: 1 site in 1 caller, 1 reachable");
    let (offset, anchor) = (number(&place, "offset"), &place["anchor"]);
    assert_eq!(
        lines[2],
        format!(
            "  inline  gamma_calls+{offset:#x}  {} in .text  probe at gamma_mod:gamma_calls+{}",
            text(&place, "address"),
            number(anchor, "offset")
        )
    );
    let site = |function: &str, what: &str| {
        let file = source("gamma_one.c");
        format!("    inlined into {function} at {}:{}", file.display(), call("gamma_one.c", what))
    };
    assert_eq!(lines[3], "    kprobe ok, kprobe_events ok, kretprobe inline, fentry inline");
    assert_eq!(lines[4..6], [site("shallow", " deep("), site("gamma_calls", " shallow(")]);
    assert!(lines.len() == 7 && lines[6].starts_with("    depth  int  "), "{out}");
    let out = probeidx(&["resolve", "vmlinux:submit"]).found();
    assert!(
        out.contains("\n    the symbol's name is not unique: use the address given by `probe at`\n"),
        "{out}"
    );
    let out = probeidx(&["resolve", "twin@gamma_two.c", "flags"]).found();
    assert!(out.starts_with(&format!("{}  module gamma_mod\n", declared("twin", "gamma_two.c"))));
    assert!(out.contains("\n    flags  int  %") && !out.contains("other"), "{out}");
    let out = probeidx(&["resolve", "core_setup"]).found();
    assert!(out.contains("vmlinux\n  no address once the kernel runs; left out: 1 in init code\n"), "{out}");
}

#[test]
fn resolve_as_json_is_find_as_json() {
    for spec in ["deep", "submit", "either_way", "gamma_mod:*", "kernel.function(\"*\").inline", "bare_*"] {
        let same = probeidx(&["resolve", spec, "--format", "json"]).found();
        assert_eq!(probeidx(&["resolve", spec, "--json"]).found(), same, "{spec}");
        assert_eq!(probeidx(&["find", spec, "--json"]).found(), same, "{spec}");
    }
}

#[test]
fn arguments_that_no_place_has() {
    let run = probeidx(&["resolve", "either_way", "valeu"]);
    let said = "probeidx: error: no variable 'valeu' in any of the placements; did you mean value?\n";
    assert_eq!((run.code, run.err.as_str()), (1, said));
    let run = probeidx(&["resolve", "gamma_mod:twin@gamma_one.c", "rq", "completely"]);
    let said = "probeidx: error: no variable 'completely' in any of the placements; there are rq, flags\n";
    assert_eq!((run.code, run.err.as_str()), (1, said));
    probeidx(&["resolve", "gama_calls"])
        .refused(1, "probeidx: no function gama_calls; did you mean gamma_calls?");
}

#[test]
fn offsets() {
    let entry = only(&["resolve", "gamma_mod:submit"]);
    let within = only(&["resolve", "gamma_mod:submit+1", "--json"]);
    assert_eq!(text(&within, "instance"), "statement");
    assert_eq!((address(&within), number(&within, "offset")), (address(&entry) + 1, 1));
    assert_eq!(within["anchor"]["offset"], number(&entry["anchor"], "offset") + 1);
    // Hexadecimal or not, it is the same.
    assert_eq!(json(&["resolve", "gamma_mod:submit+0x1"]), [within]);
    // The name is in two objects, and so is the answer.
    assert_eq!(json(&["resolve", "submit+1"]).len(), 2);
    let inlined = only(&["find", "deep"]);
    let there = only(&["resolve", &format!("gamma_calls+{:#x}", number(&inlined, "offset"))]);
    assert_eq!(text(&there, "function"), "deep", "the innermost function that is there");
    assert_eq!(there["inlined_into"], inlined["inlined_into"]);
    let symbols = symbols();
    let start = |name: &str| symbols.iter().find(|s| s.name == name && s.module.is_empty()).unwrap().value;
    let size = start("submit") + 0x10000 - start("submit");
    let run = probeidx(&["resolve", &format!("vmlinux:submit+{size}")]);
    assert_eq!((run.code, run.out.as_str()), (1, ""));
    assert!(
        run.err.starts_with("probeidx: error: offset 0x10000 lies beyond the function, which has 0x"),
        "{run:?}"
    );
}

#[test]
fn addresses() {
    let lookup = only(&["find", "lookup"]);
    let at = |address: u64| only(&["resolve", &format!("{address:#x}")]);
    let found = at(address(&lookup));
    assert_eq!((text(&found, "function"), &found["anchor"]), ("lookup", &lookup["anchor"]));
    assert_eq!(number(&at(address(&lookup) + 1), "offset"), 1);
    // Code that only the symbol table knows.
    let bare = only(&["resolve", "bare_entry"]);
    assert_eq!((text(&bare, "file"), number(&bare, "line"), number(&bare, "offset")), ("", 0, 0));
    let found = at(address(&bare) + 1);
    let symbol = text(&found, "symbol");
    assert!(["bare_entry", "bare_alias"].contains(&symbol) && number(&found, "offset") == 1, "{found}");
    assert_eq!(text(&found, "instance"), "statement");
    let data = symbols().into_iter().find(|s| s.name == "sink").unwrap().value;
    for nowhere in [0x10, data] {
        let said = format!("probeidx: no code is at {nowhere:#x}");
        probeidx(&["resolve", &format!("{nowhere:#x}")]).refused(1, &said);
    }
    let run = probeidx(&["find", "0x10"]);
    assert_eq!((run.code, run.out.as_str()), (2, ""));
}

#[test]
fn functions_that_only_the_symbol_table_knows() {
    let place = only(&["resolve", "gamma_assembly"]);
    let symbol = symbols().into_iter().find(|s| s.name == "gamma_assembly").unwrap();
    assert_eq!((address(&place), text(&place, "section")), (symbol.value, symbol.section.as_str()));
    assert_eq!(text(&place, "probe"), "module(\"gamma_mod\").function(\"gamma_assembly\")");
    assert_eq!((text(&place, "instance"), number(&place, "line")), ("out-of-line", 0));
    assert_eq!(place["vars"], Value::Array(vec![]));
    assert_eq!(place["coverage"]["instances"], 1);
    let out = probeidx(&["resolve", "gamma_assembly"]).found();
    assert!(
        out.starts_with(
            "gamma_assembly  module gamma_mod  from symbols\n  out of line: 1 of 1\n  out-of-line  gamma_assembly+0x0  "
        ),
        "{out}"
    );
}
