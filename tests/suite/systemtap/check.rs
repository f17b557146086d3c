//! Scripts and tapsets checked against the fixture: what resolves, what fails and where, and what only warns.
use crate::support::fixture::{Tree, USUAL};
use crate::support::program::{Indexed, Run, run_in};
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
pub fn check(name: &str, text: &str, options: &[&str]) -> Run {
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
    let script = all.last().unwrap();
    assert_eq!((&script["program"], &script["state"]), (&Value::Null, &"loader".into()), "{script}");
    let finding = &script["findings"][0];
    assert_eq!(
        (&finding["line"], &finding["column"], &finding["source"], &finding["kind"]),
        (&2.into(), &11.into(), &"nosuch".into(), &"function".into())
    );
    let point = all.iter().find(|o| o["state"] == "absent").unwrap();
    assert_eq!((&point["line"], &point["column"]), (&4.into(), &7.into()));
    assert_eq!(
        (&point["program"], &point["reachable"]),
        (&"kernel.function(\"no_such_function\")".into(), &false.into())
    );
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
        .filter(|o| o["program"].is_string())
        .map(|o| format!("{} {} {}", o["line"], o["program"].as_str().unwrap(), o["state"].as_str().unwrap()))
        .collect();
    assert_eq!(states, ["2 tree.find ok", "4 no_such_function absent", "5 timer.s(1) ok"]);
}

#[test]
fn what_cannot_be_parsed_has_its_place_and_stops_no_other() {
    let run = check("a.stp", "probe begin { x = }", &[]);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.err.contains("a.stp:1:19"), "{run:?}");
    assert!(run.out.contains("unreadable"), "{run:?}");
}

#[test]
fn what_is_no_script_is_told_once() {
    let run = check("passwd", "root:x:0:0:root:/root:/bin/bash\n", &[]);
    assert_eq!((run.code, run.err.lines().count()), (3, 1), "{run:?}");
    assert!(run.err.contains("passwd:1:1: no probe point: column "), "{run:?}");
    assert!(run.out.contains("unreadable") && !run.out.contains("no probe point"), "{run:?}");

    let run = run_in(INDEX.db.path(), ["check", "/absent.stp", "/absent.stp"]);
    assert_eq!((run.code, run.err.lines().count()), (3, 1), "{run:?}");
    assert!(run.err.contains("/absent.stp: cannot read the script"), "{run:?}");
    assert_eq!((run.out.matches("unreadable").count(), run.out.lines().count()), (2, 3), "{run:?}");
    // As JSON it is a finding of the script too.
    let run = run_in(INDEX.db.path(), ["--json", "check", "/absent.stp"]);
    let object = &objects(&run)[0];
    assert_eq!((run.code, &object["findings"][0]["kind"]), (3, &"io".into()), "{run:?}");
    assert_eq!((&object["state"], &object["reachable"]), (&"unreadable".into(), &false.into()), "{run:?}");
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

/// SystemTap 4.8 refuses `nd_syscall.*` where System.map is missing: an alias that a wildcard leads to says itself what it
/// misses, unless something is wanted behind its name.
#[test]
fn a_wildcard_forgives_no_alias_what_it_needs() {
    let aliases = "probe own.good = kernel.function(\"find_node\") {} probe own.bad = own.gone {} probe own.gone = \
                   kernel.function(\"no_such\") ? {} ";
    for (point, fails) in [("own.*", true), ("own.* ?", false), ("own.g*", false), ("own.*.call", false)] {
        let run = check("a.stp", &format!("{aliases} probe {point} {{}} probe begin {{}}"), &["--json"]);
        let all = objects(&run);
        let state = all.iter().find(|o| o["program"].is_string()).unwrap();
        assert_eq!((state["state"] == "absent", run.code), (fails, i32::from(fails)), "{point}: {run:?}");
    }
    let run = check("a.stp", &format!("{aliases} probe own.* {{}}"), &[]);
    assert!(run.out.contains("nothing matches own.gone, which own.bad needs"), "{run:?}");
}

#[test]
fn a_script_of_which_nothing_is_left_fails() {
    let gone = "probe kernel.function(\"no_such\") ? {}";
    let run = check("a.stp", gone, &[]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.out.contains("no probes are left"), "{run:?}");
    let run = check("a.stp", &format!("{gone} probe begin {{}}"), &[]);
    assert_eq!(run.code, 0, "{run:?}");
    // A line of a list is no script.
    assert_eq!(check("points", "kernel.function(\"no_such\") ?\n", &[]).code, 0);
}

#[test]
fn an_unknown_function_is_named_once_with_what_is_near() {
    let run = check("a.stp", "probe kernel.function(\"find_nod\") {}", &["--json"]);
    let all = objects(&run);
    let finding = &all.iter().find(|o| o["state"] == "absent").unwrap()["findings"][0];
    assert_eq!(finding["reason"], "no function find_nod", "{finding}");
    assert_eq!(finding["instead"][0], "find_node", "{finding}");
}

/// Typed in one program, the parameter of `shared` would be text for one caller and a number for the other.
#[test]
fn functions_of_tapsets_are_checked_each_alone() {
    let folder = tempfile::tempdir().unwrap();
    let text = "function shared(x) { return 1 } function of_text(a:string) { return shared(a) }
                function of_number(a:long) { return shared(a) } function wrong(a:long) { return a . \"x\" }";
    std::fs::write(folder.path().join("own.stp"), text).unwrap();
    let db = tempfile::tempdir().unwrap();
    let built = run_in(
        db.path(),
        [OsStr::new("build"), INDEX.tree.path().as_ref(), OsStr::new("--tapset"), folder.path().as_ref()],
    );
    assert_eq!(built.code, 0, "{built:?}");
    let run = run_in(db.path(), ["check", "--tapset", "--json"].map(OsStr::new));
    let findings: Vec<_> = objects(&run).into_iter().filter(|o| o["finding"].is_string()).collect();
    assert!(
        !findings.is_empty() && findings.iter().all(|f| f["line"] == 2 && f["column"].as_u64() > Some(60)),
        "{findings:?}"
    );
}
