//! What SystemTap refuses of a script whatever the kernel: arguments of points, variables of points that it implements itself, regular
//! expressions. Each case is what `stap -p2` of 4.8 says; those of its test suite (`semko`, `semok`) are among them.
use super::check::check;

/// A script that has one probe.
type Case = (&'static str, Option<&'static str>);

/// Points; `None` where SystemTap takes them.
const POINTS: &[Case] = &[
    ("timer.us(100)", None),
    ("timer.us(99)", Some("100 microseconds to a day")),
    ("timer.ms(10).randomize(11)", Some("randomize 11 is not within 0 to 10")),
    ("timer.hz(0)", Some("has to be greater than 0")),
    ("procfs(\"a/b\").write", None),
    ("procfs(\"/foo\").write", Some("no leading or trailing `/`")),
    ("procfs.read.maxsize(-1)", Some("maxsize -1")),
    ("kernel.function(\"lookup\").return.maxactive(9)", None),
    ("kernel.function(\"lookup\").return.maxactive(-4)", Some("maxactive -4 is not within 0 to 32767")),
    ("netfilter.hook(\"NF_INET_PRE_ROUTING\").pf(\"NFPROTO_IPV4\")", None),
    ("netfilter.hook(\"NF_INET_PRE_ROUTING\").pf(\"INTERGALACTIC_IPV3000\")", Some("no protocol family")),
    ("perf.type(0).config(0).process(\"/bin/ls\").counter(\"a\")", None),
    ("perf.type(0).config(0).process(\"/bin/ls\").counter(\"\")", Some("the counter has no name")),
    ("kernel.data(\"no_such_symbol\").write", Some("no symbol no_such_symbol")),
    ("kernel.statement(0).absolute", Some("nothing of vmlinux is at 0x0")),
];

/// Handlers.
const HANDLERS: &[Case] = &[
    ("process(\"/bin/cat\").syscall { println($syscall, $arg6, $$parms) }", None),
    ("process(\"/bin/cat\").syscall { println($arg7) }", Some("$arg1 to $arg6")),
    ("process(\"/bin/cat\").syscall { println($return) }", Some("has $syscall, $arg1 to $arg6")),
    ("process(\"/bin/cat\").syscall { println($syscall->foo) }", Some("it has no members")),
    ("process(\"/bin/cat\").syscall { $syscall = 1 }", Some("it can be read alone")),
    ("process(\"/bin/cat\").syscall.return { println($return, $syscall) }", None),
    ("process(\"/bin/cat\").syscall.return { println($$parms) }", Some("has $syscall and $return")),
    ("process(\"/bin/cat\").end { println($syscall) }", Some("has no variables")),
    ("procfs.read { $value = \"a\" $value .= \"b\" }", None),
    ("procfs.read { println($value) }", Some("it can be written alone")),
    ("procfs.write { println($value) }", None),
    ("procfs.write { $value = \"a\" }", Some("it can be read alone")),
    ("procfs.write { println($val) }", Some("$value alone")),
    // The first of two points takes what the second does not.
    ("procfs.read, procfs.write { $value = \"a\" }", Some("it can be read alone")),
    ("netfilter.hook(\"NF_INET_LOCAL_IN\").pf(\"NFPROTO_IPV4\") { println($skb->len) }", None),
    (
        "netfilter.hook(\"NF_INET_LOCAL_IN\").pf(\"NFPROTO_IPV4\") { println($pf) }",
        Some("a probe of netfilter has"),
    ),
    ("netfilter.hook(\"NF_INET_LOCAL_IN\").pf(\"NFPROTO_IPV4\") { $verdict = 1 }", Some("guru mode")),
    // What is of a program, or of a header of programs, is not in the index.
    ("process(\"/bin/cat\").function(\"main\") { println(@var(\"environ\"), @cast(0, \"x\")->y) }", None),
    ("process(\"/bin/cat\").function(\"main\") { a = $argv println((a)[0], a->b) }", None),
    ("process(\"/bin/cat\").begin { println(@var(\"environ\")) }", Some("there is no variable environ")),
    ("begin { println(@cast(0, \"FILE\", \"<stdio.h>\")->_fileno, @var(\"environ\", \"/bin/cat\")) }", None),
    ("begin { println(@cast(0, \"no_such\", \"kernel<linux/x.h>\")->y) }", Some("there is no type no_such")),
    ("kernel.function(\"find_node\").return { println(& $return) }", Some("a returned value has no address")),
    ("kernel.function(\"find_node\") { println(& $key) }", Some("it is not in memory")),
    ("begin { println(\"a\" =~ \"[[:alpha:]]+(b|c){2,3}\") }", None),
    ("begin { println(\"a\" =~ \"a[b-d}+\") }", Some("is not closed")),
    // What is dropped as a constant is a number all the same.
    ("begin { println(\"foo\"*0) }", Some("this is a string, a long is wanted")),
    ("begin { i = \"a\" println(i*0) }", Some("here a long is wanted")),
    ("begin { i = 2 println(i*0, 0&i) }", None),
];

fn judged(script: &str, wanted: Option<&str>) {
    let run = check("a.stp", script, &[]);
    match wanted {
        None => assert_eq!(run.code, 0, "{script}: {run:?}"),
        Some(why) => assert!(run.code == 1 && run.out.contains(why), "{script}: {why}: {run:?}"),
    }
}

#[test]
fn arguments_of_points_are_those_that_systemtap_takes() {
    POINTS.iter().for_each(|(point, wanted)| judged(&format!("probe {point} {{ }}"), *wanted));
    let hook = "probe netfilter.hook(\"OWN\").pf(\"NFPROTO_IPV4\") { $verdict = 1 }";
    assert_eq!(check("a.stp", hook, &["--guru"]).code, 0);
}

#[test]
fn variables_are_those_that_a_point_has() {
    HANDLERS.iter().for_each(|(probe, wanted)| judged(&format!("probe {probe}"), *wanted));
}

#[test]
fn conditions_change_nothing() {
    judged("global x probe kernel.function(\"lookup\") if (x == 1) { }", None);
    judged("global x probe kernel.function(\"lookup\") if (x = 1) { }", Some("change no variables"));
}

#[test]
fn data_of_the_kernel_may_be_that_of_the_file() {
    let run = check("a.stp", "probe kernel.function(\"lookup\") { println($shared_table) }", &["--json"]);
    assert!(run.code == 0 && run.out.contains("\"kind\":\"assumed\""), "{run:?}");
    // What nobody reads is not told.
    let run = check("a.stp", "probe kernel.function(\"lookup\") { x = $shared_table }", &["--json"]);
    assert!(run.code == 0 && !run.out.contains("assumed"), "{run:?}");
}

#[test]
fn a_program_in_python_that_is_no_tool_is_told() {
    let run = check("a.py", "import os\nprint(1)\n", &[]);
    assert!(run.code == 3 && run.err.contains("no tool of bcc"), "{run:?}");
}
