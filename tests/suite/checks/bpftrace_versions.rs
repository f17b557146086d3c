//! What differs by the version of bpftrace: what is not there, and kernels without BTF.
use super::bpftrace::found;
use crate::answers::history::FLEET;
use crate::answers::tracepoints::FIXED;
use crate::support::program::run_in;

/// What is found in a script on a kernel that has `stays` and `calls`, and not `comes`.
fn on(script: &str, options: &[&str]) -> Vec<String> {
    found(FLEET.path(), script, &[&["--kernel", "6.1.0-2-rt"], options].concat())
}

const ABSENT: &str = "absent ENOENT: the kernel has no such function";
const AS_STAYS_WORKS: &str = "bpftrace goes on without it, as kprobe:stays works";

#[test]
fn what_is_not_there_ends_a_script_from_0_24_on() {
    let script = "kprobe:stays, kprobe:comes {}";
    let forgiven = |why: &str| format!("  1:15 {ABSENT}; {AS_STAYS_WORKS}{why}");
    let later = "; from 0.24 on it ends, unless missing_probes is warn";
    assert_eq!(on(script, &[])[2], forgiven(later));
    assert_eq!(on(script, &["--bpftrace", "0.17.0"])[2], forgiven(""));
    assert_eq!(on(script, &["--bpftrace", "bpftrace v0.23.2"])[2], forgiven(""));
    // The exit code is 1: see `found`.
    for version in ["0.24", "v0.27.1"] {
        assert_eq!(on(script, &["--bpftrace", version])[2], format!("  1:15 {ABSENT}"), "{version}");
    }
}

#[test]
fn a_script_says_what_is_done_about_what_is_not_there() {
    let warn = "config = { missing_probes=warn }\n";
    for (options, is_whole) in
        [(&[][..], true), (&["--bpftrace", "0.27"], true), (&["--bpftrace", "0.23"], false)]
    {
        // From 0.24 on, another probe of the script suffices; before, it is one of the list.
        let lines = on(&format!("{warn}kprobe:comes {{}}\nkprobe:stays {{}}"), options);
        let why = if is_whole { format!("; {AS_STAYS_WORKS}") } else { String::new() };
        assert_eq!(lines[1], format!("  2:1 {ABSENT}{why}"), "{options:?}");
        let lines = on(&format!("{warn}kprobe:comes, kprobe:stays {{}}"), options);
        assert_eq!(lines[1], format!("  2:1 {ABSENT}; {AS_STAYS_WORKS}"), "{options:?}");
    }
    let lines =
        on("config = { missing_probes=error }\nkprobe:comes, kprobe:stays {}", &["--bpftrace", "0.23"]);
    assert_eq!(lines[1], format!("  2:1 {ABSENT}"));
    // Nothing is left; nor does it help where the handler is wrong, or a module is not there.
    assert_eq!(on(&format!("{warn}kprobe:comes {{}}"), &[])[1], format!("  2:1 {ABSENT}"));
    let module = "module ENOENT: no module nomod is indexed";
    assert_eq!(
        on(&format!("{warn}kprobe:nomod:x, kprobe:stays {{}}"), &["--bpftrace", "0.27"])[1],
        format!("  2:1 {module}")
    );
}

#[test]
fn a_kernel_without_btf_has_no_raw_tracepoints_from_0_24_on() {
    let at = |script: &str, options: &[&str]| found(FIXED.db.path(), script, options);
    let refused = |first: &str, why: &str| {
        format!("  loader: bpftrace refuses it from {first} on: {why}, and it has none")
    };
    let without_place = |line: &String| format!("  {}", line.trim_start().split_once(' ').unwrap().1);
    let raw = "rawtracepoint:task_free {}";
    let why = "raw tracepoints are those of the kernel's BTF";
    for (options, is_ok) in [(&[][..], true), (&["--bpftrace", "0.24"], false)] {
        let lines = at(raw, options);
        assert_eq!(lines[0].ends_with(" ok"), is_ok, "{lines:?}");
        assert_eq!(without_place(&lines[1]).split(" => ").next(), Some(&*refused("0.24", why)));
    }
    assert_eq!(at(raw, &["--bpftrace", "0.23"]), ["rawtracepoint:task_free ok"]);
    let fields = "tracepoint:sched:task_free { @ = args.pid; @ = args.pid + 1 }";
    let lines = at(fields, &["--bpftrace", "0.25"]);
    let why = "fields of events are read by the kernel's BTF";
    assert_eq!((lines.len(), without_place(&lines[1])), (2, refused("0.25", why)), "{lines:?}");
    assert_eq!(at(fields, &["--bpftrace", "0.24"]), ["tracepoint:sched:task_free ok"]);
}

#[test]
fn modules_may_be_patterns_and_kinds_have_names_and_capitals() {
    for script in ["kprobe:vmlinu*:stays {}", "mine=kprobe:stays {}", "KPROBE:stays {}", "U=kprobe:stays {}"]
    {
        let lines = on(script, &[]);
        assert!(
            lines[0].ends_with(" ok") || lines[1].contains("no function with an ftrace site"),
            "{lines:?}"
        );
    }
    assert!(on("kprobe:nomod*:stays {}", &[])[1].contains("no function with an ftrace site matches"));
    assert!(on("kprobe:0xffffffff81000000 {}", &[])[1].contains("undecided: an address of one boot"));
}

#[test]
fn a_version_is_that_of_the_project_if_none_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let script = file("a.bt", "kprobe:stays, kprobe:comes {}");
    file("probeidx.toml", "[check]\nbpftrace = \"0.27\"\n");
    let code = |options: &[&str]| {
        let script = script.to_str().unwrap();
        run_in(FLEET.path(), [&["check", script, "--kernel", "6.1.0-2-rt"], options].concat()).code
    };
    assert_eq!((code(&[]), code(&["--bpftrace", "0.23"])), (1, 0));
    file("probeidx.toml", "[check]\nbpftrace = \"newest\"\n");
    let run = run_in(FLEET.path(), ["check", script.to_str().unwrap(), "--kernel", "6.1.0-2-rt"]);
    assert_eq!((run.code, run.err.lines().count()), (3, 1), "{run:?}");
    assert!(run.err.contains("newest is no version of bpftrace"), "{run:?}");
}
