//! What is traced, and what is to be seen.
use super::Seen;
use crate::installed::{Architecture, Kernel};
use serde_json::{Map, Value, json};

/// A trace.
#[derive(Clone)]
pub struct Case {
    /// What the actor does: guest.c.
    action: &'static str,
    /// How often.
    pub count: u32,
    /// How it is run and how it ends: the words before the action, as guest.c has them.
    how: String,
    /// The arguments of `probeidx trace`.
    arguments: Vec<String>,
    /// The code with which it ends.
    pub code: i64,
    /// Parts of what it says on stderr.
    pub says: Vec<&'static str>,
    /// What is to be printed with `--json`.
    pub expected: Option<Expected>,
    /// What is wrong with what is printed otherwise.
    pub prints: Option<Prints>,
}

pub type Prints = fn(&Truth<'_>, &[String]) -> Result<(), String>;

type Expected = fn(&Truth<'_>) -> Vec<Seen>;

/// What the actor knows.
pub struct Truth<'t> {
    pub known: &'t dyn Fn(&str) -> Option<i64>,
    pub count: u32,
}

impl Case {
    /// As guest.c reads it.
    pub fn line(&self) -> String {
        format!("{}{}\t{}\t{}", self.how, self.action, self.count, self.arguments.join("\t"))
    }

    /// That it ends with this code, and says this.
    fn ends(self, code: i64, says: &[&'static str]) -> Self {
        Self { code, says: says.to_vec(), ..self }
    }

    fn says(self, says: &[&'static str]) -> Self {
        Self { says: says.to_vec(), ..self }
    }

    /// That what is printed is right by this.
    pub fn prints(self, prints: Prints) -> Self {
        Self { prints: Some(prints), ..self }
    }

    fn by_signal(self, signal: i32) -> Self {
        Self { how: format!("i {signal}\t"), ..self }
    }

    /// There is no index of the kernel (`e`), what is printed goes to a pipe (`p`) that is closed, or to a full disk (`f`); or a user runs it, without rights (`u`) or
    /// with those that it was granted (`g`).
    fn with(self, how: char) -> Self {
        Self { how: format!("{how} "), ..self }
    }
}

/// A trace of the actor alone, of which the events are known.
fn sees(action: &'static str, count: u32, arguments: &[&str], expected: Expected) -> Case {
    let more = ["--json", "--pid", "@PID@"];
    let arguments = arguments.iter().chain(&more).map(|a| (*a).to_owned()).collect();
    Case {
        action,
        count,
        how: "s ".to_owned(),
        arguments,
        code: 0,
        says: vec![],
        expected: Some(expected),
        prints: None,
    }
}

/// The same, of the cgroup that the actor alone is in.
fn sees_cgroup(action: &'static str, count: u32, arguments: &[&str], expected: Expected) -> Case {
    with_cgroup(action, count, arguments, "traced", expected)
}

/// The same, of a cgroup.
fn with_cgroup(
    action: &'static str,
    count: u32,
    arguments: &[&str],
    cgroup: &str,
    expected: Expected,
) -> Case {
    let more = ["--json", "--cgroup", cgroup];
    let arguments = arguments.iter().chain(&more).map(|a| (*a).to_owned()).collect();
    Case { arguments, ..sees(action, count, &[], expected) }
}

/// A trace of which only the end is compared.
pub fn plain(action: &'static str, count: u32, arguments: &[&str]) -> Case {
    let arguments = arguments.iter().map(|a| (*a).to_owned()).collect();
    Case {
        action,
        count,
        how: "s ".to_owned(),
        arguments,
        code: 0,
        says: vec![],
        expected: None,
        prints: None,
    }
}

fn seen(function: &str, copy: Option<&str>, values: Value) -> Seen {
    let values = values.as_object().cloned().unwrap_or_else(Map::new);
    Seen { function: function.to_owned(), copy: copy.map(str::to_owned), values }
}

/// One event a call, with these values.
fn each(truth: &Truth<'_>, function: &str, values: impl Fn(u32) -> Value) -> Vec<Seen> {
    (0..truth.count).map(|nth| seen(function, None, values(nth))).collect()
}

fn turns(even: &'static str, odd: &'static str, nth: u32) -> &'static str {
    if nth.is_multiple_of(2) { even } else { odd }
}

/// Of the calls of `do_numbers`: the number of the file, and a part of the name of the function into which the copy is
/// inlined. All kernels but the newest have a copy in each.
const NUMBERS: [(u32, &str); 13] = [
    (300, "fchown"),
    (301, "fchmod"),
    (302, "ftruncate"),
    (303, "fsync"),
    (304, "fallocate"),
    (305, "flock"),
    (306, "ioctl"),
    (307, "fadvise"),
    (308, "readahead"),
    (310, "flistxattr"),
    (311, "fgetxattr"),
    (313, "fremovexattr"),
    (312, "fsetxattr"),
];

fn numbers(truth: &Truth<'_>, function: &str, is_seen: fn(u32) -> bool) -> Vec<Seen> {
    let mut all = NUMBERS;
    all.sort_unstable();
    let one = || {
        all.iter()
            .filter(|(fd, _)| is_seen(*fd))
            .map(|(fd, caller)| seen(function, Some(*caller), json!({"fd": fd})))
    };
    (0..truth.count).flat_map(|_| one()).collect()
}

/// The numbers of bytes of all reads, and nothing else.
fn counts_of_reads(truth: &Truth<'_>, printed: &[String]) -> Result<(), String> {
    let count = |line: &String| {
        let event: Value = serde_json::from_str(line).ok()?;
        event["args"]["count"].as_u64()
    };
    let seen: Vec<Option<u64>> = printed.iter().map(count).collect();
    let expected: Vec<Option<u64>> = (0..truth.count).map(|nth| Some(1000 + u64::from(nth))).collect();
    if seen == expected { Ok(()) } else { Err(format!("expected: {expected:?}")) }
}

/// Eight tasks in a function at a time. The kernel has room for ten returns and more, or it tells what it missed: without
/// preemption those before 5.17 have room for one on each processor. An fprobe of kernels up to 6.13 has room for two, and no
/// file tells of the others: none is planted there.
fn together(kernel: &Kernel) -> Case {
    let case = plain("together", 8, &["hrtimer_nanosleep%return", "--comm", "actor"]);
    match kernel.version() < (5, 17) {
        true => case.says(&["the kernel missed 7 events; more calls at a time"]),
        false => case.prints(|truth, printed| match printed.len() == truth.count as usize {
            true => Ok(()),
            false => Err(format!("expected: {} returns", truth.count)),
        }),
    }
}

/// The cases of a kernel.
pub fn of(kernel: &Kernel) -> Vec<Case> {
    let is_x86 = kernel.architecture == Architecture::X86_64;
    let mut cases = super::forms::all(kernel);
    cases.extend([
        // Entries.
        sees("read", 7, &["vfs_read", "count"], |t| each(t, "vfs_read", |n| json!({"count": 1000 + n}))),
        sees("read", 3, &["vfs_read"], |t| each(t, "vfs_read", |n| json!({"count": 1000 + n}))),
        sees("write", 5, &["kernel.function(\"vfs_write\")", "count", "bytes=count"], |t| {
            each(t, "vfs_write", |n| json!({"count": 2000 + n, "bytes": 2000 + n}))
        }),
        sees("open", 4, &["do_sys_openat2", "filename:ustring", "dfd"], |t| {
            each(t, "do_sys_openat2", |n| json!({"filename": format!("/t/none-{n}"), "dfd": -100}))
        }),
        sees("read", 3, &["vfs_read", "file->f_path.dentry->d_name.name:string"], |t| {
            each(t, "vfs_read", |_| json!({"file->f_path.dentry->d_name.name": "probed-file"}))
        }),
        sees("nice", 6, &["set_one_prio", "niceval"], |t| {
            each(t, "set_one_prio", |n| json!({"niceval": n % 5 + 1}))
        }),
        sees("mkdir", 9, &["vfs_mkdir", "mode"], |t| {
            each(t, "vfs_mkdir", |n| json!({"mode": 0o700 + n % 8}))
        }),
        sees("name", 3, &["__set_task_comm", "tsk->comm:string", "tsk->pid"], |t| {
            let pid = (t.known)("pid");
            (0..2 * t.count)
                .map(|n| json!({"tsk->comm": turns("actor", "other", n), "tsk->pid": pid}))
                .map(|values| seen("__set_task_comm", None, values))
                .collect()
        }),
        // Returns.
        sees("read", 5, &["vfs_read%return"], |t| {
            each(t, "vfs_read.return", |n| json!({"$return": 1000 + n}))
        }),
        sees("open", 4, &["kernel.function(\"do_sys_openat2\").return", "$return"], |t| {
            each(t, "do_sys_openat2.return", |_| json!({"$return": -2}))
        }),
        sees("write", 4, &["vfs_write%return", "written=$return"], |t| {
            each(t, "vfs_write.return", |n| json!({"written": 2000 + n}))
        }),
        together(kernel),
        // Tracepoints, and events of system calls.
        sees("kill", 3, &["syscalls:sys_enter_kill"], |t| {
            let pid = (t.known)("pid");
            each(t, "syscalls:sys_enter_kill", |_| json!({"pid": pid, "sig": 0}))
        }),
        sees("open", 4, &["syscalls:sys_enter_openat", "flags", "mode"], |t| {
            each(t, "syscalls:sys_enter_openat", |_| json!({"flags": 0o2000000, "mode": 0}))
        }),
        sees("open", 3, &["syscalls:sys_exit_openat", "ret"], |t| {
            each(t, "syscalls:sys_exit_openat", |_| json!({"ret": -2}))
        }),
        sees("name", 2, &["task:task_rename", "newcomm", "pid"], |t| {
            let pid = (t.known)("pid");
            (0..2 * t.count)
                .map(|n| json!({"newcomm": turns("other", "actor", n), "pid": pid}))
                .map(|values| seen("task:task_rename", None, values))
                .collect()
        }),
        sees(
            "fork",
            3,
            &["kernel.trace(\"sched_process_fork\")", "parent_pid", "--if", "parent_comm == \"actor\""],
            |t| {
                let pid = (t.known)("pid");
                each(t, "sched:sched_process_fork", |_| json!({"parent_pid": pid}))
            },
        ),
        // Filters of the kernel.
        sees("read", 10, &["vfs_read", "count", "--if", "count > 1004 || count == 1000"], |t| {
            let counts = (0..t.count).filter(|n| *n > 4 || *n == 0);
            counts.map(|n| seen("vfs_read", None, json!({"count": 1000 + n}))).collect()
        }),
        sees(
            "open-flags",
            6,
            &["vfs_write", "count", "--if", "file->f_flags & O_APPEND && count == 1"],
            |t| (0..t.count / 2).map(|_| seen("vfs_write", None, json!({"count": 1}))).collect(),
        ),
        sees(
            "open",
            4,
            &["do_sys_openat2", "filename:ustring", "--if", "filename:ustring ~ \"/t/none-[12]\""],
            |_| {
                (1..3)
                    .map(|n| seen("do_sys_openat2", None, json!({"filename": format!("/t/none-{n}")})))
                    .collect()
            },
        ),
        sees("read", 5, &["vfs_read%return", "--if", "!($return < 1003)", "--comm", "actor"], |t| {
            (3..t.count).map(|n| seen("vfs_read.return", None, json!({"$return": 1000 + n}))).collect()
        }),
        sees("open", 3, &["syscalls:sys_exit_openat", "ret", "--if", "ret == -ENOENT"], |t| {
            each(t, "syscalls:sys_exit_openat", |_| json!({"ret": -2}))
        }),
        sees_cgroup("read", 4, &["vfs_read", "count"], |t| {
            each(t, "vfs_read", |n| json!({"count": 1000 + n}))
        }),
        // It comes into the cgroup while that is traced.
        with_cgroup("join", 4, &["vfs_read", "count"], "joined", |t| {
            each(t, "vfs_read", |n| json!({"count": 1000 + n}))
        }),
        sees("read", 9, &["vfs_read", "count", "--limit", "4"], |_| {
            (0..4).map(|n| seen("vfs_read", None, json!({"count": 1000 + n}))).collect()
        }),
        // Ends.
        sees("read", 3, &["vfs_read", "count"], |t| each(t, "vfs_read", |n| json!({"count": 1000 + n})))
            .by_signal(15),
        sees("read", 3, &["vfs_read", "count"], |t| each(t, "vfs_read", |n| json!({"count": 1000 + n})))
            .by_signal(1),
        plain("itself", 1, &["vfs_read", "count", "--duration", "200ms"]).says(&["tracing 1 event"]),
        plain("read", 20, &["vfs_read", "count", "--comm", "actor", "--max-rate", "10"])
            .says(&["more than 10 times a second and is turned off"]),
        plain("read", 5, &["vfs_read", "count"]).with('p'),
        plain("read", 5, &["vfs_read", "count"]).with('f').ends(3, &["cannot write"]),
        plain("nothing", 1, &["vfs_read", "count"])
            .with('u')
            .ends(3, &["sudo setcap cap_dac_override,cap_syslog+ep"]),
        plain("read", 3, &["vfs_read", "count", "--json", "--comm", "actor"])
            .with('g')
            .prints(counts_of_reads),
        // A program.
        sees("call", 5, &["process(\"guest\").function(\"guest_function\")", "number", "text:string"], |t| {
            each(t, "guest_function", |n| json!({"number": 70000 + n, "text": "called"}))
        }),
        sees("call", 4, &["process(\"guest\").function(\"guest_function\").return"], |t| {
            each(t, "guest_function.return", |n| json!({"$return": 2 * (70000 + n) + 99}))
        }),
        // What cannot be: nothing is planted.
        plain("nothing", 1, &["vfs_raed"]).ends(1, &["did you mean vfs_read"]),
        plain("nothing", 1, &["vfs_read", "coutn"]).ends(1, &["coutn"]),
        plain("nothing", 1, &["vfs_read", "--if", "count > pos"]).ends(1, &["pos"]),
        plain("nothing", 1, &["vfs_read", "--if", "count > file->f_pos"])
            .ends(2, &["not with another field"]),
        plain("nothing", 1, &["vfs_read", "--pid", "999999999"]).ends(1, &["no process"]),
        plain("nothing", 1, &["vfs_read", "--cgroup", "/none"]).ends(1, &["no such cgroup"]),
        plain("nothing", 1, &["vfs_read", "--kernel", "4.0.0-none"]).ends(2, &["only the kernel that runs"]),
        plain("nothing", 1, &["vfs_read", "count", "--dry-run"]),
        // No index.
        plain("nothing", 1, &["vfs_read", "count", "--no-build"])
            .with('e')
            .ends(3, &["is not indexed", "run: probeidx build "]),
        plain("nothing", 1, &["vfs_read", "--dry-run"]).with('e').ends(3, &["run: probeidx build "]),
    ]);
    if is_x86 {
        cases.extend([
            // On arm64 the offset is nowhere.
            sees("seek", 4, &["vfs_llseek", "offset", "whence"], |t| {
                each(t, "vfs_llseek", |n| json!({"offset": 5000 + n, "whence": 0}))
            }),
            plain("nothing", 1, &["trace_sched_switch"]).ends(1, &["jump-label", "instead: trace "]),
        ]);
    }
    // An inlined function, of which each call passes another copy.
    let is_numbered = "fd >= 300 && fd < 314";
    let version = kernel.version();
    if version < (6, 0) {
        // On arm64 those in ftruncate, flistxattr and fsetxattr lack the number.
        let arguments = ["fdget", "fd", "--if", is_numbered];
        cases.push(match is_x86 {
            true => sees("numbers", 1, &arguments, |t| numbers(t, "fdget", |_| true)),
            false => {
                sees("numbers", 1, &arguments, |t| numbers(t, "fdget", |fd| ![302, 310, 312].contains(&fd)))
            }
        });
    } else if version < (6, 12) {
        cases.extend([
            // kprobe_events take no probe in flock.
            sees("numbers", 1, &["fdget", "fd", "--if", is_numbered], |t| {
                numbers(t, "fdget", |fd| fd != 312 && fd != 305)
            }),
            sees("numbers", 2, &["fdget", "fd", "--if", "fd == 301"], |t| {
                numbers(t, "fdget", |fd| fd == 301)
            }),
        ]);
    } else if version == (6, 12) {
        cases.extend([
            // It is inlined no more.
            sees("numbers", 2, &["fdget", "fd", "--if", is_numbered], |t| {
                let one = |(fd, _): &(u32, &str)| seen("fdget", None, json!({"fd": fd}));
                let ordered = || (300..314).filter_map(|fd| NUMBERS.iter().find(|n| n.0 == fd));
                (0..t.count).flat_map(|_| ordered().map(one)).collect()
            }),
            // ftruncate and flock call fdget by themselves; kprobe_events take no probe in fsetxattr and fremovexattr.
            sees("numbers", 1, &["class_fd_constructor", "fd", "--if", is_numbered], |t| {
                numbers(t, "class_fd_constructor", |fd| ![302, 305, 312, 313].contains(&fd))
            }),
        ]);
    }
    if kernel.release.starts_with("6.1.0") && is_x86 {
        cases.extend([
            sees("read", 4, &["fs/read_write.c:467", "ret"], |t| {
                each(t, "vfs_read at fs/read_write.c:467", |_| json!({"ret": 0}))
            }),
            sees(
                "map",
                3,
                &["vm.pagefault", "--if", "flags & FAULT_FLAG_WRITE && address == 0x600000000000"],
                |t| each(t, "vm.pagefault", |_| json!({})),
            ),
        ]);
    }
    cases
}
