//! `Store`: many kernels, in a store or a folder of indexes.
use crate::checking::{self, Checked};
use crate::compare::{self, Differences, History};
use crate::failure::{Answer, Failure, ask};
use crate::index::{Index, config};
use crate::kernel::Kernel;
use crate::tables::Table;
use probeidx::cli::config::Config;
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Many kernels: those of a store, or of a folder of indexes. A kernel is opened when it is asked for.
#[pyclass(frozen, module = "probeidx")]
pub struct Store {
    config: Config,
}

impl Store {
    /// The configuration that asks the kernels of a selection.
    fn of(&self, selection: &str) -> Config {
        Config { kernel: Some(selection.to_owned()), ..self.config.clone() }
    }

    /// The kernels of a selection, each opened once.
    fn chosen(&self, selection: &str) -> Answer<Vec<Arc<Kernel>>> {
        let config = self.of(selection);
        config.indexes()?.iter().map(|path| Ok(Index::at(path, &config)?.kernel)).collect()
    }

    fn one(&self, name: &str) -> Answer<Index> {
        Index::chosen(&self.of(name))
    }
}

#[pymethods]
impl Store {
    /// The kernels of a folder or store. Without a path it is where the command line looks.
    #[new]
    #[pyo3(signature = (path = None))]
    fn new(py: Python<'_>, path: Option<PathBuf>) -> PyResult<Self> {
        ask(py, || {
            let config = config(path, None)?;
            // Whatever is wrong with the folder is told now.
            if config.releases()?.is_empty() {
                config.indexes()?;
            }
            Ok(Self { config })
        })
    }
    /// The folder.
    #[getter]
    fn path(&self) -> &Path {
        &self.config.db
    }
    /// The releases that are there, sorted.
    #[getter]
    fn releases(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        ask(py, || Ok(self.config.releases()?))
    }
    /// The kernels of a selection, in their order: a release or build id, ``*``, ``A..B``, ``DISTRIBUTION/LINE/FLAVOUR``.
    #[pyo3(signature = (selection = "*"))]
    fn kernels(&self, py: Python<'_>, selection: &str) -> PyResult<Vec<Index>> {
        ask(py, || {
            let mut kernels = self.chosen(selection)?;
            kernels.sort_by(|one, other| one.description.cmp(&other.description));
            Ok(kernels.into_iter().map(|kernel| Index { kernel }).collect())
        })
    }
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        Ok(self.releases(py)?.len())
    }
    fn __contains__(&self, py: Python<'_>, release: &str) -> PyResult<bool> {
        Ok(self.releases(py)?.iter().any(|known| known == release))
    }
    fn __getitem__(&self, py: Python<'_>, name: &str) -> PyResult<Index> {
        ask(py, || match self.one(name) {
            Err(Failure::Library(error)) if error.kind() == probeidx::ErrorKind::NoIndex => {
                Err(Failure::NotFound(vec![error.to_string()], self.config.releases().unwrap_or_default()))
            }
            found => found,
        })
    }
    fn __iter__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let all = PyList::new(py, self.kernels(py, "*")?)?;
        all.call_method0("__iter__")
    }

    /// What the kernels of a selection have of a name: a function, ``struct file.f_mode``, a tracepoint, an alias or a line. With
    /// ``since`` only what changed after that release.
    #[pyo3(signature = (name, *, kernels = "*", since = None))]
    fn history(&self, py: Python<'_>, name: &str, kernels: &str, since: Option<&str>) -> PyResult<History> {
        ask(py, || compare::history(&self.of(kernels), name, since))
    }
    /// The differences between two kernels.
    #[pyo3(signature = (before, after, pattern = "*"))]
    fn diff(&self, py: Python<'_>, before: &str, after: &str, pattern: &str) -> PyResult<Differences> {
        ask(py, || compare::diff(&self.one(before)?.kernel, &self.one(after)?.kernel, pattern))
    }
    /// Checks files against the kernels of a selection.
    #[pyo3(signature = (*files, kernels = "*", arguments = None, guru = false))]
    fn check(
        &self,
        py: Python<'_>,
        files: &Bound<'_, PyTuple>,
        kernels: &str,
        arguments: Option<Vec<String>>,
        guru: bool,
    ) -> PyResult<Checked> {
        let files: Vec<PathBuf> = files.iter().map(|file| file.extract()).collect::<PyResult<_>>()?;
        ask(py, || checking::check(&self.chosen(kernels)?, files, arguments.unwrap_or_default(), guru))
    }
    /// A table of the kernels of a selection, for Arrow.
    #[pyo3(signature = (name, *, kernels = "*"))]
    fn table(&self, py: Python<'_>, name: &str, kernels: &str) -> PyResult<Table> {
        ask(py, || Table::new(name, self.chosen(kernels)?))
    }
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        Ok(format!("<Store {}: {} kernels>", self.path().display(), self.__len__(py)?))
    }
}

/// Opens the kernel that the command line would ask: that of ``kernel``, else the running one, else the only one there.
#[pyfunction]
#[pyo3(signature = (path = None, *, kernel = None))]
pub fn open(py: Python<'_>, path: Option<PathBuf>, kernel: Option<String>) -> PyResult<Index> {
    ask(py, || Index::named(path, kernel))
}

/// Runs the command line of ``probeidx`` with these words, and returns its exit code.
#[pyfunction]
pub fn main(py: Python<'_>, words: Vec<std::ffi::OsString>) -> PyResult<u8> {
    ask(py, || Ok(probeidx::cli::run(std::iter::once("probeidx".into()).chain(words))))
}
