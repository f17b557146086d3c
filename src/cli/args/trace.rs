//! `trace`
use std::path::PathBuf;
use std::time::Duration;

// `trace`; what it is for stands at its variant of `Command`, whose text documentation here would hide.
#[derive(Clone, Debug, clap::Args)]
#[command(
    after_help = "Plants probes in an instance of its own (instances/probeidx.PID.START of tracefs), prints what passes them, and \
                        takes them away again: at the end, on Ctrl-C, SIGTERM and SIGHUP, when stdout is closed or its disk is full. \
                        What a trace that was killed left is removed by the next one. The kernel must be indexed; if it is not, it is \
                        indexed first, as probeidx build does it.\n\n\
                        Without ARG the parameters are printed, and of a return the value.\n\n\
                        --if becomes a filter of the kernel: values as ARG, compared with constants by == != < <= > >= & ~, joined by \
                        && || ! and parentheses. Constants are numbers, enumerators, flags of open(2), errno names, and text in quotes; \
                        $comm, $pid and $cpu are known of every event.\n\n\
                        --count, --hist and --latency print tables in place of lines. The kernel counts by itself where it can: not \
                        for --latency, not with --pid or --cgroup, and not without CONFIG_HIST_TRIGGERS.\n\n\
                        --dry-run prints commands of a shell, one a line, that do what the trace would: run as root they plant the same \
                        probes. They name the instance probeidx.dry and the group probeidx_dry, which no trace removes. With --kernel it \
                        needs neither root nor the kernel.\n\n\
                        Examples:\n  probeidx trace vfs_read count 'file->f_path.dentry->d_name.name:string'\n  \
                        probeidx trace vfs_read%return --if '$return < 0' --duration 10s\n  \
                        probeidx trace do_open                     calls and inlined copies\n  \
                        probeidx trace fs/read_write.c:467 ret\n  \
                        probeidx trace sched:sched_switch --if 'prev_prio < 100'\n  \
                        probeidx trace vm.pagefault --pid 4711\n  \
                        probeidx trace vfs_write count --if 'count > 4096 && file->f_flags & O_DIRECT' --comm postgres\n  \
                        probeidx trace vfs_read --latency --duration 10s\n  \
                        probeidx trace vfs_write --hist count\n  \
                        probeidx trace do_sys_openat2 --stack -o trace.json\n  \
                        probeidx trace vfs_read --dry-run --kernel 6.1.0-56-cloud-amd64"
)]
pub struct Trace {
    /// What to trace: as for resolve, and tracepoints (sched:sched_switch), events of system calls
    /// (syscalls:sys_enter_openat), aliases of tapsets (vm.pagefault), programs (process("/bin/sh").function("main"))
    pub spec: String,
    /// What to print of each event
    #[arg(value_name = "ARG", help = super::places::READABLE)]
    pub args: Vec<String>,
    /// Print only the events of which this holds
    #[arg(long = "if", value_name = "CONDITION")]
    pub condition: Option<String>,
    /// Only events of this process and of those that it starts
    #[arg(long, value_name = "PID")]
    pub pid: Vec<u32>,
    /// Only events of threads with this name
    #[arg(long, value_name = "NAME")]
    pub comm: Option<String>,
    /// Only events of the processes in this cgroup and of those that they start; of those that are moved into it later, from a
    /// tenth of a second on
    #[arg(long, value_name = "PATH", conflicts_with = "pid")]
    pub cgroup: Option<PathBuf>,
    /// End after this time: 10s, 500ms, 2m
    #[arg(long, value_name = "TIME", value_parser = duration)]
    pub duration: Option<Duration>,
    /// End after so many events
    #[arg(long, value_name = "N")]
    pub limit: Option<u64>,
    /// Turn an event off that happens more often in a second
    #[arg(long, value_name = "N", default_value = "100000")]
    pub max_rate: u64,
    /// Print the stack of each event, with inlined functions put back in
    #[arg(long)]
    pub stack: bool,
    /// Write a file that viewers load (ui.perfetto.dev, chrome://tracing) instead of lines: calls of functions from their
    /// entry to their return, the rest as instants
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Count how often each copy is passed, and print a table at the end; on a terminal every second
    #[arg(long, conflicts_with_all = ["args", "hist", "latency", "stack", "output", "limit"])]
    pub count: bool,
    /// Count how often each value of ARG occurs; numbers by powers of two
    #[arg(long, value_name = "ARG", conflicts_with_all = ["args", "latency", "stack", "output", "limit"])]
    pub hist: Option<String>,
    /// Measure how long calls take, from the entry to the return
    #[arg(long, conflicts_with_all = ["args", "stack", "output", "limit"])]
    pub latency: bool,
    /// Print what would be written to tracefs, and do not write it
    #[arg(long)]
    pub dry_run: bool,
    /// Do not index the kernel if it is not indexed
    #[arg(long)]
    pub no_build: bool,
}

/// `10s`, `500ms`, `2m`, `1h`; seconds without a unit.
fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit = match unit {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err("a number with ms, s, m or h".to_owned()),
    };
    let number: f64 = number.parse().map_err(|_| "a number with ms, s, m or h".to_owned())?;
    Duration::try_from_secs_f64(number * unit).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::duration;
    use std::time::Duration;

    #[test]
    fn times_have_units() {
        for (text, expected) in [("10", 10_000), ("1.5s", 1500), ("500ms", 500), ("2m", 120_000)] {
            assert_eq!(duration(text), Ok(Duration::from_millis(expected)), "{text}");
        }
        for wrong in ["", "s", "10 s", "1d", "-1s", "99999999999999999999999h"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
