//! Parquet files in a folder that appears whole or not at all.
use crate::destination::Destination;
use crate::parquet_file::Output;
use crate::rows::Batch;
use crate::schema::{self, Schema};
use crate::sink::Sink;
use parquet::basic::{Compression, GzipLevel};
use probeidx::cli::args::{Codec, Table};
use probeidx::{Error, ErrorKind, Result};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

/// The name of each file.
pub const FILE: &str = "part.parquet";

/// The level of gzip: 6 takes 2 % less, in 1.7 times the time.
const LEVEL: u32 = 3;

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
    sender: SyncSender<(Table, usize, Batch)>,
}

impl Sink for Files {
    fn is_of_files(&self) -> bool {
        true
    }

    fn write(&mut self, table: Table, partition: usize, batch: Batch) -> Result<()> {
        let stopped = |_| Error::new(ErrorKind::Io, "writing stopped");
        self.sender.send((table, partition, batch)).map_err(stopped)
    }
}

fn compress(
    mut files: BTreeMap<(Table, usize), Output>,
    receiver: &Receiver<(Table, usize, Batch)>,
) -> Result<BTreeMap<Table, Written>> {
    for (table, partition, batch) in receiver {
        let file = files.get_mut(&(table, partition)).expect("each partition has a file");
        file.write(batch)?;
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

fn compression(codec: Codec) -> Result<Compression> {
    Ok(match codec {
        Codec::Gzip => Compression::GZIP(GzipLevel::try_new(LEVEL).unwrap_or_default()),
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
