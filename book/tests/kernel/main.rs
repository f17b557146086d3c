//! README and book against real kernels: every block of consoles is run, and what it prints compared; and answers of the whole index
//! are held against their schemas. The blocks are of Debian's [`RELEASE`], which has to be installed with its debuginfo; those of
//! further kernels want them, as tests/real_kernels finds them. What is not there is said: `skipped: …`.
//!
//! The name of this program makes scripts/test compile it to be quick.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]
mod answers;
mod consoles;
#[path = "../../../tests/real_kernels/mod.rs"]
mod real_kernels;
#[path = "../validated/mod.rs"]
mod validated;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

/// The kernel of the documentation.
const RELEASE: &str = "6.1.0-56-cloud-amd64";

/// A folder with an index of each kernel that is there, `RELEASE.pidx`; made once.
static INDEXES: LazyLock<PathBuf> = LazyLock::new(|| {
    let db = real_kernels::target().join("book");
    for (root, release) in real_kernels::kernels() {
        let mut build = Command::new(program());
        build
            .arg("--db")
            .arg(&db)
            .args(["build", "-q", "--progress", "never", "--sysroot"])
            .arg(root)
            .arg(release);
        let built = build.output().unwrap();
        assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    }
    db
});

fn program() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_probeidx-documented"))
}

/// Whether the kernel of the documentation is installed. Debian's next update has another release: then the pages are to be renewed.
fn is_there() -> bool {
    let is_there =
        real_kernels::kernels().iter().any(|(root, release)| root == Path::new("/") && release == RELEASE);
    if !is_there {
        skip(&format!("the documentation is of {RELEASE}, which is not installed with its debuginfo"));
    }
    is_there
}

/// Said aloud: what `eprintln!` prints is held back if a test passes.
fn skip(why: &str) {
    say(&format!("skipped: {why}"));
}

fn say(what: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stderr(), "{what}");
}
