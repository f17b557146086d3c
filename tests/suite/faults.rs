//! Builds that are killed, run out of space or memory, or work beside others: afterwards there is the old index or the new
//! one, whole, and after the next build nothing else.
//!
//! What is built is the fixture, or what lies below `PROBEIDX_FAULTS_UNDER`; `PROBEIDX_FAULTS` says how often.
mod inputs;
mod reader;

use crate::support::fixture::{RELEASE, Tree, USUAL, skipped};
use crate::support::program::{Run, command, run_in};
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const SIGSEGV: i32 = 11;
const SIGABRT: i32 = 6;

static TREE: LazyLock<Tree> = LazyLock::new(|| Tree::compile(&USUAL));

/// What is built.
fn input() -> PathBuf {
    std::env::var_os("PROBEIDX_FAULTS_UNDER").map_or_else(|| TREE.path(), PathBuf::from)
}

/// How often something is done.
fn times(usual: usize) -> usize {
    std::env::var("PROBEIDX_FAULTS").ok().and_then(|n| n.parse().ok()).unwrap_or(usual)
}

/// Numbers that look random and are the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % limit.max(1)
    }
}

/// A folder with an index of the input.
fn indexed() -> TempDir {
    let db = tempfile::tempdir().unwrap();
    let built = run_in(db.path(), [OsString::from("build"), input().into()]);
    assert_eq!((built.code, built.err.as_str()), (0, ""), "{built:?}");
    db
}

/// A build of the input that reads all of it again.
fn forced(db: &Path) -> Command {
    let mut c = command(db);
    c.args(["build", "--force"]).arg(input()).stdout(Stdio::piped()).stderr(Stdio::piped());
    c
}

/// The same, run by a shell after it has done this.
fn forced_after(db: &Path, first: &str) -> Command {
    let build = forced(db);
    let mut c = Command::new("sh");
    c.arg("-c").arg(format!("{first}; exec \"$0\" \"$@\"")).arg(build.get_program()).args(build.get_args());
    c.env_clear().env("SYSTEMTAP_TAPSET", "");
    c
}

fn files(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let mut names: Vec<String> = entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Every index of the folder is whole.
#[track_caller]
fn assert_whole(db: &Path) {
    let verified = run_in(db, ["verify", "--kernel", "*"]);
    assert!(verified.code == 0 && verified.out.ends_with(": whole\n"), "{verified:?}");
}

/// A build leaves its indexes in the folder, whole, and nothing else.
#[track_caller]
fn assert_clean_after_a_build(db: &Path) {
    let built = Run::of(forced(db).output().unwrap());
    assert_eq!((built.code, built.err.as_str()), (0, ""), "{built:?}");
    assert!(files(db).iter().all(|name| name.ends_with(".pidx")), "{:?}", files(db));
    assert_whole(db);
}

/// It failed with one line of this, and the old index is as it was.
#[track_caller]
fn assert_refused(run: &Run, said: &str, db: &Path, before: &[u8]) {
    assert_eq!((run.code, run.out.as_str()), (3, ""), "{run:?}");
    assert!(run.err.starts_with("probeidx: error: ") && run.err.lines().count() == 1, "{run:?}");
    assert!(run.err.contains(said), "{run:?}");
    assert!(fs::read(db.join(format!("{RELEASE}.pidx"))).unwrap() == before);
}

fn bytes_of(db: &Path) -> Vec<u8> {
    fs::read(db.join(format!("{RELEASE}.pidx"))).unwrap()
}

#[test]
fn builds_that_are_killed_at_any_moment() {
    let (with, without) = (indexed(), tempfile::tempdir().unwrap());
    let start = Instant::now();
    assert!(forced(with.path()).output().unwrap().status.success());
    let mut whole = start.elapsed().as_micros() as u64;
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let mut killed = 0;
    for number in 0..20 * times(24) {
        if killed == times(24) {
            break;
        }
        let db = if number % 2 == 0 { with.path() } else { without.path() };
        let mut build = forced(db).spawn().unwrap();
        std::thread::sleep(Duration::from_micros(numbers.below(whole * 11 / 10)));
        build.kill().unwrap();
        match build.wait().unwrap().success() {
            // The first build may have taken longer because the machine had other work.
            true => whole -= whole / 8,
            false => killed += 1,
        }
        assert_whole(with.path());
        if files(db).iter().any(|name| name.ends_with(".pidx")) {
            assert_whole(db);
        }
    }
    assert_eq!(killed, times(24), "builds end before they can be killed");
    assert_clean_after_a_build(with.path());
    assert_clean_after_a_build(without.path());
}

#[test]
fn no_file_may_grow_so_far() {
    let db = indexed();
    let before = bytes_of(db.path());
    // In units of 512 or 1024 bytes, by the shell.
    for most in [0, 1, 8, before.len() / 2048] {
        let run = Run::of(forced_after(db.path(), &format!("ulimit -f {most}")).output().unwrap());
        assert_refused(&run, "File too large", db.path(), &before);
        assert_eq!(files(db.path()), [format!("{RELEASE}.pidx")]);
    }
}

#[test]
fn the_disk_is_full() {
    let (above, old) = (tempfile::tempdir().unwrap(), indexed());
    let db = above.path().join("db");
    fs::create_dir(&db).unwrap();
    let before = bytes_of(old.path());
    // Room for the index that is there and a half of another.
    let script = format!(
        "mount -t tmpfs -o size={} none '{db}' && cp '{old}'/*.pidx '{db}' || exit 77
         \"$0\" \"$@\"; echo \"code $?\"; ls -A '{db}'; cmp '{old}'/*.pidx '{db}'/*.pidx && echo same",
        before.len() * 3 / 2 + 4096,
        db = db.display(),
        old = old.path().display()
    );
    let build = forced(&db);
    let mut c = Command::new("unshare");
    c.args(["--mount", "--map-root-user", "sh", "-c", &script])
        .arg(build.get_program())
        .args(build.get_args());
    let out = match c.env("SYSTEMTAP_TAPSET", "").output() {
        Ok(out) if out.status.code() != Some(77) && !out.stdout.is_empty() => out,
        _ => {
            skipped("a full disk: unshare and mount are not allowed here");
            return;
        }
    };
    let (said, wrong) = (String::from_utf8_lossy(&out.stdout), String::from_utf8_lossy(&out.stderr));
    assert_eq!(said, format!("code 3\n{RELEASE}.pidx\nsame\n"), "{wrong}");
    assert!(wrong.contains("cannot write the index: No space left on device"), "{wrong}");
    assert_eq!(wrong.lines().count(), 1, "{wrong}");
}

/// Whatever the limit of memory is, a build ends with an index or with a line that says why not.
#[test]
fn memory_ends() {
    let db = indexed();
    let before = bytes_of(db.path());
    // With less the system cannot even load the program: it is dead before it begins.
    let loads = |megabytes: &u32| {
        let mut c = Command::new("sh");
        c.args(["-c", &format!("ulimit -v {}; \"$0\" --version", megabytes << 10)]);
        c.arg(command(db.path()).get_program()).output().unwrap().status.success()
    };
    let least = (4..400).find(loads).expect("the program can be run");
    let (mut ended, mut aborted, mut silent) = (0, 0, 0);
    for megabytes in (least..least + 400).step_by(96 / times(24).min(96)) {
        let mut build = forced_after(db.path(), &format!("ulimit -v {}", megabytes << 10));
        let out = build.output().unwrap();
        // The libraries below take memory past the program's allocator, and abort with a line of their own where there is
        // none: glibc 2.36 for the destructor of a thread's variable, Rust's (1.95) for 64 bytes in a thread that starts.
        // Another thread may say so before, after or within that line, and end the process before the signal does.
        let said = String::from_utf8_lossy(&out.stderr);
        let by_a_library = [
            "Fatal glibc error: failed to register TLS destructor: out of memory\n",
            "memory allocation of ",
        ]
        .iter()
        .any(|line| said.contains(line));
        if by_a_library && (out.status.signal() == Some(SIGABRT) || out.status.code() == Some(3)) {
            assert!(bytes_of(db.path()) == before, "{megabytes} MB");
            aborted += 1;
            continue;
        }
        // A stack that cannot grow is a signal that leaves no stack to report it on (once in 25 runs on a busy machine).
        if out.status.signal() == Some(SIGSEGV) && out.stderr.is_empty() {
            assert!(bytes_of(db.path()) == before, "{megabytes} MB");
            silent += 1;
            continue;
        }
        let run = Run::of(out);
        if run.code == 0 {
            assert_eq!(run.err, "");
            break;
        }
        ended += 1;
        assert_eq!((run.code, run.out.as_str()), (3, ""), "{megabytes} MB: {run:?}");
        assert!(
            run.err.starts_with("probeidx: error: ") && run.err.lines().count() == 1,
            "{megabytes} MB: {run:?}"
        );
        assert!(bytes_of(db.path()) == before, "{megabytes} MB");
    }
    assert!(
        ended > 4 * silent && ended > aborted,
        "of the limits that were too small, {ended} were told, {aborted} by a library, and {silent} not"
    );
    assert_clean_after_a_build(db.path());
}

#[test]
fn the_folder_cannot_be_written() {
    let db = indexed();
    let before = bytes_of(db.path());
    let as_nobody = |arguments: &[&str]| {
        let build = forced(db.path());
        let mut c = Command::new("setpriv");
        c.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(build.get_program());
        c.args(build.get_args()).args(arguments).env("SYSTEMTAP_TAPSET", "").output()
    };
    // Everything on the way to the program and the fixture must be open to others.
    use std::os::unix::fs::PermissionsExt;
    for folder in [db.path(), &TREE.path()] {
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
    }
    match as_nobody(&[]) {
        Ok(out) if !out.stderr.starts_with(b"setpriv") => {
            assert_refused(
                &Run::of(out),
                "cannot lock the folder of indexes: Permission denied",
                db.path(),
                &before,
            );
            assert_eq!(files(db.path()).len(), 1);
        }
        _ => drop(skipped("a folder that cannot be written: setpriv is not there or not allowed")),
    }
}

#[test]
fn a_file_or_a_folder_stands_in_the_way() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "mine").unwrap();
    Run::of(forced(&file).output().unwrap()).refused(
        3,
        &format!(
            "probeidx: error: {}: a file stands where the folder of indexes is to be; name a folder with --db",
            file.display()
        ),
    );
    assert_eq!(fs::read(&file).unwrap(), b"mine");
    let lock = folder.path().join(".building.lock");
    fs::create_dir(&lock).unwrap();
    let run = Run::of(forced(folder.path()).output().unwrap());
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.err.contains("cannot lock the folder of indexes: Is a directory"), "{run:?}");
}

/// Starts it and gives what it says first.
fn first_line(c: &mut Command) -> (Child, String) {
    let mut child = c.spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    (child, line)
}

#[test]
fn the_second_build_says_who_builds_and_waits() {
    let db = indexed();
    let lock = db.path().join(".building.lock");
    let mut held = File::create(&lock).unwrap();
    held.lock().unwrap();
    writeln!(held, "4711").unwrap();
    let before = bytes_of(db.path());
    let (mut second, said) = first_line(&mut forced(db.path()));
    assert_eq!(said, format!("probeidx: process 4711 builds in {}: waiting for it\n", db.path().display()));
    assert!(second.try_wait().unwrap().is_none());
    assert!(bytes_of(db.path()) == before);
    // As a build does at its end; and another one begins before the second wakes.
    fs::remove_file(&lock).unwrap();
    let third = File::create(&lock).unwrap();
    third.lock().unwrap();
    drop(held);
    std::thread::sleep(Duration::from_millis(50));
    assert!(second.try_wait().unwrap().is_none(), "it waits for the third too");
    fs::remove_file(&lock).unwrap();
    drop(third);
    assert!(second.wait().unwrap().success());
    assert_clean_after_a_build(db.path());
}

#[test]
fn what_was_built_meanwhile_is_not_built_again() {
    let (db, other) = (tempfile::tempdir().unwrap(), indexed());
    let lock = db.path().join(".building.lock");
    let held = File::create(&lock).unwrap();
    held.lock().unwrap();
    let mut build = command(db.path());
    build.arg("build").arg(input()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (second, _) = first_line(&mut build);
    let name = format!("{RELEASE}.pidx");
    fs::copy(other.path().join(&name), db.path().join(&name)).unwrap();
    fs::remove_file(&lock).unwrap();
    drop(held);
    let out = second.wait_with_output().unwrap();
    assert!(String::from_utf8_lossy(&out.stdout).contains("(nothing had changed)"), "{out:?}");
}

#[test]
fn the_lock_of_a_dead_build_and_what_it_left_are_no_obstacle() {
    let db = indexed();
    fs::write(db.path().join(".building.lock"), "1\n").unwrap();
    fs::write(db.path().join(".building-Ab3x9Z.tmp"), "half an index").unwrap();
    assert_clean_after_a_build(db.path());
}

#[test]
fn many_builds_at_once() {
    let db = tempfile::tempdir().unwrap();
    let builds: Vec<Child> = (0..6).map(|_| forced(db.path()).spawn().unwrap()).collect();
    for build in builds {
        let run = Run::of(build.wait_with_output().unwrap());
        assert_eq!(run.code, 0, "{run:?}");
        assert!(run.err.lines().all(|line| line.ends_with(": waiting for it")), "{run:?}");
    }
    assert!(files(db.path()).iter().all(|name| name.ends_with(".pidx")), "{:?}", files(db.path()));
    assert_whole(db.path());
}
