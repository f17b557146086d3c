//! Signals that end a trace.
use crate::error::{Error, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether a signal asked for the end.
#[derive(Clone, Debug, Default)]
pub struct Ending(Arc<AtomicBool>);

impl Ending {
    /// From now on signals end the trace and not the process.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::error::ErrorKind::Io) if the system refuses.
    pub fn watch() -> Result<Self> {
        let ending = Self::default();
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] {
            let registered = signal_hook::flag::register(signal, Arc::clone(&ending.0));
            registered.map_err(|e| Error::io(Path::new("/proc/self"), "watch signals", e))?;
        }
        Ok(ending)
    }

    /// Whether one came.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
