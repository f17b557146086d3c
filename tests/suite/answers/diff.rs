//! Two kernels side by side.
use super::verdicts::{OLDER, WITHOUT_RULES};
use crate::support::fixture::{Recipe, Tree, USUAL};
use crate::support::program::{Indexed, Run, run_in};
use crate::support::tables::{index, text};
use serde_json::Value;
use std::path::PathBuf;
use std::sync::LazyLock;

static BEFORE: LazyLock<Indexed> = LazyLock::new(|| kernel(&["-O2", "-gdwarf-5"]));
static AFTER: LazyLock<Indexed> = LazyLock::new(|| kernel(&["-O2", "-gdwarf-5", "-DNEWER"]));

fn kernel(flags: &'static [&'static str]) -> Indexed {
    let tree = Tree::compile(&USUAL);
    tree.add_module(&Recipe::new("gcc", flags), "diff-mod", &["diff", "diff_two"]);
    index(tree)
}

/// The index file of a kernel.
fn file(indexed: &Indexed) -> PathBuf {
    let files = std::fs::read_dir(indexed.db.path()).unwrap().map(|entry| entry.unwrap().path());
    files.into_iter().find(|path| path.extension().is_some_and(|e| e == "pidx")).unwrap()
}

fn diff(before: &Indexed, after: &Indexed, arguments: &[&str]) -> Run {
    let [one, other] = [file(before), file(after)];
    let mut line = vec!["diff", one.to_str().unwrap(), other.to_str().unwrap()];
    line.extend(arguments);
    run_in(before.db.path(), line)
}

fn json(before: &Indexed, after: &Indexed, arguments: &[&str]) -> Vec<Value> {
    let mut line = vec!["--json"];
    line.extend(arguments);
    let out = diff(before, after, &line).found();
    out.lines().map(|l| serde_json::from_str(l).unwrap()).collect()
}

#[test]
fn every_kind_of_difference() {
    let told = diff(&BEFORE, &AFTER, &[]).found();
    let folder = format!("{}/tests/fixtures/", env!("CARGO_MANIFEST_DIR"));
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../../snapshots");
    settings.set_prepend_module_to_snapshot(false);
    settings.bind(|| insta::assert_snapshot!("diff", told.replace(&folder, "")));
}

#[test]
fn a_kernel_does_not_differ_from_itself() {
    let told = diff(&BEFORE, &BEFORE, &[]).found();
    let [line] = &told.lines().collect::<Vec<_>>()[..] else { panic!("{told}") };
    assert!(line.starts_with("0 added, 0 removed, 0 changed, of "), "{line}");
}

#[test]
fn what_one_has_more_the_other_has_less() {
    let count = |lines: Vec<Value>, change: &str| lines.iter().filter(|l| l["change"] == change).count();
    for change in [("added", "removed"), ("removed", "added"), ("changed", "changed")] {
        let there = count(json(&BEFORE, &AFTER, &[]), change.0);
        assert_eq!(there, count(json(&AFTER, &BEFORE, &[]), change.1), "{change:?}");
        assert!(there > 0);
    }
}

#[test]
fn patterns_choose_names_files_kinds() {
    let subjects = |pattern: &str| -> Vec<String> {
        let lines = json(&BEFORE, &AFTER, &[pattern]);
        let named = lines.iter().filter(|l| l["subject"] != "summary");
        named.map(|l| format!("{} {}", l["subject"].as_str().unwrap(), l["name"].as_str().unwrap())).collect()
    };
    assert_eq!(subjects("struct *"), ["struct grown"]);
    assert_eq!(subjects("enum *"), ["enum phase"]);
    assert_eq!(subjects("[sp]*"), ["function signature", "function stays", "function stays", "enum phase"]);
    assert_eq!(subjects("*@diff_two.c"), ["function stays"]);
    assert_eq!(subjects("same"), [] as [&str; 0]);
    let none = diff(&BEFORE, &AFTER, &["nothing_of_this_name"]);
    none.refused(1, "probeidx: neither kernel has a function, type or tracepoint nothing_of_this_name");
}

#[test]
fn verdicts_that_changed_are_told() {
    let lines = json(&WITHOUT_RULES, &OLDER, &[]);
    let mut told = 0;
    for line in lines.iter().filter(|line| line["change"] == "changed" && line["before"]["file"] != "") {
        let scope = line["before"]["module"].as_str().unwrap_or("vmlinux");
        let changes = line["changes"].as_array().unwrap().iter();
        for change in changes.filter(|c| c["what"] == "verdict") {
            let (name, mechanism) = (text(line, "name"), text(change, "name"));
            let said =
                [&*WITHOUT_RULES, &*OLDER].map(|kernel| kernel.says(&format!("{scope}:{name}"), mechanism));
            assert_eq!([text(change, "before"), text(change, "after")], [&said[0][..], &said[1]], "{name}");
            told += 1;
        }
    }
    assert!(told > 0);
}

#[test]
fn a_release_that_is_not_indexed_is_named() {
    let told = run_in(BEFORE.db.path(), ["diff", "6.1.0-test", "7.0"]);
    assert_eq!((told.code, told.out.as_str()), (3, ""), "{told:?}");
    assert!(told.err.contains("no index of kernel 7.0; indexed are: 6.1.0-test"), "{told:?}");
}
