//! Parquet files in a folder that appears whole or not at all.
use crate::destination::Destination;
use crate::schema::{self, Kind, Schema, VERSION, arrow_schema};
use crate::sink::Sink;
use arrow_array::RecordBatch;
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_writer::ArrowWriterOptions;
use parquet::basic::{Compression, Encoding};
use parquet::errors::ParquetError;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::schema::types::ColumnPath;
use probeidx::cli::args::{Codec, Table};
use probeidx::{Error, ErrorKind, Result};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// The key of the version of the schemas in each file.
pub const SCHEMA_KEY: &str = "probeidx.schema";
/// The key of the name of the table.
pub const TABLE_KEY: &str = "probeidx.table";
/// The name of each file.
pub const FILE: &str = "part.parquet";

/// Rows of a group: a name is found in one of them, engines give each group to a processor, and texts are written once in
/// each. Of 6.1, groups of 65,536 rows take a tenth more; but of all kernels at once one name is asked for, and DuckDB reads the
/// whole group.
const GROUP: usize = 256 << 10;
const GROUP_OF_CHANGES: usize = 20 << 10;
/// Rows of a page, which the index of pages finds.
const PAGE: usize = 8 << 10;
/// Texts of a column are numbered up to this many bytes.
const DICTIONARY: usize = 16 << 20;
/// Batches that wait for the thread that compresses.
const WAITING: usize = 4;

/// What was written of a table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// In all partitions.
    pub files: usize,
    /// In all files.
    pub rows: u64,
    /// Of all files.
    pub bytes: u64,
}

/// Writes tables to a folder, which is replaced as a whole: `fill` is given what takes the rows, while another thread
/// compresses them. Returns what was written, by table.
///
/// # Errors
/// [`ErrorKind::Io`] with the file; [`ErrorKind::Usage`] for a folder with other content, and for a codec that this build
/// lacks; those of `fill`.
pub fn write(
    folder: &Path,
    codec: Codec,
    tables: &[Table],
    partitions: &[String],
    fill: impl FnOnce(&mut dyn Sink) -> Result<()>,
) -> Result<BTreeMap<Table, Written>> {
    let compression = compression(codec)?;
    let destination = Destination::new(folder)?;
    let mut files = BTreeMap::new();
    for table in tables {
        let schema = schema::of(*table);
        let count = if schema.is_partitioned { partitions.len() } else { 1 };
        for partition in 0..count {
            let path = place(destination.unfinished(), schema, partitions, partition);
            files.insert((*table, partition), Output::create(path, schema, compression)?);
        }
    }
    let (sender, receiver) = sync_channel(WAITING);
    let mut sink = Files { sender };
    let (filled, written) = std::thread::scope(|scope| {
        let writing = scope.spawn(move || compress(files, &receiver));
        let filled = fill(&mut sink);
        // The thread ends when nobody is left who could send.
        drop(sink);
        (filled, writing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    // Who fills is told that writing failed, but not why.
    let written = written?;
    filled?;
    destination.finish()?;
    Ok(written)
}

/// The path of a file.
pub fn place(folder: &Path, schema: &Schema, partitions: &[String], partition: usize) -> PathBuf {
    let of_table = folder.join(schema.name);
    if schema.is_partitioned { of_table.join(&partitions[partition]).join(FILE) } else { of_table.join(FILE) }
}

/// What takes rows while others are compressed.
struct Files {
    sender: SyncSender<(Table, usize, RecordBatch)>,
}

impl Sink for Files {
    fn write(&mut self, table: Table, partition: usize, batch: RecordBatch) -> Result<()> {
        let stopped = |_| Error::new(ErrorKind::Io, "writing stopped");
        self.sender.send((table, partition, batch)).map_err(stopped)
    }
}

fn compress(
    mut files: BTreeMap<(Table, usize), Output>,
    receiver: &Receiver<(Table, usize, RecordBatch)>,
) -> Result<BTreeMap<Table, Written>> {
    for (table, partition, batch) in receiver {
        let file = files.get_mut(&(table, partition)).expect("each partition has a file");
        file.writer.write(&batch).map_err(|e| failed(&file.path, e))?;
    }
    let mut written: BTreeMap<Table, Written> = BTreeMap::new();
    for ((table, _), file) in files {
        let of_table = written.entry(table).or_default();
        let (rows, bytes) = file.finish()?;
        *of_table =
            Written { files: of_table.files + 1, rows: of_table.rows + rows, bytes: of_table.bytes + bytes };
    }
    Ok(written)
}

/// A file that is being written.
struct Output {
    path: PathBuf,
    writer: ArrowWriter<File>,
}

impl Output {
    fn create(path: PathBuf, schema: &Schema, compression: Compression) -> Result<Self> {
        let parent = path.parent().unwrap_or(&path);
        std::fs::create_dir_all(parent).map_err(|e| Error::io(parent, "create the folder", e))?;
        let file = File::create(&path).map_err(|e| Error::io(&path, "create the file", e))?;
        // Without Arrow's own copy of the schema: it says nothing that Parquet's does not.
        let options = ArrowWriterOptions::new()
            .with_properties(properties(schema, compression))
            .with_skip_arrow_metadata(true);
        let writer = ArrowWriter::try_new_with_options(file, arrow_schema(schema), options);
        Ok(Self { writer: writer.map_err(|e| failed(&path, e))?, path })
    }

    /// The number of rows and bytes.
    fn finish(mut self) -> Result<(u64, u64)> {
        let metadata = self.writer.finish().map_err(|e| failed(&self.path, e))?;
        let bytes = self.writer.bytes_written() as u64;
        self.writer.inner().sync_all().map_err(|e| Error::io(&self.path, "write the file", e))?;
        Ok((metadata.file_metadata().num_rows().try_into().unwrap_or(0), bytes))
    }
}

fn properties(schema: &Schema, compression: Compression) -> WriterProperties {
    let sorted_at = schema.columns.iter().position(|column| column.name == schema.sorted_by);
    let sorting =
        sorted_at.map(|at| SortingColumn { column_idx: at as i32, descending: false, nulls_first: false });
    let about = [(SCHEMA_KEY, VERSION.to_string()), (TABLE_KEY, schema.name.to_owned())];
    let about = about.map(|(key, value)| KeyValue::new(key.to_owned(), value));
    let sorted_by = || ColumnPath::from(schema.sorted_by);
    let group = if schema.is_partitioned { GROUP } else { GROUP_OF_CHANGES };
    let mut properties = WriterProperties::builder()
        .set_created_by(concat!("probeidx-export ", env!("CARGO_PKG_VERSION")).to_owned())
        .set_compression(compression)
        .set_max_row_group_row_count(Some(group))
        .set_data_page_row_count_limit(PAGE)
        .set_write_batch_size(PAGE)
        .set_dictionary_page_size_limit(DICTIONARY)
        .set_statistics_enabled(EnabledStatistics::Chunk)
        .set_column_statistics_enabled(sorted_by(), EnabledStatistics::Page)
        // Names are long, and the least and the greatest of each group are to be told apart.
        .set_statistics_truncate_length(None)
        .set_column_index_truncate_length(None)
        .set_key_value_metadata(Some(about.to_vec()))
        .set_sorting_columns(sorting.map(|sorting| vec![sorting]));
    if schema.columns.iter().any(|column| column.name == schema.sorted_by && column.kind == Kind::Text) {
        properties = properties
            .set_column_bloom_filter_enabled(sorted_by(), true)
            // The dictionary of a group has the names, but engines that know bloom filters read those first.
            .set_bloom_filter_for_dictionary_encoded_chunks(true)
            .set_column_bloom_filter_max_ndv(sorted_by(), group as u64 / 4);
    }
    for column in schema.columns {
        let path = ColumnPath::from(column.name);
        properties = match (column.kind, column.name) {
            // Each is another, and most follow the one before.
            (Kind::Int, "placement") => properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED),
            // Each starts as the one before it: half of the size.
            (Kind::Text, name) if name == schema.sorted_by => properties
                .set_column_dictionary_enabled(path.clone(), false)
                .set_column_encoding(path, Encoding::DELTA_BYTE_ARRAY),
            // Nearly each is another.
            (Kind::Address, _) | (Kind::Long, "anchor_offset") => {
                properties.set_column_dictionary_enabled(path, false)
            }
            _ => properties,
        };
    }
    properties.build()
}

fn compression(codec: Codec) -> Result<Compression> {
    Ok(match codec {
        Codec::Gzip => Compression::GZIP(Default::default()),
        Codec::Lz4 => Compression::LZ4_RAW,
        Codec::Snappy => Compression::SNAPPY,
        Codec::None => Compression::UNCOMPRESSED,
        #[cfg(feature = "zstd")]
        Codec::Zstd => Compression::ZSTD(Default::default()),
        #[cfg(not(feature = "zstd"))]
        Codec::Zstd => {
            return Err(Error::new(ErrorKind::Usage, "this build has no zstd")
                .hint("take gzip, or build with: --features zstd"));
        }
    })
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
