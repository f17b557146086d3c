//! Other hosts: of the other byte order, and of 32 bits. `PROBEIDX_HOSTS` names programs that were built for them, a line
//! each, with what starts them: `qemu-s390x -L /usr/s390x-linux-gnu target/s390x-unknown-linux-gnu/debug/probeidx`. They are
//! asked what the program for this host is asked, and build what it builds. `scripts/other-hosts` makes them.
use super::{PROGRAM, golden, run};
use std::path::Path;

/// The programs, each as words; or why there are none, said past the test harness.
fn programs() -> Vec<String> {
    use std::io::Write;
    let all = std::env::var("PROBEIDX_HOSTS").unwrap_or_default();
    let programs: Vec<String> =
        all.lines().filter(|line| !line.trim().is_empty()).map(str::to_owned).collect();
    if programs.is_empty() {
        let _ = writeln!(
            std::io::stderr(),
            "skipped: other hosts: PROBEIDX_HOSTS names no program: run scripts/other-hosts"
        );
    }
    programs
}

#[test]
fn other_hosts_give_the_same_answers() {
    for program in programs() {
        let words: Vec<&str> = program.split_whitespace().collect();
        assert_eq!(golden::answers(&words), golden::answers(&[PROGRAM]), "{program}");
    }
}

/// Of an x86-64 kernel in miniature: this host's own compiler is no matter, as all read the same files.
#[test]
fn other_hosts_build_the_same_bytes() {
    let programs = programs();
    if programs.is_empty() {
        return;
    }
    if !cfg!(target_arch = "x86_64") {
        use std::io::Write;
        let _ = writeln!(
            std::io::stderr(),
            "skipped: builds on other hosts: the kernel in miniature is made by x86-64's gcc"
        );
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let make = super::folder("golden").join("make");
    let made = std::process::Command::new(make)
        .arg(PROGRAM)
        .arg(folder.path())
        .arg(folder.path().join("work"))
        .output();
    let made = made.unwrap();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let kernel = folder.path().join("work/kernel").display().to_string();
    let tapset = folder.path().join("work/kernel/tapset").display().to_string();
    let build = |words: &[&str], db: &Path| {
        let db = db.display().to_string();
        let built = run(words, &["--db", &db, "build", &kernel, "--tapset", &tapset]);
        assert!(built.status.success(), "{words:?}: {}", String::from_utf8_lossy(&built.stderr));
        std::fs::read(Path::new(&db).join("6.1.0-gold.pidx")).unwrap()
    };
    let own = build(&[PROGRAM], &folder.path().join("own"));
    for (number, program) in programs.iter().enumerate() {
        let words: Vec<&str> = program.split_whitespace().collect();
        assert!(build(&words, &folder.path().join(number.to_string())) == own, "{program}");
    }
}
