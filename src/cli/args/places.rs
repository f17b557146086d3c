//! Commands that look up places and types.
use clap::ValueEnum;
use std::path::PathBuf;

// `find`; what it is for stands at its variant of `Command`, whose text documentation here would hide.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  probeidx find 'vfs_*@fs/read_write.c' --args\n  \
                        probeidx find 'module(\"ext4\").function(\"*\").call'")]
pub struct Find {
    /// A name with * ? [..], NAME@FILE, MODULE:NAME, a SystemTap probe point, or what perf, bpftrace, libbpf and tracefs write
    /// (sched:sched_switch, kprobe:vfs_read)
    #[arg(value_name = "PATTERN", required = true)]
    pub patterns: Vec<String>,
    /// Print variables too, as stap -L does
    #[arg(long)]
    pub args: bool,
    /// One line per placement instead of one per declaration
    #[arg(long)]
    pub each: bool,
    /// Include local variables
    #[arg(long)]
    pub locals: bool,
}

pub(super) const READABLE: &str = "What to read at each placement: file, name=s->name:string, a[2].b, \
                        ((struct tcp_sock *)sk)->snd_una, buf@user:ustring, $retval, %di:x32";

// `resolve`; what it is for stands at its variant of `Command`, whose text documentation here would hide.
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  probeidx resolve vfs_read count 'file->f_path.dentry->d_name.name:string'\n  \
                        probeidx resolve 'kernel.function(\"do_exit@kernel/exit.c\")' --format json\n  \
                        probeidx resolve blk_account_io_start --format kprobe-events\n  \
                        probeidx resolve blk_account_io_start req --format bpftrace > io.bt\n  \
                        probeidx resolve fs/read_write.c:467 count\n  \
                        probeidx resolve kmem_cache_alloc --defined '$cachep->name' --kernel '*'"
)]
pub struct Resolve {
    /// NAME, NAME@FILE, NAME:LINE (from the declaration on), FILE:LINE, NAME+OFFSET, NAME%return, MODULE:NAME, 0xADDRESS,
    /// a SystemTap probe point, or what perf, bpftrace, libbpf and tracefs write (sched:sched_switch, kprobe:vfs_read)
    pub spec: String,
    /// What to read at each placement
    #[arg(value_name = "ARG", help = READABLE)]
    pub args: Vec<String>,
    /// Output format
    #[arg(long, default_value = "text")]
    pub format: Format,
    /// Include local variables
    #[arg(long)]
    pub locals: bool,
    /// Only report whether this is defined at every placement, like SystemTap's @defined; exit code 1 if not
    #[arg(long, value_name = "ARG", conflicts_with = "args")]
    pub defined: Option<String>,
    /// What probeidx capture wrote: whether names are unique among the modules that are loaded there, where things lie, and
    /// what that kernel refuses
    #[arg(long, value_name = "FILE")]
    pub live: Option<PathBuf>,
}

// `lines`; what it is for stands at its variant of `Command`, whose text documentation here would hide.
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Prints for each line that has code the address that is best probed, whether the kernel takes a probe \
                        there, and what can be read; with -v all its addresses. Lines of functions are also counted from their \
                        declaration.\n\n\
                        Examples:\n  probeidx lines vfs_read\n  probeidx lines fs/read_write.c:440-480\n  \
                        probeidx lines vfs_read --source ~/linux-6.1"
)]
pub struct Lines {
    /// NAME, NAME@FILE, MODULE:NAME or FILE; append :FROM-TO for some lines only
    pub spec: String,
    /// Root of the kernel's sources [default: where distributions install them]
    #[arg(long, value_name = "DIR")]
    pub source: Option<PathBuf>,
}

// `callers`; what it is for stands at its variant of `Command`, whose text documentation here would hide.
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "A probe on a function's entry sees the calls and tail calls, and none of the inlined copies. What is called \
                        through a pointer, and from assembly, is not known and is not here.\n\n\
                        Examples:\n  probeidx callers vfs_read\n  probeidx callers do_open@fs/namei.c -v\n  \
                        probeidx callers kfree --kernel '*' --json"
)]
pub struct Callers {
    /// NAME, NAME@FILE, MODULE:NAME or a SystemTap probe point of functions; NAME and FILE take * ? [..]
    pub spec: String,
}

// `type`; what it is for stands at its variant of `Command`, whose text documentation here would hide.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  probeidx type 'struct kmem_cache'\n  \
                        probeidx type 'struct file.f_path.dentry->d_name.name'\n  \
                        probeidx type 'struct sk_buff' --users")]
pub struct Type {
    /// A struct, union, enum, typedef or base type, with or without that word; behind it the way to a member, such as
    /// .f_path.dentry or ->f_path. A name of several words needs no quotes
    #[arg(value_name = "NAME", required = true)]
    pub name: Vec<String>,
    /// The functions that take or return it: where the type stands (the return value, the number of the parameter), and a
    /// star for each pointer that leads to it
    #[arg(long)]
    pub users: bool,
}

// `blacklist`; what it is for stands at its variant of `Command`, whose text documentation here would hide.
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Prints ranges and names in the order of /sys/kernel/debug/kprobes/blacklist, and the source of \
                        each behind them.\n\n\
                        Examples:\n  probeidx blacklist\n  probeidx blacklist kvm_intel"
)]
pub struct Blacklist {
    /// Modules, with * ? [..] [default: vmlinux]
    #[arg(value_name = "MODULE")]
    pub modules: Vec<String>,
    /// vmlinux and all modules
    #[arg(long, conflicts_with = "modules")]
    pub all: bool,
}

/// The forms in which `resolve` answers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For reading.
    #[default]
    Text,
    /// Definitions for tracefs, one event for each function.
    KprobeEvents,
    /// Probe points as SystemTap chooses and spells them.
    Stap,
    /// A shell script that records the places with perf, one event for each function.
    Perf,
    /// A shell script that records the places with trace-cmd, one event for each function.
    TraceCmd,
    /// A program for bpftrace, one probe for each place.
    Bpftrace,
    /// Tables in C, for programs with libbpf and for kernel modules.
    C,
    /// JSON Lines, as with --json.
    Json,
}

// `bpf`; what it is for stands at its variant of `Command`, whose text documentation here would hide.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  probeidx bpf kfunc 'bpf_task_*'\n  \
                        probeidx bpf lsm file_open --kernel '*'\n  \
                        probeidx bpf map")]
pub struct Bpf {
    /// What to list
    #[arg(value_name = "KIND", default_value = "all")]
    pub kind: Offered,
    /// Names, with wildcards [default: all]
    #[arg(value_name = "PATTERN")]
    pub pattern: Option<String>,
}

/// What a kernel offers to BPF programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Offered {
    /// Everything.
    #[default]
    All,
    /// Functions that programs may call.
    Kfunc,
    /// Functions that programs may call by number.
    Helper,
    /// Hooks of the security modules.
    Lsm,
    /// What iterators walk over.
    Iter,
    /// Tables of functions that programs can implement.
    #[value(name = "struct_ops")]
    StructOps,
    /// Functions whose result a program can modify.
    #[value(name = "fmod_ret")]
    FmodRet,
    /// Types of programs.
    Program,
    /// Types of attachments.
    Attach,
    /// Types of maps.
    Map,
}
