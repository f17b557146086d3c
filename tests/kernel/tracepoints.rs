//! Tracepoints against SystemTap, which reads headers, and against tracefs of the booted kernel.
use crate::installed::{self, Kernel, needed, say, wanted};
use crate::live::boot::{Machine, Request};
use probeidx::query::Index;
use probeidx::query::resolve::tracepoint::{self, Tracepoint};
use probeidx::query::spec::{self, Point, TraceSpec};
use probeidx::query::systemtap::listing::listed::listed;
use probeidx::query::systemtap::listing::{Lines, Lister};
use probeidx_format::View;
use probeidx_format::record::EventFieldRecord;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

#[test]
fn tracepoints_are_those_of_systemtap_and_more() {
    let Some(kernel) = needed(installed::kernel()) else { return };
    let listing = installed::stap_statements(&kernel, EVERY, false);
    let Some(listing) = needed(listing) else { return };
    let index = Index::open(&installed::index(&kernel)).unwrap();
    compare(&index.view().unwrap(), &listing);
}

const EVERY: &str = "kernel.trace(\"*\")";

fn every() -> TraceSpec {
    let Point::Trace(spec) = spec::parse(EVERY).unwrap().remove(0).point else { panic!("a tracepoint") };
    spec
}

/// Point and line of each.
fn by_point(listing: &str) -> BTreeMap<&str, &str> {
    listing.lines().map(|line| (line.split(' ').next().unwrap_or_default(), line)).collect()
}

fn compare(view: &View<'_>, listing: &str) {
    let (ours, theirs) = (list(view, EVERY), by_point(listing));
    let ours = by_point(&ours);
    let files: BTreeMap<String, BTreeSet<&[u8]>> =
        tracepoint::matching(view, &every()).fold(BTreeMap::new(), |mut files, t| {
            let file = t.declared().expect("a tracepoint with a function that has its parameters").0;
            files.entry(point(&t)).or_default().insert(file);
            files
        });
    let (mut same, mut seen, mut unseen) = (0, BTreeSet::<&[u8]>::new(), BTreeSet::<&[u8]>::new());
    for (point, line) in &ours {
        match theirs.get(point) {
            Some(their) => {
                // SystemTap compiles the headers, and we read what the kernel was compiled to: parameters are the same.
                assert_eq!(line, their);
                same += 1;
                seen.extend(&files[*point]);
            }
            // SystemTap looks below include/trace, and cannot compile every header that is there by itself: it knows all
            // tracepoints of a header, or none.
            None => unseen.extend(&files[*point]),
        }
    }
    assert!(same > 800, "only {same} in common");
    assert_eq!(seen.intersection(&unseen).next(), None);
    // It lists what headers declare of drivers and machines that this kernel was not compiled for: no probe of them can be
    // registered.
    let missing: Vec<_> = theirs.keys().filter(|point| !ours.contains_key(*point)).collect();
    for point in &missing {
        let name = point.trim_end_matches("\")").rsplit([':', '"']).next().unwrap_or_default();
        let symbol = format!("__tracepoint_{name}");
        assert!(view.name(symbol.as_bytes()).is_none(), "{point}: the kernel has {symbol}");
    }
    say(&format!(
        "{}: {same} tracepoints as SystemTap lists them; {} that no header of its own tells; {} that the kernel has not",
        String::from_utf8_lossy(view.release()),
        ours.len() - same,
        missing.len(),
    ));
}

fn point(t: &Tracepoint<'_>) -> String {
    let mut point = vec![];
    t.put(&mut point);
    String::from_utf8(point).unwrap()
}

fn list(view: &View<'_>, pattern: &str) -> String {
    let mut lines = Lines::default();
    for spec in spec::parse(pattern).unwrap() {
        let listed = listed(view, &spec).unwrap();
        Lister::new(view, true).list(&listed, spec.spelled, &mut lines).unwrap();
    }
    lines.sort();
    lines.iter().map(|l| String::from_utf8_lossy(l).into_owned() + "\n").collect()
}

#[test]
fn labels_and_callees_are_those_of_systemtap() {
    let Some(kernel) = needed(installed::kernel()) else { return };
    let index = Index::open(&installed::index(&kernel)).unwrap();
    let view = index.view().unwrap();
    for pattern in [
        "kernel.function(\"*@fs/*.c\").label(\"*\")",
        "kernel.function(\"*@kernel/sched/*.c\").label(\"out*\")",
        "kernel.function(\"*@fs/namei.c\").callees",
        "kernel.function(\"*@fs/namei.c\").callees(2)",
        "kernel.function(\"*@fs/namei.c\").callee(\"*\").return",
        "module(\"overlay\").function(\"*\").callees(3)",
    ] {
        let Some(theirs) = needed(installed::stap_statements(&kernel, pattern, false)) else { return };
        let ours = list(&view, pattern);
        // Asked without a file SystemTap takes the functions of the symbol table too, of which it knows no code, and prints
        // the suffix as it was written: a probe of the function's entry, at no label and no callee.
        let written = pattern.rsplit_once("\").").map_or("", |(_, suffix)| suffix);
        let is_of_symbol = |line: &&str| line.ends_with(&format!(".{written}")) && !line.contains('@');
        let theirs = theirs.lines().filter(|line| !is_of_symbol(line));
        let (ours, theirs): (BTreeSet<_>, BTreeSet<_>) = (ours.lines().collect(), theirs.collect());
        let only = |a: &BTreeSet<&str>, b: &BTreeSet<&str>| {
            a.difference(b).map(|l| l.to_string()).collect::<Vec<_>>()
        };
        assert_eq!((only(&ours, &theirs), only(&theirs, &ours)), (vec![], vec![]), "{pattern}");
    }
}

#[test]
fn events_have_the_fields_of_the_installed_kernel() {
    let Some(kernel) = needed(installed::kernel()) else { return };
    fields_hold(&kernel);
}

/// Those that are asked for, else one.
#[test]
fn events_have_the_fields_of_other_kernels() {
    let kernels = match std::env::var_os("PROBEIDX_KERNELS") {
        Some(_) => installed::kernels(),
        None => installed::newer().map(|kernel| vec![kernel]),
    };
    let Some(kernels) = wanted(kernels) else { return };
    kernels.iter().for_each(fields_hold);
}

/// The system whose events the kernel makes without tracepoints: those of ftrace itself.
const WITHOUT_TRACEPOINTS: &str = "ftrace:";

fn fields_hold(kernel: &Kernel) {
    const EVENTS: &str = "/sys/kernel/tracing/events";
    const AVAILABLE: &str = "/sys/kernel/tracing/available_events";
    let index = Index::open(&installed::index(kernel)).unwrap();
    let view = index.view().unwrap();
    let text = |text: &[u8]| String::from_utf8_lossy(text).into_owned();
    let of_vmlinux =
        || tracepoint::matching(&view, &every()).filter(|t| t.module().is_none() && t.has_event());
    let called = || tracepoint::all(&view).filter(|t| t.system() == b"syscalls");
    let path = |t: &Tracepoint<'_>| format!("{EVENTS}/{}/{}/format", text(t.system()), text(t.name()));
    let Some(mut machine) = needed(Machine::new(kernel)) else { return };
    machine = machine.print(AVAILABLE);
    for t in of_vmlinux() {
        machine = machine.print(&path(&t));
    }
    let printed = machine.boot(&[]).unwrap_or_else(|e| panic!("{e}")).printed;
    let ours: BTreeSet<String> =
        of_vmlinux().chain(called()).map(|t| text(t.system()) + ":" + &text(t.name())).collect();
    let theirs = printed[AVAILABLE].lines().filter(|line| !line.starts_with(WITHOUT_TRACEPOINTS));
    let theirs: BTreeSet<String> = theirs.map(str::to_owned).collect();
    let only = |a: &BTreeSet<String>, b: &BTreeSet<String>| a.difference(b).cloned().collect::<Vec<_>>();
    assert_eq!((only(&ours, &theirs), only(&theirs, &ours)), (vec![], vec![]), "{}", kernel.release);
    let has_types = view.types.len() > 1;
    let (mut fields, mut unknown) = (0, 0);
    for t in of_vmlinux() {
        // Without types, nothing tells how records are laid out.
        if t.fields().is_none() && !has_types {
            unknown += 1;
            continue;
        }
        let ours: Vec<String> =
            t.fields().into_iter().flatten().map(|f| as_tracefs_prints(&view, f)).collect();
        let theirs = printed[&path(&t)].lines().map(str::trim_start).filter(|l| l.starts_with("field:"));
        let theirs: Vec<&str> = theirs.filter(|l| !l.contains(" common_")).collect();
        assert_eq!(ours, theirs, "{}: {}", kernel.release, point(&t));
        fields += ours.len();
    }
    say(&format!(
        "{}: {} events with {fields} fields as tracefs has them; fields of {unknown} are not known",
        kernel.release,
        ours.len()
    ));
}

#[test]
fn dynamic_events_read_what_was_traced_in_the_installed_kernel() {
    let Some(kernel) = needed(installed::kernel()) else { return };
    values_hold(&kernel, &OF_EVENTS);
}

#[test]
fn dynamic_events_read_what_was_traced_in_a_newer_kernel() {
    let Some(kernel) = wanted(installed::newer()) else { return };
    values_hold(&kernel, &[&OF_EVENTS[..], &OF_PARAMETERS].concat());
}

/// A tracepoint, what is asked for, what act.c does, and what is to be seen then.
type Case = (&'static str, &'static [&'static str], &'static str, &'static str);

const OF_EVENTS: [Case; 2] = [
    ("task:task_rename", &["newcomm", "old=oldcomm"], "name", "newcomm=\"name-before\" old=\"init\""),
    (
        "sched:sched_process_fork",
        &["parent_comm", "child_pid"],
        "exit",
        "parent_comm=\"init\" child_pid={child}",
    ),
];

/// For 6.5 and later.
const OF_PARAMETERS: [Case; 2] = [
    (
        "task:task_rename",
        &["new=comm:string", "$task->comm:string"],
        "name",
        "new=\"name-before\" comm=\"init\"",
    ),
    ("sched_process_fork", &["$child->pid", "$parent->pid"], "exit", "pid={child} "),
];

fn values_hold(kernel: &Kernel, cases: &[Case]) {
    let Some(machine) = needed(Machine::new(kernel)) else { return };
    let index = installed::index(kernel);
    let request = |(point, arguments, action, _): &Case| {
        let ran = Command::new(installed::program())
            .arg("--db")
            .arg(&index)
            .args(["resolve", &format!("kernel.trace(\"{point}\")"), "--format", "kprobe-events"])
            .args(*arguments)
            .output()
            .unwrap();
        let lines = String::from_utf8(ran.stdout).unwrap();
        let lines: Vec<String> = lines.lines().filter(|l| !l.starts_with('#')).map(str::to_owned).collect();
        assert_eq!(lines.len(), 1, "{point}: {}", String::from_utf8_lossy(&ran.stderr));
        Request::Trace { lines, action }
    };
    let requests: Vec<Request> = cases.iter().map(request).collect();
    let answers = machine.boot(&requests).unwrap_or_else(|e| panic!("{e}"));
    for ((case, request), answer) in cases.iter().zip(&requests).zip(&answers.answers) {
        let known = answer.known.iter();
        let wanted =
            known.fold(case.3.to_owned(), |text, (name, value)| text.replace(&format!("{{{name}}}"), value));
        let is_there = answer.traced.iter().any(|line| line.contains(&wanted));
        assert!(is_there, "{}: {request}: {answer}, not {wanted}: {:#?}", kernel.release, answer.traced);
    }
    say(&format!("{}: {} dynamic events read what was traced", kernel.release, requests.len()));
}

/// `f_show`, kernel/trace/trace_events.c: the number of elements stands behind the name.
fn as_tracefs_prints(view: &View<'_>, field: EventFieldRecord) -> String {
    let [name, kind] =
        [field.name, field.type_name].map(|s| String::from_utf8_lossy(view.string(s)).into_owned());
    let declared = match kind.split_once('[').filter(|_| !kind.starts_with("__data_loc")) {
        Some((kind, count)) => format!("{kind} {name}[{count}"),
        None => format!("{kind} {name}"),
    };
    let is_signed = u32::from(field.flags.get() & EventFieldRecord::SIGNED != 0);
    format!("field:{declared};\toffset:{};\tsize:{};\tsigned:{is_signed};", field.offset, field.size)
}
