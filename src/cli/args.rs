//! The command line, as clap sees it. No meaning is given to anything here: that is `config` and the commands.
//!
//! A new command is its struct below, one variant of [`Command`] and one arm in `main`.
use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind as Clap};
use clap::{ArgAction, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};

use crate::error::{Error, ErrorKind, Result};

/// Where exactly can I probe this kernel, and what can I read there?
#[derive(Clone, Debug, Parser)]
#[command(name = "probeidx", version, after_help = EXAMPLES, disable_help_subcommand = true)]
pub struct Args {
    /// What holds for every command.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Options that stand before or after the command.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// The index: one file, or a folder of RELEASE.pidx files [default: $PROBEIDX_DB, else
    /// $XDG_CACHE_HOME/probeidx, else ~/.cache/probeidx]
    #[arg(long, global = true, value_name = "PATH")]
    pub db: Option<PathBuf>,
    /// The kernel to ask, or '*' for all [default: the running one if it is indexed, else the only one there]
    #[arg(long, global = true, value_name = "RELEASE")]
    pub kernel: Option<String>,
    /// Print JSON Lines; errors are one JSON object on stderr
    #[arg(long, global = true)]
    pub json: bool,
    /// When to colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: When,
    /// No suggestions, no warnings, no progress
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub quiet: bool,
    /// Say more; twice, still more
    #[arg(short, long, global = true, action = ArgAction::Count)]
    pub verbose: u8,
}

/// Something that depends on whether a person watches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum When {
    /// On a terminal.
    #[default]
    Auto,
    /// In any case.
    Always,
    /// In no case.
    Never,
}

/// The commands there are.
#[derive(Clone, Debug, Subcommand)]
pub enum Command {
    /// Index the kernels and modules under some paths
    Build(Build),
    /// List probe points
    Find(Find),
    /// Show every place of a probe point: where it is, and what can be read there
    Resolve(Resolve),
    /// Show which lines of a function or a file can be probed
    Lines(Lines),
    /// Tell the symbol, the function with what is inlined, and the line of addresses
    Addr(Addr),
    /// Add functions and lines to the frames of a log
    Decode(Decode),
    /// Show how a type is laid out, or which functions take or return it
    Type(Type),
    /// Tell whether scripts of SystemTap, or lists of probe points, are right on a kernel
    Check(Check),
    /// Show the aliases, functions and macros of SystemTap's tapsets
    Tapset(Tapset),
    /// List what the kernel refuses to kprobes, and why
    Blacklist(Blacklist),
    /// Show what differs between two kernels
    Diff(Diff),
    /// Write down what the running kernel says of itself, to be laid over its index elsewhere
    Capture(Capture),
    /// List the kernels that are indexed
    Kernels,
    /// Show what is in the index
    Stats(Stats),
    /// Check that the bytes of the index are whole
    Verify,
    /// Answer requests, a line of JSON each, until there are no more
    Serve(Serve),
    /// Print a script that completes the command line
    Completions(Completions),
    /// Write the manual pages
    Man(Man),
    /// Complete the last of some words
    #[command(hide = true)]
    Complete(Complete),
}

/// `build`
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  probeidx build 6.1.0-50-cloud-amd64\n  \
                        probeidx build /usr/lib/debug/boot/vmlinux-6.1.0-50-cloud-amd64\n  \
                        probeidx build --sysroot /mnt\n  \
                        probeidx build --user /usr/bin/ls /lib/x86_64-linux-gnu/libc.so.6")]
pub struct Build {
    /// Folders and debug files, plain or .gz .xz .zst, or releases, which are looked for where distributions put them
    /// [default: the running kernel; with --sysroot all that are there]
    #[arg(value_name = "PATH|RELEASE")]
    pub paths: Vec<PathBuf>,
    /// The root of another system: all paths are below it, and symbolic links do not leave it
    #[arg(long, value_name = "DIR", conflicts_with = "user")]
    pub sysroot: Option<PathBuf>,
    /// How many threads [default: one for each processor]
    #[arg(short, long, value_name = "N")]
    pub jobs: Option<NonZeroUsize>,
    /// The paths are programs and shared libraries; their debug files are found by build id
    #[arg(long, requires = "paths", conflicts_with = "no_modules")]
    pub user: bool,
    /// Look for debug files of programs and libraries below this folder too, before /usr/lib/debug
    #[arg(long, value_name = "DIR", requires = "user")]
    pub debug_dir: Vec<PathBuf>,
    /// Leave out the modules
    #[arg(long)]
    pub no_modules: bool,
    /// Index the tapsets below this folder, or those that an index keeps; files of an earlier one hide those of a later
    /// one [default: /usr/share/systemtap/tapset if it is there]
    #[arg(long, value_name = "DIR", conflicts_with = "user")]
    pub tapset: Vec<PathBuf>,
    /// Leave out the tapsets
    #[arg(long, conflicts_with = "tapset")]
    pub no_tapset: bool,
    /// Build again what is indexed, whole and of files that have not changed
    #[arg(long)]
    pub force: bool,
    /// When to show how far it is
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    pub progress: When,
    /// What to fetch from the servers of $DEBUGINFOD_URLS where there is no debug information here
    #[cfg(feature = "debuginfod")]
    #[arg(long, value_name = "WHAT", default_value = "loaded", conflicts_with = "user")]
    pub debuginfod: Fetch,
}

/// What is fetched where it is not here.
#[cfg(feature = "debuginfod")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
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

/// `find`
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  probeidx find 'vfs_*@fs/read_write.c' --args\n  \
                        probeidx find 'module(\"ext4\").function(\"*\").call'")]
pub struct Find {
    /// A name with * ? [..], NAME@FILE, MODULE:NAME, or a SystemTap probe point
    #[arg(value_name = "PATTERN", required = true)]
    pub patterns: Vec<String>,
    /// With the variables, as stap -L prints them
    #[arg(long)]
    pub args: bool,
    /// One line per place instead of one per declaration
    #[arg(long)]
    pub each: bool,
    /// With the local variables too
    #[arg(long)]
    pub locals: bool,
}

const READABLE: &str = "What to read at each place: file, name=s->name:string, a[2].b, \
                        ((struct tcp_sock *)sk)->snd_una, buf@user:ustring, $retval, %di:x32";

/// `resolve`
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Examples:\n  probeidx resolve vfs_read count 'file->f_path.dentry->d_name.name:string'\n  \
                        probeidx resolve 'kernel.function(\"do_exit@kernel/exit.c\")' --format json\n  \
                        probeidx resolve blk_account_io_start --format kprobe-events\n  \
                        probeidx resolve fs/read_write.c:467 count\n  \
                        probeidx resolve kmem_cache_alloc --defined '$cachep->name' --kernel '*'"
)]
pub struct Resolve {
    /// NAME, NAME@FILE, NAME:LINE (from the declaration on), FILE:LINE, NAME+OFFSET, NAME%return, MODULE:NAME, 0xADDRESS,
    /// or a SystemTap probe point of functions or statements
    pub spec: String,
    /// What to read at each place
    #[arg(value_name = "ARG", help = READABLE)]
    pub args: Vec<String>,
    /// How to print the places
    #[arg(long, default_value = "text")]
    pub format: Format,
    /// With the local variables too
    #[arg(long)]
    pub locals: bool,
    /// Only say whether this is known at all the places, as SystemTap's @defined does; exit code 1 if it is not
    #[arg(long, value_name = "ARG", conflicts_with = "args")]
    pub defined: Option<String>,
    /// What probeidx capture wrote: whether names are unique among the modules that are loaded there, where things lie, and
    /// what that kernel refuses
    #[arg(long, value_name = "FILE")]
    pub live: Option<PathBuf>,
}

/// `lines`
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Prints for each line that has code the address that is best probed, whether the kernel takes a probe \
                        there, and what can be read; with -v all its addresses. Lines of functions are also counted from their \
                        declaration.\n\n\
                        Examples:\n  probeidx lines vfs_read\n  probeidx lines fs/read_write.c:440-480\n  \
                        probeidx lines vfs_read --source ~/linux-6.1"
)]
pub struct Lines {
    /// NAME, NAME@FILE, MODULE:NAME, FILE; with :FROM-TO behind it some lines only
    pub spec: String,
    /// Where the source texts are: a folder like the root of the kernel's sources [default: where distributions put them]
    #[arg(long, value_name = "DIR")]
    pub source: Option<PathBuf>,
}

/// `type`
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  probeidx type 'struct kmem_cache'\n  \
                        probeidx type 'struct file.f_path.dentry->d_name.name'\n  \
                        probeidx type 'struct sk_buff' --users")]
pub struct Type {
    /// A struct, union, enum, typedef or base type, with or without that word; behind it the way to a member, such as
    /// .f_path.dentry or ->f_path
    #[arg(value_name = "NAME")]
    pub name: String,
    /// The functions that take or return it: where the type stands (the return value, the number of the parameter), and a
    /// star for each pointer that leads to it
    #[arg(long)]
    pub users: bool,
}

const ADDRESSES: &str = "0xADDRESS, SYMBOL+OFFSET, MODULE:SYMBOL+OFFSET, MODULE:.SECTION+OFFSET or SYMBOL+OFFSET/SIZE \
                         [MODULE]; - reads such from stdin, one a line [default: -]";

/// `addr`
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  probeidx addr path_openat+0x14d 'ovl_open+0x1f/0x90 [overlay]'\n  \
                        probeidx addr nfs:.text+0x3270\n  \
                        probeidx addr --base 0xffffffffa7400000 0xffffffffa776139d\n  \
                        perf script -F ip | probeidx addr --kallsyms kallsyms.txt")]
pub struct Addr {
    /// What to look up
    #[arg(value_name = "ADDR", help = ADDRESSES)]
    pub addresses: Vec<String>,
    /// Where things lie at run time.
    #[command(flatten)]
    pub loaded: Loaded,
}

/// `decode`
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Behind each frame that is known stands where it is, and for inlined code a line for each caller:\n  \
                        path_openat+0x14d/0x1180 do_open (fs/namei.c:3640:10)\n    \
                          inlined into path_openat (fs/namei.c:3838:11)\n\
                        A return address is looked up at the call before it. All else passes as it is.\n\n\
                        Examples:\n  dmesg | probeidx decode\n  \
                        perf script | probeidx decode --kallsyms kallsyms.txt"
)]
pub struct Decode {
    /// Where things lie at run time.
    #[command(flatten)]
    pub loaded: Loaded,
}

/// Where things lie at run time.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Loaded {
    /// The address of _text at run time (KASLR moves it) [default: where it was linked to]
    #[arg(long, value_name = "ADDRESS", value_parser = hexadecimal)]
    pub base: Option<u64>,
    /// A copy of /proc/kallsyms: tells where vmlinux and its modules lie
    #[arg(long, value_name = "FILE", conflicts_with = "base")]
    pub kallsyms: Option<PathBuf>,
    /// What probeidx capture wrote: tells the same
    #[arg(long, value_name = "FILE", conflicts_with_all = ["base", "kallsyms"])]
    pub live: Option<PathBuf>,
}

fn hexadecimal(text: &str) -> Result<u64, String> {
    u64::from_str_radix(text.strip_prefix("0x").unwrap_or(text), 16)
        .map_err(|_| "it is no hexadecimal number".to_owned())
}

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
    /// What the scripts are given as $1 and @1, then $2 and @2
    #[arg(long, value_name = "ARG", allow_hyphen_values = true)]
    pub arg: Vec<String>,
    /// The scripts run in guru mode, as with stap -g
    #[arg(short, long)]
    pub guru: bool,
    /// What runs the scripts
    #[arg(long, value_name = "RUNTIME", default_value = "kernel")]
    pub runtime: Runs,
    /// As which version of SystemTap they are read, as with stap --compatible
    #[arg(long, value_name = "VERSION")]
    pub compatible: Option<String>,
    /// Probe points of programs and modules that are not in the index fail too
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

/// `blacklist`
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

/// `diff`
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Functions that were added, removed, inlined away or duplicated, or whose parameters, place or verdicts \
                        changed; members of types that moved; tracepoints. + was added, - removed, ~ is in both.\n\n\
                        Examples:\n  probeidx diff 6.1.0-50-cloud-amd64 6.12.95-cloud-amd64 'vfs_*'\n  \
                        probeidx diff old.pidx new.pidx 'struct sk_buff'\n  \
                        probeidx diff 6.1.0-50-cloud-amd64 6.12.95-cloud-amd64 'sched:*' --json"
)]
pub struct Diff {
    /// The older kernel: a release that is indexed, or an index file
    #[arg(value_name = "A")]
    pub before: String,
    /// The newer kernel
    #[arg(value_name = "B")]
    pub after: String,
    /// What to compare: NAME, NAME@FILE, struct NAME, SYSTEM:EVENT, with * ? [..] [default: all]
    #[arg(value_name = "PATTERN")]
    pub pattern: Option<String>,
}

/// `capture`
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "As root on the machine that is to be probed; what others may not read is left out, and named. The file has \
                        the build ids, the symbols of the modules that are loaded, where all of it lies, the blacklist of kprobes \
                        and the functions that ftrace reaches.\n\n\
                        Example:\n  probeidx capture web1.live\n  probeidx resolve do_open --live web1.live"
)]
pub struct Capture {
    /// The file to write
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Where proc and sys are, if not of this machine
    #[arg(long, value_name = "DIR", default_value = "/")]
    pub root: PathBuf,
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
    /// With those that begin with _ too
    #[arg(long)]
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
    /// JSON Lines, as with --json.
    Json,
}

/// `probeidx stats`.
#[derive(clap::Args, Clone, Copy, Debug, PartialEq, Eq)]
#[command(
    after_help = "Functions are compared with BTF where the kernel has both: the kernel itself (BPF, arguments by name in \
                        kprobe_events) knows no other prototypes. Only such count as have a symbol of their own name.\n\n\
                        Example:\n  probeidx stats --btf"
)]
pub struct Stats {
    /// List the functions that BTF lacks, or has with other or several prototypes
    #[arg(long)]
    pub btf: bool,
}

/// `serve`
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "A request is {\"id\":1,\"method\":\"resolve\",\"params\":{\"spec\":\"vfs_read\"}}: the method is one of the \
                        other commands, its parameters are their arguments and options. Answers are lines with the same id: \
                        any number of \"item\" and \"note\", then one \"done\" or \"error\". What is asked is answered side by \
                        side; {\"method\":\"cancel\",\"params\":{\"id\":1}} ends an answer early, {\"method\":\"methods\"} lists \
                        what can be asked; docs/protocol.md says all of it.\n\n\
                        Example:\n  echo '{\"id\":1,\"method\":\"addr\",\"params\":{\"addresses\":[\"vfs_read+0x10\"]}}' | probeidx serve --stdio"
)]
pub struct Serve {
    /// Requests come from stdin, answers go to stdout
    #[arg(long, required = true)]
    pub stdio: bool,
}

/// `complete`
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Example:\n  probeidx complete -- type 'struct file.f_p'")]
pub struct Complete {
    /// The words of a command line without the name of the program; the last one is completed
    #[arg(value_name = "WORD", allow_hyphen_values = true, trailing_var_arg = true)]
    pub words: Vec<String>,
    /// A command line as it was typed, up to the cursor, in place of words: bash's COMP_LINE
    #[arg(long, value_name = "TEXT", conflicts_with = "words", allow_hyphen_values = true)]
    pub line: Option<String>,
    /// Where words end for the shell that completes the line: bash's COMP_WORDBREAKS
    #[arg(long, value_name = "CHARACTERS", requires = "line", allow_hyphen_values = true)]
    pub breaks: Option<String>,
}

/// `man`
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = "Examples:\n  probeidx man ~/.local/share/man/man1\n  man probeidx-resolve")]
pub struct Man {
    /// The folder for them, which is made if it is not there
    #[arg(value_name = "DIR")]
    pub folder: PathBuf,
}

/// `completions`
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Functions, files, modules, types, members, variables and releases are completed from the index.\n\n\
                        Examples:\n  source <(probeidx completions bash)\n  \
                        probeidx completions bash > /etc/bash_completion.d/probeidx\n  \
                        probeidx completions zsh > /usr/local/share/zsh/site-functions/_probeidx\n  \
                        probeidx completions fish > ~/.config/fish/completions/probeidx.fish"
)]
pub struct Completions {
    /// The shell that is to complete
    #[arg(value_name = "SHELL")]
    pub shell: Shell,
}

/// The shells that are completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shell {
    /// 4.0 or newer.
    Bash,
    /// 5.0 or newer.
    Zsh,
    /// 3.0 or newer.
    Fish,
}

/// What a command line asks for.
#[derive(Clone, Debug)]
pub enum Request {
    /// A command.
    Run(Box<Args>),
    /// A help text or the version, for stdout.
    Show(StyledStr),
}

const EXAMPLES: &str = "Examples:
  probeidx build                          index the running kernel
  probeidx find 'vfs_*'                   list functions
  probeidx resolve do_open nd             every place do_open runs at, and where nd is readable
  probeidx type 'struct file'             how a struct is laid out
  probeidx addr vfs_read+0x9c             the function and line of an address
  dmesg | probeidx decode                 an oops with functions and lines

Exit codes:
  0  found or done
  1  nothing matched, or a check failed
  2  the command line or a pattern is wrong
  3  the index or an input cannot be read
  4  a build left objects out";

/// Reads a command line, the name of the program first.
///
/// # Errors
/// [`ErrorKind::Usage`] with the first line of clap's explanation; what it proposes instead is the hint.
pub fn parse(argv: impl IntoIterator<Item = impl Into<OsString> + Clone>) -> Result<Request> {
    parse_with(&mut Args::command(), argv)
}

/// The same by a command that is built already, which costs much less.
///
/// # Errors
/// Those of [`parse`].
pub fn parse_with(
    command: &mut clap::Command,
    argv: impl IntoIterator<Item = impl Into<OsString> + Clone>,
) -> Result<Request> {
    let read = command.try_get_matches_from_mut(argv).and_then(|matches| Args::from_arg_matches(&matches));
    match read {
        Ok(args) => Ok(Request::Run(Box::new(args))),
        Err(said) if matches!(said.kind(), Clap::DisplayHelp | Clap::DisplayVersion) => {
            Ok(Request::Show(said.render()))
        }
        Err(wrong) => Err(usage(&wrong)),
    }
}

/// Whether errors are to be JSON, for a command line that could not be read.
pub fn json_asked(argv: impl IntoIterator<Item = OsString>) -> bool {
    argv.into_iter().take_while(|arg| arg != "--").any(|arg| arg == "--json")
}

fn usage(wrong: &clap::Error) -> Error {
    if wrong.kind() == Clap::DisplayHelpOnMissingArgumentOrSubcommand {
        return Error::new(ErrorKind::Usage, "there is no command").hint("see: probeidx --help");
    }
    let text = wrong.render().to_string();
    let mut paragraph = text.lines().take_while(|line| !line.trim().is_empty()).map(str::trim);
    let first = paragraph.next().unwrap_or_default();
    let mut message = first.strip_prefix("error: ").unwrap_or(first).to_owned();
    for more in paragraph {
        message = format!("{message} {more}");
    }
    let hint = [ContextKind::SuggestedArg, ContextKind::SuggestedSubcommand, ContextKind::SuggestedValue]
        .into_iter()
        .find_map(|kind| match wrong.get(kind)? {
            ContextValue::String(one) => Some(one.clone()),
            ContextValue::Strings(several) => several.first().cloned(),
            _ => None,
        })
        .map_or_else(|| "see: probeidx --help".to_owned(), |close| format!("did you mean {close}?"));
    Error::new(ErrorKind::Usage, message).hint(hint)
}

#[cfg(test)]
mod tests;
