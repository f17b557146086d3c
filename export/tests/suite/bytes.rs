//! Files: their bytes, their order, and when they appear.
use crate::support::{ALL, KERNELS, RELEASES, export, exported, exported_of, files, rows};
use parquet::file::reader::{FileReader, SerializedFileReader};
use probeidx::Index;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

/// The files of a folder, by their paths in it.
fn within(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let all = files(root).into_iter();
    all.map(|(path, bytes)| (path.strip_prefix(root).unwrap().to_owned(), bytes)).collect()
}

#[test]
fn two_exports_have_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    exported(&folder.path().join("tables"), &["--kernel", "*"]);
    let (one, other) = (within(ALL.path()), within(folder.path()));
    assert!(one.len() > 10);
    assert!(one == other, "the files differ");
}

#[test]
fn a_store_has_the_tables_of_its_indexes() {
    let folder = tempfile::tempdir().unwrap();
    // The first stands alone in its store, the other is told by what it has other than that: each way round.
    for (order, name) in [([0, 1], "one"), ([1, 0], "other")] {
        let store = folder.path().join(name);
        for at in order {
            let index = Index::open(&KERNELS.path().join(format!("{}.pidx", RELEASES[at]))).unwrap();
            assert!(probeidx::fleet::add(&store, &index, &()).unwrap().bytes > 0);
        }
        let tables = folder.path().join("tables");
        exported_of(&store, &tables, &["--kernel", "*"]);
        let (of_store, of_indexes) = (within(&tables), within(&ALL.path().join("tables")));
        assert!(of_store.keys().eq(of_indexes.keys()), "{:?}", of_store.keys());
        for (path, bytes) in of_store {
            assert!(bytes == of_indexes[&path], "{} differs, {name} way round", path.display());
        }
        // A kernel of the store alone, and what of it has no files of its own.
        let said = exported_of(&store, &tables, &["--kernel", RELEASES[1], "--tables", "functions"]);
        assert!(said.ends_with("MB\n") && said.contains("1 kernels, 2 files"), "{said}");
        assert!(rows(&tables, "functions").iter().all(|row| row["kernel"] == RELEASES[1]));
    }
}

#[test]
fn names_are_found_by_statistics_pages_and_bloom_filters() {
    for (path, _) in files(&ALL.path().join("tables/placements")) {
        let reader = SerializedFileReader::new(File::open(&path).unwrap()).unwrap();
        let group = reader.metadata().row_group(0);
        let column = group.columns().iter().find(|c| c.column_path().string() == "function").unwrap();
        assert!(column.statistics().unwrap().min_bytes_opt() <= column.statistics().unwrap().max_bytes_opt());
        assert!(column.bloom_filter_offset().is_some() && column.column_index_offset().is_some());
        assert!(group.sorting_columns().is_some_and(|sorting| sorting.len() == 1));
    }
    let functions: Vec<String> =
        rows(&ALL.path().join("tables"), "functions_since").iter().map(|row| row["name"].clone()).collect();
    assert!(functions.is_sorted());
}

#[test]
fn a_folder_is_replaced_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let tables = folder.path().join("tables");
    exported(&tables, &["--kernel", "*"]);
    // What a killed export leaves.
    let unfinished = folder.path().join(".tables.unfinished");
    fs::create_dir_all(unfinished.join("functions")).unwrap();
    fs::write(unfinished.join("functions/part.parquet"), "PAR1 half").unwrap();
    let said = exported(&tables, &["--kernel", "6.1.0-test", "--tables", "functions,members"]);
    assert!(said.starts_with("kernels "), "{said}");
    let mut there: Vec<_> = fs::read_dir(&tables).unwrap().map(|e| e.unwrap().file_name()).collect();
    there.sort();
    assert_eq!(there, ["functions", "kernels", "members"]);
    let beside: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(beside, ["tables"]);
    let ran = export(&["--verify".as_ref(), tables.as_os_str()]);
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    assert!(said.contains(": whole, 3 files, "), "{said}");
}

#[test]
fn every_codec_has_the_same_rows() {
    let folder = tempfile::tempdir().unwrap();
    for codec in ["lz4", "snappy", "none"] {
        let tables = folder.path().join(codec);
        exported(&tables, &["--kernel", "*", "--compression", codec]);
        assert_eq!(rows(&tables, "placements"), rows(&ALL.path().join("tables"), "placements"), "{codec}");
    }
}
