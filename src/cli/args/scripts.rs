//! Commands about SystemTap's scripts and tapsets.
use clap::ValueEnum;
use std::path::PathBuf;

// `check`; what it is for stands at its variant of `Command`, whose text documentation here would hide.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(
    after_help = "Prints a table of files, programs and kernels, and below it what is wrong, each with its line and column. Exits with \
                        1 if anything does not work.\n\n\
                        Examples:\n  probeidx check slab.stp --kernel '*'\n  \
                        probeidx check pfiles.stp --guru --arg 1\n  \
                        probeidx check *.stp --new 6.1.0-56-amd64 --since 6.1.0-55-amd64\n  \
                        probeidx check tools/*.bt --min 6.1\n  \
                        echo 'vm.pagefault' | probeidx check -"
)]
pub struct Check {
    /// Scripts (.stp, .bt), BPF objects and programs that carry some, policies of Tetragon (.yaml), tools of bcc (.py), or lists of probe points with one a line and #
    /// before comments; - reads one from stdin
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
    /// The version of bpftrace that runs the scripts, as bpftrace --version prints it; without one, what works with some
    /// version works, and findings say where versions differ
    #[arg(long, value_name = "VERSION")]
    pub bpftrace: Option<String>,
    /// Fail for partial coverage, and for programs and modules that are not indexed, too
    #[arg(long)]
    pub strict: bool,
    /// The kernels from this release on
    #[arg(long, value_name = "RELEASE", conflicts_with = "new")]
    pub min: Option<String>,
    /// Only what an update to these kernels breaks: what --since does not have. Kernels are chosen as with --kernel
    #[arg(long, value_name = "KERNELS", requires = "since")]
    pub new: Option<String>,
    /// The kernels before the update
    #[arg(long, value_name = "KERNELS", requires = "new")]
    pub since: Option<String>,
    /// Programs of which one that works suffices: 'A|B'; also in a comment of the file, as `probeidx: need A|B`, and in
    /// probeidx.toml, in the folder of the file or above, as `need` of its table `check`
    #[arg(long, value_name = "PROGRAMS")]
    pub need: Vec<String>,
    /// Print SARIF 2.1.0, for services that show findings in code
    #[arg(long, conflicts_with_all = ["github", "tapset"])]
    pub sarif: bool,
    /// Print annotations for GitHub Actions
    #[arg(long, conflicts_with = "tapset")]
    pub github: bool,
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

// `tapset`; what it is for stands at its variant of `Command`, whose text documentation here would hide.
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
