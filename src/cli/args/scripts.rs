//! Commands about SystemTap's scripts and tapsets.
use clap::ValueEnum;
use std::path::PathBuf;

/// `check`
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Prints a table of scripts and kernels, and below it what is wrong, each with its file, line and column.\n\n\
                        Examples:\n  probeidx check slab.stp --kernel '*'\n  \
                        probeidx check pfiles.stp --guru --arg 1\n  \
                        echo 'vm.pagefault' | probeidx check -"
)]
pub struct Check {
    /// Scripts (.stp), or lists of probe points with one a line and # before comments; - reads one from stdin
    #[arg(value_name = "FILE", required_unless_present = "tapset")]
    pub files: Vec<PathBuf>,
    /// Check the tapsets of the index: dead aliases, broken locals, points that no kernel has, functions
    #[arg(long, conflicts_with = "files")]
    pub tapset: bool,
    /// Arguments of the scripts: $1 and @1, then $2 and @2
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    pub arg: Vec<String>,
    /// Guru mode, like stap -g
    #[arg(short, long)]
    pub guru: bool,
    /// The runtime of the scripts
    #[arg(long, value_name = "RUNTIME", default_value = "kernel")]
    pub runtime: Runs,
    /// The SystemTap version to be compatible with, like stap --compatible
    #[arg(long, value_name = "VERSION")]
    pub compatible: Option<String>,
    /// Fail for probe points of programs and modules that are not indexed
    #[arg(long)]
    pub strict: bool,
}

/// What runs a script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Runs {
    /// A kernel module.
    #[default]
    Kernel,
    /// A process, by Dyninst.
    Dyninst,
    /// The BPF virtual machine.
    Bpf,
}

/// `tapset`
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Without a pattern it prints a line each, as stap --dump-probe-aliases and --dump-functions do.\n\n\
                        Examples:\n  probeidx tapset 'vm.*'\n  probeidx tapset -v syscall.openat\n  \
                        probeidx tapset --functions 'task_*'"
)]
pub struct Tapset {
    /// Names with * ? [..]; of aliases * is for one component and ** for several
    #[arg(value_name = "PATTERN")]
    pub patterns: Vec<String>,
    /// Functions instead of aliases
    #[arg(long)]
    pub functions: bool,
    /// Macros instead of aliases
    #[arg(long, conflicts_with = "functions")]
    pub macros: bool,
    /// Include names that begin with _
    #[arg(long)]
    pub all: bool,
}
