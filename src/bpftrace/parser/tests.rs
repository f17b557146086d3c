use super::*;
use crate::bpftrace::ast::{Branch, Kind, Point};
use crate::error::ErrorKind;

fn points(script: &str) -> Vec<Point> {
    parse(script).unwrap().probes.into_iter().flat_map(|probe| probe.points).collect()
}

fn body(script: &str) -> String {
    let script = parse(&format!("BEGIN {{ {script} }}")).unwrap();
    script.probes[0].body.iter().map(show).collect::<Vec<_>>().join("; ")
}

/// An expression with all brackets.
fn show(e: &Expression) -> String {
    let all = |of: &[Expression]| of.iter().map(show).collect::<Vec<_>>().join(", ");
    match e {
        Expression::Name(_, name) => name.clone(),
        Expression::Variable(name) => format!("${name}"),
        Expression::Map(name, keys) => format!("@{name}[{}]", all(keys)),
        Expression::Text(text) => format!("{text:?}"),
        Expression::Call(_, name, arguments) => format!("{name}({})", all(arguments)),
        Expression::Cast(_, to, of) => format!("<{to}>{}", show(of)),
        Expression::Member(of, _, name) => format!("{}.{name}", show(of)),
        Expression::Index(of, index) => format!("{}[{}]", show(of), show(index)),
        Expression::Dereference(of) => format!("*{}", show(of)),
        Expression::Address(of) => format!("&{}", show(of)),
        Expression::OfType(_, of, members) => {
            format!("type({of}{})", members.iter().map(|(_, m)| format!(".{m}")).collect::<String>())
        }
        Expression::Operation(of, operators) if operators.is_empty() => format!("({})", all(of)),
        Expression::Operation(of, operators) => format!("({} {})", all(of), operators.join(" ")),
        Expression::Assign(to, value) => format!("{} = {}", show(to), show(value)),
        Expression::Other => "_".to_owned(),
    }
}

#[test]
fn attach_points_have_kinds_parts_and_offsets() {
    for (text, kind, parts, offset) in [
        ("kprobe:vfs_read", Kind::Kprobe, &["vfs_read"][..], None),
        ("k:vfs_*", Kind::Kprobe, &["vfs_*"], None),
        ("kr:kvm:x86_emulate_insn", Kind::Kretprobe, &["kvm", "x86_emulate_insn"], None),
        ("kprobe:do_sys_open+9", Kind::Kprobe, &["do_sys_open"], Some(9)),
        ("kprobe:\"a.b\"+0x10", Kind::Kprobe, &["a.b"], Some(16)),
        ("kfunc:vmlinux:tcp_reset", Kind::Fentry, &["vmlinux", "tcp_reset"], None),
        ("fexit:tcp_reset", Kind::Fexit, &["tcp_reset"], None),
        ("t:syscalls:sys_enter_exec*", Kind::Tracepoint, &["syscalls", "sys_enter_exec*"], None),
        ("rt:sched_switch", Kind::RawTracepoint, &["sched_switch"], None),
        ("uprobe:/bin/bash:readline", Kind::User, &["/bin/bash", "readline"], None),
        ("uprobe:./a:\"C::f(int, char)\"", Kind::User, &["./a", "C::f(int, char)"], None),
        ("usdt:/usr/lib/libc.so.6:libc:setjmp", Kind::User, &["/usr/lib/libc.so.6", "libc", "setjmp"], None),
        ("profile:hz:99", Kind::Always, &["hz", "99"], None),
        ("hardware:cache-misses:1000000", Kind::Always, &["cache-misses", "1000000"], None),
        ("BEGIN", Kind::Always, &[], None),
        ("iter:task_file", Kind::Iterator, &["task_file"], None),
        ("newkind:x", Kind::Unknown, &["x"], None),
    ] {
        let found = points(&format!("{text} {{ }}"));
        assert_eq!(found.len(), 1, "{text}");
        let point = &found[0];
        assert_eq!((point.kind, &point.text[..], point.offset), (kind, text, offset));
        assert_eq!(point.parts, parts, "{text}");
    }
}

#[test]
fn lists_predicates_comments_and_everything_outside_of_probes() {
    let script = "#!/usr/bin/env bpftrace\n#include <linux/fs.h>\n#define LONG 1 \\\n  + 2\n\
        config = { max_map_keys = 9 }\nimport \"stdlib\";\nlet @a = hash(10);\n\
        macro add($a) { $a + 1 }\nenum e { A, B };\nstruct own { int a; struct sock *b; char c[8]; };\n\
        // kprobe:no {\n/* kprobe:no */\nkprobe:one,\n  kprobe:two /pid == 4 / 2/ { @ = count(); }\n\
        tracepoint:a:b/ args.x / { }\nkprobe:three, { }";
    let parsed = parse(script).unwrap();
    let texts: Vec<Vec<&str>> =
        parsed.probes.iter().map(|probe| probe.points.iter().map(|p| &*p.text).collect()).collect();
    assert_eq!(texts, [vec!["kprobe:one", "kprobe:two"], vec!["tracepoint:a:b"], vec!["kprobe:three"]]);
    let place = parsed.probes[0].points[1].place;
    assert_eq!((place.line, place.column), (14, 3));
    assert_eq!(parsed.includes, [Branch::Always]);
    let own = parsed.types.iter().find(|own| own.name == "struct own").unwrap();
    let names: Vec<&str> = own.members.as_ref().unwrap().iter().map(|(name, _)| &**name).collect();
    assert_eq!(names, ["a", "b", "c"]);
    assert_eq!(parsed.probes[1].body.iter().map(show).collect::<Vec<_>>(), ["args.x"]);
}

#[test]
fn handlers() {
    for (text, shown) in [
        ("$sk = (struct sock *)arg0;", "$sk = <struct sock *>arg0"),
        ("$a = ((struct x *)arg0)->b.c;", "$a = <struct x *>arg0.b.c"),
        ("$a = (struct x *)arg0->b;", "$a = <struct x *>arg0.b"),
        ("print((pid));", "print(pid)"),
        ("@[comm, args->fd] = count();", "@[(comm, args.fd)] = count()"),
        (
            "if ($x == 1) { printf(\"%s\\n\", str(args.path)); } else { exit(); }",
            "($x, _ ==); printf(\"%s\\\\n\", str(args.path)); exit()",
        ),
        ("for ($kv : @map) { print($kv.0); }", "@map[]; print(($kv, _ .))"),
        ("while ($i < 5) { $i++; }", "($i, _ <); $i"),
        (
            "$t = curtask->se.cfs_rq; $u = *kaddr(\"jiffies\");",
            "$t = curtask.se.cfs_rq; $u = *kaddr(\"jiffies\")",
        ),
        (
            "$x = sizeof(struct file) + offsetof(struct file, f_path.dentry);",
            "$x = (type(struct file), type(struct file.f_path.dentry) +)",
        ),
        ("$d = (uint64)(nsecs - @start[tid]) / 1000;", "$d = (<uint64>(nsecs, @start[tid] -), _ /)"),
        ("delete(@a[1]); delete @b; clear(@c);", "delete(@a[_]); delete; @b[]; clear(@c[])"),
        ("$s = $x ? (struct a *)1 : (struct a *)0;", "$s = ($x, <struct a *>_, <struct a *>_ ? :)"),
        ("let $y: uint64 = (uint64)args.z;", "$y; <uint64>args.z"),
        ("$a = $b[3].c[$d].e", "$a = $b[_].c[$d].e"),
        ("$p = (foo_t *)arg1; return;", "$p = <foo_t *>arg1"),
        ("unroll(3) { @x = 1 }", "_; @x[] = _"),
        ("printf(\"}\"); $w = 'a' ` { nested { } }", "printf(\"}\"); $w = _; a; nested"),
    ] {
        let found = body(text);
        // What is skipped leaves nothing behind that matters.
        assert_eq!(found.replace("_; ", "").replace("; _", ""), shown.replace("_; ", ""), "{text}");
    }
}

#[test]
fn errors_have_a_place() {
    for (text, line, column, said) in [
        ("kprobe:a {\n  printf(\"x\n}", 2, 10, "text has no end"),
        ("/* x", 1, 1, "comment has no end"),
        ("kprobe:a", 1, 9, "expected {"),
        ("kprobe:a { if (1) {", 1, 20, "has no }"),
        ("kprobe:a { f(1 ", 1, 16, "expected )"),
        ("}\n", 1, 1, "expected an attach point"),
        ("kprobe:a+b { }", 1, 1, "b is no offset"),
        ("struct x { int a; ", 1, 19, "has no }"),
    ] {
        let error = parse(text).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Syntax, "{text}");
        let shown = error.to_string();
        assert!(
            error.message().contains(said) && shown.contains(&format!("{line}:{column}")),
            "{text}: {shown}"
        );
    }
}

#[test]
fn nesting_is_bounded() {
    for (open, inner, close) in
        [("(", "1", ")"), ("{", "", "}"), ("*", "x", ""), ("-", "x", ""), ("@a[", "1", "]"), ("f(", "", ")")]
    {
        let text = format!("BEGIN {{ {}{inner}{} }}", open.repeat(100_000), close.repeat(100_000));
        let error = parse(&text).unwrap_err();
        assert!(error.message().contains("deep"), "{open}: {error}");
    }
    let chain = format!("BEGIN {{ $x = a{}; }}", ".b".repeat(100_000));
    assert!(parse(&chain).unwrap_err().message().contains("chain"));
    let chain = format!("BEGIN {{ {} }}", "$x = ".repeat(100_000));
    assert!(parse(&chain).unwrap_err().message().contains("deep"));
    // Long is not deep.
    assert!(parse(&format!("BEGIN {{ $x = 1{}; }}", " + 1".repeat(100_000))).is_ok());
}

#[test]
fn any_text_ends() {
    let script =
        "kprobe:a /x/ { @a[1, (struct x *)$b] = f(\"x\", args.y) ? 1 : 2; if (x) { } } struct a { int b; };";
    for at in 0..script.len() {
        let _ = parse(&script[..at]);
        let _ = parse(&script[at..]);
        for with in ["{", "}", "(", "]", "\"", "/", "#", "é", ":", "@"] {
            let _ = parse(&format!("{}{with}{}", &script[..at], &script[at..]));
        }
    }
}

#[test]
fn what_is_read_without_btf_alone_is_told() {
    let script = "#ifndef BPFTRACE_HAVE_BTF\n#include <a.h>\n#if X\nstruct old { int a; };\n#endif\n#else\n\
        #include <b.h>\nstruct new { int a; };\n#endif\nstruct all { int a; };\n#endif\n\
        #ifdef BPFTRACE_HAVE_BTF\nstruct with { int a; };\n#endif\nkprobe:one { }";
    let parsed = parse(script).unwrap();
    assert_eq!(parsed.includes, [Branch::WithoutBtf, Branch::WithBtf]);
    let types: Vec<_> = parsed.types.iter().map(|own| (&own.name[7..], own.branch)).collect();
    let expected = [
        ("old", Branch::WithoutBtf),
        ("new", Branch::WithBtf),
        ("all", Branch::Always),
        ("with", Branch::WithBtf),
    ];
    assert_eq!(types, expected);
    assert!(Branch::Always.is_read(true) && Branch::Always.is_read(false));
    assert!(Branch::WithBtf.is_read(true) && !Branch::WithBtf.is_read(false));
    assert!(Branch::WithoutBtf.is_read(false) && !Branch::WithoutBtf.is_read(true));
}
