//! Who calls a function, and where it is inlined instead.
use crate::support::fixture::{Recipe, Tree, possible};
use crate::support::program::{run_in, source};
use serde_json::Value;
use std::collections::BTreeMap;
use tempfile::TempDir;

/// The compilers that write call sites, each with the tree of its modules indexed.
fn indexed() -> Vec<(Recipe, TempDir)> {
    let recipes = [
        Recipe::new("gcc", &["-O2", "-gdwarf-5"]),
        Recipe::new("gcc", &["-O2", "-gdwarf-4"]),
        Recipe::new("clang", &["-O2", "-gdwarf-5"]),
        Recipe::new("clang", &["-O2", "-gdwarf-4"]),
    ];
    let recipes = recipes.into_iter().filter(possible);
    recipes.map(|recipe| (recipe, index(&recipe))).collect()
}

fn index(recipe: &Recipe) -> TempDir {
    let tree = Tree::compile(recipe);
    tree.add_module(recipe, "calls_one", &["calls_one", "calls_two"]);
    tree.add_module(recipe, "calls_user", &["calls_user"]);
    let db = tempfile::tempdir().unwrap();
    let built = run_in(db.path(), ["build", "-q", tree.path().to_str().unwrap()]);
    assert_eq!(built.code, 0, "{built:?}");
    db
}

/// The line of a comment in a fixture.
fn line(file: &str, comment: &str) -> u64 {
    let text = std::fs::read_to_string(source(file)).unwrap();
    let comment = format!("/* {comment} */");
    1 + text.lines().position(|line| line.ends_with(&comment)).expect(&comment) as u64
}

/// Module, name and kind of a caller.
type Key = (String, String, String);

/// The lines of the sites of each caller, with why their code is gone.
fn callers(db: &TempDir, name: &str) -> BTreeMap<Key, Vec<(u64, Option<String>)>> {
    let run = run_in(db.path(), ["--json", "callers", name]);
    assert_eq!((run.code, run.err.as_str()), (0, ""), "{run:?}");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut found = BTreeMap::new();
    for one in run.out.lines().map(|line| serde_json::from_str::<Value>(line).unwrap()) {
        let key = (text(&one["module"]), text(&one["caller"]), text(&one["kind"]));
        let site = |s: &Value| (s["line"].as_u64().unwrap(), s["gone"].as_str().map(str::to_owned));
        let sites = one["sites"].as_array().unwrap().iter().map(site).collect();
        assert_eq!(found.insert(key, sites), None, "{one}");
    }
    found
}

fn key(module: &str, caller: &str, kind: &str) -> Key {
    (module.to_owned(), caller.to_owned(), kind.to_owned())
}

#[test]
fn each_kind_of_call() {
    for (recipe, db) in indexed() {
        let one = |comment| (line("calls_one.c", comment), None);
        let found = callers(&db, "calls_one:callee");
        let expected = BTreeMap::from([
            (key("calls_one", "calls_directly", "call"), vec![one("first"), one("second")]),
            (key("calls_one", "calls_last", "tail-call"), vec![one("tail")]),
            (key("calls_one", "inlined_caller", "call"), vec![one("from a copy"); 2]),
            (
                key("calls_one", "early_caller", "call"),
                vec![(line("calls_one.c", "early"), Some("init-text".to_owned()))],
            ),
        ]);
        assert_eq!(found, expected, "{recipe:?}");
        let copies = callers(&db, "inlined_caller");
        let expected = vec![one("first copy"), one("second copy")];
        assert_eq!(
            copies,
            BTreeMap::from([(key("calls_one", "contains_copies", "inlined"), expected)]),
            "{recipe:?}"
        );
    }
}

#[test]
fn calls_across_units_and_modules_lead_to_what_the_linker_finds() {
    for (recipe, db) in indexed() {
        let user = |comment| vec![(line("calls_user.c", comment), None)];
        let found = callers(&db, "exported_callee");
        let expected = key("calls_user", "calls_other_module", "call");
        assert_eq!(found, BTreeMap::from([(expected, user("other module"))]), "{recipe:?}");
        let found = callers(&db, "calls_user:other_unit");
        assert_eq!(
            found,
            BTreeMap::from([(key("calls_user", "calls_own", "call"), user("own"))]),
            "{recipe:?}"
        );
        let found = callers(&db, "calls_one:other_unit");
        let own = key("calls_one", "calls_other_unit", "call");
        let own = BTreeMap::from([(own, vec![(line("calls_one.c", "other unit"), None)])]);
        assert_eq!(found, own, "{recipe:?}");
    }
}

#[test]
fn the_summary_counts_what_runs() {
    let db = index(&Recipe::new("gcc", &["-O2", "-gdwarf-5"]));
    let ask = |name: &str| run_in(db.path(), ["callers", name]).found();
    let second = |text: &str| text.lines().nth(1).unwrap().trim().to_owned();
    assert_eq!(
        second(&ask("calls_one:callee")),
        "5 calls in 3 functions reach its entry; no code of it is inlined; 1 more is in code that a running kernel does \
         not have"
    );
    assert_eq!(second(&ask("inlined_caller")), "it has no entry, only 2 inlined copies in 1 function");
    // A call through a pointer names nothing.
    assert_eq!(second(&ask("taken_away")), "no direct call reaches its entry; no code of it is inlined");
    let sites = run_in(db.path(), ["callers", "-v", "exported_callee"]).found();
    assert!(sites.contains("calls_other_module+0x"), "{sites}");
    let history = run_in(db.path(), ["--json", "history", "calls_one:callee"]).found();
    let fact = |what: &str| {
        let lines = history.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        let facts: Vec<Value> = lines.filter(|f| f["fact"]["what"] == what).collect();
        assert_eq!(facts.len(), 1, "{history}");
        facts[0]["fact"]["value"].clone()
    };
    assert_eq!(fact("called_by"), serde_json::json!(["calls_directly", "calls_last", "inlined_caller"]));
    assert_eq!((fact("calls"), fact("copies")), (5.into(), 0.into()));
}

#[test]
fn a_name_that_nothing_has_and_what_is_no_function() {
    let db = index(&Recipe::new("gcc", &["-O2", "-gdwarf-5"]));
    let run = run_in(db.path(), ["callers", "exported_caller"]);
    assert_eq!((run.code, run.out.as_str()), (1, ""), "{run:?}");
    assert!(run.err.contains("exported_callee"), "{run:?}");
    for wrong in ["core.c:12", "0xffffffff81000000"] {
        let run = run_in(db.path(), ["callers", wrong]);
        assert_eq!(run.code, 2, "{run:?}");
        assert!(run.err.contains("only functions are called"), "{run:?}");
    }
}

#[test]
fn an_index_without_call_sites_says_so() {
    // GCC writes none without optimization.
    let db = index(&Recipe::new("gcc", &["-O0", "-gdwarf-5"]));
    let run = run_in(db.path(), ["callers", "calls_one:callee"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.out.contains("direct calls are unknown"), "{run:?}");
    assert!(run.err.contains("direct calls are unknown"), "{run:?}");
    let history = run_in(db.path(), ["--json", "history", "calls_one:callee"]).found();
    assert!(history.contains(r#""fact":{"unknown":true,"what":"called_by"}"#), "{history}");
}
