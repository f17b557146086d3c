//! Bad input: one line with the file and the column.
use crate::support::{ALL, exported, refused};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

/// An export to be damaged, and a file of it.
fn copy() -> (TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let tables = folder.path().join("tables");
    exported(&tables, &["--kernel", "*"]);
    let file = tables.join("functions/kernel_line=v6.1/flavour=test/part.parquet");
    assert!(file.is_file());
    (folder, tables, file)
}

fn verified(tables: &Path) -> String {
    refused(&[OsStr::new("--verify"), tables.as_os_str()], 3)
}

/// Writes a file anew, with other columns or other words about it.
fn rewrite(file: &Path, drop_column: Option<&str>, version: &str) {
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(file).unwrap()).unwrap();
    let batches: Vec<_> = reader.build().unwrap().map(Result::unwrap).collect();
    let kept: Vec<usize> = (0..batches[0].num_columns())
        .filter(|at| drop_column != Some(batches[0].schema().field(*at).name().as_str()))
        .collect();
    let pair = |key: &str, value: &str| KeyValue::new(key.to_owned(), value.to_owned());
    let about = vec![pair("probeidx.schema", version), pair("probeidx.table", "functions")];
    let properties = WriterProperties::builder().set_key_value_metadata(Some(about)).build();
    let batches: Vec<_> = batches.iter().map(|batch| batch.project(&kept).unwrap()).collect();
    let mut writer =
        ArrowWriter::try_new(File::create(file).unwrap(), batches[0].schema(), Some(properties)).unwrap();
    batches.iter().for_each(|batch| writer.write(batch).unwrap());
    writer.close().unwrap();
}

#[test]
fn a_file_that_is_half_there() {
    let (_folder, tables, file) = copy();
    let bytes = fs::read(&file).unwrap();
    fs::write(&file, &bytes[..bytes.len() / 2]).unwrap();
    let said = verified(&tables);
    assert!(said.starts_with(&format!("probeidx: error: {}: ", file.display())), "{said}");
    assert!(said.ends_with("; export again"), "{said}");
    fs::remove_file(&file).unwrap();
    assert_eq!(
        verified(&tables),
        format!("probeidx: error: {}: it is missing; export again", file.display())
    );
}

#[test]
fn a_page_that_is_damaged_is_told_with_its_column() {
    let (_folder, tables, file) = copy();
    let mut bytes = fs::read(&file).unwrap();
    // The first page is that of the first column, behind the four bytes of the mark.
    bytes[4..40].fill(0xff);
    fs::write(&file, bytes).unwrap();
    let said = verified(&tables);
    assert!(said.contains(&format!("{}: column kernel: ", file.display())), "{said}");
}

#[test]
fn columns_of_another_version() {
    let (_folder, tables, file) = copy();
    rewrite(&file, None, "2");
    let said = verified(&tables);
    let wanted = "its columns are of version 2, this program's of version 1";
    assert_eq!(said, format!("probeidx: error: {}: {wanted}; export again", file.display()));
    rewrite(&file, Some("copies"), "1");
    let said = verified(&tables);
    assert_eq!(said, format!("probeidx: error: {}: column copies is missing; export again", file.display()));
}

#[test]
fn a_file_of_another_table_or_of_nobody() {
    let (_folder, tables, file) = copy();
    fs::copy(tables.join("kernels/part.parquet"), &file).unwrap();
    let said = verified(&tables);
    assert!(said.contains("it is of the table kernels, not functions"), "{said}");
    let stranger = tables.join("members/kernel_line=v6.1/flavour=stranger");
    fs::create_dir_all(&stranger).unwrap();
    fs::copy(tables.join("kernels/part.parquet"), stranger.join("part.parquet")).unwrap();
    exported(&tables, &["--kernel", "*"]);
    assert!(!stranger.exists());
}

#[test]
fn a_folder_that_cannot_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let parquet = |path: &Path, code| {
        refused(&[OsStr::new("--parquet"), path.as_os_str(), "--kernel=*".as_ref()], code)
    };
    let file = folder.path().join("file");
    fs::write(&file, "").unwrap();
    let said = parquet(&file, 3);
    assert!(said.starts_with(&format!("probeidx: error: {}: cannot write there", file.display())), "{said}");
    let said = parquet(&file.join("below"), 3);
    assert!(
        said.starts_with(&format!("probeidx: error: {}/below: cannot write there", file.display())),
        "{said}"
    );
    let mine = folder.path().join("mine");
    fs::create_dir(&mine).unwrap();
    fs::write(mine.join("thesis.tex"), "").unwrap();
    let said = parquet(&mine, 2);
    assert!(said.contains("it has thesis.tex, which no export wrote"), "{said}");
    assert!(mine.join("thesis.tex").exists());
    // Root may write everywhere.
    let locked = folder.path().join("locked");
    fs::create_dir(&locked).unwrap();
    fs::set_permissions(&locked, PermissionsExt::from_mode(0o555)).unwrap();
    if fs::write(locked.join("probe"), "").is_err() {
        let said = parquet(&locked.join("tables"), 3);
        assert!(said.contains("cannot write there"), "{said}");
    }
}

#[test]
fn what_is_asked_wrongly() {
    let tables = ALL.path().join("tables");
    let said = refused(&["--arrow", "nothing"].map(OsStr::new), 2);
    assert!(said.contains("invalid value 'nothing'"), "{said}");
    let said = refused(&["--parquet".as_ref(), tables.as_os_str()], 2);
    assert!(said.contains("several kernels are indexed"), "{said}");
    assert!(refused(&[], 2).contains("--parquet"), "a command without an aim");
}
