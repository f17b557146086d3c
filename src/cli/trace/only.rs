//! Whose events: `--pid` and `--cgroup`.
use crate::cli::args::Trace;
use crate::error::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

/// The threads whose events are recorded; all if empty.
///
/// # Errors
/// [`ErrorKind::NoMatch`] for a process that is not there and a cgroup that has none.
pub fn threads(args: &Trace) -> Result<Vec<u32>> {
    let mut found = vec![];
    for pid in &args.pid {
        let folder = Path::new("/proc").join(pid.to_string()).join("task");
        let entries = std::fs::read_dir(&folder).map_err(|_| {
            Error::new(ErrorKind::NoMatch, format!("there is no process {pid}")).hint("see: ps -e")
        })?;
        found.extend(entries.flatten().filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok()));
    }
    if let Some(cgroup) = &args.cgroup {
        found.extend(of_cgroup(cgroup)?);
    }
    found.sort_unstable();
    found.dedup();
    Ok(found)
}

/// The threads of this process.
pub fn own_threads() -> Vec<u32> {
    let entries = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
    entries.filter_map(|e| e.file_name().to_str()?.parse().ok()).collect()
}

/// The threads of a cgroup and of those below it. A path is one of the file system, or one below the mounted hierarchy.
fn of_cgroup(asked: &Path) -> Result<Vec<u32>> {
    let below = |root: &str| Path::new(root).join(asked.strip_prefix("/").unwrap_or(asked));
    let places = [asked.to_owned(), below("/sys/fs/cgroup"), below("/sys/fs/cgroup/unified")];
    let is_cgroup = |path: &&PathBuf| path.join("cgroup.procs").exists();
    let Some(folder) = places.iter().find(is_cgroup) else {
        let error = Error::new(ErrorKind::NoMatch, "no such cgroup: there is no cgroup.procs").at(asked);
        return Err(
            error.hint("name its folder below /sys/fs/cgroup; /proc/PID/cgroup has that of a process")
        );
    };
    let mut threads = vec![];
    let mut folders = vec![folder.clone()];
    while let Some(folder) = folders.pop() {
        // The threads of a cgroup are in `tasks` in version 1.
        let text = ["cgroup.threads", "tasks", "cgroup.procs"]
            .into_iter()
            .find_map(|name| std::fs::read_to_string(folder.join(name)).ok());
        threads.extend(
            text.unwrap_or_default().lines().filter_map(|line| line.parse::<u32>().ok()).filter(|t| *t > 0),
        );
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        folders.extend(entries.filter(|e| e.file_type().is_ok_and(|t| t.is_dir())).map(|e| e.path()));
    }
    if threads.is_empty() {
        let error =
            Error::new(ErrorKind::NoMatch, "no process of this PID namespace is in the cgroup").at(folder);
        return Err(
            error.hint("the kernel filters by threads, not by cgroups: start what is to be traced first")
        );
    }
    Ok(threads)
}
