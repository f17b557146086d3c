//! One table as an Arrow IPC stream.
use crate::rows::Batch;
use crate::schema::{self, arrow_schema};
use crate::sink::Sink;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, SchemaRef};
use probeidx::cli::args::Table;
use probeidx::{Error, ErrorKind, Result};
use std::io::{self, Write};
use std::sync::Arc;

/// Writes a table to a stream: `fill` is given what takes the rows. Whether somebody read it to the end.
///
/// # Errors
/// [`ErrorKind::Io`]; those of `fill`.
pub fn write(table: Table, out: impl Write, fill: impl FnOnce(&mut dyn Sink) -> Result<()>) -> Result<bool> {
    let schema = arrow_schema(schema::of(table));
    let mut stream = Stream { schema: Arc::clone(&schema), writer: None, closed: false };
    let done = (|| {
        stream.writer = Some(StreamWriter::try_new_buffered(out, &schema).map_err(|e| stream.failed(e))?);
        fill(&mut stream)?;
        let finished = stream.writer.as_mut().map_or(Ok(()), |writer| {
            writer.finish().and_then(|()| writer.get_mut().flush().map_err(ArrowError::from))
        });
        finished.map_err(|e| stream.failed(e))
    })();
    match done {
        Err(_) if stream.closed => Ok(false),
        done => done.map(|()| true),
    }
}

struct Stream<W: Write> {
    schema: SchemaRef,
    writer: Option<StreamWriter<io::BufWriter<W>>>,
    /// Whether the reader went away.
    closed: bool,
}

impl<W: Write> Stream<W> {
    fn failed(&mut self, error: ArrowError) -> Error {
        self.closed |= matches!(&error, ArrowError::IoError(_, e) if e.kind() == io::ErrorKind::BrokenPipe);
        Error::new(ErrorKind::Io, format!("cannot write the results: {error}"))
    }
}

impl<W: Write> Sink for Stream<W> {
    fn is_of_files(&self) -> bool {
        false
    }

    fn write(&mut self, _: Table, _: usize, batch: Batch) -> Result<()> {
        let batch = batch.in_arrow(&self.schema);
        let written = self.writer.as_mut().map_or(Ok(()), |writer| writer.write(&batch));
        written.map_err(|e| self.failed(e))
    }
}
