//! Aliases of SystemTap's own tapsets: `find 'vm.*' --args` against `stap -L`, line by line.
//!
//! Locals stand in SystemTap's order, those that it hides included, and are of its types: `unknown` is a local that no
//! script can use. The order of the kernel's variables is free where several probes are merged, as everywhere.
//!
//! Where we differ, each difference is of one of these classes (SystemTap 4.8):
//!
//! | class | what it is | who is right |
//! | --- | --- | --- |
//! | other tracepoint | SystemTap reads tracepoints from headers below include/trace/events; we from the image. What only headers declare, or only the image has, makes another point of the alias the first that is there. | we: a probe of a tracepoint that the kernel lacks cannot be planted |
//!
//! Copied from SystemTap, so that it is no difference:
//!
//! - It does not look into anonymous structs that are `const`: `$vmf->address` of `struct vm_fault` is unknown to it, and
//!   `vm.write_shared` lists `address:unknown`.
//! - It does not read what a register held at the entry (`DW_OP_entry_value` of DWARF 5): a local that needs it is
//!   `unknown` at inlined copies, as `protocol` of `netdev.rx`.
//! - It finds functions by their symbols alone (`kprobe.function`) only where it has `System.map`, of which Debian ships a
//!   stub: `syscall.getpid` leads to a tracepoint, and not to `__x64_sys_getpid`.
//! - The probe that saves values at the entry of a return probe counts among those that are merged.
use super::find;
use crate::installed;
use crate::sample::{seed, some};
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// All of which SystemTap lists something on the kernels that we test with. A run compares [`SAMPLE`] of them, others in each.
const FAMILIES: [&str; 13] = [
    "vm.*",
    "syscall.*",
    "ioblock.*",
    "scheduler.*",
    "netdev.*",
    "socket.*",
    "vfs.*",
    "tcp.*",
    "kprocess.*",
    "signal.*",
    "nfsd.*",
    "sunrpc.*.*",
    // Points with their marks, and the functions that are inlined into them.
    "vm.*.*",
];

const SAMPLE: usize = 5;

/// A name, its locals in order, its variables.
type Line<'a> = (&'a str, Vec<&'a str>, BTreeSet<&'a str>);

/// Types hold blanks; the names of locals and variables, in front of a colon, do not.
fn parse(line: &str) -> Line<'_> {
    let (before, variables) = match line.split_once(" $") {
        Some((before, variables)) => (before, variables.split(" $").collect()),
        None => (line, BTreeSet::new()),
    };
    let mut words = before.split(' ');
    (words.next().unwrap_or_default(), words.collect(), variables)
}

#[test]
fn families_are_listed_as_stap_lists_them() {
    let Some(kernel) = installed::needed(installed::kernel()) else { return };
    for family in some(FAMILIES.to_vec(), SAMPLE, seed()) {
        let Some(theirs) = installed::needed(installed::stap_statements(&kernel, family, false)) else {
            return;
        };
        let ours = find(&installed::index(&kernel), family);
        let [ours, theirs] = [&ours, &theirs].map(|text| text.lines().map(parse).collect::<Vec<_>>());
        let names = |lines: &[Line<'_>]| lines.iter().map(|l| l.0.to_owned()).collect::<Vec<_>>();
        assert_eq!(names(&ours), names(&theirs), "{family}");
        let differ: BTreeMap<_, _> =
            ours.iter().zip(&theirs).filter(|(o, t)| o != t).map(|(o, t)| (o.0, (o, t))).collect();
        assert!(differ.is_empty(), "{family}: {differ:#?}");
        installed::say(&format!("{} {family}: {} lines, all as stap -L", kernel.release, theirs.len()));
    }
}

#[test]
fn a_family_of_which_nothing_is_there_is_told_as_stap_does() {
    let Some(kernel) = installed::needed(installed::kernel()) else { return };
    let stap = Command::new("stap").args(["-r", &kernel.release, "-L", "nfs.*"]).output();
    let Some(stap) = installed::needed(stap.map_err(|e| format!("cannot run stap: {e}"))) else { return };
    let ours = Command::new(installed::program())
        .args(["find", "nfs.*", "--args", "--db"])
        .arg(installed::index(&kernel))
        .output()
        .expect("probeidx can be run");
    assert_eq!((ours.status.code(), &ours.stdout), (stap.status.code(), &stap.stdout));
}

#[test]
fn lines_are_taken_apart() {
    let line = "vm.kfree __tracepoint_arg_ptr:long ptr:long $call_site:long unsigned int $ptr:void const*";
    let variables = BTreeSet::from(["call_site:long unsigned int", "ptr:void const*"]);
    assert_eq!(parse(line), ("vm.kfree", vec!["__tracepoint_arg_ptr:long", "ptr:long"], variables));
    assert_eq!(parse("timer.x a:long"), ("timer.x", vec!["a:long"], BTreeSet::new()));
}
