//! Commands that build, compare and inspect indexes, or capture the kernel to apply to one.
use super::When;
use std::num::NonZeroUsize;
use std::path::PathBuf;

// `build`; what it is for stands at its variant of `Command`, whose text documentation here would hide.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(after_help = "Examples:\n  probeidx build 6.1.0-50-cloud-amd64\n  \
                        probeidx build /usr/lib/debug/boot/vmlinux-6.1.0-50-cloud-amd64\n  \
                        probeidx build linux-image-*.deb\n  \
                        probeidx build --sysroot /mnt\n  \
                        probeidx build --user /usr/bin/ls /lib/x86_64-linux-gnu/libc.so.6")]
pub struct Build {
    /// Folders, debug files (plain or .gz .xz .zst), packages (.deb .rpm, read without unpacking them to disk; those in a folder that has no other files of kernels), or releases to find where distributions install them
    /// [default: the running kernel; with --sysroot every kernel there]
    #[arg(value_name = "PATH|RELEASE")]
    pub paths: Vec<PathBuf>,
    /// Root of another system; paths and symbolic links stay below it
    #[arg(long, value_name = "DIR", conflicts_with = "user")]
    pub sysroot: Option<PathBuf>,
    /// Number of threads [default: one per processor]
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// Index programs and shared libraries; their debug files are found by build id
    #[arg(long, requires = "paths", conflicts_with = "no_modules")]
    pub user: bool,
    /// Also search this folder for debug files of programs and libraries, before /usr/lib/debug
    #[arg(long, value_name = "DIR", requires = "user")]
    pub debug_dir: Vec<PathBuf>,
    /// Skip modules
    #[arg(long)]
    pub no_modules: bool,
    /// Index the tapsets below this folder, or those in an index; files of an earlier folder hide those of a later
    /// one [default: /usr/share/systemtap/tapset if it is there]
    #[arg(long, value_name = "DIR", conflicts_with = "user")]
    pub tapset: Vec<PathBuf>,
    /// Skip tapsets
    #[arg(long, conflicts_with = "tapset")]
    pub no_tapset: bool,
    /// Rebuild even if the index is whole and its files are unchanged
    #[arg(long)]
    pub force: bool,
    /// When to show progress
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub progress: When,
    /// What to fetch from $DEBUGINFOD_URLS if there is no debug information here
    #[cfg(feature = "debuginfod")]
    #[arg(long, value_name = "WHAT", default_value = "loaded", conflicts_with = "user")]
    pub debuginfod: Fetch,
}

/// What is fetched where it is not here.
#[cfg(feature = "debuginfod")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub enum Fetch {
    /// No server is asked.
    Nothing,
    /// vmlinux.
    Kernel,
    /// vmlinux, and of the running kernel the modules that are loaded.
    #[default]
    Loaded,
    /// vmlinux and all modules.
    All,
}

// `stats`; what it is for stands at its variant of `Command`, whose text documentation here would hide.
#[derive(clap::Args, Clone, Copy, Debug, PartialEq, Eq)]
#[command(
    after_help = "Functions are compared with BTF where the kernel has both: the kernel itself (BPF, arguments by name in \
                        kprobe_events) knows no other prototypes. Only such count as have a symbol of their own name.\n\n\
                        Example:\n  probeidx stats --btf"
)]
pub struct Stats {
    /// List functions that BTF lacks, or has with a different or ambiguous prototype
    #[arg(long)]
    pub btf: bool,
}

// `diff`; what it is for stands at its variant of `Command`, whose text documentation here would hide.
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Functions that were added, removed, inlined away or duplicated, or whose parameters, place or verdicts \
                        changed; members of types that moved; tracepoints. + was added, - removed, ~ is in both.\n\n\
                        Examples:\n  probeidx diff 6.1.0-50-cloud-amd64 6.12.95-cloud-amd64 'vfs_*'\n  \
                        probeidx diff old.pidx new.pidx 'struct sk_buff'\n  \
                        probeidx diff 6.1.0-50-cloud-amd64 6.12.95-cloud-amd64 'sched:*' --json"
)]
pub struct Diff {
    /// The older kernel: an indexed release, or an index file
    #[arg(value_name = "A")]
    pub before: String,
    /// The newer kernel
    #[arg(value_name = "B")]
    pub after: String,
    /// What to compare: NAME, NAME@FILE, struct NAME, SYSTEM:EVENT, with * ? [..] [default: all]
    #[arg(value_name = "PATTERN")]
    pub pattern: Option<String>,
}

// `history`; what it is for stands at its variant of `Command`, whose text documentation here would hide.
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Asks every kernel that --kernel selects, by default all that are indexed. For each kind of fact, the \
                        states and the kernels that have each, as runs of one flavour. Of functions: prototype, declaration, \
                        inlining, symbols, duplicates, verdicts and where parameters are. Of members: offset, type, sizes. Of \
                        tracepoints: arguments and fields. Of aliases: points and variables. Of lines: functions, verdict and \
                        addresses.\n\n\
                        Examples:\n  probeidx history vfs_read\n  probeidx history task_struct.pid\n  \
                        probeidx history 'struct file' --kernel 'debian/*/cloud-amd64'\n  \
                        probeidx history sched:sched_switch --kernel 6.1..7.3 --json\n  \
                        probeidx history vfs_read --since 6.1.0-50"
)]
pub struct History {
    /// A function, `struct NAME`, a member of one, a tracepoint, a tapset alias, or FILE:LINE
    #[arg(value_name = "NAME")]
    pub name: String,
    /// Show only what changed after this kernel
    #[arg(long, value_name = "RELEASE")]
    pub since: Option<String>,
}

// `capture`; what it is for stands at its variant of `Command`, whose text documentation here would hide.
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "As root on the machine that is to be probed; what others may not read is left out, and named. The file has \
                        the build ids, the symbols of the modules that are loaded, where all of it lies, the blacklist of kprobes, \
                        the functions that ftrace reaches, and, where there is an index of the kernel, the code that was patched \
                        when it started (from /proc/kcore).\n\n\
                        Example:\n  probeidx capture web1.live\n  probeidx resolve do_open --live web1.live"
)]
pub struct Capture {
    /// The file to write
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Folder with proc and sys
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub root: PathBuf,
}
