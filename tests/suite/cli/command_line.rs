//! How the program begins and ends, whatever is asked: exit codes, what stands on which stream, which index is meant.
use crate::support::fixture::RELEASE;
use crate::support::packed::{GZIP, deb, packed, tar};
use crate::support::program::{KERNEL, Run, command, json, probeidx, run_in};
use probeidx_format::strings::Decoded;
use probeidx_format::{SectionName, View};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tempfile::TempDir;

const AGAIN: &str = "build it again with: probeidx build --force";

fn index() -> PathBuf {
    KERNEL.db.path().join(format!("{RELEASE}.pidx"))
}

/// A folder with an index of these bytes.
fn folder(bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(format!("{RELEASE}.pidx"));
    fs::write(&file, bytes).unwrap();
    (folder, file)
}

/// The polynomial of zlib, bit by bit.
fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
    !bytes.iter().fold(!0, |crc, b| (0..8).fold(crc ^ u32::from(*b), |crc, _| step(crc)))
}

#[test]
fn no_index() {
    let empty = tempfile::tempdir().unwrap();
    let absent = empty.path().join("absent");
    for arguments in [&["find", "f"][..], &["resolve", "f"], &["stats"], &["verify"]] {
        let said = format!("probeidx: error: {}: there is no index; run: probeidx build", absent.display());
        run_in(&absent, arguments).refused(3, &said);
        let said = format!(
            "probeidx: error: {}: there is no index in this folder; run: probeidx build",
            empty.path().display()
        );
        run_in(empty.path(), arguments).refused(3, &said);
    }
    let said = format!(
        "probeidx: error: {}: no index of kernel 5.10; indexed are: {RELEASE}; run: probeidx build",
        KERNEL.db.path().display()
    );
    probeidx(&["--kernel", "5.10", "stats"]).refused(3, &said);
}

#[test]
fn an_index_of_another_version() {
    let whole = fs::read(index()).unwrap();
    for (version, remedy) in [
        (0, AGAIN.to_owned()),
        (probeidx_format::VERSION + 1, format!("use the program that wrote it, or {AGAIN}")),
    ] {
        let mut bytes = whole.clone();
        bytes[8..12].copy_from_slice(&version.to_le_bytes());
        let signed = size_of::<probeidx_format::header::Header>() - 4;
        let crc = crc32(&bytes[..signed]);
        bytes[signed..signed + 4].copy_from_slice(&crc.to_le_bytes());
        let (_keep, file) = folder(&bytes);
        let own = probeidx_format::VERSION;
        let said = format!(
            "probeidx: error: {}: index format {version}, this program reads {own}; {remedy}",
            file.display()
        );
        for arguments in [&["find", "submit"][..], &["resolve", "submit"], &["stats"], &["verify"]] {
            run_in(&file, arguments).refused(3, &said);
        }
    }
    // The checksum above is the real one: with the version as it was, nothing is wrong.
    let signed = size_of::<probeidx_format::header::Header>() - 4;
    assert_eq!(whole[signed..signed + 4], crc32(&whole[..signed]).to_le_bytes());
}

#[test]
fn what_is_no_index_or_only_a_part_of_one() {
    let whole = fs::read(index()).unwrap();
    let mut longer = whole.clone();
    longer.push(0);
    let elf = fs::read(KERNEL.tree.vmlinux()).unwrap();
    for bytes in
        [&b""[..], b"PI", b"hello, world, this is a text and not an index of anything", &elf, &longer]
            .into_iter()
            .chain([10, 40, 300, whole.len() / 2, whole.len() - 1].map(|n| &whole[..n]))
    {
        let (_keep, file) = folder(bytes);
        for arguments in [&["find", "submit"][..], &["verify"]] {
            let run = run_in(&file, arguments);
            assert_eq!((run.code, run.out.as_str(), run.err.lines().count()), (3, "", 1), "{run:?}");
            let start = format!("probeidx: error: {}", file.display());
            assert!(run.err.starts_with(&start) && run.err.ends_with(&format!("; {AGAIN}\n")), "{run:?}");
        }
    }
}

#[test]
fn verify_names_the_section_of_a_byte_that_changed() {
    let said = format!("{}: whole\n", index().display());
    assert_eq!(probeidx(&["verify"]).found(), said);
    let whole = fs::read(index()).unwrap();
    let decoded = Decoded::new();
    let view = View::open(&whole, &decoded).unwrap();
    let sizes: Vec<(SectionName, u64)> = view.section_sizes().collect();
    // The sections are laid out in their order, without gaps, up to the end.
    let mut end = whole.len() as u64;
    let mut tried = 0;
    for (name, size) in sizes.into_iter().rev() {
        end -= size;
        if size == 0 {
            continue;
        }
        let mut bytes = whole.clone();
        bytes[(end + size / 2) as usize] ^= 0x10;
        let (_keep, file) = folder(&bytes);
        let run = run_in(&file, ["verify"]);
        assert_eq!((run.code, run.out.as_str()), (3, ""), "{run:?}");
        let start = format!("probeidx: error: {}: section {} at 0x", file.display(), name.text());
        assert!(run.err.starts_with(&start) && run.err.ends_with(&format!("; {AGAIN}\n")), "{run:?}");
        tried += 1;
    }
    assert!(tried > 15, "{tried}");
}

#[test]
fn the_command_line_is_wrong() {
    for (arguments, said) in [
        (&["find", "kernel.function(\"submit"][..], "column 24: expected a closing quote"),
        (&["resolve", "submit+0xg"], "column 10: expected a hexadecimal digit"),
        (&["find", "gamma_mod:"], "column 11: expected a line number or a function name"),
        (&["fnd", "submit"], "unrecognized subcommand 'fnd'; did you mean find?"),
        (&["submit"], "unrecognized subcommand 'submit'; to look up a function: probeidx resolve submit"),
        (&["find"], "the following required arguments were not provided: <PATTERN>...; see: probeidx --help"),
    ] {
        let run = probeidx(arguments);
        assert_eq!((run.code, run.out.as_str(), run.err.lines().count()), (2, "", 1), "{run:?}");
        assert!(run.err.starts_with(&format!("probeidx: error: {said}")), "{run:?}");
    }
}

#[test]
fn what_is_missing_or_left_open_is_said() {
    let run = probeidx(&["find", "submit[a"]);
    let said = "submit[a: column 7: the [ is not closed and stands for itself; close it with ], or write \\[";
    assert_eq!((run.code, run.err.lines().last().unwrap()), (1, &*format!("probeidx: {said}")), "{run:?}");
    // Escaped it is meant.
    assert!(!probeidx(&["find", "submit\\[a"]).err.contains("not closed"));
    let said = "no addresses: give them as arguments or on stdin, one a line";
    let run = Run::of(command(KERNEL.db.path()).arg("addr").stdin(Stdio::null()).output().unwrap());
    run.refused(1, &format!("probeidx: {said}"));
}

#[test]
fn functions_are_known_as_other_tools_spell_them() {
    let places = |spec: &str| probeidx(&["-q", "find", "--each", spec]).found();
    let (calls, returns) =
        (places("kernel.function(\"lookup\").call"), places("kernel.function(\"lookup\").return"));
    for spec in ["kprobe:lookup", "fentry:vmlinux:lookup", "kprobe/lookup", "p:my/event lookup"] {
        assert_eq!(places(spec), calls, "{spec}");
    }
    for spec in ["kretprobe:lookup", "fexit/lookup", "r:my/event lookup", "lookup%return"] {
        assert_eq!(places(spec), returns, "{spec}");
    }
    assert_eq!(places("kprobe:looku*"), places("kernel.function(\"looku*\").call"));
    assert_eq!(places("lookup+0x0/0x90"), places("lookup+0"));
    assert_eq!(places("gamma_calls+0x0/0x90 [gamma_mod]"), places("gamma_mod:gamma_calls+0"));
    let said = "column 18: expected the end of the place; what is to be read stands alone: probeidx resolve lookup rq=%di";
    probeidx(&["find", "p:my/event lookup rq=%di"]).refused(2, &format!("probeidx: error: {said}"));
}

#[test]
fn types_of_several_words_need_no_quotes() {
    let quoted = probeidx(&["type", "struct node"]).found();
    assert_eq!(probeidx(&["type", "struct", "node"]).found(), quoted);
    assert_eq!(
        probeidx(&["type", "long", "unsigned", "int"]).found(),
        probeidx(&["type", "unsigned long"]).found()
    );
}

#[test]
fn errors_as_json() {
    let error = |run: Run, code: i32| -> Value {
        assert_eq!((run.code, run.out.as_str(), run.err.lines().count()), (code, "", 1), "{run:?}");
        serde_json::from_str::<Value>(&run.err).unwrap()["error"].clone()
    };
    let said = error(run_in(Path::new("/absent"), ["stats", "--json"]), 3);
    let fields = |e: &Value, name: &str| e[name].as_str().map(str::to_owned);
    assert_eq!(fields(&said, "kind").as_deref(), Some("no-index"));
    assert_eq!(fields(&said, "path").as_deref(), Some("/absent"));
    assert_eq!(fields(&said, "hint").as_deref(), Some("run: probeidx build"));
    let said = error(probeidx(&["--json", "find", "submit+"]), 2);
    assert_eq!(fields(&said, "kind").as_deref(), Some("usage"));
    assert_eq!(fields(&said, "message").as_deref(), Some("column 8: expected a digit"));
    assert!(said["path"].is_null());
    let said = error(probeidx(&["--json", "--no-such"]), 2);
    assert_eq!(fields(&said, "kind").as_deref(), Some("usage"));
}

#[test]
fn several_kernels() {
    let db = tempfile::tempdir().unwrap();
    let other = KERNEL.tree.path().join("vmlinux-6.2.0-other");
    fs::copy(KERNEL.tree.vmlinux(), &other).unwrap();
    let built = run_in(db.path(), ["build", other.to_str().unwrap()]).found();
    fs::remove_file(&other).unwrap();
    assert!(built.starts_with("6.2.0-other: 1 objects, "), "{built}");
    fs::copy(index(), db.path().join(format!("{RELEASE}.pidx"))).unwrap();
    let said = format!(
        "probeidx: error: several kernels are indexed: {RELEASE}, 6.2.0-other; \
         choose with --kernel RELEASE, or '*' for all"
    );
    run_in(db.path(), ["find", "lookup"]).refused(2, &said);
    let one = run_in(db.path(), ["--kernel", RELEASE, "find", "lookup"]).found();
    assert_eq!(run_in(db.path(), ["-q", "find", "lookup", "--kernel", "*"]).found(), one.repeat(2));
    let run = run_in(db.path(), ["find", "lookup", "--kernel", "*"]);
    let named = format!("probeidx: kernel {RELEASE}:\nprobeidx: kernel 6.2.0-other:\n");
    assert_eq!((run.code, run.out, run.err), (0, one.repeat(2), named));
    for asked in [
        &["resolve", "lookup"][..],
        &["lines", "lookup"],
        &["callers", "lookup"],
        &["type", "struct request"],
    ] {
        let one = run_in(db.path(), [&["--kernel", RELEASE], asked].concat()).found();
        let both = run_in(db.path(), [&["--kernel", "*"], asked].concat()).found();
        assert_eq!(both, format!("kernel {RELEASE}\n{one}kernel 6.2.0-other\n{one}"));
    }
    // Only one of them has the module.
    let run = run_in(db.path(), ["--kernel", "*", "resolve", "gamma_calls"]);
    assert!(run.code == 0 && run.out.starts_with(&format!("kernel {RELEASE}\n")), "{run:?}");
    assert_eq!(run.err, "probeidx: nothing in kernel 6.2.0-other\n");
    let gamma = probeidx(&["find", "gamma_calls"]).found();
    assert_eq!(run_in(db.path(), ["--kernel", "*", "-q", "find", "gamma_calls"]).found(), gamma);
    let out = run_in(db.path(), ["--kernel", "6*", "--json", "find", "lookup"]).found();
    let kernels: Vec<Value> =
        out.lines().map(|l| serde_json::from_str::<Value>(l).unwrap()["kernel"].clone()).collect();
    assert_eq!(kernels, [RELEASE, "6.2.0-other"]);
}

/// Nobody chose, and a second index would have changed the answer.
#[test]
fn the_running_kernel_is_named_where_several_are_indexed() {
    let db = tempfile::tempdir().unwrap();
    let running = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let running = running.trim();
    fs::copy(index(), db.path().join(format!("{running}.pidx"))).unwrap();
    let alone = run_in(db.path(), ["find", "lookup"]).found();
    fs::copy(index(), db.path().join("0-other.pidx")).unwrap();
    let said = format!(
        "probeidx: kernel {running} (running; 2 are indexed, see: probeidx kernels; choose with --kernel)\n"
    );
    let run = run_in(db.path(), ["find", "lookup"]);
    assert_eq!((run.code, run.out, &run.err), (0, alone, &said));
    assert_eq!(run_in(db.path(), ["resolve", "lookup"]).err, said);
    for arguments in [
        &["-q", "find", "lookup"][..],
        &["--json", "find", "lookup"],
        &["--kernel", running, "resolve", "lookup"],
        &["resolve", "lookup", "--format", "json"],
    ] {
        run_in(db.path(), arguments).found();
    }
}

/// Whoever misspelled what is to be read has no use for the places.
#[test]
fn an_unknown_variable_is_an_error_and_nothing_else() {
    for line in [&["resolve", "submit", "nosuch"][..], &["resolve", "submit", "rq", "nosuch"]] {
        let run = probeidx(line);
        assert_eq!((run.code, run.out.as_str(), run.err.lines().count()), (1, "", 1), "{run:?}");
        assert!(run.err.starts_with("probeidx: error: no variable 'nosuch' in any of"), "{run:?}");
    }
    // Known at one place is enough: all are shown.
    let all = probeidx(&["-q", "resolve", "*"]).out.matches("probe at").count();
    let run = probeidx(&["-q", "resolve", "*", "rq"]);
    assert_eq!((run.code, run.out.matches("probe at").count()), (0, all));
}

#[test]
fn many_placements_are_counted() {
    let run = probeidx(&["resolve", "*"]);
    let counts: Vec<&str> = run.err.trim().split(' ').collect();
    let ["probeidx:", placements, "placements", "of", functions, "functions"] = counts[..] else {
        panic!("{}", run.err)
    };
    let headings: std::collections::BTreeSet<&str> =
        run.out.lines().filter(|line| !line.starts_with(' ')).collect();
    assert_eq!(functions.parse::<usize>().unwrap(), headings.len());
    assert_eq!(placements.parse::<usize>().unwrap(), run.out.matches(" in .").count());
    assert_eq!(probeidx(&["resolve", "submit"]).err, "");
    assert_eq!(probeidx(&["-q", "resolve", "*"]).err, "");
}

#[test]
fn a_build_that_leaves_out_an_object_says_so_each_time() {
    let tree = KERNEL.tree.copy();
    let bad = tree.file(&format!("lib/modules/{RELEASE}/kernel/bad.ko"), b"");
    let db = tempfile::tempdir().unwrap();
    let build = || run_in(db.path(), ["build", tree.path().to_str().unwrap()]);
    let (first, second) = (build(), build());
    for run in [&first, &second] {
        assert_eq!(run.code, 4, "{run:?}");
        assert_eq!(run.err.lines().count(), 1, "{run:?}");
        assert!(run.err.starts_with(&format!("probeidx: left out: {} at 0x0: ", bad.display())), "{run:?}");
        assert!(run.out.starts_with(&format!("{RELEASE}: 4 objects, ")), "{run:?}");
        assert!(run.out.contains("\nskipped: 1 objects, "), "{run:?}");
    }
    assert!(!first.out.contains("nothing had changed") && second.out.contains("(nothing had changed)"));
    fs::remove_file(bad).unwrap();
    assert!(build().found().contains("\nnothing skipped; "));
    let none = tempfile::tempdir().unwrap();
    let run = run_in(db.path(), ["build", none.path().to_str().unwrap()]);
    assert_eq!((run.code, run.out.as_str()), (3, ""), "{run:?}");
    assert!(run.err.contains("no kernel with debug information under"), "{run:?}");
    let package = none.path().join("below/image.deb");
    fs::create_dir(none.path().join("below")).unwrap();
    fs::write(package, deb(".gz", &packed(GZIP, &tar(&[])))).unwrap();
    let run = run_in(db.path(), ["build", none.path().to_str().unwrap()]);
    let said = format!("under {}, nor in its packages; ", none.path().display());
    assert!(run.code == 3 && run.err.lines().count() == 1 && run.err.contains(&said), "{run:?}");
}

#[test]
fn stats_counts_what_there_is() {
    let out = probeidx(&["stats"]).found();
    assert!(out.starts_with(&format!("{RELEASE}  {}  written by probeidx ", index().display())), "{out}");
    let bytes = fs::read(index()).unwrap();
    let decoded = Decoded::new();
    let view = View::open(&bytes, &decoded).unwrap();
    for (what, count) in [("objects", 4), ("placements", view.places.len()), ("symbols", view.symbols.len())]
    {
        assert!(out.lines().any(|l| l.trim() == format!("{count}  {what}")), "{count} {what}: {out}");
    }
    let stats = &json(&["stats"])[0];
    assert_eq!(stats["kernel"], RELEASE);
    assert_eq!(stats["counts"]["placements"], view.places.len());
    let parts: u64 = stats["sections"].as_object().unwrap().values().map(|v| v.as_u64().unwrap()).sum();
    assert_eq!(stats["size"], parts);
}

#[test]
fn help_and_completions_need_no_index() {
    let absent = Path::new("/absent");
    let help = run_in(absent, ["--help"]).found();
    for command in ["build", "find", "resolve", "stats", "verify", "completions", "Exit codes:"] {
        assert!(help.contains(command), "{help}");
    }
    assert!(run_in(absent, ["find", "--help"]).found().contains("--each"));
    for shell in ["bash", "zsh", "fish"] {
        assert!(run_in(absent, ["completions", shell]).found().contains("probeidx complete"));
    }
}

#[test]
fn a_closed_pipe_ends_quietly() {
    for arguments in [&["find", "*", "--args"][..], &["--json", "find", "*"], &["resolve", "*"], &["--help"]]
    {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let mut c = command(KERNEL.db.path());
        let run = c.args(arguments).stdin(Stdio::null()).stdout(writer).stderr(Stdio::piped());
        let run = Run::of(run.spawn().unwrap().wait_with_output().unwrap());
        assert_eq!((run.code, run.err.as_str()), (0, ""), "{arguments:?}");
    }
}

/// Names are whatever someone wrote into a file, and may be meant for the terminal.
#[test]
fn control_characters_of_names_are_escaped() {
    for arguments in [
        &["find", "gamma_evil*"][..],
        &["find", "gamma_evil*", "--each"],
        &["resolve", "gamma_evil*"],
        &["--json", "find", "gamma_evil*"],
        &["--color", "never", "find", "*evil*", "--args"],
    ] {
        let out = probeidx(arguments).found();
        assert!(out.contains("gamma_evil\\u") && !out.contains('\x1b'), "{out:?}");
    }
    let run = probeidx(&["find", "module(\"beta\").function(\"gamma_evil\x1b[31m\")"]);
    run.refused(1, "probeidx: gamma_evil\\u{1b}[31m is a symbol, but no function with debug information");
}
