//! What differs by the version of bpftrace: what is not there, and kernels without BTF.
use super::bpftrace::{VERDICTS, found};
use crate::answers::history::FLEET;
use crate::answers::tracepoints::FIXED;
use crate::answers::trampolines::{CONFIGURATION, indexed};
use crate::support::program::run_in;
use crate::support::tables::OLD;

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
        // From 0.24 on, another probe of the script suffices; before, one that stands alone has to be there.
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
    for script in ["mine=kprobe:stays {}", "KPROBE:stays {}", "mine=UPROBE:/bin/true:main {}"] {
        let lines = on(script, &[]);
        assert!(lines[0].ends_with(" ok") || lines[0].ends_with(" unindexed"), "{lines:?}");
    }
    assert!(on("kprobe:0xffffffff81000000 {}", &[])[1].contains("undecided: an address of one boot"));
    let Some(kernel) = VERDICTS.as_ref() else { return };
    let at = |script: &str| found(kernel.db.path(), script, &[]);
    for script in ["kprobe:vmlinu*:takes_six {}", "fentry:vm*:takes_s?x {}", "kprobe:vmlinux:takes_si* {}"] {
        assert!(at(script)[0].ends_with(" ok"), "{:?}", at(script));
    }
    let none = "absent ENOENT: no function with an ftrace site matches";
    assert!(at("kprobe:nomod*:takes_six {}")[1].ends_with(none));
}

#[test]
fn patterns_that_match_nothing_are_left_out_of_a_list_from_0_24_on() {
    let Some(kernel) = VERDICTS.as_ref() else { return };
    let at = |script: &str, options: &[&str]| found(kernel.db.path(), script, options);
    let script = "fentry:nosuch*, fentry:takes_six {}";
    let none = "  1:1 absent ENOENT: no function with an ftrace site matches";
    let without = "bpftrace goes on without it, as fentry:takes_six works";
    assert_eq!(at(script, &["--bpftrace", "0.27"])[1], format!("{none}; {without}"));
    assert_eq!(
        at(script, &[])[1],
        format!("{none}; {without}; from 0.24 on it ends, unless missing_probes is warn")
    );
    assert_eq!(at("fentry:nosuch* {}", &["--bpftrace", "0.27"])[1], none);
}

#[test]
fn what_a_handler_calls_is_there() {
    for (script, wrong) in [
        ("kprobe:stays { reg(\"di\"); reg(\"nip\") }", "1:27 loader: the machine has no register nip"),
        (
            "kprobe:stays { override(1) }",
            "1:16 trampoline: stays may not be made to fail (ALLOW_ERROR_INJECTION)",
        ),
        (
            "fentry:stays { path(args.f) }",
            "1:16 helper: the kernel gives no paths in programs of stays (bpf_d_path)",
        ),
    ] {
        let lines = on(script, &[]);
        assert!(lines.iter().any(|line| line.contains(wrong)), "{script}: {lines:?}");
        assert!(!lines.iter().any(|line| line.contains("register di")), "{lines:?}");
    }
    assert!(!on("fentry:filp_close { path(args.f) }", &[]).iter().any(|line| line.contains("helper")));
}

#[test]
fn types_are_those_that_the_script_defines_and_a_program_may_have_others() {
    let own = "struct same { int mine; char last }\n";
    let lines =
        on(&format!("{own}kprobe:calls {{ ((struct same *)arg0).mine; ((struct same *)arg0).a }}"), &[]);
    assert_eq!(lines[1], "  2:66 field: struct same has no member a");
    let lines = on("uprobe:/bin/true:main { ((struct nothing *)arg0).x }", &[]);
    let why = "unindexed: the kernel has no type struct nothing; the debug information of the program may";
    assert!(lines[2].ends_with(why), "{lines:?}");
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

#[test]
fn a_kprobe_at_what_ftrace_does_not_list_is_unsafe_from_0_25_on() {
    let configuration =
        format!("{CONFIGURATION}CONFIG_FUNCTION_TRACER=y\nCONFIG_KPROBE_EVENTS_ON_NOTRACE=y\n");
    let Some(kernel) = indexed(OLD, true, &configuration) else { return };
    let at = |name: &str, version: &str| {
        let options: &[&str] = if version.is_empty() { &[] } else { &["--bpftrace", version] };
        found(kernel.db.path(), &format!("kprobe:{name} {{}}"), options).join("\n")
    };
    let warning = "loader: bpftrace takes it with --unsafe alone, from 0.25 on: ftrace does not list it";
    for (version, warns) in [("", true), ("0.24", false), ("0.25", true)] {
        let lines = at("untraced", version);
        assert_eq!(
            (lines.starts_with("kprobe:untraced ok"), lines.contains(warning)),
            (true, warns),
            "{lines}"
        );
    }
    assert_eq!(at("takes_six", ""), "kprobe:takes_six ok");
    for (name, first) in
        [("untraced", "#!/usr/bin/env -S bpftrace --unsafe\n"), ("takes_six", "#!/usr/bin/env bpftrace\n")]
    {
        let program = kernel.run(&["resolve", name, "--format", "bpftrace"]);
        assert!(program.out.starts_with(first), "{program:?}");
    }
}
