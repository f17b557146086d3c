//! Checks a script against a kernel: every probe point, variable, member, function and type in it.
//!
//! The script is parsed for the kernel, [`derive`](super::systemtap::derive) turns its points into probes, and its
//! handlers are read together with those of the aliases they go through, as SystemTap 4.8 compiles them
//! ([`handler`](crate::tapset::handler)). Programs and modules that are not indexed are assumed to be as the script
//! expects.
mod assumptions;
pub mod attach;
pub mod bcc;
pub mod bpf;
pub mod bpftrace;
mod commands;
pub mod grid;
pub mod needs;
mod of_report;
pub mod outcome;
mod parameters;
#[cfg(feature = "cli")]
pub mod policy;
mod probe_points;
mod request;
mod source;
mod spec_list;
mod suggestions;
pub mod tapset_health;

pub use probe_points::{Point, State};
pub use request::ProbeRequest;
pub use source::{Kind, Library, Source};
pub use spec_list::is_script;

use std::path::{Path, PathBuf};

use probeidx_format::View;

use super::systemtap::derive::handler_context::everywhere;
use crate::error::{Error, ErrorKind, Result};
use crate::tapset::ast::{self, Script};
use crate::tapset::handler::{Finding, Program, Trouble, Words};
use crate::tapset::target::Runtime;
use crate::tapset::{Definitions, Place};
use std::rc::Rc;

/// The options for checking scripts.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The arguments after the script on stap's command line: `$1`, `@1`.
    pub arguments: Vec<String>,
    /// As with `stap -g`.
    pub guru: bool,
    /// As with `stap --runtime`; conditions in tapsets depend on it.
    pub runtime: Runtime,
    /// As with `stap --compatible`.
    pub systemtap: Option<String>,
    /// The version of bpftrace that runs its scripts; without one, what works with some version works.
    pub bpftrace: Option<crate::bpftrace::Version>,
}

/// The result for one script on one kernel.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The points in the order of the script, each point of a probe separately.
    pub points: Vec<Point>,
    /// The findings, ordered by file, line and column.
    pub findings: Vec<Located>,
}

/// A finding, with its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Located {
    /// The file, as given or as the index has it.
    pub path: PathBuf,
    /// From 1.
    pub line: u32,
    /// From 1, in bytes.
    pub column: u32,
    /// The kind of finding, which determines whether the script fails.
    pub trouble: Trouble,
    /// The expression or name as written.
    pub what: String,
    /// The reason, in lower case and without a full stop.
    pub why: String,
    /// Replacements to suggest, the likeliest first.
    pub instead: Vec<String>,
}

/// The verdict on a script as a whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Every point resolves or is optional, and nothing breaks a handler.
    Resolves,
    /// Nothing fails, but some points are in programs or modules that are not indexed.
    Unindexed,
    /// A point or a handler fails on this kernel.
    Fails,
}

impl Report {
    /// The verdict that follows from the points and findings.
    pub fn verdict(&self) -> Verdict {
        let fails = self.points.iter().any(|p| p.state == State::Fails)
            || self.findings.iter().any(|f| f.trouble.breaks());
        match (fails, self.points.iter().any(|p| p.state == State::Unindexed)) {
            (true, _) => Verdict::Fails,
            (false, true) => Verdict::Unindexed,
            (false, false) => Verdict::Resolves,
        }
    }

    /// The findings that make the script fail.
    pub fn failures(&self) -> impl Iterator<Item = &Located> {
        self.findings.iter().filter(|finding| finding.trouble.breaks())
    }
}

impl Verdict {
    /// The name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Self::Resolves => "resolves",
            Self::Unindexed => "unindexed",
            Self::Fails => "fails",
        }
    }
}

/// Checks a script, or a list with a probe point on each line.
///
/// The tapset definitions may be missing where no line needs them: a list without SystemTap's spellings.
///
/// # Errors
/// [`ErrorKind::Syntax`], with the position, if it cannot be parsed; that of the definitions, if they are needed.
pub fn check(
    view: &View<'_>,
    definitions: std::result::Result<&Definitions<'_>, &Error>,
    asked: &Asked,
    path: &Path,
    bytes: &[u8],
) -> Result<Report> {
    if !is_script(path, bytes) {
        return spec_list::check(view, definitions, asked, path, bytes);
    }
    let definitions = definitions.map_err(Error::clone)?;
    let script = read(view, definitions, asked, path, bytes)?;
    let mut report = of_script(view, definitions, asked, path, &script);
    // SystemTap requires at least one probe or function to run (elaborate.cxx of 4.8, `semantic_pass`).
    let none = match () {
        () if script.probes.is_empty() => Some("there are no probes in it"),
        () if report.points.iter().all(|p| p.probes == 0 && p.state != State::Fails) => {
            Some("no probes are left: none of its points matches anything, and all may")
        }
        () => None,
    };
    report.findings.splice(..0, none.map(|why| Located::of_whole(path, why)));
    Ok(report)
}

/// Parses a script for the kernel of the index.
fn read(
    view: &View<'_>,
    definitions: &Definitions<'_>,
    asked: &Asked,
    path: &Path,
    bytes: &[u8],
) -> Result<Script> {
    let config = |option: &str| {
        let value = view.option(option.strip_prefix("CONFIG_")?.as_bytes())?;
        Some(String::from_utf8_lossy(value).into_owned())
    };
    let mut target = definitions.target(&config);
    (target.guru, target.runtime, target.arguments) = (asked.guru, asked.runtime, &asked.arguments);
    if let Some(version) = &asked.systemtap {
        target.systemtap = version;
    }
    definitions.read(path, bytes, &target)
}

fn of_script(
    view: &View<'_>,
    definitions: &Definitions<'_>,
    asked: &Asked,
    path: &Path,
    script: &Script,
) -> Report {
    let with_own = definitions.with(script, path);
    let mut words = Words::new(definitions, Rc::new(everywhere(view)));
    (words.scripts, words.guru, words.runtime) = (vec![script], asked.guru, asked.runtime);
    let mut deriving = probe_points::Deriving::new(view, &with_own, Program::new(words));
    let mut report = Report::default();
    for probe in &script.probes {
        report.points.extend(deriving.probe(probe));
    }
    // The probes of a tapset that is used must resolve as well.
    loop {
        let probes: Vec<&ast::Probe> = deriving.program.probes_of_tapsets();
        if probes.is_empty() {
            break;
        }
        for probe in probes {
            report
                .points
                .extend(deriving.probe(probe).into_iter().filter(|point| point.state == State::Fails));
        }
    }
    let file_of = |file: u32| if file == script.file { path } else { definitions.path(file) };
    for point in &mut report.points {
        file_of(point.place.file).clone_into(&mut point.path);
    }
    for finding in deriving.program.check() {
        let mut located = Located::new(file_of(finding.place.file), finding);
        if located.trouble == Trouble::Variable && located.instead.is_empty() {
            located.instead = suggestions::of_member(view, &located.what);
        }
        report.findings.push(located);
    }
    report.findings.sort_by(|a, b| (&a.path, a.line, a.column).cmp(&(&b.path, b.line, b.column)));
    report
}

impl Located {
    fn new(path: &Path, finding: Finding) -> Self {
        let Finding { place: Place { line, column, .. }, trouble, what, why, instead } = finding;
        Self { path: path.to_owned(), line, column, trouble, what, why, instead }
    }

    fn of_whole(path: &Path, why: &str) -> Self {
        Self {
            path: path.to_owned(),
            line: 1,
            column: 1,
            trouble: Trouble::Control,
            what: "the script".to_owned(),
            why: why.to_owned(),
            instead: vec![],
        }
    }
}

/// The tapset definitions in the index.
///
/// # Errors
/// [`ErrorKind::NoIndex`] if it has none, with the remedy.
pub fn definitions<'v>(view: &View<'v>) -> Result<Definitions<'v>> {
    Definitions::of_index(view).map_err(|error| match error.kind() {
        ErrorKind::NoIndex => Error::new(ErrorKind::NoIndex, "the index was built without tapsets")
            .hint("build it again with: probeidx build --tapset DIR"),
        _ => error,
    })
}
