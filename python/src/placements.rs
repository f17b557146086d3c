//! The sequence of placements, which are computed when they are asked for.
use crate::failure::{Answer, ask};
use crate::pages::{Page, Pages};
use crate::placement::Placement;
use crate::record::position;
use pyo3::IntoPyObjectExt;
use pyo3::exceptions::PyIndexError;
use pyo3::prelude::*;
use pyo3::types::PySlice;
use std::sync::Arc;

/// Placements, in the order of the command line. Each is described when it is read.
#[pyclass(frozen, sequence, module = "probeidx")]
pub struct Placements {
    spec: String,
    pages: Arc<Pages>,
}

impl Placements {
    /// The placements of a question.
    pub fn new(spec: String, pages: Pages) -> Self {
        Self { spec, pages: Arc::new(pages) }
    }

    fn read(&self, py: Python<'_>, at: usize) -> PyResult<Placement> {
        // Nothing is computed for what is there already.
        if let Pages::One(page) = &*self.pages {
            return Ok(Placement { page: Arc::clone(page), at, is_nowhere: false });
        }
        let (page, at) = ask(py, || self.pages.at(at))?;
        Ok(Placement { page, at, is_nowhere: false })
    }
}

#[pymethods]
impl Placements {
    fn __len__(&self, py: Python<'_>) -> PyResult<usize> {
        ask(py, || self.pages.length())
    }
    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        ask(py, || self.pages.is_any())
    }
    fn __getitem__<'py>(&self, py: Python<'py>, at: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let length = self.__len__(py)?;
        if let Ok(slice) = at.cast::<PySlice>() {
            let span = slice.indices(length as isize)?;
            let positions = (0..span.slicelength as isize).map(|nth| (span.start + nth * span.step) as usize);
            let list: Vec<Placement> = positions.map(|at| self.read(py, at)).collect::<PyResult<_>>()?;
            return list.into_bound_py_any(py);
        }
        match position(at.extract()?, length) {
            Some(at) => self.read(py, at)?.into_bound_py_any(py),
            None => Err(PyIndexError::new_err(format!("there are {length} placements"))),
        }
    }
    fn __iter__(&self) -> Each {
        Each { pages: Arc::clone(&self.pages), state: std::sync::Mutex::default() }
    }
    /// The position of the first placement that is equal.
    fn index(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<usize> {
        crate::record::index(slf.as_any(), value)
    }
    /// How many are equal.
    fn count(slf: &Bound<'_, Self>, value: &Bound<'_, PyAny>) -> PyResult<usize> {
        crate::record::count(slf.as_any(), value)
    }
    /// The points of aliases that lead nowhere in this kernel, or to what is not in its index.
    #[getter]
    fn nowhere(&self) -> Vec<Placement> {
        match &*self.pages {
            Pages::One(page) => (0..page.nowhere.len())
                .map(|at| Placement { page: Arc::clone(page), at, is_nowhere: true })
                .collect(),
            Pages::Many(_) => vec![],
        }
    }
    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let count = self.__len__(py)?;
        let s = if count == 1 { "" } else { "s" };
        Ok(format!("<Placements of {}: {count} placement{s}>", self.spec))
    }
    fn _repr_html_(slf: &Bound<'_, Self>) -> PyResult<Py<PyAny>> {
        html(slf.as_any(), "placements")
    }
}

/// What a notebook shows of an object.
pub fn html(of: &Bound<'_, PyAny>, name: &str) -> PyResult<Py<PyAny>> {
    Ok(of.py().import("probeidx._html")?.call_method1(name, (of,))?.unbind())
}

/// Walks through placements, without counting them first.
#[pyclass(frozen, module = "probeidx")]
pub struct Each {
    pages: Arc<Pages>,
    state: std::sync::Mutex<Walk>,
}

#[derive(Default)]
struct Walk {
    page: Option<Arc<Page>>,
    /// The number of the next page.
    next_page: usize,
    /// The next placement of the page.
    next: usize,
}

impl Walk {
    fn next(&mut self, pages: &Pages) -> Answer<Option<(Arc<Page>, usize)>> {
        loop {
            if let Some(page) = &self.page
                && self.next < page.found.len()
            {
                self.next += 1;
                return Ok(Some((Arc::clone(page), self.next - 1)));
            }
            if self.next_page >= pages.pages() {
                return Ok(None);
            }
            self.page = Some(pages.page(self.next_page)?);
            (self.next_page, self.next) = (self.next_page + 1, 0);
        }
    }
}

#[pymethods]
impl Each {
    fn __iter__(slf: PyRef<'_, Self>) -> PyRef<'_, Self> {
        slf
    }
    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Placement>> {
        let next = ask(py, || {
            let mut state = self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            state.next(&self.pages)
        })?;
        Ok(next.map(|(page, at)| Placement { page, at, is_nowhere: false }))
    }
}
