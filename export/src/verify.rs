//! Whether a folder holds a whole export with the columns of this version.
use crate::files::FILE;
use crate::parquet_file::{SCHEMA_KEY, TABLE_KEY};
use crate::schema::{self, Kind, Schema, VERSION, arrow_schema};
use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder,
};
use probeidx::cli::args::Table;
use probeidx::{Error, ErrorKind, Result};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

const AGAIN: &str = "export again";

/// Reads every page of every file. Returns the number of files and of rows.
///
/// # Errors
/// [`ErrorKind::Damaged`] with the file and, where it is one, the column: an export that lacks a file, a file that lacks its
/// end, columns of another version, rows that are not sorted. [`ErrorKind::Io`] if it cannot be read.
pub fn verify(folder: &Path) -> Result<(usize, u64)> {
    let kernels = schema::of(Table::Kernels);
    let of_kernels = folder.join(kernels.name).join(FILE);
    let partitions = partitions(&of_kernels)?;
    let (mut files, mut rows) = (0, 0);
    for schema in &schema::ALL {
        let of_table = folder.join(schema.name);
        if !of_table.is_dir() {
            continue;
        }
        let expected: BTreeSet<PathBuf> = match schema.is_partitioned {
            true => partitions.iter().map(|partition| of_table.join(partition).join(FILE)).collect(),
            false => [of_table.join(FILE)].into(),
        };
        if let Some(stranger) = found(&of_table)?.difference(&expected).next() {
            return Err(damaged(stranger, "the table kernels has no kernel of this partition"));
        }
        for path in &expected {
            rows += check(path, schema)?;
            files += 1;
        }
    }
    Ok((files, rows))
}

/// The folders of the partitions that kernels are in.
fn partitions(path: &Path) -> Result<BTreeSet<String>> {
    check(path, schema::of(Table::Kernels))?;
    let mut partitions = BTreeSet::new();
    for batch in read(path, &["kernel_line", "flavour"])? {
        let text = |batch: &RecordBatch, column: usize, row: usize| {
            let column = batch.column(column);
            if column.is_null(row) { String::new() } else { column.as_string::<i32>().value(row).to_owned() }
        };
        for row in 0..batch.num_rows() {
            partitions.insert(crate::selection::folder(&text(&batch, 0, row), &text(&batch, 1, row)));
        }
    }
    Ok(partitions)
}

/// The files below a folder.
fn found(folder: &Path) -> Result<BTreeSet<PathBuf>> {
    let failed = |e| Error::io(folder, "list the folder", e);
    let mut files = BTreeSet::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.is_dir() { files.extend(found(&path)?) } else { _ = files.insert(path) }
    }
    Ok(files)
}

/// Checks a file, and returns the number of its rows.
fn check(path: &Path, schema: &Schema) -> Result<u64> {
    let metadata = open(path)?;
    let pairs = metadata.metadata().file_metadata().key_value_metadata().cloned().unwrap_or_default();
    let value = |key| pairs.iter().find(|pair| pair.key == key).and_then(|pair| pair.value.clone());
    match (value(TABLE_KEY), value(SCHEMA_KEY)) {
        (Some(table), _) if table != schema.name => {
            return Err(damaged(path, &format!("it is of the table {table}, not {}", schema.name)));
        }
        (Some(_), Some(version)) if version == VERSION.to_string() => {}
        (Some(_), Some(version)) => {
            let what = format!("its columns are of version {version}, this program's of version {VERSION}");
            return Err(damaged(path, &what));
        }
        _ => return Err(damaged(path, "no export wrote it")),
    }
    let wanted = arrow_schema(schema);
    for column in wanted.fields() {
        let Ok(there) = metadata.schema().field_with_name(column.name()) else {
            return Err(damaged(path, &format!("column {} is missing", column.name())));
        };
        if there.data_type() != column.data_type() {
            let what =
                format!("column {} is of {}, not {}", column.name(), there.data_type(), column.data_type());
            return Err(damaged(path, &what));
        }
    }
    let rows = u64::try_from(metadata.metadata().file_metadata().num_rows()).unwrap_or(0);
    for column in schema.columns {
        let failed = |what: &str| damaged(path, &format!("column {}: {what}", column.name));
        let mut last: Option<String> = None;
        let mut read_rows = 0;
        for batch in batches(path, &[column.name])? {
            let batch = batch.map_err(|e| failed(&e.to_string()))?;
            read_rows += batch.num_rows() as u64;
            if column.name == schema.sorted_by && column.kind == Kind::Text {
                for name in batch.column(0).as_string::<i32>().iter().flatten() {
                    if last.as_deref().is_some_and(|last| last > name) {
                        return Err(failed(&format!("{name} is not in its place")));
                    }
                    if last.as_deref() != Some(name) {
                        last = Some(name.to_owned());
                    }
                }
            }
        }
        if read_rows != rows {
            return Err(failed(&format!("{read_rows} rows of {rows}")));
        }
    }
    Ok(rows)
}

fn open(path: &Path) -> Result<ArrowReaderMetadata> {
    let file = File::open(path).map_err(|e| match e.kind() {
        std::io::ErrorKind::NotFound => damaged(path, "it is missing"),
        _ => Error::io(path, "read the file", e),
    })?;
    ArrowReaderMetadata::load(&file, ArrowReaderOptions::new()).map_err(|e| damaged(path, &e.to_string()))
}

/// Some columns of a file.
fn batches(
    path: &Path,
    columns: &[&str],
) -> Result<impl Iterator<Item = Result<RecordBatch, arrow_schema::ArrowError>> + use<>> {
    let file = File::open(path).map_err(|e| Error::io(path, "read the file", e))?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(file).map_err(|e| damaged(path, &e.to_string()))?;
    let mask = ProjectionMask::columns(reader.parquet_schema(), columns.iter().copied());
    let reader = reader.with_projection(mask).build();
    reader.map_err(|e| damaged(path, &e.to_string()))
}

fn read(path: &Path, columns: &[&str]) -> Result<Vec<RecordBatch>> {
    batches(path, columns)?.collect::<Result<_, _>>().map_err(|e| damaged(path, &e.to_string()))
}

fn damaged(path: &Path, what: &str) -> Error {
    Error::new(ErrorKind::Damaged, what).at(path).hint(AGAIN)
}
