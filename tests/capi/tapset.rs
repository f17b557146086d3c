//! What tapsets define and what they are of use, why nothing was found, and what is in an index: over the C library the same
//! as from the command line.
use crate::aliases::ALIASES;
use crate::fixture::{RELEASE, skipped};
use crate::library::{INSTALLED, is_there};
use crate::program::{KERNEL, probeidx, run_in};
use crate::python::python;
use serde_json::{Value, json};
use std::path::Path;

/// What a program in Python prints, as JSON, with the index as `kernel`; none where there is no Python.
fn asked(db: &Path, program: &str) -> Option<Vec<Value>> {
    let installed = INSTALLED.as_ref()?;
    if !is_there("python3") {
        skipped("tapsets over the C library: there is no python3");
        return None;
    }
    let head = "import json, sys, dataclasses, probeidx\nkernel = probeidx.Index(sys.argv[1])\n\
                def say(one): print(json.dumps(one, default=dataclasses.asdict))\n";
    let printed = python(installed, &["-c".as_ref(), format!("{head}{program}").as_ref(), db.as_ref()]);
    Some(printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect())
}

fn told(db: &Path, arguments: &[&str]) -> Vec<Value> {
    let out = run_in(db, [&["--json"], arguments].concat()).out;
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A point as the command line has it, of one that the library explains.
fn arm(own: &Value) -> Value {
    let mut told = match own["outcome"].as_str().unwrap() {
        "probes" => json!({"state": "resolved", "places": own["probes"], "reachable": own["reachable"],
            "ends": own["ends"]}),
        "nothing" => json!({"state": "nothing", "why": own["why"]}),
        other => json!({"state": other}),
    };
    told["point"] = own["point"].clone();
    let inner: Vec<_> = own["through"].as_array().unwrap().iter().map(arm).collect();
    if !inner.is_empty() {
        told["through"] = json!(inner);
    }
    told
}

#[test]
fn aliases_are_explained_as_on_the_command_line() {
    // Without those that lead back to themselves, which are an error.
    const PATTERNS: [&str; 9] = [
        "tree.f*",
        "tree.o*",
        "__tree.*",
        "tree.g*",
        "tree.made",
        "tree.b*",
        "tree.t*",
        "tree.user",
        "grove.**",
    ];
    let db = ALIASES.db.path();
    let (mut own, mut known) = (vec![], vec![]);
    for pattern in PATTERNS {
        let Some(more) = asked(db, &format!("for d in kernel.tapset('{pattern}'): say(d)\n")) else {
            return;
        };
        own.extend(more);
        known.extend(told(db, &["tapset", pattern]));
    }
    assert_eq!(own.len(), known.len());
    let mut outcomes = vec![];
    for (own, told) in own.iter().zip(&known) {
        assert_eq!(own["names"], told["alias"]);
        let name = &told["alias"];
        assert_eq!((&own["file"], &own["line"]), (&told["file"], &told["line"]), "{name}");
        assert_eq!(own["comment"], told["comment"].as_str().unwrap_or_default(), "{name}");
        let arms: Vec<Value> = own["arms"].as_array().unwrap().iter().map(arm).collect();
        assert_eq!(json!(arms), told["here"]["points"], "{name}");
        outcomes.extend(arms.iter().map(|arm| arm["state"].as_str().unwrap().to_owned()));
        let given = |behind: bool| -> Vec<Value> {
            let all = own["assignments"].as_array().unwrap().iter().filter(|a| a["is_behind"] == behind);
            all.map(|a| json!({"name": a["name"], "value": a["value"], "line": a["line"]})).collect()
        };
        assert_eq!(json!(given(false)), told["before"], "{name}");
        assert_eq!(json!(given(true)), told["behind"], "{name}");
        let groups = own["groups"].as_array().unwrap();
        let others = told["here"]["locals"].as_array().unwrap();
        assert_eq!(groups.len(), others.len(), "{name}");
        for (own, told) in groups.iter().zip(others) {
            assert_eq!(own[0], told["places"], "{name}");
            let names = |of: &Value| -> Vec<Value> {
                of.as_array().unwrap().iter().map(|l| json!([l["name"], l["type"], l["state"]])).collect()
            };
            assert_eq!(names(&own[1]), names(&told["locals"]), "{name}");
        }
    }
    for outcome in ["resolved", "nothing", "not-tried"] {
        assert!(outcomes.iter().any(|o| o == outcome), "no point is {outcome}: {outcomes:?}");
    }
}

#[test]
fn macros_and_the_health_of_aliases_are_those_of_the_command_line() {
    let db = ALIASES.db.path();
    let Some(own) = asked(db, "for m in kernel.macros(): say(m)\n") else { return };
    let told_of = told(db, &["tapset", "--macros"]);
    assert_eq!(own.len(), told_of.len());
    for (own, told) in own.iter().zip(&told_of) {
        assert_eq!(own["name"], told["macro"]);
        for name in ["parameters", "body", "file", "line"] {
            assert_eq!(own[name], told[name], "{}", own["name"]);
        }
    }
    assert!(!own.is_empty());
    let own = asked(db, "for h in kernel.check_tapset()[0]: say(h)\n").unwrap();
    let told = told(db, &["check", "--tapset"]);
    let told: Vec<_> = told.iter().filter(|line| !line["state"].is_null()).collect();
    assert_eq!(own.len(), told.len());
    let mut dead = 0;
    for (own, told) in own.iter().zip(&told) {
        assert_eq!((&own["name"], &own["line"]), (&told["alias"], &told["line"]));
        dead += usize::from(told["state"] == "dead");
        assert_eq!(own["state"] == "fails", told["state"] == "dead", "{own}");
        let points: Vec<_> =
            told["arms"].as_array().unwrap().iter().map(|a| json!([a["point"], a["matches"]])).collect();
        assert_eq!(own["points"], json!(points));
        let broken = |of: &Value, name: &str| -> Vec<Value> {
            of["broken"]
                .as_array()
                .unwrap()
                .iter()
                .map(|b| json!([b[name], b["variable"], b["why"], b["instead"]]))
                .collect()
        };
        assert_eq!(broken(own, "name"), broken(told, "local"));
    }
    assert!(dead > 0, "no alias is dead");
}

/// Both say the same of what is not there; the library has the names apart.
#[test]
fn what_is_missing_is_named_as_on_the_command_line() {
    let names = [
        ("spec", "submti", "find"),
        ("spec", "kernel.function(\"submit\").inline", "find"),
        ("spec", "kernel.statement(\"submit@core.c:1\")", "find"),
        ("spec", "nothing_is_like_this_at_all", "find"),
        ("spec", "betta:lookup", "find"),
        ("type", "struct requst", "type"),
        ("type", "union request", "type"),
        ("module", "betta", "blacklist"),
    ];
    let (mut near, mut known) = (0, 0);
    for (kind, name, command) in names {
        let program = format!("for m in kernel.why_not({name:?}, {kind:?}): say(m)\n");
        let Some(own) = asked(KERNEL.db.path(), &program) else { return };
        let ran = probeidx(&[command, name]);
        assert_eq!(ran.code, 1, "{name}");
        for one in &own {
            let names = one["near"].as_array().unwrap();
            let names: Vec<_> = names.iter().filter_map(Value::as_str).collect();
            let mut text = one["why"].as_str().unwrap().to_owned();
            if !names.is_empty() {
                text += &format!("; did you mean {}?", names.join(", "));
            }
            assert!(ran.err.contains(&text), "{name}: {text}\n{}", ran.err);
            near += names.len();
            known += usize::from(one["is_known"] == true);
        }
        assert!(!own.is_empty(), "{name}");
    }
    assert!(near > 2 && known > 1, "{near} near names, {known} that are there");
}

#[test]
fn what_is_in_an_index_is_what_the_command_line_counts() {
    let db = KERNEL.db.path();
    let program = "say(kernel.counts()); say(kernel.sections()); say(kernel.skipped()); kernel.verify()\n\
                   say(probeidx.kernels(sys.argv[1]))\nsay([kernel.defined('vmlinux:submit', a) for a in ('rq->name', 'rq->nome')])\n";
    let Some(own) = asked(db, program) else { return };
    let told = &told(db, &["stats"])[0];
    for (name, count) in own[0].as_object().unwrap() {
        let told = match &**name {
            "bytes" => &told["size"],
            "definitions" => &told["counts"]["definitions_of_tapsets"],
            "skipped" => &told["counts"]["parts_that_could_not_be_read"],
            name => &told["counts"][name],
        };
        assert_eq!(count, told, "{name}");
    }
    assert_eq!(own[0].as_object().unwrap().len(), told["counts"].as_object().unwrap().len() + 1);
    assert_eq!((&own[1], &own[2]), (&told["sections"], &json!([])));
    assert_eq!((&own[3][0]["release"], &own[3][0]["why"]), (&json!(RELEASE), &json!("")));
    assert_eq!(own[4], json!([[1, 1], [0, 1]]));
}

/// A byte that is not what it was: `verify` names the section, as the command line does.
#[test]
fn damage_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("damaged.pidx");
    let mut bytes = std::fs::read(KERNEL.db.path().join(format!("{RELEASE}.pidx"))).unwrap();
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let program = "try:\n    kernel.verify()\nexcept probeidx.Error as e:\n    say([e.kind, str(e)])\n";
    let Some(own) = asked(&path, program) else { return };
    let ran = run_in(&path, ["verify"]);
    assert_eq!((ran.code, own.len()), (3, 1), "{ran:?}");
    assert_eq!(own[0][0], "index-damaged");
    let section = ran
        .err
        .split("section ")
        .nth(1)
        .and_then(|rest| rest.split([',', ':', ' ', ';']).next())
        .unwrap_or("damaged");
    assert!(own[0][1].as_str().unwrap().contains(section), "{own:?}\n{}", ran.err);
}
