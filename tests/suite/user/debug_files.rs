//! Where the debug information of a program or library is found, and what is left without it.
use super::{Place, address, build_id, objcopy};
use crate::support::fixture::run_all;
use crate::support::program::run_in;
use serde_json::Value;
use std::process::Command;

/// Everything that is asked of an object, whichever file its debug information is in.
fn answers(place: &Place) -> (Vec<String>, Vec<Value>) {
    let all = "process(\"user\").function(\"*@user.c\")";
    (place.find(&[all]), place.resolve(&[all, "--locals"]))
}

#[test]
fn debug_files_are_found_by_build_id_and_by_name() {
    let place = Place::new();
    let program = place.compile("bin/user", &["-pie", "-fPIE"]);
    place.index(&program);
    let expected = answers(&place);
    let whole = place.path("whole");
    std::fs::copy(&program, &whole).unwrap();
    let id = build_id(&program);
    let object = program.to_str().unwrap();
    let root = place.path("debug");
    let by_id = root.join(format!(".build-id/{}/{}.debug", &id[..2], &id[2..]));

    // Nothing but symbols, and no word of an index that is older than the object.
    objcopy(&["--strip-all"], &whole, &program);
    let stripped = place.build(&[object, "--debug-dir", root.to_str().unwrap()]);
    assert_eq!(stripped.code, 0, "{stripped:?}");
    let said = format!("no debug information of build id {id}: only its");
    assert!(stripped.err.contains(&said) && stripped.err.contains("--debug-dir"), "{stripped:?}");
    objcopy(&["--only-keep-debug", "--compress-debug-sections=zlib"], &whole, &by_id);
    let built = place.build(&[object, "--debug-dir", root.to_str().unwrap()]).found();
    assert!(!built.contains("nothing had changed"), "a debug file has come: {built}");
    assert_eq!(answers(&place), expected);
    assert!(
        place.build(&[object, "--debug-dir", root.to_str().unwrap()]).found().contains("nothing had changed")
    );

    std::fs::remove_file(&by_id).unwrap();
    for beside in ["bin/user.debug", "bin/.debug/user.debug"] {
        let debug = place.path(beside);
        objcopy(&["--only-keep-debug"], &whole, &debug);
        objcopy(&["--strip-all", &format!("--add-gnu-debuglink={}", debug.display())], &whole, &program);
        place.index(&program);
        assert_eq!(answers(&place), expected, "{beside}");
        std::fs::remove_file(&debug).unwrap();
    }
    assert_eq!(place.indexes().len(), 1, "an object has one index");
}

#[test]
fn a_debug_file_of_another_build_is_not_taken() {
    let place = Place::new();
    let program = place.compile("user", &["-pie", "-fPIE"]);
    let other = place.compile("other", &["-pie", "-fPIE", "-O1"]);
    let whole = place.path("whole");
    std::fs::copy(&program, &whole).unwrap();
    let debug = place.path("user.debug");
    objcopy(&["--only-keep-debug"], &other, &debug);
    objcopy(&["--strip-all", &format!("--add-gnu-debuglink={}", debug.display())], &whole, &program);
    let built = place.build(&[program.to_str().unwrap()]);
    let said = format!(
        "probeidx: in part: {}: a debug file of another build than {}: its build id is {}, that of the object {}; \
         install the debug package of the same version",
        debug.display(),
        program.display(),
        build_id(&other),
        build_id(&program)
    );
    assert_eq!((built.code, built.err.lines().next()), (0, Some(&said[..])), "{built:?}");

    // Without build ids the checksum of the whole file decides.
    let place = Place::new();
    let program = place.compile("user", &["-pie", "-fPIE", "-Wl,--build-id=none"]);
    let whole = place.path("whole");
    std::fs::copy(&program, &whole).unwrap();
    let debug = place.path("user.debug");
    objcopy(&["--only-keep-debug"], &whole, &debug);
    objcopy(&["--strip-all", &format!("--add-gnu-debuglink={}", debug.display())], &whole, &program);
    place.index(&program);
    assert_eq!(place.find(&["process(\"user\").function(\"sum\")"]).len(), 1);
    let mut bytes = std::fs::read(&debug).unwrap();
    bytes.extend([0; 8]);
    std::fs::write(&debug, bytes).unwrap();
    let built = place.build(&[program.to_str().unwrap()]);
    assert!(
        built.err.contains("a debug file of another build") && built.err.contains("its checksum is "),
        "{built:?}"
    );
    assert!(built.err.contains("no debug information, and no build id by which to find it"), "{built:?}");
}

#[test]
fn stripping_leaves_what_the_dynamic_linker_needs() {
    let place = Place::new();
    let library = place.compile("libuser.so", &["-shared", "-fPIC"]);
    let whole = place.path("whole");
    std::fs::copy(&library, &whole).unwrap();
    objcopy(&["--strip-all"], &whole, &library);
    let built = place.build(&[library.to_str().unwrap()]);
    assert!(built.code == 0 && built.err.contains("no debug information of build id"), "{built:?}");
    let line = format!("process(\"{}\").function(\"sum\")", library.display());
    assert_eq!(place.find(&["process(\"libuser.so\").function(\"sum\")"]), [line]);
    let sum = place.place(&["process(\"libuser.so\").function(\"sum\")"]);
    assert_eq!(sum["address"], format!("{:#x}", address(&whole, "sum")));
    assert_eq!(sum["attach"]["uprobe"], if cfg!(target_arch = "x86_64") { "ok" } else { "undecided" });
    // No symbol says where the instructions of what is not exported start.
    let hidden = format!("{:#x}", address(&whole, "hidden") + 1);
    let found = run_in(&place.indexes()[0], ["--json", "-q", "resolve", &hidden]);
    assert!(found.code == 1 || found.out.contains("undecided"), "{found:?}");
}

#[test]
fn an_object_is_read_again_when_it_has_changed() {
    let place = Place::new();
    let program = place.compile("user", &["-pie", "-fPIE"]);
    place.index(&program);
    let object = program.to_str().unwrap();
    assert!(place.build(&[object]).found().contains("nothing had changed"));
    assert!(!place.build(&[object, "--force"]).found().contains("nothing had changed"));
    // Only touched: the build id is the same.
    run_all([{
        let mut c = Command::new("touch");
        c.args(["-d", "2001-02-03"]).arg(&program);
        c
    }]);
    assert!(place.build(&[object]).found().contains("nothing had changed"));
    place.compile("user", &["-pie", "-fPIE", "-O1", "-Dtotal=sum_total"]);
    assert!(!place.build(&[object]).found().contains("nothing had changed"));
    assert_eq!(place.indexes().len(), 1);
}

/// What a shell, a debug file of it and a library have in common with a vmlinux is much; `build` without `--user` took them for one.
#[test]
fn a_program_is_no_kernel() {
    let db = tempfile::tempdir().unwrap();
    let program = std::env::current_exe().unwrap();
    let run = run_in(db.path(), [std::ffi::OsStr::new("build"), program.as_ref()]);
    assert_eq!((run.code, run.out.as_str(), run.err.lines().count()), (3, "", 1), "{run:?}");
    assert!(run.err.contains("a program or a shared library, no kernel; add --user"), "{run:?}");
    assert_eq!(std::fs::read_dir(db.path()).unwrap().count(), 0);
}
