//! `export`: tables for engines.
use std::path::PathBuf;

// `export`; what it is for stands at its variant of `Command`, whose text documentation here would hide.
#[derive(Clone, Debug, clap::Args)]
#[command(
    group = clap::ArgGroup::new("what").required(true).args(["parquet", "arrow", "verify"]),
    after_help = "The tables and their columns are in docs/tables.md. DIR is replaced as a whole once everything is \
                        written. The work is done by the program probeidx-export, beside this one or in PATH.\n\n\
                        Examples:\n  probeidx export --parquet tables\n  \
                        probeidx --db fleet export --parquet tables --kernel '*'\n  \
                        probeidx export --arrow functions | python3 -c 'import sys, pyarrow as pa; \
                        print(pa.ipc.open_stream(sys.stdin.buffer).read_pandas())'"
)]
pub struct Export {
    /// Write Parquet files to this folder
    #[arg(long, value_name = "DIR")]
    pub parquet: Option<PathBuf>,
    /// Write one table to stdout as an Arrow IPC stream
    #[arg(long, value_name = "TABLE")]
    pub arrow: Option<Table>,
    /// Check that a folder holds a whole export with the columns of this version
    #[arg(long, value_name = "DIR")]
    pub verify: Option<PathBuf>,
    /// Only these tables; `kernels` is always there [default: all, those of changes for several kernels]
    #[arg(long, value_name = "TABLE", value_delimiter = ',', conflicts_with_all = ["arrow", "verify"])]
    pub tables: Vec<Table>,
    /// How pages are compressed
    #[arg(long, value_name = "CODEC", default_value = "gzip", conflicts_with_all = ["arrow", "verify"])]
    pub compression: Codec,
}

/// A table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, clap::ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum Table {
    /// The kernels of the export
    Kernels,
    /// Functions, by object
    Functions,
    /// The addresses at which functions run, with verdicts
    Placements,
    /// Where each parameter is, at each of these addresses
    Arguments,
    /// Members of structs and unions
    Members,
    /// Tracepoints and events of system calls
    Tracepoints,
    /// Who reaches which function, by call or inlined
    Calls,
    /// Functions, and the kernels that have them
    FunctionsSince,
    /// Placements, and the kernels that have them
    PlacementsSince,
    /// Members, and the kernels that have them
    MembersSince,
    /// Tracepoints, and the kernels that have them
    TracepointsSince,
}

/// A codec of Parquet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Codec {
    /// Small files
    #[default]
    Gzip,
    /// Larger files, sooner written
    Lz4,
    /// Like lz4, for engines that lack it
    Snappy,
    /// The smallest files; a build without a C compiler lacks it
    Zstd,
    /// As it is
    None,
}
