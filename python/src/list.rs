//! Sequences of answers that are there as a whole: objects of Python are made when they are read.

/// A sequence class of records.
macro_rules! list {
    ($(#[doc = $doc:literal])* $name:ident of $item:ident($inner:ty), $html:literal; $($more:tt)*) => {
        $(#[doc = $doc])*
        #[pyo3::pyclass(frozen, sequence, module = "probeidx")]
        pub struct $name {
            /// The answers.
            pub all: std::sync::Arc<Vec<$inner>>,
            /// What is said of all of them.
            pub about: $crate::list::About,
        }

        #[pyo3::pymethods]
        impl $name {
            fn __len__(&self) -> usize {
                self.all.len()
            }
            fn __getitem__<'py>(
                &self,
                py: pyo3::Python<'py>,
                at: &pyo3::Bound<'py, pyo3::PyAny>,
            ) -> pyo3::PyResult<pyo3::Bound<'py, pyo3::PyAny>> {
                use pyo3::IntoPyObjectExt as _;
                use pyo3::types::PyAnyMethods as _;
                if let Ok(slice) = at.cast::<pyo3::types::PySlice>() {
                    let span = pyo3::types::PySliceMethods::indices(slice, self.all.len() as isize)?;
                    let position = |nth: isize| (span.start + nth * span.step) as usize;
                    let chosen = (0..span.slicelength as isize).map(|nth| $item(self.all[position(nth)].clone()));
                    return chosen.collect::<Vec<_>>().into_bound_py_any(py);
                }
                match $crate::record::position(at.extract()?, self.all.len()) {
                    Some(at) => $item(self.all[at].clone()).into_bound_py_any(py),
                    None => Err(pyo3::exceptions::PyIndexError::new_err(format!("there are {}", self.all.len()))),
                }
            }
            /// The position of the first answer that is equal.
            fn index(
                slf: &pyo3::Bound<'_, Self>,
                value: &pyo3::Bound<'_, pyo3::PyAny>,
            ) -> pyo3::PyResult<usize> {
                $crate::record::index(slf.as_any(), value)
            }
            /// How many answers are equal.
            fn count(
                slf: &pyo3::Bound<'_, Self>,
                value: &pyo3::Bound<'_, pyo3::PyAny>,
            ) -> pyo3::PyResult<usize> {
                $crate::record::count(slf.as_any(), value)
            }
            fn __repr__(&self) -> String {
                format!("<{}: {}>", stringify!($name), self.all.len())
            }
            fn _repr_html_(slf: &pyo3::Bound<'_, Self>) -> pyo3::PyResult<pyo3::Py<pyo3::PyAny>> {
                $crate::placements::html(slf.as_any(), $html)
            }
            $($more)*
        }
    };
}
pub(crate) use list;

/// What is said of all answers: a value that JSON has besides them.
pub type About = serde_json::Value;

/// A text of a value; empty if there is none.
pub fn text<'v>(value: &'v serde_json::Value, name: &str) -> &'v str {
    value[name].as_str().unwrap_or_default()
}

/// The texts of a list.
pub fn texts(value: &serde_json::Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(|one| one.as_str().map(str::to_owned)).collect()
}
