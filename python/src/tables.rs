//! Tables for engines, by Arrow's C stream: columns are made here, and handed over without being copied.
use crate::failure::{Answer, Failure, usage};
use crate::kernel::Kernel;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{RecordBatch, RecordBatchReader};
use arrow_schema::ffi::FFI_ArrowSchema;
use arrow_schema::{ArrowError, SchemaRef};
use probeidx::cli::args::Table as Which;
use probeidx_export::{record_batches, schema};
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread;

/// How many batches wait to be taken: enough that neither side waits for the other for long.
const WAITING: usize = 16;

/// A table of an index, which Arrow, Polars, pandas and DuckDB take: ``pyarrow.table(index.placements())``. Rows are made while
/// they are read.
#[pyclass(frozen, module = "probeidx")]
pub struct Table {
    kernels: Vec<Arc<Kernel>>,
    schema: &'static schema::Schema,
}

impl Table {
    /// A table of kernels.
    ///
    /// # Errors
    /// [`Failure`] of usage for a name that none has.
    pub fn new(name: &str, kernels: Vec<Arc<Kernel>>) -> Answer<Self> {
        match schema::ALL.iter().find(|schema| schema.name == name) {
            Some(schema) => Ok(Self { kernels, schema }),
            None => {
                let names: Vec<&str> = schema::ALL.iter().map(|schema| schema.name).collect();
                Err(usage(format!("there is no table {name}"), &format!("there are {}", names.join(", "))))
            }
        }
    }

    fn arrow(&self) -> SchemaRef {
        schema::arrow_schema(self.schema)
    }

    fn reader(&self) -> Answer<Batches> {
        self.kernels.iter().try_for_each(|kernel| kernel.ask(|_| Ok(())))?;
        let indexes = self.kernels.iter().map(|kernel| Arc::clone(&kernel.index)).collect();
        let (sender, receiver) = sync_channel(WAITING);
        let which: Which = self.schema.table;
        // It ends when the last batch is taken, or when nobody takes any more.
        let made = thread::Builder::new().name("probeidx".to_owned()).spawn(move || {
            let mut send = |batch| {
                let gone = |_| probeidx::Error::new(probeidx::ErrorKind::Io, "nobody reads the table");
                sender.send(Ok(batch)).map_err(gone)
            };
            let done = catch_unwind(AssertUnwindSafe(|| record_batches(indexes, which, &mut send)));
            let failed = match done {
                Ok(Ok(_)) => return,
                Ok(Err(error)) => error.to_string(),
                Err(_) => "this is a fault of probeidx".to_owned(),
            };
            // If nobody reads, nobody wants to know.
            let _ = sender.send(Err(ArrowError::ExternalError(failed.into())));
        });
        made.map_err(|e| {
            probeidx::Error::new(probeidx::ErrorKind::Exhausted, format!("cannot start a thread: {e}"))
        })?;
        Ok(Batches { schema: self.arrow(), receiver })
    }
}

/// The batches that a thread makes.
struct Batches {
    schema: SchemaRef,
    receiver: Receiver<Result<RecordBatch, ArrowError>>,
}

impl Iterator for Batches {
    type Item = Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.receiver.recv().ok()
    }
}

impl RecordBatchReader for Batches {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }
}

#[pymethods]
impl Table {
    /// Its name.
    #[getter]
    fn name(&self) -> &'static str {
        self.schema.name
    }
    /// The names of its columns, with what each is.
    #[getter]
    fn columns(&self) -> Vec<(&'static str, &'static str)> {
        self.schema.columns.iter().map(|column| (column.name, column.meaning)).collect()
    }
    /// Arrow's PyCapsule interface: the rows as a stream. A schema that is requested is for the reader to cast to, as the interface
    /// allows.
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = requested_schema;
        let reader = crate::failure::ask(py, || self.reader())?;
        PyCapsule::new_with_value(py, FFI_ArrowArrayStream::new(Box::new(reader)), c"arrow_array_stream")
    }
    /// Arrow's PyCapsule interface: the types of the columns.
    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&*self.arrow());
        let schema = schema.map_err(|e| crate::failure::raised(py, Failure::Panic(e.to_string())))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }
    fn __repr__(&self) -> String {
        let kernels = self.kernels.iter().map(|kernel| kernel.release()).collect::<Vec<_>>();
        let of =
            if kernels.len() == 1 { kernels[0].to_owned() } else { format!("{} kernels", kernels.len()) };
        format!("<Table {} of {of}: {} columns>", self.schema.name, self.schema.columns.len())
    }
}
