//! Scripts and tapsets checked against the fixture: what resolves, what fails and where, and what only warns.
use crate::fixture::{Tree, USUAL};
use crate::program::{Indexed, Run, run_in};
use serde_json::Value;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::LazyLock;

static INDEX: LazyLock<Indexed> = LazyLock::new(|| {
    let tree = Tree::compile(&USUAL);
    let tapset = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/aliases");
    let db = tempfile::tempdir().unwrap();
    let path = tree.path().to_owned();
    let arguments = [OsStr::new("build"), path.as_ref(), OsStr::new("--tapset"), tapset.as_ref()];
    let built = run_in(db.path(), arguments);
    assert_eq!(built.code, 0, "{built:?}");
    Indexed { tree, db }
});

/// Checks this text, as a file of this name.
fn check(name: &str, text: &str, options: &[&str]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    std::fs::write(&file, text).unwrap();
    let mut arguments = vec![OsStr::new("check"), file.as_ref()];
    arguments.extend(options.iter().map(OsStr::new));
    run_in(INDEX.db.path(), arguments)
}

fn objects(run: &Run) -> Vec<Value> {
    run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn what_a_script_does_not_use_of_an_alias_breaks_nothing() {
    // `tree.open` has locals that cannot be read (see the tests of aliases).
    let run = check("a.stp", "probe tree.open { println(name) }", &[]);
    assert_eq!(run.code, 0, "{run:?}");
    let run = check("a.stp", "probe tree.open { println(lost) }", &[]);
    assert_eq!(run.code, 1, "{run:?}");
}

#[test]
fn findings_have_their_places() {
    let text =
        "probe tree.find {\n  println(nosuch(key))\n}\nprobe kernel.function(\"no_such_function\") {}\n";
    let run = check("a.stp", text, &["--json"]);
    assert_eq!(run.code, 1, "{run:?}");
    let all = objects(&run);
    let finding = all.iter().find(|o| o["finding"] == "function").unwrap();
    assert_eq!(
        (&finding["line"], &finding["column"], &finding["what"]),
        (&2.into(), &11.into(), &"nosuch".into())
    );
    let point = all.iter().find(|o| o["state"] == "fails").unwrap();
    assert_eq!((&point["line"], &point["column"]), (&4.into(), &7.into()));
    assert_eq!(all.last().unwrap()["verdict"], "fails");
}

#[test]
fn a_program_is_a_state_of_its_own() {
    let text = "probe process(\"/bin/true\").function(\"main\") { println($argc) }";
    let run = check("a.stp", text, &[]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.contains("not indexed"), "{run:?}");
    assert_eq!(check("a.stp", text, &["--strict"]).code, 1);
}

#[test]
fn arguments_stand_for_what_they_are() {
    let text = "probe $1 { printf(\"%s %d\\n\", @2, $3) }";
    let options = ["--arg", "tree.find", "--arg", "text", "--arg", "7"];
    let run = check("a.stp", text, &options);
    assert_eq!(run.code, 0, "{run:?}");
    let run = check("a.stp", text, &options[..4]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.err.contains("`$3` is an argument of the command line, and there are 2"), "{run:?}");
}

#[test]
fn lists_of_points_are_checked_line_by_line() {
    let run = check("points", "# some\ntree.find\n\nno_such_function # gone\ntimer.s(1)\n", &["--json"]);
    assert_eq!(run.code, 1, "{run:?}");
    let states: Vec<_> = objects(&run)
        .iter()
        .filter(|o| o["probe"].is_string())
        .map(|o| format!("{} {} {}", o["line"], o["probe"].as_str().unwrap(), o["state"].as_str().unwrap()))
        .collect();
    assert_eq!(states, ["2 tree.find resolves", "4 no_such_function fails", "5 timer.s(1) resolves"]);
}

#[test]
fn what_cannot_be_parsed_has_its_place_and_stops_no_other() {
    let run = check("a.stp", "probe begin { x = }", &[]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.err.contains("a.stp:1:19"), "{run:?}");
    assert!(run.out.contains("unreadable"), "{run:?}");
}

#[test]
fn the_tapsets_themselves_are_checked() {
    let run = run_in(INDEX.db.path(), ["check", "--tapset", "--json"].map(OsStr::new));
    assert_eq!(run.code, 0, "{run:?}");
    let all = objects(&run);
    let open = all.iter().find(|o| o["alias"] == "tree.open" && o["state"].is_string()).unwrap();
    let broken: Vec<_> = open["broken"].as_array().unwrap().iter().map(|b| b["local"].clone()).collect();
    assert!(broken.contains(&"lost".into()), "{open}");
    assert!(all.iter().any(|o| o["untaken"].is_string()), "{all:?}");
}
