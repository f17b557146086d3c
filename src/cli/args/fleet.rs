//! `fleet`: a store of many kernels.
use std::path::PathBuf;

// `fleet`; what it is for stands at its variant of `Command`, whose text documentation here would hide.
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "A store holds many kernels in little more than what differs between them. --db names it; every other \
                        command then asks its kernels as if each had an index.\n\n\
                        Examples:\n  probeidx --db fleet fleet add ~/.cache/probeidx/*.pidx\n  \
                        probeidx --db fleet fleet list\n  \
                        probeidx --db fleet resolve vfs_read --kernel '*'"
)]
pub struct Fleet {
    /// What to do with it
    #[command(subcommand)]
    pub action: Action,
}

/// What is done with a store.
#[derive(Clone, Debug, clap::Subcommand)]
pub enum Action {
    /// Add kernels; what they share with others is not stored again
    #[command(
        after_help = "Kernels that the store has already cost nothing. Folders are searched for debug files and \
                            releases looked up as by build. Packages are read one kernel after the other, and nothing \
                            is unpacked to disk; what cannot be read is named at the end, and the rest is added.\n\n\
                            Examples:\n  probeidx --db fleet fleet add linux-image-*.deb\n  \
                            probeidx --db fleet fleet add --from packages.txt"
    )]
    Add {
        /// Indexes, or what `build` takes: packages, folders (also of packages), debug files, releases; with the
        /// feature debuginfod, addresses of packages
        #[arg(value_name = "INDEX|PATH|RELEASE|URL", required_unless_present = "from")]
        paths: Vec<PathBuf>,
        /// A file with such names, one a line (- for stdin); the packages of a kernel stand together
        #[arg(long, value_name = "LIST")]
        from: Vec<PathBuf>,
    },
    /// Write a new store with the kernels of several; their order does not matter
    Merge {
        /// The stores
        #[arg(value_name = "STORE", required = true)]
        stores: Vec<PathBuf>,
    },
    /// Remove kernels; what others share with them stays
    Remove {
        /// As `list` prints them
        #[arg(value_name = "KERNEL", required = true)]
        kernels: Vec<String>,
    },
    /// List the kernels
    List,
    /// Check every byte
    Verify,
    /// Count what is inlined, transformed and duplicated, and what changed from kernel to kernel and line to line
    #[command(
        after_help = "What is counted, and the fields of --json, is in docs/fleet-report.md. A folder of indexes will do, \
                            too.\n\n\
                            Examples:\n  probeidx --db fleet fleet report\n  \
                            probeidx fleet report --kernel 'debian/*/cloud-amd64' --json"
    )]
    Report {
        /// Count the functions and tracepoints of modules, too
        #[arg(long)]
        modules: bool,
    },
}
