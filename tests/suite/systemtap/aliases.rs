//! Aliases of tapsets on the fixture: what they list, where they lead, what their locals are, and why some lead nowhere.
use crate::support::fixture::{Tree, USUAL};
use crate::support::program::{Indexed, Run, run_in};
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

static ALIASES: LazyLock<Indexed> = LazyLock::new(|| {
    let tree = Tree::compile(&USUAL);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/aliases");
    indexed(tree, &folder)
});

fn indexed(tree: Tree, tapset: &Path) -> Indexed {
    let db = tempfile::tempdir().unwrap();
    let path = tree.path().to_owned();
    let arguments = [OsStr::new("build"), path.as_ref(), OsStr::new("--tapset"), tapset.as_ref()];
    let built = run_in(db.path(), arguments);
    assert_eq!((built.code, built.err.as_str()), (0, ""), "{built:?}");
    Indexed { tree, db }
}

fn probeidx(arguments: &[&str]) -> Run {
    run_in(ALIASES.db.path(), arguments)
}

fn lines(arguments: &[&str]) -> Vec<String> {
    let mut all = vec!["--quiet"];
    all.extend(arguments);
    probeidx(&all).found().lines().map(str::to_owned).collect()
}

fn objects(arguments: &[&str]) -> Vec<Value> {
    let mut all = arguments.to_vec();
    all.push("--json");
    lines(&all).iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn local<'o>(object: &'o Value, name: &str) -> &'o Value {
    let locals = object["locals"].as_array().unwrap();
    locals.iter().find(|local| local["name"] == name).unwrap_or_else(|| panic!("{name}: {object}"))
}

#[test]
fn a_family_is_listed_as_systemtap_lists_it() {
    assert_eq!(
        lines(&["find", "tree.*"]),
        [
            "tree.assembly",
            "tree.behind",
            "tree.find",
            "tree.made",
            "tree.made_here",
            "tree.open",
            "tree.optional",
            "tree.tick"
        ]
    );
    let said = probeidx(&["find", "tree.*"]).err;
    assert!(said.contains("not in the index of a kernel: tree.user"), "{said}");
    let with_variables = lines(&["find", "tree.*", "--args"]);
    let of = |name: &str| {
        let is_it = |line: &&String| line.split(' ').next() == Some(name);
        with_variables.iter().find(is_it).unwrap_or_else(|| panic!("{name} in {with_variables:?}")).as_str()
    };
    assert_eq!(
        of("tree.find"),
        "tree.find name:string key:long left:long sum:long below:long $root:struct node* $key:long int"
    );
    // Which of its locals are there depends on the compiler.
    assert!(of("tree.optional").starts_with("tree.optional key:long $key:int"), "{with_variables:?}");
    assert_eq!(of("tree.behind"), "tree.behind all:string $root:struct node* $key:long int");
    // The probe that saves the value at the entry counts too, and has neither the locals nor what is returned.
    assert_eq!(of("tree.made"), "tree.made _entry_tvar_tid:long $seed:int");
    assert_eq!(of("tree.tick"), "tree.tick count:long");
    assert_eq!(of("tree.assembly"), "tree.assembly name:string");
    let open = of("tree.open");
    assert!(
        open.starts_with("tree.open wanted:long lost:unknown member:unknown whole:unknown name:string"),
        "{open}"
    );
}

#[test]
fn a_suffix_goes_to_the_points_of_an_alias() {
    let line = "tree.find.return _entry_tvar_tid:long";
    // `$key` of the prologue is saved at the entry, with the probe itself: nothing is common to both handlers.
    let found = lines(&["find", "tree.find.return", "--args"]);
    assert!(found.len() == 1 && found[0] != line && found[0].starts_with("tree.find.return"), "{found:?}");
    let object = &objects(&["resolve", "tree.find.return"])[0];
    let expected = "kernel.function(\"find_node@fs.c:25\").return";
    assert_eq!(object["point"].as_str().map(|p| p.ends_with(".return")), Some(true), "{expected}: {object}");
    assert_eq!(object["alias"], "tree.find.return");
}

#[test]
fn a_wildcard_behind_an_alias_is_that_of_what_it_leads_to() {
    assert_eq!(lines(&["find", "grove.*.*"]), ["tree.made_here.return"]);
    assert_eq!(lines(&["find", "grove.*"]), ["grove.all"]);
}

#[test]
fn a_name_is_an_alias_where_no_function_has_it() {
    let tree = Tree::compile(&USUAL);
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.stp"), "probe once = timer.s(1) {}\nprobe lookup = once {}\n")
        .unwrap();
    let own = indexed(tree, folder.path());
    let find = |name: &str| run_in(own.db.path(), ["--quiet", "find", name]);
    assert_eq!(find("once").found(), "once\n");
    assert!(find("lookup").found().starts_with("kernel.function(\"lookup@"));
    assert_eq!(find("twice").code, 1);
    let resolved = run_in(own.db.path(), ["resolve", "once", "--json"]).found();
    assert!(resolved.contains("\"alias\":\"once\""), "{resolved}");
}

#[test]
fn questions_can_be_mixed() {
    let found = lines(&["find", "tree.f*", "lookup"]);
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[0].starts_with("kernel.function(\"lookup@") && found[1] == "tree.find", "{found:?}");
    let each = lines(&["find", "tree.open", "--each"]);
    assert!(each.len() > 1, "{each:?}");
    assert!(each.iter().all(|line| line.starts_with("tree.open kernel.function(\"do_open@")), "{each:?}");
}

#[test]
fn placements_say_through_what_they_were_reached() {
    let found = objects(&["resolve", "tree.open"]);
    assert!(found.len() > 1, "do_open is inlined twice: {found:?}");
    for object in &found {
        assert_eq!(object["through"], json!(["tree.open", "__tree.open"]), "{object}");
        assert_eq!(
            (&object["function"], &object["instance"]),
            (&json!("do_open"), &json!("inline")),
            "{object}"
        );
        assert!(object["attach"]["kprobe"].is_string() && object["anchor"].is_object(), "{object}");
        assert_eq!(local(object, "name"), &json!({"name": "name", "type": "string", "state": "fine"}));
        let lost = local(object, "lost");
        assert_eq!((&lost["state"], &lost["variable"]), (&json!("broken"), &json!("$nothing")), "{lost}");
        let member = local(object, "member");
        assert_eq!((&member["state"], &member["instead"]), (&json!("broken"), &json!(["left"])), "{member}");
        let whole = local(object, "whole");
        assert_eq!(whole["variable"], "$root->left->nothing", "{whole}");
    }
    let text = probeidx(&["resolve", "tree.open"]).found();
    assert!(text.starts_with("tree.open through __tree.open: "), "{text}");
    assert!(text.contains("broken: $nothing: "), "{text}");
}

#[test]
fn a_local_that_copies_a_variable_is_read_as_that() {
    let found = objects(&["resolve", "tree.find", "key", "left"]);
    let [object] = &found[..] else { panic!("{found:?}") };
    assert_eq!(local(object, "left")["copy_of"], "$root->left");
    let value = |name: &str| {
        let values = object["vars"].as_array().unwrap();
        values.iter().find(|v| v["name"] == name).unwrap_or_else(|| panic!("{object}")).clone()
    };
    let direct = objects(&["resolve", "find_node", "key=key", "left=root->left"]);
    for (at, name) in ["key", "left"].iter().enumerate() {
        assert_eq!(value(name)["fetch"], direct[0]["vars"][at]["fetch"], "{object}");
        assert!(value(name)["fetch"].is_string(), "{object}");
    }
    let definitions = probeidx(&["resolve", "tree.find", "left", "--format", "kprobe-events"]).found();
    assert!(definitions.contains(" left="), "{definitions}");
    // What a tapset computes no definition can have.
    let computed = probeidx(&["resolve", "tree.find", "sum"]);
    assert_eq!(computed.code, 1, "{computed:?}");
    assert!(computed.err.contains("sum: unsupported, the tapset computes it"), "{computed:?}");
}

#[test]
fn why_nothing_matches_is_said() {
    let said = |name: &str| {
        let run = probeidx(&["find", name]);
        assert_eq!((run.code, run.out.as_str()), (1, ""), "{run:?}");
        run.err
    };
    let gone = said("tree.gone");
    assert!(gone.contains("tree.gone has no place in this kernel"), "{gone}");
    assert!(gone.contains("no function no_such") && gone.contains("no function never_was"), "{gone}");
    assert!(said("tree.fnd").contains("did you mean tree.find?"));
    let misspelled = said("tree.misspelled");
    assert!(misspelled.contains("unknown probe point component functoin(\"lookup\")"), "{misspelled}");
    let unknown = said("timer.sss(1)");
    assert!(unknown.contains("unknown probe point component sss(1)"), "{unknown}");
}

#[test]
fn what_is_no_place_of_the_kernel_is_said_to_be_none() {
    let tick = &objects(&["resolve", "tree.tick"])[0];
    assert_eq!((&tick["instance"], &tick["probe"]), (&json!("none"), &json!("timer.s(1)")), "{tick}");
    assert_eq!(local(tick, "count")["type"], "long");
    let user = &objects(&["resolve", "tree.user"])[0];
    assert_eq!(user["instance"], "unindexed", "{user}");
}

#[test]
fn aliases_that_lead_back_to_themselves_are_an_error_unless_they_may_be_missing() {
    let round = probeidx(&["find", "tree.round"]);
    assert_ne!(round.code, 0, "{round:?}");
    assert!(round.err.contains("leads back to itself"), "{round:?}");
    assert!(lines(&["find", "tree.*"]).iter().all(|line| !line.contains("round")));
}

/// A folder with one tapset.
fn tapset(text: &str) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("made.stp"), text).unwrap();
    let path = folder.path().to_owned();
    (folder, path)
}

#[test]
fn aliases_that_stand_for_millions_of_points_are_an_error_that_names_the_bound() {
    let mut text = String::from("probe many.a0 = timer.s(1) { x = 1 }\n");
    for level in 1..24 {
        let before = level - 1;
        text += &format!("probe many.a{level} = many.a{before}, many.a{before} {{ }}\n");
    }
    let (_folder, path) = tapset(&text);
    let index = indexed(Tree::compile(&USUAL), &path);
    let run = run_in(index.db.path(), ["find", "many.a23"]);
    assert_ne!(run.code, 0, "{run:?}");
    assert!(run.err.contains("more than 300000 points"), "{run:?}");
    assert_eq!(run_in(index.db.path(), ["find", "many.a3"]).found(), "many.a3\n");
}

#[test]
fn without_tapsets_the_remedy_is_named() {
    let (tree, db) = (Tree::compile(&USUAL), tempfile::tempdir().unwrap());
    let path = tree.path().to_owned();
    let arguments = [OsStr::new("build"), path.as_ref(), OsStr::new("--no-tapset")];
    assert_eq!(run_in(db.path(), arguments).code, 0);
    let run = run_in(db.path(), ["find", "vm.brk"]);
    assert_ne!(run.code, 0, "{run:?}");
    assert!(run.err.contains("tapset"), "{run:?}");
}

#[test]
fn names_are_completed_component_by_component() {
    let completed = |words: &[&str]| -> Vec<String> {
        let all = [&["complete", "--"], words].concat();
        probeidx(&all).out.lines().map(|l| l.split('\t').next().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(completed(&["find", "grov"]), ["grove."]);
    assert_eq!(completed(&["tapset", "t"]), ["tree."]);
    assert_eq!(completed(&["tapset", "tree.op"]), ["tree.open", "tree.optional"]);
    assert_eq!(completed(&["resolve", "tree.made_h"]), ["tree.made_here", "tree.made_here."]);
    assert_eq!(completed(&["tapset", "_"]), ["__tree."]);
    assert_eq!(completed(&["tapset", "--macros", ""]), ["choose_defined"]);
}
