//! What the library hands over in the process is what the program writes: rows, their order and their numbers.
use crate::support::{KERNELS, RELEASES, Row, export, of_batch};
use arrow_ipc::reader::StreamReader;
use probeidx::query::Index;
use probeidx_export::{record_batches, schema};
use std::sync::Arc;

fn opened(releases: &[&str]) -> Vec<Arc<Index>> {
    let path = |release| KERNELS.path().join(format!("{release}.pidx"));
    releases.iter().map(|release| Arc::new(Index::open(&path(release)).unwrap())).collect()
}

#[test]
fn batches_have_the_rows_of_the_program() {
    // One kernel is written in parts, side by side; several are merged.
    for (releases, kernel) in [(&RELEASES[..1], RELEASES[0]), (&RELEASES[..], "*")] {
        for schema in &schema::ALL {
            let mut rows: Vec<Row> = vec![];
            let given = record_batches(opened(releases), schema.table, &mut |batch| {
                rows.extend(of_batch(&batch));
                Ok(())
            });
            let arrow = given.unwrap();
            let ran = export(&["--arrow", schema.name, "--kernel", kernel].map(AsRef::as_ref));
            let stream = StreamReader::try_new(&ran.stdout[..], None).unwrap();
            assert_eq!(arrow.fields(), stream.schema().fields(), "{}", schema.name);
            let written: Vec<Row> = stream.flat_map(|batch| of_batch(&batch.unwrap())).collect();
            assert_eq!(rows, written, "{} of {kernel}", schema.name);
            assert!(!rows.is_empty() || written.is_empty());
        }
    }
}

#[test]
fn whoever_takes_batches_may_stop() {
    let stop = || probeidx::Error::new(probeidx::ErrorKind::Io, "enough");
    for schema in schema::ALL.iter().filter(|schema| schema.name == "placements") {
        let mut taken = 0;
        let ended = record_batches(opened(&RELEASES[..1]), schema.table, &mut |_| {
            taken += 1;
            Err(stop())
        });
        assert_eq!((ended.unwrap_err().to_string(), taken), ("enough".to_owned(), 1));
    }
}
