//! The kernels with debuginfo that this machine has: for the tests of the programs beside `probeidx`, which take this file by
//! its path.
#[path = "../kernel/sample.rs"]
#[allow(dead_code, reason = "some of those who take this file ask all kernels")]
mod sample;

use std::path::PathBuf;

/// Those of `PROBEIDX_KERNELS`, else the newest that is installed and those that scripts/kernels unpacked: the root that each
/// lies below, and its release. Of one root, the newest: of `/` that is the one that the other tests ask.
pub fn kernels() -> Vec<(PathBuf, String)> {
    let given = std::env::var_os("PROBEIDX_KERNELS");
    let roots: Vec<PathBuf> = match &given {
        Some(paths) => std::env::split_paths(paths).collect(),
        None => {
            // One architecture is enough for what is asked here, and takes half of the time.
            let other = if cfg!(target_arch = "aarch64") { "amd64" } else { "arm64" };
            let unpacked = std::fs::read_dir(target().join("kernels")).into_iter().flatten().flatten();
            let unpacked = unpacked.map(|entry| entry.path());
            let unpacked = unpacked.filter(|path| !path.to_string_lossy().ends_with(other));
            std::iter::once("/".into()).chain(unpacked).collect()
        }
    };
    let newest = |root: PathBuf| {
        let numbers = |release: &String| -> Vec<u64> {
            release.split(|c: char| !c.is_ascii_digit()).filter_map(|n| n.parse().ok()).collect()
        };
        let names = |below: &str| {
            let names = std::fs::read_dir(root.join(below)).into_iter().flatten().flatten();
            names.filter_map(|entry| entry.file_name().into_string().ok()).collect::<Vec<_>>()
        };
        let in_boot = names("usr/lib/debug/boot");
        let in_boot = in_boot.iter().filter_map(|name| Some(name.strip_prefix("vmlinux-")?.to_owned()));
        let modules = "usr/lib/debug/lib/modules";
        let has_vmlinux = |release: &String| root.join(modules).join(release).join("vmlinux").exists();
        let release = in_boot.chain(names(modules).into_iter().filter(has_vmlinux)).max_by_key(numbers)?;
        Some((root, release))
    };
    let mut found: Vec<_> = roots.into_iter().filter_map(newest).collect();
    // What is installed may have been unpacked, too.
    found.sort_by(|a, b| a.1.cmp(&b.1));
    found.dedup_by(|a, b| a.1 == b.1);
    found
}

/// Those of `PROBEIDX_KERNELS`, else what is installed and one of the others, another one in each run.
#[allow(dead_code, reason = "some of those who take this file ask all kernels")]
pub fn some_kernels() -> Vec<(PathBuf, String)> {
    let all = kernels();
    if std::env::var_os("PROBEIDX_KERNELS").is_some() {
        return all;
    }
    let (mut found, others): (Vec<_>, Vec<_>) =
        all.into_iter().partition(|(root, _)| root.as_os_str() == "/");
    found.extend(sample::some(others, 1, sample::seed()));
    found
}

/// Where tests keep what is costly to make.
pub fn target() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
}
