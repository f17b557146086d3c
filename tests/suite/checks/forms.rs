//! The table, JSON Lines, SARIF and annotations.
use crate::answers::history::{FLEET, KERNELS};
use crate::support::program::{Run, run_in};
use serde_json::{Value, json};
use std::ffi::OsStr;

/// Two that are everywhere, one that only the newer kernel has, and one that is nowhere.
const POINTS: &str = "stays\nback\ncomes # new in 6.2\n  no_such_function\n";

/// Checks a list of this name, as it is called in its folder.
fn check(name: &str, text: &str, options: &[&str]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join(name), text).unwrap();
    let mut command = crate::support::program::command(FLEET.path());
    command.current_dir(folder.path()).args(["check", name]).args(options.iter().map(OsStr::new));
    Run::of(command.output().unwrap())
}

#[test]
fn a_table_has_what_differs_and_each_finding_once() {
    let run = check("points", POINTS, &["--kernel", "*"]);
    assert_eq!((run.code, &*run.err), (1, ""), "{run:?}");
    let cells = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>().join(" ");
    let lines: Vec<String> = run.out.lines().map(cells).collect();
    let expected = [
        "file 6.1.0-1-rt 6.1.0-2-rt 6.2.0-1-rt 6.2.0-1-up",
        "points absent absent absent absent",
        "comes absent absent ok absent",
        "no_such_function absent absent absent absent",
        "2 others ok ok ok ok",
        "points:3:1: comes: nothing matches comes",
        "on 6.1.0-1-rt .. 6.1.0-2-rt (2 kernels), 6.2.0-1-up",
    ];
    assert_eq!(lines[..expected.len()], expected, "{}", run.out);
    assert_eq!(run.out.matches("points:4:3: no_such_function").count(), 1, "{}", run.out);
    assert!(run.out.contains("on all 4 kernels"), "{}", run.out);
}

#[test]
fn who_wants_the_entry_of_an_inlined_function_is_told_so() {
    for point in ["kprobe:back", "kprobe/back", "fentry:back", "p:my/event back"] {
        let run = check("points", &format!("{point}\nback\n"), &["--kernel", "6.1.0-2-rt", "--json"]);
        let told: Value = serde_json::from_str(run.out.lines().next().unwrap()).unwrap();
        assert_eq!((run.code, &told["state"]), (1, &json!("inlined")), "{point}: {run:?}");
        assert_eq!(
            told["findings"][0]["reason"],
            "back is only inlined, at 1 place; see: probeidx resolve back"
        );
    }
}

#[test]
fn a_file_of_one_program_or_without_findings_is_one_line() {
    let run = check("points", "stays\nback\n", &["--kernel", "*"]);
    assert_eq!((run.code, run.out.lines().count()), (0, 2), "{run:?}");
    let run = check("points", "comes\n", &["--kernel", "6.1.0-1-rt"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.out.lines().nth(1).unwrap().starts_with("points comes  absent"), "{run:?}");
    // Of a single kernel it is not said which.
    assert!(!run.out.contains("  on "), "{run:?}");
}

#[test]
fn json_has_a_line_for_each_program_and_kernel_and_one_for_the_file() {
    let run = check("points", POINTS, &["--kernel", "*", "--json"]);
    assert_eq!(run.code, 1, "{run:?}");
    let objects: Vec<Value> = run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(objects.len(), KERNELS.len() * 5, "{run:?}");
    for object in &objects {
        assert_eq!(object["file"], "points", "{object}");
        let id = object["build_id"].as_str().unwrap();
        assert!(id.len() == 40 && id.bytes().all(|b| b.is_ascii_hexdigit()), "{object}");
        let (is_ok, found) = (object["state"] == "ok", object["findings"].as_array().unwrap());
        assert_eq!(object["reachable"], is_ok, "{object}");
        // That of the file has the findings of no program.
        assert_eq!(is_ok || object["program"].is_null(), found.is_empty(), "{object}");
    }
    let comes = objects.iter().find(|o| o["program"] == "comes" && o["kernel"] == "6.2.0-1-up").unwrap();
    let finding = &comes["findings"][0];
    for (field, value) in [
        ("state", json!("absent")),
        ("severity", json!("error")),
        ("line", json!(3)),
        ("column", json!(1)),
        ("source", json!("comes")),
        ("reason", json!("nothing matches comes")),
        ("errno", Value::Null),
    ] {
        assert_eq!(finding[field], value, "{field} of {finding}");
    }
    assert!(finding["instead"].is_array() && finding.get("guarded").is_none(), "{finding}");
    let states: Vec<&Value> =
        objects.iter().filter(|o| o["program"].is_null()).map(|o| &o["state"]).collect();
    assert_eq!(states, [&json!("absent"); 4]);
}

#[test]
fn sarif_has_a_result_for_each_finding() {
    let run = check("probe points", POINTS, &["--kernel", "*", "--sarif"]);
    assert_eq!((run.code, run.out.lines().count()), (1, 1), "{run:?}");
    let document: Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(document["version"], "2.1.0");
    let run = &document["runs"][0];
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 2, "{document}");
    let rules: Vec<&Value> =
        run["tool"]["driver"]["rules"].as_array().unwrap().iter().map(|r| &r["id"]).collect();
    for result in results {
        assert!(rules.contains(&&result["ruleId"]), "{result}");
        let place = &result["locations"][0]["physicalLocation"];
        assert_eq!(place["artifactLocation"]["uri"], "probe%20points", "{result}");
    }
    assert_eq!(results[0]["level"], "error");
    let region = json!({"startLine": 3, "startColumn": 1});
    assert_eq!(results[0]["locations"][0]["physicalLocation"]["region"], region);
    assert_eq!(results[0]["properties"]["kernels"], json!(["6.1.0-1-rt", "6.1.0-2-rt", "6.2.0-1-up"]));
}

#[test]
fn annotations_are_a_line_for_each_finding() {
    let run = check("a,b", "comes\n", &["--kernel", "6.1*", "--github"]);
    let expected =
        "::error file=a%2Cb,line=1,col=1,title=absent::comes: nothing matches comes; on all 2 kernels";
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.out.starts_with(expected) && run.out.lines().count() == 1, "{run:?}");
    assert_eq!(check("points", "stays\n", &["--kernel", "6.1*", "--github"]).out, "");
}

#[test]
fn one_form_at_a_time() {
    for forms in [["--sarif", "--github"], ["--json", "--sarif"], ["--json", "--github"]] {
        let run = run_in(FLEET.path(), [&["check", "points"][..], &forms].concat());
        assert_eq!(run.code, 2, "{forms:?}: {run:?}");
    }
}

#[test]
fn of_many_kernels_those_that_say_the_same_share_a_column() {
    let db = tempfile::tempdir().unwrap();
    for (release, _) in KERNELS {
        std::fs::copy(
            FLEET.path().join(format!("{release}.pidx")),
            db.path().join(format!("{release}.pidx")),
        )
        .unwrap();
        for copy in ["a", "b"] {
            let name = format!("{release}{copy}.pidx");
            std::fs::copy(FLEET.path().join(format!("{release}.pidx")), db.path().join(name)).unwrap();
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("points");
    std::fs::write(&file, "stays\ncomes\n").unwrap();
    let run = run_in(db.path(), [OsStr::new("check"), file.as_ref(), "--kernel".as_ref(), "*".as_ref()]);
    let last = run.out.lines().find(|line| line.trim_start().starts_with("comes")).unwrap();
    let words: Vec<&str> = last.split_whitespace().collect();
    assert_eq!(words, ["comes", "absent", "ok"], "{}", run.out);
}

#[test]
fn commands_of_other_tools_are_lists_of_points() {
    let text = "trace-cmd record -p function -l stays -l no_such_function\nperf probe --add 'stays count'\n";
    let run = check("points", text, &["--kernel", "6.1.0-1-rt", "--json"]);
    let objects: Vec<Value> = run.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let programs: Vec<&str> = objects.iter().filter_map(|object| object["program"].as_str()).collect();
    assert_eq!(programs, ["kprobe.multi:stays", "kprobe.multi:no_such_function", "kprobe:stays"], "{run:?}");
    let finding =
        &objects.iter().find(|o| o["program"] == "kprobe.multi:no_such_function").unwrap()["findings"][0];
    assert_eq!((&finding["line"], &finding["column"]), (&json!(1), &json!(42)), "{run:?}");
}

#[test]
fn a_project_says_which_programs_suffice() {
    let folder = tempfile::tempdir().unwrap();
    let below = folder.path().join("a/b");
    std::fs::create_dir_all(&below).unwrap();
    std::fs::write(below.join("points"), "stays\nno_such_function\n").unwrap();
    let settings = folder.path().join("probeidx.toml");
    let run = || {
        let mut command = crate::support::program::command(FLEET.path());
        command.current_dir(folder.path()).args(["check", "a/b/points", "--kernel", "6.1.0-1-rt"]);
        Run::of(command.output().unwrap())
    };
    assert_eq!(run().code, 1);
    std::fs::write(&settings, "[check]\nneed = [\"stays|no_such_*\"]\n").unwrap();
    assert_eq!(run().code, 0, "{:?}", run());
    // The nearest counts.
    std::fs::write(below.join("probeidx.toml"), "").unwrap();
    assert_eq!(run().code, 1);
    for (text, why) in [
        ("[check]\nneed = 3\n", "need"),
        ("[check]\nother = []\n", "other"),
        ("[chek]\n", "chek"),
        ("[check\n", "probeidx.toml"),
        ("[check]\nneed = [\"stays\"]\n", "no alternatives"),
    ] {
        std::fs::write(below.join("probeidx.toml"), text).unwrap();
        let run = run();
        assert!(run.code >= 2 && run.err.contains(why) && run.out.is_empty(), "{text}: {run:?}");
    }
}
