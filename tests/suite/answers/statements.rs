//! Source lines: every address of them, the best one, and those that SystemTap chooses.
use crate::support::fixture::{Tree, USUAL, run_all};
use crate::support::program::{Indexed, KERNEL, Run, declared, json, run_in};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

/// Compiled without optimization: every line has code of its own, every variable is there in its whole scope.
const ONE: &str = r#"#include "module.h"

MODULE("lines");

static always_inline int inner(int depth)
{
	sink = depth;
	return depth + 1;
}

int outer(int a)
{
	int first = a;

	if (a > 3) {
		int second = first;

		sink = second;
	}
	{
		int third = a + 1;

		sink = third;
	}
	return inner(first);
}

void __attribute__((section(".text.later"))) later(void)
{
	sink = inner(2);
}
"#;

/// A file of the same name.
const TWO: &str = "int other(int b)\n{\n\treturn b;\n}\n";

static LINES: LazyLock<Indexed> = LazyLock::new(|| {
    let tree = Tree::compile(&USUAL);
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let work = tempfile::tempdir().unwrap();
    let compile = |(name, text): (&str, &str)| {
        let folder = work.path().join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("same.c"), text).unwrap();
        let mut c = Command::new("gcc");
        c.current_dir(&work).args(["-O0", "-gdwarf-5", "-ffreestanding", "-fno-pic", "-fno-pie"]);
        c.args(["-fno-stack-protector", "-ffile-prefix-map=.=.", "-c", "-I"]).arg(&fixtures);
        c.arg(format!("{name}/same.c")).arg("-o").arg(work.path().join(format!("{name}.o")));
        c
    };
    run_all([("one", ONE), ("two", TWO)].map(compile));
    let mut ld = Command::new("ld");
    ld.current_dir(&work)
        .args(["-r", "--build-id=sha1", "-o"])
        .arg(tree.module("lines"))
        .args(["one.o", "two.o"]);
    run_all([ld]);
    let db = tempfile::tempdir().unwrap();
    let built = run_in(db.path(), ["build".as_ref(), tree.path().as_os_str()]);
    assert_eq!((built.code, built.err.as_str()), (0, ""), "{built:?}");
    Indexed { tree, db }
});

fn run(arguments: &[&str]) -> Run {
    run_in(LINES.db.path(), arguments)
}

/// The lines of `find --args`, the folder of the sources left out.
#[track_caller]
fn find(spec: &str) -> Vec<String> {
    let out = run(&["-q", "find", "--args", spec]).found();
    out.lines().map(short).collect()
}

/// The folder in which the fixture was compiled stands before its files.
fn short(line: &str) -> String {
    match (line.find('@'), ["one/same.c", "two/same.c"].iter().find_map(|f| line.find(f))) {
        (Some(at), Some(file)) if file > at => format!("{}{}", &line[..=at], &line[file..]),
        _ => line.to_owned(),
    }
}

/// The number of the line of the fixture that has this text.
#[track_caller]
fn line(text: &str) -> usize {
    1 + ONE.lines().position(|l| l.contains(text)).unwrap_or_else(|| panic!("no {text}"))
}

/// What SystemTap prints for a line in a function.
fn point(function: &str, line: usize, variables: &str) -> String {
    format!("module(\"lines\").statement(\"{function}@one/same.c:{line}\"){variables}")
}

const OUTER: &str = " $a:int $first:int";
const SECOND: &str = " $second:int $a:int $first:int";

#[test]
fn variables_are_those_of_the_scopes_innermost_first() {
    let [second, third] = ["sink = second", "sink = third"].map(line);
    assert_eq!(find(&format!("outer@same.c:{second}")), [point("outer", second, SECOND)]);
    let asked = format!("module(\"lines\").statement(\"outer@same.c:{third}\")");
    assert_eq!(find(&asked), [point("outer", third, " $third:int $a:int $first:int")]);
    let first = line("int first");
    assert_eq!(find(&format!("outer@same.c:{first}")), [point("outer", first, OUTER)]);
    // In two functions: what both of its copies have, each with what is around it.
    let depth = line("sink = depth");
    let inlined =
        [point("inner", depth, " $depth:int"), point("later", depth, ""), point("outer", depth, OUTER)];
    assert_eq!(find(&format!("module(\"lines\").statement(\"*@one/same.c:{depth}\")")), inlined);
    assert_eq!(find(&format!("one/same.c:{depth}")), inlined, "the bare spelling is the same");
}

#[test]
fn all_forms_of_lines() {
    let declared = line("int outer");
    let [first, test, inside, second] = ["int first", "a > 3", "int second", "sink = second"].map(line);
    let asked = |lines: &str| find(&format!("module(\"lines\").statement(\"outer@one/same.c{lines}\")"));
    let block = [point("outer", inside, SECOND), point("outer", second, SECOND)];
    assert_eq!(asked(&format!(":{inside}-{}", second + 1)), block);
    assert_eq!(asked(&format!(":{second},{inside}")), block);
    assert_eq!(asked(&format!("+{}", second - declared)), block[1..]);
    assert_eq!(find(&format!("lines:outer:{}-{}", inside - declared, second - declared)), block);
    let all = asked(":*");
    for text in ["int first", "a > 3", "int third", "sink = third"] {
        let start = point("outer", line(text), "");
        assert!(all.iter().any(|l| l.starts_with(&start)), "{text}: {all:?}");
    }
    let blank = first + 1;
    assert!(!all.iter().any(|l| l.contains(&format!(":{blank}\""))), "{all:?}");
    // Without lines: where the function starts.
    assert_eq!(asked(""), [point("outer", declared, OUTER)]);

    let nearest =
        |lines: &str| find(&format!("module(\"lines\").statement(\"outer@one/same.c{lines}\").nearest"));
    let printed = |line| [point("outer", line, &format!(".nearest{OUTER}"))];
    // As close on both sides: the later one, under the line that was asked for.
    assert_eq!(nearest(&format!(":{blank}")), printed(blank));
    assert_eq!(nearest(&format!("+{}", blank - declared)), printed(blank));
    // Of a list each under its own, and no line twice.
    assert_eq!(nearest(&format!(":{first},{blank},{test}")), [printed(first), printed(test)].concat());
    assert_eq!(nearest(""), printed(declared));
    let far = ONE.lines().count() + 20;
    assert_eq!(run(&["find", &format!("kernel.statement(\"outer@same.c:{far}\").nearest")]).code, 1);
}

#[test]
fn a_line_is_attributed_to_its_function_and_its_callers() {
    let depth = line("sink = depth");
    let asked = format!("one/same.c:{depth}");
    let out = run(&["--json", "resolve", &asked]).found();
    let places: Vec<Value> = out.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    let callers: BTreeSet<&str> =
        places.iter().map(|p| p["inlined_into"][0]["function"].as_str().unwrap()).collect();
    assert_eq!(callers, BTreeSet::from(["later", "outer"]));
    for place in &places {
        assert_eq!(
            (&place["function"], &place["instance"]),
            (&"inner".into(), &"statement".into()),
            "{place}"
        );
        assert_eq!(place["line"], line("int inner"), "the declaration's");
        assert_eq!((&place["source"]["line"], &place["best"]), (&depth.into(), &true.into()), "{place}");
        assert_eq!(place["coverage"]["instances"], 2, "{place}");
        let probe = place["probe"].as_str().unwrap();
        assert!(
            probe.ends_with(&format!("one/same.c:{depth}\")")) && probe.contains(".statement("),
            "{probe}"
        );
    }
    // The same line counted from the declaration, and in one of the callers only.
    let relative = run(&["--json", "resolve", &format!("inner:{}", depth - line("int inner"))]).found();
    assert_eq!(relative, out);
    let of_later = run(&["--json", "resolve", &format!("later@one/same.c:{depth}")]).found();
    assert_eq!(of_later.lines().count(), 1);
    assert!(of_later.contains(".text.later"), "{of_later}");
}

#[test]
fn files_of_one_name_are_all_meant_and_named() {
    let found = run(&["find", "same.c:2"]);
    assert!(found.out.contains("two/same.c:2"), "{found:?}");
    assert!(found.err.contains("same.c is the name of 2 files: "), "{found:?}");
    for spec in ["two/same.c:2", "other@same.c:2", "s*.c:2"] {
        let found = run(&["find", spec]);
        assert_eq!((found.code, found.err.as_str()), (0, ""), "{spec}: one file, a name, a wildcard");
    }
}

#[test]
fn a_variable_is_defined_where_systemtap_probes_the_line() {
    let inside = line("sink = second");
    let asked = |spec: String| run(&["resolve", &spec, "--defined", "$second"]);
    let within = asked(format!("outer@same.c:{inside}"));
    assert!(within.code == 0 && within.out.contains("is defined at 1 of 1 places"), "{within:?}");
    let outside = asked(format!("outer@same.c:{}", line("int first")));
    assert!(outside.code == 1 && outside.out.contains("is defined at 0 of 1 places"), "{outside:?}");
}

#[test]
fn lines_without_code() {
    let says = |arguments: &[&str]| {
        let run = run(arguments);
        assert_eq!((run.code, run.out.as_str(), run.err.lines().count()), (1, "", 1), "{run:?}");
        run.err
    };
    let blank = line("int first") + 1;
    for command in ["find", "resolve"] {
        let said = says(&[command, &format!("outer:{}", blank - line("int outer"))]);
        assert!(said.contains(&format!("no code at line {blank} of ")), "{said}");
        assert!(said.contains(&format!(" in outer; nearest are {} and {}", blank - 1, blank + 1)), "{said}");
    }
    // What has code between the lines of a list was not asked for.
    let other = line("int second") + 1;
    let said = says(&["resolve", &format!("outer@same.c:{blank},{other}")]);
    assert!(said.contains(&format!("no code at lines {blank} to {other} of ")), "{said}");
    assert!(said.ends_with(&format!("nearest are {} and {}\n", blank - 1, other + 1)), "{said}");
    assert!(says(&["resolve", "two/same.c:9"]).ends_with("nearest is 4\n"));
    let said = says(&["find", "two/sane.c:2"]);
    assert!(said.contains("no code of a file two/sane.c; did you mean two/same.c?"), "{said}");
    assert!(says(&["find", "outerr:2"]).contains("no function outerr; did you mean outer"));
    assert!(says(&["--json", "resolve", "two/same.c:9"]).starts_with("{\"error\":{\"kind\":\"no-match\""));
}

#[test]
fn each_line_of_each_copy_has_one_best_address() {
    let out = run(&["--json", "resolve", "fs.c:*"]).found();
    let mut best: BTreeMap<(u64, String, String), usize> = BTreeMap::new();
    let mut lowest: BTreeMap<(u64, String, String), Vec<bool>> = BTreeMap::new();
    for place in out.lines().map(|l| serde_json::from_str::<Value>(l).unwrap()) {
        let copy = (place["function"].to_string(), place["inlined_into"].to_string());
        let line = (place["source"]["line"].as_u64().unwrap(), copy.0, copy.1);
        lowest.entry(line.clone()).or_default().push(place["source"]["systemtap"] == true);
        *best.entry(line).or_default() += usize::from(place["best"] == true);
    }
    assert!(best.len() > 20 && best.values().all(|n| *n == 1), "{best:#?}");
    // SystemTap's is the lowest of a copy, which can be within another that is inlined into it.
    assert!(lowest.values().all(|taken| !taken[1..].contains(&true)), "{lowest:#?}");
    let of_lookup: Vec<_> = lowest.iter().filter(|((_, function, _), _)| function == "\"lookup\"").collect();
    assert!(of_lookup.len() > 5 && of_lookup.iter().all(|(_, taken)| taken[0]), "{of_lookup:#?}");
}

#[test]
fn definitions_take_the_best_address_and_are_named_after_the_line() {
    const LOOKUP: &str = "vmlinux:lookup:0-20";
    let mut best: BTreeMap<u64, String> = BTreeMap::new();
    let mut others = 0;
    for place in json(&["resolve", LOOKUP]).iter().filter(|p| p["function"] == "lookup") {
        let line = place["source"]["line"].as_u64().unwrap() - place["line"].as_u64().unwrap();
        let offset = place["anchor"]["offset"].as_u64().unwrap();
        if place["best"] == true {
            // An address is defined once, for the first of its lines.
            best.entry(offset).or_insert(format!("p:probeidx/lookup_L{line} _text+{offset}"));
        } else {
            others += 1;
        }
    }
    let out = crate::support::program::probeidx(&["resolve", LOOKUP, "--format", "kprobe-events"]).found();
    let defined: BTreeSet<&str> = out.lines().filter(|l| l.starts_with("p:probeidx/lookup_")).collect();
    assert_eq!(defined, best.values().map(String::as_str).collect());
    assert!(defined.len() > 5 && others > 5, "{out}");
    assert!(out.contains("# not probed: statement: lookup+0x"), "{out}");
}

#[test]
fn resolve_prints_what_systemtap_would_choose() {
    let inside = line("int second");
    let asked = format!("outer@same.c:{inside}");
    let out = run(&["resolve", &asked, "--format", "stap"]).found();
    assert_eq!(short(out.trim_end()), point("outer", inside, ""));
    let wrong = run(&["resolve", &asked, "first", "--format", "stap"]);
    assert_eq!(wrong.code, 2, "{wrong:?}");
}

/// A row as objdump reads it: line, address, whether a statement starts there.
type Row = (u64, u64, bool);

/// The addresses of the functions of vmlinux.
fn functions_of_kernel() -> Vec<Range<u64>> {
    let out = Command::new("nm").args(["--format=sysv", "-S"]).arg(KERNEL.tree.vmlinux()).output().unwrap();
    let function = |line: &str| {
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        let &[_, value, _, "FUNC", size, ..] = &columns[..] else { return None };
        let [start, size] = [value, size].map(|hex| u64::from_str_radix(hex, 16).unwrap_or(0));
        Some(start..start + size)
    };
    String::from_utf8(out.stdout).unwrap().lines().filter_map(function).collect()
}

/// The rows of vmlinux, by file: but those of functions that the linker dropped, which start at 0, and those behind the
/// end of a function, where nothing runs.
fn rows_of_kernel() -> BTreeMap<String, Vec<Row>> {
    let functions = functions_of_kernel();
    let out = Command::new("objdump")
        .args(["--dwarf=decodedline"])
        .arg(KERNEL.tree.vmlinux())
        .output()
        .expect("objdump can be run");
    let mut rows: BTreeMap<String, Vec<Row>> = BTreeMap::new();
    for text in String::from_utf8(out.stdout).unwrap().lines() {
        let columns: Vec<&str> = text.split_whitespace().collect();
        let [file, line, address, rest @ ..] = &columns[..] else { continue };
        let address = u64::from_str_radix(address.trim_start_matches("0x"), 16);
        if let (Ok(line), Ok(address)) = (line.parse(), address)
            && address > 0x1000
            && (functions.iter().all(|f| f.end != address) || functions.iter().any(|f| f.contains(&address)))
        {
            rows.entry((*file).to_owned()).or_default().push((line, address, rest.contains(&"x")));
        }
    }
    rows
}

#[test]
fn every_address_of_every_line_is_there() {
    let rows = rows_of_kernel();
    let mut compared = 0;
    for file in ["core.c", "fs.c", "net.c", "shared.h"] {
        let mut expected: BTreeMap<(u64, u64), bool> = BTreeMap::new();
        for (line, address, is_stmt) in &rows[file] {
            *expected.entry((*line, *address)).or_default() |= is_stmt;
        }
        let mut found = BTreeMap::new();
        for place in json(&["resolve", &format!("vmlinux:{file}")]) {
            let address = place["address"].as_str().unwrap().trim_start_matches("0x");
            let address = u64::from_str_radix(address, 16).unwrap();
            let source = &place["source"];
            let line = source["line"].as_u64().unwrap();
            let is_stmt = source["is_stmt"].as_bool().unwrap();
            assert_eq!(found.insert((line, address), is_stmt), None, "twice: {place}");
        }
        assert_eq!(found, expected, "{file}");
        compared += found.len();
        // A line by itself has the same.
        let (line, _) = expected.keys().nth(expected.len() / 2).unwrap();
        let own = json(&["resolve", &format!("vmlinux:{file}:{line}")]);
        assert_eq!(own.len(), expected.keys().filter(|(l, _)| l == line).count(), "{file}:{line}");
    }
    assert!(compared > 100, "{compared}");
}

#[test]
fn an_address_must_start_a_statement() {
    let rows = rows_of_kernel();
    let all: BTreeSet<u64> = rows.values().flatten().map(|row| row.1).collect();
    let starts: Vec<u64> = rows["fs.c"].iter().map(|row| row.1).collect();
    let &start = starts.iter().find(|a| !all.contains(&(*a + 1))).expect("a row of two bytes");
    let within = start + 1;
    let asked = |command, address: u64, suffix: &str| {
        crate::support::program::probeidx(&[command, &format!("kernel.statement({address:#x}){suffix}")])
    };
    let printed = format!("kernel.statement({start:#x})");
    assert_eq!(asked("find", start, "").found(), printed.clone() + "\n");
    assert_eq!(asked("find", within, ".nearest").found(), printed + ".nearest\n");
    for command in ["find", "resolve"] {
        let what = "does not match the beginning of a statement";
        let said = format!("probeidx: error: {within:#x} {what}; try {start:#x}");
        asked(command, within, "").refused(1, &said);
    }
    let [place] = &json(&["resolve", &format!("kernel.statement({start:#x})")])[..] else { panic!() };
    assert_eq!((&place["address"], &place["best"]), (&format!("{start:#x}").into(), &true.into()));
    // The address itself needs no row.
    assert_eq!(json(&["resolve", &format!("{within:#x}")])[0].get("source"), None);
}

/// One line that is the declaration's is the function; several that hold it are lines.
#[test]
fn the_line_of_the_declaration_is_the_function() {
    let declaration: u32 =
        declared("gamma_calls", "gamma_one.c").rsplit(':').next().unwrap().parse().unwrap();
    let instances = |spec: &str| {
        let places = json(&["resolve", spec]);
        places.iter().map(|p| p["instance"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    for spec in ["gamma_calls:0".to_owned(), format!("gamma_calls@gamma_one.c:{declaration}")] {
        assert_eq!(instances(&spec), ["out-of-line"], "{spec}");
    }
    for lines in [format!("{declaration}-{}", declaration + 3), format!("{declaration},{}", declaration + 1)]
    {
        let found = instances(&format!("gamma_calls@gamma_one.c:{lines}"));
        assert!(!found.is_empty() && found.iter().all(|i| i == "statement"), "{lines}: {found:?}");
    }
}
