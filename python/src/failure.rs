//! Failures as exceptions, and questions outside of the interpreter's lock.
use probeidx::{Error, ErrorKind};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// Why a question has no answer.
#[derive(Debug)]
pub enum Failure {
    /// As the library says it.
    Library(Error),
    /// Nothing matches: the reasons, and similar names.
    NotFound(Vec<String>, Vec<String>),
    /// The library is wrong: what it panicked with.
    Panic(String),
    /// An exception of Python, such as one of a callback.
    Python(PyErr),
}

/// The result of a question.
pub type Answer<T> = Result<T, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Library(error)
    }
}

impl From<probeidx_format::Error> for Failure {
    fn from(error: probeidx_format::Error) -> Self {
        Error::new(ErrorKind::IndexDamaged, error.to_string())
            .hint("build it again with: probeidx build --force")
            .into()
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}

/// The failure of an argument.
pub fn usage(what: impl Into<String>, remedy: &str) -> Failure {
    Error::new(ErrorKind::Usage, what).hint(remedy).into()
}

/// Asks while other threads of Python run. To let go of the lock and take it again costs some 50 ns, so that nothing is
/// asked with it held. A panic becomes an exception.
///
/// # Errors
/// The failure of the question, as an exception.
pub fn ask<T: Send>(py: Python<'_>, question: impl FnOnce() -> Answer<T> + Send) -> PyResult<T> {
    let caught = py.detach(|| catch_unwind(AssertUnwindSafe(question)));
    caught.unwrap_or_else(|panic| Err(Failure::Panic(words(&*panic)))).map_err(|failure| raised(py, failure))
}

/// What a panic says.
fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_else(|| "panic".to_owned())
}

/// The exception for a failure. Its text is a line, the one that the command line prints.
pub fn raised(py: Python<'_>, failure: Failure) -> PyErr {
    made(py, failure).unwrap_or_else(|error| error)
}

fn made(py: Python<'_>, failure: Failure) -> PyResult<PyErr> {
    let exception = match failure {
        Failure::Python(error) => return Ok(error),
        Failure::NotFound(reasons, near) => {
            let text = if reasons.is_empty() { "nothing matches".to_owned() } else { reasons.join("; ") };
            let text = probeidx::render::printable(&text).into_owned();
            class(py, &NOT_FOUND, "NotFound")?.call1((text, near))?
        }
        Failure::Library(error) if error.kind() == ErrorKind::NoMatch => {
            let text = probeidx::render::printable(&error.to_string()).into_owned();
            let remedy = error.remedy().map(str::to_owned);
            class(py, &NOT_FOUND, "NotFound")?.call1((text, Vec::<String>::new(), remedy, error.place()))?
        }
        Failure::Library(error) => {
            let text = probeidx::render::printable(&error.to_string()).into_owned();
            let path = error.path().map(std::path::Path::to_path_buf);
            let (kind, remedy) = (error.kind().name(), error.remedy().map(str::to_owned));
            class(py, &ERROR, "Error")?.call1((text, kind, error.place(), remedy, path))?
        }
        Failure::Panic(what) => {
            let what = probeidx::render::printable(&what.replace('\n', " ")).into_owned();
            class(py, &ERROR, "Error")?.call1((format!("this is a fault of probeidx: {what}"), "internal"))?
        }
    };
    Ok(PyErr::from_value(exception))
}

static ERROR: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static NOT_FOUND: PyOnceLock<Py<PyType>> = PyOnceLock::new();

/// A class of exceptions, which is written in Python.
fn class<'py>(
    py: Python<'py>,
    known: &'static PyOnceLock<Py<PyType>>,
    name: &str,
) -> PyResult<&'py Bound<'py, PyType>> {
    known.import(py, "probeidx._errors", name)
}
