//! What a session puts into tracefs, and how all of it goes away again.
use super::features::Features;
use super::instance::Instance;
use super::mount::Tracefs;
use super::session_id::SessionId;
use crate::error::{Error, ErrorKind, Result};
use std::path::Path;
use std::time::Duration;

/// Definitions and an instance. They are removed when this is dropped, and no earlier than that.
#[derive(Debug)]
pub struct Planted {
    tracefs: Tracefs,
    session: SessionId,
    /// The ring buffer of the session.
    pub instance: Instance,
    is_removed: bool,
}

impl Planted {
    /// Makes the instance, and defines events: all that are certain or none. Returns the others that the kernel refuses,
    /// each with its reason.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] if a right is missing; [`ErrorKind::Unsupported`] if the kernel refuses a definition that is
    /// certain, with the reason that it gives.
    pub fn new<'d>(
        tracefs: &Tracefs,
        session: SessionId,
        definitions: impl IntoIterator<Item = (&'d str, bool)>,
    ) -> Result<(Self, Vec<(String, String)>)> {
        let features = Features::of(tracefs);
        // Before all definitions, and after them removed: so that a group without an instance is left by nobody alive.
        let instance = Instance::create(tracefs, session)?;
        let planted = Self { tracefs: tracefs.clone(), session, instance, is_removed: false };
        let mut refused = vec![];
        for (line, is_certain) in definitions {
            match define(tracefs, features, line) {
                Err(error) if !is_certain && error.kind() == ErrorKind::Unsupported => {
                    refused.push((line.to_owned(), error.message().to_owned()));
                }
                defined => defined?,
            }
        }
        Ok((planted, refused))
    }

    /// Removes all, if no file of the instance is open any more.
    ///
    /// # Errors
    /// [`ErrorKind::Io`] with what is left.
    pub fn remove(mut self) -> Result<()> {
        self.is_removed = true;
        remove(&self.tracefs, self.session)
    }
}

impl Drop for Planted {
    fn drop(&mut self) {
        if !self.is_removed {
            // The error that led here is the one to be told.
            let _ = remove(&self.tracefs, self.session);
        }
    }
}

/// Writes a definition.
fn define(tracefs: &Tracefs, features: Features, line: &str) -> Result<()> {
    let file = features.file(line).ok_or_else(|| {
        let what = format!("this kernel takes no definition such as '{line}'");
        Error::new(ErrorKind::Unsupported, what).hint("it needs CONFIG_KPROBE_EVENTS, CONFIG_UPROBE_EVENTS")
    })?;
    tracefs.try_write(file, line).map_err(|error| {
        let path = tracefs.path(file);
        match reason(&tracefs.read("error_log"), line) {
            Some(reason) => {
                Error::new(ErrorKind::Unsupported, format!("the kernel refuses '{line}': {reason}")).at(&path)
            }
            // What is said in the log is said of a line that is understood; the rest of it the number says.
            None if error.raw_os_error() != Some(libc::EACCES)
                && error.raw_os_error() != Some(libc::EPERM) =>
            {
                Error::new(ErrorKind::Unsupported, format!("the kernel refuses '{line}': {error}")).at(&path)
            }
            None => super::mount::refused(Path::new("/"), &path, &format!("define '{line}'"), &error),
        }
    })
}

/// The kernel's reason in `error_log`, if the last entry is about this command:
///
/// ```text
/// [ 1234.567] trace_kprobe: error: The symbol is not unique
///   Command: p:probeidx_1_2/e type_show
///                             ^
/// ```
pub(super) fn reason(log: &str, command: &str) -> Option<String> {
    let (before, last) = log.rsplit_once("error: ")?;
    let _ = before;
    let mut lines = last.lines();
    let reason = lines.next()?.trim().to_owned();
    let about = lines.next()?.trim().strip_prefix("Command:")?.trim();
    // The kernel joins words by single blanks.
    let is_same = about.split_ascii_whitespace().eq(command.split_ascii_whitespace());
    is_same.then_some(reason)
}

/// How often and with how long a pause a removal is tried: probes that run at this moment keep their event a little longer.
const TRIES: u32 = 20;
const PAUSE: Duration = Duration::from_millis(10);

/// Removes the instance and the definitions of a session.
///
/// # Errors
/// [`ErrorKind::Io`] with what is left.
pub fn remove(tracefs: &Tracefs, session: SessionId) -> Result<()> {
    let instance = Instance::named(tracefs, &session.instance());
    let mut left = None;
    // Events of the kernel and of ours end; what is enabled cannot be removed.
    let _ = instance.try_write("events/enable", "0");
    for attempt in 0..TRIES {
        if attempt > 0 {
            std::thread::sleep(PAUSE);
        }
        let folder = instance.folder();
        left = match std::fs::remove_dir(&folder) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                Some(Error::io(&folder, "remove the instance", e))
            }
            _ => None,
        };
        left = forget(tracefs, &session.group()).or(left);
        if left.is_none() {
            return Ok(());
        }
    }
    let hint = "the next probeidx trace removes it";
    left.map_or(Ok(()), |error| Err(error.hint(hint)))
}

/// Deletes the definitions of a group, and returns an error if one is left.
pub(super) fn forget(tracefs: &Tracefs, group: &str) -> Option<Error> {
    let mut left = None;
    for list in Features::of(tracefs).lists() {
        let text = tracefs.read(list);
        let mut names: Vec<&str> = text.lines().filter_map(|line| event_of(line, group)).collect();
        // Probes of one event are deleted together.
        names.sort_unstable();
        names.dedup();
        for name in names {
            match tracefs.try_write(list, &format!("-:{group}/{name}")) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
                    left = Some(Error::io(&tracefs.path(list), &format!("delete {group}/{name}"), e));
                }
                _ => {}
            }
        }
    }
    left
}

/// The event that a line of `dynamic_events` defines, if it is of this group: `r16:probeidx_1_2/vfs_read__return vfs_read`.
fn event_of<'l>(line: &'l str, group: &str) -> Option<&'l str> {
    let (_, named) = line.split_ascii_whitespace().next()?.split_once(':')?;
    let (own, name) = named.split_once('/')?;
    (own == group).then_some(name)
}

/// The groups of all definitions.
pub(super) fn groups(tracefs: &Tracefs) -> Vec<String> {
    let mut groups: Vec<String> = vec![];
    for list in Features::of(tracefs).lists() {
        let text = tracefs.read(list);
        let of_line = |line: &str| {
            let (_, named) = line.split_ascii_whitespace().next()?.split_once(':')?;
            named.split_once('/').map(|(group, _)| group.to_owned())
        };
        groups.extend(text.lines().filter_map(of_line));
    }
    groups.sort();
    groups.dedup();
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_reason_is_that_of_the_same_command() {
        let log = "[  10.1] trace_kprobe: error: Unknown type is specified\n  Command: p:g/a vfs_read x=%di:long\n    ^\n\
                   [  11.5] trace_kprobe: error: The symbol is not unique\n  Command: p:g/e type_show a=%di:x64\n        ^\n";
        assert_eq!(reason(log, "p:g/e  type_show a=%di:x64").as_deref(), Some("The symbol is not unique"));
        assert_eq!(reason(log, "p:g/a vfs_read x=%di:long"), None);
        assert_eq!(reason("", "p:g/e type_show"), None);
    }

    #[test]
    fn events_of_a_group_are_those_of_no_other() {
        let event = |line| event_of(line, "probeidx_1_2");
        assert_eq!(
            event("r16:probeidx_1_2/vfs_read__return vfs_read arg1=$retval"),
            Some("vfs_read__return")
        );
        assert_eq!(event("p:probeidx_1_2/e /bin/sh:0x10"), Some("e"));
        assert_eq!(event("p:probeidx_1_22/e vfs_read"), None);
        assert_eq!(event("p:kprobes/p_vfs_read_0 vfs_read"), None);
    }
}
