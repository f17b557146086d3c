//! Programs that use the library, as they would outside.
use crate::fixture::skipped;
use crate::library::{INSTALLED, Installed, capi, is_there, run};
use crate::program::{KERNEL, json, probeidx, run_in};
use crate::python::python;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

fn compiled(installed: &Installed, folder: &TempDir, compiler: &str, name: &str, flags: &[&str]) -> PathBuf {
    let program = folder.path().join(name.split('.').next().unwrap());
    let flags = [&["-pedantic"], flags].concat();
    installed.compile(compiler, &flags, &capi().join("consumers").join(name), &program);
    program
}

#[test]
fn a_compiler_derives_probes_and_the_code_that_reads() {
    let Some(installed) = &*INSTALLED else { return };
    if !is_there("g++") {
        skipped("pass2: there is no g++");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let pass2 = compiled(installed, &folder, "g++", "pass2.cpp", &["-std=c++17"]);
    let script = folder.path().join("script");
    let text = "probe kernel.function(\"submit\").call { print($rq->users, $flags) }\n\
                probe kernel.function(\"clamp_value\").inline { print($value) }\n\
                probe kernel.function(\"submit\").return { print($return) }\n\
                probe kernel.statement(\"submit@*:*\") { }\n";
    std::fs::write(&script, text).unwrap();
    let printed = run(Command::new(&pass2).arg(KERNEL.db.path()).arg(&script));
    // The places are those that the command line gives, and none is read otherwise.
    for spec in ["kernel.function(\"submit\").call", "kernel.function(\"clamp_value\").inline"] {
        for place in json(&["resolve", spec]) {
            let anchor = &place["anchor"];
            let symbol = anchor["symbol"].as_str().unwrap();
            let line =
                format!("{symbol}+{} {}", anchor["offset"], place["attach"]["kprobe"].as_str().unwrap());
            assert!(printed.contains(&line), "{line}\n{printed}");
        }
    }
    assert!(printed.contains("    $rq->users: int volatile: v = regs->di; v += "), "{printed}");
    assert!(printed.contains("    $flags: int: v = regs->si; "), "{printed}");
    std::fs::write(&script, "probe kernel.function(\"no_such_function\") { }\n").unwrap();
    let output = Command::new(&pass2).arg(KERNEL.db.path()).arg(&script).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("error: nothing matches"));
}

#[test]
fn a_tracer_gets_its_definitions() {
    let Some(installed) = &*INSTALLED else { return };
    let folder = tempfile::tempdir().unwrap();
    let kprobes = compiled(installed, &folder, "gcc", "kprobes.c", &["-std=c99"]);
    let index = KERNEL.db.path();
    let printed = run(Command::new(&kprobes).arg(index).args(["vmlinux:submit", "rq->users", "flags"]));
    let plain =
        probeidx(&["resolve", "vmlinux:submit", "--format", "kprobe-events", "rq->users", "flags"]).out;
    let defined: Vec<&str> = plain.lines().filter(|l| !l.starts_with('#')).collect();
    assert_eq!(printed.lines().collect::<Vec<_>>(), defined);
    for (arguments, code, said) in
        [(&["no_such_function"][..], 1, "kprobes: nothing matches"), (&["submit", "rq->"], 2, "kprobes: ")]
    {
        let output = Command::new(&kprobes).arg(index).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}");
        assert!(String::from_utf8_lossy(&output.stderr).starts_with(said), "{output:?}");
    }
}

/// A store is opened as a folder of indexes is.
#[test]
fn a_tracer_asks_a_store() {
    let Some(installed) = &*INSTALLED else { return };
    let folder = tempfile::tempdir().unwrap();
    let kprobes = compiled(installed, &folder, "gcc", "kprobes.c", &["-std=c99"]);
    let index = std::fs::read_dir(KERNEL.db.path()).unwrap().map(|entry| entry.unwrap().path());
    let index = index.into_iter().find(|path| path.extension().is_some_and(|e| e == "pidx")).unwrap();
    let store = folder.path().join("store");
    run_in(&store, ["fleet".as_ref(), "add".as_ref(), index.as_os_str()]).found();
    let ask =
        |path: &Path| run(Command::new(&kprobes).arg(path).args(["vmlinux:submit", "rq->users", "flags"]));
    let own = ask(&index);
    assert!(own.contains("p:probeidx/submit "), "{own}");
    assert_eq!(ask(&store), own);
    assert_eq!(ask(&store.join(index.file_name().unwrap())), own);
}

#[test]
fn an_analyst_asks_from_python() {
    let Some(installed) = &*INSTALLED else { return };
    if !is_there("python3") {
        skipped("the package for Python: there is no python3");
        return;
    }
    let program = capi().join("tests/analyst.py");
    assert_eq!(python(installed, &[program.as_ref(), KERNEL.db.path().as_ref()]), "all as expected\n");
}
