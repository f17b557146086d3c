//! What the header promises: memory, threads, bad input, what the library needs and exports.
use crate::fixture::{RELEASE, skipped};
use crate::library::{INSTALLED, Installed, capi, is_there, run};
use crate::program::{KERNEL, json};
use std::path::PathBuf;
use std::process::Command;
use tempfile::TempDir;

fn index() -> PathBuf {
    KERNEL.db.path().join(format!("{RELEASE}.pidx"))
}

/// One question of each kind on a line, and some that have no answer.
fn questions(folder: &TempDir) -> PathBuf {
    let inline = &json(&["find", "--each", "clamp_value"])[0];
    let address = inline["address"].as_str().unwrap();
    let text = format!(
        "resolve submit\nresolve submit\trq->name:string\tflags\trq->table[1][2]\nresolve clamp_value\nresolve do_open\n\
         resolve kernel.function(\"*\").call\nresolve submit%return\t$retval\nresolve nothing_is_called_so\n\
         resolve submit\tno_such_variable\nresolve kernel.statement(\"submit@*:*\")\nfind *\nfind kernel.function(\"*\")\n\
         find module(\"*\").function(\"*\")\nfind [\nlines submit\nlines core.c\nplaces clamp_value\nplaces none\n\
         frames {address}\nframes 1\naddr {address}\naddr submit+0x4\naddr nothing+1\ntype struct request\ntype u64\n\
         type enum state\nmember struct request.table\nmember struct request.none\nusers struct request\n\
         decode  submit+0x4/0x1000\ndecode RIP: 0010:submit+0x4/0x1000 and lookup+0x1/0x2\nblacklist \nblacklist *\nobjects -\n\
         sections -\nskipped -\nverify -\nstats -\ndefined submit\trq->name\ndefined submit\trq->nome\n\
         defined clamp_value\tvalue\nwhy-not 0submti\nwhy-not 0kernel.function(\"clamp_value\").return\n\
         why-not 0kernel.statement(\"submit@*:1\")\nwhy-not 1struct requst\nwhy-not 2betta\nwhy-not 0no.such\ncheck submit\n"
    );
    let path = folder.path().join("asked");
    std::fs::write(&path, text).unwrap();
    path
}

/// Compiles one of the programs in `capi/tests/c`.
pub fn program(installed: &Installed, folder: &TempDir, name: &str, flags: &[&str]) -> PathBuf {
    let program = folder.path().join(name);
    let flags = [&["-std=gnu11", "-DRELEASE", "-O1"], flags].concat();
    installed.compile("gcc", &flags, &capi().join(format!("tests/c/{name}.c")), &program);
    program
}

#[test]
fn queries_ask_the_system_for_no_memory() {
    let Some(installed) = &*INSTALLED else { return };
    let folder = tempfile::tempdir().unwrap();
    let questions = questions(&folder);
    let printed =
        run(Command::new(program(installed, &folder, "questions", &[])).arg(index()).arg(&questions));
    let last = printed.lines().last().unwrap();
    assert_eq!(last, "asked the system for memory 0 times, 0 overflows", "{printed}");
    let answered = printed.lines().filter(|l| l.contains(": ok, ")).count();
    assert!(answered > 24, "{printed}");
    for (question, status) in [
        ("resolve nothing_is_called_so", "no-match, 0"),
        ("find [", "no-match, 0"),
        ("frames 1", "no-match, 0"),
        ("member struct request.none", "no-match, 0"),
        ("places none", "ok, 0"),
        ("skipped -", "ok, 0"),
        ("verify -", "ok, 0"),
        ("defined submit\trq->name", "ok, 0"),
        ("defined submit\trq->nome", "no-match, 0"),
        ("why-not 0submti", "ok, 1"),
        ("why-not 0kernel.function(\"clamp_value\").return", "ok, 1"),
        ("why-not 1struct requst", "ok, 1"),
        ("why-not 2betta", "ok, 1"),
    ] {
        assert!(printed.lines().any(|l| l == format!("{question}: {status}")), "{question}\n{printed}");
    }
}

#[test]
fn whatever_is_given_is_borne() {
    let Some(installed) = &*INSTALLED else { return };
    let folder = tempfile::tempdir().unwrap();
    let scratch = tempfile::tempdir().unwrap();
    let printed =
        run(Command::new(program(installed, &folder, "abuse", &[])).arg(index()).arg(scratch.path()));
    assert_eq!(printed, "borne\n");
}

#[test]
fn threads_see_the_same() {
    let Some(installed) = &*INSTALLED else { return };
    let folder = tempfile::tempdir().unwrap();
    let questions = questions(&folder);
    let printed = run(Command::new(program(installed, &folder, "threads", &[])).arg(index()).arg(&questions));
    assert!(printed.starts_with("same: "), "{printed}");
}

#[test]
fn valgrind_and_the_sanitizers_have_nothing_to_say() {
    let Some(installed) = &*INSTALLED else { return };
    let folder = tempfile::tempdir().unwrap();
    let questions = questions(&folder);
    let sanitizers = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-DWITHOUT_COUNTING"];
    let sanitized = program(installed, &folder, "questions", &sanitizers);
    run(Command::new(&sanitized).arg(index()).arg(&questions));
    let scratch = tempfile::tempdir().unwrap();
    run(Command::new(program(installed, &folder, "abuse", &sanitizers)).arg(index()).arg(scratch.path()));
    if !is_there("valgrind") {
        skipped("valgrind");
        return;
    }
    let valgrind = |program: PathBuf, second: PathBuf| {
        let mut c = Command::new("valgrind");
        c.args(["-q", "--error-exitcode=9", "--leak-check=full", "--errors-for-leak-kinds=definite"]);
        run(c.arg(program).arg(index()).arg(second));
    };
    valgrind(program(installed, &folder, "questions", &["-DWITHOUT_COUNTING"]), questions);
    let scratch = tempfile::tempdir().unwrap();
    valgrind(program(installed, &folder, "abuse", &[]), scratch.path().to_owned());
}

#[test]
fn the_shared_library_is_small_and_needs_libc_only() {
    let Some(installed) = &*INSTALLED else { return };
    let library = installed.file("lib/libprobeidx.so");
    let size = std::fs::metadata(&library).unwrap().len();
    // Reading kernels of stores took 0.1 MB of it, what the verifier refuses of BPF programs a part of the last, and rows along
    // a line 10 KB: they are decoded wherever they are read. A store's tables side by side take 25 KB, a bit for each kind of record.
    // Whether a register is the caller's still, numbers and offsets in the frame that operations make, and the runtimes that bear no
    // uretprobe take 12 KB. What SystemTap refuses of arguments, variables and regular expressions of scripts, and where results are
    // returned, take 24 KB. Tracepoints with parameters by number, and what differs by the version of SystemTap, take 41 KB.
    assert!(size <= 3_425_000, "libprobeidx.so has {size} bytes");
    let dynamic = run(Command::new("readelf").args(["-d", "-W"]).arg(&library));
    let needed = |tag: &str| -> Vec<&str> {
        dynamic.lines().filter(|l| l.contains(tag)).filter_map(|l| l.split(['[', ']']).nth(1)).collect()
    };
    let others: Vec<_> = needed("(NEEDED)")
        .into_iter()
        .filter(|n| !n.starts_with("libc.so") && !n.starts_with("ld-linux"))
        .collect();
    assert_eq!(others, Vec::<&str>::new());
    assert_eq!(needed("(SONAME)"), ["libprobeidx.so.0"]);
    let symbols = run(Command::new("readelf").args(["--dyn-syms", "-W"]).arg(&library));
    let exported =
        symbols.lines().filter(|l| l.contains("GLOBAL") && !l.contains(" UND ") && l.contains(" FUNC "));
    let mut exported: Vec<_> = exported.filter_map(|l| l.split_whitespace().nth(7)).collect();
    exported.sort_unstable();
    let script = std::fs::read_to_string(capi().join("probeidx.map")).unwrap();
    let named =
        script.lines().filter_map(|l| l.trim().strip_suffix(';')).filter(|n| n.starts_with("probeidx"));
    let mut named: Vec<_> = named.map(|n| format!("{n}@@PROBEIDX_1")).collect();
    named.sort_unstable();
    assert_eq!(exported, named);
}

#[test]
fn the_static_library_links_too() {
    let Some(installed) = &*INSTALLED else { return };
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("static");
    let mut c = Command::new("gcc");
    c.args(["-std=gnu11", "-DRELEASE", "-I"]).arg(installed.file("include"));
    c.arg(capi().join("tests/c/threads.c"))
        .arg(installed.file("lib/libprobeidx.a"))
        .args(["-lm", "-pthread", "-o"]);
    run(c.arg(&program));
    run(Command::new(program).arg(index()).arg(questions(&folder)));
}

#[test]
fn every_function_has_a_manual_page() {
    let script = std::fs::read_to_string(capi().join("probeidx.map")).unwrap();
    let pages: String = std::fs::read_dir(capi().join("man"))
        .unwrap()
        .map(|page| std::fs::read_to_string(page.unwrap().path()).unwrap())
        .collect();
    for name in
        script.lines().filter_map(|l| l.trim().strip_suffix(';')).filter(|n| n.starts_with("probeidx"))
    {
        assert!(
            pages.contains(&format!("{name} \\-")) || pages.contains(&format!("{name},")),
            "{name} has no page"
        );
    }
}
