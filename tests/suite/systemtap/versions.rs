//! What differs by the version of SystemTap that the tapsets are of. Each answer is that of `stap` 4.8 or 5.6.
use crate::answers::tracepoints;
use crate::support::fixture::{Tree, USUAL};
use crate::support::program::{Indexed, Run, run_in};
use std::ffi::OsStr;
use std::sync::LazyLock;

/// Files that the libraries of some versions have.
const OF_4_8: &[(&str, &str)] = &[("linux/nfs.stp", "")];
const OF_5_1: &[(&str, &str)] = &[("linux/nfs.stp", "# nfs.aop.readfolio, nfs.aop.readahead")];
const OF_5_6: &[(&str, &str)] = &[
    ("linux/syscalls.stpm", "// kernel.tracepoint"),
    (
        "linux/call.stp",
        "probe all.calls = tp_syscall(\"read\") !, kernel.tracepoint(\"task_exit\") !, kernel.trace(\"task_exit\") {}",
    ),
];

/// Indexes a kernel with the tapsets of a version; with a `vmlinux.h` in its build tree or without.
fn indexed(tree: Tree, library: &[(&str, &str)], has_header: bool) -> Indexed {
    let db = tempfile::tempdir().unwrap();
    for (file, text) in library {
        tree.file(&format!("tapset/{file}"), text.as_bytes());
    }
    if has_header {
        tree.file("lib/modules/6.1.0-test/build/vmlinux.h", b"");
    }
    let (root, tapset) = (tree.path(), tree.path().join("tapset"));
    let arguments =
        [OsStr::new("build"), root.as_ref(), "--sysroot".as_ref(), root.as_ref(), "--tapset".as_ref()];
    let built = run_in(db.path(), arguments.into_iter().chain([tapset.as_ref()]));
    assert_eq!(built.code, 0, "{built:?}");
    Indexed { tree, db }
}

static OLD: LazyLock<Indexed> = LazyLock::new(|| indexed(tracepoints::kernel(), OF_4_8, true));
static NEW: LazyLock<Indexed> = LazyLock::new(|| indexed(tracepoints::kernel(), OF_5_6, true));
static NEW_WITHOUT: LazyLock<Indexed> = LazyLock::new(|| indexed(tracepoints::kernel(), OF_5_6, false));

fn check(index: &Indexed, text: &str) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.stp");
    std::fs::write(&file, text).unwrap();
    run_in(index.db.path(), [OsStr::new("check"), file.as_ref()])
}

#[track_caller]
fn holds(index: &Indexed, text: &str) {
    let run = check(index, text);
    assert_eq!(run.code, 0, "{text}: {run:?}");
}

#[track_caller]
fn fails(index: &Indexed, text: &str, why: &str) {
    let run = check(index, text);
    assert_eq!(run.code, 1, "{text}: {run:?}");
    assert!([&run.out, &run.err].iter().any(|said| said.contains(why)), "{text}: {run:?}");
}

/// What is no script of this version.
#[track_caller]
fn is_unreadable(index: &Indexed, text: &str, why: &str) {
    let run = check(index, text);
    assert!(run.code == 3 && run.err.contains(why), "{text}: {run:?}");
}

#[test]
fn tracepoints_by_btf_have_their_parameters_by_number() {
    let listed = |pattern: &str| NEW.run(&["--quiet", "find", pattern, "--args"]).found();
    // `_tp` is no part of the name, and what points to a function cannot be used.
    assert_eq!(
        listed("kernel.tracepoint(\"*\")"),
        "kernel.tracepoint(\"load\") $arg1:struct task*\n\
         kernel.tracepoint(\"old_event\") $arg1:long int\n\
         kernel.tracepoint(\"task_exit\") $arg1:struct task*\n\
         kernel.tracepoint(\"task_free\") $arg1:struct task*\n\
         kernel.tracepoint(\"task_switch\") $arg1:bool $arg2:struct task* $arg3:struct task const* \
         $arg4:unsigned int\n\
         kernel.tracepoint(\"tick\")\n\
         kernel.tracepoint(\"wakeup\") $arg1:struct task*\n"
    );
    let of_module = listed("module(\"alpha\").tracepoint(\"alpha_io\")");
    assert_eq!(of_module, "module(\"alpha\").tracepoint(\"alpha_io\") $arg1:struct device*\n");
    let by_system = NEW.run(&["find", "kernel.tracepoint(\"sched:wakeup\")"]);
    assert!(by_system.code == 2 && by_system.err.contains("without a system"), "{by_system:?}");
    holds(&NEW, "probe kernel.tracepoint(\"task_switch\") { println($arg2->pid, $$name, $$vars) }");
    fails(&NEW, "probe kernel.tracepoint(\"task_switch\") { println($arg5) }", "$arg1, $arg2, $arg3, $arg4");
    fails(&NEW, "probe kernel.tracepoint(\"task_switch\") { println($prev) }", "unable to find");
    fails(&NEW, "probe kernel.tracepoint(\"wakup\") {}", "did you mean wakeup?");
}

#[test]
fn tracepoints_of_the_kernel_need_a_header_and_those_of_modules_do_not() {
    let script = "probe kernel.tracepoint(\"wakeup\") {}";
    fails(
        &NEW_WITHOUT,
        script,
        "bpftool btf dump file /sys/kernel/btf/vmlinux format c > /lib/modules/6.1.0-test/build/",
    );
    holds(&NEW_WITHOUT, "probe module(\"alpha\").tracepoint(\"alpha_io\") { println($arg1) }");
    // The first that is there is taken; this kernel has no tracepoints of system calls.
    let of = |index: &Indexed| index.run(&["--quiet", "find", "all.calls", "--each"]).found();
    assert!(of(&NEW).contains("kernel.tracepoint(\"task_exit\")"), "{}", of(&NEW));
    assert!(of(&NEW_WITHOUT).contains("kernel.trace(\"sched:task_exit\")"), "{}", of(&NEW_WITHOUT));
}

#[test]
fn what_one_version_has_and_another_not_is_said() {
    fails(
        &OLD,
        "probe kernel.tracepoint(\"wakeup\") {}",
        "SystemTap has kernel.tracepoint(\"wakeup\") from 5.6 on",
    );
    fails(&OLD, "probe process.data(4096).write {}", "from 5.1 on");
    holds(&NEW, "probe process.data(4096).write {}");
    fails(&NEW, "probe kernel.mark(\"a\") {}", "SystemTap 5.6 has no kernel.mark(\"a\") any more");
    is_unreadable(
        &OLD,
        "probe begin { println(@enumname(1, \"state\")) }",
        "SystemTap has `@enumname` from 5.6 on",
    );
    holds(&NEW, "probe begin { println(@enumname(1, \"state\")) }");
    fails(&NEW, "probe begin { println(@enumname(1)) }", "name one behind the value");
    fails(&NEW, "probe begin { println(@enum(\"STATE_ON\")) }", "in probes of its functions and lines alone");
    // Conditions of the preprocessor see it.
    let script = "%( systemtap_v >= \"5.6\" %? probe begin {} %: probe nosuch {} %)";
    holds(&NEW, script);
    fails(&OLD, script, "nosuch");
}

#[test]
fn constants_of_enumerations_are_known_in_functions_from_5_5_on() {
    let library = [OF_5_6, &[("linux/a.stp", "")]].concat();
    let (old, new) =
        (indexed(Tree::compile(&USUAL), OF_5_1, false), indexed(Tree::compile(&USUAL), &library, false));
    let of = |name: &str| format!("probe kernel.function(\"find_node\") {{ println(@enum(\"{name}\")) }}");
    is_unreadable(&old, &of("STATE_ON"), "SystemTap has `@enum` from 5.5 on");
    holds(&new, &of("STATE_ON"));
    fails(&new, &of("STATE_OFFF"), "no enumeration of the kernel has such a constant");
}
