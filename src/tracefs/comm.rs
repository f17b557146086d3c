//! The names of tasks, which records have by number only.
//!
//! The kernel remembers the name of a task that wrote a record when it is switched away (`saved_cmdlines`, of the last 128
//! by default); a task that still runs has it in `/proc`. A task that ended long before it is asked for has no name.
use rustc_hash::FxHashMap;
use std::path::{Path, PathBuf};

/// Names of tasks by number.
#[derive(Clone, Debug)]
pub struct Comms {
    saved: PathBuf,
    proc: PathBuf,
    names: FxHashMap<i32, Vec<u8>>,
}

impl Comms {
    /// None yet. `tracefs` is its folder, `root` that of `/proc`: `/` for the running kernel.
    pub fn new(tracefs: &Path, root: &Path) -> Self {
        // Idle processors are all called so: swapper/0 and so on.
        let names = FxHashMap::from_iter([(0, b"swapper".to_vec())]);
        Self { saved: tracefs.join("saved_cmdlines"), proc: root.join("proc"), names }
    }

    /// Reads what the kernel has saved since the last time. Once for many records.
    pub fn refresh(&mut self) {
        /// A system has more tasks than that only over time.
        const MOST: usize = 1 << 16;
        if self.names.len() > MOST {
            self.names.retain(|pid, _| *pid == 0);
        }
        let text = std::fs::read(&self.saved).unwrap_or_default();
        for line in text.split(|b| *b == b'\n') {
            let Some(blank) = line.iter().position(|b| *b == b' ') else { continue };
            let pid = std::str::from_utf8(&line[..blank]).ok().and_then(|pid| pid.parse().ok());
            let name = &line[blank + 1..];
            // `<...>` is what it prints of a task that it has forgotten.
            if let Some(pid) = pid.filter(|pid| *pid != 0 && name != b"<...>")
                && self.names.get(&pid).is_none_or(|known| known != name)
            {
                self.names.insert(pid, name.to_vec());
            }
        }
    }

    /// The name of a task; empty if it is unknown.
    pub fn name(&mut self, pid: i32) -> &[u8] {
        self.names.entry(pid).or_insert_with(|| {
            let mut name = std::fs::read(self.proc.join(pid.to_string()).join("comm")).unwrap_or_default();
            name.truncate(name.strip_suffix(b"\n").map_or(name.len(), <[u8]>::len));
            name
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn saved_names_are_newer_than_those_of_proc() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::create_dir_all(root.join("proc/7")).unwrap();
        std::fs::write(root.join("proc/7/comm"), "sh\n").unwrap();
        let mut comms = Comms::new(root, root);
        let names =
            |comms: &mut Comms| [7, 8, 9, 0].map(|pid| String::from_utf8(comms.name(pid).to_vec()).unwrap());
        assert_eq!(names(&mut comms), ["sh", "", "", "swapper"]);
        std::fs::write(root.join("saved_cmdlines"), "7 a b c\n8 <...>\n9 x\n0 <idle>\nrubbish\n").unwrap();
        comms.refresh();
        assert_eq!(names(&mut comms), ["a b c", "", "x", "swapper"]);
    }
}
