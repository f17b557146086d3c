//! A Parquet file that is being written. What the `parquet` crate does slowly is done here: texts and numbers of which most
//! are the ones of the row before come as numbers of a [dictionary](crate::numbering). All else is its own.
mod codec;
mod dictionary;
mod distances;
mod levels;
mod numbered_column;
mod pages;
mod prefixes;
mod run_length;
mod sorted_column;

use crate::rows::{BATCH, Batch, DICTIONARY, Values};
use crate::schema::{Schema, Stored, VERSION, arrow_schema};
use arrow_schema::SchemaRef;
use codec::Codec;
use numbered_column::NumberedColumn;
use parquet::arrow::ArrowSchemaConverter;
use parquet::arrow::arrow_writer::{ArrowColumnWriter, ArrowRowGroupWriterFactory, compute_leaves};
use parquet::basic::{Compression, Encoding};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::types::ColumnPath;
use probeidx::{Error, ErrorKind, Result};
use sorted_column::SortedColumn;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The key of the version of the schemas in each file.
pub const SCHEMA_KEY: &str = "probeidx.schema";
/// The key of the name of the table.
pub const TABLE_KEY: &str = "probeidx.table";

/// A file that is being written.
pub struct Output {
    path: PathBuf,
    schema: &'static Schema,
    arrow: SchemaRef,
    compression: Compression,
    codec: Codec,
    writer: SerializedFileWriter<File>,
    factory: ArrowRowGroupWriterFactory,
    /// The columns of the group that is being written; none between groups.
    group: Vec<Column>,
    groups: usize,
}

/// A column of a group.
enum Column {
    /// By the `parquet` crate: a writer for each field of what is in a list, else one.
    Arrow(Vec<ArrowColumnWriter>),
    Numbered(Box<NumberedColumn>),
    Sorted(Box<SortedColumn>),
}

impl Output {
    /// Creates the file, and the folder that it is in.
    ///
    /// # Errors
    /// [`ErrorKind::Io`].
    pub fn create(path: PathBuf, schema: &'static Schema, compression: Compression) -> Result<Self> {
        let parent = path.parent().unwrap_or(&path);
        std::fs::create_dir_all(parent).map_err(|e| Error::io(parent, "create the folder", e))?;
        let file = File::create(&path).map_err(|e| Error::io(&path, "create the file", e))?;
        let arrow = arrow_schema(schema);
        let start = || {
            // Without Arrow's own copy of the schema: it says nothing that Parquet's does not.
            let columns = ArrowSchemaConverter::new().convert(&arrow)?;
            let properties = Arc::new(properties(schema, compression));
            let writer = SerializedFileWriter::new(file, columns.root_schema_ptr(), properties)?;
            let factory = ArrowRowGroupWriterFactory::new(&writer, Arc::clone(&arrow));
            Ok((writer, factory, Codec::new(compression)?))
        };
        let (writer, factory, codec) = start().map_err(|e| failed(&path, e))?;
        let (group, groups) = (vec![], 0);
        Ok(Self { path, schema, arrow, compression, codec, writer, factory, group, groups })
    }

    /// Writes rows.
    ///
    /// # Errors
    /// [`ErrorKind::Io`].
    pub fn write(&mut self, batch: Batch) -> Result<()> {
        self.add(batch).map_err(|e| failed(&self.path, e))
    }

    /// Writes what is left. Returns the number of rows and bytes.
    ///
    /// # Errors
    /// [`ErrorKind::Io`].
    pub fn finish(mut self) -> Result<(u64, u64)> {
        let metadata = self.end_group().and_then(|()| self.writer.finish());
        let metadata = metadata.map_err(|e| failed(&self.path, e))?;
        let bytes = self.writer.bytes_written() as u64;
        self.writer.inner().sync_all().map_err(|e| Error::io(&self.path, "write the file", e))?;
        Ok((metadata.file_metadata().num_rows().try_into().unwrap_or(0), bytes))
    }

    fn add(&mut self, batch: Batch) -> Result<(), ParquetError> {
        if self.group.is_empty() {
            self.start_group()?;
        }
        let ends_group = batch.ends_group;
        let fields = self.arrow.fields().iter();
        for ((column, values), field) in self.group.iter_mut().zip(batch.columns).zip(fields) {
            match (column, values) {
                (Column::Arrow(writers), Values::Array(array)) => {
                    let leaves = compute_leaves(field, &array)?;
                    writers.iter_mut().zip(&leaves).try_for_each(|(writer, leaf)| writer.write(leaf))?;
                }
                (Column::Numbered(column), Values::Numbered(rows)) => column.page(rows, &mut self.codec)?,
                (Column::Numbered(column), Values::Lists(lists)) => {
                    column.page_of_lists(lists, &mut self.codec)?
                }
                (Column::Sorted(column), Values::Numbered(rows)) => column.page(&rows, &mut self.codec)?,
                _ => unreachable!("the schema says how a column is stored"),
            }
        }
        if ends_group { self.end_group() } else { Ok(()) }
    }

    fn start_group(&mut self) -> Result<(), ParquetError> {
        let leaves = self.writer.schema_descr();
        for (at, writer) in self.factory.create_column_writers(self.groups)?.into_iter().enumerate() {
            let root = leaves.get_column_root_idx(at);
            match self.group.get_mut(root) {
                Some(Column::Arrow(writers)) => writers.push(writer),
                Some(Column::Numbered(_) | Column::Sorted(_)) => unreachable!("it has no fields"),
                None => self.group.push(match self.schema.stored(&self.schema.columns[root]) {
                    stored @ (Stored::Dictionary | Stored::SortedDictionary) => {
                        let is_sorted = stored == Stored::SortedDictionary;
                        Column::Numbered(Box::new(NumberedColumn::new(leaves.column(at), is_sorted)))
                    }
                    Stored::Prefixes => {
                        let rows = self.schema.group_rows();
                        Column::Sorted(Box::new(SortedColumn::new(leaves.column(at), rows)?))
                    }
                    _ => Column::Arrow(vec![writer]),
                }),
            }
        }
        self.groups += 1;
        Ok(())
    }

    fn end_group(&mut self) -> Result<(), ParquetError> {
        if self.group.is_empty() {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        for column in self.group.drain(..) {
            let codec = (self.compression, &mut self.codec);
            let (bytes, closed) = match column {
                Column::Arrow(writers) => {
                    writers
                        .into_iter()
                        .try_for_each(|writer| writer.close()?.append_to_row_group(&mut group))?;
                    continue;
                }
                Column::Numbered(column) => column.close(codec)?,
                Column::Sorted(column) => column.close(codec)?,
            };
            group.append_column(&bytes, closed)?;
        }
        group.close().map(|_| ())
    }
}

fn properties(schema: &Schema, compression: Compression) -> WriterProperties {
    let sorted_at = schema.columns.iter().position(|column| column.name == schema.sorted_by);
    let sorting =
        sorted_at.map(|at| SortingColumn { column_idx: at as i32, descending: false, nulls_first: false });
    let about = [(SCHEMA_KEY, VERSION.to_string()), (TABLE_KEY, schema.name.to_owned())];
    let about = about.map(|(key, value)| KeyValue::new(key.to_owned(), value));
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("probeidx-export ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(compression)
        .set_max_row_group_row_count(Some(schema.group_rows()))
        .set_data_page_row_count_limit(BATCH)
        .set_write_batch_size(BATCH)
        .set_dictionary_page_size_limit(DICTIONARY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_key_value_metadata(Some(about.to_vec()))
        .set_sorting_columns(sorting.map(|sorting| vec![sorting]));
    for column in schema.columns {
        let path = ColumnPath::from(column.name);
        let encoding = match schema.stored(column) {
            Stored::Dictionary | Stored::SortedDictionary | Stored::Prefixes | Stored::Nested => continue,
            Stored::Distances => Encoding::DELTA_BINARY_PACKED,
            Stored::Plain => Encoding::PLAIN,
        };
        properties =
            properties.set_column_dictionary_enabled(path.clone(), false).set_column_encoding(path, encoding);
    }
    properties.build()
}

fn failed(path: &Path, error: ParquetError) -> Error {
    match error {
        ParquetError::External(source) => match source.downcast::<std::io::Error>() {
            Ok(source) => Error::io(path, "write the file", *source),
            Err(other) => Error::new(ErrorKind::Io, other.to_string()).at(path),
        },
        other => Error::new(ErrorKind::Io, other.to_string()).at(path),
    }
}
