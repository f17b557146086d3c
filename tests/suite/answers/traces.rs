//! What `trace` would write to tracefs, without a kernel that runs: the definitions are those of `resolve`, and filters say
//! what a condition says.
use super::values::{FORMER, LATER};
use super::verdicts::OLDER;
use crate::support::program::Indexed;
use std::collections::BTreeSet;

/// The definitions of a dry run, in order; the group is that of `resolve`.
fn defined(indexed: &Indexed, arguments: &[&str]) -> Vec<String> {
    writes(indexed, arguments)
        .into_iter()
        .filter_map(|(path, text)| {
            path.ends_with("/dynamic_events").then(|| text.replacen("probeidx_dry/", "probeidx/", 1))
        })
        .collect()
}

/// What a dry run would write: the path below tracefs, and the text.
fn writes(indexed: &Indexed, arguments: &[&str]) -> Vec<(String, String)> {
    let mut line = vec!["trace"];
    line.extend(arguments);
    line.extend(["--dry-run", "--kernel", "*", "--json"]);
    let run = indexed.run(&line);
    assert_eq!(run.code, 0, "{run:?}");
    let one = |line: &str| {
        let step: serde_json::Value = serde_json::from_str(line).unwrap();
        Some((step["path"].as_str()?.to_owned(), step["write"].as_str()?.to_owned()))
    };
    run.out.lines().filter_map(one).collect()
}

fn filter(indexed: &Indexed, arguments: &[&str]) -> String {
    let found: Vec<String> = writes(indexed, arguments)
        .into_iter()
        .filter(|(path, _)| path.ends_with("/filter"))
        .map(|w| w.1)
        .collect();
    let [only] = &found[..] else { panic!("{found:?}") };
    only.clone()
}

/// Nested copies, copies at one address and lines of several addresses are one probe here and there.
#[test]
fn what_is_planted_is_what_resolve_defines() {
    for arguments in [
        &["nested"][..],
        &["shared"],
        &["never_returns%return", "$return"],
        &["vmlinux:plain", "$arg1", "di=%di:x32"],
        &["places:*", "%si"],
    ] {
        let mut line = vec!["resolve"];
        line.extend(arguments);
        line.extend(["--format", "kprobe-events"]);
        let run = OLDER.run(&line);
        let resolved: Vec<&str> = run.out.lines().filter(|l| !l.starts_with('#')).collect();
        if resolved.is_empty() {
            continue;
        }
        let (resolved, planted): (BTreeSet<String>, BTreeSet<String>) = (
            resolved.into_iter().map(str::to_owned).collect(),
            defined(&OLDER, arguments).into_iter().collect(),
        );
        assert_eq!(planted, resolved, "{arguments:?}");
    }
}

#[test]
fn without_arguments_parameters_and_the_value_returned_are_read() {
    let [entry] = &defined(&FORMER, &["names"])[..] else { panic!() };
    assert!(entry.ends_with(" dentry=%di:x64 file=%si:x64 node=%dx:x64"), "{entry}");
    // Before 6.9 the kernel does not save what was passed.
    let [returned] = &defined(&FORMER, &["names%return"])[..] else { panic!() };
    assert!(returned.ends_with(" retval=$retval:s32"), "{returned}");
    let [returned] = &defined(&LATER, &["names%return"])[..] else { panic!() };
    // It has fprobes, which cost no less here and miss calls that return late.
    assert!(returned.starts_with("r:"), "{returned}");
    assert!(
        returned.ends_with(" retval=$retval:s32 dentry=$arg1:x64 file=$arg2:x64 node=$arg3:x64"),
        "{returned}"
    );
}

#[test]
fn conditions_become_filters_over_fields() {
    for (condition, expected) in [
        ("node", "node != 0"),
        ("dentry->d_flags & 0x10 && node != NULL", "d_flags & 16 && node != 0"),
        ("!(dentry->d_flags == -1)", "!(d_flags == 4294967295)"),
        ("5 < dentry->d_flags || $comm == \"sh\"", "d_flags > 5 || comm == \"sh\""),
        ("dentry->d_flags & (O_DIRECT | O_SYNC)", "d_flags & 1069056"),
    ] {
        assert_eq!(filter(&FORMER, &["names", "--if", condition]), expected, "{condition}");
    }
    assert_eq!(
        filter(&FORMER, &["names%return", "--if", "$return == -ENOENT", "--comm", "a b"]),
        "comm == \"a b\" && retval == -2"
    );
    // What is compared is fetched, also if it is not printed.
    let [line] = &defined(&FORMER, &["names", "file", "--if", "dentry->d_flags"])[..] else { panic!() };
    assert!(line.ends_with(" file=%si:x64 d_flags=+0(%di):x32"), "{line}");
}

#[test]
fn what_no_filter_says_is_refused() {
    for (condition, code, said) in [
        ("dentry->d_flags == \"x\"", 1, "no pointer and no array"),
        ("dentry->d_flags ~ 5", 2, "~ is for text"),
        ("dentry->d_flags == NO_SUCH_NAME", 1, "NO_SUCH_NAME is no enumerator of the kernel"),
        ("dentry->d_flags > 0x100000000", 2, "out of the range"),
        ("dentry == node->data", 2, "not with another field"),
        ("none == 1", 1, "no variable 'none'"),
    ] {
        let run = FORMER.run(&["trace", "names", "--if", condition, "--dry-run", "--kernel", "*"]);
        assert!(run.code == code && run.err.contains(said), "{condition}: {run:?}");
    }
}

#[test]
fn what_cannot_be_planted_says_why_and_what_else_can() {
    let run = OLDER.run(&["trace", "jump_labels", "--dry-run", "--kernel", "*"]);
    let resolved = OLDER.place("jump_labels");
    let verdict = resolved["attach"]["kprobe_events"].as_str().unwrap().to_owned();
    assert_eq!(verdict == "ok", run.code == 0, "{run:?}");
    let run = OLDER.run(&["trace", "jump_labels+5", "--dry-run", "--kernel", "*"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.err.contains("jump-label; instead: trace jump_labels+0x0"), "{run:?}");
    let run = OLDER.run(&["trace", "plani", "--dry-run", "--kernel", "*"]);
    assert!(run.code == 1 && run.err.contains("no function plani"), "{run:?}");
}

#[test]
fn a_dry_run_is_commands_of_a_shell_in_the_order_of_a_trace() {
    let run =
        FORMER.run(&["trace", "names", "file", "--if", "file != 0", "--dry-run", "--kernel", "*"]).found();
    let lines: Vec<&str> = run.lines().collect();
    let parts = [
        "mkdir '",
        "tracing_on'",
        "p:probeidx_dry/names ",
        "'file != 0' >> ",
        "/names/enable'",
        "tracing_on'",
    ];
    assert_eq!(lines.len(), parts.len(), "{run}");
    assert!(lines.iter().zip(parts).all(|(line, part)| line.contains(part)), "{run}");
}
