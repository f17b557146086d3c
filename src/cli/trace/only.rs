//! Whose events: `--pid` and `--cgroup`.
use crate::cli::args::Trace;
use crate::error::{Error, ErrorKind, Result};
use crate::tracefs::instance::Instance;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How often it is looked who came into a cgroup.
const AGAIN: Duration = Duration::from_millis(100);

/// The threads that are traced, and who comes into the cgroup later.
///
/// The kernel filters by threads and follows their children, but it tells nobody who is moved into a cgroup
/// (`cgroup_attach_task` is a tracepoint of the kernel for which a record is read as late as `cgroup.threads`). So who comes
/// is traced from the next look on. Who leaves is traced to its end.
pub struct Members {
    cgroup: Option<PathBuf>,
    known: HashSet<u32>,
    looked: Instant,
}

impl Members {
    /// Those that are there.
    pub fn new(args: &Trace, threads: &[u32]) -> Self {
        let cgroup = args.cgroup.as_deref().and_then(folder);
        Self { cgroup, known: threads.iter().copied().collect(), looked: Instant::now() }
    }

    /// Lets the kernel trace who has come since the last look, if that is a while ago.
    pub fn add_to(&mut self, instance: &Instance) {
        let Some(cgroup) = self.cgroup.as_ref().filter(|_| self.looked.elapsed() >= AGAIN) else { return };
        self.looked = Instant::now();
        let now = in_cgroup(cgroup);
        let text: Vec<String> = now.iter().filter(|t| !self.known.contains(t)).map(u32::to_string).collect();
        // Numbers are given to other threads when their own has ended: who is not there now is not known.
        self.known = now.into_iter().collect();
        // The kernel adds to those that it has. One that has ended by now is refused by no kernel.
        for some in text.chunks(super::steps::THREADS) {
            let _ = instance.try_write("set_event_pid", &some.join(" "));
        }
    }
}

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

/// The folder of a cgroup: a path is one of the file system, or one below the mounted hierarchy.
fn folder(asked: &Path) -> Option<PathBuf> {
    let below = |root: &str| Path::new(root).join(asked.strip_prefix("/").unwrap_or(asked));
    let places = [asked.to_owned(), below("/sys/fs/cgroup"), below("/sys/fs/cgroup/unified")];
    places.into_iter().find(|path| path.join("cgroup.procs").exists())
}

/// The threads of a cgroup, of which there are some at the start.
fn of_cgroup(asked: &Path) -> Result<Vec<u32>> {
    let Some(folder) = folder(asked) else {
        let error = Error::new(ErrorKind::NoMatch, "no such cgroup: there is no cgroup.procs").at(asked);
        return Err(
            error.hint("name its folder below /sys/fs/cgroup; /proc/PID/cgroup has that of a process")
        );
    };
    let threads = in_cgroup(&folder);
    if threads.is_empty() {
        let error =
            Error::new(ErrorKind::NoMatch, "no process of this PID namespace is in the cgroup").at(&folder);
        return Err(
            error.hint("the kernel filters by threads, not by cgroups: start what is to be traced first")
        );
    }
    Ok(threads)
}

/// The threads of a cgroup and of those below it.
fn in_cgroup(folder: &Path) -> Vec<u32> {
    let mut threads = vec![];
    let mut folders = vec![folder.to_owned()];
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
    threads
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tracefs::mount::Tracefs;

    /// Each thread that comes is written once, and again if it left in the meantime.
    #[test]
    fn who_comes_into_the_cgroup_is_added() {
        let root = tempfile::tempdir().unwrap();
        let (cgroup, tracing) = (root.path().join("cgroup"), root.path().join("sys/kernel/tracing"));
        let instance = tracing.join("instances/probeidx.1.1");
        for folder in [&cgroup.join("below"), &instance] {
            std::fs::create_dir_all(folder).unwrap();
        }
        std::fs::write(tracing.join("trace"), "").unwrap();
        std::fs::write(instance.join("set_event_pid"), "").unwrap();
        let there = |name: &str, threads: &str| std::fs::write(cgroup.join(name), threads).unwrap();
        there("cgroup.procs", "11\n");
        let tracefs = Tracefs::find(root.path()).unwrap();
        let instance = Instance::named(&tracefs, "probeidx.1.1");
        let mut members = Members {
            cgroup: folder(&cgroup),
            known: in_cgroup(&cgroup).into_iter().collect(),
            looked: Instant::now(),
        };
        let mut added = |name: &str, threads: &str| {
            there(name, threads);
            members.looked = Instant::now().checked_sub(AGAIN).unwrap();
            let before = tracefs.read("instances/probeidx.1.1/set_event_pid").len();
            members.add_to(&instance);
            tracefs.read("instances/probeidx.1.1/set_event_pid")[before..].to_owned()
        };
        assert_eq!(added("cgroup.threads", "11\n12\n"), "12");
        assert_eq!(added("below/cgroup.threads", "13\n0\n"), "13");
        assert_eq!(added("cgroup.threads", "11\n"), "");
        assert_eq!(added("cgroup.threads", "11\n12\n14\n"), "12 14");
        members.looked = Instant::now();
        std::fs::write(cgroup.join("cgroup.threads"), "15\n").unwrap();
        members.add_to(&instance);
        assert!(!tracefs.read("instances/probeidx.1.1/set_event_pid").contains("15"), "it was too soon");
    }
}
