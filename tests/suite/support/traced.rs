//! A kernel and a module of functions whose sizes, lines and inlined copies are written down: for addresses and logs.
use super::fixture::{RELEASE, Tree, run_all};
use super::program::{Indexed, Run, command, run_in};
use std::ffi::OsStr;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::LazyLock;

/// Where vmlinux is linked to.
pub const LINKED: u64 = 0xffff_ffff_8100_0000;
/// Where it lies in the logs.
pub const MOVED: u64 = 0xffff_ffff_9f00_0000;

pub static TRACED: LazyLock<Indexed> = LazyLock::new(|| {
    let tree = compile();
    let db = tempfile::tempdir().unwrap();
    let built = run_in(db.path(), [OsStr::new("build"), tree.path().as_ref()]);
    assert_eq!((built.code, built.err.as_str()), (0, ""), "{built:?}");
    Indexed { tree, db }
});

fn compile() -> Tree {
    let tree = Tree::empty();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let object = |name: &str| tree.path().join(format!("{name}.o"));
    let tool = |name: &str| {
        let mut c = Command::new(name);
        c.current_dir(&folder);
        c
    };
    let units: [(&str, &str, &[&str]); 4] = [
        ("kernel", "trace.S", &[]),
        ("short", "trace_twice.S", &["-DSIZE=0x10", "-DLINE=44"]),
        ("long", "trace_twice.S", &["-DSIZE=0x20", "-DLINE=55"]),
        ("module", "trace.S", &["-DMODULE"]),
    ];
    run_all(units.map(|(name, source, flags)| {
        let mut c = tool("gcc");
        c.args(flags).args(["-c", source, "-o"]).arg(object(name));
        c
    }));
    std::fs::create_dir_all(tree.modules()).unwrap();
    let mut vmlinux = tool("ld");
    vmlinux.args(["-T", "vmlinux.lds", "-e", "first", "--build-id=sha1", "--no-warn-rwx-segments", "-o"]);
    vmlinux.arg(tree.vmlinux()).args(["kernel", "short", "long"].map(object));
    let mut module = tool("ld");
    module.args(["-r", "--build-id=sha1", "-o"]).arg(tree.module("trace-mod")).arg(object("module"));
    run_all([vmlinux, module]);
    for (name, ..) in units {
        std::fs::remove_file(object(name)).unwrap();
    }
    assert!(tree.vmlinux().ends_with(format!("vmlinux-{RELEASE}")));
    tree
}

/// Runs a command line on the index of [`TRACED`].
pub fn traced(arguments: &[&str]) -> Run {
    run_in(TRACED.db.path(), arguments)
}

/// The same with something to read.
pub fn fed(db: &Path, arguments: &[&str], input: &[u8]) -> (i32, Vec<u8>, String) {
    let mut child = command(db)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let writer = std::thread::spawn(move || {
        // Who fails may not read to the end.
        let _ = stdin.write_all(&input);
    });
    let out = child.wait_with_output().unwrap();
    writer.join().unwrap();
    (out.status.code().expect("an exit"), out.stdout, String::from_utf8(out.stderr).unwrap())
}
