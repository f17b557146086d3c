//! What is written for perf, trace-cmd and bpftrace, run by them: they take it whole, and record what it is about. Needs them and a
//! static busybox on this machine, whose programs and libraries go into the booted one. A quarter of the questions is asked in a run,
//! another one in each.
use super::boot::{Machine, Request};
use super::bpftrace::Bpftrace;
use super::listed::ask;
use super::parts;
use crate::installed::{self, Architecture, Kernel, needed, say};
use crate::sample::{seed, some};

/// A question; a part of what is recorded, for those that happen while the tools work.
const SPECS: [(&[&str], Option<&str>); 10] = [
    (
        &["vfs_read", "count", "file->f_path.dentry->d_iname:string", "buf@user:ustring", "file->f_mode"],
        Some("vfs_read"),
    ),
    (&["vmlinux:do_open", "op", "file->f_flags", "nd->name->name:string"], Some("do_open")),
    (&["vmlinux:do_sys_open*", "dfd", "$comm"], None),
    (&["vfs_read%return", "$retval"], Some("retval=")),
    (&["vmlinux:type_show"], None),
    (&["fs/read_write.c:467", "ret"], None),
    (&["*@fs/pipe.c"], None),
    (&["vmlinux:kmalloc_array"], None),
    (&["sched:sched_switch", "prev_comm", "next_pid"], Some("sched_switch")),
    (&["overlay:ovl_fill_super"], None),
];

const TOOLS: [&str; 3] = ["perf", "trace-cmd", "bpftrace"];

#[test]
fn tools_take_what_is_written_for_them() {
    // The tools are those of this machine, and made for kernels of its age.
    installed::on_one(|kernel| {
        if kernel.architecture == Architecture::X86_64 && kernel.is_of_cases() {
            taken(kernel);
        }
    });
}

fn taken(kernel: &Kernel) {
    let Some((mut machine, bpftrace)) = needed(machine(kernel)) else { return };
    let mut requests = vec![];
    let mut asked = vec![];
    let seed = seed();
    for (number, (spec, wanted)) in some(SPECS.to_vec(), SPECS.len() / 4, seed).iter().enumerate() {
        for tool in TOOLS {
            let Some(text) = ask(kernel, &[&["resolve", "--format", tool], *spec].concat()) else { continue };
            let name = format!("x/{tool}{number}");
            let script = match tool {
                "bpftrace" => {
                    let offsets = text.lines().next().is_some_and(|line| line.contains("BPFTRACE_VMLINUX"));
                    let set = if offsets { "BPFTRACE_VMLINUX=/dev/null " } else { "" };
                    let option = if text.lines().next().is_some_and(|line| line.contains("--unsafe")) {
                        " --unsafe"
                    } else {
                        ""
                    };
                    // What it prints may be what it traces.
                    format!(
                        "{set}{bpftrace}{option} /{name} -c '/bin/busybox dd if=/proc/version' >out 2>&1\n\
                         status=$?\nhead -c 20000 out\nexit $status\n"
                    )
                }
                // Into a pipe, perf would write what it records. On a busy machine a recorder may end before it has read
                // anything: it is asked again.
                _ => format!(
                    "for n in 1 2 3; do\nrm -f perf.data trace.dat\nsh /{name} dd if=/proc/version >said 2>&1 || {{ cat said; exit 1; }}\n\
                     {} >out 2>&1\nstatus=$?\nif grep -q . /sys/kernel/tracing/kprobe_events; then echo 'left behind'; exit 1; fi\n\
                     grep -qF '{}' out && break\ndone\ncat out\nexit $status\n",
                    if tool == "perf" { "perf script" } else { "trace-cmd report" },
                    wanted.unwrap_or_default()
                ),
            };
            machine = machine.file(&name, text.into_bytes()).file(&format!("{name}.sh"), script.into_bytes());
            requests.push(Request::Run { script: format!("/{name}.sh") });
            asked.push((tool, *spec, *wanted));
        }
    }
    // The machine's own module goes with the files: tools.c loads none.
    let answers = machine.boot(&requests).unwrap_or_else(|e| panic!("{e}")).answers;
    let mut wrong = vec![];
    for ((tool, spec, wanted), answer) in asked.iter().zip(&answers) {
        let printed = answer.traced.join("\n");
        // bpftrace attaches nothing in a module that is not loaded, and says so.
        let is_absent = *tool == "bpftrace" && spec[0].starts_with("overlay:");
        let fits = wanted.is_none_or(|wanted| printed.contains(wanted));
        if (answer.errno == 0) == is_absent || !fits {
            let end: Vec<&str> = printed.lines().rev().take(12).collect();
            wrong.push(format!(
                "{tool} {spec:?}: {}: {}",
                answer.errno,
                end.into_iter().rev().collect::<Vec<_>>().join("\n")
            ));
        }
    }
    assert!(wrong.is_empty(), "{}, PROBEIDX_SEED={seed}: {}", kernel.release, wrong.join("\n---\n"));
    say(&format!("{}: {} scripts were taken by perf, trace-cmd and bpftrace", kernel.release, asked.len()));
}

/// With the tools, their libraries and busybox; and the command that runs bpftrace there.
fn machine(kernel: &Kernel) -> Result<(Machine, String), String> {
    let machine = Machine::new(kernel)?.running(parts::tools(kernel.architecture)?);
    let bpftrace = Bpftrace::chosen()?;
    let tools = parts::carried(&["/usr/bin/perf", "/usr/bin/trace-cmd"])?;
    Ok((machine.files(tools).files(bpftrace.files), bpftrace.command))
}
