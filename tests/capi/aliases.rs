//! Tracepoints and aliases of tapsets over the C library: what the command line says of them, and no memory of the system's.
use crate::abi::program;
use crate::fixture::{Tree, USUAL, run_all, skipped};
use crate::library::{INSTALLED, Installed, capi, is_there, run};
use crate::program::{Indexed, run_in};
use crate::python::python;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

pub static ALIASES: LazyLock<Indexed> =
    LazyLock::new(|| indexed(Tree::compile(&USUAL), &[OsStr::new("--tapset"), fixture("aliases").as_ref()]));

static TRACEPOINTS: LazyLock<Indexed> = LazyLock::new(|| {
    let tree = Tree::empty();
    let object = tree.path().join("kernel.o");
    let mut compile = Command::new("gcc");
    compile.args(["-g", "-O2", "-ffreestanding", "-fno-stack-protector", "-fno-pic", "-fno-pie"]);
    compile.args(["-mcmodel=kernel", "-fcf-protection=none", "-DRELEASE=\"6.1.0-test\"", "-c", "-o"]);
    compile.arg(&object).arg(fixture("tracepoints").join("kernel.c"));
    run_all([compile]);
    let mut link = Command::new("ld");
    link.arg("-T").arg(fixture("tracepoints").join("tracepoints.lds"));
    link.args(["--build-id=sha1", "--no-warn-rwx-segments", "-o"]);
    link.arg(tree.path().join("vmlinux-6.1.0-test")).arg(&object);
    run_all([link]);
    std::fs::remove_file(object).unwrap();
    indexed(tree, &[])
});

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

fn indexed(tree: Tree, more: &[&OsStr]) -> Indexed {
    let db = tempfile::tempdir().unwrap();
    let path = tree.path().to_owned();
    let mut arguments = vec![OsStr::new("build"), path.as_ref()];
    arguments.extend(more);
    let built = run_in(db.path(), arguments);
    assert_eq!((built.code, built.err.as_str()), (0, ""), "{built:?}");
    Indexed { tree, db }
}

/// What the library says of a spec with arguments, each behind a tab.
fn answers(installed: &Installed, of: &Indexed, asked: &str) -> Vec<Value> {
    let program = capi().join("tests/answers.py");
    let printed = python(installed, &[program.as_ref(), of.db.path().as_ref(), asked.as_ref()]);
    printed.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The same from the command line.
fn told(of: &Indexed, asked: &str) -> Vec<Value> {
    let mut arguments = vec!["resolve", "--json"];
    arguments.extend(asked.split('\t'));
    let out = run_in(of.db.path(), arguments).out;
    out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// A text that is left out where it is empty.
fn text<'v>(of: &'v Value, name: &str) -> &'v str {
    of[name].as_str().unwrap_or_default()
}

fn agree(answer: &Value, told: &Value, asked: &str) {
    assert_eq!(text(answer, "instance"), text(told, "instance"), "{asked}");
    assert_eq!(text(answer, "function"), text(told, "function"), "{asked}");
    let address = answer["address"].as_u64().unwrap();
    assert!(told["address"].is_null() || told["address"] == format!("{address:#x}"), "{asked}");
    let values = told["vars"].as_array().into_iter().flatten();
    let values: Vec<_> = values.map(|v| json!([v["name"], v["state"], text(v, "fetch")])).collect();
    assert_eq!(answer["values"], json!(values), "{asked}");
}

#[test]
fn aliases_are_those_of_the_command_line() {
    let Some(installed) = &*INSTALLED else { return };
    if !is_there("python3") {
        skipped("aliases over the C library: there is no python3");
        return;
    }
    let mut states = vec![];
    for asked in ["tree.*", "tree.find\tkey\tleft", "tree.open", "tree.made", "tree.tick", "tree.user"] {
        let (answers, told) = (answers(installed, &ALIASES, asked), told(&ALIASES, asked));
        assert_eq!(answers.len(), told.len(), "{asked}");
        assert!(!told.is_empty(), "{asked}");
        for (answer, told) in answers.iter().zip(&told) {
            agree(answer, told, asked);
            let alias = &answer["alias"];
            for name in ["alias", "through", "point"] {
                assert_eq!(alias[name], told[name], "{asked}");
            }
            let (own, others) = (alias["locals"].as_array().unwrap(), told["locals"].as_array().unwrap());
            assert_eq!(own.len(), others.len(), "{asked}");
            for (own, other) in own.iter().zip(others) {
                for name in ["name", "type", "state", "variable", "why", "copy_of"] {
                    assert_eq!(text(own, name), text(other, name), "{asked}: {own}");
                }
                let instead = other.get("instead").cloned().unwrap_or(json!([]));
                assert_eq!(own["instead"], instead, "{asked}: {own}");
                states.push(text(own, "state").to_owned());
            }
        }
    }
    for state in ["fine", "broken"] {
        assert!(states.iter().any(|s| s == state), "no local is {state}");
    }
}

#[test]
fn tracepoints_are_those_of_the_command_line() {
    let Some(installed) = &*INSTALLED else { return };
    if !is_there("python3") {
        skipped("tracepoints over the C library: there is no python3");
        return;
    }
    if cfg!(not(target_arch = "x86_64")) {
        skipped("tracepoints over the C library: the fixture is linked for x86");
        return;
    }
    let mut fields = 0;
    for asked in ["kernel.trace(\"*\")", "kernel.trace(\"sched:task_switch\")\tprev\tpreempt"] {
        let (answers, told) = (answers(installed, &TRACEPOINTS, asked), told(&TRACEPOINTS, asked));
        assert_eq!(answers.len(), told.len(), "{asked}");
        assert!(!told.is_empty(), "{asked}");
        for (answer, told) in answers.iter().zip(&told) {
            agree(answer, told, asked);
            assert_eq!(answer["alias"], Value::Null);
            assert_eq!(text(answer, "definition"), text(told, "definition"));
            let own = &answer["tracepoint"];
            assert_eq!(text(own, "system"), text(told, "system"), "{asked}");
            assert_eq!(own["has_event"], json!(told["attach"]["tracepoint"] == "ok"), "{asked}");
            let known = told.get("fields").and_then(Value::as_array);
            let own = own["fields"].as_array();
            assert_eq!(own.map(Vec::len).unwrap_or(0), known.map(Vec::len).unwrap_or(0), "{asked}");
            for (own, other) in own.into_iter().flatten().zip(known.into_iter().flatten()) {
                for (name, named) in
                    [("name", "name"), ("type", "type"), ("offset", "offset"), ("size", "size")]
                {
                    assert_eq!(own[name], other[named], "{asked}");
                }
                assert_eq!(own["is_signed"], other["signed"], "{asked}");
                fields += 1;
            }
        }
    }
    assert!(fields > 0, "no event has fields");
}

/// What a compiler makes of them: a body that uses locals of an alias, and a tracepoint's parameters.
#[test]
fn a_compiler_derives_aliases_and_tracepoints() {
    let Some(installed) = &*INSTALLED else { return };
    if !is_there("g++") {
        skipped("pass2 with aliases: there is no g++");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let pass2 = folder.path().join("pass2");
    installed.compile("g++", &["-std=c++17", "-pedantic"], &capi().join("consumers/pass2.cpp"), &pass2);
    let script = folder.path().join("script");
    let derived = |of: &Indexed, text: &str| {
        std::fs::write(&script, text).unwrap();
        run(Command::new(&pass2).arg(of.db.path()).arg(&script))
    };
    let printed =
        derived(&ALIASES, "probe tree.find { print(key, $root) }\nprobe tree.tick { print(count) }\n");
    let place = &told(&ALIASES, "tree.find")[0];
    let point = place["point"].as_str().unwrap();
    assert!(printed.contains(&format!(" by tree.find of {point}\n")), "{printed}");
    assert!(printed.contains("\n    key: long: $key\n"), "{printed}");
    assert!(printed.contains("\n    $root: struct node*: v = regs->"), "{printed}");
    assert!(!printed.contains("    left:"), "what the body does not use is not read: {printed}");
    assert!(printed.contains("no place ok  by tree.tick of timer.s(1)\n    count: long: by the prologue"));
    let printed = derived(&ALIASES, "probe tree.open { print(lost) }\n");
    assert!(printed.contains("    lost: unknown: error: $nothing"), "{printed}");
    if cfg!(target_arch = "x86_64") {
        let printed =
            derived(&TRACEPOINTS, "probe kernel.trace(\"sched:task_switch\") { print($preempt) }\n");
        assert!(printed.contains("trace sched:task_switch ok task_switch@"), "{printed}");
        assert!(printed.contains("    $preempt: bool: v = saved_argument(1); "), "{printed}");
    }
}

#[test]
fn aliases_ask_the_system_for_no_memory() {
    let Some(installed) = &*INSTALLED else { return };
    let folder = tempfile::tempdir().unwrap();
    let asked = folder.path().join("asked");
    let text = "resolve tree.find\nresolve tree.find\tkey\tleft\nresolve tree.open\nresolve tree.*\nresolve tree.gone\n\
                resolve no.such\nfind tree.*\naliases tree.*\naliases \naliases none.*\nresolve kernel.trace(\"x\")\n\
                tapset tree.open\ntapset tree.*\ntapset \ntapset none.*\nmacros \nmacros choose*\nfunctions \nfunctions none\n\
                why-not 0tree.fnd\nwhy-not 0tree.gone\nwhy-not 3tree.fnd\nwhy-not 5choose_defind\n\
                check tree.find\ncheck tree.gone\ncheck tree.find tree.open\nhealth -\n";
    std::fs::write(&asked, text).unwrap();
    let printed =
        run(Command::new(program(installed, &folder, "questions", &[])).arg(ALIASES.db.path()).arg(&asked));
    let last = printed.lines().last().unwrap();
    assert_eq!(last, "asked the system for memory 0 times, 0 overflows", "{printed}");
    for question in
        ["why-not 0tree.fnd", "why-not 0tree.gone", "why-not 3tree.fnd", "tapset tree.open", "macros choose*"]
    {
        assert!(printed.contains(&format!("{question}: ok, 1\n")), "{printed}");
    }
    for question in
        ["resolve no.such", "resolve tree.gone", "aliases none.*", "tapset none.*", "functions none"]
    {
        assert!(printed.contains(&format!("{question}: no-match, 0")), "{printed}");
    }
    let with_gcc = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-DWITHOUT_COUNTING"];
    let sanitized = program(installed, &folder, "questions", &with_gcc);
    run(Command::new(sanitized).arg(ALIASES.db.path()).arg(&asked));
}

/// Of a script what is in it, and what is wrong: the same as from the command line.
#[test]
fn scripts_are_checked_as_on_the_command_line() {
    let Some(installed) = &*INSTALLED else { return };
    if !is_there("python3") {
        skipped("scripts over the C library: there is no python3");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let texts = [
        "probe tree.find { print(key, left) }\n",
        "probe tree.open { print(lost) }\nprobe tree.never { nothing(1) }\n",
        "probe kernel.function(\"find_node\") { print($key + $kye) } probe kernel.function(\"no_such\")? { }\n",
    ];
    let mut breaking = 0;
    for text in texts {
        let script = folder.path().join("one.stp");
        std::fs::write(&script, text).unwrap();
        let program = "import json, sys, probeidx\n\
                       verdict, found = probeidx.Index(sys.argv[1]).check(open(sys.argv[2]).read(), name=sys.argv[2])\n\
                       for f in found: print(json.dumps(vars(f)))\n\
                       print(json.dumps({'verdict': verdict}))\n";
        let arguments = ["-c".as_ref(), program.as_ref(), ALIASES.db.path().as_ref(), script.as_ref()];
        let own = python(installed, &arguments);
        let told =
            run_in(ALIASES.db.path(), [OsStr::new("check"), OsStr::new("--json"), script.as_ref()]).out;
        let [own, told]: [Vec<Value>; 2] =
            [own, told].map(|lines| lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect());
        // A point is a program; what is wrong in handlers is in the line of the whole file, which is the last.
        let (whole, programs) = told.split_last().unwrap();
        let (verdict, own) = own.split_last().unwrap();
        let findings = whole["findings"].as_array().unwrap();
        assert_eq!(own.len(), programs.len() + findings.len(), "{text}\n{own:?}\n{told:?}");
        let fails = |state: &Value| !matches!(state.as_str(), Some("ok" | "partial" | "unindexed"));
        assert_eq!(verdict["verdict"] == "fails", fails(&whole["state"]), "{verdict}, {whole}");
        let points = programs.iter().map(|told| (told, "program", fails(&told["state"])));
        let findings = findings.iter().map(|told| (told, "source", told["severity"] == "error"));
        for (own, (told, what, breaks)) in own.iter().zip(points.chain(findings)) {
            for name in ["line", "column"] {
                assert_eq!(own[name], told[name], "{name} of {own}, {told}");
            }
            assert_eq!(own["what"], told[what], "{own}, {told}");
            assert_eq!(own["breaks"], json!(breaks), "{own}, {told}");
            if what == "source" {
                assert_eq!(own["instead"], told["instead"], "{own}, {told}");
            }
            breaking += usize::from(breaks);
        }
    }
    assert!(breaking >= 3, "only {breaking} findings break");
}
