//! Scripts of bpftrace: each rule on small kernels.
use super::scripts::ALL;
use crate::answers::history::FLEET;
use crate::answers::tracepoints::FIXED;
use crate::answers::trampolines::{CONFIGURATION, indexed};
use crate::support::program::{Indexed, Run, run_in};
use crate::support::tables::OLD;
use serde_json::Value;
use std::ffi::OsStr;
use std::path::Path;
use std::sync::LazyLock;

/// A kernel with verdicts and prototypes; `None` without pahole, which makes its BTF.
pub static VERDICTS: LazyLock<Option<Indexed>> = LazyLock::new(|| indexed(OLD, true, CONFIGURATION));

fn run(db: &Path, name: &str, script: &str, options: &[&str]) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    std::fs::write(&file, script).unwrap();
    let mut arguments = vec![OsStr::new("check"), file.as_ref()];
    arguments.extend(options.iter().map(OsStr::new));
    run_in(db, arguments)
}

/// The programs of a script with their states, each finding as `LINE:COLUMN STATE[ ERRNO]: REASON[ => INSTEAD]`.
pub fn found(db: &Path, script: &str, options: &[&str]) -> Vec<String> {
    found_in(db, "a.bt", script, options)
}

/// The same of a file of this name.
pub fn found_in(db: &Path, name: &str, text: &str, options: &[&str]) -> Vec<String> {
    lines_of(&run(db, name, text, &[options, &["--json"]].concat()))
}

/// The programs of an answer: see [`found`].
pub fn lines_of(run: &Run) -> Vec<String> {
    let mut lines = vec![];
    for line in run.out.lines() {
        let object: Value = serde_json::from_str(line).unwrap();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        if object["program"].is_null() {
            let fails = !matches!(object["state"].as_str(), Some("ok" | "partial" | "unindexed"));
            assert_eq!(run.code, i32::from(fails), "{run:?}");
            continue;
        }
        lines.push(format!("{} {}", text(&object["program"]), text(&object["state"])));
        let findings = object["findings"].as_array().unwrap().iter();
        for f in findings.filter(|f| !text(&f["reason"]).ends_with("which has to be loaded")) {
            let errno = f["errno"].as_str().map_or(String::new(), |errno| format!(" {errno}"));
            let mut line = format!(
                "  {}:{} {}{errno}: {}",
                f["line"],
                f["column"],
                text(&f["state"]),
                text(&f["reason"])
            );
            let instead: Vec<String> = f["instead"].as_array().unwrap().iter().map(text).collect();
            // Anchors depend on what the compiler puts where.
            if !instead.is_empty() && f["state"] != "ambiguous" {
                line += &format!(" => {}", instead.join(", "));
            }
            lines.push(line);
        }
    }
    lines
}

#[test]
fn scripts_are_judged() {
    for (kernel, scripts) in ALL {
        for (script, expected) in *scripts {
            let Some(lines) = on(kernel, script) else { continue };
            assert_eq!(lines, *expected, "{script} on {kernel}");
        }
    }
}

#[test]
fn what_is_in_a_module_needs_it() {
    let run = run(FLEET.path(), "a.bt", "kprobe:stays {} kprobe:calls {}", &["--kernel", "6.1.0-1-rt"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(
        run.out.contains("note: kprobe:stays and 1 more: it is in module diff_mod, which has to be loaded"),
        "{run:?}"
    );
}

#[test]
fn a_script_is_known_by_its_name_or_its_first_line() {
    let is_script = |name, text: &str| {
        let run = run(FLEET.path(), name, text, &["--kernel", "6.1.0-1-rt", "--json"]);
        assert!(run.out.contains("\"kprobe:calls\""), "{run:?}");
        run.out.lines().next().unwrap().contains("which has to be loaded")
    };
    assert!(is_script("a.bt", "kprobe:calls { exit() }"));
    assert!(is_script("tool", "#!/usr/bin/env bpftrace\nkprobe:calls { exit() }"));
    assert!(!is_script("list", "kprobe:calls"));
}

#[test]
fn an_error_is_one_line_with_its_place() {
    for (script, place) in [("kprobe:calls {\n  printf(\"x\n}", "a.bt:2:10"), ("kprobe:calls", "a.bt:1:13")] {
        let run = run(FLEET.path(), "a.bt", script, &["--kernel", "6.1.0-1-rt"]);
        assert_eq!((run.code, run.err.lines().count()), (3, 1), "{run:?}");
        assert!(run.err.contains(place), "{run:?}");
    }
}

/// What is found in a script on one of the kernels of the tests; `None` if it cannot be made here.
fn on(kernel: &str, script: &str) -> Option<Vec<String>> {
    Some(match kernel {
        // It has no BTF, which later ones need.
        "events" => found(FIXED.db.path(), script, &["--bpftrace", "0.23"]),
        "verdicts" => found(VERDICTS.as_ref()?.db.path(), script, &[]),
        release => found(FLEET.path(), script, &["--kernel", release]),
    })
}
