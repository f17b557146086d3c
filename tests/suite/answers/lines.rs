//! `lines`: which lines of functions and files have code, with and without the source text.
use crate::support::program::{json, probeidx, source};
use serde_json::Value;
use std::collections::BTreeSet;

/// The number of the line of a fixture that has this text.
#[track_caller]
fn line_of(file: &str, text: &str) -> u64 {
    let all = std::fs::read_to_string(source(file)).unwrap();
    1 + all.lines().position(|l| l.contains(text)).unwrap_or_else(|| panic!("{text} is not in {file}")) as u64
}

/// The lines that a listing has addresses in.
#[track_caller]
fn numbers(spec: &str) -> BTreeSet<u64> {
    json(&["lines", spec]).iter().map(|p| p["source"]["line"].as_u64().unwrap()).collect()
}

#[test]
fn the_lines_of_a_function_are_its_own() {
    // The first line that has code is that of the brace.
    let first = line_of("gamma_one.c", "kept int gamma_calls") + 1;
    let last = line_of("gamma_one.c", "int __init init_module");
    let numbers = numbers("gamma_calls");
    assert!(numbers.contains(&first), "{numbers:?}");
    assert!(numbers.contains(&line_of("gamma_one.c", "return first + either_way")), "{numbers:?}");
    assert!(numbers.iter().all(|n| (first..last).contains(n)), "code that is inlined counts: {numbers:?}");
}

/// What JSON says of an address is what `resolve` says of it.
#[test]
fn addresses_are_those_that_the_line_resolves_to() {
    let line = line_of("gamma_one.c", "return first + either_way");
    let of_line = |p: &Value| p["source"]["line"] == line && p["function"] == "gamma_calls";
    let told = |p: &Value| (p["address"].clone(), p["source"].clone(), p["best"].clone());
    let listed: Vec<_> = json(&["lines", "gamma_calls"]).iter().filter(|p| of_line(p)).map(told).collect();
    let resolved = json(&["resolve", &format!("gamma_calls@gamma_one.c:{line}")]);
    let resolved: Vec<_> = resolved.iter().filter(|p| of_line(p)).map(told).collect();
    assert!(!listed.is_empty() && listed.iter().filter(|l| l.2 == true).count() == 1, "{listed:?}");
    assert_eq!(listed, resolved);
}

#[test]
fn what_is_inlined_stands_where_it_is_called() {
    let shown = probeidx(&["lines", "gamma_calls"]).found();
    let calls = line_of("gamma_one.c", "int first = shallow(rq)");
    let at = shown.lines().position(|l| l.trim_start().starts_with(&calls.to_string())).expect(&shown);
    let until =
        shown.lines().skip(at).take_while(|l| l.contains("gamma_calls+") || l.contains("shallow(rq)"));
    let declared = format!("inline shallow@{}", source("gamma_one.c").display());
    assert!(until.into_iter().any(|l| l.contains(&declared)), "{shown}");
    assert!(!shown.contains("inline deep@"), "deep is called by shallow, not here: {shown}");
}

#[test]
fn a_file_has_the_lines_of_all_its_functions() {
    let file = numbers("gamma_one.c");
    for function in ["twin@gamma_one.c", "gamma_mod:submit", "deep@gamma_one.c", "gamma_calls"] {
        let own = numbers(function);
        assert!(!own.is_empty() && own.is_subset(&file), "{function}: {own:?} {file:?}");
    }
    let (first, last) = (line_of("gamma_one.c", "int submit("), line_of("gamma_one.c", "Only inlined"));
    let part = numbers(&format!("gamma_one.c:{first}-{last}"));
    assert_eq!(part, numbers("gamma_mod:submit"));
    let relative: BTreeSet<u64> = numbers("gamma_mod:submit:0-2");
    assert!(
        relative.contains(&(first + 1)) && relative.iter().all(|n| (first..=first + 2).contains(n)),
        "{relative:?}"
    );
}

#[test]
fn the_text_of_the_source_stands_beside() {
    let folder = tempfile::tempdir().unwrap();
    let text = std::fs::read_to_string(source("gamma_one.c")).unwrap();
    let copy = folder.path().join("gamma_one.c");
    let run = |text: &str| {
        std::fs::write(&copy, text).unwrap();
        probeidx(&["lines", "gamma_mod:submit", "--source", folder.path().to_str().unwrap()])
    };
    let shown = run(&text).found();
    assert!(shown.lines().next().unwrap().ends_with("/gamma_one.c"), "{shown}");
    assert!(shown.contains("\u{20}\u{20}kept int submit(struct request *rq, int flags)"), "{shown}");
    assert!(shown.contains("return sink + flags + rq->users;"), "{shown}");

    let other = run(&format!("\n\n\n\n{text}"));
    assert_eq!(other.code, 0);
    assert!(other.err.contains("is of another kernel"), "{other:?}");
    assert!(!other.out.contains("rq->users;"), "{other:?}");
}

#[test]
fn what_has_no_lines_says_so() {
    for (spec, code, said) in [
        ("no_such_function", 1, "no function no_such_function"),
        ("0x1234", 2, "only functions and files have lines"),
        ("kernel.trace(\"x\")", 2, "only functions and files have lines"),
    ] {
        let run = probeidx(&["lines", spec]);
        assert_eq!((run.code, run.out.as_str()), (code, ""), "{spec}: {run:?}");
        assert!(run.err.contains(said) && run.err.lines().count() == 1, "{spec}: {run:?}");
    }
}
