//! The module in Python on real kernels: tests/kernels, which pytest runs on those of `PROBEIDX_KERNELS`, else on the newest that is
//! installed and one that scripts/kernels unpacked. Without a Python that has what they need it says `skipped: …`, and
//! fails where everything has to be there.
//!
//! The name of this program makes scripts/test compile it to be quick.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]
#[path = "../../../tests/real_kernels/mod.rs"]
mod real_kernels;
#[path = "../suite/support.rs"]
#[allow(dead_code, reason = "the other tests need more of it")]
mod support;

use real_kernels::some_kernels;

#[test]
fn python_asks_real_kernels() {
    let Some(python) = support::environment() else { return };
    let kernels = some_kernels();
    if kernels.is_empty() {
        let is_complete = std::env::var("CI").is_ok_and(|ci| ci == "true");
        assert!(!is_complete, "no kernel with debuginfo: run scripts/kernels");
        return support::skip("no kernel with debuginfo");
    }
    let folder = tempfile::tempdir().unwrap();
    let lines = kernels.iter().map(|(root, release)| format!("{}\t{release}", root.display()));
    let mut tests = support::pytest(&python, &support::package(folder.path()), "tests/kernels");
    support::run(tests.env("PROBEIDX_ROOTS", lines.collect::<Vec<_>>().join("\n")));
}
