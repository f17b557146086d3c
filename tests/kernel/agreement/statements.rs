//! `find --args` of source lines against `stap -L`.
//!
//! Where a line is asked for by itself, points and variables are the same. A listing of all lines of a file differs in one
//! class ([`is_shared`]; SystemTap 4.8):
//!
//! | class | what it is | who is right |
//! | --- | --- | --- |
//! | shared address | An address at which the rows of two lines start, as where inlined code starts with the call's. SystemTap prints it under the line that it meets first, and that depends on the order of functions in a hash table (`cu_function_cache`). | both: the address belongs to both lines. We print that of the caller. Asked for one line, SystemTap prints either, as we do |
//!
//! Where a single line of a header is asked for, SystemTap prints nothing if one of the units that use the header has no
//! code of that line ("no line records"), though others have: we are right to list it.
use super::listing::{Difference, Listing, compare};
use super::{find, installed};
use installed::Kernel;
use probeidx::pattern::Pattern;
use probeidx::query::Index;
use probeidx::query::index::line_table::{self, Files};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

/// Files of the kernel, of a module, and headers.
const FILES: [(&str, &str); 11] = [
    ("kernel", "fs/read_write.c"),
    ("kernel", "fs/namei.c"),
    ("kernel", "mm/slub.c"),
    ("kernel", "kernel/exit.c"),
    ("kernel", "kernel/sched/core.c"),
    ("kernel", "net/ipv4/tcp_input.c"),
    ("kernel", "lib/string.c"),
    ("kernel", "block/blk-core.c"),
    ("kernel", "include/linux/fs.h"),
    ("kernel", "include/linux/slab.h"),
    ("module(\"overlay\")", "fs/overlayfs/dir.c"),
];

#[test]
fn lines_are_listed_as_stap_lists_them() {
    let Some(kernel) = installed::needed(installed::kernel()) else { return };
    let index = installed::index(&kernel);
    let (mut points, mut shared, mut unexplained) = (0, 0, vec![]);
    for (object, file) in FILES {
        let pattern = format!("{object}.statement(\"*@{file}:*\")");
        let Some((ours, theirs)) = listings(&kernel, &index, &pattern) else { return };
        let (ours, theirs) = (Listing::new(&ours), Listing::new(&theirs));
        let differences = compare(&ours, &theirs);
        let only_ours = differences.iter().filter(|d| matches!(d, Difference::OnlyOurs(_))).count();
        points += theirs.len() + only_ours;
        let lines: BTreeSet<u32> = differences.iter().filter_map(line).collect();
        let of_two_lines = is_shared(&index, file);
        unexplained.extend(
            differences.iter().filter(|d| !line(d).is_some_and(&of_two_lines)).map(|d| d.to_string()),
        );
        shared += differences.len();
        installed::say(&format!(
            "{} {pattern}: {} points, {} differ",
            kernel.release,
            theirs.len(),
            differences.len(),
        ));
        if !lines.is_empty() && !file.ends_with(".h") {
            let alone: Vec<String> =
                lines.iter().map(|line| format!("{object}.statement(\"*@{file}:{line}\")")).collect();
            let Some((ours, theirs)) = listings(&kernel, &index, &alone.join(", ")) else { return };
            let (ours, theirs) = (Listing::new(&ours), Listing::new(&theirs));
            assert!(theirs.len() >= lines.len(), "{}", theirs.len());
            unexplained.extend(compare(&ours, &theirs).iter().map(|d| format!("asked alone: {d}")));
        }
    }
    let agreement = 100.0 * (points - shared) as f64 / points as f64;
    installed::say(&format!("{} points of source lines, {agreement:.2} % the same in whole files", points));
    let shown = unexplained[..unexplained.len().min(20)].join("\n");
    assert!(unexplained.is_empty(), "{} differences in no class:\n{shown}", unexplained.len());
    assert!(points > 10_000 && agreement >= 98.5, "{agreement:.2} % of {points}");
}

#[test]
fn other_forms_of_lines_are_listed_as_stap_lists_them() {
    const FORMS: [&str; 6] = [
        "kernel.statement(\"rw_verify_area\")",
        "kernel.statement(\"vfs_*@fs/read_write.c\")",
        "kernel.statement(\"vfs_*@fs/read_write.c:400-500,520\")",
        "kernel.statement(\"vfs_read@fs/read_write.c+3\").nearest",
        "kernel.statement(\"vfs_write@fs/read_write.c+2\").nearest",
        "module(\"nfs\").statement(\"do_open@fs/nfs/dir.c:*\")",
    ];
    let Some(kernel) = installed::needed(installed::kernel()) else { return };
    let Some((ours, theirs)) = listings(&kernel, &installed::index(&kernel), &FORMS.join(", ")) else {
        return;
    };
    let (ours, theirs) = (Listing::new(&ours), Listing::new(&theirs));
    let differences: Vec<_> = compare(&ours, &theirs).iter().map(|d| d.to_string()).collect();
    assert!(
        theirs.len() > 20 && differences.is_empty(),
        "{} points\n{}",
        theirs.len(),
        differences.join("\n")
    );
}

/// `resolve` marks the addresses that SystemTap takes of a line, and no others.
#[test]
fn addresses_are_those_of_stap() {
    const FILE: &str = "fs/read_write.c";
    const EVERY: usize = 12;
    let Some(kernel) = installed::needed(installed::kernel()) else { return };
    let index = installed::index(&kernel);
    let resolve = |lines: &str| {
        let mut program = Command::new(installed::program());
        let out =
            program.args(["--json", "resolve", &format!("{FILE}:{lines}"), "--db"]).arg(&index).output();
        let out = String::from_utf8(out.expect("probeidx can be run").stdout).expect("names are ASCII");
        out.lines().map(|l| serde_json::from_str(l).expect("JSON")).collect::<Vec<Value>>()
    };
    let lines: BTreeSet<u64> = resolve("*").iter().filter_map(|p| p["source"]["line"].as_u64()).collect();
    // Some of them, each asked for by itself.
    let lines: Vec<u64> = lines.into_iter().step_by(EVERY).collect();
    let points: Vec<_> = lines.iter().map(|l| format!("kernel.statement(\"*@{FILE}:{l}\")")).collect();
    let Some(theirs) = installed::needed(installed::stap_statements(&kernel, &points.join(", "), true))
    else {
        return;
    };
    let offset = |line: &str| {
        let (_, rest) = line.split_once("/* pc=_stext+0x")?;
        u64::from_str_radix(rest.split_once(' ')?.0, 16).ok()
    };
    let theirs: BTreeSet<u64> = theirs.lines().filter_map(offset).collect();
    let taken = |p: &Value| {
        let is_taken = p["source"]["systemtap"] == true && p["attach"]["kprobe"] != "init-text";
        is_taken.then(|| p["anchor"]["offset"].as_u64()).flatten()
    };
    let ours: BTreeSet<u64> =
        lines.iter().flat_map(|l| resolve(&l.to_string())).filter_map(|p| taken(&p)).collect();
    installed::say(&format!("{} addresses of {} lines of {FILE}", theirs.len(), lines.len()));
    assert!(theirs.len() > 40, "{}", theirs.len());
    assert_eq!(ours, theirs, "as offsets from _text, which is _stext");
}

fn listings(kernel: &Kernel, index: &Path, pattern: &str) -> Option<(String, String)> {
    let theirs = installed::needed(installed::stap_statements(kernel, pattern, false))?;
    Some((find(index, pattern), theirs))
}

/// The line of a point on which two lists do not agree.
fn line(difference: &Difference<'_>) -> Option<u32> {
    let (Difference::OnlyOurs(point) | Difference::OnlyTheirs(point) | Difference::Variables { point, .. }) =
        difference;
    point.strip_suffix("\")")?.rsplit_once(':')?.1.parse().ok()
}

/// Whether a line of a file starts at an address at which another line of the file starts too.
fn is_shared(index: &Path, file: &str) -> impl Fn(u32) -> bool {
    let index = Index::open(index).expect("the index can be opened");
    let view = index.view().expect("the index is whole");
    let pattern = Pattern::literal(file);
    let mut files = Files::new(&pattern);
    let mut shared = BTreeSet::new();
    let mut left = view.left(probeidx_format::SectionName::Lines);
    for object in view.object_ids() {
        let units = files.units(&view, object);
        line_table::by_unit(&view, object, &units, &mut left, |_, rows| {
            let mut lines: BTreeMap<u32, BTreeSet<u32>> = BTreeMap::new();
            for row in rows.iter().filter(|row| files.contain(&view, row.file)) {
                lines.entry(row.pc).or_default().insert(row.line);
            }
            shared.extend(lines.into_values().filter(|lines| lines.len() > 1).flatten());
        });
    }
    move |line| shared.contains(&line)
}
