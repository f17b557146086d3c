//! Ten questions that people ask, of `probeidx trace`, `perf probe` and bpftrace in one booted kernel, and how many of the
//! calls each has seen. The actor knows how many it made. docs/tracing.md has the table that this prints.
//!
//! perf has the debug information that it wants: `perf probe` finds the places on this machine, as the booted one has no room
//! for it. bpftrace has the kernel's BTF.
use super::super::boot::{Answer, Machine, Request};
use super::super::parts;
use crate::installed::{self, Kernel, needed, say};
use std::collections::BTreeSet;
use std::fmt::Write;
use std::path::Path;
use std::process::Command;

struct Question {
    /// What the actor does, and how often.
    action: (&'static str, u64),
    /// How many calls that are in all; `None` if the actor tells how many one action makes.
    calls: Option<u64>,
    /// How many of them no probe reaches: `probeidx trace` says which.
    unreachable: u64,
    /// The arguments of `probeidx trace`.
    trace: &'static [&'static str],
    /// What `perf probe` is asked, and the filter of `perf record`.
    perf: (&'static str, &'static str),
    /// The probe of bpftrace, and the rest of its predicate.
    bpftrace: (&'static str, &'static str),
}

const QUESTIONS: [Question; 10] = [
    // An out-of-line function that is inlined where the system call is made.
    Question {
        action: ("seek", 7),
        calls: Some(7),
        unreachable: 0,
        trace: &["vfs_llseek", "offset"],
        perf: ("vfs_llseek offset", ""),
        bpftrace: ("kprobe:vfs_llseek", ""),
    },
    // Inlined only, in 137 places; kprobe_events take no probe in those in flock and fsetxattr.
    Question {
        action: ("numbers", 1),
        calls: Some(13),
        unreachable: 2,
        trace: &["fdget", "fd", "--if", "fd >= 300 && fd < 314"],
        perf: ("fdget fd", "fd >= 300 && fd < 314"),
        bpftrace: ("kprobe:fdget", " && arg0 >= 300 && arg0 < 314"),
    },
    // Two functions have the name.
    Question {
        action: ("mounts", 2),
        calls: None,
        unreachable: 0,
        trace: &["m_show@fs/namespace.c"],
        perf: ("m_show@fs/namespace.c", ""),
        bpftrace: ("kprobe:m_show", ""),
    },
    // Inlined only, in one place.
    Question {
        action: ("open-flags", 6),
        calls: Some(6),
        unreachable: 0,
        trace: &["vmlinux:do_open", "file->f_flags"],
        perf: ("do_open file->f_flags", ""),
        bpftrace: ("kprobe:do_open", ""),
    },
    // The compiler has given it another name, do_sysinfo.isra.0.
    Question {
        action: ("sysinfo", 5),
        calls: Some(5),
        unreachable: 0,
        trace: &["do_sysinfo"],
        perf: ("do_sysinfo", ""),
        bpftrace: ("kprobe:do_sysinfo", ""),
    },
    // A text behind four pointers.
    Question {
        action: ("read", 8),
        calls: Some(8),
        unreachable: 0,
        trace: &["vfs_read", "count", "file->f_path.dentry->d_name.name:string"],
        perf: ("vfs_read count file->f_path.dentry->d_name.name:string", ""),
        bpftrace: (
            "kprobe:vfs_read",
            " && str(((struct file *)arg0)->f_path.dentry->d_name.name) == \"probed-file\"",
        ),
    },
    // A line, with a local variable.
    Question {
        action: ("read", 6),
        calls: Some(6),
        unreachable: 0,
        trace: &["fs/read_write.c:467", "ret"],
        perf: ("fs/read_write.c:467 ret", ""),
        bpftrace: ("kprobe:fs/read_write.c:467", ""),
    },
    // What fails.
    Question {
        action: ("open", 9),
        calls: Some(9),
        unreachable: 0,
        trace: &["do_sys_openat2%return", "--if", "$return < 0"],
        perf: ("do_sys_openat2%return ret=$retval:s32", "ret < 0"),
        bpftrace: ("kretprobe:do_sys_openat2", " && (int32)retval < 0"),
    },
    // An alias of SystemTap's, with a flag by name.
    Question {
        action: ("map", 4),
        calls: Some(4),
        unreachable: 0,
        trace: &["vm.pagefault", "--if", "flags & FAULT_FLAG_WRITE && address == 0x600000000000"],
        perf: ("handle_mm_fault address flags", "flags & 1 && address == 0x600000000000"),
        bpftrace: ("kprobe:handle_mm_fault", " && (arg2 & 1) && arg1 == 0x600000000000"),
    },
    // A condition on a member: every other file was opened to append.
    Question {
        action: ("open-flags", 8),
        calls: Some(4),
        unreachable: 0,
        trace: &["vfs_write", "count", "--if", "count == 1 && file->f_flags & O_APPEND"],
        perf: ("vfs_write count flags=file->f_flags", "count == 1 && flags & 1024"),
        bpftrace: ("kprobe:vfs_write", " && arg2 == 1 && (((struct file *)arg0)->f_flags & 1024)"),
    },
];

/// In the order in which each question is asked of them.
const TOOLS: [&str; 3] = ["probeidx", "perf", "bpftrace"];
const PERF: &str = "/usr/bin/perf";
const BPFTRACE: &str = "/usr/bin/bpftrace";

#[test]
#[ignore = "two minutes of comparison with other tools, for the table in docs/tracing.md"]
fn questions_beside_perf_and_bpftrace() {
    let Some(kernel) = needed(installed::kernel()) else { return };
    if kernel.version() != (6, 1) {
        return say(&format!("skipped: {}: the questions are of 6.1", kernel.release));
    }
    let Some(machine) = needed(machine(&kernel)) else { return };
    let mut machine = machine;
    let mut requests = vec![];
    for (number, question) in QUESTIONS.iter().enumerate() {
        let scripts = [question.trace(), question.perf(&kernel), question.bpftrace()];
        for (tool, script) in TOOLS.iter().zip(scripts) {
            let name = format!("q/{tool}{number}.sh");
            machine = machine.file(&name, script.into_bytes());
            requests.push(Request::Run { script: format!("/{name}") });
        }
    }
    let answers = machine.boot(&requests).unwrap_or_else(|e| panic!("{e}")).answers;
    let (mut table, mut wrong) = (String::new(), String::new());
    for (question, answers) in QUESTIONS.iter().zip(answers.chunks(TOOLS.len())) {
        let made = question.made(&answers[0]);
        let seen: Vec<u64> = answers.iter().map(|a| told(a, "seen").unwrap_or_default()).collect();
        let _ = write!(table, "\n{made:>3} calls of: {}", question.trace.join(" "));
        for ((tool, answer), seen) in TOOLS.iter().zip(answers).zip(&seen) {
            let _ = write!(table, "\n      {tool} sees {seen}");
            if *seen != made {
                let said: Vec<&String> = answer.traced.iter().filter(|l| l.starts_with("said ")).collect();
                let _ = write!(table, ": {said:?}");
            }
        }
        if seen[0] != made - question.unreachable || seen[1..].iter().any(|other| *other > seen[0]) {
            let _ = write!(
                wrong,
                "\n{}: {seen:?} of {made}\n{}",
                question.trace.join(" "),
                answers[0].traced.join("\n")
            );
        }
    }
    say(&format!("{}:{table}", kernel.release));
    assert!(wrong.is_empty(), "{}:{wrong}", kernel.release);
}

impl Question {
    /// How many calls the actor made that are asked for.
    fn made(&self, answer: &Answer) -> u64 {
        let of_one = told(answer, "known mounts").unwrap_or_default();
        self.calls.unwrap_or(self.action.1 * of_one)
    }

    fn act(&self) -> String {
        format!("/guest act {} {}", self.action.0, self.action.1)
    }

    fn trace(&self) -> String {
        let quoted: Vec<String> = self.trace.iter().map(|a| format!("'{a}'")).collect();
        format!(
            "export PROBEIDX_DB=/db\n/probeidx trace {} --json --comm actor >out 2>err &\npid=$!\n\
             while kill -0 $pid && ! grep -q 'Ctrl-C ends it' err; do sleep 0.2; done 2>/dev/null\n\
             kill -0 $pid 2>/dev/null && {} && kill -INT $pid\nwait $pid\n\
             echo seen $(grep -c '\"time\"' out)\ntail -n 4 err | sed 's/^/said /'\n",
            quoted.join(" "),
            self.act()
        )
    }

    fn perf(&self, kernel: &Kernel) -> String {
        let (point, filter) = self.perf;
        let ran = Command::new(PERF).args(["probe", "-k"]).arg(&kernel.vmlinux).args(["-D", point]).output();
        let ran = ran.unwrap_or_else(|e| panic!("{PERF}: {e}"));
        let defined = String::from_utf8_lossy(&ran.stdout).into_owned();
        let defined: Vec<&str> = defined.lines().filter(|l| l.starts_with(['p', 'r'])).collect();
        if !ran.status.success() || defined.is_empty() {
            let said = String::from_utf8_lossy(&ran.stderr).replace('\'', "");
            return format!("echo seen 0\necho '{said}' | sed 's/^/said /'\n");
        }
        let names: BTreeSet<&str> = defined
            .iter()
            .filter_map(|l| l.split([':', ' ']).nth(1)?.split_once('/'))
            .map(|(_, n)| n)
            .collect();
        let filter = if filter.is_empty() { String::new() } else { format!("--filter '{filter}'") };
        let events: String = names.iter().map(|name| format!("-e 'probe:{name}' {filter} ")).collect();
        let lines: String = defined
            .iter()
            .map(|l| format!("echo '{l}' >>/sys/kernel/tracing/kprobe_events || exit\n"))
            .collect();
        format!(
            "{{\n{lines}perf record -q -o perf.data {events} {} >known\n}} 2>err\n\
             echo seen $(perf script -i perf.data -F comm,event 2>>err | grep -c 'actor.*probe:')\n\
             tail -n 4 err | sed 's/^/said /'\nrm -f perf.data\necho >/sys/kernel/tracing/kprobe_events\n",
            self.act()
        )
    }

    fn bpftrace(&self) -> String {
        let (point, predicate) = self.bpftrace;
        format!(
            "bpftrace -q -e '{point} /comm == \"actor\"{predicate}/ {{ printf(\"hit\\n\"); }}' -c '{}' >out 2>err\n\
             echo seen $(grep -c '^hit' out)\ntail -n 4 err | sed 's/^/said /'\n",
            self.act()
        )
    }
}

/// A number behind a word that was printed.
fn told(answer: &Answer, name: &str) -> Option<u64> {
    answer.traced.iter().find_map(|line| line.strip_prefix(name)?.trim().parse().ok())
}

/// With the program, perf, bpftrace, their libraries, busybox and the actor.
fn machine(kernel: &Kernel) -> Result<Machine, String> {
    let index = installed::index(kernel);
    let read = |path: &Path| std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()));
    let folder = parts::folder("guest")?;
    let guest = parts::guest(&folder.join("guest"), kernel.architecture);
    let _ = std::fs::remove_dir_all(&folder);
    let machine = Machine::new(kernel)?
        .running(parts::tools(kernel.architecture)?)
        .file("guest", guest?)
        .file("t/probed-file", vec![0; 1 << 20])
        .file("probeidx", parts::probeidx(kernel.architecture)?)
        .file(&format!("db/{}.pidx", kernel.release), read(&index)?);
    Ok(machine.files(parts::libraries(&installed::program())?).files(parts::carried(&[PERF, BPFTRACE])?))
}
