//! What `addr` says of addresses, compared with binutils' reader and with what is written in the fixture.
use crate::support::program::{KERNEL, run_in};
use crate::support::traced::{LINKED, MOVED, TRACED, fed, traced};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

fn text(arguments: &[&str]) -> String {
    let mut line = vec!["addr"];
    line.extend(arguments);
    traced(&line).found()
}

fn objects(arguments: &[&str]) -> Vec<Value> {
    let mut line = vec!["--json", "addr"];
    line.extend(arguments);
    traced(&line).found().lines().map(|l| serde_json::from_str(l).unwrap()).collect()
}

const NESTED: &str = "read_it+0x14/0x40  count at fs/trace.c:5:3
    inlined into check at fs/trace.c:12:3
    inlined into read_it at fs/trace.c:22:9
";

#[test]
fn every_way_to_write_an_address_means_the_same() {
    let number = format!("{:#x}", LINKED + 0x54);
    for asked in
        [&number[..], &number[2..], "read_it+0x14", "read_it+20", "read_it+0x14/0x40", "vmlinux:read_it+0x14"]
    {
        assert_eq!(text(&[asked]), format!("{asked}  {NESTED}"));
    }
    let of_module = "mod_read+0x8/0x40 [trace_mod]  mod_read at fs/trace.c:21:2, no statement\n";
    for asked in [
        "mod_read+8",
        "trace_mod:mod_read+8",
        "trace-mod:mod_read+8",
        "trace_mod:.text+0x48",
        "mod_read+8 [trace_mod]",
    ] {
        assert_eq!(text(&[asked]), format!("{asked}  {of_module}"));
    }
    let moved = format!("{:#x}", MOVED + 0x54);
    assert_eq!(text(&["--base", &format!("{MOVED:#x}"), &moved]), format!("{moved}  {NESTED}"));
}

#[test]
fn an_object_has_all_that_is_known() {
    let [object] = &objects(&["read_it+0x14"])[..] else { panic!() };
    let level = |function, line, column, declared| {
        json!({"function": function, "file": "fs/trace.c", "line": line, "column": column,
            "declared": {"file": "fs/trace.c", "line": declared}})
    };
    let chain = [level("count", 5, 3, 4), level("check", 12, 3, 10), level("read_it", 22, 9, 19)];
    let expected = json!({"kernel": "6.1.0-test", "asked": "read_it+0x14", "module": null,
        "address": "0xffffffff81000054", "symbol": "read_it", "offset": 20, "size": 64, "symbol_unique": true,
        "section": ".text", "function": "count", "file": "fs/trace.c", "line": 5, "column": 3, "is_stmt": true,
        "chain": chain, "exact": true});
    assert_eq!(*object, expected);
    let [object] = &objects(&["init_module+4"])[..] else { panic!() };
    assert_eq!((&object["module"], &object["address"]), (&json!("trace_mod"), &json!("0x4")));
    assert_eq!((&object["section"], &object["gone"]), (&json!(".init.text"), &json!("init-text")));
}

#[test]
fn a_size_tells_symbols_of_one_name_apart() {
    assert_eq!(text(&["twice+1/0x20"]), "twice+1/0x20  twice+0x1/0x20  twice at fs/twice.c:55:1\n");
    assert_eq!(
        text(&["vmlinux:twice+1"]),
        "vmlinux:twice+1  1 of 2  twice+0x1/0x10  twice at fs/twice.c:44:1\n\
         vmlinux:twice+1  2 of 2  twice+0x1/0x20  twice at fs/twice.c:55:1\n"
    );
    let all = objects(&["twice"]);
    let numbers: Vec<_> =
        all.iter().map(|o| (&o["candidate"], &o["candidates"], &o["symbol_unique"])).collect();
    let no = json!(false);
    assert_eq!(
        numbers,
        [1, 2, 3].map(|n| json!(n)).iter().map(|n| (n, &all[0]["candidates"], &no)).collect::<Vec<_>>()
    );
    assert_eq!(all[0]["candidates"], 3);
}

/// A line for every address, in the order in which they were asked.
#[test]
fn what_is_not_there_is_said_where_it_was_asked() {
    let asked = [
        "0x10",
        "read_it+0x35",
        "counter",
        "nosuch",
        "call_it+0x21",
        "call_it+1/0x21",
        "call_it [elsewhere]",
        "bad one",
        "__pfx_worker+3",
        "read_it [kernel 00000000]",
        "call_it",
        "start_it",
    ];
    let expected = "0x10: no section is there
read_it+0x35  read_it+0x35/0x40  padding between functions
counter  counter+0x0/0x8  no code, in .data
nosuch: there is no such symbol
call_it+0x21: the offset lies beyond it, which has 0x20 bytes
call_it+1/0x21: it has 0x20 bytes here: this is of another build
call_it [elsewhere]: no module or library of this name is indexed
bad one: this is no address
__pfx_worker+3  __pfx_worker+0x3/0x10  padding between functions
read_it [kernel 00000000]: it is indexed with another build id
call_it  call_it+0x0/0x20  call_it at fs/trace.c:30:1
start_it  start_it+0x0/0x10  start_it at fs/trace.c:120:1, in init code
";
    let (code, out, err) = fed(TRACED.db.path(), &["addr"], asked.join("\n").as_bytes());
    assert_eq!((code, String::from_utf8(out).unwrap().as_str(), err.as_str()), (0, expected, ""));
    let (code, out, _) = fed(TRACED.db.path(), &["addr", "-"], b"\n0x10\n\xff\xfe\n");
    assert_eq!(
        (code, &*String::from_utf8_lossy(&out)),
        (1, "0x10: no section is there\n\u{fffd}\u{fffd}: there is no such symbol\n")
    );
    traced(&["addr", "call_it", "a b"]).refused(
        2,
        "probeidx: error: 'a b' is no address; write 0xADDRESS, SYMBOL+OFFSET or MODULE:SYMBOL+OFFSET",
    );
    let (code, out, _) = fed(TRACED.db.path(), &["addr"], &[b'('; 1 << 20]);
    assert_eq!(code, 1);
    assert!(out.ends_with(b": this is no address\n"));
}

/// A running kernel's table: vmlinux and each section of a module lie where it says.
#[test]
fn addresses_at_run_time_are_told_by_kallsyms() {
    let table = format!(
        "0000000000000000 A fixed_percpu_data\n{MOVED:016x} T _text\n{:016x} T read_it\n\
         ffffffffc0123000 t first\t[trace_mod]\nffffffffc0123040 t mod_read\t[trace_mod]\n\
         ffffffffc0777770 t mod_cold\t[trace_mod]\nffffffffc0888000 t else\t[elsewhere]\n",
        MOVED + 0x40
    );
    let file = TRACED.tree.file("kallsyms", table.as_bytes());
    let of = |address: u64| text(&["--kallsyms", file.to_str().unwrap(), &format!("{address:#x}")]);
    let moved = MOVED + 0x54;
    assert_eq!(of(moved), format!("{moved:#x}  {NESTED}"));
    assert!(
        of(0xffff_ffff_c012_3048).contains("  mod_read+0x8/0x40 [trace_mod]  mod_read at fs/trace.c:21:2")
    );
    assert!(
        of(0xffff_ffff_c077_7775).contains("  mod_cold+0x5/0x10 [trace_mod]  mod_cold at fs/trace.c:51:2")
    );
    let none = traced(&["addr", "--kallsyms", file.to_str().unwrap(), "0xffffffffc0888000"]);
    assert_eq!((none.code, none.out.as_str()), (1, "0xffffffffc0888000: no section is there\n"));
    let hidden = TRACED.tree.file("hidden", b"0000000000000000 T _text\n0000000000000000 T read_it\n");
    let refused = traced(&["addr", "--kallsyms", hidden.to_str().unwrap(), "0x1"]);
    let said = format!(
        "probeidx: error: {}: all its addresses are 0; copy /proc/kallsyms as root",
        hidden.display()
    );
    refused.refused(3, &said);
}

/// Each address on its own, and all at once in falling order, get the same answers.
#[test]
fn many_addresses_are_answered_as_each_alone() {
    let asked: Vec<String> =
        (0..0x140).rev().cycle().take(0x140 * 40).map(|offset| format!("{:#x}", LINKED + offset)).collect();
    let (code, all, _) = fed(TRACED.db.path(), &["addr"], asked.join("\n").as_bytes());
    assert_eq!(code, 0);
    let mut one_by_one = String::new();
    for address in asked.iter().take(0x140).step_by(7) {
        one_by_one += &traced(&["addr", address]).out;
    }
    let all = String::from_utf8(all).unwrap();
    let starts: Vec<usize> = all.match_indices("0xffffffff81").map(|(at, _)| at).collect();
    assert_eq!(starts.len(), asked.len());
    let every: String = (0..0x140)
        .step_by(7)
        .map(|at| &all[starts[at]..starts.get(at + 1).copied().unwrap_or(all.len())])
        .collect();
    assert_eq!(every, one_by_one);
}

/// Functions and lines that binutils tells for addresses in a section. Files are left out: it confuses some of DWARF 5.
fn addr2line(file: &Path, section: &str, addresses: &[u64]) -> Vec<Vec<(String, String)>> {
    let mut c = Command::new("addr2line");
    c.args(["-a", "-f", "-i", "-j", section, "-e"]).arg(file);
    let out = c.args(addresses.iter().map(|a| format!("{a:#x}"))).output().unwrap();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let mut found: Vec<Vec<(String, String)>> = vec![];
    let text = String::from_utf8(out.stdout).unwrap();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.starts_with("0x") {
            found.push(vec![]);
        } else {
            let place = lines.next().unwrap().split(" (disc").next().unwrap();
            let number = place.rsplit(':').next().unwrap();
            found.last_mut().unwrap().push((line.to_owned(), number.to_owned()));
        }
    }
    assert_eq!(found.len(), addresses.len());
    found
}

/// Every fourth byte of all functions that the compiler made, in vmlinux and modules.
#[test]
fn functions_and_lines_are_those_of_addr2line() {
    let mut compared = BTreeSet::new();
    for (module, file) in [
        ("vmlinux", KERNEL.tree.vmlinux()),
        ("alpha_mod", KERNEL.tree.module("alpha-mod")),
        ("gamma_mod", KERNEL.tree.module("gamma-mod")),
    ] {
        let out = Command::new("nm").args(["--format=sysv", "--defined-only"]).arg(&file).output().unwrap();
        let out = String::from_utf8(out.stdout).unwrap();
        let bases = sections(&file);
        for line in out.lines() {
            let columns: Vec<&str> = line.split('|').map(str::trim).collect();
            let &[_, value, _, "FUNC", size, _, section] = &columns[..] else { continue };
            let hex = |text| u64::from_str_radix(text, 16).unwrap();
            let base = bases.iter().find(|(name, _)| name == section).expect("a section").1;
            let offsets: Vec<u64> = (0..hex(size)).step_by(4).map(|o| hex(value) - base + o).collect();
            let asked = offsets.iter().map(|o| format!("{module}:{section}+{o:#x}\n")).collect::<String>();
            let (_, out, err) = fed(KERNEL.db.path(), &["--json", "addr"], asked.as_bytes());
            assert_eq!(err, "");
            let ours = String::from_utf8(out).unwrap();
            let ours: Vec<Value> = ours.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
            let theirs = addr2line(&file, section, &offsets);
            assert_eq!(ours.len(), theirs.len());
            for (ours, theirs) in ours.iter().zip(theirs) {
                let spelled = |level: &Value| {
                    let line = level["line"].as_u64().map_or("?".to_owned(), |line| line.to_string());
                    (level["function"].as_str().unwrap().to_owned(), line)
                };
                let own: Vec<_> = ours["chain"].as_array().unwrap().iter().map(spelled).collect();
                if theirs[0].1 == "?" {
                    // Only the symbol table knows it.
                    assert_eq!(own.len(), 1, "{ours}");
                    continue;
                }
                let name = |function: &str| function.split('.').next().unwrap().to_owned();
                let theirs: Vec<_> = theirs.into_iter().map(|(f, line)| (name(&f), line)).collect();
                assert_eq!(own, theirs, "{ours}");
                compared.insert(own.len());
            }
        }
    }
    assert!(compared.contains(&1) && compared.contains(&2) && compared.contains(&3), "{compared:?}");
}

/// The sections of a file with their addresses.
fn sections(file: &Path) -> Vec<(String, u64)> {
    let out = Command::new("objdump").arg("-h").arg(file).output().unwrap();
    let out = String::from_utf8(out.stdout).unwrap();
    let section = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let &[number, name, _, address, ..] = &words[..] else { return None };
        number.parse::<u32>().ok()?;
        Some((name.to_owned(), u64::from_str_radix(address, 16).ok()?))
    };
    out.lines().filter_map(section).collect()
}

#[test]
fn all_kernels_can_be_asked() {
    let db = tempfile::tempdir().unwrap();
    for release in ["a", "b"] {
        std::fs::copy(TRACED.db.path().join("6.1.0-test.pidx"), db.path().join(format!("{release}.pidx")))
            .unwrap();
    }
    let run = run_in(db.path(), ["--kernel", "*", "addr", "call_it", "nosuch"]);
    let answers = "6.1.0-test  call_it  call_it+0x0/0x20  call_it at fs/trace.c:30:1\n\
                   6.1.0-test  nosuch: there is no such symbol\n";
    assert_eq!(run.found(), answers.repeat(2));
}

#[test]
fn padding_before_functions_is_no_site_of_ftrace() {
    // x86 lists it in the section that other architectures list their sites in.
    let resolved = traced(&["resolve", "trace_mod:mod_read", "--json"]);
    let place: Value = serde_json::from_str(resolved.out.lines().next().unwrap()).unwrap();
    assert_eq!(place["attach"]["fentry"], "no-ftrace-site", "{resolved:?}");
}
