//! A tracer that links the C library: what it writes is a working trace in the booted kernel.
use super::boot::{Machine, Request};
use crate::installed::{self, needed};
use crate::library::{INSTALLED, capi, run};
use std::process::Command;

#[test]
fn a_program_over_the_c_library_traces() {
    let Some(kernel) = needed(installed::kernel()) else { return };
    let Some(installed) = &*INSTALLED else { return };
    let Some(machine) = needed(Machine::new(&kernel)) else { return };
    let folder = tempfile::tempdir().unwrap();
    let kprobes = folder.path().join("kprobes");
    installed.compile("gcc", &["-std=c99", "-pedantic"], &capi().join("consumers/kprobes.c"), &kprobes);
    let arguments = ["vfs_write", "count", "name=file->f_path.dentry->d_name.name:string", "position=pos[0]"];
    let printed = run(Command::new(&kprobes).arg(installed::index(&kernel)).args(arguments));
    let lines: Vec<String> = printed.lines().map(str::to_owned).collect();
    let answers =
        machine.moved().boot(&[Request::Trace { lines, action: "write" }]).unwrap_or_else(|e| panic!("{e}"));
    let answer = &answers.answers[0];
    let is_seen = |line: &String| {
        ["count=0x11", "count=17"].iter().any(|count| line.contains(count))
            && line.contains("name=\"probed-file\"")
            && ["position=1000", "position=0x3e8"].iter().any(|position| line.contains(position))
    };
    assert_eq!(answer.errno, 0, "{printed}");
    assert!(answer.traced.iter().any(is_seen), "{printed}\n{:#?}", answer.traced);
}
