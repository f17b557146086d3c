//! The module in Python, on two small kernels: tests/python, which pytest runs. Without a Python that has what they need it says
//! `skipped: …`, and fails where everything has to be there.
#![allow(clippy::unwrap_used, reason = "a test may fail where it stands")]
mod support;

use support::{package, pytest, small_kernel};

#[test]
fn python_asks_small_kernels() {
    let Some(python) = support::environment() else { return };
    let folder = tempfile::tempdir().unwrap();
    // They are compiled differently.
    let vmlinux = [("6.1.0-test", "-O2"), ("6.12.9+x-other", "-O1")].map(|(release, level)| {
        let own = folder.path().join(release);
        std::fs::create_dir(&own).unwrap();
        small_kernel::compile(&own, release, level, &[])
    });
    let package = package(folder.path());
    let mut tests = pytest(&python, &package, "tests/python");
    support::run(tests.env("PROBEIDX_VMLINUX", std::env::join_paths(vmlinux).unwrap()));
}
