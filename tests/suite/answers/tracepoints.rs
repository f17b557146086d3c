//! Tracepoints of a kernel and a module that register them as Linux does.
use crate::support::fixture::{Tree, run_all};
use crate::support::image::Image;
use crate::support::program::{Indexed, Run, run_in};
use crate::support::tables::text;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

const OLD: &str = "6.1.0-test";
const NEW: &str = "6.12.0-test";

/// Linked to one place.
pub static FIXED: LazyLock<Indexed> = LazyLock::new(|| whole(compile(OLD, Fixed)));

/// The kernel with its module.
pub fn kernel() -> Tree {
    compile(OLD, Fixed)
}

/// The same, of which some tracepoints are gone, new or changed.
pub fn newer_kernel() -> Tree {
    compile_with(OLD, Fixed, &["-DNEWER"])
}

/// How a kernel is linked.
#[derive(Clone, Copy, PartialEq)]
enum Linking {
    /// To one place.
    Fixed,
    /// To be moved, with relocations in place of pointers, as arm64's.
    Moved,
    /// With the names of symbols in them besides, as s390's.
    Shared,
}
use Linking::{Fixed, Moved, Shared};

/// Compiles and links.
fn compile(release: &str, linking: Linking) -> Tree {
    compile_with(release, linking, &[])
}

fn compile_with(release: &str, linking: Linking, flags: &[&str]) -> Tree {
    let tree = Tree::empty();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tracepoints");
    let tool = |name: &str| {
        let mut c = Command::new(name);
        c.current_dir(&folder);
        c
    };
    let object = |name: &str| tree.path().join(format!("{name}.o"));
    run_all(["kernel", "module"].map(|name| {
        let mut c = tool("gcc");
        c.args(["-g", "-gdwarf-5", "-O2", "-ffreestanding", "-fno-stack-protector", "-fno-ipa-icf"]);
        c.args(["-fno-asynchronous-unwind-tables", "-fcf-protection=none", "-ffile-prefix-map=.=."]);
        let model: &[&str] = match linking {
            Fixed => &["-fno-pic", "-fno-pie", "-mcmodel=kernel"],
            Moved => &["-fPIE"],
            Shared => &["-fPIC"],
        };
        c.args(model).args(flags).arg(format!("-DRELEASE=\"{release}\""));
        c.args(["-c", &format!("{name}.c"), "-o"]).arg(object(name));
        c
    }));
    let mut vmlinux = tool("ld");
    let script = std::fs::read_to_string(folder.join("tracepoints.lds")).unwrap();
    let script = match linking {
        Fixed | Moved => script,
        Shared => script.replace("*(.dynsym .dynstr .hash .gnu.hash)", ""),
    };
    let script_path = tree.file("vmlinux.lds", script.as_bytes());
    vmlinux.arg("-T").arg(&script_path).args(["--build-id=sha1", "--no-warn-rwx-segments"]);
    match linking {
        Fixed => {}
        Moved => drop(vmlinux.args(["-pie", "--no-dynamic-linker"])),
        Shared => drop(vmlinux.args(["-shared", "-z", "notext"])),
    }
    vmlinux.arg("-o").arg(vmlinux_of(&tree, release)).arg(object("kernel"));
    std::fs::create_dir_all(module_of(&tree, release).parent().unwrap()).unwrap();
    let mut module = tool("ld");
    module.args(["-r", "--build-id=sha1", "-o"]).arg(module_of(&tree, release)).arg(object("module"));
    run_all([vmlinux, module]);
    for file in [object("kernel"), object("module"), script_path] {
        std::fs::remove_file(file).unwrap();
    }
    tree
}

fn vmlinux_of(tree: &Tree, release: &str) -> PathBuf {
    tree.path().join(format!("vmlinux-{release}"))
}

fn module_of(tree: &Tree, release: &str) -> PathBuf {
    tree.path().join(format!("lib/modules/{release}/kernel/alpha.ko"))
}

/// Indexes what lies under a path, and gives what was said of it.
fn index(tree: Tree, path: &Path) -> (Indexed, Run) {
    let db = tempfile::tempdir().unwrap();
    let built = run_in(db.path(), [OsStr::new("build"), path.as_ref()]);
    (Indexed { tree, db }, built)
}

fn whole(tree: Tree) -> Indexed {
    let path = tree.path();
    let (indexed, built) = index(tree, &path);
    assert_eq!((built.code, built.err.as_str()), (0, ""), "{built:?}");
    indexed
}

/// As `stap -L` would list them.
const LISTING: &str = r#"kernel.trace("alpha:alpha_bare_tp") $depth:int
kernel.trace("alpha:alpha_io") $dev:struct device* $done:int (*) (int, char const*)
kernel.trace("alpha:task_exit") $code:int
kernel.trace("old:old_event") $value:long int
kernel.trace("sched:load_tp") $cfs:struct task*
kernel.trace("sched:task_exit") $p:struct task*
kernel.trace("sched:task_free") $p:struct task*
kernel.trace("sched:task_switch") $preempt:bool $prev:struct task* $next:struct task const* $state:unsigned int
kernel.trace("sched:tick_tp")
kernel.trace("sched:wakeup") $p:struct task*
"#;

#[test]
fn tracepoints_are_listed_with_their_parameters() {
    assert_eq!(FIXED.run(&["find", "kernel.trace(\"*\")", "--args"]).found(), LISTING);
    let some = |pattern: &str| FIXED.run(&["find", &format!("kernel.trace(\"{pattern}\")")]).found();
    // One of a name in each of two systems; without a system both are meant.
    assert_eq!(some("task_exit"), "kernel.trace(\"alpha:task_exit\")\nkernel.trace(\"sched:task_exit\")\n");
    assert_eq!(some("alpha:task_e*"), "kernel.trace(\"alpha:task_exit\")\n");
    assert_eq!(some("a*:*_tp"), "kernel.trace(\"alpha:alpha_bare_tp\")\n");
    assert_eq!(some("sched:t*").lines().count(), 4);
}

/// perf's `SYSTEM:EVENT` reads like a function of a module. What bpftrace, libbpf and tracefs write says what it is.
#[test]
fn tracepoints_are_known_as_other_tools_spell_them() {
    let ours = FIXED.json(&["resolve", "kernel.trace(\"sched:task_switch\")"]);
    for spec in [
        "sched:task_switch",
        "tracepoint:sched:task_switch",
        "t:sched:task_switch",
        "tracepoint/sched/task_switch",
        "rawtracepoint:task_switch",
        "raw_tp/task_switch",
        "tp_btf/task_switch",
    ] {
        assert_eq!(FIXED.json(&["resolve", spec]), ours, "{spec}");
        assert_eq!(FIXED.run(&["find", spec]).found(), "kernel.trace(\"sched:task_switch\")\n", "{spec}");
    }
    assert_eq!(FIXED.run(&["find", "sched:t*"]).found().lines().count(), 4);
    // The module alpha is indexed and has no function of this name.
    assert_eq!(FIXED.run(&["find", "alpha:alpha_io"]).found(), "kernel.trace(\"alpha:alpha_io\")\n");
    // It has a function of this one.
    let run = FIXED.run(&["find", "alpha:alpha_bare_tp"]);
    assert!(run.out.starts_with("module(\"alpha\").function(\"alpha_bare_tp@"), "{run:?}");
    let said = "alpha:alpha_bare_tp is a tracepoint too: kernel.trace(\"alpha:alpha_bare_tp\")";
    assert_eq!(run.err, format!("probeidx: {said}\n"));
    let run = FIXED.run(&["find", "sched:task_swich"]);
    run.refused(1, "probeidx: no tracepoint sched:task_swich; did you mean task_switch?");
    let run = FIXED.run(&["find", "shed:task_switch"]);
    assert!(run.err.starts_with("probeidx: module shed is not indexed"), "{run:?}");
}

#[test]
fn an_image_that_is_moved_says_the_same() {
    for linking in [Moved, Shared] {
        let moved = whole(compile(OLD, linking));
        assert_eq!(moved.run(&["find", "kernel.trace(\"*\")", "--args"]).found(), LISTING);
        let fields = |of: &Indexed| of.place("kernel.trace(\"task_switch\")")["fields"].clone();
        assert_eq!(fields(&moved), fields(&FIXED));
    }
}

#[test]
fn modules_alone_are_read_by_their_own_types() {
    let tree = compile(OLD, Fixed);
    let path = tree.path().join("lib");
    let (alone, built) = index(tree, &path);
    assert!(built.code == 4 && built.err.contains("modules without their vmlinux"), "{built:?}");
    let ours = LISTING.lines().filter(|l| l.contains("\"alpha:")).map(|l| l.to_owned() + "\n");
    assert_eq!(alone.run(&["find", "kernel.trace(\"*\")", "--args"]).found(), ours.collect::<String>());
    assert_eq!(alone.place("kernel.trace(\"alpha_io\")")["fields"].as_array().unwrap().len(), 3);
}

#[test]
fn a_tracepoint_is_a_placement_with_parameters_and_fields() {
    let place = FIXED.place("kernel.trace(\"task_switch\")");
    let symbol = Image::read(&vmlinux_of(&FIXED.tree, OLD)).value("__tracepoint_task_switch");
    assert_eq!(text(&place, "address"), format!("{symbol:#x}"));
    for (key, expected) in [
        ("module", json!(null)),
        ("probe", json!("kernel.trace(\"sched:task_switch\")")),
        ("function", json!("task_switch")),
        ("system", json!("sched")),
        ("instance", json!("tracepoint")),
        ("section", json!(".data")),
        ("symbol", json!("__tracepoint_task_switch")),
        ("offset", json!(0)),
        ("anchor", json!(null)),
    ] {
        assert_eq!(place[key], expected, "{key}");
    }
    assert!(text(&place, "file").ends_with("sched.h"));
    let attach = &place["attach"];
    assert_eq!((text(attach, "tracepoint"), text(attach, "raw_tracepoint")), ("ok", "ok"));
    assert!(["kprobe", "kprobe_events", "kretprobe", "fentry"].iter().all(|m| text(attach, m) != "ok"));
    let field = |name: &str, kind: &str, offset: u32, size: u32, signed: bool| json!({"name": name, "type": kind, "offset": offset, "size": size, "signed": signed});
    let expected = [
        field("prev_comm", "char[16]", 8, 16, false),
        field("prev_pid", "pid_t", 24, 4, true),
        field("preempt", "bool", 28, 1, false),
        field("state", "long", 32, 8, true),
        field("name", "__data_loc char[]", 40, 4, false),
    ];
    assert_eq!(place["fields"], json!(expected));
    let of_module = FIXED.place("kernel.trace(\"alpha_io\")");
    assert_eq!((text(&of_module, "module"), text(&of_module, "section")), ("alpha", "__tracepoints"));
    let expected = [
        field("sector", "unsigned int", 8, 4, false),
        field("cmd", "unsigned char[6]", 12, 6, false),
        field("dev", "void *", 24, 8, false),
    ];
    assert_eq!(of_module["fields"], json!(expected));
    // Events of one class have the same fields.
    let fields = |name: &str| FIXED.place(&format!("kernel.trace(\"sched:{name}\")"))["fields"].clone();
    assert_eq!(
        (fields("task_exit"), fields("task_free")),
        (json!([field("pid", "pid_t", 8, 4, true)]), fields("task_exit"))
    );
    // Without an event, and where a function of the kernel defines some, no fields are known.
    assert_eq!((fields("load_tp"), fields("wakeup")), (Value::Null, Value::Null));
    assert_eq!(text(&FIXED.place("kernel.trace(\"load_tp\")")["attach"], "tracepoint"), "no-event");
}

#[test]
fn dynamic_events_read_fields_or_parameters() {
    let new = whole(compile(NEW, Fixed));
    let lines = |of: &Indexed, arguments: &[&str]| {
        let run = of.run(&[&["resolve", "--format", "kprobe-events"], arguments].concat());
        let defined = run.out.lines().filter(|l| !l.starts_with('#')).collect::<Vec<_>>().join("\n");
        (run.code, defined)
    };
    let switch = "kernel.trace(\"task_switch\")";
    let e = "e:probeidx/task_switch sched/task_switch";
    let t = "t:probeidx/task_switch task_switch";
    assert_eq!(lines(&FIXED, &[switch]), (0, e.to_owned()));
    let read = " prev_pid=$prev_pid:s32 comm=$prev_comm:string name=$name:string";
    assert_eq!(lines(&FIXED, &[switch, "prev_pid", "comm=prev_comm", "name"]), (0, e.to_owned() + read));
    // A parameter hides the field of its name, and is not for 6.1 to read.
    assert_eq!(lines(&FIXED, &[switch, "preempt"]).0, 1);
    assert_eq!(lines(&FIXED, &[switch, "prev->pid"]).0, 1);
    assert_eq!(lines(&FIXED, &["kernel.trace(\"load_tp\")"]), (1, String::new()));
    assert_eq!(lines(&new, &[switch]), (0, t.to_owned()));
    let read = format!("{t} pid=+0($arg2):s32 comm=+4($arg3):string state=$arg4:x32");
    assert_eq!(lines(&new, &[switch, "$prev->pid", "next->comm", "state"]), (0, read));
    let two = format!("{t} pid=+0($arg2):s32 pid_2=+0($arg3):s32");
    assert_eq!(lines(&new, &[switch, "$prev->pid", "$next->pid"]), (0, two));
    assert_eq!(lines(&new, &["kernel.trace(\"load_tp\")"]), (0, "t:probeidx/load_tp load_tp".to_owned()));
    // Both at once is no probe.
    assert_eq!(lines(&new, &[switch, "prev->pid", "prev_pid"]), (1, String::new()));
    let said = FIXED.run(&["resolve", "kernel.trace(\"load_tp\")"]).found();
    assert!(said.contains("t: kernels have that since 6.5"), "{said}");
    let defined = |argument: &str| FIXED.run(&["resolve", switch, "--defined", argument]).code;
    assert_eq!((defined("$prev->comm"), defined("$prev->com"), defined("$cur")), (0, 1, 1));
}

/// Of Ubuntu's 4.15 to 5.6: what the symbols name is held against where the members have always been.
#[test]
fn tracepoints_of_a_kernel_without_types() {
    // Debug information of names and lines alone.
    let without_types = |flags: &[&str]| {
        let tree = compile_with(OLD, Fixed, &[&["-g1"], flags].concat());
        let path = tree.path();
        index(tree, &path)
    };
    let (known, built) = without_types(&["-DIN_ORDER"]);
    assert_eq!((built.code, built.err.as_str()), (0, ""), "{built:?}");
    let listed = LISTING.lines().map(|line| line.split(' ').next().unwrap().to_owned() + "\n");
    assert_eq!(known.run(&["find", "kernel.trace(\"*\")"]).found(), listed.collect::<String>());
    let check = |of: &Indexed, script: &str| {
        let script = of.tree.file("script.bt", script.as_bytes());
        of.run(&["check", script.to_str().unwrap()])
    };
    let event = "tracepoint:sched:task_switch { exit() }";
    assert_eq!(check(&known, event).code, 0);
    assert_eq!(check(&known, "tracepoint:syscalls:sys_enter_openat { print(args->mode); exit() }").code, 0);
    let of_field = check(&known, "tracepoint:sched:task_switch { print(args->prev_pid); exit() }");
    assert!(of_field.out.contains("not all fields of sched:task_switch are known"), "{of_field:?}");

    // Where they are elsewhere, no tracepoint is absent for that.
    let (unknown, built) = without_types(&[]);
    assert!(built.err.contains("no type struct tracepoint: tracepoints are left out"), "{built:?}");
    let undecided = check(&unknown, event);
    assert!(undecided.out.contains("undecided"), "{undecided:?}");
}

/// Beside one that has them.
#[test]
fn types_of_a_kernel_without_types_are_not_absent() {
    let (typed, untyped) = (compile(OLD, Fixed), compile_with(NEW, Fixed, &["-g1", "-DIN_ORDER"]));
    let db = tempfile::tempdir().unwrap();
    for tree in [&typed, &untyped] {
        assert_eq!(run_in(db.path(), [OsStr::new("build"), tree.path().as_ref()]).code, 0);
    }
    let run = |args: &[&str]| run_in(db.path(), args);
    let history = run(&["history", "task.pid"]);
    assert!(history.out.contains("unknown") && !history.out.contains("not in"), "{history:?}");
    let diff = run(&["diff", OLD, NEW, "struct task"]);
    let why = "types are not compared: neither debug information nor BTF has those of 6.12.0-test";
    assert_eq!((diff.code, diff.err), (1, format!("probeidx: {why}\n")));
    let whole = run(&["diff", OLD, NEW, "--json"]);
    let summary: Value = serde_json::from_str(whole.out.lines().last().unwrap()).unwrap();
    assert_eq!(summary["left_out"], json!([why]));
    assert!(!whole.out.contains("\"subject\":\"struct\""), "{whole:?}");
    let of_type = run(&["type", "struct task", "--kernel", NEW]);
    assert_eq!(of_type.code, 1);
    assert!(of_type.err.contains("no type struct task: neither debug information nor BTF"), "{of_type:?}");
}

#[test]
fn what_is_not_there_is_said() {
    let find = |pattern: &str| FIXED.run(&["find", &format!("kernel.trace(\"{pattern}\")")]);
    find("task_swich").refused(1, "probeidx: no tracepoint task_swich; did you mean task_switch?");
    find("alpha:load_tp").refused(1, "probeidx: no tracepoint alpha:load_tp; there is sched:load_tp");
    find("sys_enter_open").refused(
        1,
        "probeidx: no tracepoint sys_enter_open: all system calls share kernel.trace(\"raw_syscalls:sys_enter\")",
    );
    find("x*").refused(1, "probeidx: no tracepoint x*");
    let of_none = FIXED.run(&["resolve", "kernel.trace(\"task_switch\")", "perv"]);
    assert_eq!((of_none.code, of_none.out.as_str()), (1, ""));
    assert!(of_none.err.contains("did you mean prev?"), "{of_none:?}");
    let stats = &FIXED.json(&["stats"])[0]["counts"];
    // Four of them are events of system calls.
    assert_eq!(stats["tracepoints"], json!(14));
}

#[test]
fn labels_and_callees_are_places_within_functions() {
    let point = |suffix: &str| format!("kernel.function(\"walk\").{suffix}");
    let found = |suffix: &str| -> Vec<String> {
        let out = FIXED.run(&["find", &point(suffix), "--args"]).found();
        let file = out.split('@').nth(1).and_then(|rest| rest.split(':').next()).unwrap().to_owned();
        out.lines().map(|l| l.replace(&file, "F")).collect()
    };
    assert_eq!(found("label(\"a*\")"), ["kernel.function(\"walk@F:42\").label(\"again\") $n:int"]);
    let middle = "kernel.function(\"walk@F:41\").callee(\"middle@F:38\") $n:int";
    let inner = "kernel.function(\"middle@F:38\").callee(\"inner@F:34\") $n:int";
    for (suffix, expected) in [
        ("callees", &[middle][..]),
        ("callees(2)", &[inner, middle]),
        ("callees(4294967296)", &[inner, middle]),
        ("callee(\"mid*\")", &[middle]),
    ] {
        assert_eq!(found(suffix), expected, "{suffix}");
    }
    let label = FIXED.place(&point("label(\"again\")"));
    assert_eq!((text(&label, "function"), text(&label, "instance")), ("walk", "statement"));
    assert!(text(&label, "probe").ends_with(".label(\"again\")"));
    let callee = FIXED.place(&point("callee(\"middle\")"));
    assert_eq!((text(&callee, "function"), text(&callee, "instance")), ("middle", "inline"));
    assert_eq!(callee["inlined_into"][0]["function"], "walk");
    for (suffix, said) in [
        ("label(\"x\")", "probeidx: walk has no label x with an address"),
        // It is inlined into what is inlined.
        ("callee(\"inner\")", "probeidx: nothing called inner is inlined into walk"),
    ] {
        FIXED.run(&["find", &point(suffix)]).refused(1, said);
    }
}

/// What a build says of a damaged vmlinux, and what it lists of it.
fn damaged(damage: impl FnOnce(&mut Image)) -> (String, Vec<String>) {
    let tree = FIXED.tree.copy();
    let path = vmlinux_of(&tree, OLD);
    let mut image = Image::read(&path);
    damage(&mut image);
    image.write(&path);
    let path = tree.path();
    let (indexed, built) = index(tree, &path);
    assert_eq!(built.code, 0, "{built:?}");
    let listed = indexed.run(&["find", "kernel.trace(\"*\")"]);
    (built.err, listed.out.lines().map(str::to_owned).collect())
}

/// Where the bytes of a symbol stand in the file.
fn place(image: &Image, symbol: &str) -> usize {
    image.between(symbol, symbol).start
}

const NOWHERE: [u8; 8] = [0x11; 8];

#[test]
fn a_tracepoint_with_another_name_is_told_and_left_out() {
    let (said, listed) = damaged(|image| {
        let at = place(image, "__tracepoint_task_switch") + 16;
        image.put(at, &NOWHERE);
    });
    assert!(
        said.contains("section __tracepoints") && said.contains("1 tracepoints are not called"),
        "{said}"
    );
    assert_eq!(listed.len(), 9);
}

#[test]
fn events_and_classes_that_lead_nowhere_are_told() {
    let (said, listed) = damaged(|image| {
        let at = place(image, "__start_ftrace_events");
        image.put(at, &NOWHERE);
    });
    assert!(said.contains("section _ftrace_events") && said.contains("1 of 6 events are damaged"), "{said}");
    assert_eq!(listed.len(), 10);
    let (said, listed) = damaged(|image| {
        let at = place(image, "event_class_task_switch") + 8;
        image.put(at, &NOWHERE);
    });
    assert!(said.contains("1 of 6 events are damaged"), "{said}");
    assert!(
        listed.contains(&"kernel.trace(\"sched:task_switch\")".to_owned()),
        "its header has others: {listed:?}"
    );
}

#[test]
fn fields_without_end_or_measure_are_told() {
    for (offset, bytes) in [(0, NOWHERE), (8, NOWHERE), (16, [0xff; 8]), (20, [0x40; 8])] {
        let (said, listed) = damaged(|image| {
            let at = place(image, "trace_event_fields_task_switch") + offset;
            image.put(at, &bytes);
        });
        assert!(said.contains("the fields of 1 classes of events are damaged"), "{offset}: {said}");
        assert_eq!(listed.len(), 10);
    }
}

#[test]
fn a_table_of_no_length_and_one_that_is_lost() {
    let (said, listed) = damaged(|image| {
        let end = image.value("__stop_ftrace_events");
        image.set_value("__start_ftrace_events", end);
    });
    assert_eq!((said.as_str(), listed.len()), ("", 10));
    let (said, _) = damaged(|image| image.set_value("__stop_ftrace_events", u64::MAX - 7));
    assert!(said.contains("section _ftrace_events"), "{said}");
    let (said, _) = damaged(|image| {
        let end = image.value("__stop_ftrace_events");
        image.set_value("__stop_ftrace_events", end - 3);
    });
    assert!(said.is_empty() || said.contains("events"), "{said}");
}

#[test]
fn no_word_of_the_data_is_trusted() {
    let image = Image::read(&vmlinux_of(&FIXED.tree, OLD));
    let data = image.section(".data").bytes;
    // Every 13th word: all kinds of members are met.
    for at in data.step_by(8 * 13) {
        for bytes in [[0xff; 8], [0; 8], image.value("_end").to_le_bytes()] {
            let (_, listed) = damaged(|image| image.put(at, &bytes[..8.min(image.0.len() - at)]));
            assert!(listed.len() >= 9, "{at:#x}: {listed:?}");
        }
    }
}

#[test]
fn names_are_completed_behind_their_system() {
    let completed = |typed: &str| -> Vec<String> {
        let run = FIXED.run(&["complete", "--", "find", typed]);
        run.out.lines().map(|l| l.split('\t').next().unwrap_or_default().to_owned()).collect()
    };
    assert_eq!(completed("kernel.t"), ["kernel.trace(\""]);
    let systems = ["kernel.trace(\"alpha:", "kernel.trace(\"old:", "kernel.trace(\"sched:"];
    assert_eq!(completed("kernel.trace(\""), systems);
    let switch = "kernel.trace(\"sched:task_switch\")";
    assert!(completed("kernel.trace(\"sched:").contains(&switch.to_owned()));
    assert_eq!(completed("kernel.trace(\"task_s"), ["kernel.trace(\"task_switch\")"]);
}

/// System calls that are in the table have events, with the fields that `syscall_enter_define_fields` gives them.
#[test]
fn system_calls_have_events() {
    let listed = FIXED.run(&["find", "syscalls:*", "--args"]).found();
    let expected = "syscalls:sys_enter_getpid __syscall_nr:int\n\
                    syscalls:sys_enter_openat __syscall_nr:int dfd:int filename:const char * mode:umode_t\n\
                    syscalls:sys_exit_getpid __syscall_nr:int ret:long\n\
                    syscalls:sys_exit_openat __syscall_nr:int ret:long\n";
    assert_eq!(listed, expected);
    let [enter] = &FIXED.json(&["resolve", "tracepoint:syscalls:sys_enter_openat"])[..] else {
        panic!("one")
    };
    let field = |at: usize| (enter["fields"][at]["offset"].clone(), enter["fields"][at]["size"].clone());
    assert_eq!(
        [field(0), field(1), field(3)],
        [(json!(8), json!(4)), (json!(16), json!(8)), (json!(32), json!(8))]
    );
    let attach = &enter["attach"];
    assert_eq!((&attach["tracepoint"], &attach["raw_tracepoint"]), (&json!("ok"), &json!("no-tracepoint")));
    // SystemTap has no tracepoint for it.
    let none = FIXED.run(&["find", "kernel.trace(\"syscalls:*\")"]);
    assert_eq!((none.code, &none.out[..]), (1, ""), "{none:?}");
}
