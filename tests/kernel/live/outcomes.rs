//! What the kernel did to BPF programs, beside what `check` foretold of them.
use super::boot::{Loaded, Machine, Request};
use super::parts;
use crate::installed::{self, Kernel, say};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A program of a file on a kernel.
pub struct Outcome {
    /// The name of the file, without its folders.
    pub file: String,
    pub program: String,
    /// The state, of `check`; that of the file where this keeps it from loading at all.
    pub state: String,
    /// What decides the state: the errors, first of the file as a whole.
    pub reasons: Vec<Reason>,
    /// Whether `check` says that a module has to be loaded.
    pub needs_module: bool,
    pub loaded: Loaded,
}

pub struct Reason {
    pub state: String,
    pub reason: String,
    pub errno: Option<String>,
}

/// How both stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Agreement {
    AsForetold,
    /// `check` does not say.
    Undecided,
    /// `check` says that it fails, and it works.
    FalseAlarm,
    /// `check` says that it works, and it fails.
    WrongOk,
}

/// A difference that is decided: its name, and which outcomes it is about.
pub struct Class<O> {
    pub name: &'static str,
    pub holds: fn(&O) -> bool,
}

/// Those of the outcomes that are not as foretold and of no class. Says how many stand how; `of` is what they are outcomes of.
pub fn unexplained<'o, O>(
    of: &str,
    outcomes: &'o [O],
    agreement: fn(&O) -> Agreement,
    classes: &[Class<O>],
) -> Vec<&'o O> {
    let mut counts: BTreeMap<(Agreement, &str), usize> = BTreeMap::new();
    let mut wrong = vec![];
    for outcome in outcomes {
        let agreement = agreement(outcome);
        let class = classes.iter().find(|class| agreement != Agreement::AsForetold && (class.holds)(outcome));
        *counts.entry((agreement, class.map_or("", |class| class.name))).or_default() += 1;
        if class.is_none() && agreement != Agreement::AsForetold {
            wrong.push(outcome);
        }
    }
    for ((agreement, class), count) in &counts {
        say(&format!("  {of}: {agreement:?} {class} {count}"));
    }
    wrong
}

impl Outcome {
    pub fn agreement(&self) -> Agreement {
        let works = ["ok", "partial", "unindexed"].contains(&self.state.as_str());
        match (works, self.loaded.errno == 0) {
            _ if self.state == "undecided" => Agreement::Undecided,
            (true, false) => Agreement::WrongOk,
            (false, true) => Agreement::FalseAlarm,
            _ => Agreement::AsForetold,
        }
    }

    /// The line that says why it was refused: the verifier's last word, else libbpf's.
    pub fn why(&self) -> &str {
        let is_frame = |line: &&str| {
            let of_verifier = ["processed ", "verification time", "stack depth", "max_states", "-- END"];
            let of_libbpf = ["libbpf: failed to load object", "libbpf: failed to load BPF skeleton"];
            line.trim().is_empty()
                || of_verifier.iter().chain(&of_libbpf).any(|start| line.starts_with(start))
                || line.contains("': failed to load: ")
        };
        self.loaded.said.lines().rev().find(|line| !is_frame(line)).unwrap_or_default()
    }
}

impl Display for Outcome {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let sign = match self.agreement() {
            Agreement::AsForetold => " ",
            Agreement::Undecided => "?",
            Agreement::FalseAlarm | Agreement::WrongOk => "!",
        };
        let first = self.reasons.first();
        let foretold = match first.and_then(|r| r.errno.as_deref()) {
            Some(errno) => format!("{} {errno}", self.state),
            None => self.state.clone(),
        };
        let did = match self.loaded.errno {
            0 => self.loaded.stage.clone(),
            errno => format!("{} {}", self.loaded.stage, errno_name(errno)),
        };
        write!(f, "{sign} {:24} {:40} {foretold:20} {did:18}", self.file, self.program)?;
        if self.agreement() != Agreement::AsForetold {
            let reason = first.map_or("", |r| &r.reason);
            write!(
                f,
                " {}",
                [reason, self.why()].into_iter().filter(|t| !t.is_empty()).collect::<Vec<_>>().join(" / ")
            )?;
        }
        Ok(())
    }
}

/// All programs of files: each is loaded and attached by libbpf on the booted kernel, and foretold by `check`.
pub fn of_files(kernel: &Kernel, modules: &[&str], files: &[PathBuf]) -> Result<Vec<Outcome>, String> {
    let init = parts::objects(kernel.architecture)?;
    let mut machine = Machine::new(kernel)?.modules(kernel, modules)?.running(init);
    // libbpf reads the options that externs name.
    if let Some(config) = config(kernel) {
        machine = machine.file(&format!("boot/config-{}", kernel.release), config);
    }
    let mut requests = vec![];
    for (number, file) in files.iter().enumerate() {
        let path = format!("o/{number}");
        let bytes = std::fs::read(file).map_err(|e| format!("{}: {e}", file.display()))?;
        machine = machine.file(&path, bytes);
        requests.push(Request::Objects { path: format!("/{path}") });
    }
    let answers = machine.boot(&requests)?;
    if let Some((name, errno)) = answers.modules.iter().find(|(_, errno)| *errno != 0) {
        return Err(format!("the kernel does not load {name}: {}", errno_name(*errno)));
    }
    let foretold = foretold(kernel, files, &[])?;
    let mut outcomes = vec![];
    for (file, answer) in files.iter().zip(answers.answers) {
        let name = file.display().to_string();
        let whole = foretold.iter().find(|one| one["file"] == *name && one["program"].is_null());
        let mut programs: BTreeMap<&str, Vec<&Value>> = BTreeMap::new();
        for one in foretold.iter().filter(|one| one["file"] == *name) {
            if let Some(program) = one["program"].as_str() {
                programs.entry(program).or_default().push(one);
            }
        }
        // A file may have several objects with programs of one name: both sides have them in the order of the file.
        let mut met: BTreeMap<String, usize> = BTreeMap::new();
        for loaded in answer.programs {
            let nth = met.entry(loaded.program.clone()).or_default();
            let own = programs.get(loaded.program.as_str()).and_then(|all| all.get(*nth)).copied();
            *nth += 1;
            outcomes.push(outcome(file, whole, own, loaded)?);
        }
    }
    Ok(outcomes)
}

fn outcome(
    file: &Path,
    whole: Option<&Value>,
    own: Option<&Value>,
    loaded: Loaded,
) -> Result<Outcome, String> {
    let file = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    // Without a program, libbpf did not open the object.
    let (Some(own), false) = (own.or(whole), own.is_none() && loaded.stage != "open") else {
        return Err(format!("check has no program {} in {file}", loaded.program));
    };
    let errors = |of: Option<&Value>| {
        let all = of.and_then(|of| of["findings"].as_array()).cloned().unwrap_or_default();
        let counts = |f: &Value| f["severity"] == "error" && f["guarded"] != true;
        all.into_iter().filter(counts).map(|finding| Reason::of(&finding)).collect::<Vec<_>>()
    };
    let of_whole = errors(whole);
    let state = own["state"].as_str().unwrap_or_default();
    let state = of_whole.first().map_or(state, |reason| &reason.state).to_owned();
    let reasons = of_whole.into_iter().chain(errors(Some(own))).collect();
    let own = own["findings"].as_array();
    let needs_module = own.is_some_and(|all| all.iter().any(|f| f["state"] == "module"));
    Ok(Outcome { file, needs_module, program: loaded.program.clone(), state, reasons, loaded })
}

impl Reason {
    fn of(finding: &Value) -> Self {
        let text = |name: &str| finding[name].as_str().unwrap_or_default().to_owned();
        let errno = finding["errno"].as_str().map(str::to_owned);
        Self { state: text("state"), reason: text("reason"), errno }
    }
}

/// What `check --json` says with these options, with the index of `$PROBEIDX_DB` if it has the kernel.
pub fn foretold(kernel: &Kernel, files: &[PathBuf], options: &[&str]) -> Result<Vec<Value>, String> {
    let given = std::env::var_os("PROBEIDX_DB").map(PathBuf::from);
    let given =
        given.map(|folder| folder.join(format!("{}.pidx", kernel.release))).filter(|path| path.exists());
    let index = given.unwrap_or_else(|| installed::index(kernel));
    let mut check = Command::new(installed::program());
    check.args(["check", "--json", "--db"]).arg(&index).args(options).args(files);
    let out = check.output().map_err(|e| e.to_string())?;
    let lines = out.stdout.split(|b| *b == b'\n').filter(|line| !line.is_empty());
    let read: Result<Vec<Value>, _> = lines.map(serde_json::from_slice).collect();
    match read {
        Ok(read) if !read.is_empty() => Ok(read),
        _ => Err(format!("check failed: {}", String::from_utf8_lossy(&out.stderr).trim())),
    }
}

/// The options of the kernel.
fn config(kernel: &Kernel) -> Option<Vec<u8>> {
    let beside = kernel.image.with_file_name(format!("config-{}", kernel.release));
    [beside, kernel.modules.join("config")].iter().find_map(|path| std::fs::read(path).ok())
}

/// Those that BPF gives (include/uapi/asm-generic/errno.h).
pub fn errno_name(errno: i32) -> String {
    let name = match errno {
        1 => "EPERM",
        2 => "ENOENT",
        3 => "ESRCH",
        7 => "E2BIG",
        12 => "ENOMEM",
        13 => "EACCES",
        16 => "EBUSY",
        17 => "EEXIST",
        19 => "ENODEV",
        22 => "EINVAL",
        28 => "ENOSPC",
        38 => "ENOSYS",
        95 => "EOPNOTSUPP",
        99 => "EADDRNOTAVAIL",
        524 => "ENOTSUPP",
        other => return format!("errno {other}"),
    };
    name.to_owned()
}
