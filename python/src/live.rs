//! Captures of running kernels: taken, read, and laid over an index.
use crate::failure::{Answer, ask};
use crate::index::config;
use crate::kernel::Kernel;
use crate::record::hash;
use crate::to_python::to_python;
use probeidx::cli::args::Capture;
use probeidx::cli::capture::{self, Line};
use probeidx::live::Live as Captured;
use probeidx::query::runtime::overlay::Overlay;
use pyo3::prelude::*;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// What a running kernel said of itself: which modules are loaded, where everything lies, what is refused. Given to ``resolve``,
/// ``addr`` and ``decode`` of an index of the same build, it makes their answers those of that kernel.
#[pyclass(frozen, module = "probeidx")]
pub struct Live {
    captured: Captured,
    path: PathBuf,
    size: u64,
    /// What it changes of the index that was asked last.
    laid: Mutex<Option<Laid>>,
}

type Laid = (Weak<Kernel>, Arc<Overlay<'static>>);

impl Live {
    fn new(captured: Captured, path: PathBuf, size: u64) -> Self {
        Self { captured, path, size, laid: Mutex::default() }
    }

    fn line(&self) -> Line<'_> {
        Line::new(&self.captured, &self.path, self.size)
    }

    /// What it changes of an index. Cost: linear in the capture, unless it is the index of the last question.
    ///
    /// # Errors
    /// [`Mismatch`](probeidx::ErrorKind::Mismatch) if it is of another kernel.
    pub fn over(&self, kernel: &Arc<Kernel>) -> Answer<Arc<Overlay<'static>>> {
        let laid = || self.laid.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((of, overlay)) = &*laid()
            && of.as_ptr() == Arc::as_ptr(kernel)
        {
            return Ok(Arc::clone(overlay));
        }
        let overlay = kernel
            .ask(|view| Ok(Overlay::new(view, &self.captured).map_err(|e| e.at(&self.path))?.into_owned()))?;
        let overlay = Arc::new(overlay);
        // The weak reference keeps the place of the kernel, so that no other one comes to lie there.
        *laid() = Some((Arc::downgrade(kernel), Arc::clone(&overlay)));
        Ok(overlay)
    }
}

#[pymethods]
impl Live {
    /// Reads what ``capture`` or ``probeidx capture`` wrote.
    #[new]
    fn read(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        ask(py, || {
            let captured = capture::read(&path)?;
            let size = std::fs::metadata(&path).map_or(0, |about| about.len());
            Ok(Self::new(captured, path, size))
        })
    }
    /// The release, as ``uname -r`` prints it.
    #[getter]
    fn kernel(&self) -> &str {
        &self.captured.release
    }
    /// The build id of the running kernel, in hexadecimal; None if it was not told.
    #[getter]
    fn build_id(&self) -> Option<&str> {
        self.captured.build_id.as_deref()
    }
    /// The file.
    #[getter]
    fn path(&self) -> &Path {
        &self.path
    }
    /// Its bytes.
    #[getter]
    fn size(&self) -> u64 {
        self.size
    }
    /// The names of the modules that are loaded.
    #[getter]
    fn modules(&self) -> Vec<&str> {
        self.captured.modules.iter().map(|module| module.name.as_str()).collect()
    }
    /// The number of their symbols.
    #[getter]
    fn symbols(&self) -> usize {
        self.captured.symbol_count()
    }
    /// What could not be read, each with the reason.
    #[getter]
    fn missing(&self) -> Vec<(String, String)> {
        self.captured.missing.clone()
    }
    /// What ``probeidx --json capture`` prints of it.
    fn to_dict<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        to_python(py, &self.line())
    }
    fn __repr__(&self) -> String {
        let Self { captured, path, .. } = self;
        format!("<Live {}, {} modules, {}>", captured.release, captured.modules.len(), path.display())
    }
    fn __eq__(&self, other: &Bound<'_, PyAny>) -> bool {
        other.cast::<Self>().is_ok_and(|other| self.captured == other.get().captured)
    }
    fn __hash__(&self) -> u64 {
        hash(&(self.kernel(), self.build_id(), self.captured.text))
    }
}

/// Writes what the running kernel says of itself into a file, for questions elsewhere. With an index of the kernel, in ``db`` or where
/// the command line looks, it has the code that was patched when the kernel started, too. What cannot be read is in ``missing``;
/// root reads all. ``root`` is a folder with ``proc`` and ``sys``, instead of ``/``.
#[pyfunction]
#[pyo3(name = "capture", signature = (path, *, db = None, root = None))]
pub fn take(py: Python<'_>, path: PathBuf, db: Option<PathBuf>, root: Option<PathBuf>) -> PyResult<Live> {
    ask(py, || {
        let args = Capture { file: path, root: root.unwrap_or_else(|| "/".into()) };
        let (captured, size) = capture::take(&args, &config(db, None)?)?;
        Ok(Live::new(captured, args.file, size))
    })
}
