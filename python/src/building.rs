//! Builds indexes.
use crate::failure::{Failure, ask};
use crate::index::config;
use crate::record::record;
use probeidx::Observer;
use probeidx::cli::args::{Build, When};
use probeidx::cli::build::index_for;
use probeidx::pipeline::Built as Made;
use pyo3::prelude::*;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// A kernel or program that was indexed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Line {
    kernel: Option<String>,
    process: Option<String>,
    index: PathBuf,
    unchanged: bool,
    objects: u64,
    functions: u64,
    placements: u64,
    size: u64,
    skipped: Vec<String>,
    skipped_in_part: Vec<String>,
}

record! {
    /// A kernel or program that was indexed.
    Built(Line), |it| format!("{}, {} functions, {} placements", it.kernel.as_ref().or(it.process.as_ref()).map_or("", |name| name), it.functions, it.placements);
    /// The release; None for a program or shared library.
    kernel: Option<&str> = it.kernel.as_deref();
    /// The path of a program or shared library.
    process: Option<&str> = it.process.as_deref();
    /// The file of the index.
    path: &Path = &it.index;
    /// Whether it was up to date, and nothing was read.
    unchanged: bool = it.unchanged;
    /// vmlinux and the modules.
    objects: u64 = it.objects;
    /// Each declaration counts once.
    functions: u64 = it.functions;
    /// Entries and inlined copies.
    placements: u64 = it.placements;
    /// The size of the index in bytes.
    size: u64 = it.size;
    /// What was left out of the whole build, with the reasons.
    skipped: Vec<String> = it.skipped.clone();
    /// What could not be read of objects that are indexed.
    skipped_in_part: Vec<String> = it.skipped_in_part.clone();
}

/// Tells a function of Python how far a build is. An exception of it is raised when the build is done.
struct Progress<'p> {
    callback: Option<&'p Py<PyAny>>,
    total: AtomicU64,
    done: AtomicU64,
    raised: Mutex<Option<PyErr>>,
}

impl Progress<'_> {
    fn tell(&self) {
        let Some(callback) = self.callback else { return };
        let raised = || self.raised.lock().unwrap_or_else(PoisonError::into_inner);
        if raised().is_some() {
            return;
        }
        let (done, total) = (self.done.load(Ordering::Relaxed), self.total.load(Ordering::Relaxed));
        if let Err(error) = Python::attach(|py| callback.call1(py, (done, total)).map(|_| ())) {
            *raised() = Some(error);
        }
    }
}

impl Observer for Progress<'_> {
    fn started(&self, _objects: usize, bytes: u64) {
        self.total.store(bytes, Ordering::Relaxed);
        self.tell();
    }
    fn object_done(&self, _path: &Path, bytes: u64) {
        self.done.fetch_add(bytes, Ordering::Relaxed);
        self.tell();
    }
    fn finished(&self) {}
}

/// Builds indexes of kernels into a folder: debug files, packages, folders of them, or releases that are installed; without any, the
/// running kernel. With ``user`` of programs and shared libraries. ``progress`` is called with the bytes that are done and
/// those there are, from threads of the build.
#[pyfunction]
#[pyo3(signature = (*paths, db = None, modules = true, tapsets = true, user = false, force = false, jobs = None, sysroot = None, progress = None))]
#[expect(clippy::too_many_arguments, reason = "they are options of the command line")]
pub fn build(
    py: Python<'_>,
    paths: Vec<PathBuf>,
    db: Option<PathBuf>,
    modules: bool,
    tapsets: bool,
    user: bool,
    force: bool,
    jobs: Option<std::num::NonZeroUsize>,
    sysroot: Option<PathBuf>,
    progress: Option<Py<PyAny>>,
) -> PyResult<Vec<Built>> {
    ask(py, || {
        let args = Build {
            paths,
            sysroot,
            jobs,
            user,
            no_modules: !modules,
            no_tapset: !tapsets,
            force,
            progress: When::Never,
            ..Build::default()
        };
        let watch = Progress {
            callback: progress.as_ref(),
            total: AtomicU64::new(0),
            done: AtomicU64::new(0),
            raised: Mutex::default(),
        };
        let report = index_for(&args, &config(db, None)?, &watch)?;
        if let Some(error) = watch.raised.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(Failure::Python(error));
        }
        let said = |whole: bool| -> Vec<String> {
            let of = report.skipped.iter().filter(|skipped| skipped.whole_object == whole);
            of.map(|skipped| skipped.error.to_string()).collect()
        };
        let (skipped, skipped_in_part) = (said(true), said(false));
        let line = |made: &Made| Line {
            kernel: made.process.is_none().then(|| made.release.clone()),
            process: made.process.as_ref().map(|path| path.to_string_lossy().into_owned()),
            index: made.index.clone(),
            unchanged: made.unchanged,
            objects: made.objects,
            functions: made.functions,
            placements: made.places,
            size: made.size,
            skipped: skipped.clone(),
            skipped_in_part: skipped_in_part.clone(),
        };
        Ok(report.built.iter().map(|made| Built(line(made))).collect())
    })
}
