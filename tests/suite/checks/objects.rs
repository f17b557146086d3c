//! BPF objects: each rule on a small kernel with BTF, whose functions and structs are compiled here.
use super::bpftrace::lines_of;
use crate::answers::trampolines::{CONFIGURATION, indexed};
use crate::support::program::{Indexed, run_in};
use crate::support::tables::OLD;
use std::path::PathBuf;
use std::process::Command;
use std::sync::LazyLock;

/// `None` without pahole, which makes its BTF.
static KERNEL: LazyLock<Option<Indexed>> = LazyLock::new(|| indexed(OLD, true, CONFIGURATION));

const PRELUDE: &str = r#"
#define SEC(name) __attribute__((section(name), used))
#define core __attribute__((preserve_access_index))
#define exists(x) __builtin_preserve_field_info(x, 2)
static long (*ktime)(void) = (void *)5;
static long (*none)(void) = (void *)9999;
char LICENSE[] SEC("license") = "GPL";
struct small { long one, two; } core;
struct small___other { long elsewhere; } core;
struct small_none { int x; } core;
volatile long sink;
"#;

/// Compiles an object; `None` without clang.
fn compile(source: &str) -> Option<(tempfile::TempDir, PathBuf)> {
    let folder = tempfile::tempdir().unwrap();
    let path = |end: &str| folder.path().join(format!("a.bpf.{end}"));
    std::fs::write(path("c"), format!("{PRELUDE}{source}")).unwrap();
    let mut clang = Command::new("clang");
    clang.current_dir(folder.path());
    clang.args(["-g", "-O2", "-Wno-unused", "-target", "bpfel", "-c", "a.bpf.c", "-o", "a.bpf.o"]);
    match clang.output() {
        Err(why) => {
            eprintln!("skipped: cannot run clang: {why}");
            None
        }
        Ok(output) => {
            assert!(output.status.success(), "{source}\n{}", String::from_utf8_lossy(&output.stderr));
            let object = path("o");
            Some((folder, object))
        }
    }
}

/// What is found in an object: see [`lines_of`].
fn found(source: &str) -> Option<Vec<String>> {
    let kernel = KERNEL.as_ref()?;
    let (_folder, object) = compile(source)?;
    let run = run_in(kernel.db.path(), ["check", "--json", object.to_str().unwrap()]);
    Some(
        lines_of(&run)
            .into_iter()
            .map(|line| line.split(" => ").next().unwrap_or_default().to_owned())
            .collect(),
    )
}

/// The states of the programs, without what is found.
fn states(source: &str) -> Option<Vec<String>> {
    Some(found(source)?.into_iter().filter(|line| !line.starts_with(' ')).collect())
}

fn expect(source: &str, expected: &[&str]) {
    if let Some(states) = states(source) {
        assert_eq!(states, expected, "{source}\n{:#?}", found(source));
    }
}

#[test]
fn where_programs_are_attached() {
    let program = |section: &str| format!("SEC(\"{section}\") int p(void *ctx) {{ return 0; }}");
    for (section, state) in [
        ("kprobe/plain", "ok"),
        ("kretprobe/plain", "ok"),
        ("kprobe/nowhere", "absent"),
        ("kprobe/untraced", "no-site"),
        ("fentry/takes_six", "ok"),
        ("fentry/takes_seven", "trampoline"),
        ("fexit/takes_more", "trampoline"),
        ("fentry/nowhere", "absent"),
        ("fmod_ret/takes_six", "trampoline"),
        ("kprobe.multi/takes_*", "ok"),
        ("kprobe.multi/nowhere*", "absent"),
        ("tp/sched/nothing", "absent"),
        ("raw_tp/nothing", "absent"),
        ("lsm/file_open", "absent"),
        ("iter/task", "absent"),
        ("nothing_that_libbpf_knows", "loader"),
        ("uprobe//bin/sh:main", "unindexed"),
        ("xdp", "ok"),
    ] {
        expect(&program(section), &[&format!("p {state}")]);
    }
}

#[test]
fn a_relocation_that_fails_does_harm_only_where_it_is_reached() {
    // The member is there.
    expect("SEC(\"kprobe/plain\") int p(struct small *b) { sink = b->two; return 0; }", &["p ok"]);
    let other = "SEC(\"kprobe/plain\") int p(struct small___other *b)";
    expect(&format!("{other} {{ sink = b->elsewhere; return 0; }}"), &["p field"]);
    expect(&format!("{other} {{ if (exists(b->elsewhere)) sink = b->elsewhere; return 0; }}"), &["p ok"]);
    // Whether it is reached, the loader decides.
    let hangs = format!("const volatile int on = 0; {other} {{ if (on) sink = b->elsewhere; return 0; }}");
    expect(&hangs, &["p field"]);
    if let Some(lines) = found(&hangs) {
        assert!(lines.iter().any(|line| line.contains("hangs on on")), "{lines:?}");
    }
    let gone = "SEC(\"kprobe/plain\") int p(struct small_none *b) { sink = b->x; return 0; }";
    expect(gone, &["p field"]);
    if let Some(lines) = found(gone) {
        assert!(lines.iter().any(|line| line.contains("the kernel has no struct small_none")), "{lines:?}");
    }
}

#[test]
fn what_is_read_of_the_context_is_there() {
    let read = |section: &str, slot: u32| {
        format!("SEC(\"{section}\") int p(unsigned long *ctx) {{ sink = ctx[{slot}]; return 0; }}")
    };
    expect(&read("fentry/takes_six", 5), &["p ok"]);
    expect(&read("fentry/takes_six", 6), &["p argument"]);
    // What it returns follows.
    expect(&read("fexit/takes_six", 6), &["p ok"]);
    expect(&read("fexit/takes_six", 7), &["p argument"]);
    // %di and %si of struct pt_regs.
    expect(&read("kprobe/takes_more", 14), &["p ok"]);
    expect(&read("kprobe/takes_large", 13), &["p ok"]);
}

#[test]
fn what_an_object_wants_of_the_kernel_is_there() {
    let program = "SEC(\"kprobe/plain\") int p(void *ctx)";
    let with = |before: &str, body: &str| format!("{before} {program} {{ {body} return 0; }}");
    let ksym = "extern int nowhere_at_all __attribute__((section(\".ksyms\")";
    expect(&with(&format!("{ksym}));"), "sink = (long)&nowhere_at_all;"), &["p ok"]);
    if let Some(kernel) = KERNEL.as_ref()
        && let Some((_folder, object)) =
            compile(&with(&format!("{ksym}));"), "sink = (long)&nowhere_at_all;"))
    {
        // libbpf does not load the object, so that none of its programs runs.
        let run = run_in(kernel.db.path(), ["check", object.to_str().unwrap()]);
        assert!(run.code == 1 && run.out.contains("nowhere_at_all"), "{run:?}");
    }
    expect(&with(&format!("{ksym}, weak));"), "if (&nowhere_at_all) sink = 1;"), &["p ok"]);
}

#[test]
fn what_the_verifier_refuses_of_any_kernel_is_told() {
    // A register is a number to it.
    let follow = |section: &str| {
        format!(
            "SEC(\"{section}\") int p(unsigned long *ctx) {{ struct small *s = (void *)ctx[14]; sink = s->two; return 0; }}"
        )
    };
    expect(&follow("kprobe/plain"), &["p loader"]);
    expect(&follow("kretprobe/plain"), &["p loader"]);
    // fentry and the like return nothing.
    let returns = |section: &str, number: i32| {
        format!("SEC(\"{section}\") int p(unsigned long *ctx) {{ return {number}; }}")
    };
    expect(&returns("fentry/takes_six", 1), &["p loader"]);
    expect(&returns("fentry/takes_six", 0), &["p ok"]);
    expect(&returns("kprobe/plain", 1), &["p ok"]);
    expect(&returns("cgroup/dev", 2), &["p loader"]);
    expect(&returns("cgroup/recvmsg4", 0), &["p loader"]);
    // No table has it.
    expect("SEC(\"struct_ops/init\") int p(void *ctx) { return 0; }", &["p loader"]);
    // Packets have no process.
    let calls = |section: &str, helper: u32| {
        format!("SEC(\"{section}\") int p(void *ctx) {{ sink = ((long (*)(void)){helper})(); return 0; }}")
    };
    expect(&calls("xdp", 14), &["p helper"]);
    expect(&calls("tc", 14), &["p helper"]);
    expect(&calls("xdp", 5), &["p ok"]);
    expect(&calls("kprobe/plain", 14), &["p ok"]);
    // Of functions that may not be made to fail, nothing is overridden.
    expect(&calls("kprobe/plain", 58), &["p helper"]);
    expect(&calls("xdp", 58), &["p helper"]);
}

#[test]
fn files_that_are_no_objects_are_one_line() {
    let Some(kernel) = KERNEL.as_ref() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.bpf.o");
    for bytes in [
        &b"\x7fELF"[..],
        b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x01\0\xf7\0",
        &[b'\x7f', b'E', b'L', b'F', 2, 1],
    ] {
        std::fs::write(&file, bytes).unwrap();
        let run = run_in(kernel.db.path(), ["check", file.to_str().unwrap()]);
        assert_eq!((run.code, run.err.lines().count()), (3, 1), "{run:?}");
    }
}
