//! Programs and shared libraries: what is found of them, by which names, and what is written for uprobes.
mod compilers;
mod convention;
mod debug_files;
mod languages;
mod uprobes;

use crate::support::fixture::run_all;
use crate::support::program::{KERNEL, Run, command, run_in};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A folder with objects and an index.
struct Place {
    folder: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }
    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }
    fn db(&self) -> PathBuf {
        self.path("db")
    }
    /// Compiles the fixture.
    fn compile(&self, name: &str, flags: &[&str]) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        let mut c = Command::new("gcc");
        c.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures"));
        c.args(["-g", "-O2", "-Wl,--build-id=sha1", "-o"]).arg(&path).args(flags).arg("user.c");
        run_all([c]);
        path
    }
    /// What `build --user` says.
    fn build(&self, arguments: &[&str]) -> Run {
        let mut line = vec!["build", "--user", "--progress", "never"];
        line.extend(arguments);
        run_in(&self.db(), line)
    }
    /// Builds the index of an object, without anything to say.
    #[track_caller]
    fn index(&self, object: &Path) {
        self.build(&[object.to_str().unwrap()]).found();
    }
    /// The files of the indexes.
    fn indexes(&self) -> Vec<PathBuf> {
        let mut files: Vec<_> =
            std::fs::read_dir(self.db().join("user")).unwrap().map(|e| e.unwrap().path()).collect();
        files.sort();
        files
    }
    #[track_caller]
    fn find(&self, arguments: &[&str]) -> Vec<String> {
        let mut line = vec!["--quiet", "find", "--args"];
        line.extend(arguments);
        run_in(&self.db(), line).found().lines().map(str::to_owned).collect()
    }
    #[track_caller]
    fn resolve(&self, arguments: &[&str]) -> Vec<Value> {
        let mut line = vec!["--json", "--quiet", "resolve"];
        line.extend(arguments);
        let out = run_in(&self.db(), line).found();
        out.lines().map(|l| serde_json::from_str(l).unwrap_or_else(|e| panic!("{l}: {e}"))).collect()
    }
    /// The one placement of a point.
    #[track_caller]
    fn place(&self, arguments: &[&str]) -> Value {
        let mut places = self.resolve(arguments);
        assert_eq!(places.len(), 1, "{places:?}");
        places.remove(0)
    }
}

fn objcopy(arguments: &[&str], from: &Path, to: &Path) {
    std::fs::create_dir_all(to.parent().unwrap()).unwrap();
    let mut c = Command::new("objcopy");
    c.args(arguments).arg(from).arg(to);
    run_all([c]);
}

/// Names and values of the symbols, in the words of nm.
fn symbols(object: &Path) -> Vec<(String, u64)> {
    let out = Command::new("nm").args(["--defined-only"]).arg(object).output().unwrap();
    let line = |line: &str| {
        let words: Vec<&str> = line.split(' ').collect();
        (words[2].to_owned(), u64::from_str_radix(words[0], 16).unwrap())
    };
    String::from_utf8(out.stdout).unwrap().lines().map(line).collect()
}

/// The value of the symbol of this name.
fn address(object: &Path, symbol: &str) -> u64 {
    symbols(object).iter().find(|s| s.0 == symbol).unwrap_or_else(|| panic!("{symbol}")).1
}

fn build_id(object: &Path) -> String {
    let out = Command::new("readelf").args(["-n"]).arg(object).output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    text.split("Build ID: ").nth(1).unwrap().split_whitespace().next().unwrap().to_owned()
}

fn point(object: &Path, name: &str) -> String {
    format!("process(\"{}\").function(\"{name}\")", object.display())
}

#[test]
fn functions_are_listed_under_the_path_of_the_object() {
    let place = Place::new();
    let program = place.compile("bin/user", &["-pie", "-fPIE"]);
    place.index(&program);
    let listed = place.find(&[&point(&program, "*")]);
    let of = |name: &str| {
        let start = format!("process(\"{}\").function(\"{name}@", program.display());
        let line = listed.iter().find(|l| l.starts_with(&start) && l.contains("user.c:"));
        let line = line.unwrap_or_else(|| panic!("{name}: {listed:?}"));
        line.split_once(" $").map_or("", |(_, variables)| variables).to_owned()
    };
    assert_eq!(of("main"), "argc:int $argv:char** $one:struct list");
    assert_eq!(of("sum"), "first:struct list* $by:int $calls:int $s:int");
    assert_eq!((of("hidden"), of("twice")), (String::new(), String::new()));
    assert!(listed.iter().any(|l| l.ends_with(".function(\"_start\")")), "{listed:?}");
    // By a name that only the symbol table knows.
    assert_eq!(place.find(&[&point(&program, "sum_o*")]), place.find(&[&point(&program, "sum")]));
    assert_eq!(
        place.find(&[&point(&program, "sum_of@user.c")]),
        place.find(&[&point(&program, "sum@user.c")])
    );
    let inline = place.find(&[&format!("{}.inline", point(&program, "*@user.c"))]);
    assert!(inline.len() == 1 && inline[0].contains("(\"twice@"), "{inline:?}");
    let exported = place.find(&[&format!("{}.exported", point(&program, "*"))]);
    assert!(exported.iter().any(|l| l.contains("\"sum@")) && !exported.iter().any(|l| l.contains("hidden")));
}

#[test]
fn an_object_answers_to_its_path_its_name_and_its_soname() {
    let place = Place::new();
    let library = place.compile("lib/libuser-1.2.so", &["-shared", "-fPIC", "-Wl,-soname,libuser.so.1"]);
    std::os::unix::fs::symlink("libuser-1.2.so", place.path("lib/libuser.so")).unwrap();
    std::os::unix::fs::symlink("libuser.so", place.path("lib/libother.so")).unwrap();
    place.index(&place.path("lib/libuser.so"));
    let expected = place.find(&[&point(&library, "sum")]);
    assert!(expected[0].starts_with(&format!("process(\"{}\")", library.display())), "{expected:?}");
    let folder = place.path("lib");
    for name in [
        "libuser-1.2.so",
        "libuser.so.1",
        "libuser.so",
        "libuser*",
        &format!("{}/libuser.so", folder.display()),
        &format!("{}/libother.so", folder.display()),
        &format!("{}/*", folder.display()),
        "*",
    ] {
        assert_eq!(place.find(&[&format!("process(\"{name}\").function(\"sum\")")]), expected, "{name}");
    }
    let index = place.indexes().remove(0);
    let run = |name: &str| {
        run_in(&index, ["find", "--args", "-q", &format!("process(\"{name}\").function(\"sum\")")])
    };
    assert_eq!(run("libuser.so.1").found().trim_end(), expected[0]);
    assert_eq!(run_in(&index, ["find", "--args", "-q", "sum"]).found().trim_end(), expected[0]);
    let missing = place.path("lib/missing.so");
    let said = format!(
        "probeidx: error: {}: no index of a program or library {}; indexed are: {}; run: probeidx build --user {}",
        place.db().display(),
        missing.display(),
        library.display(),
        missing.display()
    );
    run_in(&place.db(), ["find", &point(&missing, "sum")]).refused(3, &said);
    assert_eq!(run("libuser.so.2").code, 3);
    for wrong in ["process(\"a\").library(\"b\").function(\"f\")", "process(\"a\").function"] {
        assert_eq!(run_in(&place.db(), ["find", wrong]).code, 2, "{wrong}");
    }
}

#[test]
fn kernels_and_user_objects_do_not_see_each_other() {
    let place = Place::new();
    let program = place.compile("user", &["-pie", "-fPIE"]);
    place.index(&program);
    let nothing = format!(
        "probeidx: error: {}: there is no index in this folder; run: probeidx build",
        place.db().display()
    );
    run_in(&place.db(), ["find", "sum"]).refused(3, &nothing);
    let kernel = &crate::support::program::KERNEL;
    let name = format!("{}.pidx", crate::support::fixture::RELEASE);
    std::fs::copy(kernel.db.path().join(&name), place.db().join(&name)).unwrap();
    let run = |pattern: &str| run_in(&place.db(), ["-q", "find", pattern]);
    assert_eq!((run("sum").code, run("main").code), (1, 1));
    assert_eq!(run("module(\"user\").function(\"sum\")").code, 1);
    assert_eq!(run("*").found(), run_in(kernel.db.path(), ["-q", "find", "*"]).found());
    let both = run("{kernel,process(\"user\")}.function(\"*\")").found();
    assert!(both.contains("kernel.function(") && both.contains("process(\"/"), "{both}");
    let stats = run_in(&place.db(), ["stats"]).found();
    assert!(
        stats.contains(crate::support::fixture::RELEASE) && stats.contains(program.to_str().unwrap()),
        "{stats}"
    );
    assert_eq!(run_in(&place.db(), ["verify"]).found().lines().count(), 2);
}

#[test]
fn what_is_no_program_is_one_line() {
    let place = Place::new();
    let program = place.compile("user", &["-pie", "-fPIE"]);
    let text = place.path("text");
    std::fs::write(&text, "no ELF object").unwrap();
    let narrow = place.path("narrow");
    let mut bytes = std::fs::read(&program).unwrap();
    bytes[4] = 1;
    std::fs::write(&narrow, bytes).unwrap();
    let debug = place.path("user.debug");
    objcopy(&["--only-keep-debug"], &program, &debug);
    let object = place.compile("user.o", &["-c"]);
    let kernel = crate::support::program::KERNEL.tree.vmlinux();
    let cases: [(&Path, &str); 6] = [
        (&text, "offset"),
        (&narrow, "part of a 32-bit kernel or program, of a machine of which only 64-bit ones are read"),
        (&debug, "no machine code: neither a program nor a shared library; give the file that runs"),
        (
            &object,
            "part of a kernel, or not linked: neither a program nor a shared library; leave --user away",
        ),
        (&place.path("missing"), "cannot open: No such file or directory (os error 2)"),
        (place.folder.path(), "not a regular file"),
    ];
    for (path, said) in cases {
        let run = place.build(&[path.to_str().unwrap()]);
        assert_eq!((run.code, run.out.as_str(), run.err.lines().count()), (3, "", 1), "{run:?}");
        for line in run.err.lines() {
            assert!(
                line.contains(said) || path == text && line.contains("not an ELF object"),
                "{said}: {run:?}"
            );
        }
    }
    let run = place.build(&[kernel.to_str().unwrap()]);
    assert_eq!(run.code, if run.err.contains("part of a kernel") { 3 } else { 0 }, "{run:?}");
    // The others are indexed all the same.
    let run = place.build(&[text.to_str().unwrap(), program.to_str().unwrap()]);
    assert_eq!((run.code, run.err.lines().count()), (4, 1), "{run:?}");
    assert!(run.out.starts_with(&format!("{}: ", program.display())), "{run:?}");
    assert_eq!(run_in(&place.db(), ["build", "--user"]).code, 2);
    assert_eq!(run_in(&place.db(), ["build", "--debug-dir", "/"]).code, 2);
}

#[test]
fn damaged_objects_are_survived() {
    let place = Place::new();
    let program = place.compile("whole", &["-pie", "-fPIE"]);
    let whole = std::fs::read(&program).unwrap();
    let victim = place.path("victim");
    let options =
        probeidx::pipeline::Options { db: place.db(), modules: true, tapsets: vec![], force: true, jobs: 1 };
    let mut built = 0;
    let mut build = |bytes: &[u8]| {
        std::fs::write(&victim, bytes).unwrap();
        let report =
            probeidx::pipeline::build_user(std::slice::from_ref(&victim), &[], &options, &()).unwrap();
        built += report.built.len();
        assert!(!report.built.is_empty() || !report.skipped.is_empty());
        for built in &report.built {
            let index = probeidx::query::Index::open(&built.index).unwrap();
            let view = index.view().unwrap();
            for spec in probeidx::query::spec::parse("*").unwrap() {
                probeidx::query::resolve::resolve(&view, &spec, Default::default(), |_, _| Ok(())).unwrap();
            }
        }
    };
    for at in (0..whole.len()).step_by(whole.len() / 40) {
        build(&whole[..at]);
    }
    let headers = 64 + 13 * 56;
    let places = (16..headers).step_by(7).chain((whole.len() - 64 * 36..whole.len()).step_by(41));
    for at in places.chain((headers..whole.len()).step_by(whole.len() / 100)) {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        build(&bytes);
    }
    assert!(built > 50, "{built}");
}

#[test]
fn frames_of_programs_in_the_log_of_a_kernel() {
    let place = Place::new();
    let library = place.compile("libuser.so", &["-shared", "-fPIC", "-Wl,-soname,libuser.so.1"]);
    place.index(&library);
    let name = format!("{}.pidx", crate::support::fixture::RELEASE);
    std::fs::copy(crate::support::program::KERNEL.db.path().join(&name), place.db().join(&name)).unwrap();
    let mut starts: Vec<u64> = symbols(&library).into_iter().map(|s| s.1).collect();
    starts.sort_unstable();
    let start = address(&library, "sum");
    let size = starts.iter().find(|s| **s > start).unwrap() - start;
    let log: String = [library.to_str().unwrap(), "libuser.so.1", "libother.so"]
        .map(|name| format!(" 0x7f0000001005 : sum+0x5/{size:#x} [{name}]\n"))
        .concat();
    let mut running = command(&place.db())
        .args(["-q", "decode"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut running.stdin.take().unwrap(), log.as_bytes()).unwrap();
    let out = String::from_utf8(running.wait_with_output().unwrap().stdout).unwrap();
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(lines.len(), 3, "{out}");
    for line in &lines[..2] {
        assert!(line.contains("user.c:1"), "{out}");
    }
    assert!(lines[2].ends_with("[libother.so]"), "{out}");
}

/// Beside the kernel's own addresses, in the order in which they were asked.
#[test]
fn addresses_in_libraries_are_told_by_the_name_of_the_file() {
    let place = Place::new();
    let library = place.compile("lib/libuser-1.2.so", &["-shared", "-fPIC", "-Wl,-soname,libuser.so.1"]);
    place.index(&library);
    let run = run_in(&place.db(), ["addr", "sum+0 [libuser.so.1]", "find_node+0"]);
    let said: Vec<&str> = run.out.lines().collect();
    assert!(said[0].contains("  sum at "), "{run:?}");
    assert_eq!(said[1..], ["find_node+0: no kernel is indexed"], "{run:?}");
    let kernel = KERNEL.db.path().join("6.1.0-test.pidx");
    std::fs::copy(kernel, place.db().join("6.1.0-test.pidx")).unwrap();
    let path = library.display();
    let asked =
        ["sum+0 [libuser.so.1]", "find_node+0", &format!("marked+0x5 [{path}]"), "sum+0 [libother.so]"];
    let run = run_in(&place.db(), ["addr"].iter().chain(&asked));
    assert_eq!(run.code, 0, "{run:?}");
    let lines: Vec<&str> = run.out.lines().collect();
    assert_eq!(lines.len(), asked.len(), "{run:?}");
    assert!(lines.iter().zip(asked).all(|(line, asked)| line.starts_with(asked)), "{run:?}");
    assert!(lines[0].contains(" [libuser-1.2.so]  sum at ") && lines[0].contains("user.c:"), "{run:?}");
    assert!(lines[1].contains("  find_node at "), "{run:?}");
    assert!(lines[2].contains("  marked+0x5/") && lines[2].contains(" [libuser-1.2.so]"), "{run:?}");
    assert!(lines[3].ends_with(": no module or library of this name is indexed"), "{run:?}");
    let run = run_in(&place.db(), ["addr", "--json", "sum+0 [libuser.so.1]"]);
    let found: Value = serde_json::from_str(&run.found()).unwrap();
    assert_eq!((&found["kernel"], &found["module"]), (&Value::Null, &Value::Null));
    assert_eq!(found["process"], path.to_string());
    assert_eq!(found["address"], format!("{:#x}", address(&library, "sum")));
}
