//! An instance: a ring buffer of its own, with its own events, filters and processes.
use super::mount::{Tracefs, refused};
use super::session_id::SessionId;
use crate::error::{Error, ErrorKind, Result};
use std::path::{Path, PathBuf};

/// The instance of a session. It stays until [`super::planted::remove`].
#[derive(Clone, Debug)]
pub struct Instance {
    tracefs: Tracefs,
    /// `instances/probeidx.4711.123456`
    name: String,
}

impl Instance {
    /// The instance of a session, by name alone.
    pub fn named(tracefs: &Tracefs, session: &str) -> Self {
        Self { tracefs: tracefs.clone(), name: format!("instances/{session}") }
    }

    /// Makes the instance; nothing is recorded until [`start`](Self::start).
    ///
    /// # Errors
    /// [`ErrorKind::Io`], with the remedy if a right is missing.
    pub fn create(tracefs: &Tracefs, session: SessionId) -> Result<Self> {
        let instance = Self::named(tracefs, &session.instance());
        let folder = instance.folder();
        let made = std::fs::create_dir(&folder);
        made.map_err(|e| match e.raw_os_error() {
            Some(libc::ENOMEM) => {
                let what = "the kernel has no memory for the ring buffer of an instance";
                Error::new(ErrorKind::Exhausted, what).at(&folder)
            }
            _ => refused(Path::new("/"), &folder, "make an instance", &e),
        })?;
        instance.write("tracing_on", "0")?;
        // The times of processors are to be compared; older kernels have it too (3.16).
        let _ = instance.try_write("trace_clock", "mono");
        Ok(instance)
    }

    /// Its folder.
    pub fn folder(&self) -> PathBuf {
        self.tracefs.path(&self.name)
    }

    /// The name of a file of it within tracefs.
    pub fn file(&self, name: &str) -> String {
        format!("{}/{name}", self.name)
    }

    /// Writes a text to a file of it.
    ///
    /// # Errors
    /// Those of [`Tracefs::write`].
    pub fn write(&self, name: &str, text: &str) -> Result<()> {
        self.tracefs.write(&self.file(name), text)
    }

    /// Like [`write`](Self::write), with the error of the system.
    ///
    /// # Errors
    /// That of the system.
    pub fn try_write(&self, name: &str, text: &str) -> std::io::Result<()> {
        self.tracefs.try_write(&self.file(name), text)
    }

    /// Sets the filter of an event, which is named by its folder: `events/sched/sched_switch`.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if the kernel refuses it, with its reason.
    pub fn set_filter(&self, event: &str, filter: &str) -> Result<()> {
        let name = format!("{event}/filter");
        self.try_write(&name, filter).map_err(|error| {
            // `parse_error: Field not found`, below the filter and a caret.
            let said = self.tracefs.read(&self.file(&name));
            let reason =
                said.lines().find_map(|line| line.split_once("parse_error: ")).map(|(_, why)| why.to_owned());
            let reason = reason
                .or_else(|| super::planted::reason(&self.tracefs.read(&self.file("error_log")), filter));
            let what = match reason {
                Some(reason) => format!("the kernel refuses the filter '{filter}': {reason}"),
                None => format!("the kernel refuses the filter '{filter}': {error}"),
            };
            Error::new(ErrorKind::Usage, what).at(&self.tracefs.path(&self.file(&name)))
        })
    }

    /// Turns an event off, which is named by its folder: `events/sched/sched_switch`.
    ///
    /// # Errors
    /// Those of [`Tracefs::write`].
    pub fn disable(&self, event: &str) -> Result<()> {
        self.write(&format!("{event}/enable"), "0")
    }

    /// Starts to record all events at once, or stops.
    ///
    /// # Errors
    /// Those of [`Tracefs::write`].
    pub fn record(&self, on: bool) -> Result<()> {
        self.write("tracing_on", if on { "1" } else { "0" })
    }
}
