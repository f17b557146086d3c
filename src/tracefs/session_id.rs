//! The names by which what a process makes in tracefs is known as its own.
use std::fmt;
use std::path::Path;

/// A process, so that another one with the same number later is not taken for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionId {
    process: u32,
    /// When it started, in ticks of the system since the boot (proc(5): `starttime`).
    start: u64,
}

impl SessionId {
    /// This process, below `root`, which is `/` for the running kernel. The number is that which `/proc` has.
    pub fn own(root: &Path) -> Self {
        let process = std::process::id();
        Self::in_folder(&root.join("proc/self")).unwrap_or(Self { process, start: 0 })
    }

    /// The process of a folder of `/proc`.
    fn in_folder(folder: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(folder.join("stat")).ok()?;
        let (process, rest) = text.split_once(' ')?;
        // The name stands in parentheses, and may have blanks and parentheses itself.
        let (_, fields) = rest.rsplit_once(')')?;
        let start = fields.split_ascii_whitespace().nth(19)?;
        Some(Self { process: process.parse().ok()?, start: start.parse().ok()? })
    }

    /// The process whose group or instance has this name; `None` for a name that is none of ours.
    pub fn of_name(name: &str) -> Option<Self> {
        let rest = name.strip_prefix("probeidx_").or_else(|| name.strip_prefix("probeidx."))?;
        let (process, start) = rest.split_once(['_', '.'])?;
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
        (is_number(process) && is_number(start))
            .then(|| Some(Self { process: process.parse().ok()?, start: start.parse().ok()? }))?
    }

    /// Whether the process is still there.
    pub fn runs(self, root: &Path) -> bool {
        Self::in_folder(&root.join("proc").join(self.process.to_string())) == Some(self)
    }

    /// The group of its events: `probeidx_4711_123456`.
    pub fn group(self) -> String {
        format!("probeidx_{}_{}", self.process, self.start)
    }

    /// Its instance: `probeidx.4711.123456`.
    pub fn instance(self) -> String {
        self.to_string()
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "probeidx.{}.{}", self.process, self.start)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back_to_the_process_and_other_names_do_not() {
        let own = SessionId::own(Path::new("/"));
        assert_eq!(SessionId::of_name(&own.group()), Some(own));
        assert_eq!(SessionId::of_name(&own.instance()), Some(own));
        for other in [
            "probeidx",
            "probeidx_",
            "probeidx_dry_run",
            "probeidx_12",
            "probeidx_12_x",
            "my_1_2",
            "probeidx_-1_2",
        ] {
            assert_eq!(SessionId::of_name(other), None, "{other}");
        }
    }

    #[test]
    fn this_process_runs_and_an_earlier_one_of_its_number_does_not() {
        let own = SessionId::own(Path::new("/"));
        assert!(own.runs(Path::new("/")));
        assert!(!SessionId { start: own.start.wrapping_sub(1), ..own }.runs(Path::new("/")));
    }

    #[test]
    fn a_process_may_have_any_name() {
        let folder = tempfile::tempdir().unwrap();
        let stat = "42 (a) b (c)) S 1 42 42 0 -1 4194560 1 2 3 4 5 6 7 8 20 0 1 0 98765 1 2\n";
        std::fs::write(folder.path().join("stat"), stat).unwrap();
        assert_eq!(SessionId::in_folder(folder.path()), Some(SessionId { process: 42, start: 98765 }));
    }
}
