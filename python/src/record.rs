//! Classes of Python that show a value of the library.

/// A class around a value: a getter for each field, `to_dict()`, `repr`, equality and hash. Fields are made into objects
/// when they are asked for.
macro_rules! record {
    (
        $(#[doc = $doc:literal])*
        $name:ident($inner:ty), |$it:ident| $repr:expr;
        $($(#[doc = $about:literal])* $getter:ident: $out:ty = $value:expr;)*
    ) => {
        $(#[doc = $doc])*
        #[pyo3::pyclass(frozen, eq, module = "probeidx")]
        #[derive(Clone, Debug, PartialEq)]
        pub struct $name(pub $inner);

        #[pyo3::pymethods]
        impl $name {
            $(
                $(#[doc = $about])*
                #[getter]
                fn $getter(&self) -> $out {
                    let $it = &self.0;
                    $value
                }
            )*
            /// What `--json` prints of it.
            fn to_dict<'py>(&self, py: pyo3::Python<'py>) -> pyo3::PyResult<pyo3::Bound<'py, pyo3::PyAny>> {
                $crate::to_python::to_python(py, &self.0)
            }
            fn __repr__(&self) -> String {
                let $it = &self.0;
                format!("<{} {}>", stringify!($name), $repr)
            }
            fn __hash__(&self) -> u64 {
                $crate::record::hash(&self.0)
            }
        }
    };
}
pub(crate) use record;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;
use std::hash::BuildHasher;

/// A hash of what JSON has of a value: equal values have equal ones.
pub fn hash(value: &impl Serialize) -> u64 {
    let text = serde_json::to_vec(value).unwrap_or_default();
    rustc_hash::FxBuildHasher.hash_one(text)
}

/// The position of a Python index in a sequence of this length; `None` outside of it.
pub fn position(at: isize, length: usize) -> Option<usize> {
    let at = if at < 0 { at.checked_add_unsigned(length)? } else { at };
    usize::try_from(at).ok().filter(|at| *at < length)
}

/// The position of the first of a sequence that is equal.
///
/// # Errors
/// A `ValueError` if there is none, as Python's sequences have it.
pub fn index(of: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<usize> {
    for (at, one) in of.try_iter()?.enumerate() {
        if one?.eq(value)? {
            return Ok(at);
        }
    }
    Err(PyValueError::new_err("it is not in the sequence"))
}

/// How many of a sequence are equal.
///
/// # Errors
/// Those of reading the sequence.
pub fn count(of: &Bound<'_, PyAny>, value: &Bound<'_, PyAny>) -> PyResult<usize> {
    let mut count = 0;
    for one in of.try_iter()? {
        count += usize::from(one?.eq(value)?);
    }
    Ok(count)
}
