//! Two small kernels, the program, and what it wrote.
#[path = "../../../tests/small_kernel/mod.rs"]
pub mod small_kernel;

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, UInt64Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::DataType;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;
use tempfile::TempDir;

/// The releases of the kernels, in their order. They are compiled differently.
pub const RELEASES: [&str; 2] = ["6.1.0-test", "6.12.9+x-other"];

/// A folder with their indexes.
pub static KERNELS: LazyLock<TempDir> = LazyLock::new(|| {
    let db = tempfile::tempdir().unwrap();
    for (release, level) in RELEASES.iter().zip(["-O2", "-O1"]) {
        let folder = tempfile::tempdir().unwrap();
        small_kernel::index(small_kernel::compile(folder.path(), release, level, &[]), db.path());
    }
    db
});

/// Runs the program as `probeidx export` does.
pub fn export(arguments: &[&OsStr]) -> Output {
    export_of(KERNELS.path(), arguments)
}

fn export_of(db: &Path, arguments: &[&OsStr]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_probeidx-export"));
    command.arg("--db").arg(db).args(arguments).env_remove("PROBEIDX_DB").output().unwrap()
}

/// Runs the program, which has to succeed.
pub fn exported(folder: &Path, arguments: &[&str]) -> String {
    exported_of(KERNELS.path(), folder, arguments)
}

/// The same with other indexes, or a store.
pub fn exported_of(db: &Path, folder: &Path, arguments: &[&str]) -> String {
    let words =
        [OsStr::new("--parquet"), folder.as_os_str()].into_iter().chain(arguments.iter().map(OsStr::new));
    let ran = export_of(db, &words.collect::<Vec<_>>());
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
    String::from_utf8(ran.stdout).unwrap()
}

/// Runs the program, which has to fail with this code and one line.
pub fn refused(arguments: &[&OsStr], code: i32) -> String {
    let ran = export(arguments);
    let said = String::from_utf8(ran.stderr).unwrap();
    assert_eq!(ran.status.code(), Some(code), "{said}");
    assert_eq!((said.lines().count(), ran.stdout.len()), (1, 0), "{said}");
    said.trim_end().to_owned()
}

/// Everything of all kernels, exported once.
pub static ALL: LazyLock<TempDir> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    exported(&folder.path().join("tables"), &["--kernel", "*"]);
    folder
});

/// The files of a folder, with their bytes.
pub fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(files(&path));
        } else {
            found.insert(path.clone(), fs::read(&path).unwrap());
        }
    }
    found
}

/// A row, as text: null is missing.
pub type Row = BTreeMap<String, String>;

/// All rows of a table, in the order of its files.
pub fn rows(folder: &Path, table: &str) -> Vec<Row> {
    let read = |path: &PathBuf| {
        let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path).unwrap()).unwrap();
        reader.build().unwrap().flat_map(|batch| of_batch(&batch.unwrap())).collect::<Vec<_>>()
    };
    files(&folder.join(table)).keys().flat_map(read).collect()
}

/// The rows of a batch.
pub fn of_batch(batch: &RecordBatch) -> Vec<Row> {
    let schema = batch.schema();
    let row = |at: usize| {
        let columns = schema.fields().iter().zip(batch.columns());
        let known = columns.filter(|(_, column)| column.is_valid(at));
        known.map(|(field, column)| (field.name().clone(), text(column, at))).collect()
    };
    (0..batch.num_rows()).map(row).collect()
}

fn text(column: &dyn Array, at: usize) -> String {
    match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().value(at).to_owned(),
        DataType::Int32 => column.as_primitive::<Int32Type>().value(at).to_string(),
        DataType::Int64 => column.as_primitive::<Int64Type>().value(at).to_string(),
        DataType::UInt64 => format!("{:#x}", column.as_primitive::<UInt64Type>().value(at)),
        DataType::Boolean => column.as_boolean().value(at).to_string(),
        DataType::List(_) => {
            let items = column.as_list::<i32>().value(at);
            let item = |at| if items.is_valid(at) { text(&items, at) } else { "null".to_owned() };
            (0..items.len()).map(item).collect::<Vec<_>>().join(" < ")
        }
        other => panic!("{other}"),
    }
}
