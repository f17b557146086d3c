//! What processes left that ended without removing it: by SIGKILL, or with the machine's memory.
use super::instance::Instance;
use super::mount::Tracefs;
use super::planted::{forget, groups};
use super::session_id::SessionId;
use std::path::Path;

/// Removes what dead processes left, and returns their names. What belongs to a process that runs stays, and so does an
/// instance of which a file is open: its process may be one that this one cannot see, in another PID namespace.
pub fn remove(tracefs: &Tracefs, root: &Path) -> Vec<SessionId> {
    let named = tracefs.names("instances").into_iter().chain(groups(tracefs));
    let mut sessions: Vec<SessionId> = named.filter_map(|name| SessionId::of_name(&name)).collect();
    sessions.sort_unstable();
    sessions.dedup();
    sessions.retain(|session| !session.runs(root) && is_removed(tracefs, *session));
    sessions
}

fn is_removed(tracefs: &Tracefs, session: SessionId) -> bool {
    let folder = Instance::named(tracefs, &session.instance()).folder();
    // The kernel turns the events of an instance off when it removes it, and refuses while a file of it is open.
    let is_gone = match std::fs::remove_dir(&folder) {
        Ok(()) => true,
        Err(e) => e.kind() == std::io::ErrorKind::NotFound,
    };
    is_gone && forget(tracefs, &session.group()).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_dead_processes_left_goes_and_the_rest_stays() {
        let root = tempfile::tempdir().unwrap();
        let tracing = root.path().join("sys/kernel/tracing");
        let own = SessionId::own(Path::new("/"));
        let (dead, open) = ("probeidx.999999999.5", "probeidx.999999998.5");
        for name in [dead, open, "probeidx.mine", &own.instance()] {
            std::fs::create_dir_all(tracing.join("instances").join(name)).unwrap();
        }
        // A folder of a file system that is not empty cannot be removed, as an instance that is in use cannot.
        std::fs::write(tracing.join("instances").join(open).join("trace_pipe"), "").unwrap();
        std::fs::write(tracing.join("trace"), "").unwrap();
        let lines =
            format!("p:probeidx_999999999_5/e x\np:probeidx_999999998_5/e x\np:{}/e x\n", own.group());
        std::fs::write(tracing.join("dynamic_events"), &lines).unwrap();
        let tracefs = Tracefs::find(root.path()).unwrap();
        let removed = remove(&tracefs, Path::new("/"));
        assert_eq!(removed.iter().map(ToString::to_string).collect::<Vec<_>>(), [dead]);
        assert_eq!(tracefs.names("instances"), [own.instance().as_str(), open, "probeidx.mine"]);
        // A kernel would take the last line for a command.
        let written = tracefs.read("dynamic_events");
        assert_eq!(written.strip_prefix(lines.as_str()), Some("-:probeidx_999999999_5/e"));
    }
}
