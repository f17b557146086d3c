//! What becomes of a program on a kernel: the answer of `check`, the same for every kind of input.
//!
//! A file has programs: a probe point of a script, a program of a BPF object, a line of a list. Each has a state on each
//! kernel, and findings that say why. The worst finding decides.
use crate::query::verdict::reason::Reason;
use crate::query::verdict::unknown::Unknown;
use std::path::{Path, PathBuf};

/// The state of a program on a kernel, and what a finding is about. The order is from best to worst.
///
/// All but the first three are failures: the kernel, or what loads the program, refuses it, or it never fires.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum State {
    /// It loads, attaches, and fires wherever the function runs.
    Ok,
    /// It depends on a program or module that is not indexed, and is assumed to be right.
    Unindexed,
    /// It attaches, and misses some of the places: inlined copies, or addresses that the kernel refuses.
    Partial,
    /// A table or rule that decides it is not known.
    Undecided,
    /// An event has no such field.
    EventField,
    /// A struct has no such member, or there is no such type.
    Field,
    /// The function has no such parameter, or not there.
    Argument,
    /// The compiler gave the function another name.
    Renamed,
    /// Several functions have the name.
    Ambiguous,
    /// The function is there, and the kernel takes no such probe on it: a blacklist, no ftrace site, not an instruction.
    NoSite,
    /// BPF trampolines do not take the function.
    Trampoline,
    /// All copies of the function are inlined.
    Inlined,
    /// The kernel has no such function, event or symbol.
    Absent,
    /// The kernel has no such helper, or not for this type of program.
    Helper,
    /// The kernel has no such kfunc, or not for this type of program.
    Kfunc,
    /// What loads the program refuses it.
    Loader,
    /// It needs a module that the kernel does not have.
    Module,
}

impl State {
    /// All states, from best to worst.
    pub const ALL: [Self; 17] = [
        Self::Ok,
        Self::Unindexed,
        Self::Partial,
        Self::Undecided,
        Self::EventField,
        Self::Field,
        Self::Argument,
        Self::Renamed,
        Self::Ambiguous,
        Self::NoSite,
        Self::Trampoline,
        Self::Inlined,
        Self::Absent,
        Self::Helper,
        Self::Kfunc,
        Self::Loader,
        Self::Module,
    ];

    /// The name in JSON and text.
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Unindexed => "unindexed",
            Self::Partial => "partial",
            Self::Undecided => "undecided",
            Self::EventField => "event-field",
            Self::Field => "field",
            Self::Argument => "argument",
            Self::Renamed => "renamed",
            Self::Ambiguous => "ambiguous",
            Self::NoSite => "no-site",
            Self::Trampoline => "trampoline",
            Self::Inlined => "inlined",
            Self::Absent => "absent",
            Self::Helper => "helper",
            Self::Kfunc => "kfunc",
            Self::Loader => "loader",
            Self::Module => "module",
        }
    }

    /// What it says of a program, as a sentence without a full stop.
    pub fn description(self) -> &'static str {
        match self {
            Self::Ok => "It works",
            Self::Unindexed => "It depends on a program or module that is not indexed",
            Self::Partial => "It attaches, and misses some of the places where the function runs",
            Self::Undecided => "What decides it is not known of this kernel",
            Self::EventField => "The event has no such field",
            Self::Field => "The type has no such member, or there is no such type",
            Self::Argument => "The function has no such parameter, or not there",
            Self::Renamed => "The compiler gave the function another name",
            Self::Ambiguous => "Several functions have the name",
            Self::NoSite => "The kernel takes no such probe on the function",
            Self::Trampoline => "BPF trampolines do not take the function",
            Self::Inlined => "All copies of the function are inlined",
            Self::Absent => "The kernel has no such function, event or symbol",
            Self::Helper => "The kernel has no such helper for this type of program",
            Self::Kfunc => "The kernel has no such kfunc for this type of program",
            Self::Loader => "What loads the program refuses it",
            Self::Module => "The kernel does not have the module",
        }
    }

    /// Whether a program in this state does not work. Partial coverage is none: the program runs as it is written, and
    /// whoever needs every call asks for [`strict`](Self::fails) answers.
    pub fn is_failure(self) -> bool {
        self >= Self::Undecided
    }

    /// Whether a check fails for it. `strict`: for partial coverage, and for what is not indexed, too.
    pub fn fails(self, strict: bool) -> bool {
        self.is_failure() || (strict && self != Self::Ok)
    }
}

/// What a finding does to the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The program does not work: the finding decides its state.
    Error,
    /// The program works, and less than it seems.
    Warning,
    /// Worth knowing.
    Note,
}

impl Severity {
    /// The name in JSON and in SARIF (2.1.0, 3.27.10).
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Note => "note",
        }
    }
}

/// Something that is wrong with a program on a kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Finding {
    /// What it is about.
    pub state: State,
    /// What it does to the program.
    pub severity: Severity,
    /// The file, if it is not the one that is checked: a tapset, the source of an object.
    pub path: Option<PathBuf>,
    /// From 1; 0 if it has no line.
    pub line: u32,
    /// From 1; 0 if it has no column.
    pub column: u32,
    /// What it is about, as the source has it: an expression, a name, or the line.
    pub source: String,
    /// The reason, in lower case and without a full stop.
    pub reason: String,
    /// The name of the error that the kernel gives, if it is the kernel that refuses it.
    pub errno: Option<&'static str>,
    /// What to write instead, the likeliest first.
    pub instead: Vec<String>,
    /// It fails, and is never reached: it changes nothing.
    pub guarded: bool,
    /// A finer name of what it is about, where the front end has one.
    pub kind: Option<&'static str>,
}

impl Finding {
    /// A finding without a place. Its severity is that of its state: an error for a failure, else a warning; a note for
    /// what is not indexed.
    pub fn new(state: State, source: impl Into<String>, reason: impl Into<String>) -> Self {
        let severity = match state {
            State::Ok | State::Unindexed => Severity::Note,
            state if state.is_failure() => Severity::Error,
            _ => Severity::Warning,
        };
        Self {
            state,
            severity,
            path: None,
            line: 0,
            column: 0,
            source: source.into(),
            reason: reason.into(),
            errno: None,
            instead: vec![],
            guarded: false,
            kind: None,
        }
    }

    /// A note: what is asked for works once a module is loaded.
    pub fn in_module(source: impl Into<String>, module: &[u8]) -> Self {
        let module = String::from_utf8_lossy(module);
        let reason = format!("it is in module {module}, which has to be loaded");
        Self::new(State::Module, source, reason).severity(Severity::Note)
    }

    /// At a line and column of the file that is checked.
    pub fn at(self, line: u32, column: u32) -> Self {
        Self { line, column, ..self }
    }

    /// In another file.
    pub fn in_file(self, path: &Path) -> Self {
        Self { path: Some(path.to_owned()), ..self }
    }

    /// With the error that the kernel gives, if it gives one.
    pub fn errno(self, errno: impl Into<Option<&'static str>>) -> Self {
        Self { errno: errno.into(), ..self }
    }

    /// With replacements.
    pub fn instead(self, instead: impl IntoIterator<Item = String>) -> Self {
        Self { instead: instead.into_iter().collect(), ..self }
    }

    /// With another severity.
    pub fn severity(self, severity: Severity) -> Self {
        Self { severity, ..self }
    }

    /// Never reached.
    pub fn guarded(self) -> Self {
        Self { guarded: true, severity: Severity::Note, ..self }
    }
}

/// A program on a kernel.
#[derive(Clone, Debug, Default)]
pub struct ProgramOutcome {
    /// Its name: of a script the probe point as written, of an object the name of the function.
    pub name: String,
    /// From 1; 0 if it has no line.
    pub line: u32,
    /// From 1; 0 if it has no column.
    pub column: u32,
    /// What is wrong with it.
    pub findings: Vec<Finding>,
    /// How many addresses it is placed at, where the front end counts them.
    pub placed: Option<Placed>,
    /// Its state, if it does not work and need not, as another one does.
    pub forgiven: Option<State>,
}

/// The addresses that a program is placed at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placed {
    /// The number of probes.
    pub probes: usize,
    /// The number of addresses.
    pub addresses: usize,
    /// The number of addresses that the kernel accepts.
    pub accepted: usize,
    /// The number of addresses that are inlined copies.
    pub inlined: usize,
    /// The number of further copies in code that is gone once the kernel runs.
    pub left_out: usize,
    /// The reasons for refusals, the most frequent first.
    pub refused: Vec<(Reason, u32)>,
    /// The number of addresses whose verdict is undecided.
    pub undecided: usize,
    /// What is not known about these.
    pub unknown: Unknown,
}

impl ProgramOutcome {
    /// Its state: that of the worst error; without one, whether it is partial or depends on what is not indexed.
    pub fn state(&self) -> State {
        self.forgiven.unwrap_or_else(|| worst(&self.findings))
    }

    /// Forgives that it does not work: its errors are warnings, and say why. Its state stays.
    pub fn forgive(&mut self, why: &str) {
        if !self.state().is_failure() || self.forgiven.is_some() {
            return;
        }
        self.forgiven = Some(self.state());
        for finding in self.findings.iter_mut().filter(|f| f.severity == Severity::Error) {
            finding.severity = Severity::Warning;
            finding.reason.push_str(&format!("; {why}"));
        }
    }

    /// Whether it fires somewhere: it loads, attaches, and an address is accepted.
    pub fn is_reachable(&self) -> bool {
        let nowhere = self.placed.as_ref().is_some_and(|p| p.addresses > 0 && p.accepted == 0);
        !self.state().is_failure() && !nowhere
    }
}

/// A file on a kernel.
#[derive(Clone, Debug, Default)]
pub struct FileOutcome {
    /// In the order of the file.
    pub programs: Vec<ProgramOutcome>,
    /// What is wrong with the file as a whole: it breaks every program.
    pub findings: Vec<Finding>,
}

impl FileOutcome {
    /// The worst state of its programs that are not forgiven, and of the file as a whole.
    pub fn state(&self) -> State {
        let counted = self.programs.iter().filter(|program| program.forgiven.is_none());
        let programs = counted.map(ProgramOutcome::state).max();
        programs.unwrap_or(State::Ok).max(worst(&self.findings))
    }

    /// Each finding, with the position of its program; `None` for those of the file as a whole.
    pub fn findings(&self) -> impl Iterator<Item = (Option<usize>, &Finding)> {
        let of_programs = self.programs.iter().enumerate();
        let of_programs = of_programs.flat_map(|(at, p)| p.findings.iter().map(move |f| (Some(at), f)));
        of_programs.chain(self.findings.iter().map(|f| (None, f)))
    }
}

fn worst(findings: &[Finding]) -> State {
    let counts = |finding: &&Finding| {
        !finding.guarded && (finding.severity == Severity::Error || !finding.state.is_failure())
    };
    findings.iter().filter(counts).map(|finding| finding.state).max().unwrap_or(State::Ok)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(findings: Vec<Finding>) -> ProgramOutcome {
        ProgramOutcome { name: "p".to_owned(), findings, ..Default::default() }
    }

    #[test]
    fn the_states_are_in_order_and_named_once() {
        assert!(State::ALL.is_sorted());
        let names: std::collections::BTreeSet<_> = State::ALL.iter().map(|state| state.name()).collect();
        assert_eq!(names.len(), State::ALL.len());
    }

    #[test]
    fn the_worst_error_decides_and_guarded_findings_do_not() {
        let one = |state| Finding::new(state, "x", "y");
        assert_eq!(program(vec![]).state(), State::Ok);
        assert_eq!(
            program(vec![one(State::Field), one(State::Absent), one(State::Partial)]).state(),
            State::Absent
        );
        assert_eq!(program(vec![one(State::Field).guarded()]).state(), State::Ok);
        assert_eq!(program(vec![one(State::Inlined).severity(Severity::Note)]).state(), State::Ok);
        assert_eq!(program(vec![one(State::Partial), one(State::Unindexed)]).state(), State::Partial);
    }

    #[test]
    fn undecided_is_never_ok_and_partial_is_unless_asked() {
        assert!(State::Undecided.fails(false) && State::Undecided.fails(true));
        assert!(!State::Partial.fails(false) && State::Partial.fails(true));
        assert!(!State::Unindexed.fails(false) && State::Unindexed.fails(true));
        assert!(!State::Ok.fails(true));
    }

    #[test]
    fn what_is_forgiven_keeps_its_state_and_counts_for_nothing() {
        let mut one = program(vec![Finding::new(State::Absent, "x", "y")]);
        one.forgive("z works");
        assert_eq!((one.state(), one.is_reachable()), (State::Absent, false));
        assert_eq!((one.findings[0].severity, &*one.findings[0].reason), (Severity::Warning, "y; z works"));
        let file = FileOutcome { programs: vec![one, program(vec![])], findings: vec![] };
        assert_eq!(file.state(), State::Ok);
    }

    #[test]
    fn a_finding_of_the_whole_file_counts_for_it() {
        let file = FileOutcome {
            programs: vec![program(vec![]), program(vec![Finding::new(State::Partial, "x", "y")])],
            findings: vec![Finding::new(State::Loader, "x", "y")],
        };
        assert_eq!(file.state(), State::Loader);
        let owners: Vec<_> = file.findings().map(|(at, _)| at).collect();
        assert_eq!(owners, [Some(1), None]);
    }
}
