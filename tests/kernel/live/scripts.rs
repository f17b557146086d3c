//! bpftrace's scripts against the kernel: bpftrace of this machine attaches each, and `check` has foretold what becomes of it.
//!
//! They are the tools that come with it, and small ones for each rule: `tests/fixtures/bpftrace/rules.txt`. Each takes seconds, as
//! bpftrace compiles it: some are tried, others in each run, all with `$PROBEIDX_ALL`. `$PROBEIDX_SCRIPTS` is a folder of other
//! scripts.
use super::boot::{Machine, Request};
use super::bpftrace::{Bpftrace, root};
use super::outcomes::{Agreement, Class, unexplained};
use super::parts;
use crate::installed::{self, Architecture, Kernel, wanted};
use crate::sample::{seed, some};
use serde_json::Value;
use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};
use std::process::Command;

/// One in so many of the scripts.
const SHARE: usize = 12;

/// A script on a kernel.
struct Outcome {
    /// The name of a tool; else the rule, and the script.
    name: String,
    /// The state of the file, of `check`.
    state: String,
    /// Its attach points, of `check`.
    points: Vec<Point>,
    /// bpftrace attached it, and ended well.
    is_attached: bool,
    printed: String,
    /// Of 0.22, or a later one: `missing_probes` may be `ignore`.
    may_be_silent: bool,
}

/// An attach point of a script.
struct Point {
    text: String,
    state: String,
    /// It does not work, and need not, as another one of the list does.
    is_forgiven: bool,
    /// State and reason of what is found.
    findings: Vec<(String, String)>,
}

const CLASSES: [Class<Outcome>; 10] = [
    // It is to be placed in a program that neither the index nor the machine has, and `check` says that.
    Class { name: "not indexed", holds: |o| o.state == "unindexed" && !o.is_attached },
    // `check` notes which module has to be loaded, and none is.
    Class { name: "module not loaded", holds: Outcome::needs_module },
    // bpftrace reads the headers of the kernel, if they are there.
    Class {
        name: "headers of the kernel",
        holds: |o| !o.is_attached && o.printed.contains("file not found"),
    },
    // Of a name that several functions have, kernels before 6.7 or so take one: the program runs, and not where it is meant to.
    Class { name: "one of several", holds: |o| o.fails_only("several functions have the name") },
    Class {
        name: "all of several",
        holds: |o| o.fails_only("the kernel takes none of the functions that match"),
    },
    // bpftrace reads what is in the register: an argument of nothing.
    Class { name: "a register without an argument", holds: |o| o.state == "argument" && o.is_attached },
    // The emulated processor has none.
    Class {
        name: "no counters",
        holds: |o| o.points.iter().any(|point| point.text.starts_with("hardware:")),
    },
    // bpftrace 0.17 wants a kernel that lists its BTF (5.11).
    Class { name: "BTF not found", holds: |o| o.printed.contains(" not available for your kernel version") },
    // A fault of bpftrace 0.17: a list is one program, loaded for its last point. One that is loaded for a single function does
    // not take the pattern before it, where the kernel attaches those at once (kprobe.multi).
    Class {
        name: "a pattern and a name in one list",
        holds: |o| !o.is_attached && o.printed.contains("Error attaching probe: 'k") && o.has_both_kinds(),
    },
    // A fault of bpftrace 0.17 of Debian, which knows the word and nothing of the kind.
    Class { name: "no raw tracepoints", holds: |o| o.printed.contains("Invalid probe type made it to") },
];

#[test]
fn scripts_do_what_check_foretells() {
    installed::on_one(|kernel| {
        // bpftrace is that of this machine.
        if kernel.architecture == Architecture::X86_64 && !kernel.is_own_build() {
            foretold(kernel);
        }
    });
}

fn foretold(kernel: &Kernel) {
    let folder = tempfile::tempdir().unwrap();
    let all = match std::env::var_os("PROBEIDX_SCRIPTS") {
        Some(others) => scripts_in(&[others.as_ref()]),
        None => tools().into_iter().chain(rules(folder.path())).collect(),
    };
    let seed = seed();
    let count = all.len() / SHARE;
    let scripts = some(all, count, seed);
    let Some(outcomes) = wanted(outcomes(kernel, &scripts)) else { return };
    let of = format!("{}: scripts", kernel.release);
    let wrong = unexplained(&of, &outcomes, Outcome::agreement, &CLASSES);
    let listed: String = wrong.iter().map(|outcome| format!("\n{outcome}")).collect();
    assert!(wrong.is_empty(), "{}, PROBEIDX_SEED={seed}: these disagree:{listed}", kernel.release);
    let attached = outcomes.iter().filter(|outcome| outcome.is_attached).count();
    // Some attach and some do not: else little was compared.
    let range = outcomes.len() / 8..outcomes.len() * 7 / 8;
    assert!(range.contains(&attached), "{}: {attached} of {} attach", kernel.release, outcomes.len());
}

/// The tools that come with bpftrace.
fn tools() -> Vec<(String, PathBuf)> {
    let folders = ["usr/sbin", "usr/share/bpftrace/tools"].map(|folder| root().join(folder));
    scripts_in(&[&folders[0], &folders[1]])
}

fn scripts_in(folders: &[&Path]) -> Vec<(String, PathBuf)> {
    let entries = folders.iter().map(std::fs::read_dir);
    let files = entries.flatten().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = files.filter(|path| path.extension().is_some_and(|e| e == "bt")).collect();
    files.sort();
    let name = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    files.into_iter().map(|path| (name(&path), path)).collect()
}

/// Whether a version is one of those whose rules are others (0.24).
fn is_of_later(version: &str) -> bool {
    installed::numbers(version) >= vec![0, 24]
}

/// The scripts for each rule, each in a file of its own.
fn rules(folder: &Path) -> Vec<(String, PathBuf)> {
    let read = |name: &str| {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/bpftrace").join(name);
        std::fs::read_to_string(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()))
    };
    let mut all = read("rules.txt");
    if is_of_later(&Bpftrace::chosen().map(|bpftrace| bpftrace.version).unwrap_or_default()) {
        all += &read("rules-of-later.txt");
    }
    let mut rule = "";
    let mut scripts = vec![];
    for (number, line) in all.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
        match line.split_at(2) {
            ("= ", name) => rule = name,
            ("# ", _) => {}
            _ => {
                let path = folder.join(format!("{number}.bt"));
                std::fs::write(&path, format!("{line}\n")).unwrap();
                scripts.push((format!("{rule}: {line}"), path));
            }
        }
    }
    scripts
}

fn outcomes(kernel: &Kernel, scripts: &[(String, PathBuf)]) -> Result<Vec<Outcome>, String> {
    let machine = Machine::new(kernel)?.running(parts::tools(kernel.architecture)?);
    let Bpftrace { files, command, version } = Bpftrace::chosen()?;
    let mut machine = machine.files(files).files(headers());
    let mut requests = vec![];
    for (number, (_, path)) in scripts.iter().enumerate() {
        let text = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
        // At an offset, bpftrace wants the kernel's file to look at, or to be told that none is there.
        let has_offset = text.split(|b| *b == b'\n').any(|l| l.starts_with(b"kprobe:") && l.contains(&b'+'));
        let offset = if has_offset { "BPFTRACE_VMLINUX=/dev/null" } else { "" };
        // What kernels before 5.11 do not list, it does not find.
        let types = match installed::numbers(&kernel.release) < vec![5, 11] {
            true => "BPFTRACE_BTF=/sys/kernel/btf/vmlinux",
            false => "",
        };
        // It ends with what it started, once all probes are attached.
        let run = format!(
            "{offset} {types} timeout -s INT 60 {command} --unsafe -c '/bin/busybox true' /x/{number}.bt\n"
        );
        machine = machine.file(&format!("x/{number}.bt"), text);
        machine = machine.file(&format!("x/{number}.sh"), run.into_bytes());
        requests.push(Request::Run { script: format!("/x/{number}.sh") });
    }
    let answers = machine.boot(&requests)?.answers;
    let files: Vec<PathBuf> = scripts.iter().map(|(_, path)| path.clone()).collect();
    let foretold = super::outcomes::foretold(kernel, &files, &["--bpftrace", &version])?;
    let outcomes = scripts.iter().zip(answers).map(|((name, path), answer)| {
        let path = path.display().to_string();
        let of_file = foretold.iter().filter(|one| one["file"] == *path);
        let whole = of_file.clone().find(|one| one["program"].is_null()).or(of_file.clone().next());
        Outcome {
            name: name.clone(),
            state: whole.map_or_else(String::new, |one| text(&one["state"])),
            points: of_file.filter(|one| !one["program"].is_null()).map(Point::of).collect(),
            is_attached: answer.errno == 0,
            printed: answer.traced.join("\n"),
            may_be_silent: installed::numbers(&version) >= vec![0, 22],
        }
    });
    Ok(outcomes.collect())
}

/// Those of the C library that the tools include, and what these include: by the path in the machine.
fn headers() -> Vec<(String, Vec<u8>)> {
    let mut gcc = Command::new("gcc");
    gcc.args(["-M", "-xc", "-include", "sys/socket.h", "/dev/null"]);
    let listed =
        gcc.output().map(|ran| String::from_utf8_lossy(&ran.stdout).into_owned()).unwrap_or_default();
    let files = listed.split_ascii_whitespace().filter(|word| word.starts_with("/usr/"));
    files.filter_map(|file| Some((file[1..].to_owned(), std::fs::read(file).ok()?))).collect()
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

impl Point {
    fn of(one: &Value) -> Self {
        let findings = one["findings"].as_array().cloned().unwrap_or_default();
        let is_error = |f: &Value| f["severity"] == "error";
        Self {
            text: text(&one["program"]),
            state: text(&one["state"]),
            is_forgiven: !findings.iter().any(is_error),
            findings: findings.iter().map(|f| (text(&f["state"]), text(&f["reason"]))).collect(),
        }
    }

    fn works(&self) -> bool {
        ["ok", "partial", "unindexed", "undecided"].contains(&self.state.as_str())
    }

    /// bpftrace attaches it by its name, and says so if it goes on without it.
    fn is_named_kprobe(&self) -> bool {
        ["kprobe:", "kretprobe:"].iter().any(|kind| self.text.starts_with(kind)) && !self.text.contains('*')
    }
}

impl Outcome {
    fn agreement(&self) -> Agreement {
        let works = ["ok", "partial", "unindexed"].contains(&self.state.as_str());
        if self.state == "undecided" {
            return Agreement::Undecided;
        }
        if !self.is_attached {
            return if works { Agreement::WrongOk } else { Agreement::AsForetold };
        }
        // It goes on without some of the attach points, even without all of a list.
        let skipped = |point: &Point| {
            let what = point.text.split_once(':').map_or("", |(_, what)| what);
            let warnings = [
                format!("could not attach probe {}, skipping", point.text),
                format!("No BTF found for {what}, skipping"),
                format!("tracepoint not found: {what}"),
                // 0.24 and 0.25.
                format!("Unable to attach probe: {}. Skipping", point.text),
                format!(" {what}. Skipping"),
            ];
            self.printed.lines().any(|line| warnings.iter().any(|warning| line.contains(warning)))
        };
        if self.points.iter().any(|point| point.works() && skipped(point)) {
            return Agreement::WrongOk;
        }
        let is_alarm = |point: &&Point| {
            // 0.22 and later may be told to say nothing.
            let is_told = !point.is_forgiven || (point.is_named_kprobe() && !self.may_be_silent);
            !point.works() && is_told && !skipped(point)
        };
        if self.points.iter().any(|point| is_alarm(&point)) {
            return Agreement::FalseAlarm;
        }
        Agreement::AsForetold
    }

    fn needs_module(&self) -> bool {
        let is_noted =
            |point: &Point| point.works() && point.findings.iter().any(|(state, _)| state == "module");
        self.points.iter().any(is_noted)
    }

    /// A pattern of kprobes is followed by the name of a function.
    fn has_both_kinds(&self) -> bool {
        let is_pattern = |point: &Point| point.text.starts_with('k') && point.text.contains('*');
        let pattern = self.points.iter().position(is_pattern);
        pattern.is_some_and(|at| self.points[at..].iter().any(Point::is_named_kprobe))
    }

    /// All that is wrong with it is this, and it was attached.
    fn fails_only(&self, why: &str) -> bool {
        let mut wrong = self.points.iter().filter(|point| !point.works());
        self.is_attached && wrong.all(|point| point.findings.iter().any(|(_, reason)| reason.contains(why)))
    }
}

impl Display for Outcome {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let did = if self.is_attached { "attached" } else { "refused" };
        write!(f, "{}: {} and {did}", self.name, self.state)?;
        for point in &self.points {
            for (state, reason) in &point.findings {
                write!(f, "\n    {}: {state}: {reason}", point.text)?;
            }
        }
        for line in self.printed.lines().take(6) {
            write!(f, "\n    > {line}")?;
        }
        Ok(())
    }
}
