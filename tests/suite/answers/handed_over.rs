//! Text for other tools: what it says, that shells and compilers take it, and that it is about the places of the JSON.
use super::tracepoints::FIXED;
use super::verdicts::OLDER;
use crate::support::tables::text;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

const SWITCH: &str = "kernel.trace(\"task_switch\")";

fn handed_over(spec: &[&str], tool: &str) -> String {
    OLDER.run(&[&["resolve", "--format", tool], spec].concat()).found()
}

fn assert_text(name: &str, shown: &str) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("../../../snapshots/handed_over");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.add_filter("build id [0-9a-f]{40}", "build id [id]");
    settings.bind(|| insta::assert_snapshot!(name, shown));
}

/// Of functions that assembly defines, so that no compiler's version shows.
#[test]
fn each_tool_gets_text() {
    let raw = ["%di:x32", "name=+0(+96(%si)):string", "bits=+4(%dx):b3@2/32", "user=+u8(%cx):s16"];
    for tool in ["perf", "trace-cmd", "bpftrace", "c"] {
        let mut shown = String::new();
        for spec in [
            "vmlinux:plain",
            "untraced",
            "twin",
            "nested",
            "jumps_out%return",
            "blocked%return",
            "places:again",
        ] {
            // Without debug information, nothing tells what they return.
            let arguments = if spec.contains('%') { vec![] } else { raw.to_vec() };
            let run = OLDER.run(&[&["resolve", spec, "--format", tool], &arguments[..]].concat());
            let _ = writeln!(shown, "$ resolve {spec}\n{}{}", run.out, run.err);
        }
        assert_text(tool, &shown);
    }
}

#[test]
fn tracepoints_go_through_the_events_of_the_kernel() {
    let mut shown = String::new();
    for tool in ["perf", "bpftrace", "c"] {
        for arguments in
            [&[SWITCH][..], &[SWITCH, "prev_pid", "comm=prev_comm", "name"], &["kernel.trace(\"load_tp\")"]]
        {
            let run = FIXED.run(&[&["resolve", "--format", tool], arguments].concat());
            let _ =
                writeln!(shown, "$ resolve {} --format {tool}\n{}{}", arguments.join(" "), run.out, run.err);
        }
    }
    assert_text("tracepoints", &shown);
}

/// The symbol and offset of each place that perf reaches, as the JSON has them.
fn reached(mechanism: &str) -> BTreeSet<String> {
    let places = OLDER.json(&["resolve", "*"]);
    let is_reached = |p: &&Value| text(&p["attach"], mechanism) == "ok" && p["anchor"].is_object();
    let anchor = |p: &Value| {
        let anchor = &p["anchor"];
        let module = anchor["module"].as_str().map_or(String::new(), |m| format!("{m}:"));
        format!("{module}{}+{}", text(anchor, "symbol"), anchor["offset"])
    };
    places.iter().filter(is_reached).map(anchor).collect()
}

/// What a script does, with a folder in place of tracefs and programs that write down their arguments.
#[test]
fn scripts_define_record_and_remove() {
    for (tool, program) in [("perf", "perf"), ("trace-cmd", "trace-cmd")] {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        let script = handed_over(&["*"], tool);
        let tracing = at("tracing");
        std::fs::create_dir(&tracing).unwrap();
        std::fs::write(tracing.join("README"), "").unwrap();
        let script =
            script.replace("tracing=/sys/kernel/tracing\n", &format!("tracing={}\n", tracing.display()));
        std::fs::write(at("script"), &script).unwrap();
        let release = script.lines().nth(1).unwrap().split([' ', ',']).nth(2).unwrap();
        put(&at("uname"), &format!("echo {release}\n"));
        put(
            &at(program),
            "for word; do echo \"$word\"; done >\"$TOLD\"\ncp \"$TRACING/kprobe_events\" \"$TOLD.defined\"\n",
        );
        let run = |arguments: &[&str]| {
            let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
            let mut shell = Command::new("sh");
            shell.arg(at("script")).args(arguments).env("PATH", path);
            shell.env("TOLD", at("told")).env("TRACING", &tracing).output().unwrap()
        };
        let ran = run(&["sleep", "1"]);
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let told = std::fs::read_to_string(at("told")).unwrap();
        let words: Vec<&str> = told.lines().collect();
        assert_eq!(words[words.len() - 2..], ["sleep", "1"]);
        let recorded: BTreeSet<_> = words.windows(2).filter(|w| w[0] == "-e").map(|w| w[1]).collect();
        let defined = std::fs::read_to_string(at("told.defined")).unwrap();
        let lines = || defined.lines().filter(|l| !l.starts_with('#'));
        let events: BTreeSet<_> =
            lines().map(|l| l[2..].split(' ').next().unwrap().replace('/', ":")).collect();
        assert_eq!(recorded, events.iter().map(String::as_str).collect());
        let anchors: BTreeSet<String> = lines().map(|l| l.split(' ').nth(1).unwrap().to_owned()).collect();
        // A nested copy is passed with the one that holds it.
        let missing: Vec<_> = reached("kprobe_events").into_iter().filter(|a| !anchors.contains(a)).collect();
        assert_eq!(missing.len(), 1, "{missing:?}");
        let after = std::fs::read_to_string(tracing.join("kprobe_events")).unwrap();
        let removed: BTreeSet<_> =
            after[defined.len()..].lines().map(|l| l.strip_prefix("-:").unwrap().replace('/', ":")).collect();
        assert_eq!(removed, events);

        // An event that is there already is not touched, and another kernel is not probed.
        std::fs::create_dir_all(
            tracing.join("events/probeidx").join(&events.first().unwrap()["probeidx:".len()..]),
        )
        .unwrap();
        let before = std::fs::read(tracing.join("kprobe_events")).unwrap();
        let said = |ran: &std::process::Output| String::from_utf8_lossy(&ran.stderr).into_owned();
        let ran = run(&[]);
        assert!(
            ran.status.code() == Some(1) && said(&ran).contains(": there is an event probeidx/"),
            "{ran:?}"
        );
        put(&at("uname"), "echo 1.2.3\n");
        let ran = run(&[]);
        assert!(
            said(&ran).ends_with(&format!(": made for kernel {release}, and this is 1.2.3\n")),
            "{ran:?}"
        );
        assert_eq!(std::fs::read(tracing.join("kprobe_events")).unwrap(), before);
    }
}

fn put(path: &Path, script: &str) {
    std::fs::write(path, format!("#!/bin/sh\n{script}")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Where the probes of a bpftrace program stand is where the JSON says, or a comment says why not.
#[test]
fn bpftrace_gets_a_probe_for_each_place() {
    let out = handed_over(&["*"], "bpftrace");
    // Those of the module are in comments, because nothing says that it is loaded.
    let lines = out.lines().map(|l| l.strip_prefix("// ").unwrap_or(l));
    let probes: Vec<&str> = lines.filter(|l| l.starts_with("kprobe:")).collect();
    let distinct: BTreeSet<&str> = probes.iter().copied().collect();
    assert_eq!(distinct.len(), probes.len());
    let mut expected = BTreeSet::new();
    let mut nested = 0;
    for place in OLDER.json(&["resolve", "*"]) {
        if text(&place["attach"], "kprobe_events") != "ok" {
            continue;
        }
        let (by, module) = match place["symbol_unique"].as_bool() {
            Some(true) => (&place, &Value::Null),
            _ => (&place["anchor"], &place["anchor"]["module"]),
        };
        if by.is_null() || module.is_string() {
            continue;
        }
        let offset = by["offset"].as_u64().unwrap();
        let offset = if offset == 0 { String::new() } else { format!("+{offset}") };
        let probe = format!("kprobe:{}{offset}", text(by, "symbol"));
        nested += usize::from(!distinct.contains(&*probe));
        expected.insert(probe);
    }
    assert!(
        nested == 1 && distinct.iter().all(|p| expected.contains(*p)),
        "{nested}: {distinct:#?} {expected:#?}"
    );
    assert!(distinct.len() > 40, "{}", distinct.len());
    assert!(out.starts_with("#!/usr/bin/env -S BPFTRACE_VMLINUX=/dev/null bpftrace --unsafe\n"), "{out}");
    assert!(handed_over(&["twin"], "bpftrace").starts_with("#!/usr/bin/env "));
}

/// The tables compile for all that may read them, and say what the JSON says.
#[test]
fn tables_are_c() {
    let folder = tempfile::tempdir().unwrap();
    let table = handed_over(&["*"], "c");
    std::fs::write(folder.path().join("table.h"), &table).unwrap();
    let names: Vec<&str> = table
        .lines()
        .filter_map(|l| l.strip_prefix("static const struct probeidx_place ")?.strip_suffix("[] = {"))
        .collect();
    let distinct: BTreeSet<_> = names.iter().collect();
    assert_eq!(distinct.len(), names.len());
    let mut program = "#include <stdio.h>\n#include \"table.h\"\nint main(void) {\n".to_owned();
    for name in &names {
        let _ = writeln!(
            program,
            "for (unsigned long n = 0; n < sizeof {name} / sizeof *{name}; n++)\n\
             printf(\"%s+%lu %d\\n\", {name}[n].symbol, {name}[n].offset, {name}[n].only_register);"
        );
    }
    program += "return 0; }\n";
    let out = compiled(folder.path(), &program, &["-o", "program"]);
    assert!(out.is_empty(), "{out}");
    let ran = Command::new(folder.path().join("program")).output().unwrap();
    let ran = String::from_utf8(ran.stdout).unwrap();
    let some = |only: &str| -> BTreeSet<String> {
        ran.lines().filter_map(|l| l.strip_suffix(only)).map(str::to_owned).collect()
    };
    let (kprobe, events) = (reached("kprobe"), reached("kprobe_events"));
    let all: BTreeSet<String> = some(" 0").union(&some(" 1")).cloned().collect();
    let missing: Vec<_> = kprobe.difference(&all).collect();
    assert!(missing.len() == 1 && all.is_subset(&kprobe), "{missing:?}");
    assert!(some(" 0").is_subset(&events) && some(" 1").is_disjoint(&events));
    assert!(some(" 1").len() > 2, "{ran}");

    // What is read, in a program that knows the kernel's registers.
    let table = handed_over(&["vmlinux:plain", "a=%di:x32", "b=+4(-8(%si)):b3@2/32", "c=\\-5:s64"], "c");
    std::fs::write(folder.path().join("table.h"), table).unwrap();
    let program = "#include <stdio.h>\n#define __KERNEL__\nstruct pt_regs { unsigned long x[8], di, si; };\n#include \"table.h\"\n\
        int main(void) { for (int n = 0; n < probeidx_plain_VALUES; n++) {\n\
        const struct probeidx_value *v = &probeidx_plain_values[0][n];\n\
        printf(\"%d %d %d %d %d %d %lld %d %d\\n\", v->from, v->at, v->size, v->lowest, v->width, v->reads, v->number,\n\
        v->distances[0], v->distances[1]); } return 0; }\n";
    assert_eq!(compiled(folder.path(), program, &["-o", "program"]), "");
    let ran = Command::new(folder.path().join("program")).output().unwrap();
    let ran = String::from_utf8(ran.stdout).unwrap();
    assert_eq!(ran, "1 64 4 0 32 0 0 0 0\n1 72 4 2 3 2 0 -8 4\n3 0 8 0 64 0 -5 0 0\n");
    // Without the places, whose pointers BPF has no use for.
    assert_eq!(
        compiled(folder.path(), &program.replace("__KERNEL__", "__bpf__"), &["-c", "-o", "object"]),
        ""
    );
}

/// What the compiler says of a program.
fn compiled(folder: &Path, program: &str, arguments: &[&str]) -> String {
    std::fs::write(folder.join("program.c"), program).unwrap();
    let mut gcc = Command::new("gcc");
    gcc.args(["-Wall", "-Wextra", "-Werror", "-Wno-unused-const-variable", "program.c"]);
    let ran = gcc.args(arguments).current_dir(folder).output().unwrap();
    String::from_utf8_lossy(&ran.stderr).into_owned()
}

#[test]
fn what_a_tool_cannot_is_said() {
    // Nothing is left: the exit code says so, and no script records everything.
    for tool in ["perf", "trace-cmd", "bpftrace"] {
        let run = OLDER.run(&["resolve", "blocked", "--format", tool]);
        assert_eq!((run.code, run.err.lines().count()), (1, 1), "{run:?}");
        assert!(run.out.contains("not probed: ") && run.out.contains(": blacklist"), "{run:?}");
        assert!(!run.out.contains("record") && !run.out.starts_with("#!"), "{run:?}");
    }
    // Return probes of bpftrace know names alone.
    let run = OLDER.run(&["resolve", "vmlinux:plain%return", "--format", "bpftrace"]);
    assert!(run.code == 1 && run.out.contains("several functions are plain"), "{run:?}");
    let run = OLDER.run(&["--kernel", "*", "resolve", "plain", "$arg1", "--format", "bpftrace"]);
    assert!(run.out.contains("//   without arg1: only kprobe_events know $arg1"), "{run:?}");
}
